// Children that do a little, of a process whose threads are all busy.

#include "soak.h"

#include <CScheduler/trampoline.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CREW = 4, JOBS = 16, ALARM = 300, LEAST = 3 };

typedef struct busy {
  csched_time end;
  csched_pool *pool;
  csched_serial *queue;
  csched_thread *thread;
  soak_tally *tally;
  uint64_t seed;
  csched_lock lock;
} busy;

// MARK: the child

static void use_target(csched_target *target, soak_tally *tally, soak_job *jobs) {
  for (int i = 0; i < JOBS; i++) {
    soak_job_init(&jobs[i], tally);
    if (i % 2) soak_submit(&jobs[i], target);
    else soak_submit_at(&jobs[i], target, CSCHED_CLOCK_MONOTONIC, csched_now() + 50 * US, 0);
  }
}

static void use_loop(soak_tally *tally, soak_job *jobs) {
  csched_loop *loop;
  csched_serial *queue;
  CHECK(csched_loop_create(&loop) == 0, "no memory in the child");
  CHECK(csched_serial_create(&queue, csched_loop_target(loop)) == 0, "no memory in the child");
  use_target(csched_serial_target(queue), tally, jobs);
  while (atomic_load(&tally->released) < atomic_load(&tally->submitted))
    csched_loop_run_once(loop, csched_now() + 10 * MS);
  csched_serial_destroy(queue);
  csched_loop_destroy(loop);
}

static void use_pool(soak_tally *tally, soak_job *jobs) {
  csched_pool *pool;
  CHECK(csched_pool_create(&pool, &(csched_pool_options){.workers = 2}) == 0, "no pool in the child");
  use_target(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), tally, jobs);
  soak_settle(tally);
  csched_pool_destroy(pool);
}

static void use_thread(soak_tally *tally, soak_job *jobs) {
  csched_thread *thread;
  CHECK(csched_thread_start(&thread, NULL) == 0, "no thread in the child");
  use_target(csched_loop_target(csched_thread_loop(thread)), tally, jobs);
  soak_settle(tally);
  csched_thread_stop(thread, CSCHED_STOP_RUN);
  csched_thread_join(thread);
  csched_thread_destroy(thread);
}

static CSCHED_NORETURN void be_child(const busy *busy, uint64_t which) {
  static void (*const uses[])(soak_tally *, soak_job *) = {use_loop, use_pool, use_thread};
  static soak_job jobs[JOBS];
  soak_tally tally = {0};
  csched_lock lock = CSCHED_LOCK_INIT;
  alarm(ALARM); // a child that hangs is ended
  csched_lock_lock(&lock);
  csched_lock_unlock(&lock);
  CHECK(csched_pool_is_orphaned(busy->pool) && csched_thread_is_orphaned(busy->thread), "not orphaned");
  uses[which % 3](&tally, jobs);
  soak_settle(&tally);
  _exit(0);
}

static void fork_one(busy *busy, uint64_t which) {
  pid_t child = fork();
  int status = 0;
  CHECK(child >= 0, "fork: %s", strerror(errno));
  if (child == 0) be_child(busy, which);
  while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR, "wait: %s", strerror(errno));
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child ends with status %x", (unsigned)status);
}

// MARK: the busy parent

static void be_busy(int index, void *context) {
  busy *busy = context;
  uint64_t seed = busy->seed + (uint64_t)index;
  csched_target *targets[] = {csched_pool_target(busy->pool, CSCHED_PRIORITY_DEFAULT),
                              csched_serial_target(busy->queue), csched_loop_target(csched_thread_loop(busy->thread))};
  soak_job *jobs = malloc(JOBS * sizeof *jobs);
  CHECK(jobs != NULL, "no memory");
  for (int i = 0; i < JOBS; i++) soak_job_init(&jobs[i], busy->tally);
  while (!soak_is_over(busy->end)) {
    soak_job *job = &jobs[soak_below(&seed, JOBS)];
    csched_lock_lock(&busy->lock);
    csched_lock_unlock(&busy->lock);
    if (soak_job_is_free(job)) soak_submit(job, targets[soak_below(&seed, 3)]);
    else csched_job_cancel(&job->timer.job);
    if (soak_below(&seed, 64) == 0) soak_nap(200 * US);
  }
  for (int i = 0; i < JOBS; i++)
    while (!soak_job_is_free(&jobs[i])) soak_nap(100 * US);
  free(jobs);
}

typedef struct forking {
  busy *busy;
  uint64_t children;
} forking;

static void work_or_fork(int index, void *context) {
  forking *forking = context;
  if (index > 0) {
    be_busy(index, forking->busy);
    return;
  }
  do {
    fork_one(forking->busy, forking->children++);
  } while (forking->children < LEAST || !soak_is_over(forking->busy->end));
}

void soak_forks(const soak_slice *slice, soak_figures *figures) {
  busy busy = {.end = slice->end, .tally = &figures->tally, .seed = soak_chance(slice->seed), .lock = CSCHED_LOCK_INIT};
  forking forking = {.busy = &busy};
  CHECK(csched_pool_create(&busy.pool, NULL) == 0, "no pool");
  CHECK(csched_thread_start(&busy.thread, NULL) == 0, "no thread");
  CHECK(csched_serial_create(&busy.queue, csched_pool_target(busy.pool, CSCHED_PRIORITY_LOW)) == 0, "no memory");
  soak_on_threads(1 + CREW, work_or_fork, &forking);
  soak_settle(&figures->tally);
  csched_serial_destroy(busy.queue);
  csched_thread_stop(busy.thread, CSCHED_STOP_RUN);
  csched_thread_join(busy.thread);
  csched_thread_destroy(busy.thread);
  csched_pool_destroy(busy.pool);
  figures->count += forking.children;
}
