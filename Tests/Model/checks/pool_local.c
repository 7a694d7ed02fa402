// pool_pick.c: local queues and lanes: PP6, PP7.

#include "pools.h"

// A job of default priority that submits others: its worker keeps the first, and adds the others to its local queue.
enum { SPREAD = 3 };
static csched_job spread[SPREAD], spreader;
static void reset_spread(void) {
  reset();
  for (int i = 0; i < SPREAD; i++) csched_job_init(&spread[i], &telling, NULL);
}
static int submit_usual(csched_job *job) {
  int error = csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), job);
  if (error == 0) csched_fetch_add_relaxed(&accepted, 1u);
  return error;
}
static void submit_spread(void) {
  for (int i = 0; i < SPREAD; i++) submit_usual(&spread[i]);
}
static void spread_and_return(csched_job *job) {
  note(job);
  submit_spread();
  count_and_wake(&begun);
}
static void spread_and_wait(csched_job *job) { // does not announce that it blocks
  note(job);
  submit_spread();
  if (count(&accepted) == 1 + SPREAD) wait_for(&met, SPREAD);
}
static void spread_and_block(csched_job *job) {
  note(job);
  submit_spread();
  csched_pool_blocking_begin();
  wait_for(&met, SPREAD);
  csched_pool_blocking_end();
}
static void spread_and_end_thread(csched_job *job) {
  note(job);
  submit_spread();
  model_exit();
}
static const csched_job_type spreading = {spread_and_return, note_drop, NULL};
static const csched_job_type spreading_and_waiting = {spread_and_wait, note_drop, NULL};
static const csched_job_type spreading_and_blocking = {spread_and_block, note_drop, NULL};
static const csched_job_type spreading_at_exit = {spread_and_end_thread, note_drop, NULL};
static void begin_spread(size_t workers, size_t most, const csched_job_type *type) {
  make(workers, most);
  csched_job_init(&spreader, type, NULL);
  submit_usual(&spreader);
}
static void all_spread_were_done(void) {
  model_assert(ran + dropped == 1 + SPREAD);
  csched_pool_destroy(pool);
}

static void spread_to_two(void *unused) {
  (void)unused;
  for (int i = 0; i < 2; i++) csched_job_init(&spread[i], &meeting, NULL); // both workers are needed
  begin_spread(2, 2, &spreading);
  wait_for(&met, SPREAD);
  end(CSCHED_STOP_RUN);
}
static void spread_behind_a_block(void *unused) {
  (void)unused;
  begin_spread(2, 2, &spreading_and_waiting);
  wait_for(&met, SPREAD);
  end(CSCHED_STOP_RUN);
}
static void spread_behind_an_announced_block(void *unused) {
  (void)unused;
  begin_spread(1, 2, &spreading_and_blocking);
  wait_for(&met, SPREAD);
  end(CSCHED_STOP_RUN);
}
static void
spread_beside_queued_jobs(void *unused) { // which stay in the inbox, in front of and behind those given back
  (void)unused;
  begin_spread(1, 2, &spreading_and_blocking);
  for (int i = 0; i < JOBS; i++) {
    csched_job_init(&jobs[i], &plain, NULL);
    submit_usual(&jobs[i]);
  }
  wait_for(&met, SPREAD);
  end(CSCHED_STOP_RUN);
}
static void all_spread_and_queued_ran(void) {
  model_assert(ran == 1 + SPREAD + JOBS && dropped == 0);
  csched_pool_destroy(pool);
}
static void spread_then_exit(void *most) {
  begin_spread(1, (size_t)(intptr_t)most, &spreading_at_exit);
  wait_for(&met, SPREAD);
  end(CSCHED_STOP_RUN);
}
static void spread_then_stop(void *policy) {
  begin_spread(2, 2, &spreading);
  wait_for(&begun, 1);
  end((csched_stop_policy)(intptr_t)policy);
}
static void spread_while_stopped_body(void *unused) {
  (void)unused;
  begin_spread(2, 2, &spreading_and_waiting);
  end(CSCHED_STOP_RUN);
}

// The other worker is busy with a job that comes again and again, until the jobs behind the waiting one have run.
static void come_until_spread_ran(csched_job *job) {
  if (count(&met) < SPREAD) csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), job);
}
static const csched_job_type until_spread_ran = {come_until_spread_ran, note_drop, NULL};
static void spread_beside_busy(void *unused) {
  (void)unused;
  begin_spread(2, 2, &spreading_and_waiting);
  csched_job_init(&urgent, &until_spread_ran, NULL);
  csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), &urgent);
  wait_for(&met, SPREAD);
  end(CSCHED_STOP_RUN);
}

// Two jobs of default priority come again and again, through a local queue. A job of lower priority, or of the same one
// from outside, waits for a bounded number of their runs.
static csched_job usual[2];
static void come_as_usual(csched_job *job) {
  model_assert(++begun < PATIENT);
  if (count(&met) < 1) csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), job);
}
static const csched_job_type usual_type = {come_as_usual, note_drop, NULL};
static void one_beside_usual(void *priority) {
  make(1, 1);
  jobs[0].type = &telling;
  model_write(&given[0], 1);
  for (int i = 0; i < 2; i++) {
    csched_job_init(&usual[i], &usual_type, NULL);
    csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), &usual[i]);
  }
  csched_target_submit(csched_pool_target(pool, (csched_priority)(intptr_t)priority), &jobs[0]);
  wait_for(&met, 1);
  end(CSCHED_STOP_RUN);
}

// A pool of four workers has two lanes. Each submitter has its own.
static void submit_to_lane(void *context) {
  intptr_t i = (intptr_t)context;
  model_write(&given[i], 1);
  submit_usual(&jobs[i]);
}
static void submit_to_lanes(void *unused) {
  (void)unused;
  make(4, 4);
  for (int i = 0; i < JOBS; i++) jobs[i].type = i < 2 ? &meeting : &telling;
  model_spawn(submit_to_lane, (void *)1);
  submit_to_lane((void *)0);
  wait_for(&met, 2);
  submit_to_lane((void *)2);
  wait_for(&met, 3);
  end(CSCHED_STOP_RUN);
}
static void stop_beside_lanes(void *policy) {
  make(4, 4);
  for (int i = 0; i < JOBS; i++) jobs[i].type = &plain;
  model_spawn(submit_to_lane, (void *)1);
  submit_to_lane((void *)0);
  submit_to_lane((void *)2);
  end((csched_stop_policy)(intptr_t)policy);
}

const model_check pool_local_checks[] = {
    {"pool local: the jobs of a job, two of which need both workers", reset_spread, four_have_run,
     THREADS({spread_to_two})}, // PP6, F1, F2
    {"pool local: awaited by their submitter, they are stolen", reset_spread, four_have_run,
     THREADS({spread_behind_a_block})}, // PP4, PP6
    {"pool local: awaited by their submitter, beside endless work", reset_spread, four_have_run,
     THREADS({spread_beside_busy})}, // PP4
    {"pool local: their submitter announces a block", reset_spread, four_have_run,
     THREADS({spread_behind_an_announced_block})}, // PP6
    {"pool local: their submitter announces a block, beside queued jobs", reset_spread, all_spread_and_queued_ran,
     THREADS({spread_beside_queued_jobs})}, // PP6
    {"pool local: their submitter ends its thread, which continues", reset_spread, four_have_run,
     THREADS({spread_then_exit, 1})}, // WK3, PP6
    {"pool local: their submitter ends its thread, a successor runs them", reset_spread, four_have_run,
     THREADS({spread_then_exit, 2})}, // WK3, PP6
    {"pool local: beside a stop to run", reset_spread, all_spread_were_done,
     THREADS({spread_then_stop, CSCHED_STOP_RUN})}, // PP6, X1, X2
    {"pool local: beside a stop to drop", reset_spread, all_spread_were_done,
     THREADS({spread_then_stop, CSCHED_STOP_DROP})}, // PP6, X1, X2
    {"pool local: awaited by their submitter while the pool ends", reset_spread, all_spread_were_done,
     THREADS({spread_while_stopped_body})}, // X2, PP6
    {"pool local: jobs come again and again, a low one waits", reset, one_has_run,
     THREADS({one_beside_usual, CSCHED_PRIORITY_LOW})}, // PP1, PP6
    {"pool local: jobs come again and again, one from outside waits", reset, one_has_run,
     THREADS({one_beside_usual, CSCHED_PRIORITY_DEFAULT})}, // PP6
    {"pool lanes: jobs from two threads, which need two workers", reset, three_have_run,
     THREADS({submit_to_lanes})},                                                                        // PP7, F1, F2
    {"pool lanes: beside a stop to run", reset, destroy, THREADS({stop_beside_lanes, CSCHED_STOP_RUN})}, // PP7, X1
    {"pool lanes: beside a stop to drop", reset, destroy, THREADS({stop_beside_lanes, CSCHED_STOP_DROP})}, // PP7, X1
    {NULL, NULL, NULL},
};
