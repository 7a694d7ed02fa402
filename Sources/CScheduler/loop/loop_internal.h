// Internal operations on loops, for thread.c, main_loop.c, and the other folders. The public half is loop.h.
// Depends on: loop.h, delivery_internal.h.
#pragma once

#include <CScheduler/loop.h>
#include <CScheduler/thread.h>

#include "../platform/platform.h"
#include "delivery_internal.h"

/// Does: creates a loop without a thread. Returns: NULL when there is no memory.
csched_loop *csched_loop_create_unbound_(void);
/// Does: initialises the main loop, in static memory, without a thread. Returns: that loop. Requires: it is called
/// once.
csched_loop *csched_loop_make_static_(void);
/// Does: destroys a loop, as csched_loop_destroy, but without the checks of its caller. Also for loops that
/// csched_loop_create did not make.
void csched_loop_free_(csched_loop *loop);
/// Does: stops the process if `policy` is no csched_stop_policy. `function`, here and below: the public function that
/// the message names.
void csched_require_policy_(csched_stop_policy policy, const char *function);
/// Does: frees the table of sources and the poller of a closed loop, but not the loop itself, which stays closed.
/// Requires: as csched_loop_destroy.
void csched_loop_free_contents_(csched_loop *loop);
/// Does: as csched_thread_start, for a thread that never runs user code: it blocks all signals except those of faults.
/// `name`: "" is none. `at_end`: as the option, called with `context`.
int csched_thread_start_internal_(csched_thread **thread, const char *name, void (*at_end)(void *), void *context);
/// Does: unblocks the signals of the loop's sources in the calling thread, which becomes the loop's.
void csched_loop_unblock_signals_(csched_loop *loop);
/// Does: makes the calling thread the loop's thread, also if the loop still belongs to a thread that exits.
void csched_loop_bind_(csched_loop *loop);
/// Does: in a child of fork, forgets the watch of the main loop, whose thread is the parent's.
void csched_main_loop_forget_watch_(void);
/// Does: separates the loop from its thread, because that thread is about to end or detaches the loop.
void csched_loop_unbind_(csched_loop *loop);
/// Returns: where the loop that runs on this thread counts down the jobs of its batch; a serial queue decrements it for
/// its jobs. NULL: no loop runs.
unsigned *csched_loop_jobs_left_(void);
/// Does: from now on, deliveries and discards that may run user code are done by the delivery worker `delivery`, not by
/// the loop's thread.
/// Thread: the loop's creator, before anything is submitted.
void csched_loop_set_delivery_(csched_loop *loop, csched_delivery *delivery);
/// Does: closes the loop, and runs or drops the outstanding work by the policy of the close. Thread: the loop's.
void csched_loop_finish_work_(csched_loop *loop);
/// Returns: the loop's sources. Requires: the calling thread is the loop's; otherwise the process stops.
struct csched_fds *csched_loop_fds_(csched_loop *loop, const char *function);
/// Returns: the loop's sources. Thread: any; csched_fds (loop_fd_internal.h) lists what other threads may do.
struct csched_fds *csched_loop_fds_of_(csched_loop *loop);
/// Returns: the loop's hooks. Requires: the calling thread is the loop's; otherwise the process stops.
struct csched_hooks *csched_loop_hooks_(csched_loop *loop, const char *function);
/// Does: records, in all loops of the calling thread, the target for which the thread waits, for the deadlock check
/// (waits.c); NULL: for none.
void csched_loops_set_waits_for_(csched_target *target);
/// Returns: whether a loop was ever bound to this thread.
bool csched_thread_had_loops_(void);
/// Does: in a child of fork, initialises the lock that the function above takes. Loops do the same, but a process may
/// have none.
void csched_loops_at_fork_(void);
/// Returns: whether the loop was orphaned by fork: its thread is in the parent.
bool csched_loop_is_orphaned_(const csched_loop *loop);
/// Does: stops the process if the loop was orphaned.
void csched_loop_require_not_orphaned_(const csched_loop *loop, const char *function);
/// Does: in a child of fork, initialises an orphaned loop again, without a thread. Its former contents are the
/// parent's.
void csched_loop_renew_(csched_loop *loop);
/// Returns: the loop, as a target, whose entry in the fork list is `atfork`; NULL: not an entry of a loop. Thread:
/// inside csched_os_atfork_visit_.
const csched_target *csched_loop_of_atfork_(const csched_atfork *atfork);
/// Returns: for dumps, the timers of `target`, if it is a loop; else NULL.
csched_timers *csched_loop_timers_seen_(const csched_target *target);
/// Does: for a dump, copies the number of the loop's thread (0: none), its field `closing` (0: open), and its number of
/// timers. Returns: false if the loop's memory is not mapped. Thread: any, also in a signal handler.
bool csched_loop_copy_state_(const csched_target *loop, uint32_t *thread, uint32_t *closing, size_t *timers);
