// Timers, first very many that all wait, then fewer at a time, short-lived, on threads, a pool and a queue: most are
// cancelled or moved before their time, as timeouts are.

#include "soak.h"

#include <stdlib.h>

enum { TIMERS = 20000, TARGETS = 4, THREADS = 2 };

typedef struct setting {
  int count;
  csched_thread *threads[THREADS];
  csched_pool *pool;
  csched_serial *queue;
  csched_target *targets[TARGETS];
  soak_job *jobs;
  int *places; // the last target of each job
} setting;

static void begin(setting *setting, int count, soak_tally *tally) {
  setting->count = count;
  for (int i = 0; i < THREADS; i++) {
    CHECK(csched_thread_start(&setting->threads[i], NULL) == 0, "no thread");
    setting->targets[i] = csched_loop_target(csched_thread_loop(setting->threads[i]));
  }
  CHECK(csched_pool_create(&setting->pool, NULL) == 0, "no pool");
  setting->targets[2] = csched_pool_target(setting->pool, CSCHED_PRIORITY_DEFAULT);
  CHECK(csched_serial_create(&setting->queue, setting->targets[2]) == 0, "no memory");
  setting->targets[3] = csched_serial_target(setting->queue);
  setting->jobs = malloc((size_t)count * sizeof *setting->jobs);
  setting->places = calloc((size_t)count, sizeof *setting->places);
  CHECK(setting->jobs != NULL && setting->places != NULL, "no memory for %d timers", count);
  for (int i = 0; i < count; i++) soak_job_init(&setting->jobs[i], tally);
}

static void end(setting *setting, soak_tally *tally) {
  for (int i = 0; i < setting->count; i++) csched_timer_cancel(&setting->jobs[i].timer);
  soak_settle(tally);
  csched_serial_destroy(setting->queue);
  csched_pool_destroy(setting->pool);
  for (int i = 0; i < THREADS; i++) {
    csched_thread_stop(setting->threads[i], CSCHED_STOP_RUN);
    csched_thread_join(setting->threads[i]);
    csched_thread_destroy(setting->threads[i]);
  }
  free(setting->jobs);
  free(setting->places);
}

static csched_time soon(uint64_t *seed) {
  csched_time most = soak_below(seed, 8) == 0 ? 2000 * MS : 20 * MS;
  return csched_now() + soak_below(seed, most);
}

// One of very many: a minute to an hour from now, so that all wait; few come in a moment, and a few never.
static csched_time late(uint64_t *seed) {
  uint64_t how = soak_below(seed, 64);
  if (how == 0) return soon(seed);
  return how == 1 ? CSCHED_FOREVER : csched_now() + 60000 * MS + soak_below(seed, 3600000 * MS);
}

static void submit(setting *setting, int i, uint64_t *seed) {
  uint64_t how = soak_below(seed, 128);
  csched_target *target = setting->targets[setting->places[i] = (int)(how % TARGETS)];
  if (how < 126) {
    soak_submit_at(&setting->jobs[i], target, CSCHED_CLOCK_MONOTONIC, soon(seed), how < 64 ? 0 : how * 100 * US);
  } else {
    csched_clock clock = how == 126 ? CSCHED_CLOCK_BOOT : CSCHED_CLOCK_WALL;
    soak_submit_at(&setting->jobs[i], target, clock, csched_clock_now(clock) + soak_below(seed, 20 * MS), 0);
  }
}

// Returns: whether it was moved.
static bool move(setting *setting, int i, uint64_t *seed) {
  soak_job *job = &setting->jobs[i];
  csched_time deadline = soon(seed), before = atomic_load(&job->deadline);
  if (setting->places[i] >= THREADS || before == 0) return false;
  if (deadline < before) atomic_store(&job->deadline, deadline); // it must not come before either
  return csched_loop_rearm(csched_thread_loop(setting->threads[setting->places[i]]), &job->timer, deadline);
}

static void fill(int count, uint64_t *seed, soak_figures *figures) {
  setting setting;
  begin(&setting, count, &figures->tally);
  for (int i = 0; i < count; i++) {
    setting.places[i] = i % TARGETS;
    soak_submit_at(&setting.jobs[i], setting.targets[i % TARGETS], CSCHED_CLOCK_MONOTONIC, late(seed), 0);
  }
  for (int i = 0; i < count; i += 8) figures->others += move(&setting, i, seed);
  end(&setting, &figures->tally);
  figures->count += (uint64_t)count;
}

static void come_and_go(csched_time time_ends, uint64_t *seed, soak_figures *figures) {
  setting setting;
  begin(&setting, TIMERS, &figures->tally);
  for (int i = 0; !soak_is_over(time_ends); i = (i + 1) % TIMERS) {
    if (soak_job_is_free(&setting.jobs[i])) {
      submit(&setting, i, seed);
      figures->count++;
    } else if (soak_below(seed, 4) == 0) {
      figures->others += move(&setting, i, seed);
    } else if (soak_below(seed, 2) == 0) {
      csched_timer_cancel(&setting.jobs[i].timer);
    }
  }
  end(&setting, &figures->tally);
}

void soak_timers(const soak_slice *slice, soak_figures *figures) {
  fill((int)slice->goal, slice->seed, figures);
  come_and_go(slice->end, slice->seed, figures);
}
