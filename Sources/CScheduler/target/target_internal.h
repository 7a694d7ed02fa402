// Internal functions of targets: their bases, waits for them, and orphans of a fork.
// Depends on: target.h.
#pragma once

#include <CScheduler/target.h>

/// Returns: whether a wait for `target` on this thread would keep it from continuing.
bool csched_target_is_held_here_(const csched_target *target);

/// Returns: whether `target` runs one job at a time.
bool csched_target_is_exclusive_(const csched_target *target);

/// Returns: whether `target`, or one of its bases, reports that it accepts no more work.
bool csched_target_is_closed_(const csched_target *target);

/// Does: records that this thread, with all targets that it holds, waits for `target`, until csched_deadlock_check_end_. Returns: false, and does
/// nothing, when the wait could never end, because it would close a cycle of such waits.
bool csched_deadlock_check_begin_(csched_target *target);
void csched_deadlock_check_end_(void);

/// The word of a waiting sync at its end. Before, it is 0, or another value that woke the sync for a while.
enum { CSCHED_ENDED = 1 };

/// Does: stops the process, because `target` was orphaned by fork.
void csched_target_panic_orphaned_(const csched_target *target, const char *function) CSCHED_NORETURN;

/// The type of orphaned targets, in a child of fork.
extern const csched_target_type csched_target_orphaned_;

/// Returns: whether `target`, or one of its bases, is orphaned.
bool csched_target_is_orphaned_(const csched_target *target);

// A thread's state of the follow-up of its present job: there is none; it is being submitted; it is kept, and runs next.
enum { CSCHED_FOLLOW_UP_NONE = 0, CSCHED_FOLLOW_UP_COMES = 1, CSCHED_FOLLOW_UP_KEPT = 2 };

/// Does: submits `job` to the pool `target`, to run on this thread right after its present job. No thread is woken, so no user code may run
/// until then. On a thread that is not the pool's, or that keeps a follow-up already, submits it as any job. Returns: as csched_target_submit.
int csched_target_submit_follow_up_(csched_target *target, csched_job *job);

/// Returns: the first of `target` and its bases whose functions are the user's, not the library's; NULL: none.
csched_target *csched_target_foreign_(csched_target *target);

/// Does: runs `timer`, which is due, at once as a job of its target, if that is an idle serial queue; else delivers it.
/// Returns: whether it has run.
bool csched_serial_run_timer_(csched_timer *timer);

/// Returns: whether `target`, or one of its bases, has a clock of its own, which may be virtual.
bool csched_target_has_virtual_time_(const csched_target *target);

/// Returns: the last of `target`, its base, the base of that …
csched_target *csched_target_root_(csched_target *target);

/// Does: calls the function of the target's type. Without one the result is NULL or false.
csched_target *csched_target_base_(const csched_target *target);
bool csched_target_enter_inline_(csched_target *target);
void csched_target_leave_inline_(csched_target *target);
