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

/// Returns: which jobs are running on this thread, for csched_job_restore_running_. NULL: none.
void *csched_job_running_(void);

/// Does: forgets the jobs that have begun since, because their runs were left by unwinding, or by the end of the thread.
void csched_job_restore_running_(void *running);
