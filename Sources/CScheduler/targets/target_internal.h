// Internal functions of targets: their bases, waits for targets, and targets that a fork has orphaned.
// Depends on: target.h.
#pragma once

#include <CScheduler/target.h>

/// Returns: as csched_target_is_inside, also if this thread is a helper that runs other work inside of `target`
/// (queue/helping_internal.h).
bool csched_target_holds_(const csched_target *target);
/// The `drop` of a placeholder job: a context frame with such a job hides the frames around it from
/// csched_target_is_inside.
void csched_target_hides_outer_(csched_job *unused);

/// Returns: whether a wait of this thread for `target` would never end: `target` or a base runs work only on this
/// thread, or after its current work.
bool csched_target_would_wait_forever_(const csched_target *target);

/// Returns: whether `target` runs one job at a time now; a concurrent target: whether this thread runs its barrier.
bool csched_target_is_exclusive_(const csched_target *target);

/// Returns: whether `target`, or one of its bases, reports that it accepts no more work.
bool csched_target_is_closed_(const csched_target *target);

// What a thread may do with the work of a target that was closed with CSCHED_STOP_RUN: csched_target_rest_.
enum {
  CSCHED_REST_RUNS = 1,  ///< it may run work that was accepted before the close, as if the target ran it
  CSCHED_REST_IS_DUE = 2 ///< it delivers a timer that is due: so that timer's job was accepted, too
};
/// Returns: the sum of CSCHED_REST_… for this thread and `target`, which was closed with CSCHED_STOP_RUN; 0: it was
/// not, or this thread may do nothing.
unsigned csched_target_rest_(const csched_target *target);

/// Does: records that the exclusive targets whose work this thread runs wait for `target`, until
/// csched_deadlock_check_end_. Returns: false, with no record, if the wait would close a cycle of waits, and so never
/// end.
bool csched_deadlock_check_begin_(csched_target *target);
/// Does: removes that record: this thread waits no more.
void csched_deadlock_check_end_(void);

/// The value of a sync's futex word when the sync has ended: its caller may return. After a wake with any other value
/// the caller waits again.
enum { CSCHED_ENDED = 1 };

/// Does: stops the process, because `target` was orphaned by fork.
void csched_target_panic_orphaned_(const csched_target *target, const char *function) CSCHED_NORETURN;

/// In a child of fork, the type of orphaned targets: a submission to one stops the process.
extern const csched_target_type csched_target_orphaned_;

/// Returns: whether `target`, or one of its bases, is orphaned.
bool csched_target_is_orphaned_(const csched_target *target);

/// Does: as csched_target_submit, for work that a full limit accepts, too (limit.c, LM13). Returns: 0 or ECANCELED.
int csched_target_submit_always_(csched_target *target, csched_job *job);

// The state of a worker's follow-up, a job to run right after the current job. COMES: the job is being submitted; KEPT:
// the worker runs it next.
enum { CSCHED_FOLLOW_UP_NONE = 0, CSCHED_FOLLOW_UP_COMES = 1, CSCHED_FOLLOW_UP_KEPT = 2 };

/// Does: submits `job` to `target` as this worker's follow-up. If this thread is no worker of `target`, or has a
/// follow-up: as csched_target_submit.
/// Requires: the current job runs no more user code, because no other thread is woken for `job`. Returns: as
/// csched_target_submit.
int csched_target_submit_follow_up_(csched_target *target, csched_job *job);

/// Returns: the first in the chain of `target` and its bases whose type is the user's, not the library's; NULL: none.
csched_target *csched_target_find_custom_(csched_target *target);

/// Does: runs `timer`, which is due, at once as a job of its target, if the target is an idle serial queue; else
/// delivers the job to the target.
/// Returns: whether the job has run.
bool csched_serial_run_timer_(csched_timer *timer);

/// Returns: whether `target`, or one of its bases, has its own clock, which may be virtual.
bool csched_target_has_virtual_time_(const csched_target *target);

/// Returns: the end of the chain of bases of `target`, or `target` itself without a base.
csched_target *csched_target_root_(csched_target *target);

/// Returns: the base of `target`; NULL: it has none.
csched_target *csched_target_base_(const csched_target *target);
/// Does: lets this thread run one piece of work as if `target` ran it, until csched_target_leave_inline_. Returns:
/// false: it may not, now or ever.
bool csched_target_enter_inline_(csched_target *target);
/// Does: ends what csched_target_enter_inline_ has begun.
void csched_target_leave_inline_(csched_target *target);
