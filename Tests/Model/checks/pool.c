// pool.c, pool_idle.c, pool_monitor.c, fork_join.c. Small pools: as many threads as workers, so that the monitor has
// nothing to do, unless the check is about it.

#include "../engine/model.h"

#include <CScheduler/limit.h>
#include <CScheduler/serial.h>

#include "../../../Sources/CScheduler/pool/pool_internal.h"
#include "../../../Sources/CScheduler/targets/target_internal.h"
#include "../../../Sources/CScheduler/platform/platform.h"

#include <errno.h>
#include <stddef.h>

enum { JOBS = 3 };

static csched_pool *pool;
static csched_job jobs[JOBS];
static csched_timer timer, far_timer;
static model_cell given[JOBS], last_words; // written before a submission, a stop
static uint32_t ran, dropped, accepted, met, begun;
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

// MARK: submissions against going idle

static void run_and_tell(csched_job *job) {
  note(job);
  count_and_wake(&met);
}
static const csched_job_type telling = {run_and_tell, note_drop, NULL};

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

// Each job ends only when both have begun: so both workers are needed.
static void meet(csched_job *job) {
  note(job);
  count_and_wake(&met);
  wait_for(&met, 2);
}
static const csched_job_type meeting = {meet, note_drop, NULL};

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

// MARK: threads that end, or never begin

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
static void fail_to_create(void *unused) {
  (void)unused;
  model_refuse_threads(true);
  csched_pool_options options = {.workers = 2, .most_threads = 2};
  model_assert(csched_pool_create(&pool, &options) == EAGAIN && pool == NULL);
  model_refuse_threads(false);
}
static void nothing_ran(void) { model_assert(ran == 0 && dropped == 0); }

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

// A high-priority job comes again and again. Jobs of lower priority wait for a bounded number of its runs.
enum { PATIENT = 40 };
static csched_job urgent;
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
static void one_has_run(void) {
  model_assert(ran == 1 && dropped == 0);
  csched_pool_destroy(pool);
}

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
static void block_silently(csched_job *job) {
  note(job);
  count_and_wake(&begun);
  wait_for(&met, 1);
}
static const csched_job_type silent = {block_silently, note_drop, NULL};
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
  end(policy == NULL ? CSCHED_STOP_RUN : CSCHED_STOP_DROP);
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
  csched_pool_stop(pool, policy == NULL ? CSCHED_STOP_RUN : CSCHED_STOP_DROP);
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
  model_spawn(stop_with, NULL);
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
static bool on_queue; // whether the queue or limit is on a queue on the pool
static bool syncs;    // whether the second thread syncs, in place of submitting
static void use_nested(void *with_limit) {
  make(1, 1);
  csched_target *target = csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT);
  if (with_limit == NULL || on_queue) {
    model_assert(csched_serial_create(&queue, target) == 0);
    target = csched_serial_target(queue);
  }
  if (with_limit != NULL) {
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
static void start_nested(void *with_limit, bool is_on_queue, bool has_sync) {
  reset();
  queue = upper = NULL;
  limit = NULL;
  must_run = rejected = 0;
  on_queue = is_on_queue;
  syncs = has_sync;
  model_spawn(use_nested, with_limit);
}
static void stopped_with_queue(void) { start_nested(NULL, false, false); }
static void stopped_with_sync(void) { start_nested(NULL, false, true); }
static void stopped_with_queues(void) { start_nested(NULL, true, false); }
static void stopped_with_limit(void) { start_nested(&pool, false, false); }
static void stopped_with_limit_on_queue(void) { start_nested(&pool, true, false); }
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
  model_spawn(stop_with, &pool);
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
static void stopped_two_idle(void) {
  reset();
  submitted = 0;
  model_spawn(stop_two_idle, NULL);
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
static void only_one_ran(void) {
  model_assert(ran == 1 && dropped == 0);
  csched_pool_destroy(pool);
}
static void submit_timer(void *unused) {
  (void)unused;
  csched_target_submit_at(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), &timer, CSCHED_FOREVER, 0);
  csched_fetch_add_acq_rel(&met, 1u);
}
static void stop_against_timer(void *unused) {
  (void)unused;
  make(1, 1);
  model_spawn(submit_timer, NULL);
  model_spawn(stop_with, NULL);
  model_assert(csched_pool_join(pool) == 0);
  if (csched_load_acquire(&met) == 1) model_assert(count(&dropped) == 1); // the monitor has ended, too
}
static void timer_refused(void) {
  reset();
  csched_timer_init(&timer, &plain, NULL);
  model_spawn(stop_against_timer, NULL);
}
static void one_dropped(void) {
  model_assert(ran == 0 && dropped == 1);
  csched_pool_destroy(pool);
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
static void prepare_carried(void (*body)(void *), void *context) {
  reset();
  for (int i = 0; i < 2; i++) {
    users[i] = (csched_target){.type = &users_type};
    busy[i] = (model_cell){0};
  }
  for (int i = 0; i < 4; i++) csched_timer_init(&carried[i], &carried_type, NULL);
  ordered = dropped_carried = 0;
  model_spawn(body, context);
}

// Two jobs for each of two targets: each pair in order, whether its jobs wait, are in delivery, or come late.
static void submit_pairs(void *unused) {
  (void)unused;
  begin_carried(2);
  for (int i = 0; i < 4; i++) submit_carried(i, i % 2);
  wait_for(&met, 4);
  end(CSCHED_STOP_RUN);
}
static void pairs(void) { prepare_carried(submit_pairs, NULL); }
static uint32_t place_of(uint32_t which) {
  for (uint32_t i = 0; i < ordered; i++)
    if (order[i] == which) return i;
  return UINT32_MAX;
}
static void pairs_in_order(void) {
  model_assert(ordered == 4 && place_of(0) < place_of(2) && place_of(1) < place_of(3));
  csched_pool_destroy(pool);
}
static void submit_pair(void *nap) {
  begin_carried(2);
  submit_carried(0, 0);
  if (nap != NULL) csched_nap_(70000); // the second comes late, perhaps when the first has been delivered
  submit_carried(1, 0);
  wait_for(&met, 2);
  end(CSCHED_STOP_RUN);
}
static void pair(void) { prepare_carried(submit_pair, NULL); }
static void late_pair(void) { prepare_carried(submit_pair, &pool); }
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
static void three(void) { prepare_carried(submit_three, NULL); }
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
static void late_beside_stop(void) { prepare_carried(stop_beside_late, NULL); }
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
static void blocking_one(void) { prepare_carried(submit_blocking, NULL); }
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
static void carried_and_cancelled(void) { prepare_carried(submit_and_cancel, NULL); }
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
  end(policy == NULL ? CSCHED_STOP_RUN : CSCHED_STOP_DROP);
}
static void stopped_to_run_carried(void) { prepare_carried(stop_with_all, NULL); }
static void stopped_to_drop_carried(void) { prepare_carried(stop_with_all, &pool); }
static void all_given_back(void) {
  model_assert(ordered + dropped_carried == 3 && met == 3 && place_of(1) == UINT32_MAX);
  csched_serial_destroy(queue);
  csched_pool_destroy(pool);
}

// MARK: spawn and join

static model_cell made;
static void make_it(csched_job *job) {
  note(job);
  model_write(&made, 7);
}
static const csched_job_type maker = {make_it, note_drop, NULL};
static void spawn_and_wait(csched_job *job) {
  note(job);
  csched_fork spawn;
  jobs[1].type = &maker;
  jobs[1].context = NULL;
  csched_pool_fork(&spawn, &jobs[1]);
  csched_pool_wait(&spawn);
  model_assert(model_read(&made) == 7);
  count_and_wake(&met);
}
static const csched_job_type spawner = {spawn_and_wait, note_drop, NULL};
static void spawn_one(void *unused) {
  (void)unused;
  make(2, 2);
  made = (model_cell){0};
  jobs[0].type = &spawner;
  submit((void *)0);
  wait_for(&met, 1);
  submit((void *)2);
  end(CSCHED_STOP_RUN);
}
static void meet_a_spawn(csched_job *job) { // parent and child meet: a thief has to take the child
  note(job);
  csched_fork spawn;
  jobs[1].type = &meeting;
  jobs[1].context = NULL;
  csched_pool_fork(&spawn, &jobs[1]);
  count_and_wake(&met);
  wait_for(&met, 2);
  csched_pool_wait(&spawn);
}
static const csched_job_type meeter = {meet_a_spawn, note_drop, NULL};
static void spawn_and_meet(void *unused) {
  (void)unused;
  make(2, 2);
  jobs[0].type = &meeter;
  submit((void *)0);
  wait_for(&met, 2);
  submit((void *)2);
  end(CSCHED_STOP_RUN);
}

enum { ALL = 3 };
static void meet_all(csched_job *job) {
  note(job);
  count_and_wake(&met);
  wait_for(&met, ALL);
}
static const csched_job_type meeting_all = {meet_all, note_drop, NULL};
static void spawn_two(csched_job *job) { // each is stolen by another thief
  csched_fork spawns[2];
  for (int i = 0; i < 2; i++) {
    jobs[1 + i].type = &meeting_all;
    jobs[1 + i].context = NULL;
    csched_pool_fork(&spawns[i], &jobs[1 + i]);
  }
  meet_all(job);
  for (int i = 1; i >= 0; i--) csched_pool_wait(&spawns[i]);
}
static const csched_job_type two_spawns = {spawn_two, note_drop, NULL};
static void spawn_for_two_thieves(void *unused) {
  (void)unused;
  make(ALL, ALL);
  jobs[0].type = &two_spawns;
  submit((void *)0);
  wait_for(&met, ALL);
  end(CSCHED_STOP_RUN);
}

// A stolen spawn runs as a job of its priority: its own spawns can be stolen, too.
static csched_job inner_spawn;
static void spawn_in_turn(csched_job *job) {
  note(job);
  csched_fork spawn;
  csched_job_init(&inner_spawn, &meeting_all, NULL);
  csched_pool_fork(&spawn, &inner_spawn);
  count_and_wake(&met);
  wait_for(&met, ALL);
  csched_pool_wait(&spawn);
}
static const csched_job_type spawning_in_turn = {spawn_in_turn, note_drop, NULL};
static void spawn_one_that_spawns(csched_job *job) {
  csched_fork spawn;
  jobs[1].type = &spawning_in_turn;
  jobs[1].context = NULL;
  csched_pool_fork(&spawn, &jobs[1]);
  meet_all(job);
  csched_pool_wait(&spawn);
}
static const csched_job_type spawning_deep = {spawn_one_that_spawns, note_drop, NULL};
static void spawn_deep(void *unused) {
  (void)unused;
  make(ALL, ALL);
  jobs[0].type = &spawning_deep;
  submit((void *)0);
  wait_for(&met, ALL);
  end(CSCHED_STOP_RUN);
}

// One job is queued while another is spawned: both need a worker besides the spawner's.
static void spawn_and_meet_all(csched_job *job) {
  csched_fork spawn;
  jobs[2].type = &meeting_all;
  jobs[2].context = NULL;
  count_and_wake(&begun);
  csched_pool_fork(&spawn, &jobs[2]);
  meet_all(job);
  csched_pool_wait(&spawn);
}
static const csched_job_type spawning_one = {spawn_and_meet_all, note_drop, NULL};
static void queue_beside_a_spawn(void *unused) {
  (void)unused;
  make(ALL, ALL);
  jobs[0].type = &spawning_one;
  jobs[1].type = &meeting_all;
  submit((void *)0);
  wait_for(&begun, 1);
  submit((void *)1);
  wait_for(&met, ALL);
  end(CSCHED_STOP_RUN);
}

// The spawner waits once its stolen spawn has spawned in turn, and both workers are busy: the spawner itself runs that
// inner spawn.
static void spawn_for_the_waiter(csched_job *job) {
  note(job);
  csched_fork spawn;
  csched_job_init(&inner_spawn, &telling, NULL);
  csched_pool_fork(&spawn, &inner_spawn);
  count_and_wake(&begun);
  wait_for(&met, 1);
  csched_pool_wait(&spawn);
}
static const csched_job_type spawning_for_the_waiter = {spawn_for_the_waiter, note_drop, NULL};
static void spawn_and_help(csched_job *job) {
  csched_fork spawn;
  jobs[1].type = &spawning_for_the_waiter;
  jobs[1].context = NULL;
  csched_pool_fork(&spawn, &jobs[1]);
  note(job);
  wait_for(&begun, 1);
  csched_pool_wait(&spawn);
}
static const csched_job_type helping = {spawn_and_help, note_drop, NULL};
static void spawn_and_be_helped(void *unused) {
  (void)unused;
  make(2, 2);
  jobs[0].type = &helping;
  submit((void *)0);
  wait_for(&met, 1);
  end(CSCHED_STOP_RUN);
}

// A spawned job is stolen, and submits a job that spawns, too. The thief runs that one next. The waiter for the first
// spawn must not run the second.
static uintptr_t waiter; // the csched_pool_worker of the first spawner, during its wait
static csched_job second_spawner, second_spawn;
static void run_second_spawn(csched_job *job) {
  note(job);
  model_assert(csched_load_relaxed(&waiter) != (uintptr_t)csched_pool_worker_here_);
}
static const csched_job_type second_spawn_type = {run_second_spawn, note_drop, NULL};
static void spawn_second(csched_job *job) {
  note(job);
  csched_fork spawn;
  csched_job_init(&second_spawn, &second_spawn_type, NULL);
  csched_pool_fork(&spawn, &second_spawn);
  csched_pool_wait(&spawn);
}
static const csched_job_type second_spawner_type = {spawn_second, note_drop, NULL};
static void submit_second(csched_job *job) {
  note(job);
  csched_job_init(&second_spawner, &second_spawner_type, NULL);
  csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), &second_spawner);
  count_and_wake(&begun);
}
static const csched_job_type first_spawn_type = {submit_second, note_drop, NULL};
static void spawn_first(csched_job *job) {
  note(job);
  csched_fork spawn;
  jobs[1].type = &first_spawn_type;
  jobs[1].context = NULL;
  csched_pool_fork(&spawn, &jobs[1]);
  wait_for(&begun, 1);
  csched_store_relaxed(&waiter, (uintptr_t)csched_pool_worker_here_);
  csched_pool_wait(&spawn);
  csched_store_relaxed(&waiter, (uintptr_t)0);
}
static const csched_job_type first_spawner_type = {spawn_first, note_drop, NULL};
static void run_both_spawners(void *unused) {
  (void)unused;
  make(2, 2);
  jobs[0].type = &first_spawner_type;
  submit((void *)0);
  wait_for(&begun, 1);
  end(CSCHED_STOP_RUN);
}
static void strangers(void) {
  reset();
  waiter = 0;
  model_spawn(run_both_spawners, NULL);
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

// MARK: local queues and lanes

// A job of default priority that submits others: its worker keeps the first, and adds the others to its local queue.
enum { SPREAD = 3 };
static csched_job spread[SPREAD], spreader;
static void prepare_spread(void (*body)(void *), void *context) {
  reset();
  for (int i = 0; i < SPREAD; i++) csched_job_init(&spread[i], &telling, NULL);
  model_spawn(body, context);
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
static void all_spread_ran(void) {
  model_assert(ran == 1 + SPREAD && dropped == 0);
  csched_pool_destroy(pool);
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
static void spread_for_both(void) { prepare_spread(spread_to_two, NULL); }
static void spread_behind_a_block(void *unused) {
  (void)unused;
  begin_spread(2, 2, &spreading_and_waiting);
  wait_for(&met, SPREAD);
  end(CSCHED_STOP_RUN);
}
static void spread_and_awaited(void) { prepare_spread(spread_behind_a_block, NULL); }
static void spread_behind_an_announced_block(void *unused) {
  (void)unused;
  begin_spread(1, 2, &spreading_and_blocking);
  wait_for(&met, SPREAD);
  end(CSCHED_STOP_RUN);
}
static void spread_and_given_back(void) { prepare_spread(spread_behind_an_announced_block, NULL); }
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
static void given_back_beside_queued(void) { prepare_spread(spread_beside_queued_jobs, NULL); }
static void all_spread_and_queued_ran(void) {
  model_assert(ran == 1 + SPREAD + JOBS && dropped == 0);
  csched_pool_destroy(pool);
}
static void spread_then_exit(void *most) {
  begin_spread(1, (size_t)(intptr_t)most, &spreading_at_exit);
  wait_for(&met, SPREAD);
  end(CSCHED_STOP_RUN);
}
static void spread_at_exit(void) { prepare_spread(spread_then_exit, (void *)1); }
static void spread_for_successor(void) { prepare_spread(spread_then_exit, (void *)2); }
static void spread_then_stop(void *policy) {
  begin_spread(2, 2, &spreading);
  wait_for(&begun, 1);
  end((csched_stop_policy)(intptr_t)policy);
}
static void spread_beside_a_stop_to_run(void) { prepare_spread(spread_then_stop, (void *)(intptr_t)CSCHED_STOP_RUN); }
static void spread_beside_a_stop_to_drop(void) { prepare_spread(spread_then_stop, (void *)(intptr_t)CSCHED_STOP_DROP); }
static void spread_while_stopped_body(void *unused) {
  (void)unused;
  begin_spread(2, 2, &spreading_and_waiting);
  end(CSCHED_STOP_RUN);
}
static void spread_while_stopped(void) { prepare_spread(spread_while_stopped_body, NULL); }

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
static void spread_beside_the_busy(void) { prepare_spread(spread_beside_busy, NULL); }

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

static void all_four_ran(void) {
  model_assert(ran == 4 && dropped == 0);
  csched_pool_destroy(pool);
}
static void all_accepted_were_done(void) {
  model_assert(ran + dropped == 2 && ran >= 1);
  csched_pool_destroy(pool);
}
static void both_kept_ran(void) {
  model_assert(ran == 2 && dropped == 0);
  csched_pool_destroy(pool);
}

static void two_ran(void) {
  model_assert(ran + dropped == 3 && csched_load_relaxed(&accepted) == 1);
  csched_pool_destroy(pool);
}
static void joined_two(void) {
  model_assert(ran == 2 && dropped == 1);
  csched_pool_destroy(pool);
}
static void two_given_back(void) {
  model_assert(ran + dropped == 2);
  csched_pool_destroy(pool);
}
static void all_three_ran(void) {
  model_assert(ran == 3 && dropped == 0);
  csched_pool_destroy(pool);
}

const model_check pool_checks[] = {
    {"pool: one worker: each submission against going idle", reset, all_three_ran,
     THREADS({submit_one_by_one, 1})}, // F1, F4, F5, PP1
    {"pool: two workers: each submission against going idle", reset, all_three_ran,
     THREADS({submit_one_by_one, 2})},                                                              // F1, F2, F4
    {"pool: two submitters and one worker", reset, all_three_ran, THREADS({submit_two_then_wait})}, // F1, F3
    {"pool: the system has no second thread: nothing waits for it", reset, all_three_ran,
     THREADS({submit_without_threads})},                                                                // F1, F2
    {"pool: idle for long: all workers leave but one", reset, all_three_ran, THREADS({leave_but_one})}, // F6
    {"pool: idle for long, and the system has no second thread", reset, all_three_ran,
     THREADS({leave_without_threads})},                                                                     // F2, F6
    {"pool: a job ends its thread, which is replaced", reset, all_three_ran, THREADS({exit_and_go_on, 2})}, // WK2, WK3
    {"pool: a job ends its thread, which goes on at its end", reset, all_three_ran,
     THREADS({exit_and_go_on, 1})},                                                                 // WK3
    {"pool end: a pool that cannot start is freed", reset, nothing_ran, THREADS({fail_to_create})}, // X4
    {"pool: jobs that need both workers: the search is passed on", reset, all_three_ran,
     THREADS({two_that_meet})},                                                                                // F1, F2
    {"pool: jobs that need both workers, from two submitters", reset, all_three_ran, THREADS({two_from_two})}, // F1, F2
    {"pool: a batch wakes as many as it needs", reset, all_three_ran, THREADS({batch_that_meets})},            // F2, F4
    {"pool: a worker that blocks is replaced", reset, all_three_ran, THREADS({blocked_and_replaced})}, // F3, MN3, WK2
    {"pool monitor: an unannounced block of a worker is detected", reset, all_three_ran,
     THREADS({blocked_silently})}, // F3, MN1, MN3
    {"pool monitor: a thread that could not start is tried again", reset, all_three_ran,
     THREADS({come_back})}, // MN1, F3
    {"pool monitor: stopped to run beside a blocked worker", reset, two_given_back,
     THREADS({stop_beside_blocked})}, // MN10
    {"pool monitor: stopped to drop beside a blocked worker", reset, two_given_back,
     THREADS({stop_beside_blocked, true})}, // MN10
    {"pool monitor: stopped beside a blocked worker and a submission", reset, two_given_back,
     THREADS({submitted_beside_stop})}, // MN10
    {"pool end: a queue resumed after the worker has left runs here", reset, two_given_back,
     THREADS({resume_after_stop})}, // X6
    {"pool end: one worker: its job resumes a queue, and waits for it", reset, two_given_back,
     THREADS({stop_beside_resumption, 1})}, // F7, MN10
    {"pool end: two workers: a job resumes a queue, and waits for it", reset, two_given_back,
     THREADS({stop_beside_resumption, 2})},                                                       // F7, MN10
    {"pool end: stopped to run, against submissions to a queue", stopped_with_queue, nested_ran}, // X6, SQ13
    {"pool end: stopped to run, against a submission and a sync", stopped_with_sync, nested_ran}, // X6, SQ10, SQ13
    {"pool end: stopped to run, against submissions to queues", stopped_with_queues, nested_ran}, // X6, SQ13
    {"pool end: stopped to run, against submissions to a limit on a queue", stopped_with_limit_on_queue,
     nested_ran},                                                                                 // X6, SQ13, LM12
    {"pool end: stopped to run, against submissions to a limit", stopped_with_limit, nested_ran}, // X6, LM12
    {"pool end: stopped to run, against submissions: nothing is lost", reset, all_accepted_ran,
     THREADS({submit_and_join})}, // X1, X2, X3, F5, F7
    {"pool end: stopped to drop, against submissions: nothing is lost", reset, destroy,
     THREADS({submit_and_join, true})},                                                      // X1, X2, F7
    {"pool end: a drop sees the stopper's writes", reset, destroy, THREADS({stopped_idle})}, // X1, F5
    {"pool end: stopped from inside, joined by two", reset, joined_by_both, THREADS({stopped_by_its_own})}, // X2, X3
    {"pool end: a join that began before the stop sees the stopper's writes", reset, destroy_unused,
     THREADS({join_and_read})}, // X3
    {"pool spawn: a queued job and a spawn at a time, a worker for each", reset, all_three_ran,
     THREADS({queue_beside_a_spawn})},                                                               // F1, F2, PP1, FJ2
    {"pool monitor: a timer is delivered, a far one dropped", reset, two_ran, THREADS({keep_time})}, // X1, MN4
    {"pool delivery: pairs for two targets, each in order", pairs, pairs_in_order},                  // MN6, MN7, MN5
    {"pool delivery: two jobs of one target, the second late", pair, one_after_the_other},           // MN7, DV4
    {"pool delivery: the second late, the first delivered", late_pair, one_after_the_other},         // DV4
    {"pool delivery: three jobs of one target, and one of another", three, three_in_order},          // MN6, MN7
    {"pool delivery: a late job beside a stop", late_beside_stop, both_given_back},                  // MN6, X1
    {"pool delivery: a job that blocks delays no other target", blocking_one, others_go_on},         // MN6, MN7, MN8
    {"pool delivery: cancelled at any time: run or dropped, once", carried_and_cancelled, once_each},  // MN6
    {"pool delivery: stopped to run: the monitor drops none", stopped_to_run_carried, all_given_back}, // MN5, DV3, MN6
    {"pool delivery: stopped to drop: the monitor drops nothing", stopped_to_drop_carried,
     all_given_back}, // MN5, DV3, MN6
    {"pool spawn: a spawn is run once, and seen by its wait", reset, all_three_ran, THREADS({spawn_one})}, // FJ1, FJ3
    {"pool spawn: a spawn finds a thief that slept", reset, all_three_ran,
     THREADS({spawn_and_meet})}, // FJ2, FJ3, F1, WK1
    {"pool spawn: two spawns find two thieves", reset, all_three_ran, THREADS({spawn_for_two_thieves})}, // F2, FJ1, FJ2
    {"pool spawn: a stolen spawn spawns in turn", reset, all_three_ran, THREADS({spawn_deep})},          // F1, FJ1, FJ3
    {"pool spawn: a waiter runs what its stolen spawn has spawned", reset, all_three_ran,
     THREADS({spawn_and_be_helped})},                                                                 // FJ4, FJ6
    {"pool spawn: a waiter beside a job that spawns after the awaited one", strangers, all_four_ran}, // FJ4, FJ6
    {"pool: a batch for a busy worker and a worker that goes to sleep", reset, both_ran,
     THREADS({batch_for_a_busy_one})}, // F1, PP1
    {"pool kept job: awaited by its submitter, it is taken", reset, all_three_ran,
     THREADS({keep_one_that_is_waited_for})}, // PP3, PP4, F1, F2
    {"pool kept job: awaited by its submitter, before searchers", reset, all_four_ran,
     THREADS({keep_before_searchers})}, // PP3, PP4, F1
    {"pool kept job: awaited by its submitter, beside endless work", reset, all_three_ran,
     THREADS({keep_beside_the_busy})}, // PP4
    {"pool kept job: beside a queued job, a worker for each", reset, all_three_ran,
     THREADS({queue_beside_a_kept_one})},                                                         // PP3, F1, F2
    {"pool kept job: beside a submission", reset, all_three_ran, THREADS({keep_beside_another})}, // PP3, F1
    {"pool kept job: beside a stop to run", reset, all_accepted_were_done,
     THREADS({keep_beside_a_stop, CSCHED_STOP_RUN})}, // PP3, X1, X2
    {"pool kept job: beside a stop to drop", reset, all_accepted_were_done,
     THREADS({keep_beside_a_stop, CSCHED_STOP_DROP})}, // PP3, X1, X2
    {"pool kept job: awaited by its submitter while the pool ends", reset, all_accepted_were_done,
     THREADS({keep_while_stopped})}, // PP4
    {"pool kept job: a follow-up, before the queue's next job, which waits for it", reset, all_three_ran,
     THREADS({follow_up_in_queue})}, // PP5, SQ4
    {"pool kept job: a follow-up, beside another worker", reset, all_three_ran,
     THREADS({follow_up_beside_another})}, // PP5, PP4
    {"pool kept job: a follow-up, whose submitter announces a block", reset, both_kept_ran,
     THREADS({follow_up_while_blocked})}, // PP5, F1
    {"pool kept job: a follow-up, beside a stop to drop", reset, all_accepted_were_done,
     THREADS({follow_up_beside_a_stop, CSCHED_STOP_DROP})}, // PP5, X1
    {"pool kept job: its submitter ends its thread, which continues", reset, both_kept_ran,
     THREADS({keep_at_exit, 1})}, // WK3, PP3
    {"pool kept job: its submitter ends its thread, a successor runs it", reset, both_kept_ran,
     THREADS({keep_at_exit, 2})},                                                                       // WK3, PP3
    {"pool local: the jobs of a job, two of which need both workers", spread_for_both, all_spread_ran}, // PP6, F1, F2
    {"pool local: awaited by their submitter, they are stolen", spread_and_awaited, all_spread_ran},    // PP4, PP6
    {"pool local: awaited by their submitter, beside endless work", spread_beside_the_busy, all_spread_ran}, // PP4
    {"pool local: their submitter announces a block", spread_and_given_back, all_spread_ran},                // PP6
    {"pool local: their submitter announces a block, beside queued jobs", given_back_beside_queued,
     all_spread_and_queued_ran},                                                                      // PP6
    {"pool local: their submitter ends its thread, which continues", spread_at_exit, all_spread_ran}, // WK3, PP6
    {"pool local: their submitter ends its thread, a successor runs them", spread_for_successor,
     all_spread_ran},                                                                          // WK3, PP6
    {"pool local: beside a stop to run", spread_beside_a_stop_to_run, all_spread_were_done},   // PP6, X1, X2
    {"pool local: beside a stop to drop", spread_beside_a_stop_to_drop, all_spread_were_done}, // PP6, X1, X2
    {"pool local: awaited by their submitter while the pool ends", spread_while_stopped,
     all_spread_were_done}, // X2, PP6
    {"pool local: jobs come again and again, a low one waits", reset, one_has_run,
     THREADS({one_beside_usual, CSCHED_PRIORITY_LOW})}, // PP1, PP6
    {"pool local: jobs come again and again, one from outside waits", reset, one_has_run,
     THREADS({one_beside_usual, CSCHED_PRIORITY_DEFAULT})}, // PP6
    {"pool lanes: jobs from two threads, which need two workers", reset, all_three_ran,
     THREADS({submit_to_lanes})},                                                                        // PP7, F1, F2
    {"pool lanes: beside a stop to run", reset, destroy, THREADS({stop_beside_lanes, CSCHED_STOP_RUN})}, // PP7, X1
    {"pool lanes: beside a stop to drop", reset, destroy, THREADS({stop_beside_lanes, CSCHED_STOP_DROP})}, // PP7, X1
    {"pool: a high-priority job comes again and again, a low one waits", reset, one_has_run,
     THREADS({low_beside_high})}, // PP1
    {"pool: a high-priority job comes again and again, a low one is waited for", reset, one_has_run,
     THREADS({low_is_waited_for})},                                                                             // PP2
    {"pool end: jobs that need both workers, beside a stop", reset, joined_two, THREADS({stop_two_that_meet})}, // X2
    {"pool end: a submission after stop is refused", reset, one_ran, THREADS({submit_after_stop})},             // X1
    {"pool end: jobs behind a running job are dropped", reset, one_ran_of_all, THREADS({drop_behind_one})},     // X1
    {"pool end: a first timer against stop", timer_refused, one_dropped},                      // X1, MN4
    {"pool end: two idle workers, and two jobs that need both", stopped_two_idle, joined_two}, // X2
    {"pool end: a timer that is due runs", reset, only_one_ran, THREADS({stop_with_one_due})}, // X1, MN4
    {NULL, NULL, NULL},
};
