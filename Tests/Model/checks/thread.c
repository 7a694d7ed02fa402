// thread.c: TH1 to TH4, and the closing of its loop.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/platform/platform.h"

#include <errno.h>
#include <stddef.h>

enum { JOBS = 3 };

static csched_job jobs[JOBS];
static csched_timer timer;
static csched_thread *thread;
static model_cell owned;
static int ran, dropped, accepted, refused;
static uint32_t submitted; // the call on the handle is over

static void run(csched_job *job) {
  (void)job;
  ran++;
  model_write(&owned, model_read(&owned) + 1); // the thread's own: no lock
}
static void drop(csched_job *job) {
  (void)job;
  dropped++;
}
static const csched_job_type type = {run, drop, NULL};

static void reset(void) {
  for (int i = 0; i < JOBS; i++) csched_job_init(&jobs[i], &type, NULL);
  csched_timer_init(&timer, &type, NULL);
  owned = (model_cell){0};
  ran = dropped = accepted = refused = submitted = 0;
  thread = NULL;
}

static void answer(int result) {
  if (result == 0) accepted++;
  else refused++;
}

static void submit_from_outside(void *context) {
  answer(csched_target_submit(csched_thread_target(thread), &jobs[(intptr_t)context]));
}

static void own_the_thread(void *policy) {
  model_assert(csched_thread_start(&thread, NULL) == 0);
  model_spawn(submit_from_outside, (void *)1);
  answer(csched_target_submit(csched_thread_target(thread), &jobs[0]));
  csched_thread_stop(thread, policy == NULL ? CSCHED_STOP_RUN : CSCHED_STOP_DROP);
  answer(csched_target_submit(csched_thread_target(thread), &jobs[2])); // refused
  model_assert(csched_thread_join(thread) == 0);
}
static void nothing_lost(void) {
  model_assert(ran + dropped == JOBS && accepted + refused == JOBS && refused >= 1 && dropped >= refused &&
               owned.value == ran);
  csched_thread_destroy(thread);
}
static void nothing_lost_and_run(void) {
  model_assert(ran == accepted);
  nothing_lost();
}

static void cancel_timer(void *unused) {
  (void)unused;
  csched_timer_cancel(&timer);
}
static void own_a_timer(void *unused) {
  (void)unused;
  model_assert(csched_thread_start(&thread, NULL) == 0);
  csched_time due = csched_time_after(csched_now(), 60000);
  answer(csched_target_submit_at(csched_thread_target(thread), &timer, due, 0));
  model_spawn(cancel_timer, NULL);
  csched_nap_(200000);
  csched_thread_stop(thread, CSCHED_STOP_RUN);
  csched_thread_join(thread);
}
static void once(void) {
  model_assert(ran + dropped == 1);
  csched_thread_destroy(thread);
}

static void join(void *unused) {
  (void)unused;
  model_assert(csched_thread_join(thread) == 0);
}
static void stop_and_join(void *unused) {
  (void)unused;
  csched_thread_stop(thread, CSCHED_STOP_DROP);
  model_assert(csched_thread_join(thread) == 0);
  model_assert(csched_thread_join(thread) == 0);
}
static void own_for_two(void *unused) {
  (void)unused;
  model_assert(csched_thread_start(&thread, NULL) == 0);
  model_spawn(join, NULL);
  model_spawn(stop_and_join, NULL);
}
static void destroy_handle(void) { csched_thread_destroy(thread); }

static void destroy_own(csched_job *job) {
  run(job);
  while (csched_load_acquire(&submitted) == 0) csched_nap_(1000);
  model_assert(csched_thread_join(thread) == EDEADLK);
  csched_thread_destroy(thread);
}
static const csched_job_type destroying = {destroy_own, drop, NULL};
static void let_go(void *unused) {
  (void)unused;
  jobs[0].type = &destroying;
  model_assert(csched_thread_start(&thread, NULL) == 0);
  answer(csched_target_submit(csched_thread_target(thread), &jobs[0]));
  csched_store_release(&submitted, 1u);
}
static void ran_once(void) { model_assert(ran == 1 && dropped == 0); }

static void start_and_destroy(void *unused) {
  (void)unused;
  model_assert(csched_thread_start(&thread, NULL) == 0);
  answer(csched_target_submit(csched_thread_target(thread), &jobs[0]));
  csched_thread_destroy(thread);
}

// The remaining jobs are dropped before a join returns, not only when the handle is destroyed.
static void leave_thread(csched_job *job) {
  run(job);
  model_exit();
}
static const csched_job_type leaving = {leave_thread, drop, NULL};
static void join_after_exit(void *unused) {
  (void)unused;
  jobs[0].type = &leaving;
  model_assert(csched_thread_start(&thread, NULL) == 0);
  for (int i = 0; i < JOBS; i++) answer(csched_target_submit(csched_thread_target(thread), &jobs[i]));
  answer(csched_target_submit_at(csched_thread_target(thread), &timer, CSCHED_FOREVER, 0));
  model_assert(csched_thread_join(thread) == 0);
  model_assert(ran == 1 && dropped == JOBS);
}

// The model's system refuses real-time scheduling.
static void never_ends(void *unused) {
  (void)unused;
  model_assert(false);
}
static void start_refused(void *unused) {
  (void)unused;
  const csched_thread_options options = {.at_end = never_ends, .policy = CSCHED_POLICY_FIFO, .priority = 1};
  model_assert(csched_thread_start(&thread, &options) == EPERM && thread == NULL);
}
static void nothing_ran(void) { model_assert(ran == 0 && dropped == 0); }

const model_check thread_checks[] = {
    {"thread: the system refuses the options: nothing is leaked", reset, nothing_ran, THREADS({start_refused})}, // TH1
    {"thread: stop and run, against submissions: nothing is lost", reset, nothing_lost_and_run,
     THREADS({own_the_thread})}, // TH1, TH3
    {"thread: stop and drop, against submissions: nothing is lost", reset, nothing_lost,
     THREADS({own_the_thread, true})},                                                                // TH3
    {"thread: a timer against its cancel: one of run and drop", reset, once, THREADS({own_a_timer})}, // LP4, TH3
    {"thread: two threads join, one of them stops", reset, destroy_handle, THREADS({own_for_two})},   // TH4
    {"thread: destroyed by its own job", reset, ran_once, THREADS({let_go})},                         // TH2, TH4
    {"thread: destroyed with work outstanding, which is run", reset, ran_once,
     THREADS({start_and_destroy})}, // TH2, TH3
    {"thread: ended by its own job, other jobs are dropped before join returns", reset, destroy_handle,
     THREADS({join_after_exit})}, // TH3
    {NULL, NULL, NULL},
};
