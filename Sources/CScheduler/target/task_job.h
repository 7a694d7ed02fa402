// Tasks with a job type of your own: the base of csched_target_async (task_async.c) and of the Swift module.
// Depends on: task.h. For the Swift module.
#pragma once

#include <CScheduler/task.h>

/// Memory of a task besides its job and timer: see csched_task_room_ and csched_task_timer_room_.
typedef enum csched_task_size {
  CSCHED_TASK_PLAIN,     ///< no timer, and four words
  CSCHED_TASK_TIMED,     ///< three words
  CSCHED_TASK_REPEATING, ///< nineteen words
  CSCHED_TASK_SIZES,
} csched_task_size;

/// Returns: a task whose job is of `type`, not submitted; all zero when memory is short. `type->release` must call csched_task_free_ with the same
/// size as its last act.
csched_task csched_task_make_(const csched_job_type *type, csched_task_size size);
void csched_task_free_(csched_job *job, csched_task_size size);

/// Returns: the job's extra memory, for the use of `type`.
CSCHED_INLINE void *csched_task_room_(csched_job *job) {
  CSCHED_NEEDS_ABI();
  return job + 1;
}
CSCHED_INLINE csched_timer *csched_task_timer_(csched_job *job) {
  CSCHED_NEEDS_ABI();
  return (csched_timer *)(void *)job;
}
CSCHED_INLINE void *csched_task_timer_room_(csched_job *job) { return csched_task_timer_(job) + 1; }

/// Returns: the target that a job with a timer was submitted to.
CSCHED_INLINE csched_target *csched_task_target_(csched_job *job) { return csched_task_timer_(job)->target; }

/// Does: submits `task` to `target`. Returns: as csched_target_submit, csched_target_submit_at, and csched_target_submit_at_clock.
int csched_task_submit_(csched_target *target, csched_task task);
int csched_task_submit_at_(csched_target *target, csched_task task, csched_time deadline, csched_time leeway);
int csched_task_submit_at_clock_(csched_target *target, csched_task task, csched_clock clock, csched_time deadline,
                                 csched_time leeway);

/// Does: submits `job` again to its target, unless its task was cancelled. Requires: its `run` calls this last.
/// Returns: 0 after the submission; ECANCELED after a drop; CSCHED_TASK_UNWANTED_ when the task was cancelled and `run` must release its captures.
int csched_task_submit_again_(csched_job *job, csched_time deadline, csched_time leeway);
CSCHED_UNUSED static const int CSCHED_TASK_UNWANTED_ = -1;

/// Returns: whether the task of `job`, which runs here, was cancelled.
bool csched_task_is_unwanted_(const csched_job *job);

/// Returns: whether the task is over or was cancelled, so that it will not start. A task that its target is dropping is neither until the drop ends.
bool csched_task_is_cancelled_(csched_task task);

/// Returns: the reason of the current `drop` call, inside it.
csched_drop_reason csched_task_drop_reason_(void);
