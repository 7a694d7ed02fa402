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

/// Does: ends the jobs that were running on this thread, which is about to end or has left them by unwinding.
void csched_job_abandon_running_(void);
