// What the observers record.
// Depends on: target.h, observed.h, text.h.
//
// Observers are the statistics, the watchdog, the trace, and other programs that attach to probes. With an observer, each submission is entered in a
// table until its job runs or is dropped. So submissions before the first observer are not seen. Forked jobs, recursion on a trampoline and sources
// of a loop are not submissions.
#pragma once

#include <CScheduler/target.h>

#include "../base/text.h"
#include "../job/observed.h"

/// The observers. The low half counts programs that are attached to the probes (platform.h); the system writes it.
enum {
  CSCHED_OBSERVED_BY_OTHERS = 0xffff,
  CSCHED_OBSERVED_BY_STATISTICS = 1 << 16,
  CSCHED_OBSERVED_BY_WATCH = 1 << 17,
  CSCHED_OBSERVED_BY_TRACE = 1 << 18,
};
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

/// Does: identifies jobs of a type by the function that they call.
void csched_observe_code_at_(const csched_observed_code *code);
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

/// Does: calls `visit` for each waiting submission, with a lock held. Returns: whether all were seen. Requires: `visit` is short, and takes no lock.
bool csched_observe_visit_(void (*visit)(const csched_seen *seen, void *context), void *context);

/// Returns: how often a full table or a busy lock left something unobserved. A submission that was not entered counts twice: also for its end.
uint64_t csched_observe_missed_(void);
