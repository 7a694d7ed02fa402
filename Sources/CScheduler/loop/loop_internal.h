// Internal operations on loops, for thread.c, main_loop.c, and the other folders. The public half is loop.h.
// Depends on: loop.h, delivery_internal.h.
#pragma once

#include <CScheduler/loop.h>

#include "../platform/platform.h"
#include "delivery_internal.h"

/// Does: creates a loop without a thread. Returns: NULL when there is no memory.
csched_loop *csched_loop_create_unbound_(void);

/// Does: initialises the main loop, in static memory, without a thread. Requires: it is called once.
csched_loop *csched_loop_make_static_(void);

/// Does: destroys a loop, as csched_loop_destroy, but without the checks of its caller. Also for loops that csched_loop_create did not make.
void csched_loop_free_(csched_loop *loop);

/// Does: stops the process if `policy` is no csched_stop_policy.
void csched_require_policy_(csched_stop_policy policy, const char *function);

/// Does: frees the memory and the poller of a closed loop, but not the loop itself, which stays closed. Requires: as csched_loop_destroy.
void csched_loop_empty_(csched_loop *loop);

/// Does: makes the calling thread the loop's thread.
void csched_loop_bind_(csched_loop *loop);

/// Does: separates the loop from its thread, because that thread is about to end or detaches the loop.
void csched_loop_unbind_(csched_loop *loop);

/// Returns: the `jobs_left` of the loop that runs on this thread (loop_state.h), which the calling job may decrement; NULL: no loop runs here.
unsigned *csched_loop_jobs_left_(void);

/// Does: makes the delivery worker `delivery` do, in place of the loop's thread, the deliveries and discards that may run user code (delivery.c).
/// Thread: the loop's creator, before anything is submitted.
void csched_loop_deliver_by_(csched_loop *loop, csched_delivery *delivery);

/// Does: closes the loop, and runs or drops the outstanding work by the policy of the close. Thread: the loop's.
void csched_loop_finish_(csched_loop *loop);

/// Returns: the loop's sources. Requires: the calling thread is the loop's; otherwise the process stops.
struct csched_fds *csched_loop_fds_(csched_loop *loop, const char *function);
/// Returns: the loop's sources. Thread: any; csched_fds (loop_fd_internal.h) lists what other threads may do.
struct csched_fds *csched_loop_fds_of_(csched_loop *loop);

/// Returns: the loop's hooks. Requires: the calling thread is the loop's; otherwise the process stops.
struct csched_hooks *csched_loop_hooks_(csched_loop *loop, const char *function);

/// Does: records, in all loops of the calling thread, the target for which the thread waits, or NULL (waits.c).
void csched_loops_set_waits_for_(csched_target *target);

/// Returns: whether the loop was orphaned by fork: its thread is in the parent.
bool csched_loop_is_orphaned_(const csched_loop *loop);

/// Does: stops the process if the loop was orphaned.
void csched_loop_require_not_orphaned_(const csched_loop *loop, const char *function);

/// Does: in a child of fork, initialises an orphaned loop again, without a thread. Its former contents are the parent's.
void csched_loop_renew_(csched_loop *loop);

/// Returns: the target whose entry in the fork list is `atfork`; NULL if the entry is of another kind. Thread: inside csched_os_atfork_visit_.
const csched_target *csched_loop_of_atfork_(const csched_atfork *atfork);

/// Returns: the timers of `target`, if it is a loop; else NULL.
csched_timers *csched_loop_timers_seen_(const csched_target *target);

/// Does: copies the number of the loop's thread (0: none), its field `closing` (0: open), and its number of timers. Returns: false if the loop's
/// memory is not mapped. Thread: any, also in a signal handler.
bool csched_loop_see_(const csched_target *loop, uint32_t *thread, uint32_t *closing, size_t *timers);
