// Shared by the phases of the soak: time, chance, jobs that are counted, and the figures of a phase.
// Depends on: CScheduler.
#pragma once

#define _GNU_SOURCE
#include <CScheduler/CScheduler.h>

#include <pthread.h>
#include <stdatomic.h>

static const csched_time US = 1000, MS = 1000000;

// MARK: checks

/// Ends the process with a message unless `condition` holds: CHECK(condition, format, ...). In a child of fork, too.
#define CHECK(condition, ...) ((condition) ? (void)0 : soak_fail(__FILE__, __LINE__, #condition, __VA_ARGS__))
void soak_fail(const char *file, int line, const char *condition, const char *format, ...)
    CSCHED_PRINTF(4, 5) CSCHED_NORETURN;

// MARK: time and chance

void soak_nap(csched_time span);
static inline bool soak_is_over(csched_time end) { return csched_now() >= end; }

uint64_t soak_chance(uint64_t *state);
static inline uint64_t soak_below(uint64_t *state, uint64_t bound) { return soak_chance(state) % bound; }

// MARK: threads

typedef void soak_body(int index, void *context);
/// Does: calls `body` on `count` threads of its own, at once, and waits until all have returned.
void soak_on_threads(int count, soak_body *body, void *context);

// MARK: jobs that are counted

typedef struct soak_tally {
  _Atomic uint64_t submitted, ran, dropped, released;
} soak_tally;

/// A job, or a timer. It is used by one thread at a time, that submits and cancels it.
typedef struct soak_job {
  csched_timer timer; // first
  soak_tally *tally;
  _Atomic csched_time deadline; ///< before which it must not run; 0: none
  void (*body)(struct soak_job *);
  void *context;
  atomic_bool is_in_use;
} soak_job;

void soak_job_init(soak_job *job, soak_tally *tally);
/// Returns: whether it may be submitted.
static inline bool soak_job_is_free(soak_job *job) { return !atomic_load(&job->is_in_use); }
/// Does: submits it. Returns: whether it was taken; if not, it was dropped. Requires: it is free.
bool soak_submit(soak_job *job, csched_target *target);
/// Does: submits it at `deadline` of `clock`, or up to `leeway` later.
bool soak_submit_at(soak_job *job, csched_target *target, csched_clock clock, csched_time deadline, csched_time leeway);
/// Waits until each job of the tally has been released, as long as some are; checks that each was run or dropped.
void soak_settle(soak_tally *tally);

// MARK: phases

/// The work of a phase in one round.
typedef struct soak_slice {
  csched_time end; ///< until then; but the goal is always met
  uint64_t goal;   ///< how many there are at a time, at first; 0 where the phase has no goal
  uint64_t *seed;
} soak_slice;

/// The results of a phase, over all its turns.
typedef struct soak_figures {
  uint64_t count;   ///< of what the phase is about
  soak_tally tally; ///< of the jobs
  uint64_t others;  ///< a second figure, if there is one
  csched_time time;
} soak_figures;

typedef struct soak_phase {
  const char *name, *unit, *others_unit; ///< others_unit: NULL if there is none
  uint64_t goal;                         ///< in ten minutes or more, this many at a time; 0: none
  int share;                             ///< of the time, in percent
  void (*run)(const soak_slice *slice, soak_figures *figures);
} soak_phase;

void soak_locks(const soak_slice *slice, soak_figures *figures);
void soak_waits(const soak_slice *slice, soak_figures *figures);
void soak_timers(const soak_slice *slice, soak_figures *figures);
void soak_storms(const soak_slice *slice, soak_figures *figures);
/// The storms again, while the process is stopped and continued at random.
void soak_stops(const soak_slice *slice, soak_figures *figures);

/// Another process stops this one and continues it, at random, while `is_wanted`; it counts how often.
typedef struct soak_stopper {
  atomic_bool is_wanted;
  _Atomic uint64_t stops;
} soak_stopper;
extern soak_stopper *soak_stopper_here;
