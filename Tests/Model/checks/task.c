// task.c and task_async.c: TK1 to TK6; task_memory.c: TM1 to TM3. A unit has four plain tasks here.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/job/job_internal.h"
#include "../../../Sources/CScheduler/targets/task_internal.h"
#include "../../../Sources/CScheduler/platform/platform.h"

#include <CScheduler/loop.h>

#include <errno.h>

enum { MOST = 8 };

// A target that keeps what comes until a thread of the check takes it, one at a time.
static csched_job *kept;
static bool refuses;
static int deliver(csched_target *target, csched_job *job) {
  (void)target;
  if (refuses) {
    csched_target_discard(job);
    return ECANCELED;
  }
  csched_store_release(&kept, job);
  return 0;
}
static int deliver_at(csched_target *to, csched_timer *timer, csched_time deadline, csched_time leeway) {
  (void)deadline, (void)leeway;
  return deliver(to, &timer->job);
}
static const csched_target_type type = {.deliver = deliver, .deliver_at = deliver_at};
static csched_target target;

static int performed; // begun
static void perform(void *unused) {
  (void)unused;
  csched_job *job = csched_exchange_acquire(&kept, NULL);
  if (job == NULL) return;
  performed++;
  csched_target_perform(&target, job);
}
static void discard(void *unused) {
  (void)unused;
  csched_job *job = csched_exchange_acquire(&kept, NULL);
  if (job != NULL) csched_target_discard(job);
}

static csched_task task, later;
static model_cell work[MOST], before;
static int runs[MOST], drops[MOST];
static csched_drop_reason reason;

static void run(void *context) {
  int *count = context;
  ++*count;
  model_write(&work[count - runs], model_read(&work[count - runs]) + 1);
}
static void drop(void *context, csched_drop_reason why) {
  int id = (int)((int *)context - runs);
  drops[id]++;
  reason = why;
  model_write(&work[id], model_read(&work[id]) + 1);
}
static csched_task submit(int id) { return csched_target_async_or_drop(&target, run, drop, &runs[id]); }

static void start(void) {
  target = (csched_target){.type = &type};
  kept = NULL;
  refuses = false;
  before = (model_cell){0};
  for (int i = 0; i < MOST; i++) work[i] = (model_cell){0}, runs[i] = drops[i] = 0;
}

// A thread that finds the task over sees its writes.
static void see(csched_task seen, int id) {
  model_assert(csched_task_is_over(seen) && csched_task_is_cancelled_(seen));
  model_assert(model_read(&work[id]) == 1);
}

static void cancel(void *unused) {
  (void)unused;
  csched_cancel_result result = csched_task_cancel(task);
  if (result == CSCHED_CANCEL_DROPPED) see(task, 0);
  model_assert(csched_task_is_cancelled_(task));
  if (csched_task_is_over(task)) see(task, 0);
}
static void cancel_and_wait(void *unused) {
  (void)unused;
  csched_task_cancel_and_wait(task);
  model_assert(model_read(&work[0]) == 1);
  see(task, 0);
}
static void once(void) { model_assert(runs[0] + drops[0] == 1 && csched_task_is_over(task)); }

static void submit_one(void) {
  start();
  task = submit(0);
}
static void dropped_once(void) { // the queue comes when all is over
  model_assert(drops[0] == 1 && csched_task_is_over(task));
  perform(NULL);
  once();
}

// As above, without any other call.
static void look_whether_over(void *unused) {
  (void)unused;
  if (csched_task_is_over(task)) model_assert(model_read(&work[0]) == 1);
}
static void cancel_and_look(void *unused) {
  (void)unused;
  if (csched_task_cancel(task) == CSCHED_CANCEL_FINISHED) model_assert(model_read(&work[0]) == 1);
}

// Its memory is used again, by the thread that ran it, while others hold the value.
static void perform_and_submit(void *unused) {
  perform(unused);
  later = submit(1);
}
static void second_waits(void) {
  model_assert(runs[0] + drops[0] == 1 && csched_task_is_over(task) && runs[1] + drops[1] == 0);
  model_assert(!csched_task_is_over(later) && !csched_task_is_cancelled_(later));
  perform(NULL);
  model_assert(runs[1] == 1);
}

// As above, with all free memory released to the system in between.
static void perform_trim_submit(void *unused) {
  perform(unused);
  csched_trim();
  later = submit(1);
}

// A cancel-and-wait inside of the task's own run or drop does not wait.
static void cancel_self(void *context) {
  model_assert(!csched_task_is_over(task) && !csched_task_is_cancelled_(task));
  model_assert(csched_task_cancel_and_wait(task) == CSCHED_CANCEL_RUNNING);
  model_assert(!csched_task_is_over(task) && csched_task_is_cancelled_(task));
  run(context);
}
static void drop_self(void *context, csched_drop_reason why) {
  model_assert(!csched_task_is_cancelled_(task)); // a queue drops it, and it is not over yet
  model_assert(csched_task_cancel_and_wait(task) == CSCHED_CANCEL_FINISHED);
  model_assert(!csched_task_is_over(task) && csched_task_is_cancelled_(task));
  drop(context, why);
}
static void submit_one_that_cancels(void) {
  start();
  task = csched_target_async_or_drop(&target, cancel_self, drop_self, &runs[0]);
}

// A thread that sees the cancel sees the writes before it.
static void write_and_cancel(void *unused) {
  (void)unused;
  model_write(&before, 1);
  csched_task_cancel(task);
}
static void run_and_look(void *context) {
  if (csched_task_is_cancelled_(task)) model_assert(model_read(&before) == 1);
  run(context);
}
static void look(void *unused) {
  (void)unused;
  if (csched_task_is_cancelled_(task) && !csched_task_is_over(task)) model_assert(model_read(&before) == 1);
}
static void cancel_is_seen(void) {
  start();
  task = csched_target_async_or_drop(&target, run_and_look, drop, &runs[0]);
  model_spawn(perform, NULL);
  model_spawn(write_and_cancel, NULL);
  model_spawn(look, NULL);
}

// Tasks of threads that begin and end: what one leaves is used by the next, and no memory is in two places.
static const csched_job_type never_submitted = {0};
static void make_some(void *first) {
  int *from = first;
  csched_task made[MOST / 2];
  for (int i = 0; i < MOST / 2; i++) made[i] = csched_task_make_(&never_submitted, CSCHED_TASK_PLAIN);
  for (int i = 0; i < MOST / 2; i++) {
    model_assert(made[i].job != NULL);
    made[i].job->context = &from[i];
    model_write(&work[from + i - runs], 0);
    for (int j = 0; j < i; j++) model_assert(made[i].job != made[j].job);
  }
  for (int i = 0; i < MOST / 2; i++) csched_task_free_(made[i].job, CSCHED_TASK_PLAIN);
}
static void make_and_trim(void *first) {
  make_some(first);
  csched_trim();
}
static void each_once(void) {
  enum { ALL = 3 * 4 };
  csched_job *made[ALL];
  for (int i = 0; i < ALL; i++)
    model_assert((made[i] = csched_task_make_(&never_submitted, CSCHED_TASK_PLAIN).job) != NULL);
  model_assert(csched_task_make_(&never_submitted, CSCHED_TASK_PLAIN).job == NULL);
  for (int i = 0; i < ALL; i++) csched_task_free_(made[i], CSCHED_TASK_PLAIN);
}
static void memory_of_two(void) {
  start();
  csched_task_free_(csched_task_make_(&never_submitted, CSCHED_TASK_PLAIN).job, CSCHED_TASK_PLAIN);
  csched_tasks_flush_();
  csched_task_central_.all->bare &= 1 << 2 | 1 << 3; // three units in all
  model_spawn(make_some, &runs[0]);
  model_spawn(make_and_trim, &runs[MOST / 2]);
}

// A repeating task: its run submits it again, and another thread may run it before that run returns.
static bool is_ended;
static void tick(void *context) {
  model_assert(!is_ended);
  ++*(int *)context;
  model_write(&work[0], model_read(&work[0]) + 1);
}
static void start_ticks(void) {
  start();
  is_ended = false;
  performed = 0;
  task = csched_target_async_every(&target, &(csched_timing){.period = 1}, tick, drop, &runs[0]);
}
static void perform_two(void *unused) {
  perform(unused);
  perform(unused);
}
static void cancel_ticks(void *unused) {
  (void)unused;
  if (csched_task_cancel(task) == CSCHED_CANCEL_DROPPED) model_assert(csched_task_is_over(task));
  model_assert(csched_task_is_cancelled_(task));
  if (performed == runs[0]) is_ended = true; // no run is about to call it
}
static void end_ticks(void *unused) {
  (void)unused;
  csched_task_cancel_and_wait(task);
  is_ended = true;
  model_assert(csched_task_is_over(task) && drops[0] == 1);
  model_assert(model_read(&work[0]) == runs[0] + 1);
}
static void no_more(void) {
  model_assert(csched_task_is_over(task) && drops[0] == 1);
  int before = runs[0];
  perform(NULL);
  model_assert(runs[0] == before && drops[0] == 1);
}
static void discard_ticks(void) {
  start_ticks();
  perform(NULL);
  model_spawn(discard, NULL);
  model_spawn(end_ticks, NULL);
}

// The run after a cancel that has come before it was submitted again: its memory may be another's by then.
static void perform_and_use(void *unused) {
  perform(unused);
  if (csched_task_is_over(task)) // or it may still be kept
    later = csched_target_async_every(&target, &(csched_timing){.period = 1}, run, drop, &runs[0]);
}
static void ticks_used_again(void) {
  start_ticks();
  later = (csched_task){NULL, 0};
  model_spawn(perform_and_use, NULL);
  model_spawn(perform, NULL);
  model_spawn(cancel_ticks, NULL);
}
static void second_ticks(void) {
  model_assert(csched_task_is_over(task) && drops[0] == 1);
  if (later.job == NULL) return;
  model_assert(!csched_task_is_over(later) && !csched_task_is_cancelled_(later));
  csched_task_cancel(later);
  model_assert(drops[0] == 2);
}

// One at an instant, in a loop's wheel, from which it is taken at once.
static csched_loop *loop;
static void run_loop(void *unused) {
  (void)unused;
  csched_loop_attach(loop);
  csched_loop_run_until(loop, csched_now() + 150000);
  csched_loop_detach(loop);
}
static void timed_against_cancel(void) {
  start();
  model_assert(csched_loop_create(&loop) == 0);
  csched_loop_detach(loop);
  task = csched_target_async_at_or_drop(csched_loop_target(loop), CSCHED_CLOCK_MONOTONIC, csched_now() + 100000, 0, run,
                                        drop, &runs[0]);
  model_spawn(run_loop, NULL);
  model_spawn(cancel, NULL);
}
static void timed_once(void) {
  csched_loop_attach(loop);
  csched_loop_destroy(loop);
  once();
}

// When the cancel returns, a waiting task is out of its timers, and its memory is free.
static void timed_out_at_once(void) {
  start();
  model_assert(csched_loop_create(&loop) == 0);
  task = csched_target_async_at_or_drop(csched_loop_target(loop), CSCHED_CLOCK_MONOTONIC, CSCHED_FOREVER, 0, run, drop,
                                        &runs[0]);
  model_assert(csched_task_cancel(task) == CSCHED_CANCEL_DROPPED);
  model_assert(csched_load_relaxed(&task.job->word) / CSCHED_JOB_LIFE > task.life);
  csched_loop_destroy(loop);
}

// Runs the task inside of the submission. Then, before the submission returns, another task in the same memory is
// dropped by its target.
static int deliver_at_once(csched_target *at_once, csched_job *job) {
  csched_target_perform(at_once, job);
  later = submit(MOST - 1);
  model_assert(later.job == job);
  discard(NULL);
  model_assert(drops[MOST - 1] == 1 && reason == CSCHED_DROP_STOPPED);
  return 0;
}
static const csched_target_type at_once_type = {.deliver = deliver_at_once};

static void refused(void) {
  start();
  csched_target at_once = {.type = &at_once_type};
  csched_target_async(&at_once, run, &runs[MOST - 2]);
  refuses = true;
  task = submit(0);
  model_assert(task.job == NULL && drops[0] == 1 && reason == CSCHED_DROP_REFUSED);
  refuses = false;
  task = submit(1);
  discard(NULL);
  model_assert(csched_task_is_over(task) && drops[1] == 1 && reason == CSCHED_DROP_STOPPED);
  task = submit(2);
  csched_task_cancel(task);
  model_assert(csched_task_is_over(task) && drops[2] == 1 && reason == CSCHED_DROP_CANCELLED);
  perform(NULL);
}

const model_check task_checks[] = {
    {"task: run against two cancels", submit_one, once, THREADS({perform}, {cancel}, {cancel})}, // TK1, TK2
    {"task: run against two threads that cancel and wait", submit_one, once,
     THREADS({perform}, {cancel_and_wait}, {cancel_and_wait})}, // TK2, TK4
    {"task: dropped while another thread waits", submit_one, dropped_once, THREADS({cancel}, {cancel_and_wait})}, // TK4
    {"task: discard against two threads that cancel and wait", submit_one, once,
     THREADS({discard}, {cancel_and_wait}, {cancel_and_wait})}, // TK2, TK4
    {"task: used again while its value is cancelled", submit_one, second_waits,
     THREADS({perform_and_submit}, {cancel}, {cancel_and_wait})}, // TK1, TM1
    {"task: given back and used again while its value is cancelled", submit_one, second_waits,
     THREADS({perform_trim_submit}, {cancel})},                                              // TM1, TM2
    {"task: cancelled in its own run", submit_one_that_cancels, once, THREADS({perform})},   // TK4
    {"task: cancelled in its own drop", submit_one_that_cancels, once, THREADS({discard})},  // TK4
    {"task: a thread that sees the cancel sees the writes before it", cancel_is_seen, once}, // TK3
    {"task: a thread that finds the task over sees its writes", submit_one, once,
     THREADS({perform}, {look_whether_over})}, // TK2
    {"task: a thread that finds the task finished sees its writes", submit_one, once,
     THREADS({perform}, {cancel_and_look})},                   // TK2
    {"task: memory of two threads", memory_of_two, each_once}, // TM2, TM3
    {"task: a repeating task, against two cancels", start_ticks, no_more,
     THREADS({perform_two}, {cancel_ticks}, {cancel_ticks})}, // TK1, TK6
    {"task: a task that repeats on two threads, against cancel", start_ticks, no_more,
     THREADS({perform}, {perform}, {cancel_ticks})}, // TK6
    {"task: a repeating task, against cancel and wait", start_ticks, no_more,
     THREADS({perform_two}, {end_ticks})}, // TK4, TK6
    {"task: a task that repeats on two threads, against cancel and wait", start_ticks, no_more,
     THREADS({perform}, {perform}, {end_ticks})},                                          // TK4, TK6
    {"task: a repeating task, discarded against cancel and wait", discard_ticks, no_more}, // TK2, TK4
    {"task: a repeating task is over and used again while its submitter checks it", ticks_used_again,
     second_ticks},                                                                     // TK6
    {"task: a timed task, against cancel", timed_against_cancel, timed_once},           // TK1, TK6
    {"task: a timed task is removed when its cancel returns", timed_out_at_once, once}, // TK6
    {"task: each drop has its reason", refused, NULL},                                  // TK5
    {NULL, NULL, NULL},
};
