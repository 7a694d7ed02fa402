// Internal functions of jobs: submitting, running, discarding and cancelling them. The public half is job.h.
// Depends on: job.h.
#pragma once

#include <CScheduler/atomic.h>
#include <CScheduler/job.h>

/// Does: marks `job` as submitted, before the caller links it into a queue. Requires: `job` is idle, or runs on this
/// thread; else stops the process.
void csched_job_submitted_(csched_job *job, const char *function);

// The word of a job. The protocol is in job.c.
enum {
  CSCHED_JOB_IDLE = 0,             // not submitted, or ended
  CSCHED_JOB_QUEUED = 1,           // submitted, not started
  CSCHED_JOB_RUNNING = 2,          // `run` has started
  CSCHED_JOB_CANCELLED = 3,        // `drop` has returned; the job is still linked in its queue
  CSCHED_JOB_DROPPING = 4,         // a thread is inside `drop`
  CSCHED_JOB_PASSED = 5,           // dequeued during the canceller's `drop`: the canceller calls `release`
  CSCHED_JOB_ORPHANED = 6,         // in a child of fork: a thread of the parent runs the job (or drops it: a task)
  CSCHED_JOB_STATE = 7,            // mask of the states above
  CSCHED_JOB_UNWANTED = 8,         // flag: the job's csched_task was cancelled
  CSCHED_JOB_RESUBMISSION = 0x10,  // add this to count a resubmission: the run has submitted its own job
  CSCHED_JOB_RESUBMISSIONS = 0xF0, // mask of the count of resubmissions
  CSCHED_JOB_LIFE = 0x100,         // divide by this for the generation, in bits 8 to 63
};

static inline unsigned csched_job_state_(uint64_t word) { return (unsigned)(word & CSCHED_JOB_STATE); }
static inline uint64_t csched_job_in_state_(uint64_t word, unsigned state) {
  return (word & ~(uint64_t)CSCHED_JOB_STATE) | state;
}

/// Does: marks an idle `job` as submitted. Returns: false if the job is not idle, or was never initialised: call
/// csched_job_submitted_.
static inline bool csched_job_mark_(csched_job *job) {
  uint64_t word = csched_load_relaxed(&job->word); // racy read: detects misuse
  if (CSCHED_UNLIKELY(csched_job_state_(word) != CSCHED_JOB_IDLE || job->type == NULL)) return false;
  csched_store_release(&job->word, word | CSCHED_JOB_QUEUED); // J1: release: a canceller sees the job's fields
  return true;
}

/// Does: runs `job` unless it was cancelled, then releases it. Requires: the caller has unlinked `job`.
void csched_job_perform_(csched_job *job);
/// Does: drops `job` unless it was cancelled, then releases it. Inside another drop on this thread, `job` is postponed
/// until that drop has returned. If csched_job_discard_into_ has set a receiver, only passes `job` to it. Requires: the
/// caller has unlinked `job`.
void csched_job_discard_(csched_job *job);

/// The type of the library's own jobs. The library recognizes it by `type.drop`, which is csched_job_drop_own_ and
/// calls `drop`. Discards of these jobs are never postponed, because `drop` runs no user code. Users' jobs that `drop`
/// discards are postponed.
typedef struct csched_own_job_type {
  csched_job_type type;
  void (*drop)(csched_job *job);
  bool
      continues; ///< the job continues with work that was accepted earlier: a target that was closed to run its work still runs it
} csched_own_job_type;
#define CSCHED_OWN_JOB_TYPE(run, drop, release, continues)                                                             \
  { {run, csched_job_drop_own_, release}, drop, continues }
void csched_job_drop_own_(csched_job *job);

/// Returns: whether `job` is one of the library's own jobs, and continues with work that was accepted earlier.
static inline bool csched_job_continues_(const csched_job *job) {
  return job->type->drop == csched_job_drop_own_ && ((const csched_own_job_type *)(const void *)job->type)->continues;
}

/// Deferred drops: another thread discards the jobs, because this thread may not run user code. (Postponed jobs: this
/// thread discards them later.)
typedef struct csched_deferred_drops {
  void (*take)(struct csched_deferred_drops *deferred, csched_job *job); ///< stores `job` for the other thread
} csched_deferred_drops;

/// Does: from now on passes the jobs that this thread discards to `deferred`; NULL: the thread drops them itself.
/// Returns: the previous `deferred`.
csched_deferred_drops *csched_job_discard_into_(csched_deferred_drops *deferred);
/// Returns: whether this thread passes the jobs that it discards to another one, because it may not run user code.
bool csched_job_defers_discards_(void);

/// Jobs that this thread discards inside a drop, postponed to the end of that drop.
typedef struct csched_discards {
  csched_job *first, *last; ///< linked by `next`
  bool is_discarding;       ///< the thread is inside a drop: further discards are postponed
} csched_discards;

/// Does: starts an empty inner list of postponed jobs. Returns: the outer list, for csched_discards_end_. (swift.h
/// wraps these four functions.)
csched_discards csched_discards_begin_(void);
/// Does: discards the jobs of the inner list, and restores the list `outer`. `outer` is {0} after
/// csched_discards_begin_if_outermost_.
void csched_discards_end_(csched_discards outer);
/// Does: starts to postpone discards. Returns: true: call csched_discards_end_ later; false: no change (postponed
/// already, or no memory).
bool csched_discards_begin_if_outermost_(void);
/// Returns: whether this thread postpones discards: it is inside a drop, or between csched_discards_begin_ and
/// csched_discards_end_.
bool csched_is_in_drop_(void);
/// Hooks that retain a postponed job's owner until all postponed jobs are dropped. The owner is an object that the job
/// uses without retaining it.
typedef struct csched_discards_owners {
  const void *(*owner_of)(const csched_job *job); ///< returns: the owner of `job`; NULL: it has none
  void (*retain)(const void *owner);
  void (*release)(const void *owner);
} csched_discards_owners;
extern CSCHED_HIDDEN csched_discards_owners csched_discards_owners_;
/// Returns: whether this thread is inside a job's drop; if so, stores the reason of that drop.
bool csched_discards_reason_(csched_drop_reason *reason);
/// Does: the first half of csched_job_cancel: claims a queued job. Returns: as csched_job_cancel. After DROPPED, call
/// csched_job_end_cancel_.
csched_cancel_result csched_job_begin_cancel_(csched_job *job);
/// Does: the second half of csched_job_cancel: drops `job`. `is_unlinked`: the caller has unlinked `job`, so this call
/// releases it, not its queue.
void csched_job_end_cancel_(csched_job *job, bool is_unlinked);
/// Returns: whether this thread is inside the drop of `job`.
bool csched_job_is_dropped_here_(const csched_job *job);
/// Returns: the reason of the innermost drop on this thread. Requires: the thread is inside a drop.
csched_drop_reason csched_job_drop_reason_(void);

/// A job and one of its generations. `life` is 0 for a node, which has no generations.
typedef struct csched_job_life {
  const csched_job *job;
  uint64_t life;
} csched_job_life;

/// The job that this thread is submitting. If this thread discards that job meanwhile, the reason is REFUSED.
extern CSCHED_HIDDEN CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_job_life csched_job_may_be_refused_;

/// Does: waits until no run and no drop of `job` is in progress, or its word has another count of resubmissions or
/// generation than `word`.
void csched_job_wait_in_(const csched_job *job, uint64_t word);
/// Does: waits for the end of the run, as csched_job_cancel_and_wait does after csched_job_cancel. `function`: the
/// caller's name, for the panic text.
void csched_job_wait_(csched_job *job, const char *function);
/// Returns: whether `job` runs on this thread, and has not been submitted again.
bool csched_job_is_running_here_(const csched_job *job);
/// Returns: whether `job` has been cancelled, or is being cancelled. Requires: `job` is in a queue that only the caller
/// dequeues from.
bool csched_job_is_cancelled_(const csched_job *job);
/// Returns: whether `job` seems to be a node or an uncancelled job, and not of the type `except`. Its memory may be
/// freed already. Thread: any.
bool csched_job_seems_to_wait_(const csched_job *job, const csched_job_type *except);
/// Does: as csched_job_perform_, with `target` as the current target. Returns: whether the job ran.
bool csched_job_perform_on_(csched_job *job, struct csched_target *target);
/// Does: ends and releases `job`, whose run was unwound by an exception, longjmp or thread exit. For a placeholder
/// (`run` is NULL): calls `release`.
void csched_job_end_unwound_(csched_job *job);
/// Does: marks `job` as ORPHANED if a thread of the parent runs it. Thread: the only thread of a child of fork.
void csched_job_orphan_(csched_job *job);
