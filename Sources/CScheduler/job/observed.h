// The events that the scheduler reports to observers: submissions, runs, drops, wakes and waits for locks.
// diagnostics/observe.c receives the events.
// Depends on: job.h, platform.h.
//
// Without an observer, each submission and each run costs two instructions: a comparison with zero, and a jump that is
// not taken.
#pragma once

#include <CScheduler/job.h>

#include "../platform/platform.h"

struct csched_target;
struct csched_figures;
struct csched_observer;

/// An observed submission: an entry in the table of submitted jobs (diagnostics/observe.c).
typedef struct csched_seen {
  const csched_job *job;          ///< only compared, never dereferenced
  uint64_t id;                    ///< the number of the submission, never 0
  csched_time submitted;          ///< csched_now at the submission
  csched_time due;                ///< the time from which the job is ready to run; CSCHED_FOREVER: not known
  uintptr_t code;                 ///< address of the user's function that the job calls
  struct csched_figures *figures; ///< statistics of the target
  uint64_t number; ///< `figures->number` at the submission; if it differs later, another target uses `figures` now
  uint32_t trace;  ///< what csched_trace_add_ returned for the submission
} csched_seen;

/// A job's run in progress. It is in the stack frame of the function that runs the job.
typedef struct csched_observed_run {
  const csched_job *job;        ///< only compared, never dereferenced
  csched_seen seen;             ///< the run's submission
  csched_time since;            ///< the start of the run
  struct csched_figures *outer; ///< statistics of the target whose job encloses this run on the thread
  uint32_t depth;               ///< how many runs enclose this run on the thread
  uint32_t waiting;             ///< number of pending jobs of the target when the run started
  bool is_known;                ///< the submission was in the table; else the other fields are not set
  bool has_begun;               ///< the thread has a record, which counts this run: `outer` and `depth` are set
} csched_observed_run;

/// State of the submitting thread that `submit` saves and `submitted` restores.
typedef struct csched_observed_submission {
  bool is_known;                ///< there was an observer when `submit` was called
  struct csched_figures *outer; ///< statistics of the target for which the thread worked before
} csched_observed_submission;

/// Events, each noted on the thread where it happens.
typedef enum csched_occurrence {
  CSCHED_OCCURRED_SUBMIT,
  CSCHED_OCCURRED_RUN,
  CSCHED_OCCURRED_CANCEL,
  CSCHED_OCCURRED_DROP,
  CSCHED_OCCURRED_WAKE,      ///< a thread was woken for a submission
  CSCHED_OCCURRED_STEAL,     ///< a spawned job was stolen; `address`: the target of the job that has spawned it
  CSCHED_OCCURRED_LOCK_WAIT, ///< a thread has slept for a lock; `address`: the lock, `span`: how long
  CSCHED_OCCURRED_BLOCK,     ///< a thread begins to wait for an object other than a lock; `address`: the object
  CSCHED_OCCURRED_START,     ///< a run starts; its RUN event is noted at its end
} csched_occurrence;

/// Where jobs of `type` store the address of the user's function: the word at `offset`; or `context` - 1, if
/// `is_in_context` and `context` is odd.
typedef struct csched_observed_code {
  const csched_job_type *type;
  size_t offset;
  bool is_in_context;
} csched_observed_code;

/// The functions that receive the events.
typedef struct csched_observe_hooks {
  /// Notes that `job` is submitted to `target`. Called before `job` is linked into a queue. `due`: the deadline on the
  /// target's clock, 0: at once.
  void (*submit)(csched_observed_submission *submission, struct csched_target *target, csched_job *job,
                 csched_time due);
  void (*submitted)(const csched_observed_submission *submission); ///< notes that the submitting call returns
  /// Notes that `job`, which was dequeued, starts.
  void (*run)(csched_observed_run *run, const csched_job *job);
  /// Notes that the run has ended; `has_run` is false if the job was a cancelled entry. It does not read the job, which
  /// may be freed.
  void (*ran)(csched_observed_run *run, bool has_run);
  /// Notes that `job` will not run.
  void (*drop)(const csched_job *job, csched_drop_reason reason);
  /// Notes that `job` has a new deadline.
  void (*moved)(const csched_job *job, csched_time due);
  void (*note)(csched_occurrence what, const void *address, csched_time span); ///< notes any other csched_occurrence
  /// Removes the statistics of `target`, whose memory is being freed. Thread: the one that destroys `target`. Called
  /// without observers, too.
  void (*gone)(const struct csched_target *target);
  /// Releases the observer of the calling thread, which exits.
  void (*leave)(struct csched_observer *observer);
  /// Returns: whether jobs with this `run` may have the address of the user's function, plus 1, in `context`.
  bool (*has_code)(void (*run)(csched_job *job));
  /// Writes the recent events, if they are recorded. `may_wait`: a write may block. Returns: 0, ENOMEM, or the errno
  /// value of the first failed write.
  int (*write_events)(int fd, bool may_wait);
} csched_observe_hooks;

/// NULL until diagnostics/observe.c has set it, when the library is loaded.
extern CSCHED_HIDDEN const csched_observe_hooks *csched_observe_hooks_;

/// Returns: whether there is an observer. csched_observe_hooks_ is then not NULL.
static inline bool csched_is_observed_(void) {
  return CSCHED_UNLIKELY(csched_is_set(&csched_observed_)) && csched_observe_hooks_ != NULL; // Speed only: may be late
}

/// Does: removes the statistics of `target`. Call it before freeing a target.
static inline void csched_observe_gone_(const struct csched_target *target) {
  if (csched_observe_hooks_ != NULL) csched_observe_hooks_->gone(target);
}
