// Internal operations on loops, for threads and other files of the core: the other half of loop.h.
// Depends on: loop.h, delivery_internal.h.
#pragma once

#include <CScheduler/loop.h>

#include "../platform/platform.h"
#include "delivery_internal.h"

/// Does: creates a loop without a thread. Returns: NULL when there is no memory.
csched_loop *csched_loop_create_unbound_(void);

/// Does: initialises the one loop in static memory, without a thread. Requires: it is called once.
csched_loop *csched_loop_make_static_(void);

/// Does: as csched_loop_destroy, for the owner of a loop that csched_loop_create did not make.
void csched_loop_free_(csched_loop *loop);

/// Does: stops the process if `policy` is no csched_stop_policy.
void csched_require_policy_(csched_stop_policy policy, const char *function);

/// Does: frees what a closed loop has allocated besides itself. The loop stays closed. Requires: as csched_loop_destroy.
void csched_loop_empty_(csched_loop *loop);

/// Does: makes the calling thread the loop's thread.
void csched_loop_bind_(csched_loop *loop);

/// Does: leaves the loop without a thread, because its thread is about to end or detaches it.
void csched_loop_unbind_(csched_loop *loop);

/// Returns: how many jobs the loop that runs on this thread may still take in its batch; the caller counts it down. NULL: no loop runs
/// here. Valid during the calling job.
unsigned *csched_loop_jobs_left_(void);

/// Does: has the delivery worker `delivery` deliver and discard what may run user code, in place of the loop's thread: see delivery.c.
/// Thread: the loop's creator, before anything is submitted.
void csched_loop_deliver_by_(csched_loop *loop, csched_delivery *delivery);

/// Does: closes the loop, and runs or drops the outstanding work as the policy asks. Thread: the loop's.
void csched_loop_finish_(csched_loop *loop);

/// Returns: the loop's sources. Requires: the calling thread is the loop's; otherwise the process stops.
struct csched_fds *csched_loop_fds_(csched_loop *loop, const char *function);
/// Returns: the same. Thread: any; loop_fd.h says what a thread may do with them.
struct csched_fds *csched_loop_fds_of_(csched_loop *loop);

/// Returns: the loop's hooks. Requires: as csched_loop_fds_.
struct csched_hooks *csched_loop_hooks_(csched_loop *loop, const char *function);

/// Does: records in the calling thread's loops what the thread waits for, or NULL: see waits.c.
void csched_loops_set_waits_for_(csched_target *target);

/// Returns: whether the loop was orphaned by fork: its thread is in the parent.
bool csched_loop_is_orphaned_(const csched_loop *loop);

/// Does: stops the process if the loop was orphaned.
void csched_loop_require_not_orphaned_(const csched_loop *loop, const char *function);

/// Does: in a child of fork, initialises an orphaned loop again, without a thread. Its former contents are the parent's.
void csched_loop_renew_(csched_loop *loop);

/// Returns: the target whose entry in the fork list is `atfork`; NULL if the entry is of another kind. Thread: inside csched_os_atfork_visit_.
const csched_target *csched_loop_of_atfork_(const csched_atfork *atfork);

/// Returns: the timers of `target`, if it is of this kind; else NULL.
csched_timers *csched_loop_timers_seen_(const csched_target *target);

/// Does: copies the number of the loop's thread (0: none), whether the loop is closed, and how many timers it has. Returns: whether the loop could
/// be read. Thread: any, also in a signal handler.
bool csched_loop_see_(const csched_target *loop, uint32_t *thread, uint32_t *closing, size_t *timers);
