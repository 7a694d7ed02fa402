// Where the jobs of a pool wait: local queues and lanes (pool_pick.c).

#include "pool_testing.h"

#include <pthread.h>

static csched_target *usual_target(csched_pool *pool) { return csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT); }

// MARK: jobs that submit themselves

enum { YIELDERS = 100 }; // more than a local queue has slots

typedef struct yielding {
  csched_target *target;
  atomic_int stops, left;
  csched_job jobs[YIELDERS];
} yielding;

static void yield(csched_job *job) {
  yielding *test = job->context;
  if (!atomic_load(&test->stops)) csched_target_submit(test->target, job);
  else atomic_fetch_sub(&test->left, 1);
}
static void drop_yielder(csched_job *job) { (void)job; }

static void begin_yielding(yielding *test, csched_target *target, int count) {
  static const csched_job_type type = {yield, drop_yielder, NULL};
  test->target = target;
  atomic_store(&test->left, count);
  for (int i = 0; i < count; i++) {
    csched_job_init(&test->jobs[i], &type, test);
    csched_target_submit(target, &test->jobs[i]);
  }
}
static void end_yielding(yielding *test) {
  atomic_store(&test->stops, 1);
  CHECK_SOON(atomic_load(&test->left) == 0);
}

static void outside_beside_yielders(int workers, csched_priority priority) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = (size_t)workers});
  static yielding test;
  test = (yielding){0};
  begin_yielding(&test, usual_target(pool), YIELDERS);
  for (int i = 0; i < 20; i++) {
    probe probe;
    probe_init(&probe, NULL, NULL);
    post(pool, priority, &probe);
    CHECK_SOON(atomic_load(&probe.releases) == 1);
  }
  end_yielding(&test);
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("a job from outside runs beside a hundred that submit themselves") { // PP1, PP6, PP7
  for (int workers = 1; workers <= 8; workers *= 2)
    for (int priority = 0; priority < 4; priority++) outside_beside_yielders(workers, (csched_priority)priority);
}

// MARK: jobs behind a long one

typedef struct long_job {
  csched_pool *pool;
  probe behind[YIELDERS];
} long_job;

static void submit_and_last(probe *probe) { // until the jobs that it has submitted have run
  long_job *test = probe->context;
  for (int i = 0; i < YIELDERS; i++) post(test->pool, CSCHED_PRIORITY_DEFAULT, &test->behind[i]);
  for (int i = 0; i < YIELDERS; i++)
    while (atomic_load(&test->behind[i].releases) == 0) burn(20 * US);
}

static void behind_a_long_job(int workers, csched_priority others) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = (size_t)workers, .most_threads = (size_t)workers});
  static yielding busy;
  static long_job test;
  probe submitter;
  busy = (yielding){0};
  test = (long_job){.pool = pool};
  for (int i = 0; i < YIELDERS; i++) probe_init(&test.behind[i], NULL, NULL);
  probe_init(&submitter, submit_and_last, &test);
  begin_yielding(&busy, csched_pool_target(pool, others), 4); // the other workers always have work
  post(pool, CSCHED_PRIORITY_DEFAULT, &submitter);
  CHECK_SOON(atomic_load(&submitter.releases) == 1);
  end_yielding(&busy);
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("jobs behind a long one run on workers that always have work") { // PP4
  for (int workers = 2; workers <= 4; workers += 2)
    for (int priority = 0; priority < 4; priority++) behind_a_long_job(workers, (csched_priority)priority);
}

// MARK: lanes

typedef struct flood {
  csched_pool *pool;
  atomic_int stops;
} flood;

static void fill_lane(flood *test) {
  probe probes[64];
  for (int i = 0; i < 64; i++) {
    probe_init(&probes[i], NULL, NULL);
    post(test->pool, CSCHED_PRIORITY_DEFAULT, &probes[i]);
  }
  for (int i = 0; !atomic_load(&test->stops); i = (i + 1) % 64) {
    if (atomic_load(&probes[i].releases) == 0) continue;
    probe_init(&probes[i], NULL, NULL);
    post(test->pool, CSCHED_PRIORITY_DEFAULT, &probes[i]);
  }
  for (int i = 0; i < 64; i++) CHECK_SOON(atomic_load(&probes[i].releases) == 1);
}

static void fill_or_wait(int index, void *context) {
  flood *test = context;
  if (index < 2) {
    fill_lane(test);
    return;
  }
  for (int i = 0; i < 10; i++) {
    probe probe;
    probe_init(&probe, NULL, NULL);
    post(test->pool, CSCHED_PRIORITY_DEFAULT, &probe);
    CHECK_SOON(atomic_load(&probe.releases) == 1);
  }
  atomic_store(&test->stops, index == 2);
}

// Two of four workers are busy, so a lane may be the first one of none that is free.
TEST("a job from outside runs while other threads keep submitting") { // PP7
  for (int round = 0; round < 5; round++) {
    csched_pool *pool = make_pool(&(csched_pool_options){.workers = 4, .most_threads = 4});
    flood test = {.pool = pool};
    pool_gate gate;
    pool_gate_close(&gate, pool, 2);
    crew_run(3, fill_or_wait, &test);
    pool_gate_open(&gate);
    end_pool(pool, CSCHED_STOP_RUN);
  }
}

// MARK: every job once

enum { TREE = 2047 };
typedef struct tree {
  csched_pool *pool;
  csched_job jobs[TREE];
  atomic_int runs[TREE], drops, released;
} tree;

static void run_node(csched_job *job) { // submits two more; some block, some end their thread
  tree *test = job->context;
  int index = (int)(job - test->jobs);
  atomic_fetch_add(&test->runs[index], 1);
  for (int child = 2 * index + 1; child <= 2 * index + 2 && child < TREE; child++)
    csched_target_submit(usual_target(test->pool), &test->jobs[child]);
  if (index % 97 == 5) {
    csched_pool_blocking_begin();
    nap(100 * US);
    csched_pool_blocking_end();
  }
  if (index % 101 == 7) nap(100 * US);
  if (index % 211 == 9) pthread_exit(NULL);
}
static void drop_node(csched_job *job) { atomic_fetch_add(&((tree *)job->context)->drops, 1); }
static void release_node(csched_job *job) { atomic_fetch_add(&((tree *)job->context)->released, 1); }

static void whole_tree(int workers) {
  static const csched_job_type type = {run_node, drop_node, release_node};
  static tree test;
  memset(&test, 0, sizeof test);
  test.pool = make_pool(&(csched_pool_options){.workers = (size_t)workers});
  for (int i = 0; i < TREE; i++) csched_job_init(&test.jobs[i], &type, &test);
  csched_target_submit(usual_target(test.pool), &test.jobs[0]);
  if (workers % 2 == 0) CHECK_SOON(atomic_load(&test.released) == TREE);
  else
    while (atomic_load(&test.runs[0]) == 0) nap(20 * US); // the stop comes while jobs submit others
  end_pool(test.pool, CSCHED_STOP_RUN);
  int total = 0;
  for (int i = 0; i < TREE; i++) {
    CHECK(atomic_load(&test.runs[i]) <= 1);
    total += atomic_load(&test.runs[i]);
  }
  CHECK_EQUAL(total + atomic_load(&test.drops), atomic_load(&test.released)); // after the stop, submissions are refused
  if (workers % 2 == 0) CHECK_EQUAL(total, TREE);
}

TEST("a tree of jobs that block and end threads runs once") { // PP6, WK3, F1
  static const int workers[] = {2, 1, 4, 3, 8, 7};
  for (int i = 0; i < 6; i++) whole_tree(workers[i]);
}
