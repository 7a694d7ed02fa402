// loop.c: P1 to P6. The loop belongs to a thread of the check.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/platform/platform.h"

enum { JOBS = 3, TIMERS = 3 };

static csched_loop *loop;
static csched_job jobs[JOBS];
static csched_timer timers[TIMERS];
static csched_time due[TIMERS];
static model_cell last_words; // of whoever stops or closes
static int ran, dropped, order[JOBS + TIMERS];

static void note(csched_job *job) { order[ran++] = (int)(intptr_t)job->context; }
static void drop(csched_job *job) {
  (void)job;
  dropped++;
}
static void note_time(csched_job *job) {
  model_assert(csched_now() >= due[(intptr_t)job->context - JOBS]); // never early
  note(job);
}
static const csched_job_type plain = {note, drop, NULL}, timed = {note_time, drop, NULL};

static void reset(void) {
  for (intptr_t i = 0; i < JOBS; i++) csched_job_init(&jobs[i], &plain, (void *)i);
  for (intptr_t i = 0; i < TIMERS; i++) csched_timer_init(&timers[i], &timed, (void *)(JOBS + i));
  last_words = (model_cell){0};
  ran = dropped = 0;
}
static void create(void) { model_assert(csched_loop_create(&loop) == 0); }
static void destroy(void) { csched_loop_destroy(loop); }

static void submit_at(int i, csched_time span) {
  due[i] = csched_time_after(csched_now(), (int64_t)span);
  csched_loop_submit_at(loop, &timers[i], due[i]);
}

// MARK: parking

static void submit_job(void *context) { csched_loop_submit(loop, &jobs[(intptr_t)context]); }
static void submit_soon(void *unused) {
  (void)unused;
  submit_at(1, 100000);
}
static void stop(void *unused) {
  (void)unused;
  model_write(&last_words, 1);
  csched_loop_stop(loop);
}
static void run_two_jobs(void *unused) {
  (void)unused;
  create();
  model_spawn(submit_job, (void *)0);
  model_spawn(submit_job, (void *)1);
  while (ran < 2) model_assert(csched_loop_run_once(loop, CSCHED_FOREVER));
}
static void submitted(void) {
  reset();
  model_spawn(run_two_jobs, NULL);
}

// The only timer that ends the sleep comes from outside; a far one, or none, is there already.
static void run_until_soon(void *far) {
  create();
  if (far != NULL) csched_loop_submit_at(loop, &timers[0], CSCHED_FOREVER);
  model_spawn(submit_soon, NULL);
  model_assert(csched_loop_run_once(loop, CSCHED_FOREVER) && ran == 1 && order[0] == JOBS + 1);
}
static void earlier_timer(void) {
  reset();
  model_spawn(run_until_soon, &timers);
}
static void first_timer(void) {
  reset();
  model_spawn(run_until_soon, NULL);
}

static void run_until_stopped(void *unused) {
  (void)unused;
  create();
  model_spawn(stop, NULL);
  model_spawn(submit_job, (void *)0);
  model_assert(csched_loop_run(loop) == CSCHED_RUN_STOPPED && model_read(&last_words) == 1);
}
static void stopped(void) {
  reset();
  model_spawn(run_until_stopped, NULL);
}
static void all_accounted(void) {
  destroy();
  model_assert(ran + dropped == 1);
}

static void run_for_a_while(void *unused) {
  (void)unused;
  create();
  csched_time end = csched_time_after(csched_now(), 200000);
  model_spawn(submit_job, (void *)0);
  model_assert(csched_loop_run_until(loop, end) == CSCHED_RUN_TIMED_OUT && csched_now() >= end);
}
static void timed_out(void) {
  reset();
  model_spawn(run_for_a_while, NULL);
}

// MARK: order of timers

static void run_timers(void *unused) {
  (void)unused;
  create();
  submit_at(0, 300000);
  submit_at(1, 90000);
  due[2] = due[1]; // equal: in the order of submission
  csched_loop_submit_at(loop, &timers[2], due[2]);
  while (ran < TIMERS) model_assert(csched_loop_run_once(loop, CSCHED_FOREVER));
}
static void timers_run(void) {
  reset();
  model_spawn(run_timers, NULL);
}
static void in_order(void) {
  model_assert(order[0] == JOBS + 1 && order[1] == JOBS + 2 && order[2] == JOBS);
  destroy();
}

static void cancel_first(void *unused) {
  (void)unused;
  csched_timer_cancel(&timers[0]);
}
static void run_and_cancel(void *unused) {
  (void)unused;
  create();
  submit_at(0, 60000);
  submit_at(1, 60000);
  model_spawn(cancel_first, NULL);
  while (ran + dropped < 2) csched_loop_run_once(loop, csched_time_after(csched_now(), 100000));
}
static void cancelled(void) {
  reset();
  model_spawn(run_and_cancel, NULL);
}
static void one_of_each(void) {
  model_assert(ran + dropped == 2 && order[ran - 1] == JOBS + 1);
  destroy();
}

// MARK: closing

static void close_run(void *unused) {
  (void)unused;
  model_write(&last_words, 1);
  csched_loop_close(loop, CSCHED_STOP_RUN);
}
static void close_drop(void *unused) {
  (void)unused;
  model_write(&last_words, 1);
  csched_loop_close(loop, CSCHED_STOP_DROP);
}
static void run_until_closed(void *policy) {
  create();
  csched_loop_submit(loop, &jobs[0]);
  csched_loop_submit_at(loop, &timers[0], CSCHED_FOREVER);
  model_spawn(policy != NULL ? close_drop : close_run, NULL);
  model_spawn(submit_job, (void *)1);
  model_assert(csched_loop_run(loop) == CSCHED_RUN_CLOSED && model_read(&last_words) == 1);
}
static void closed_to_run(void) {
  reset();
  model_spawn(run_until_closed, NULL);
}
static void closed_to_drop(void) {
  reset();
  model_spawn(run_until_closed, &jobs);
}
static void far_timer_dropped(void) {
  model_assert(ran + dropped == 3 && ran >= 1 && dropped >= 1);
  destroy();
}
static void none_lost(void) {
  model_assert(ran + dropped == 3);
  destroy();
}

// MARK: nesting

static csched_activation outer, inner;
static int ends;
static void run_inner(csched_job *job) {
  (void)job;
  csched_run_result result = csched_loop_run_activation(loop, &inner, CSCHED_FOREVER);
  model_assert(result == CSCHED_RUN_STOPPED && csched_load_relaxed(&inner.stopped) == 1);
  ends = ends * 10 + 1;
}
static const csched_job_type nesting = {run_inner, drop, NULL};
static void stop_outer(void *unused) {
  (void)unused;
  model_write(&last_words, 1);
  csched_activation_stop(&outer);
}
static void stop_inner(void *unused) {
  (void)unused;
  csched_activation_stop(&inner);
}
static void own_a_loop(void *unused) {
  (void)unused;
  create();
  csched_activation_init(&outer, loop);
  csched_activation_init(&inner, loop);
  csched_job_init(&jobs[0], &nesting, NULL);
  csched_loop_submit(loop, &jobs[0]);
  model_spawn(stop_outer, NULL);
  model_spawn(stop_inner, NULL);
  model_assert(csched_loop_run_activation(loop, &outer, CSCHED_FOREVER) == CSCHED_RUN_STOPPED);
  model_assert(model_read(&last_words) == 1);
  ends = ends * 10 + 2;
}
static void nested(void) {
  reset();
  ends = 0;
  model_spawn(own_a_loop, NULL);
}
static void inner_first(void) {
  model_assert(ends == 12 || ends == 2); // the inner one ends first, or the outer was stopped before it began
  destroy();
}

const model_check loop_checks[] = {
    {"loop: submissions against parking", submitted, destroy},                      // P1, P2
    {"loop: an earlier timer from outside ends the sleep", earlier_timer, destroy}, // P1
    {"loop: a first timer from outside ends the sleep", first_timer, destroy},      // P1
    {"loop: stop against submit and parking", stopped, all_accounted},              // P1, P5
    {"loop: a run with a deadline ends, not before it", timed_out, all_accounted},  // P5
    {"loop: timers run in order, never early", timers_run, in_order},               // P3, P4
    {"loop: a timer against its cancel, beside another", cancelled, one_of_each},   // P4
    {"loop: closed to run: what was accepted is run, far timers are dropped", closed_to_run, far_timer_dropped}, // P6
    {"loop: closed to drop: nothing is lost", closed_to_drop, none_lost},                                        // P6
    {"loop: nested activations end by their own stops", nested, inner_first},                                    // P5
    {NULL, NULL, NULL},
};
