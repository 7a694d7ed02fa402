// Hooks that each submission, run and drop calls while there is an observer, and what they record.
// Depends on: job.h, target.h.
//
// Observers are the statistics, the watchdog, the trace, and other programs that attach to probes. Without an observer, a submission and a run cost
// two instructions: a comparison with zero, and a jump that is not taken. With one, each submission is entered in a table until its job runs or is
// dropped. So submissions before the first observer are not seen. Forked jobs, recursion on a trampoline and sources of a loop are not submissions.
#pragma once

#include <CScheduler/atomic.h>
#include <CScheduler/target.h>

#include "text.h"

/// The observers. The low half counts programs that are attached to the probes (platform.h); the system writes it.
enum {
  CSCHED_OBSERVED_BY_OTHERS = 0xffff,
  CSCHED_OBSERVED_BY_STATISTICS = 1 << 16,
  CSCHED_OBSERVED_BY_WATCH = 1 << 17,
  CSCHED_OBSERVED_BY_TRACE = 1 << 18,
};
extern CSCHED_HIDDEN uint32_t csched_observed_;

static inline bool csched_is_observed_(void) {
  return CSCHED_UNLIKELY(csched_is_set(&csched_observed_)); // Speed only
}

/// Does: adds or removes an observer. Returns: 0 or ENOMEM. Requires: csched_observe_prepare_ was called, with no lock held. Thread: any.
void csched_observe_prepare_(void);
int csched_observe_begin_(uint32_t observer);
void csched_observe_end_(uint32_t observer);

// MARK: figures of a target

/// A histogram of durations: eight steps for each doubling.
enum { CSCHED_SPANS = 42 * 8 };
typedef struct csched_spans {
  csched_time most;
  uint32_t counts[CSCHED_SPANS];
} csched_spans;

/// The counts of one target since it was first seen. When the target is destroyed they stay, until another target gets them with a new `number`.
typedef struct csched_figures {
  const csched_target *target; ///< NULL: destroyed
  uint64_t number;             ///< 0: not used yet
  char name[80];
  bool is_concurrent; ///< it may run several jobs at a time
  uint32_t waiting;
  uint64_t submitted, run, cancelled, dropped, wakes, system_calls;
  uint64_t head, head_look,
      reported; ///< the watchdog's: the longest-waiting submission, the look that found it, the last reported
  csched_time head_due;
  csched_spans waited, ran;
} csched_figures;

/// Returns: the figures of `target`; NULL if it was never seen.
csched_figures *csched_figures_find_(const csched_target *target);

uint64_t csched_figures_number_(const csched_figures *figures);
/// Returns: whether `figures` still have that number.
bool csched_figures_are_(const csched_figures *figures, uint64_t number);

/// Returns: the figures at index `at`, used or not; NULL: there are no more.
csched_figures *csched_figures_at_(size_t at);

/// Does: forgets `target`, whose memory is being freed. Thread: the one that destroys it.
void csched_observe_gone_(const csched_target *target);

// MARK: hooks

/// A submission in the table.
typedef struct csched_seen {
  const csched_job *job; ///< identity only, not read
  uint64_t id;           ///< of the submission, never 0
  csched_time submitted; ///< csched_now
  csched_time due;       ///< it waits from then on; CSCHED_FOREVER: not known
  uintptr_t code;        ///< the function that the job calls
  csched_figures *figures;
  uint64_t number; ///< of `figures`, at the submission
  uint32_t trace;  ///< what csched_trace_add_ returned for the submission
} csched_seen;

/// A run in progress. It is in the stack frame of the function that runs the job.
typedef struct csched_observed_run {
  const csched_job *job; ///< identity only, not read
  csched_seen seen;
  csched_time since;
  csched_figures *outer;
  uint32_t depth;   ///< number of the thread's runs around it
  uint32_t waiting; ///< jobs on the target when the run started
  bool is_known;
} csched_observed_run;

/// What a submission restores when it returns.
typedef struct csched_observed_submission {
  bool is_known;
  csched_figures *outer;
} csched_observed_submission;

/// Does: enters `job` as submitted to `target`, before it is linked anywhere. `due`: its deadline on the target's clock, 0: at once.
void csched_observe_submit_(csched_observed_submission *submission, csched_target *target, csched_job *job,
                            csched_time due);
void csched_observe_submitted_(const csched_observed_submission *submission);
/// Does: notes that `job`, which was dequeued, starts; then that it has ended, or was found cancelled. The second call does not read the job.
void csched_observe_run_(csched_observed_run *run, const csched_job *job);
void csched_observe_ran_(csched_observed_run *run, bool has_run);
/// Does: notes that `job` will not run.
void csched_observe_drop_(const csched_job *job, csched_drop_reason reason);
/// Does: notes that `job` has a new deadline.
void csched_observe_moved_(const csched_job *job, csched_time due);

/// Events, each noted on the thread where it happens.
typedef enum csched_occurrence {
  CSCHED_OCCURRED_SUBMIT,
  CSCHED_OCCURRED_RUN,
  CSCHED_OCCURRED_CANCEL,
  CSCHED_OCCURRED_DROP,
  CSCHED_OCCURRED_WAKE,      ///< a thread was woken for a submission
  CSCHED_OCCURRED_STEAL,     ///< a forked job was stolen
  CSCHED_OCCURRED_LOCK_WAIT, ///< a thread slept for a lock: the lock's address, the duration
} csched_occurrence;
void csched_observe_note_(csched_occurrence what, const void *address, csched_time span);
void csched_observe_system_call_(void);

/// Does: identifies jobs of `type` by the word at `offset` in each: the address of the user's function.
/// `is_in_context`: if `context` is odd, it is that address plus 1.
void csched_observe_code_at_(const csched_job_type *type, size_t offset, bool is_in_context);
/// Returns: whether jobs that call `run` were declared with `is_in_context`.
bool csched_observe_has_code_(void (*run)(csched_job *job));

// MARK: threads

enum { CSCHED_OBSERVED_DEPTH = 8 };

/// One run of a thread, for other threads to read. `id` 0: free, or being changed.
typedef struct csched_observed_level {
  uint64_t id;
  csched_time since;
  uintptr_t frame, code;
  const csched_figures *figures;
  uint64_t number;
  uint32_t trace;
} csched_observed_level;

struct csched_trace_ring;

/// The record of one thread. It stays when the thread has ended, and another thread then takes it.
typedef struct csched_observer {
  struct csched_observer *next;
  uint32_t thread; ///< the system's number; 0: free
  uint32_t depth;
  csched_figures *figures; ///< of the target that the thread works for at the moment
  csched_observed_level levels[CSCHED_OBSERVED_DEPTH];
  uint64_t reported[CSCHED_OBSERVED_DEPTH]; ///< the last run of each depth that the watchdog reported
  struct csched_trace_ring *ring;
} csched_observer;

/// Returns: the newest record, the head of the list.
csched_observer *csched_observers_(void);
/// Does: notes that `run` starts, or ends, on the thread of `observer`. Thread: that one.
void csched_observer_begin_(csched_observer *observer, csched_observed_run *run);
void csched_observer_end_(csched_observer *observer, const csched_observed_run *run);
/// Does: copies what the thread of `observer` runs at `depth`. Returns: whether it runs something there, and `*level` is of one run.
bool csched_observer_look_(const csched_observer *observer, uint32_t depth, csched_observed_level *level);
/// Returns: the number of the record's thread, which may have ended.
uint32_t csched_observer_thread_(const csched_observer *observer);
/// Does: releases the record, because its thread ends.
void csched_observer_leave_(csched_observer *observer);

/// Does: calls `visit` for each waiting submission, with a lock held. Returns: whether all were seen. Requires: `visit` is short, and takes no lock.
bool csched_observe_visit_(void (*visit)(const csched_seen *seen, void *context), void *context);

/// Returns: how often a full table or a busy lock left something unobserved. A submission that was not entered counts twice: also for its end.
uint64_t csched_observe_missed_(void);
