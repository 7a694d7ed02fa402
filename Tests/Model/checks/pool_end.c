// pool.c: X1 to X4, X6, and the workers that leave at the end: F7.

#include "pools.h"

#include <CScheduler/limit.h>
#include <CScheduler/serial.h>

#include <errno.h>

static void fail_to_create(void *unused) {
  (void)unused;
  model_refuse_threads(true);
  csched_pool_options options = {.workers = 2, .most_threads = 2};
  model_assert(csched_pool_create(&pool, &options) == EAGAIN && pool == NULL);
  model_refuse_threads(false);
}
static void nothing_ran(void) { model_assert(ran == 0 && dropped == 0); }

// MARK: queues that are resumed

// A job that runs while the pool ends resumes a queue, and waits for the queue's job without a word. The other workers
// leave meanwhile.
static csched_serial *suspended;
static void resume_and_wait(csched_job *job) {
  note(job);
  csched_serial_resume(suspended);
  wait_for(&met, 1);
}
static const csched_job_type resuming = {resume_and_wait, note_drop, NULL};
static void stop_beside_resumption(void *workers) {
  make((size_t)(intptr_t)workers, 2);
  model_assert(csched_serial_create(&suspended, csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT)) == 0);
  csched_serial_suspend(suspended);
  jobs[0].type = &resuming;
  jobs[1].type = &telling;
  model_write(&given[1], 1);
  model_assert(csched_target_submit(csched_serial_target(suspended), &jobs[1]) == 0);
  submit((void *)0);
  end(CSCHED_STOP_RUN);
  csched_serial_destroy(suspended);
}

// A thread that resumes a queue after the pool's only worker has left runs the queue's job, which sees what the pool's
// jobs did.
static void write_words(csched_job *job) {
  note(job);
  model_write(&last_words, 1);
}
static void read_words(csched_job *job) {
  note(job);
  if (csched_pool_worker_here_ == NULL) model_assert(model_read(&last_words) == 1);
}
static const csched_job_type writing = {write_words, note_drop, NULL}, reading = {read_words, note_drop, NULL};
static void resume_after_stop(void *unused) {
  (void)unused;
  make(1, 1);
  model_assert(csched_serial_create(&suspended, csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT)) == 0);
  csched_serial_suspend(suspended);
  jobs[0].type = &writing;
  jobs[1].type = &reading;
  model_write(&given[1], 1);
  model_assert(csched_target_submit(csched_serial_target(suspended), &jobs[1]) == 0);
  submit((void *)0);
  csched_pool_stop(pool, CSCHED_STOP_RUN);
  csched_serial_resume(suspended);
  model_assert(csched_pool_join(pool) == 0);
  csched_serial_destroy(suspended);
}

// MARK: stop and join

static void stop_with(void *policy) {
  model_write(&last_words, 1);
  csched_pool_stop(pool, (csched_stop_policy)(intptr_t)policy);
}
static void submit_and_join(void *policy) {
  make(2, 2);
  model_spawn(stop_with, policy);
  for (intptr_t i = 0; i < JOBS; i++) submit((void *)i);
  model_assert(csched_pool_join(pool) == 0);
}
// The join may begin before the stop. It sees the stopper's writes.
static void join_and_read(void *unused) {
  (void)unused;
  make(2, 2);
  model_spawn(stop_with, (void *)CSCHED_STOP_RUN);
  model_assert(csched_pool_join(pool) == 0);
  model_assert(model_read(&last_words) == 1);
}
static void destroy_unused(void) { csched_pool_destroy(pool); }
static void all_accepted_ran(void) {
  model_assert(ran == accepted);
  destroy();
}
// A queue and a limit on the pool. What they have accepted before the stop runs, wherever the pool's end is by then.
static csched_serial *queue, *upper;
static csched_limit *limit;
static csched_target *nested;
static uint32_t must_run, rejected; // must_run: how many were accepted before the stop
static void submit_to(csched_target *target, intptr_t index) {
  model_write(&given[index], 1);
  if (csched_target_submit(target, &jobs[index]) != 0) rejected++;
  else csched_fetch_add_release(&accepted, 1u);
}
static void submit_nested(void *index) { submit_to(nested, (intptr_t)index); }
static void submit_to_queue(void *unused) { // refused while it is idle, it ends the queue, which is the base of another
  (void)unused;
  submit_to(csched_serial_target(queue), 2);
}
static void stop_nested(void *unused) {
  (void)unused;
  must_run = csched_load_acquire(&accepted);
  csched_pool_stop(pool, CSCHED_STOP_RUN);
}
static void add_one(void *count) { ++*(uint32_t *)count; }
static void sync_nested(void *unused) { // SQ10: may help, and so run what the queue has offered to the stopped pool
  (void)unused;
  uint32_t calls = 0;
  int error = csched_serial_sync(queue, add_one, &calls);
  model_assert(error == (calls == 1 ? 0 : ECANCELED));
}
enum { LIMIT = 1, ON_QUEUE = 2, SYNCS = 4 }; // a limit, not a queue; on a queue on the pool; a sync, not a submission
static bool syncs;
static void use_nested(void *with) {
  bool has_limit = (intptr_t)with & LIMIT, on_queue = (intptr_t)with & ON_QUEUE;
  syncs = (intptr_t)with & SYNCS;
  make(1, 1);
  csched_target *target = csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT);
  if (!has_limit || on_queue) {
    model_assert(csched_serial_create(&queue, target) == 0);
    target = csched_serial_target(queue);
  }
  if (has_limit) {
    model_assert(csched_limit_create(&limit, target, 1) == 0);
    target = csched_limit_target(limit);
  } else if (on_queue) {
    model_assert(csched_serial_create(&upper, target) == 0);
    target = csched_serial_target(upper);
  }
  nested = target;
  model_spawn(submit_nested, (void *)0);
  if (syncs) model_spawn(sync_nested, NULL);
  else model_spawn(submit_nested, (void *)1);
  if (upper != NULL) model_spawn(submit_to_queue, NULL);
  model_spawn(stop_nested, NULL);
  model_assert(csched_pool_join(pool) == 0);
}
static void reset_nested(void) {
  reset();
  queue = upper = NULL;
  limit = NULL;
  must_run = rejected = 0;
}
static void nested_ran(void) {
  model_assert(ran + dropped == (syncs ? 1 : upper != NULL ? 3 : 2) && ran >= must_run && rejected <= dropped);
  if (limit != NULL) csched_limit_destroy(limit);
  if (upper != NULL) csched_serial_destroy(upper);
  if (queue != NULL) csched_serial_destroy(queue);
  csched_pool_destroy(pool);
}

static void read_last_words(csched_job *job) {
  note_drop(job);
  model_assert(model_read(&last_words) == 1);
}
static const csched_job_type listening = {note, read_last_words, NULL};
static void stopped_idle(void *unused) {
  (void)unused;
  make(1, 1);
  for (int i = 0; i < JOBS; i++) jobs[i].type = &listening;
  model_spawn(stop_with, (void *)CSCHED_STOP_DROP);
  submit((void *)0);
  submit((void *)1);
  submit((void *)2);
  model_assert(csched_pool_join(pool) == 0);
}
static uint32_t stopper;
static void stop_inside(csched_job *job) {
  note(job);
  csched_store_relaxed(&stopper, csched_os_thread_id_());
  csched_pool_stop(pool, CSCHED_STOP_RUN);
  model_assert(csched_pool_join(pool) == EDEADLK);
}
static const csched_job_type stopping = {stop_inside, note_drop, NULL};
static void join(void *unused) {
  (void)unused;
  model_assert(csched_pool_join(pool) == 0);
  model_assert(csched_os_thread_has_ended_(csched_load_relaxed(&stopper))); // joined by either thread
  csched_fetch_add_relaxed(&met, 1u);
}
static void stopped_by_its_own(void *unused) {
  (void)unused;
  make(2, 2);
  jobs[0].type = &stopping;
  model_spawn(join, NULL);
  submit((void *)0);
  submit((void *)1);
  submit((void *)2);
  join(NULL);
}
static void joined_by_both(void) {
  model_assert(met == 2);
  destroy();
}

static void stop_two_that_meet(void *unused) {
  (void)unused;
  make(2, 2);
  jobs[0].type = jobs[1].type = &meeting;
  submit((void *)0);
  submit((void *)1);
  end(CSCHED_STOP_RUN);
  submit((void *)2); // refused
}
static void submit_after_stop(void *unused) {
  (void)unused;
  make(1, 1);
  submit((void *)0);
  csched_pool_stop(pool, CSCHED_STOP_RUN);
  submit((void *)1);
  submit((void *)2);
  model_assert(csched_pool_join(pool) == 0);
}
static void one_ran(void) {
  model_assert(ran == 1 && accepted == 1);
  destroy();
}
static void drop_behind_one(void *unused) {
  (void)unused;
  make(1, 1);
  jobs[0].type = &silent;
  submit((void *)0);
  wait_for(&begun, 1);
  submit((void *)1);
  submit((void *)2);
  csched_pool_stop(pool, CSCHED_STOP_DROP);
  count_and_wake(&met);
  model_assert(csched_pool_join(pool) == 0);
}
static void one_ran_of_all(void) {
  model_assert(ran == 1 && accepted == JOBS);
  destroy();
}
// Both workers run already. Neither may leave before the last two jobs have met.
static csched_job last_two[2];
static void meet_again(csched_job *job) {
  (void)job;
  count_and_wake(&begun);
  wait_for(&begun, 2);
}
static const csched_job_type meeting_again = {meet_again, note_drop, NULL};
static uint32_t submitted;
static void submit_last(void *job) {
  model_assert(csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), job) == 0);
  csched_fetch_add_relaxed(&submitted, 1u);
  csched_futex_wake_(&submitted, INT32_MAX);
}
static void stop_two_idle(void *unused) {
  (void)unused;
  submitted = 0;
  make(2, 2);
  jobs[0].type = jobs[1].type = &meeting;
  submit((void *)0);
  submit((void *)1);
  wait_for(&met, 2);
  for (int i = 0; i < 2; i++) csched_job_init(&last_two[i], &meeting_again, NULL);
  model_spawn(submit_last, &last_two[1]);
  submit_last(&last_two[0]);
  for (uint32_t seen; (seen = csched_load_relaxed(&submitted)) < 2;)
    csched_futex_wait_(&submitted, seen, CSCHED_FOREVER);
  end(CSCHED_STOP_RUN); // does not publish the other submitter's writes
  submit((void *)2);    // refused
}
static void run_due(csched_job *job) {
  model_assert(csched_now() >= due);
  note(job);
}
static const csched_job_type due_type = {run_due, note_drop, NULL};
static void stop_with_one_due(void *unused) {
  (void)unused;
  make(1, 1);
  csched_timer_init(&timer, &due_type, NULL);
  due = csched_time_after(csched_now(), 50000);
  model_assert(csched_target_submit_at(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), &timer, due, 0) == 0);
  csched_nap_(60000);
  end(CSCHED_STOP_RUN);
}
static void submit_timer(void *unused) {
  (void)unused;
  csched_target_submit_at(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), &timer, CSCHED_FOREVER, 0);
  csched_fetch_add_acq_rel(&met, 1u);
}
static void stop_against_timer(void *unused) {
  (void)unused;
  make(1, 1);
  csched_timer_init(&timer, &plain, NULL);
  model_spawn(submit_timer, NULL);
  model_spawn(stop_with, (void *)CSCHED_STOP_RUN);
  model_assert(csched_pool_join(pool) == 0);
  if (csched_load_acquire(&met) == 1) model_assert(count(&dropped) == 1); // the monitor has ended, too
}
static void one_dropped(void) {
  model_assert(ran == 0 && dropped == 1);
  csched_pool_destroy(pool);
}

static void joined_two(void) {
  model_assert(ran == 2 && dropped == 1);
  csched_pool_destroy(pool);
}

const model_check pool_end_checks[] = {
    {"pool end: a pool that cannot start is freed", reset, nothing_ran, THREADS({fail_to_create})}, // X4
    {"pool end: a queue resumed after the worker has left runs here", reset, two_given_back,
     THREADS({resume_after_stop})}, // X6
    {"pool end: one worker: its job resumes a queue, and waits for it", reset, two_given_back,
     THREADS({stop_beside_resumption, 1})}, // F7, MN10
    {"pool end: two workers: a job resumes a queue, and waits for it", reset, two_given_back,
     THREADS({stop_beside_resumption, 2})}, // F7, MN10
    {"pool end: stopped to run, against submissions to a queue", reset_nested, nested_ran,
     THREADS({use_nested})}, // X6, SQ13
    {"pool end: stopped to run, against a submission and a sync", reset_nested, nested_ran,
     THREADS({use_nested, SYNCS})}, // X6, SQ10, SQ13
    {"pool end: stopped to run, against submissions to queues", reset_nested, nested_ran,
     THREADS({use_nested, ON_QUEUE})}, // X6, SQ13
    {"pool end: stopped to run, against submissions to a limit on a queue", reset_nested, nested_ran,
     THREADS({use_nested, LIMIT | ON_QUEUE})}, // X6, SQ13, LM12
    {"pool end: stopped to run, against submissions to a limit", reset_nested, nested_ran,
     THREADS({use_nested, LIMIT})}, // X6, LM12
    {"pool end: stopped to run, against submissions: nothing is lost", reset, all_accepted_ran,
     THREADS({submit_and_join})}, // X1, X2, X3, F5, F7
    {"pool end: stopped to drop, against submissions: nothing is lost", reset, destroy,
     THREADS({submit_and_join, CSCHED_STOP_DROP})},                                          // X1, X2, F7
    {"pool end: a drop sees the stopper's writes", reset, destroy, THREADS({stopped_idle})}, // X1, F5
    {"pool end: stopped from inside, joined by two", reset, joined_by_both, THREADS({stopped_by_its_own})}, // X2, X3
    {"pool end: a join that began before the stop sees the stopper's writes", reset, destroy_unused,
     THREADS({join_and_read})},                                                                                 // X3
    {"pool end: jobs that need both workers, beside a stop", reset, joined_two, THREADS({stop_two_that_meet})}, // X2
    {"pool end: a submission after stop is refused", reset, one_ran, THREADS({submit_after_stop})},             // X1
    {"pool end: jobs behind a running job are dropped", reset, one_ran_of_all, THREADS({drop_behind_one})},     // X1
    {"pool end: a first timer against stop", reset, one_dropped, THREADS({stop_against_timer})},              // X1, MN4
    {"pool end: two idle workers, and two jobs that need both", reset, joined_two, THREADS({stop_two_idle})}, // X2
    {"pool end: a timer that is due runs", reset, one_has_run, THREADS({stop_with_one_due})},                 // X1, MN4
    {NULL, NULL, NULL},
};
