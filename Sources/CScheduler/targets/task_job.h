// Tasks with a custom job type: used by csched_target_async (task_async.c) and by the Swift module.
// Depends on: task.h. For the Swift module.
#pragma once

#include <CScheduler/task.h>

/// What the memory of a task has room for. The job type uses the extra words: see csched_task_room_ and
/// csched_task_timer_room_.
typedef enum csched_task_size {
  CSCHED_TASK_PLAIN,     ///< a job and four extra words
  CSCHED_TASK_TIMED,     ///< a timer, which begins with its job, and three extra words
  CSCHED_TASK_REPEATING, ///< a timer, and nineteen extra words
  CSCHED_TASK_SIZES,
} csched_task_size;

/// Returns: a task whose job is of `type`, and not submitted; all zero without memory. `type->release` must end with
/// csched_task_free_(job, size).
csched_task csched_task_make_(const csched_job_type *type, csched_task_size size);
/// Does: frees the memory of `job`, which csched_task_make_ made with `size`. The job's word stays readable. Thread:
/// any.
void csched_task_free_(csched_job *job, csched_task_size size);
/// Returns: the extra words of a PLAIN job.
CSCHED_INLINE void *csched_task_room_(csched_job *job) {
  CSCHED_NEEDS_ABI();
  return job + 1;
}
/// Returns: the timer of a job that is not PLAIN. The timer begins with its job.
CSCHED_INLINE csched_timer *csched_task_timer_(csched_job *job) {
  CSCHED_NEEDS_ABI();
  return (csched_timer *)(void *)job;
}
/// Returns: the extra words of a job that is not PLAIN.
CSCHED_INLINE void *csched_task_timer_room_(csched_job *job) { return csched_task_timer_(job) + 1; }

/// Returns: the target to which a job with a timer was submitted.
CSCHED_INLINE csched_target *csched_task_target_(csched_job *job) { return csched_task_timer_(job)->target; }

/// Does: submits `task` to `target`. Returns: as csched_target_submit, csched_target_submit_at, and
/// csched_target_submit_at_clock.
int csched_task_submit_(csched_target *target, csched_task task);
/// Does: as csched_task_submit_, for work that a full limit accepts, too.
int csched_task_submit_always_(csched_target *target, csched_task task);
int csched_task_submit_at_(csched_target *target, csched_task task, csched_time deadline, csched_time leeway);
int csched_task_submit_at_clock_(csched_target *target, csched_task task, csched_clock clock, csched_time deadline,
                                 csched_time leeway);

/// Does: submits `job` again to its target, unless its task was cancelled. Requires: `run` of `job` calls this as its
/// final access to `job`.
/// Returns: 0 after the submission; ECANCELED after a drop; CSCHED_TASK_UNWANTED_: the task was cancelled, and `run`
/// must release its captures.
int csched_task_submit_again_(csched_job *job, csched_time deadline, csched_time leeway);
CSCHED_UNUSED static const int CSCHED_TASK_UNWANTED_ = -1;

/// Returns: whether the task of `job` was cancelled. Requires: `job` runs on this thread.
bool csched_task_is_unwanted_(const csched_job *job);

/// Returns: whether the task is over or was cancelled, so that it will not start. False while its target, not a cancel,
/// drops it.
bool csched_task_is_cancelled_(csched_task task);

/// Returns: the reason of the current `drop` call. Requires: this thread is inside a task's `drop`.
csched_drop_reason csched_task_drop_reason_(void);
