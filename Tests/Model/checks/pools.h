// Small pools with three jobs: as many threads as workers, so that the monitor has nothing to do, unless the check is
// about it.
#pragma once

#include "../engine/model.h"

#include "../../../Sources/CScheduler/pool/pool_internal.h"
#include "../../../Sources/CScheduler/platform/platform.h"

enum { JOBS = 3 };

static csched_pool *pool;
static csched_job jobs[JOBS];
static csched_timer timer, far_timer;
static model_cell given[JOBS], last_words; // written before a submission, a stop
static uint32_t ran, dropped, accepted, met, begun;
static csched_job urgent; // comes again and again: other jobs wait for fewer than PATIENT of its runs
enum { PATIENT = 40 };
static csched_time due;

static uint32_t count(const uint32_t *word) { return csched_load_relaxed(word); }

static void note(csched_job *job) {
  csched_fetch_add_relaxed(&ran, 1u);
  if (job->context != NULL) model_assert(model_read(job->context) == 1); // visible
}
static void note_drop(csched_job *job) {
  (void)job;
  csched_fetch_add_relaxed(&dropped, 1u);
}
static const csched_job_type plain = {note, note_drop, NULL};

static void reset(void) {
  for (int i = 0; i < JOBS; i++) {
    given[i] = (model_cell){0};
    csched_job_init(&jobs[i], &plain, &given[i]);
  }
  csched_timer_init(&far_timer, &plain, NULL);
  last_words = (model_cell){0};
  ran = dropped = accepted = met = begun = 0;
  pool = NULL;
}

static void make_leaving(size_t workers, size_t most, csched_time idle_exit) {
  csched_pool_options options = {.workers = workers, .most_threads = most, .idle_exit = idle_exit};
  model_assert(csched_pool_create(&pool, &options) == 0);
}
static void make(size_t workers, size_t most) { make_leaving(workers, most, CSCHED_FOREVER); }
static void submit(void *context) {
  intptr_t i = (intptr_t)context;
  model_write(&given[i], 1);
  if (csched_target_submit(csched_pool_target(pool, (csched_priority)i), &jobs[i]) == 0)
    csched_fetch_add_relaxed(&accepted, 1u);
}
static void end(csched_stop_policy policy) {
  csched_pool_stop(pool, policy);
  model_assert(csched_pool_join(pool) == 0);
}
static void destroy(void) {
  model_assert(ran + dropped == JOBS);
  csched_pool_destroy(pool);
}
static void wait_for(const uint32_t *word, uint32_t wanted) { // asleep, so that a lost wake is a deadlock
  for (uint32_t seen; (seen = csched_load_acquire(word)) < wanted;)
    csched_futex_wait_((uint32_t *)word, seen, CSCHED_FOREVER);
}
static void count_and_wake(uint32_t *word) {
  csched_fetch_add_acq_rel(word, 1u);
  csched_futex_wake_(word, INT32_MAX);
}

// MARK: what the jobs do

static void run_and_tell(csched_job *job) {
  note(job);
  count_and_wake(&met);
}
static const csched_job_type telling = {run_and_tell, note_drop, NULL};

// Ends only when both have begun: so both workers are needed.
static void meet(csched_job *job) {
  note(job);
  count_and_wake(&met);
  wait_for(&met, 2);
}
static const csched_job_type meeting = {meet, note_drop, NULL};

enum { ALL = 3 };
static void meet_all(csched_job *job) {
  note(job);
  count_and_wake(&met);
  wait_for(&met, ALL);
}
static const csched_job_type meeting_all = {meet_all, note_drop, NULL};

// Does not announce that it blocks.
static void block_silently(csched_job *job) {
  note(job);
  count_and_wake(&begun);
  wait_for(&met, 1);
}
static const csched_job_type silent = {block_silently, note_drop, NULL};

// MARK: inspections

static void have_run(uint32_t wanted) {
  model_assert(ran == wanted && dropped == 0);
  csched_pool_destroy(pool);
}
static void one_has_run(void) { have_run(1); }
static void two_have_run(void) { have_run(2); }
static void three_have_run(void) { have_run(3); }
static void four_have_run(void) { have_run(4); }
static void two_given_back(void) {
  model_assert(ran + dropped == 2);
  csched_pool_destroy(pool);
}
