// The flight recorder: what each thread has run last, always.
// Depends on: job.h.
//
// A run adds its code, its target and its context to the thread's ring: about ten instructions, no atomics, and no clock. The clock is read for the
// first of 64, and for the first after the thread has slept.
#pragma once

#include <CScheduler/job.h>

enum { CSCHED_RECORDED = 10240, CSCHED_RECORDED_STRETCH = 64, CSCHED_RECORDED_FEW = 8 };

/// A run that has begun.
typedef struct csched_recorded {
  void (*run)(csched_job *job); ///< NULL: nothing yet
  struct csched_target *target;
  void *context; ///< of the job; of a node NULL
} csched_recorded;

typedef struct csched_recording {
  csched_recorded entries[CSCHED_RECORDED];
  csched_time times[CSCHED_RECORDED / CSCHED_RECORDED_STRETCH]; ///< when the clock was read last in each stretch
} csched_recording;

/// One thread's. All zero at first.
typedef struct csched_recorder {
  csched_recorded *next,
      *limit; ///< where the next one goes, unless that is the limit: then csched_recorder_turn_ comes first
  csched_recording *recording;              ///< NULL for want of memory
  csched_time begun;                        ///< when the clock was read last
  csched_recorded few[CSCHED_RECORDED_FEW]; ///< the ring, without `recording`
} csched_recorder;

/// This thread's; the one that is shared and never written, without room, until it has levels of its own (levels_internal.h).
extern CSCHED_HIDDEN CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_recorder *csched_recorder_here_;
extern CSCHED_HIDDEN csched_recorder csched_recorder_none_;

void csched_recorder_begin_(csched_recorder *recorder);
void csched_recorder_free_(csched_recorder *recorder);

/// Returns: whether there is room for the next run. Asked for at the beginning of what runs a job, from where the rare answer leads to a function of its
/// own: a call in the middle would cost each run the registers that it may change.
static inline bool csched_recorder_has_room_(void) {
  const csched_recorder *recorder = csched_recorder_here_;
  return CSCHED_LIKELY(recorder->next != recorder->limit);
}

/// Does: makes room, and reads the clock; not in the shared one.
void csched_recorder_turn_(void);

/// Does: adds a run that begins. Requires: there is room.
static inline void csched_record_(void (*run)(csched_job *job), struct csched_target *target, void *context) {
  csched_recorder *recorder = csched_recorder_here_;
  csched_recorded *entry = recorder->next;
  recorder->next = entry + 1;
  entry->run = run;
  entry->target = target;
  entry->context = context;
}

/// Does: has the clock read for the next run of this thread, which has slept.
static inline void csched_recorder_slept_(void) {
  csched_recorder *recorder = csched_recorder_here_;
  if (recorder != &csched_recorder_none_) recorder->limit = recorder->next;
}

/// Returns: an instant before which the last run of the thread of `recorder` cannot have begun, if that was `run`; else 0. Thread: any; it may be gone.
csched_time csched_recorder_since_(const csched_recorder *recorder, void (*run)(csched_job *job));

/// Does: writes `message` to standard error, all recordings, and the message once more. Who does not read the recordings is not waited for.
void csched_recorder_say_(const char *message);
