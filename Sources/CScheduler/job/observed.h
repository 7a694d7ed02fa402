// What the scheduler reports to its observers: submissions, runs, drops, wakes and waits for locks. process/observe.c receives the reports.
// Depends on: job.h, platform.h.
//
// Without an observer, a submission and a run cost two instructions: a comparison with zero, and a jump that is not taken.
#pragma once

#include <CScheduler/job.h>

#include "../platform/platform.h"

struct csched_target;
struct csched_figures;
struct csched_observer;

/// A submission, in the table of submitted jobs (process/observe.c).
typedef struct csched_seen {
  const csched_job *job; ///< identity only, not read
  uint64_t id;           ///< of the submission, never 0
  csched_time submitted; ///< csched_now
  csched_time due;       ///< the job is ready to run from then on; CSCHED_FOREVER: not known
  uintptr_t code;        ///< the function that the job calls
  struct csched_figures *figures;
  uint64_t number; ///< the number of `figures` at the submission: it changes when another target gets `figures`
  uint32_t trace;  ///< what csched_trace_add_ returned for the submission
} csched_seen;

/// A run in progress. It is in the stack frame of the function that runs the job.
typedef struct csched_observed_run {
  const csched_job *job; ///< identity only, not read
  csched_seen seen;
  csched_time since;            ///< the start of the run
  struct csched_figures *outer; ///< of the target that the thread worked for before
  uint32_t depth;               ///< number of the thread's runs around it
  uint32_t waiting;             ///< jobs on the target when the run started
  bool is_known;                ///< the submission was in the table; else the other fields are not set
} csched_observed_run;

/// State of the thread that `submit` saves and `submitted` restores.
typedef struct csched_observed_submission {
  bool is_known;
  struct csched_figures *outer;
} csched_observed_submission;

/// Events, each noted on the thread where it happens.
typedef enum csched_occurrence {
  CSCHED_OCCURRED_SUBMIT,
  CSCHED_OCCURRED_RUN,
  CSCHED_OCCURRED_CANCEL,
  CSCHED_OCCURRED_DROP,
  CSCHED_OCCURRED_WAKE,      ///< a thread was woken for a submission
  CSCHED_OCCURRED_STEAL,     ///< a forked job was stolen: the target of the job that has forked it
  CSCHED_OCCURRED_LOCK_WAIT, ///< a thread slept for a lock: the lock's address, the duration
  CSCHED_OCCURRED_BLOCK,     ///< a thread begins to wait for something else: its address
  CSCHED_OCCURRED_START,     ///< a run starts; RUN is noted at its end
} csched_occurrence;

/// Where jobs of `type` store the address of the user's function: the word at `offset`. `is_in_context`: an odd `context` is that address plus 1.
typedef struct csched_observed_code {
  const csched_job_type *type;
  size_t offset;
  bool is_in_context;
} csched_observed_code;

/// The functions that receive the reports.
typedef struct csched_observe_hooks {
  /// Notes that `job` is submitted to `target`, before the job is linked anywhere. `due`: its deadline on the target's clock, 0: at once.
  void (*submit)(csched_observed_submission *submission, struct csched_target *target, csched_job *job,
                 csched_time due);
  void (*submitted)(const csched_observed_submission *submission);
  /// Notes that `job`, which was dequeued, starts.
  void (*run)(csched_observed_run *run, const csched_job *job);
  /// Notes that the run has ended, or that the job was a cancelled entry. It does not read the job.
  void (*ran)(csched_observed_run *run, bool has_run);
  /// Notes that `job` will not run.
  void (*drop)(const csched_job *job, csched_drop_reason reason);
  /// Notes that `job` has a new deadline.
  void (*moved)(const csched_job *job, csched_time due);
  void (*note)(csched_occurrence what, const void *address, csched_time span);
  /// Removes the figures of `target`, whose memory is being freed. Thread: the one that destroys `target`. Called without observers, too.
  void (*gone)(const struct csched_target *target);
  /// Releases a thread's observer, because the thread ends.
  void (*leave)(struct csched_observer *observer);
  /// Returns: whether a job with this `run` has a function's address plus 1 in `context`.
  bool (*has_code)(void (*run)(csched_job *job));
  /// Writes the last events, if they are recorded. `may_wait`: a write may block. Returns: 0, ENOMEM, or the errno value of the first write that failed.
  int (*write_events)(int fd, bool may_wait);
} csched_observe_hooks;

/// NULL until the library is loaded.
extern CSCHED_HIDDEN const csched_observe_hooks *csched_observe_hooks_;

/// Returns: whether there is an observer. csched_observe_hooks_ is then not NULL.
static inline bool csched_is_observed_(void) {
  return CSCHED_UNLIKELY(csched_is_set(&csched_observed_)) && csched_observe_hooks_ != NULL; // Speed only
}

static inline void csched_observe_gone_(const struct csched_target *target) {
  if (csched_observe_hooks_ != NULL) csched_observe_hooks_->gone(target);
}
