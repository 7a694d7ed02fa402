// The flight recorder: a ring with the most recent runs of each thread, always on.
// Depends on: job.h.
//
// A run adds its function, target and context to its thread's ring: 16 instructions, no atomics, no clock. The ring is
// divided into stretches of 64 entries. The clock is read for the first run of each stretch, and for the first run
// after the thread has slept.
#pragma once

#include <CScheduler/job.h>

// Runs in a ring, in a stretch, and in a ring without memory.
enum { CSCHED_RECORDED = 10240, CSCHED_RECORDED_STRETCH = 64, CSCHED_RECORDED_FEW = 8 };

/// A run that has started.
typedef struct csched_recorded {
  void (*run)(csched_job *job); ///< NULL: an empty entry
  struct csched_target *target;
  void *context; ///< the job's `context`; NULL for a node
} csched_recorded;

typedef struct csched_recording {
  csched_recorded entries[CSCHED_RECORDED];
  csched_time times[CSCHED_RECORDED / CSCHED_RECORDED_STRETCH]; ///< the latest reading in each stretch
} csched_recording;

/// The recorder of one thread. All zero at first.
typedef struct csched_recorder {
  csched_recorded *next,
      *limit; ///< `next`: the next run's entry. `next` == `limit`: call csched_recorder_make_room_ first
  csched_recording *recording;              ///< the ring; NULL: there was no memory
  csched_time begun;                        ///< the latest reading of the clock
  csched_recorded few[CSCHED_RECORDED_FEW]; ///< the ring when `recording` is NULL
} csched_recorder;

/// This thread's recorder. Before the thread's first context frame: csched_recorder_none_, which all threads share,
/// without room and never written.
extern CSCHED_HIDDEN CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_recorder *csched_recorder_here_;
extern CSCHED_HIDDEN csched_recorder csched_recorder_none_;

void csched_recorder_begin_(csched_recorder *recorder); ///< allocates the ring; `recorder` is all zero
void csched_recorder_free_(csched_recorder *recorder);  ///< frees the ring

/// Returns: whether there is room for the next run. A function that runs a job checks this first. Without room it makes
/// a tail call to a slow function. A check later in the function would make each run save registers.
static inline bool csched_recorder_has_room_(void) {
  const csched_recorder *recorder = csched_recorder_here_;
  return CSCHED_LIKELY(recorder->next != recorder->limit);
}

/// Does: makes room for the next runs: begins a stretch, or continues one after a sleep, and reads the clock. Without a
/// recorder, it does nothing.
void csched_recorder_make_room_(void);

/// Does: adds a run that starts. Requires: there is room.
static inline void csched_record_(void (*run)(csched_job *job), struct csched_target *target, void *context) {
  csched_recorder *recorder = csched_recorder_here_;
  csched_recorded *entry = recorder->next;
  recorder->next = entry + 1;
  entry->run = run;
  entry->target = target;
  entry->context = context;
}

/// Does: makes the next run of this thread read the clock: `limit` is set to `next`. Called after the thread has slept.
static inline void csched_recorder_slept_(void) {
  csched_recorder *recorder = csched_recorder_here_;
  if (recorder != &csched_recorder_none_) recorder->limit = recorder->next;
}

/// Returns: the earliest possible start of the thread's most recent run, if that run called `run`; else 0. Thread: any,
/// also after the thread's exit.
csched_time csched_recorder_run_start_(const csched_recorder *recorder, void (*run)(csched_job *job));
/// Does: writes the recent runs of all threads to `fd`, as csched_recorder_write (dump.h). Returns: 0 or an errno
/// value.
int csched_recorder_write_(int fd);
/// Does: writes `message`, all recordings, and `message` again to standard error. It ends the recordings early if a
/// write would block for 100 ms.
void csched_recorder_say_(const char *message);
