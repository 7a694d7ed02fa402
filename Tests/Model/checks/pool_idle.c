// pool_idle.c, pool_worker.c: F1 to F6, WK2, WK3.

#include "pools.h"

// MARK: submissions against going idle

// Each job is waited for before the pool is stopped: a wake that is lost is a deadlock.
static void submit_one_by_one(void *workers) {
  make((size_t)(intptr_t)workers, (size_t)(intptr_t)workers);
  for (intptr_t i = 0; i < JOBS; i++) {
    jobs[i].type = &telling;
    submit((void *)i);
    wait_for(&met, (uint32_t)i + 1);
  }
  end(CSCHED_STOP_RUN);
}
static void submit_two_then_wait(void *unused) {
  (void)unused;
  make(1, 1);
  for (int i = 0; i < 2; i++) jobs[i].type = &telling;
  model_spawn(submit, (void *)1);
  submit((void *)0);
  wait_for(&met, 2);
  submit((void *)2);
  end(CSCHED_STOP_RUN);
}

// A thread that fails to start was counted as a searcher. Another submission may have relied on this searcher, and
// woken no worker.
static void submit_without_threads(void *unused) {
  (void)unused;
  make(2, 2);
  model_refuse_threads(true);
  for (int i = 0; i < JOBS; i++) jobs[i].type = &telling;
  model_spawn(submit, (void *)1);
  model_spawn(submit, (void *)2);
  submit((void *)0);
  wait_for(&met, 3);
  model_refuse_threads(false);
  end(CSCHED_STOP_RUN);
}

// As above, with workers that leave: the last worker must not count the thread that fails to start as another worker.
static void leave_without_threads(void *unused) {
  (void)unused;
  make_leaving(2, 2, 30000);
  model_refuse_threads(true);
  for (int i = 0; i < JOBS; i++) jobs[i].type = &telling;
  model_spawn(submit, (void *)1);
  submit((void *)0);
  wait_for(&met, 2);
  csched_nap_(100000);
  submit((void *)2);
  wait_for(&met, 3);
  model_refuse_threads(false);
  end(CSCHED_STOP_RUN);
}

// Of two workers that are idle for long one stays.
static void leave_but_one(void *unused) {
  (void)unused;
  make_leaving(2, 2, 30000);
  jobs[0].type = jobs[1].type = &meeting;
  submit((void *)0);
  submit((void *)1);
  wait_for(&met, 2);
  while (csched_pool_thread_count(pool) > 1) csched_nap_(40000);
  csched_nap_(100000);
  model_assert(csched_pool_thread_count(pool) == 1);
  jobs[2].type = &telling;
  submit((void *)2);
  wait_for(&met, 3);
  end(CSCHED_STOP_RUN);
}

// MARK: threads that end

static void exit_thread(csched_job *job) {
  note(job);
  model_exit();
}
static const csched_job_type exiting = {exit_thread, note_drop, NULL};
static void exit_and_go_on(void *most) {
  make(1, (size_t)(intptr_t)most);
  jobs[0].type = &exiting;
  jobs[1].type = jobs[2].type = &telling;
  submit((void *)0);
  submit((void *)1);
  wait_for(&met, 1);
  submit((void *)2);
  wait_for(&met, 2);
  size_t threads = csched_pool_thread_count(pool); // the monitor may have taken a slow thread for a blocked one
  model_assert(threads >= 1 && threads <= (size_t)(intptr_t)most);
  end(CSCHED_STOP_RUN);
}

// MARK: passing the search on

static void two_that_meet(void *unused) {
  (void)unused;
  make(2, 2);
  jobs[0].type = jobs[1].type = &meeting;
  submit((void *)0);
  submit((void *)1);
  wait_for(&met, 2);
  submit((void *)2);
  end(CSCHED_STOP_RUN);
}
static void two_from_two(void *unused) {
  (void)unused;
  make(2, 2);
  jobs[0].type = jobs[1].type = &meeting;
  model_spawn(submit, (void *)1);
  submit((void *)0);
  wait_for(&met, 2);
  submit((void *)2);
  end(CSCHED_STOP_RUN);
}
static void batch_that_meets(void *unused) {
  (void)unused;
  make(2, 2);
  csched_job *all[JOBS];
  jobs[0].type = jobs[1].type = &meeting;
  for (int i = 0; i < JOBS; i++) {
    all[i] = &jobs[i];
    model_write(&given[i], 1);
  }
  model_assert(csched_pool_submit_batch(pool, CSCHED_PRIORITY_DEFAULT, all, JOBS) == 0);
  wait_for(&met, 2);
  end(CSCHED_STOP_RUN);
}

// Both workers come from another job. One worker may dequeue both jobs of a batch, and run the first. The other worker,
// which may just be going to sleep, has to run the second.
enum { PAIRED = 8 };
static csched_job in_pairs[PAIRED];
static void meet_in_pairs(csched_job *job) {
  csched_fetch_add_relaxed(&ran, 1u);
  count_and_wake(&met);
  wait_for(&met, (uint32_t)((job - in_pairs) / 2 + 1) * 2);
}
static const csched_job_type paired = {meet_in_pairs, note_drop, NULL};
static void batch_for_a_busy_one(void *unused) {
  (void)unused;
  make(2, 2);
  for (int i = 0; i < PAIRED; i++) csched_job_init(&in_pairs[i], &paired, NULL);
  for (int i = 0; i < PAIRED; i += 2) {
    csched_job *pair[] = {&in_pairs[i], &in_pairs[i + 1]};
    model_assert(csched_pool_submit_batch(pool, CSCHED_PRIORITY_HIGH, pair, 2) == 0);
    wait_for(&met, (uint32_t)i + 2);
  }
  end(CSCHED_STOP_RUN);
}
static void both_ran(void) {
  model_assert(ran == PAIRED && dropped == 0);
  csched_pool_destroy(pool);
}

const model_check pool_idle_checks[] = {
    {"pool: one worker: each submission against going idle", reset, three_have_run,
     THREADS({submit_one_by_one, 1})}, // F1, F4, F5, PP1
    {"pool: two workers: each submission against going idle", reset, three_have_run,
     THREADS({submit_one_by_one, 2})},                                                               // F1, F2, F4
    {"pool: two submitters and one worker", reset, three_have_run, THREADS({submit_two_then_wait})}, // F1, F3
    {"pool: the system has no second thread: nothing waits for it", reset, three_have_run,
     THREADS({submit_without_threads})},                                                                 // F1, F2
    {"pool: idle for long: all workers leave but one", reset, three_have_run, THREADS({leave_but_one})}, // F6
    {"pool: idle for long, and the system has no second thread", reset, three_have_run,
     THREADS({leave_without_threads})},                                                                      // F2, F6
    {"pool: a job ends its thread, which is replaced", reset, three_have_run, THREADS({exit_and_go_on, 2})}, // WK2, WK3
    {"pool: a job ends its thread, which goes on at its end", reset, three_have_run,
     THREADS({exit_and_go_on, 1})}, // WK3
    {"pool: jobs that need both workers: the search is passed on", reset, three_have_run,
     THREADS({two_that_meet})}, // F1, F2
    {"pool: jobs that need both workers, from two submitters", reset, three_have_run,
     THREADS({two_from_two})},                                                                       // F1, F2
    {"pool: a batch wakes as many as it needs", reset, three_have_run, THREADS({batch_that_meets})}, // F2, F4
    {"pool: a batch for a busy worker and a worker that goes to sleep", reset, both_ran,
     THREADS({batch_for_a_busy_one})}, // F1, PP1
    {NULL, NULL, NULL},
};
