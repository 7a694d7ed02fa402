// waits.c, and the syncs of serial.c with threads: SQ7.

#include "../engine/model.h"

#include <errno.h>

enum { MOST = 3 };

static int count, ended, results[MOST];
static csched_thread *threads[MOST];
static csched_serial *queues[MOST];
static csched_serial *waits_for[MOST];
static csched_job jobs[MOST];
static csched_lock lock; // of `ended`

static void nothing(void *unused) { (void)unused; }
static void drop(csched_job *job) {
  (void)job;
  model_assert(false);
}

// The last job to end destroys all.
static void end_one(csched_job *job) {
  (void)job;
  csched_lock_lock(&lock);
  bool is_last = ++ended == count;
  csched_lock_unlock(&lock);
  for (int i = 0; is_last && i < count; i++) {
    csched_serial_destroy(queues[i]);
    csched_thread_destroy(threads[i]);
  }
}

static void wait_for_next(csched_job *job) {
  int i = (int)(job - jobs);
  results[i] = csched_serial_sync(waits_for[i], nothing, NULL);
}
static const csched_job_type type = {wait_for_next, drop, end_one};

static void start(int number) {
  count = number;
  ended = 0;
  lock.owner = 0;
  for (int i = 0; i < number; i++) {
    csched_job_init(&jobs[i], &type, NULL);
    results[i] = -1;
    model_assert(csched_thread_start(&threads[i], NULL) == 0);
    model_assert(csched_serial_create(&queues[i], csched_loop_target(csched_thread_loop(threads[i]))) == 0);
  }
}
static void go_round(void *unused) {
  (void)unused;
  for (int i = 0; i < count; i++) waits_for[i] = queues[(i + 1) % count];
  for (int i = 0; i < count; i++) csched_target_submit(csched_thread_target(threads[i]), &jobs[i]);
}
static void begin_round(void *number) {
  start((int)(intptr_t)number);
  go_round(NULL);
}
static void one_refused_at_most(void) {
  int refused = 0;
  for (int i = 0; i < count; i++) {
    model_assert(results[i] == 0 || results[i] == EDEADLK);
    refused += results[i] == EDEADLK;
  }
  model_assert(refused <= 1);
}

// Two waits, one after the other, in both directions: no circle.
static void wait_then_pass_on(csched_job *job) {
  wait_for_next(job);
  csched_target_submit(csched_thread_target(threads[1]), &jobs[1]);
}
static const csched_job_type passing = {wait_then_pass_on, drop, end_one};
static void begin_in_turn(void *unused) {
  (void)unused;
  start(2);
  csched_job_init(&jobs[0], &passing, NULL);
  waits_for[0] = queues[1];
  waits_for[1] = queues[0];
  csched_target_submit(csched_thread_target(threads[0]), &jobs[0]);
}
static void none_refused(void) { model_assert(results[0] == 0 && results[1] == 0); }

// A thread waits outside of the runs of its loop, for which a job of another one waits.
static csched_loop *loop;
static csched_serial *on_loop;
static void wait_outside(void *unused) {
  (void)unused;
  start(1);
  model_assert(csched_loop_create(&loop) == 0);
  model_assert(csched_serial_create(&on_loop, csched_loop_target(loop)) == 0);
  count = 2; // with this thread
  waits_for[0] = on_loop;
  csched_target_submit(csched_thread_target(threads[0]), &jobs[0]);
  results[1] = csched_serial_sync(queues[0], nothing, NULL);
  model_assert(results[1] == 0 || results[1] == EDEADLK);
  for (bool is_over = false; !is_over;) {
    csched_lock_lock(&lock);
    is_over = ended == 1;
    csched_lock_unlock(&lock);
    csched_loop_run_once(loop, csched_time_after(csched_now(), 50000));
  }
  model_assert(results[0] == 0 || (results[0] == EDEADLK && results[1] == 0));
  csched_serial_destroy(on_loop);
  csched_loop_destroy(loop);
  csched_serial_destroy(queues[0]);
  csched_thread_destroy(threads[0]);
}
static void nothing_more(void) {}

// A sync beside a close is one of both; after it, there is no sync, on whatever thread.
static void sync_beside(void *unused) {
  (void)unused;
  results[0] = csched_serial_sync(queues[0], nothing, NULL);
  model_assert(results[0] == 0 || results[0] == ECANCELED);
}
static void close_and_sync(void *unused) {
  (void)unused;
  model_assert(csched_loop_create(&loop) == 0);
  model_assert(csched_serial_create(&queues[0], csched_loop_target(loop)) == 0);
  model_assert(csched_serial_create(&queues[1], csched_serial_target(queues[0])) == 0);
  model_spawn(sync_beside, NULL);
  csched_loop_close(loop, CSCHED_STOP_RUN);
  model_assert(csched_serial_sync(queues[0], nothing, NULL) == ECANCELED);
  model_assert(csched_serial_sync(queues[1], nothing, NULL) == ECANCELED);
  csched_loop_run(loop);
}
static void destroy_all(void) {
  csched_serial_destroy(queues[1]);
  csched_serial_destroy(queues[0]);
  csched_loop_destroy(loop);
}

const model_check waits_checks[] = {
    {"waits: jobs of two threads that wait for each other's queues", NULL, one_refused_at_most,
     THREADS({begin_round, 2})},                                                                            // SQ7
    {"waits: jobs of three threads in a circle", NULL, one_refused_at_most, THREADS({begin_round, 3})},     // SQ7
    {"waits: in both directions, one after the other", NULL, none_refused, THREADS({begin_in_turn})},       // SQ7
    {"waits: a thread that waits outside of its loop's runs", NULL, nothing_more, THREADS({wait_outside})}, // SQ7
    {"waits: a sync beside a close, and after it", NULL, destroy_all, THREADS({close_and_sync})},           // SQ7
    {NULL, NULL, NULL},
};
