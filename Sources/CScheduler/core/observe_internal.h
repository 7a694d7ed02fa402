// Looking at work as it goes by: the one word that each submission and each run asks, and what is done where it says so. More than 120 lines: one page of hooks.
// Depends on: job.h, target.h.
//
// Statistics, the watchdog, the trace and probes of other programs are observers. While there is none, a submission and a run take two instructions
// more: a comparison with zero, and a jump that is not taken. While there is one, each job that is submitted is written down until it
// runs or is dropped; so what was submitted before the first observer came is not seen. Nor is what is no submission: forked jobs, recursion on
// a trampoline, sources of a loop.
#pragma once

#include <CScheduler/atomic.h>
#include <CScheduler/target.h>

#include "text.h"

/// Who observes. The low half counts programs that have attached to the probes (platform.h): the system writes it.
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

/// Does: adds one of those above, or takes it away. Returns: 0, or ENOMEM. Requires: csched_observe_prepare_, with no lock held. Thread: any.
void csched_observe_prepare_(void);
int csched_observe_begin_(uint32_t observer);
void csched_observe_end_(uint32_t observer);

// MARK: what is known of a target

/// How often something took so long: eight steps for each doubling.
enum { CSCHED_SPANS = 42 * 8 };
typedef struct csched_spans {
  csched_time most;
  uint32_t counts[CSCHED_SPANS];
} csched_spans;

/// What has happened on one target since it was first seen. It stays when the target is gone, and may then be another target's: `number` tells.
typedef struct csched_figures {
  const csched_target *target; ///< NULL: it is gone
  uint64_t number;             ///< 0: nobody's yet
  char name[80];
  bool is_concurrent; ///< it may run several jobs at a time
  uint32_t waiting;
  uint64_t submitted, run, cancelled, dropped, wakes, system_calls;
  uint64_t head, head_look,
      reported; ///< the watchdog's: which submission has waited longest, in which of its looks, and which one it has told of
  csched_time head_due;
  csched_spans waited, ran;
} csched_figures;

/// Returns: those of `target`, NULL when it was never seen.
csched_figures *csched_figures_find_(const csched_target *target);

uint64_t csched_figures_number_(const csched_figures *figures);
/// Returns: whether they still are those that had that number.
bool csched_figures_are_(const csched_figures *figures, uint64_t number);

/// Returns: the figures of number `at`, from 0, whether they are in use or not; NULL: there are no more.
csched_figures *csched_figures_at_(size_t at);

/// Does: forgets `target`, whose memory is given back. Thread: whoever destroys it.
void csched_observe_gone_(const csched_target *target);

// MARK: hooks

/// One submission that is known.
typedef struct csched_seen {
  const csched_job *job; ///< a name
  uint64_t id;           ///< of the submission, never 0
  csched_time submitted; ///< csched_now
  csched_time due;       ///< from when on it waits; CSCHED_FOREVER: nobody knows
  uintptr_t code;        ///< what it calls
  csched_figures *figures;
  uint64_t number; ///< of `figures`, at the time
  uint32_t trace;  ///< what csched_trace_add_ has said of the submission
} csched_seen;

/// A run that goes on; it lives in the frame of whoever runs the job.
typedef struct csched_observed_run {
  const csched_job *job; ///< a name
  csched_seen seen;
  csched_time since;
  csched_figures *outer;
  uint32_t depth;   ///< among the thread's runs
  uint32_t waiting; ///< on the target, when it began
  bool is_known;
} csched_observed_run;

/// What a submission on this thread has to put back when it returns.
typedef struct csched_observed_submission {
  bool is_known;
  csched_figures *outer;
} csched_observed_submission;

/// Does: writes down that `job` is submitted to `target`, before it is linked anywhere; `due`: when, of the target's clock, 0 at once.
void csched_observe_submit_(csched_observed_submission *submission, csched_target *target, csched_job *job,
                            csched_time due);
void csched_observe_submitted_(const csched_observed_submission *submission);
/// Does: notes that `job`, whose turn has come, begins; and that it has ended, or was found cancelled. It is a name to the second.
void csched_observe_run_(csched_observed_run *run, const csched_job *job);
void csched_observe_ran_(csched_observed_run *run, bool has_run);
/// Does: notes that `job` will not run.
void csched_observe_drop_(const csched_job *job, csched_drop_reason reason);
/// Does: notes that `job` has another deadline.
void csched_observe_moved_(const csched_job *job, csched_time due);

/// What else is noted, on the thread where it happens.
typedef enum csched_occurrence {
  CSCHED_OCCURRED_SUBMIT,
  CSCHED_OCCURRED_RUN,
  CSCHED_OCCURRED_CANCEL,
  CSCHED_OCCURRED_DROP,
  CSCHED_OCCURRED_WAKE,      ///< a thread was woken for what was submitted
  CSCHED_OCCURRED_STEAL,     ///< of a forked job
  CSCHED_OCCURRED_LOCK_WAIT, ///< a lock was slept for; its address, and how long
} csched_occurrence;
void csched_observe_note_(csched_occurrence what, const void *address, csched_time span);
void csched_observe_system_call_(void);

/// Has jobs of `type` told apart by the word at `offset` in each: the address of the code that it calls for the user.
/// `is_in_context`: where `context` is odd, it is the same and 1.
void csched_observe_code_at_(const csched_job_type *type, size_t offset, bool is_in_context);
/// Returns: whether that is so for jobs that call `run`.
bool csched_observe_has_code_(void (*run)(csched_job *job));

// MARK: threads

enum { CSCHED_OBSERVED_DEPTH = 8 };

/// What a thread runs, for others to look at. `id` 0: being changed.
typedef struct csched_observed_level {
  uint64_t id;
  csched_time since;
  uintptr_t frame, code;
  const csched_figures *figures;
  uint64_t number;
  uint32_t trace;
} csched_observed_level;

struct csched_trace_ring;

/// One thread's. They stay when the thread has ended, and the next thread takes them.
typedef struct csched_observer {
  struct csched_observer *next;
  uint32_t thread; ///< the system's number; 0: nobody's
  uint32_t depth;
  csched_figures *figures; ///< what the thread works for at the moment
  csched_observed_level levels[CSCHED_OBSERVED_DEPTH];
  uint64_t reported[CSCHED_OBSERVED_DEPTH]; ///< by the watchdog
  struct csched_trace_ring *ring;
} csched_observer;

/// Returns: the newest of them.
csched_observer *csched_observers_(void);
/// Does: notes that `run` begins, and ends, on the thread of `observer`, which calls it.
void csched_observer_begin_(csched_observer *observer, csched_observed_run *run);
void csched_observer_end_(csched_observer *observer, const csched_observed_run *run);
/// Does: copies what `observer`'s thread runs at that depth. Returns: whether it runs there, and stayed the same meanwhile.
bool csched_observer_look_(const csched_observer *observer, uint32_t depth, csched_observed_level *level);
/// Returns: the number of its thread, which may have ended.
uint32_t csched_observer_thread_(const csched_observer *observer);
/// Does: gives it up, because its thread ends.
void csched_observer_leave_(csched_observer *observer);

/// Does: shows what waits, with the lock of a part of it held. Returns: whether all parts were seen. Requires: `visit` is short, and locks nothing.
bool csched_observe_visit_(void (*visit)(const csched_seen *seen, void *context), void *context);

/// Returns: how many submissions found no room to be written down, and were let pass.
uint64_t csched_observe_missed_(void);
