// The flight recorder: a ring with the last runs of each thread, always on.
// Depends on: job.h.
//
// A run adds its function, target and context to its thread's ring: 16 instructions, no atomics, no clock. The clock is read for the first of 64
// runs, and for the first run after the thread has slept.
#pragma once

#include <CScheduler/job.h>

enum { CSCHED_RECORDED = 10240, CSCHED_RECORDED_STRETCH = 64, CSCHED_RECORDED_FEW = 8 };

/// A run that has started.
typedef struct csched_recorded {
  void (*run)(csched_job *job); ///< NULL: an empty entry
  struct csched_target *target;
  void *context; ///< the job's `context`; NULL for a node
} csched_recorded;

typedef struct csched_recording {
  csched_recorded entries[CSCHED_RECORDED];
  csched_time times[CSCHED_RECORDED / CSCHED_RECORDED_STRETCH]; ///< the last reading of the clock in each stretch
} csched_recording;

/// The recorder of one thread. All zero at first.
typedef struct csched_recorder {
  csched_recorded *next,
      *limit;                  ///< `next`: the next run's entry; at `limit`, call csched_recorder_turn_ first
  csched_recording *recording; ///< NULL: there was no memory
  csched_time begun;           ///< the last reading of the clock
  csched_recorded few[CSCHED_RECORDED_FEW]; ///< the ring, if there is no `recording`
} csched_recorder;

/// This thread's recorder. Before the first context frame it is csched_recorder_none_, which all threads share: it has no room, and is never written.
extern CSCHED_HIDDEN CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_recorder *csched_recorder_here_;
extern CSCHED_HIDDEN csched_recorder csched_recorder_none_;

void csched_recorder_begin_(csched_recorder *recorder);
void csched_recorder_free_(csched_recorder *recorder);

/// Returns: whether there is room for the next run. A function that runs a job checks this first, and jumps to a slow function without room.
/// A later call would make each run save registers.
static inline bool csched_recorder_has_room_(void) {
  const csched_recorder *recorder = csched_recorder_here_;
  return CSCHED_LIKELY(recorder->next != recorder->limit);
}

/// Does: makes room for the next stretch, and reads the clock. It does nothing with csched_recorder_none_.
void csched_recorder_turn_(void);

/// Does: adds a run that starts. Requires: there is room.
static inline void csched_record_(void (*run)(csched_job *job), struct csched_target *target, void *context) {
  csched_recorder *recorder = csched_recorder_here_;
  csched_recorded *entry = recorder->next;
  recorder->next = entry + 1;
  entry->run = run;
  entry->target = target;
  entry->context = context;
}

/// Does: makes the next run of this thread, which has slept, read the clock.
static inline void csched_recorder_slept_(void) {
  csched_recorder *recorder = csched_recorder_here_;
  if (recorder != &csched_recorder_none_) recorder->limit = recorder->next;
}

/// Returns: the earliest instant at which the last run of the recorder's thread can have started, if it called `run`; else 0. Thread: any; the
/// recorder's thread may have ended.
csched_time csched_recorder_since_(const csched_recorder *recorder, void (*run)(csched_job *job));

/// Does: as csched_recorder_write (dump.h).
int csched_recorder_write_(int fd);

/// Does: writes `message`, all recordings, and `message` again to standard error. It does not wait for a reader of the recordings.
void csched_recorder_say_(const char *message);
