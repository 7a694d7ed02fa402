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

/// Who discards jobs in place of a thread that may not call what is the user's; from there it calls csched_job_discard_.
typedef struct csched_bin {
  void (*take)(struct csched_bin *bin, csched_job *job);
} csched_bin;

/// Does: has `bin` discard what this thread would from now on; NULL: nobody does. Returns: who did before.
csched_bin *csched_job_discard_into_(csched_bin *bin);

/// Does: the first half of csched_job_cancel. If it returns DROPPED, the job is not released before the second half has begun.
csched_cancel_result csched_job_begin_cancel_(csched_job *job);

/// Does: the second half. Nothing of the canceller's looks at the job afterwards, unless it has unlinked it.
void csched_job_end_cancel_(csched_job *job);

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
