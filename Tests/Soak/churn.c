// Loops, threads, pools and queues, created and destroyed with work in them, on several threads at once.

#include "soak.h"

#include <stdlib.h>

enum { CREW = 6, JOBS = 12 };

typedef struct churn {
  csched_time end;
  uint64_t seed;
  soak_tally *tally;
  csched_pool *pool; // for queues
  _Atomic uint64_t lives, refused;
} churn;

typedef struct life {
  churn *churn;
  uint64_t *seed;
  soak_job *jobs;
  uint64_t refused;
} life;

// Jobs, and timers that come soon, late and never.
static void submit_all(life *life, csched_target *target) {
  for (int i = 0; i < JOBS; i++) {
    static const csched_time spans[] = {0, 100, 1000, 100000, 60000000};
    uint64_t which = soak_below(life->seed, 8);
    csched_time deadline = which < 5 ? csched_now() + spans[which] * US : CSCHED_FOREVER;
    bool is_taken = which == 7 ? soak_submit(&life->jobs[i], target)
                               : soak_submit_at(&life->jobs[i], target, CSCHED_CLOCK_MONOTONIC, deadline, 0);
    life->refused += !is_taken;
  }
}

static csched_stop_policy any_policy(life *life) {
  return soak_below(life->seed, 2) ? CSCHED_STOP_RUN : CSCHED_STOP_DROP;
}

static void live_as_loop(life *life) {
  csched_loop *loop;
  CHECK(csched_loop_create(&loop) == 0, "no memory");
  int fd;
  if (soak_below(life->seed, 4) == 0) CHECK(csched_loop_fd(loop, &fd) == 0, "no descriptor");
  submit_all(life, csched_loop_target(loop));
  csched_loop_run_ready(loop, soak_below(life->seed, JOBS));
  if (soak_below(life->seed, 2)) csched_loop_close(loop, any_policy(life));
  if (soak_below(life->seed, 2)) csched_loop_run_until(loop, csched_now() + 100 * US);
  csched_loop_destroy(loop);
}

static void live_as_thread(life *life) {
  csched_thread *thread;
  CHECK(csched_thread_start(&thread, &(csched_thread_options){.name = "churn"}) == 0, "no thread");
  submit_all(life, csched_loop_target(csched_thread_loop(thread)));
  csched_thread_stop(thread, any_policy(life));
  if (soak_below(life->seed, 2)) csched_thread_join(thread); // or it frees itself
  csched_thread_destroy(thread);
}

static void live_as_pool(life *life) {
  csched_pool *pool;
  CHECK(csched_pool_create(&pool, &(csched_pool_options){.workers = 2, .name = "churn"}) == 0, "no pool");
  submit_all(life, csched_pool_target(pool, (csched_priority)soak_below(life->seed, 4)));
  if (soak_below(life->seed, 2)) csched_pool_stop(pool, any_policy(life));
  csched_pool_destroy(pool);
}

static void wait_until_free(life *life) {
  for (int i = 0; i < JOBS; i++)
    while (!soak_job_is_free(&life->jobs[i])) soak_nap(50 * US);
}

// Jobs may be in a queue whose handle is given up. Timers must have been released: a cancelled one may be on its way there.
static void live_as_queue(life *life) {
  csched_serial *queue;
  bool has_timers = soak_below(life->seed, 2), is_suspended = soak_below(life->seed, 2);
  CHECK(csched_serial_create(&queue, csched_pool_target(life->churn->pool, CSCHED_PRIORITY_DEFAULT)) == 0, "no memory");
  if (has_timers) submit_all(life, csched_serial_target(queue));
  else
    for (int i = 0; i < JOBS; i++) soak_submit(&life->jobs[i], csched_serial_target(queue));
  if (is_suspended) csched_serial_suspend(queue);
  if (has_timers) {
    for (int i = 0; i < JOBS; i++) csched_timer_cancel(&life->jobs[i].timer);
    if (is_suspended) csched_serial_resume(queue);
    wait_until_free(life);
  }
  csched_serial_destroy(queue);
}

static void live_by_clock(life *life) {
  csched_target *target = csched_pool_target(life->churn->pool, CSCHED_PRIORITY_LOW);
  for (int i = 0; i < JOBS; i++) {
    csched_clock clock = i % 2 ? CSCHED_CLOCK_BOOT : CSCHED_CLOCK_WALL;
    csched_time deadline = csched_clock_now(clock) + soak_below(life->seed, 200) * US;
    soak_submit_at(&life->jobs[i], target, clock, deadline, 0);
  }
  for (int i = 0; i < JOBS; i += 3) csched_timer_cancel(&life->jobs[i].timer);
}

static void live(life *life) {
  static void (*const lives[])(struct life *) = {live_as_loop,  live_as_loop,  live_as_queue,  live_as_queue,
                                                 live_as_queue, live_by_clock, live_as_thread, live_as_pool};
  lives[soak_below(life->seed, sizeof lives / sizeof lives[0])](life);
  wait_until_free(life);
}

static void live_again_and_again(int index, void *context) {
  churn *churn = context;
  uint64_t seed = churn->seed + (uint64_t)index, lives = 0;
  life life = {.churn = churn, .seed = &seed, .jobs = malloc(JOBS * sizeof *life.jobs)};
  CHECK(life.jobs != NULL, "no memory");
  for (int i = 0; i < JOBS; i++) soak_job_init(&life.jobs[i], churn->tally);
  do {
    live(&life);
    lives++;
  } while (!soak_is_over(churn->end));
  free(life.jobs);
  atomic_fetch_add(&churn->lives, lives);
  atomic_fetch_add(&churn->refused, life.refused);
}

void soak_churn(const soak_slice *slice, soak_figures *figures) {
  churn churn = {.end = slice->end, .seed = soak_chance(slice->seed), .tally = &figures->tally};
  CHECK(csched_pool_create(&churn.pool, NULL) == 0, "no pool");
  soak_on_threads(CREW, live_again_and_again, &churn);
  csched_pool_destroy(churn.pool);
  figures->count += churn.lives;
  figures->others += churn.refused;
}
