// What the schedulers do with jobs: the other half of job.h.
// Depends on: job.h.
#pragma once

#include <CScheduler/job.h>

/// Does: marks `job` as submitted, before it is linked anywhere. Stops the process if it is pending already.
void csched_job_submitted_(csched_job *job, const char *function);

/// Does: runs `job` unless it was cancelled, then releases it. Requires: it has been unlinked.
void csched_job_perform_(csched_job *job);

/// Does: drops `job` unless it was cancelled, then releases it. Requires: it has been unlinked.
void csched_job_discard_(csched_job *job);

/// Does: the first half of csched_job_cancel. If it returns DROPPED, the job does not end before the second half.
csched_cancel_result csched_job_begin_cancel_(csched_job *job);

/// Does: the second half: drops `job`. Nothing of the canceller's looks at it afterwards. `is_unlinked`: the caller has unlinked it, and
/// so it ends here.
void csched_job_end_cancel_(csched_job *job, bool is_unlinked);

/// Does: what csched_job_cancel_and_wait does when a cancel has found `job` running.
void csched_job_wait_(csched_job *job, const char *function);

/// Returns: whether `job` runs on this thread, and has not been submitted again.
bool csched_job_is_running_here_(const csched_job *job);

/// Returns: whether `job` has been cancelled, or is being so. Requires: it is submitted, and the caller is to unlink it.
bool csched_job_is_husk_(const csched_job *job);

/// Returns: which jobs are running on this thread, for csched_job_restore_running_. NULL: none.
void *csched_job_running_(void);

/// Does: forgets the jobs that have begun since, because their runs were left by unwinding.
void csched_job_restore_running_(void *running);

/// Does: ends the jobs that are running on this thread, the innermost first, because it ends in the middle of them.
void csched_job_end_running_(void);

/// Does: counts `job`, which is idle and the caller's alone, as running on this thread until csched_job_let_go_: its `release` follows
/// if the thread ends before. Returns: false, and does nothing, when it was never said that the thread is told of its end.
bool csched_job_hold_(csched_job *job, bool is_end_expected);
void csched_job_let_go_(const csched_job *job);

/// The jobs that are running on one thread.
typedef struct csched_job_stack csched_job_stack;

/// Returns: this thread's.
csched_job_stack *csched_job_stack_(void);

/// Does: marks the jobs of a thread of the parent. Thread: the only one of a child of fork.
void csched_job_leave_behind_(csched_job_stack *stack);
