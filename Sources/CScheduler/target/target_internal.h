// Internal functions of targets: their bases, waits for them, and orphans of a fork.
// Depends on: target.h.
#pragma once

#include <CScheduler/target.h>

/// Returns: whether `target` cannot continue while this thread waits for it, because this thread occupies it or a base of it.
bool csched_target_is_held_here_(const csched_target *target);

/// Returns: whether `target` runs one job at a time.
bool csched_target_is_exclusive_(const csched_target *target);

/// Returns: whether `target`, or one of its bases, reports that it accepts no more work.
bool csched_target_is_closed_(const csched_target *target);

/// Does: records that this thread, with all targets that it holds, waits for `target`, until csched_deadlock_check_end_. Returns: false, and does
/// nothing, when the wait could never end, because it would close a cycle of such waits.
bool csched_deadlock_check_begin_(csched_target *target);
void csched_deadlock_check_end_(void);

/// The value of a waiting sync's word when the sync may return. Before, the word is 0, or another value that woke the sync for a while.
enum { CSCHED_ENDED = 1 };

/// Does: stops the process, because `target` was orphaned by fork.
void csched_target_panic_orphaned_(const csched_target *target, const char *function) CSCHED_NORETURN;

/// The type of orphaned targets, in a child of fork.
extern const csched_target_type csched_target_orphaned_;

/// Returns: whether `target`, or one of its bases, is orphaned.
bool csched_target_is_orphaned_(const csched_target *target);

// The follow-up of a thread's present job: there is none; it is being submitted; the thread keeps it, and runs it next.
enum { CSCHED_FOLLOW_UP_NONE = 0, CSCHED_FOLLOW_UP_COMES = 1, CSCHED_FOLLOW_UP_KEPT = 2 };

/// Does: submits `job` to the pool `target`, to run on this thread right after its present job. No thread is woken, so no user code may run
/// until then. On another thread, or if this thread keeps a follow-up already, submits `job` as any job. Returns: as csched_target_submit.
int csched_target_submit_follow_up_(csched_target *target, csched_job *job);

/// Returns: the first of `target` and its bases whose functions are the user's, not the library's; NULL: none.
csched_target *csched_target_foreign_(csched_target *target);

/// Does: runs `timer`, which is due, at once as a job of its target, if the target is an idle serial queue; else delivers the timer.
/// Returns: whether it has run.
bool csched_serial_run_timer_(csched_timer *timer);

/// Returns: whether `target`, or one of its bases, has a clock of its own, which may be virtual.
bool csched_target_has_virtual_time_(const csched_target *target);

/// Returns: the end of the chain of bases of `target`, or `target` itself without a base.
csched_target *csched_target_root_(csched_target *target);

/// Does: calls the function of the target's type. Returns: its result; NULL or false if the type has no such function.
csched_target *csched_target_base_(const csched_target *target);
bool csched_target_enter_inline_(csched_target *target);
void csched_target_leave_inline_(csched_target *target);
