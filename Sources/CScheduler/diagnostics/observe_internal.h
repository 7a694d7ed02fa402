// The records of observed submissions, targets and threads, which the observers read.
// Depends on: target.h, observed.h, text.h.
//
// Observers are the statistics, the watchdog, the trace, the event recorder, and other programs that attach to probes.
// While there is an observer, a table contains each submission until its job runs or is dropped. Submissions before the
// first observer are not recorded. Spawned jobs, recursion on a trampoline and sources of a loop are not submissions.
#pragma once

#include <CScheduler/target.h>
#include "../base/text.h"
#include "../job/observed.h"

/// The bits of csched_observed_. Its low 16 bits count the programs that are attached to the probes (platform.h). The
/// kernel writes this count.
enum {
  CSCHED_OBSERVED_BY_OTHERS = 0xffff,
  CSCHED_OBSERVED_BY_STATISTICS = 1 << 16,
  CSCHED_OBSERVED_BY_WATCH = 1 << 17,
  CSCHED_OBSERVED_BY_TRACE = 1 << 18,
  CSCHED_OBSERVED_BY_EVENTS = 1 << 19,
};
/// Does: registers the atfork handler of the records; a second call does nothing. Requires: the caller holds no lock.
void csched_observe_prepare_(void);
/// Does: adds or removes an observer, one of the bits above. Returns: 0 or ENOMEM. Requires: csched_observe_prepare_
/// was called. Thread: any.
int csched_observe_begin_(uint32_t observer);
void csched_observe_end_(uint32_t observer);

// MARK: figures of a target

/// A histogram of durations in ns: eight steps for each power of two up to 2^44; longer ones count in the last step.
/// `most`: the longest duration.
enum { CSCHED_SPANS = 42 * 8 };
typedef struct csched_spans {
  csched_time most;
  uint32_t counts[CSCHED_SPANS];
} csched_spans;

/// The counts of one target since its first observed submission. After the target's destruction they stay readable,
/// until another target reuses the figures under a new `number`.
typedef struct csched_figures {
  const csched_target *target; ///< NULL: the target was destroyed
  uint64_t number;             ///< identifies one use of the figures; 0: not used yet
  char name[80];               ///< the target's description without its state
  bool is_concurrent;          ///< the target may run several jobs at a time
  uint64_t
      waiting; ///< low half: submissions that have not started; high half: of `number`, so that a late end finds other figures
  uint64_t submitted, run, cancelled, dropped, wakes, steals, system_calls; ///< counts of events (csched_statistics)
  uint64_t head, head_check; ///< the watchdog's: longest-waiting submission's `id`; number of the check that found it
  uint64_t reported;         ///< the watchdog's: `id` of the submission that it has reported most recently
  csched_time head_due;      ///< the watchdog's: since when `head` is due
  csched_spans waited, ran;  ///< from due to start; from start to end
} csched_figures;

/// Returns: the figures of `target`; NULL if it has none.
csched_figures *csched_figures_find_(const csched_target *target);
/// Returns: the present number of `figures`, for csched_figures_belong_to_.
uint64_t csched_figures_number_(const csched_figures *figures);
/// Returns: whether `figures` still belong to the target that had them under `number`.
bool csched_figures_belong_to_(const csched_figures *figures, uint64_t number);

/// Returns: how many submissions to the target wait.
uint32_t csched_figures_waiting_(const csched_figures *figures);

/// Returns: the figures at index `at`, used or not; NULL: `at` is out of range.
csched_figures *csched_figures_at_(size_t at);

/// Returns: the user's function that `job` calls; 0: not known. `job` may be freed; `copy` is a copy of its memory.
uintptr_t csched_observe_code_of_(const csched_job *job, const csched_job *copy);

/// Does: registers where jobs of `code->type` store the user's function. Observers then report that function, not the
/// type's `run`.
void csched_observe_code_at_(const csched_observed_code *code);

// MARK: threads

enum { CSCHED_OBSERVED_DEPTH = 8 }; ///< how many nested runs of a thread are recorded

/// One run of a thread, for other threads to read. `id`: number of the submission; 0: the entry is free, or changes
/// now. `frame`: address of the run's csched_observed_run, on the stack. `code`: the user's function. `number`: of
/// `figures`. `trace`: from csched_trace_add_.
typedef struct csched_recorded_run {
  uint64_t id;
  csched_time since;
  uintptr_t frame, code;
  const csched_figures *figures;
  uint64_t number;
  uint32_t trace;
} csched_recorded_run;

struct csched_trace_ring;
struct csched_events;

/// The record of one thread. After the thread's end another thread may reuse the record, which is never freed.
typedef struct csched_observer {
  struct csched_observer *next;
  uint32_t thread;         ///< the system's number; 0: free
  uint32_t depth;          ///< number of nested runs; only the first CSCHED_OBSERVED_DEPTH are recorded
  csched_figures *figures; ///< of the target for which the thread works: its wakes and system calls count there
  csched_recorded_run runs[CSCHED_OBSERVED_DEPTH];
  uint64_t reported[CSCHED_OBSERVED_DEPTH]; ///< for each depth, the `id` that the watchdog reported most recently
  struct csched_trace_ring *ring;           ///< events for the trace file (trace.c); NULL: none yet
  struct csched_events *events;             ///< the most recent events (events.c); NULL: none yet
} csched_observer;

/// Returns: the newest record, the head of the list of all records (`next`); NULL: there is none.
csched_observer *csched_observers_(void);
/// Does: records in `observer` that `run` starts, or ends. begin also sets `run->depth`, which end needs. Thread: the
/// owner of `observer`.
void csched_observer_begin_(csched_observer *observer, csched_observed_run *run);
void csched_observer_end_(csched_observer *observer, const csched_observed_run *run);
/// Does: copies the run at `depth` (0: the outermost) of the owner of `observer`. Returns: false: there is no run, or
/// it changed during the copy.
bool csched_observer_copy_run_(const csched_observer *observer, uint32_t depth, csched_recorded_run *copy);
/// Returns: the system's number of the record's thread, which may have ended; 0: the record is free.
uint32_t csched_observer_thread_(const csched_observer *observer);

/// Does: copies the waiting submission of `job`, which it does not read. Returns: false: not in the table, the lock is
/// busy, or no observer is on.
bool csched_observe_find_(const csched_job *job, csched_seen *seen);
/// Does: calls `visit`, which must be short and take no lock, for each waiting submission. Returns: false: some were
/// skipped: a lock was busy.
bool csched_observe_visit_(void (*visit)(const csched_seen *seen, void *context), void *context);

/// Returns: how many events were not recorded because of a full table or a busy lock. An unrecorded submission counts
/// twice: also for its end.
uint64_t csched_observe_missed_(void);
