// 64 threads submit to 64 targets, and cancel, at random: threads, priorities of a pool, queues on both.

#include "soak.h"

#include <stdlib.h>

enum { CREW = 64, TARGETS = 64, PRIORITIES = 4, THREADS = 12, JOBS = 32, LEAST = 100 };

typedef struct storm {
  csched_pool *pool;
  csched_thread *threads[THREADS];
  csched_serial *queues[TARGETS]; // from PRIORITIES + THREADS on
  csched_target *targets[TARGETS];
  csched_time end;
  uint64_t seed;
  soak_tally *tally;
  _Atomic uint64_t cancels;
} storm;

static void begin(storm *storm) {
  int i = 0;
  CHECK(csched_pool_create(&storm->pool, NULL) == 0, "no pool");
  for (; i < PRIORITIES; i++) storm->targets[i] = csched_pool_target(storm->pool, (csched_priority)i);
  for (; i < PRIORITIES + THREADS; i++) {
    csched_thread **thread = &storm->threads[i - PRIORITIES];
    CHECK(csched_thread_start(thread, NULL) == 0, "no thread");
    storm->targets[i] = csched_loop_target(csched_thread_loop(*thread));
  }
  for (; i < TARGETS; i++) {
    CHECK(csched_serial_create(&storm->queues[i], storm->targets[i % (PRIORITIES + THREADS)]) == 0, "no memory");
    storm->targets[i] = csched_serial_target(storm->queues[i]);
  }
}

static void end(storm *storm) {
  for (int i = PRIORITIES + THREADS; i < TARGETS; i++) csched_serial_destroy(storm->queues[i]);
  for (int i = 0; i < THREADS; i++) csched_thread_stop(storm->threads[i], CSCHED_STOP_RUN);
  for (int i = 0; i < THREADS; i++) {
    csched_thread_join(storm->threads[i]);
    csched_thread_destroy(storm->threads[i]);
  }
  csched_pool_destroy(storm->pool);
}

static void submit(storm *storm, soak_job *job, uint64_t *seed) {
  csched_target *target = storm->targets[soak_below(seed, TARGETS)];
  if (soak_below(seed, 2) == 0) soak_submit(job, target);
  else soak_submit_at(job, target, CSCHED_CLOCK_MONOTONIC, csched_now() + soak_below(seed, 5 * MS), 0);
}

static void cancel(soak_job *job, uint64_t *seed) {
  switch (soak_below(seed, 3)) {
  case 0: csched_timer_cancel(&job->timer); break;
  case 1: csched_job_cancel_and_wait(&job->timer.job); break;
  default: csched_job_cancel(&job->timer.job);
  }
}

static void rage(int index, void *context) {
  storm *storm = context;
  uint64_t seed = storm->seed + (uint64_t)index, submitted = 0, cancels = 0;
  soak_job *jobs = malloc(JOBS * sizeof *jobs);
  CHECK(jobs != NULL, "no memory");
  for (int i = 0; i < JOBS; i++) soak_job_init(&jobs[i], storm->tally);
  while (submitted < LEAST || !soak_is_over(storm->end)) {
    soak_job *job = &jobs[soak_below(&seed, JOBS)];
    if (soak_job_is_free(job)) {
      submit(storm, job, &seed);
      submitted++;
    } else if (soak_below(&seed, 2) == 0) {
      cancel(job, &seed);
      cancels++;
    } else {
      soak_nap(20 * US); // or the threads that release cancelled jobs would have no processor
    }
  }
  for (int i = 0; i < JOBS; i++) csched_timer_cancel(&jobs[i].timer);
  for (int i = 0; i < JOBS; i++)
    while (!soak_job_is_free(&jobs[i])) soak_nap(100 * US);
  free(jobs);
  atomic_fetch_add(&storm->cancels, cancels);
}

void soak_storms(const soak_slice *slice, soak_figures *figures) {
  storm *storm = calloc(1, sizeof *storm);
  CHECK(storm != NULL, "no memory");
  storm->end = slice->end;
  storm->seed = soak_chance(slice->seed);
  storm->tally = &figures->tally;
  begin(storm);
  soak_on_threads(CREW, rage, storm);
  soak_settle(&figures->tally);
  end(storm);
  figures->count += storm->cancels;
  free(storm);
}

void soak_stops(const soak_slice *slice, soak_figures *figures) {
  uint64_t before = soak_stopper_here->stops;
  atomic_store(&soak_stopper_here->is_wanted, true);
  soak_storms(slice, figures);
  while (soak_stopper_here->stops == before) soak_nap(1 * MS);
  atomic_store(&soak_stopper_here->is_wanted, false);
  figures->others += soak_stopper_here->stops - before;
}
