// pool_monitor.c, delivery.c: blocked workers, timers, and what the monitor does not do itself.

#include "pools.h"

#include "../../../Sources/CScheduler/targets/target_internal.h"

#include <CScheduler/serial.h>

// MARK: blocking

static void block_for_other(csched_job *job) {
  note(job);
  csched_pool_blocking_begin();
  wait_for(&met, 1);
  csched_pool_blocking_end();
}
static const csched_job_type blocking = {block_for_other, note_drop, NULL};
static void blocked_and_replaced(void *unused) {
  (void)unused;
  make(1, 2);
  jobs[0].type = &blocking;
  jobs[1].type = &telling;
  submit((void *)0);
  submit((void *)1);
  wait_for(&met, 1);
  submit((void *)2);
  end(CSCHED_STOP_RUN);
}
static void run_after_a_tick(csched_job *job) {
  model_assert(csched_now() >= due); // until then the other job may only have been slow
  run_and_tell(job);
}
static const csched_job_type late = {run_after_a_tick, note_drop, NULL};
static void blocked_silently(void *unused) {
  (void)unused;
  make(1, 2);
  jobs[0].type = &silent;
  jobs[1].type = &late;
  submit((void *)0);
  wait_for(&begun, 1);
  due = csched_time_after(csched_now(), 4500000);
  submit((void *)1);
  wait_for(&met, 1);
  submit((void *)2);
  end(CSCHED_STOP_RUN);
}

// The only worker waits for the job behind its own. The system gives no other thread until the submissions are over.
static void come_back(void *unused) {
  (void)unused;
  make(2, 2);
  jobs[0].type = &silent;
  jobs[1].type = &telling;
  model_refuse_threads(true);
  submit((void *)0);
  submit((void *)1);
  wait_for(&begun, 1);
  model_refuse_threads(false);
  wait_for(&met, 1);
  submit((void *)2);
  end(CSCHED_STOP_RUN);
}

// The only worker is blocked without a word, and waits for the job behind its own to run, or to be dropped. The pool is
// stopped meanwhile.
static void drop_and_tell(csched_job *job) {
  note_drop(job);
  count_and_wake(&met);
}
static const csched_job_type telling_either = {run_and_tell, drop_and_tell, NULL};
static void stop_beside_blocked(void *policy) {
  make(1, 2);
  jobs[0].type = &silent;
  jobs[1].type = &telling_either;
  submit((void *)0);
  wait_for(&begun, 1);
  submit((void *)1);
  end((csched_stop_policy)(intptr_t)policy);
}
static void submitted_beside_stop(void *unused) { // as above; the job is submitted at any time of the stop, or refused
  (void)unused;
  make(1, 2);
  jobs[0].type = &silent;
  jobs[1].type = &telling_either;
  submit((void *)0);
  wait_for(&begun, 1);
  model_spawn(submit, (void *)1);
  end(CSCHED_STOP_RUN);
}

// MARK: timers

static void run_late(csched_job *job) {
  model_assert(csched_now() >= due);
  note(job);
  count_and_wake(&met);
}
static const csched_job_type timed = {run_late, note_drop, NULL};
static void keep_time(void *unused) {
  (void)unused;
  make(1, 1);
  csched_timer_init(&timer, &timed, NULL);
  due = csched_time_after(csched_now(), 50000);
  model_assert(csched_target_submit_at(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), &timer, due, 0) == 0);
  wait_for(&met, 1);
  model_assert(csched_target_submit_at(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), &far_timer, CSCHED_FOREVER, 0) ==
               0);
  submit((void *)0);
  end(CSCHED_STOP_RUN);
}

// MARK: targets of the user's, and what the monitor does not do itself

static csched_target users[2];
static csched_timer carried[4];
static model_cell busy[2]; // of each target: it is called by one at a time
static uint32_t order[4], ordered, dropped_carried;
static csched_time instant;

static bool is_allowed_here(void) { return !csched_pool_is_monitor_(pool); }
static int deliver_by_user(csched_target *target, csched_job *job) {
  model_assert(is_allowed_here());
  model_cell *cell = &busy[target - users];
  csched_target_perform(target, job);
  model_write(cell, model_read(cell) + 1); // the target belongs to one thread, also after the job's release
  return 0;
}
static int keep_by_pool(csched_target *target, csched_timer *of_user, csched_time deadline, csched_time leeway) {
  (void)target;
  csched_target *base = csched_pool_target(pool, CSCHED_PRIORITY_HIGH);
  return base->type->deliver_at(base, of_user, deadline, leeway);
}
static const csched_target_type users_type = {.deliver = deliver_by_user, .deliver_at = keep_by_pool};
static void run_carried(csched_job *job) {
  model_assert(is_allowed_here());
  order[csched_fetch_add_relaxed(&ordered, 1u)] = (uint32_t)((csched_timer *)job - carried);
}
static void drop_carried(csched_job *job) {
  (void)job;
  model_assert(is_allowed_here());
  csched_fetch_add_relaxed(&dropped_carried, 1u);
}
static void release_carried(csched_job *job) {
  (void)job;
  model_assert(is_allowed_here());
  count_and_wake(&met);
}
static const csched_job_type carried_type = {run_carried, drop_carried, release_carried};
static void begin_carried(size_t workers) {
  make(workers, workers);
  instant = csched_time_after(csched_now(), 50000);
}
static void submit_carried(int i, int user) { csched_target_submit_at(&users[user], &carried[i], instant, 0); }
static void reset_carried(void) {
  reset();
  for (int i = 0; i < 2; i++) {
    users[i] = (csched_target){.type = &users_type};
    busy[i] = (model_cell){0};
  }
  for (int i = 0; i < 4; i++) csched_timer_init(&carried[i], &carried_type, NULL);
  ordered = dropped_carried = 0;
}

// Two jobs for each of two targets: each pair in order, whether its jobs wait, are in delivery, or come late.
static void submit_pairs(void *unused) {
  (void)unused;
  begin_carried(2);
  for (int i = 0; i < 4; i++) submit_carried(i, i % 2);
  wait_for(&met, 4);
  end(CSCHED_STOP_RUN);
}
static uint32_t place_of(uint32_t which) {
  for (uint32_t i = 0; i < ordered; i++)
    if (order[i] == which) return i;
  return UINT32_MAX;
}
static void pairs_in_order(void) {
  model_assert(ordered == 4 && place_of(0) < place_of(2) && place_of(1) < place_of(3));
  csched_pool_destroy(pool);
}
static void submit_pair(void *unused) {
  (void)unused;
  begin_carried(2);
  submit_carried(0, 0);
  csched_nap_(70000); // the second comes late, perhaps when the first has been delivered
  submit_carried(1, 0);
  wait_for(&met, 2);
  end(CSCHED_STOP_RUN);
}
static void take_time(csched_job *job) {
  run_carried(job);
  csched_nap_(20000);
}
static const csched_job_type takes_time = {take_time, drop_carried, release_carried};
static void submit_three(void *unused) {
  (void)unused;
  begin_carried(2);
  csched_timer_init(&carried[0], &takes_time, NULL);
  for (int i = 0; i < 4; i++) submit_carried(i, i == 2);
  wait_for(&met, 4);
  end(CSCHED_STOP_RUN);
}
static void three_in_order(void) {
  model_assert(ordered == 4 && place_of(0) < place_of(1) && place_of(1) < place_of(3));
  csched_pool_destroy(pool);
}
static void one_after_the_other(void) {
  model_assert(ordered >= 2 && pool->undelivered == 0);
  for (uint32_t i = 0; i < ordered; i++) model_assert(order[i] == i);
  csched_pool_destroy(pool);
}

static void wait_on_worker(csched_job *job) { // waits for the submitter of the next job, which may be this thread
  run_carried(job);
  if (csched_pool_worker_here_ != NULL) wait_for(&begun, 1);
}
static const csched_job_type waits_on_worker = {wait_on_worker, drop_carried, release_carried};
static void submit_pair_only(void *unused) {
  (void)unused;
  submit_carried(0, 0);
  csched_nap_(70000);
  count_and_wake(&begun);
  submit_carried(1, 0);
}
static void stop_beside_late(void *unused) {
  (void)unused;
  begin_carried(1);
  csched_timer_init(&carried[0], &waits_on_worker, NULL);
  model_spawn(submit_pair_only, NULL);
  csched_nap_(70000);
  end(CSCHED_STOP_RUN);
}
static void both_given_back(void) {
  model_assert(ordered + dropped_carried == 2 && met == 2);
  csched_pool_destroy(pool);
}

// The first job runs inside of its delivery, and waits for a later job of another target.
static void wait_for_other(csched_job *job) {
  run_carried(job);
  count_and_wake(&begun);
  wait_for(&begun, 2);
}
static void tell_other(csched_job *job) {
  run_carried(job);
  count_and_wake(&begun);
}
static const csched_job_type waits_for_other = {wait_for_other, drop_carried, release_carried};
static const csched_job_type tells_other = {tell_other, drop_carried, release_carried};
static void submit_other(void *unused) { // on another thread: an overdue job may run on its submitter's thread
  (void)unused;
  submit_carried(2, 1);
}
static void submit_blocking(void *unused) {
  (void)unused;
  begin_carried(2);
  csched_timer_init(&carried[0], &waits_for_other, NULL);
  csched_timer_init(&carried[2], &tells_other, NULL);
  model_spawn(submit_other, NULL);
  submit_carried(0, 0);
  submit_carried(1, 0);
  wait_for(&met, 3);
  end(CSCHED_STOP_RUN);
}
static void others_go_on(void) {
  model_assert(ordered == 3 && place_of(0) < place_of(1));
  csched_pool_destroy(pool);
}

static void cancel_carried(void *unused) {
  (void)unused;
  csched_timer_cancel(&carried[0]);
  count_and_wake(&begun);
}
static void submit_and_cancel(void *unused) {
  (void)unused;
  begin_carried(1);
  submit_carried(0, 0);
  submit_carried(1, 0);
  model_spawn(cancel_carried, NULL);
  wait_for(&met, 2);
  wait_for(&begun, 1);
  end(CSCHED_STOP_RUN);
}
static void once_each(void) {
  model_assert(ordered + dropped_carried == 2 && place_of(1) != UINT32_MAX);
  csched_pool_destroy(pool);
}

// A due job, a job that is not due, and a job for a queue: the monitor drops none of them.
static csched_serial *queue;
static void stop_with_all(void *policy) {
  begin_carried(1);
  model_assert(csched_serial_create(&queue, csched_pool_target(pool, CSCHED_PRIORITY_LOW)) == 0);
  submit_carried(0, 0);
  csched_target_submit_at(&users[1], &carried[1], CSCHED_FOREVER, 0);
  csched_target_submit_at(csched_serial_target(queue), &carried[2], instant, 0);
  csched_nap_(40000);
  end((csched_stop_policy)(intptr_t)policy);
}
static void all_given_back(void) {
  model_assert(ordered + dropped_carried == 3 && met == 3 && place_of(1) == UINT32_MAX);
  csched_serial_destroy(queue);
  csched_pool_destroy(pool);
}

static void two_ran(void) {
  model_assert(ran + dropped == 3 && csched_load_relaxed(&accepted) == 1);
  csched_pool_destroy(pool);
}

const model_check pool_monitor_checks[] = {
    {"pool: a worker that blocks is replaced", reset, three_have_run, THREADS({blocked_and_replaced})}, // F3, MN3, WK2
    {"pool monitor: an unannounced block of a worker is detected", reset, three_have_run,
     THREADS({blocked_silently})}, // F3, MN1, MN3
    {"pool monitor: a thread that could not start is tried again", reset, three_have_run,
     THREADS({come_back})}, // MN1, F3
    {"pool monitor: stopped to run beside a blocked worker", reset, two_given_back,
     THREADS({stop_beside_blocked})}, // MN10
    {"pool monitor: stopped to drop beside a blocked worker", reset, two_given_back,
     THREADS({stop_beside_blocked, CSCHED_STOP_DROP})}, // MN10
    {"pool monitor: stopped beside a blocked worker and a submission", reset, two_given_back,
     THREADS({submitted_beside_stop})},                                                              // MN10
    {"pool monitor: a timer is delivered, a far one dropped", reset, two_ran, THREADS({keep_time})}, // X1, MN4
    {"pool delivery: pairs for two targets, each in order", reset_carried, pairs_in_order,
     THREADS({submit_pairs})}, // MN6, MN7, MN5
    {"pool delivery: the second late, the first delivered", reset_carried, one_after_the_other,
     THREADS({submit_pair})}, // DV4
    {"pool delivery: three jobs of one target, and one of another", reset_carried, three_in_order,
     THREADS({submit_three})}, // MN6, MN7
    {"pool delivery: a late job beside a stop", reset_carried, both_given_back, THREADS({stop_beside_late})}, // MN6, X1
    {"pool delivery: a job that blocks delays no other target", reset_carried, others_go_on,
     THREADS({submit_blocking})}, // MN6, MN7, MN8
    {"pool delivery: cancelled at any time: run or dropped, once", reset_carried, once_each,
     THREADS({submit_and_cancel})}, // MN6
    {"pool delivery: stopped to run: the monitor drops none", reset_carried, all_given_back,
     THREADS({stop_with_all})}, // MN5, DV3, MN6
    {"pool delivery: stopped to drop: the monitor drops nothing", reset_carried, all_given_back,
     THREADS({stop_with_all, CSCHED_STOP_DROP})}, // MN5, DV3, MN6
    {NULL, NULL, NULL},
};
