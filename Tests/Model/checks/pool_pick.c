// pool_pick.c: priorities, jobs that are kept, follow-ups: PP1 to PP5.

#include "pools.h"

#include "../../../Sources/CScheduler/targets/target_internal.h"

#include <CScheduler/serial.h>

// MARK: priorities

// A high-priority job comes again and again. Jobs of lower priority wait for a bounded number of its runs.
static void come_again(csched_job *job) {
  model_assert(++begun < PATIENT);
  if (count(&met) < 1) csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), job);
}
static const csched_job_type again = {come_again, note_drop, NULL};
static void low_beside_high(void *unused) {
  (void)unused;
  make(1, 1);
  jobs[0].type = &telling;
  model_write(&given[0], 1);
  csched_job_init(&urgent, &again, NULL);
  model_assert(csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_LOW), &jobs[0]) == 0);
  model_assert(csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), &urgent) == 0);
  wait_for(&met, 1);
  end(CSCHED_STOP_RUN);
}
// As above, while a thread waits for the low-priority job. The first pick may miss the donation. After that the high
// one runs first at most once.
static void come_once(csched_job *job) {
  model_assert(++begun <= 2 || count(&met) == 1);
  if (count(&met) < 1) csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), job);
}
static const csched_job_type once = {come_once, note_drop, NULL};
static void low_is_waited_for(void *unused) {
  (void)unused;
  make(1, 1);
  jobs[0].type = &telling;
  model_write(&given[0], 1);
  csched_job_init(&urgent, &once, NULL);
  csched_target *low = csched_pool_target(pool, CSCHED_PRIORITY_LOW);
  model_assert(csched_target_lend(low, CSCHED_PRIORITY_HIGH));
  model_assert(!csched_target_lend(low, CSCHED_PRIORITY_LOW));
  model_assert(csched_target_submit(low, &jobs[0]) == 0);
  model_assert(csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), &urgent) == 0);
  wait_for(&met, 1);
  csched_target_take_back(low, CSCHED_PRIORITY_HIGH);
  for (int i = 0; i < CSCHED_PRIORITIES; i++)
    model_assert(count(&pool->classes[CSCHED_PRIORITY_LOW].lent[i]) == 0); // no donation remains
  end(CSCHED_STOP_RUN);
}

// MARK: jobs that are kept

static bool submit_beside(intptr_t i, const csched_job_type *kind) {
  model_write(&given[i], 1);
  jobs[i].type = kind;
  return csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), &jobs[i]) == 0;
}
static void
keep_and_wait(csched_job *job) { // does not announce that it blocks: another worker has to take the kept job
  note(job);
  if (submit_beside(1, &telling)) wait_for(&met, 1);
}
static const csched_job_type keeping_and_waiting = {keep_and_wait, note_drop, NULL};
static void keep_one_that_is_waited_for(void *unused) {
  (void)unused;
  make(2, 2);
  submit_beside(0, &keeping_and_waiting);
  wait_for(&met, 1);
  submit_beside(2, &plain); // to a worker that may have gone to sleep, or may search
  end(CSCHED_STOP_RUN);
}

static void keep_one(csched_job *job) {
  note(job);
  submit_beside(1, &telling);
  count_and_wake(&begun);
}
static const csched_job_type keeping = {keep_one, note_drop, NULL};
static void keep_beside_another(void *unused) { // submits from outside, before, during or after the keeping
  (void)unused;
  make(2, 2);
  submit_beside(0, &keeping);
  submit_beside(2, &telling);
  wait_for(&met, 2);
  end(CSCHED_STOP_RUN);
}

static void keep_beside_a_stop(void *policy) {
  make(2, 2);
  submit_beside(0, &keeping);
  wait_for(&begun, 1);
  end((csched_stop_policy)(intptr_t)policy);
}

// One worker keeps a job and waits for it. No other job comes, and the pool ends meanwhile.
static void keep_while_stopped(void *unused) {
  (void)unused;
  make(2, 2);
  submit_beside(0, &keeping_and_waiting);
  end(CSCHED_STOP_RUN);
}

// Two other workers run already: they search, or have gone to sleep. A searcher that is not the last takes the kept job
// without a fence.
static void begin_all(csched_job *job) {
  note(job);
  count_and_wake(&begun);
  wait_for(&begun, ALL);
}
static const csched_job_type beginning = {begin_all, note_drop, NULL};
static void begin_all_and_keep(csched_job *job) {
  begin_all(job);
  if (submit_beside(1, &telling)) wait_for(&met, 1);
}
static const csched_job_type beginning_to_keep = {begin_all_and_keep, note_drop, NULL};
static void keep_before_searchers(void *unused) {
  (void)unused;
  make(ALL, ALL);
  csched_job_init(&urgent, &beginning, NULL);
  submit_beside(0, &beginning_to_keep);
  submit_beside(2, &beginning);
  csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), &urgent);
  wait_for(&met, 1);
  end(CSCHED_STOP_RUN);
}

// The other worker has endless work.
static void come_until_met(csched_job *job) {
  if (count(&met) < 1) csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), job);
  else note(job);
}
static const csched_job_type until_met = {come_until_met, note_drop, NULL};
static void keep_beside_the_busy(void *unused) {
  (void)unused;
  make(2, 2);
  jobs[2].context = NULL;
  submit_beside(2, &until_met);
  submit_beside(0, &keeping_and_waiting);
  wait_for(&met, 1);
  end(CSCHED_STOP_RUN);
}

// One job is kept, one is queued: both need a worker besides the submitter's.
static void keep_and_meet_all(csched_job *job) {
  jobs[2].context = NULL;
  submit_beside(2, &meeting_all);
  count_and_wake(&begun);
  meet_all(job);
}
static const csched_job_type keeping_one_to_meet = {keep_and_meet_all, note_drop, NULL};
static void queue_beside_a_kept_one(void *unused) {
  (void)unused;
  make(ALL, ALL);
  submit_beside(0, &keeping_one_to_meet);
  wait_for(&begun, 1);
  submit_beside(1, &meeting_all);
  wait_for(&met, ALL);
  end(CSCHED_STOP_RUN);
}

// MARK: follow-ups

static bool follow_up(intptr_t i, const csched_job_type *kind) {
  model_write(&given[i], 1);
  jobs[i].type = kind;
  return csched_target_submit_follow_up_(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), &jobs[i]) == 0;
}
static void leave_follow_up(csched_job *job) {
  note(job);
  follow_up(1, &telling);
  count_and_wake(&begun);
}
static const csched_job_type following_up = {leave_follow_up, note_drop, NULL};

static void wait_for_follow_up(csched_job *job) {
  note(job);
  wait_for(&met, 1);
}
static const csched_job_type waiting_for_follow_up = {wait_for_follow_up, note_drop, NULL};
// The queue's next job waits for the follow-up, and does not announce that it blocks.
static void follow_up_in_queue(void *unused) {
  (void)unused;
  csched_serial *queue;
  make(2, 2);
  model_assert(csched_serial_create(&queue, csched_pool_target(pool, CSCHED_PRIORITY_HIGH)) == 0);
  model_write(&given[0], 1);
  model_write(&given[2], 1);
  jobs[0].type = &following_up;
  jobs[2].type = &waiting_for_follow_up;
  csched_target_submit(csched_serial_target(queue), &jobs[0]);
  csched_target_submit(csched_serial_target(queue), &jobs[2]);
  wait_for(&met, 1);
  end(CSCHED_STOP_RUN);
  csched_serial_destroy(queue);
}

static void follow_up_beside_another(void *unused) { // the other worker may take the follow-up
  (void)unused;
  make(2, 2);
  submit_beside(0, &following_up);
  submit_beside(2, &telling);
  wait_for(&met, 2);
  end(CSCHED_STOP_RUN);
}

static void follow_up_and_block(csched_job *job) {
  note(job);
  if (!follow_up(1, &telling)) return;
  csched_pool_blocking_begin();
  wait_for(&met, 1);
  csched_pool_blocking_end();
}
static const csched_job_type following_up_and_blocking = {follow_up_and_block, note_drop, NULL};
static void follow_up_while_blocked(void *unused) {
  (void)unused;
  make(2, 2);
  submit_beside(0, &following_up_and_blocking);
  wait_for(&met, 1);
  end(CSCHED_STOP_RUN);
}

static void follow_up_beside_a_stop(void *policy) {
  make(2, 2);
  submit_beside(0, &following_up);
  wait_for(&begun, 1);
  end((csched_stop_policy)(intptr_t)policy);
}

static void keep_and_end_thread(csched_job *job) {
  note(job);
  submit_beside(1, &telling);
  model_exit();
}
static const csched_job_type keeping_at_exit = {keep_and_end_thread, note_drop, NULL};
static void keep_at_exit(void *most) {
  make(1, (size_t)(intptr_t)most);
  submit_beside(0, &keeping_at_exit);
  wait_for(&met, 1);
  end(CSCHED_STOP_RUN);
}

static void all_accepted_were_done(void) {
  model_assert(ran + dropped == 2 && ran >= 1);
  csched_pool_destroy(pool);
}

const model_check pool_pick_checks[] = {
    {"pool kept job: awaited by its submitter, it is taken", reset, three_have_run,
     THREADS({keep_one_that_is_waited_for})}, // PP3, PP4, F1, F2
    {"pool kept job: awaited by its submitter, before searchers", reset, four_have_run,
     THREADS({keep_before_searchers})}, // PP3, PP4, F1
    {"pool kept job: awaited by its submitter, beside endless work", reset, three_have_run,
     THREADS({keep_beside_the_busy})}, // PP4
    {"pool kept job: beside a queued job, a worker for each", reset, three_have_run,
     THREADS({queue_beside_a_kept_one})},                                                          // PP3, F1, F2
    {"pool kept job: beside a submission", reset, three_have_run, THREADS({keep_beside_another})}, // PP3, F1
    {"pool kept job: beside a stop to run", reset, all_accepted_were_done,
     THREADS({keep_beside_a_stop, CSCHED_STOP_RUN})}, // PP3, X1, X2
    {"pool kept job: beside a stop to drop", reset, all_accepted_were_done,
     THREADS({keep_beside_a_stop, CSCHED_STOP_DROP})}, // PP3, X1, X2
    {"pool kept job: awaited by its submitter while the pool ends", reset, all_accepted_were_done,
     THREADS({keep_while_stopped})}, // PP4
    {"pool kept job: a follow-up, before the queue's next job, which waits for it", reset, three_have_run,
     THREADS({follow_up_in_queue})}, // PP5, SQ4
    {"pool kept job: a follow-up, beside another worker", reset, three_have_run,
     THREADS({follow_up_beside_another})}, // PP5, PP4
    {"pool kept job: a follow-up, whose submitter announces a block", reset, two_have_run,
     THREADS({follow_up_while_blocked})}, // PP5, F1
    {"pool kept job: a follow-up, beside a stop to drop", reset, all_accepted_were_done,
     THREADS({follow_up_beside_a_stop, CSCHED_STOP_DROP})}, // PP5, X1
    {"pool kept job: its submitter ends its thread, which continues", reset, two_have_run,
     THREADS({keep_at_exit, 1})}, // WK3, PP3
    {"pool kept job: its submitter ends its thread, a successor runs it", reset, two_have_run,
     THREADS({keep_at_exit, 2})}, // WK3, PP3
    {"pool: a high-priority job comes again and again, a low one waits", reset, one_has_run,
     THREADS({low_beside_high})}, // PP1
    {"pool: a high-priority job comes again and again, a low one is waited for", reset, one_has_run,
     THREADS({low_is_waited_for})}, // PP2
    {NULL, NULL, NULL},
};
