#include "output_testing.h"
#include "pool_testing.h"

#include "../../Sources/CScheduler/base/panic.h"
#include "../../Sources/CScheduler/job/observed.h"
#include "../../Sources/CScheduler/job/recorder_internal.h"
#include "../../Sources/CScheduler/swift/swift.h"
#include "../../Sources/CScheduler/sync/waiting_internal.h"

#include <unistd.h>

/// What a job does after it has submitted another one.
typedef enum submitter {
  SUBMITTER_RETURNS,
  SUBMITTER_COMPUTES,
  SUBMITTER_COMPUTES_BESIDE_THE_BUSY,
  SUBMITTER_BLOCKS,
  SUBMITTER_SAYS_IT_BLOCKS,
  SUBMITTER_ENDS_ITS_THREAD,
} submitter;

// MARK: blocking

typedef struct standing {
  csched_pool *pool;
  atomic_int reached, open, inside, most_inside;
  bool says_so;
} standing;

static void block(probe *probe) {
  standing *test = probe->context;
  if (test->says_so) csched_pool_blocking_begin();
  if (test->says_so) csched_pool_blocking_begin(); // nested
  if (test->says_so) csched_pool_blocking_end();
  atomic_fetch_add(&test->reached, 1);
  while (!atomic_load(&test->open)) nap(30 * MS); // no processor time meanwhile
  if (test->says_so) csched_pool_blocking_end();
}

static void enter(probe *probe) {
  standing *test = probe->context;
  int inside = atomic_fetch_add(&test->inside, 1) + 1, most = atomic_load(&test->most_inside);
  while (inside > most && !atomic_compare_exchange_weak(&test->most_inside, &most, inside)) {}
  burn(300 * US);
  atomic_fetch_sub(&test->inside, 1);
}

// All workers block. Jobs that are submitted then run all the same. Returns the delay of the first one, in ns.
static csched_time run_beside_blocked(csched_pool *pool, standing *test, int workers) {
  probe blockers[8], next, many[64];
  for (int i = 0; i < workers; i++) {
    probe_init(&blockers[i], block, test);
    post(pool, CSCHED_PRIORITY_DEFAULT, &blockers[i]);
  }
  CHECK_SOON(atomic_load(&test->reached) == workers);
  probe_init(&next, NULL, NULL);
  csched_time start = csched_now();
  post(pool, CSCHED_PRIORITY_DEFAULT, &next);
  CHECK_SOON(atomic_load(&next.releases) == 1);
  csched_time took = next.ran_at - start;
  atomic_store(&test->open, 1);
  for (int i = 0; i < workers; i++) CHECK_SOON(atomic_load(&blockers[i].releases) == 1);
  nap(2 * MS);
  for (int i = 0; i < 64; i++) { // the blocked workers are back: no more jobs run at a time than before
    probe_init(&many[i], enter, test);
    post(pool, CSCHED_PRIORITY_DEFAULT, &many[i]);
  }
  for (int i = 0; i < 64; i++) CHECK_SOON(atomic_load(&many[i].releases) == 1);
  return took;
}

static void pool_says_it_blocks(int rounds) {
  csched_pool_blocking_begin(); // no worker: nothing happens
  csched_pool_blocking_end();
  csched_pool_blocking_end();
  int least = 4; // of several rounds: in the others a worker may have had no processor, and have been replaced
  for (int i = 0; i < rounds; i++) {
    csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2, .most_threads = 4});
    standing test = {.pool = pool, .says_so = true};
    run_beside_blocked(pool, &test, 2);
    CHECK(csched_pool_thread_count(pool) <= 4);
    if (atomic_load(&test.most_inside) < least) least = atomic_load(&test.most_inside);
    end_pool(pool, CSCHED_STOP_RUN);
  }
  CHECK(least <= 2);
}

// F3, MN3
TEST("a worker that says that it blocks is replaced") { pool_says_it_blocks(times(20)); }

// A worker that does not say so. The best of several rounds is within the limit: the others may have had no processor.
static void pool_stall(int workers, int rounds, int limit_ms) {
  csched_time best = CSCHED_FOREVER;
  for (int i = 0; i < rounds; i++) {
    csched_pool *pool = make_pool(&(csched_pool_options){.workers = (size_t)workers});
    standing test = {.pool = pool};
    csched_time took = run_beside_blocked(pool, &test, workers);
    if (took < best) best = took;
    end_pool(pool, CSCHED_STOP_RUN);
  }
  if (best > (csched_time)limit_ms * MS) CHECK_EQUAL(best / US, limit_ms * 1000);
}

TEST("blocked workers are found out without a word") { // MN1, MN2
  int limit = is_under(SANITIZERS | VALGRIND | QEMU) ? 100 : 15;
  for (int workers = 1; workers <= 4; workers *= 2) pool_stall(workers, 5, limit);
}

// MARK: keeping

typedef struct keeping {
  csched_pool *pool;
  submitter kind;
  bool is_follow_up;
  probe kept;
  atomic_int is_over;
} keeping;

static void keep_and_go_on(probe *probe) {
  keeping *test = probe->context;
  csched_target *target = csched_pool_target(test->pool, CSCHED_PRIORITY_DEFAULT);
  CHECK_EQUAL((test->is_follow_up ? csched_swift_submit_follow_up_ : csched_target_submit)(target, job_of(&test->kept)),
              0);
  if (test->kind == SUBMITTER_RETURNS) return;
  if (test->kind == SUBMITTER_ENDS_ITS_THREAD) pthread_exit(NULL);
  if (test->kind == SUBMITTER_SAYS_IT_BLOCKS) csched_pool_blocking_begin();
  while (atomic_load(&test->kept.releases) == 0) {
    if (test->kind == SUBMITTER_COMPUTES || test->kind == SUBMITTER_COMPUTES_BESIDE_THE_BUSY) burn(50 * US);
    else nap(5 * MS);
  }
  if (test->kind == SUBMITTER_SAYS_IT_BLOCKS) csched_pool_blocking_end();
}

static void be_busy(csched_job *job) {
  keeping *test = job->context;
  if (atomic_load(&test->kept.releases) == 0)
    csched_target_submit(csched_pool_target(test->pool, CSCHED_PRIORITY_DEFAULT), job);
  else atomic_store(&test->is_over, 1);
}
static void drop_busy(csched_job *job) { (void)job; }

// What a job submits, its worker keeps. It runs though that job waits for it.
static void pool_keeps(submitter kind, bool is_follow_up, int rounds) {
  static const csched_job_type busy_type = {be_busy, drop_busy, NULL};
  bool is_beside = kind == SUBMITTER_COMPUTES_BESIDE_THE_BUSY;
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2, .most_threads = 4});
  for (int i = 0; i < rounds; i++) {
    keeping test = {.pool = pool, .kind = kind, .is_follow_up = is_follow_up};
    probe submitter;
    csched_job busy;
    probe_init(&test.kept, NULL, NULL);
    probe_init(&submitter, keep_and_go_on, &test);
    csched_job_init(&busy, &busy_type, &test);
    if (is_beside) csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), &busy);
    post(pool, CSCHED_PRIORITY_DEFAULT, &submitter);
    CHECK_SOON(atomic_load(&test.kept.releases) == 1 && atomic_load(&submitter.releases) == 1);
    if (is_beside) CHECK_SOON(atomic_load(&test.is_over) == 1 && csched_job_is_idle(&busy));
    CHECK_PROBE(&test.kept, 1, 0);
  }
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("what a worker keeps for its next job runs though the one that it has goes on") { // WK1, PP3, PP4
  pool_keeps(SUBMITTER_RETURNS, false, times(200));
  for (int kind = SUBMITTER_COMPUTES; kind <= SUBMITTER_ENDS_ITS_THREAD; kind++)
    pool_keeps((submitter)kind, false, times(20));
}

TEST("a follow-up runs though its job does not return") { // WK3, PP5
  pool_keeps(SUBMITTER_RETURNS, true, times(200));
  pool_keeps(SUBMITTER_SAYS_IT_BLOCKS, true, times(20));
  pool_keeps(SUBMITTER_ENDS_ITS_THREAD, true, times(20));
}

typedef struct following {
  csched_pool *pool;
  csched_target *queue; // NULL: none
  probe first, follow_up, second;
  int count, at_first, at_follow_up, at_second;
  uint32_t thread;
  bool is_same_thread, is_outside;
} following;

static void begin_follow_up(probe *probe) {
  following *test = probe->context;
  csched_target *target = csched_pool_target(test->pool, CSCHED_PRIORITY_DEFAULT);
  CHECK_EQUAL(csched_swift_submit_follow_up_(target, job_of(&test->follow_up)), 0);
  test->thread = ctest_thread_id();
  test->at_first = ++test->count;
}

static void follow_up(probe *probe) {
  following *test = probe->context;
  test->is_same_thread = test->thread == ctest_thread_id();
  test->is_outside = test->queue == NULL || !csched_target_is_inside(test->queue);
  test->at_follow_up = ++test->count;
}

static void note_second(probe *probe) {
  ((following *)probe->context)->at_second = ++((following *)probe->context)->count;
}

// The queues' only worker comes to the follow-up before it goes on with a queue.
static void pool_follows_up(csched_pool *pool, csched_target *queue) {
  following test = {.pool = pool, .queue = queue};
  pool_gate gate;
  probe_init(&test.first, begin_follow_up, &test);
  probe_init(&test.follow_up, follow_up, &test);
  probe_init(&test.second, note_second, &test);
  pool_gate_close(&gate, pool, 1);
  csched_target *target = queue != NULL ? queue : csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT);
  CHECK_EQUAL(csched_target_submit(target, job_of(&test.first)), 0);
  CHECK_EQUAL(csched_target_submit(target, job_of(&test.second)), 0);
  pool_gate_open(&gate);
  CHECK_SOON(atomic_load(&test.second.releases) == 1 && atomic_load(&test.follow_up.releases) == 1);
  CHECK_PROBE(&test.follow_up, 1, 0);
  CHECK(test.is_outside);
  if (queue == NULL) return; // other work waits, so that it is not kept
  CHECK(test.is_same_thread);
  CHECK_EQUAL(test.at_first, 1);
  CHECK_EQUAL(test.at_follow_up, 2);
  CHECK_EQUAL(test.at_second, 3);
}

TEST("a follow-up runs on its worker behind its job, outside of its queue") { // PP5
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1, .most_threads = 1});
  csched_target *target = csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT);
  csched_serial *queue, *inner, *limited;
  csched_limit *limit;
  CHECK_EQUAL(csched_serial_create(&queue, target), 0);
  CHECK_EQUAL(csched_serial_create(&inner, csched_serial_target(queue)), 0);
  CHECK_EQUAL(csched_limit_create(&limit, target, 1), 0);
  CHECK_EQUAL(csched_serial_create(&limited, csched_limit_target(limit)), 0);
  pool_follows_up(pool, NULL);
  pool_follows_up(pool, csched_serial_target(queue));
  pool_follows_up(pool, csched_serial_target(inner));
  pool_follows_up(pool, csched_limit_target(limit));
  pool_follows_up(pool, csched_serial_target(limited));
  csched_serial_destroy(limited);
  csched_limit_destroy(limit);
  csched_serial_destroy(inner);
  csched_serial_destroy(queue);
  end_pool(pool, CSCHED_STOP_RUN);
}

static void stop_before_follow_up(probe *probe) {
  following *test = probe->context;
  begin_follow_up(probe);
  csched_pool_stop(test->pool, CSCHED_STOP_DROP);
}

TEST("a follow-up is dropped by a stop that drops") { // PP3, PP5
  for (int i = 0; i < times(50); i++) {
    following test = {.pool = make_pool(&(csched_pool_options){.workers = 1, .most_threads = 1})};
    probe_init(&test.first, stop_before_follow_up, &test);
    probe_init(&test.follow_up, NULL, NULL);
    post(test.pool, CSCHED_PRIORITY_DEFAULT, &test.first);
    CHECK_EQUAL(csched_pool_join(test.pool), 0);
    CHECK_PROBE(&test.follow_up, 0, 1);
    csched_pool_destroy(test.pool);
  }
}

static void pool_cap(void) {
  csched_pool *pool = make_pool(&(csched_pool_options){.name = "capped", .workers = 2, .most_threads = 3});
  standing test = {.pool = pool};
  probe blockers[8];
  for (int i = 0; i < 8; i++) {
    probe_init(&blockers[i], block, &test);
    post(pool, CSCHED_PRIORITY_DEFAULT, &blockers[i]);
  }
  CHECK_SOON(atomic_load(&test.reached) == 3);
  nap(40 * MS);
  CHECK_EQUAL(atomic_load(&test.reached), 3);
  CHECK_EQUAL(csched_pool_thread_count(pool), 3);
  atomic_store(&test.open, 1);
  end_pool(pool, CSCHED_STOP_RUN);
  for (int i = 0; i < 8; i++) CHECK_PROBE(&blockers[i], 1, 0);
}

// F3
TEST("there are never more threads than the cap") { pool_cap(); }

// Returns: how often a pool says that its most threads are too few, whether or not its jobs say that they block.
static int count_told_of_cap(int most, bool says_so) {
  output said = output_open();
  int standard_error = dup(STDERR_FILENO);
  dup2(said.fd, STDERR_FILENO);
  csched_pool *pool = make_pool(&(csched_pool_options){.name = "capped", .workers = 2, .most_threads = (size_t)most});
  standing test = {.pool = pool, .says_so = says_so};
  probe blockers[8];
  for (int i = 0; i < 8; i++) {
    probe_init(&blockers[i], block, &test);
    post(pool, CSCHED_PRIORITY_DEFAULT, &blockers[i]);
  }
  CHECK_SOON(atomic_load(&test.reached) == most);
  nap(200 * MS);
  atomic_store(&test.open, 1);
  end_pool(pool, CSCHED_STOP_RUN);
  for (int i = 0; i < 8; i++) CHECK_PROBE(&blockers[i], 1, 0);
  dup2(standard_error, STDERR_FILENO);
  close(standard_error);
  const char *text = output_read(&said);
  int count = output_count(text, "has its");
  CHECK_EQUAL(output_count(text, "csched_group_notify; in Swift await waitForAll"), count);
  CHECK_EQUAL(output_count(text, "WorkerPool(maxThreads:)"), count);
  CHECK_EQUAL(output_count(text, "capped"), count);
  if (count > 0) CHECK(output_says(text, "csched_pool:", "(capped) has its 3 threads") && strstr(text, "most_threads"));
  output_close(&said);
  return count;
}

TEST("a pool whose most threads are too few says so once") {
  CHECK_EQUAL(count_told_of_cap(3, false), 1);
  CHECK_EQUAL(count_told_of_cap(3, true), 1);
}

TEST("a pool with as many threads as workers was made to be so, and says nothing") {
  CHECK_EQUAL(count_told_of_cap(2, true), 0);
}

// Jobs that each wait for the group of the jobs behind them, more than the default limit of threads.
typedef struct chain {
  csched_group group;
  _Atomic int waiting;
} chain;

static void wait_for_group(probe *probe) {
  chain *test = probe->context;
  atomic_fetch_add(&test->waiting, 1);
  csched_group_wait(&test->group);
}
static void leave_group(probe *probe) { csched_group_leave(&((chain *)probe->context)->group); }

// `stops`: the pool is stopped, to run its jobs, as soon as it has them.
static void wait_for_later_jobs(bool stops) {
  enum { DEFAULT_LIMIT = 66, WAITERS = DEFAULT_LIMIT + 14, JOBS = WAITERS + 8 };
  csched_pool *pool = make_pool(&(csched_pool_options){.name = "chain", .workers = 2});
  static probe jobs[JOBS];
  chain test = {.group = CSCHED_GROUP_INIT};
  csched_group_enter(&test.group, JOBS - WAITERS);
  for (int i = 0; i < JOBS; i++) {
    probe_init(&jobs[i], i < WAITERS ? wait_for_group : leave_group, &test);
    post(pool, CSCHED_PRIORITY_DEFAULT, &jobs[i]);
  }
  if (stops) csched_pool_stop(pool, CSCHED_STOP_RUN);
  for (int i = 0; i < JOBS; i++) CHECK_SOON(atomic_load(&jobs[i].releases) == 1);
  CHECK_EQUAL(atomic_load(&test.waiting), WAITERS);
  CHECK(stops || csched_pool_thread_count(pool) > DEFAULT_LIMIT);
  end_pool(pool, CSCHED_STOP_RUN);
}

// MN9
TEST("a pool of jobs that wait for jobs behind them goes on") { wait_for_later_jobs(false); }
// MN9, MN10
TEST("a stopped pool of jobs that wait for jobs behind them ends") { wait_for_later_jobs(true); }

// Jobs that each wait in the system for a byte, which a job behind them writes, when it runs or is dropped.
typedef struct pipe_pair {
  int ends[2]; // of a pipe: to read, to write
  atomic_int reading;
} pipe_pair;

static void read_byte(probe *probe) {
  pipe_pair *test = probe->context;
  char byte;
  atomic_fetch_add(&test->reading, 1);
  while (read(test->ends[0], &byte, 1) != 1) {}
}
static void write_bytes(probe *probe) { CHECK_EQUAL(write(((pipe_pair *)probe->context)->ends[1], "1234", 4), 4); }

// `stops_first`: before any of the jobs has begun to read, with the policy to run; else when the first one reads.
static void stop_beside_readers(csched_stop_policy policy, bool stops_first) {
  enum { READERS = 4 };
  csched_pool *pool = make_pool(&(csched_pool_options){.name = "readers", .workers = 1});
  pipe_pair test = {.reading = 0};
  probe readers[READERS], writer, next;
  pool_gate gate;
  CHECK_EQUAL(pipe(test.ends), 0);
  if (stops_first) pool_gate_close(&gate, pool, 1);
  for (int i = 0; i < READERS; i++) {
    probe_init(&readers[i], read_byte, &test);
    post(pool, CSCHED_PRIORITY_DEFAULT, &readers[i]);
  }
  if (!stops_first) CHECK_SOON(atomic_load(&test.reading) > 0);
  probe_init(&writer, write_bytes, &test);
  writer.on_drop = write_bytes;
  probe_init(&next, NULL, NULL);
  post(pool, CSCHED_PRIORITY_DEFAULT, &writer);
  post(pool, CSCHED_PRIORITY_LOW, &next);
  csched_pool_stop(pool, policy);
  if (stops_first) pool_gate_open(&gate);
  CHECK_EQUAL(csched_pool_join(pool), 0);
  for (int i = 0; i < READERS; i++) {
    int dropped = atomic_load(&readers[i].drops);
    CHECK(policy == CSCHED_STOP_DROP || dropped == 0);
    CHECK_PROBE(&readers[i], 1 - dropped, dropped);
  }
  if (policy == CSCHED_STOP_RUN) CHECK_PROBE(&writer, 1, 0);
  if (policy == CSCHED_STOP_RUN) CHECK_PROBE(&next, 1, 0);
  csched_pool_destroy(pool);
  for (int i = 0; i < 2; i++) close(test.ends[i]);
}

// Two timers that are due at the stop: the first waits for the second to run, or to be dropped.
static void stop_beside_due_timers(void) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1});
  csched_target *target = csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT);
  pipe_pair test = {.reading = 0};
  probe reader, writer;
  CHECK_EQUAL(pipe(test.ends), 0);
  probe_init(&reader, read_byte, &test);
  probe_init(&writer, write_bytes, &test);
  writer.on_drop = write_bytes;
  csched_time now = csched_now();
  CHECK_EQUAL(csched_target_submit_at(target, &reader.timer, now, 0), 0);
  CHECK_EQUAL(csched_target_submit_at(target, &writer.timer, now + 1, 0), 0);
  csched_pool_stop(pool, CSCHED_STOP_RUN);
  CHECK_EQUAL(csched_pool_join(pool), 0);
  csched_pool_destroy(pool);
  for (int i = 0; i < 2; i++) close(test.ends[i]);
}

// A job that resumes two queues after the other workers have left. The job of the first queue waits for that of the
// second.
typedef struct resumption {
  pipe_pair pipe;
  csched_pool *pool;
  csched_serial *queues[2];
} resumption;

static void resume_queues(probe *probe) {
  resumption *test = probe->context;
  while (csched_pool_thread_count(test->pool) > 1) nap(20 * US);
  for (int i = 0; i < 2; i++) csched_serial_resume(test->queues[i]);
}

static void stop_beside_suspended_queues(void) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1});
  csched_target *target = csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT);
  resumption test = {.pool = pool};
  probe resumer, jobs[2];
  CHECK_EQUAL(pipe(test.pipe.ends), 0);
  for (int i = 0; i < 2; i++) {
    CHECK_EQUAL(csched_serial_create(&test.queues[i], target), 0);
    csched_serial_suspend(test.queues[i]);
    probe_init(&jobs[i], i == 0 ? read_byte : write_bytes, &test.pipe);
    CHECK_EQUAL(csched_target_submit(csched_serial_target(test.queues[i]), job_of(&jobs[i])), 0);
  }
  probe_init(&resumer, resume_queues, &test);
  post(pool, CSCHED_PRIORITY_DEFAULT, &resumer);
  csched_pool_stop(pool, CSCHED_STOP_RUN);
  CHECK_EQUAL(csched_pool_join(pool), 0);
  CHECK_PROBE(&resumer, 1, 0);
  for (int i = 0; i < 2; i++) {
    CHECK_PROBE(&jobs[i], 1, 0);
    csched_serial_destroy(test.queues[i]);
    close(test.pipe.ends[i]);
  }
  csched_pool_destroy(pool);
}

TEST("a stopped pool finds out blocked workers") { // MN2, MN10
  for (int round = 0; round < times(10); round++) {
    stop_beside_readers(CSCHED_STOP_RUN, false);
    stop_beside_readers(CSCHED_STOP_RUN, true);
    stop_beside_readers(CSCHED_STOP_DROP, false);
    stop_beside_due_timers();
    stop_beside_suspended_queues();
  }
}

// Returns: how many jobs of a stopped pool ran at a time, after workers that had blocked were back.
static int most_after_stop(size_t workers) {
  enum { MANY = 500 };
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = workers});
  standing test = {.pool = pool};
  probe blockers[8], many[MANY];
  for (size_t i = 0; i < workers; i++) {
    probe_init(&blockers[i], block, &test);
    post(pool, CSCHED_PRIORITY_HIGH, &blockers[i]);
  }
  CHECK_SOON(atomic_load(&test.reached) == (int)workers);
  for (int i = 0; i < MANY; i++) {
    probe_init(&many[i], enter, &test);
    post(pool, CSCHED_PRIORITY_DEFAULT, &many[i]);
  }
  csched_pool_stop(pool, CSCHED_STOP_RUN);
  CHECK_SOON(atomic_load(&many[0].releases) == 1);
  atomic_store(&test.open, 1);
  CHECK_EQUAL(csched_pool_join(pool), 0);
  for (int i = 0; i < MANY; i++) CHECK_PROBE(&many[i], 1, 0);
  csched_pool_destroy(pool);
  return atomic_load(&test.most_inside);
}

TEST("a stopped pool runs as many at a time as before") {
  int least = 8; // of several rounds: in the others a worker may have had no processor, and have been replaced
  for (int round = 0; round < times(10); round++) {
    int most = most_after_stop(2);
    if (most < least) least = most;
  }
  CHECK(least <= 2);
}

// MARK: idle

static void remember_thread(probe *probe) {
  pool_gate *gate = probe->context;
  atomic_fetch_add(&gate->reached, 1);
  while (!atomic_load(&gate->open)) nap(20 * US);
}

static int64_t switches_of(const uint32_t *threads, int count) {
  int64_t sum = 0;
  for (int i = 0; i < count; i++) sum += ctest_thread_voluntary_switches(threads[i]);
  return sum;
}

// No thread wakes up: neither the workers, nor the monitor after a timer and a stall.
static void pool_idle(int milliseconds) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2, .idle_exit = CSCHED_FOREVER});
  standing test = {.pool = pool};
  run_beside_blocked(pool, &test, 2);
  pool_gate gate = {.count = 2};
  uint32_t threads[2];
  for (int i = 0; i < 2; i++) {
    probe_init(&gate.probes[i], remember_thread, &gate);
    post(pool, CSCHED_PRIORITY_HIGH, &gate.probes[i]);
  }
  CHECK_SOON(atomic_load(&gate.reached) == 2);
  pool_gate_open(&gate);
  for (int i = 0; i < 2; i++) threads[i] = gate.probes[i].thread;
  nap(50 * MS);
  for (int i = 0; i < 2; i++) CHECK_RESTS(threads[i]);
  int64_t before = switches_of(threads, 2);
  int64_t used = ctest_thread_processor_time(threads[0]) + ctest_thread_processor_time(threads[1]);
  nap((csched_time)milliseconds * MS);
  CHECK_EQUAL(switches_of(threads, 2) - before, 0);
  CHECK_EQUAL(ctest_thread_processor_time(threads[0]) + ctest_thread_processor_time(threads[1]) - used, 0);
  end_pool(pool, CSCHED_STOP_RUN);
}

// MN1, MN2
TEST("an idle pool does not wake up") { pool_idle(300); }

static void pool_idle_exit(void) {
  csched_pool *pool = make_pool(&(csched_pool_options){.name = "leaving", .workers = 4, .idle_exit = 20 * MS});
  for (int round = 0; round < 3; round++) {
    pool_gate gate;
    pool_gate_close(&gate, pool, 4);
    CHECK_EQUAL(csched_pool_thread_count(pool), 4);
    pool_gate_open(&gate);
    CHECK_SOON(csched_pool_thread_count(pool) == 1);
    CHECK_SOON(ctest_threads_named("leaving-1") + ctest_threads_named("leaving-2") + ctest_threads_named("leaving-3") +
                   ctest_threads_named("leaving-4") ==
               1);
    nap(40 * MS);
    CHECK_EQUAL(csched_pool_thread_count(pool), 1); // it stays
  }
  probe last;
  probe_init(&last, NULL, NULL);
  post(pool, CSCHED_PRIORITY_LOW, &last);
  end_pool(pool, CSCHED_STOP_RUN);
  CHECK_PROBE(&last, 1, 0);
  CHECK_EQUAL(ctest_threads_named("leaving-1"), 0);
}

// Submissions at about the time at which workers leave.
static void pool_idle_exit_races(int rounds, uint64_t seed) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 3, .idle_exit = 200 * US});
  for (int i = 0; i < rounds; i++) {
    probe probes[3];
    for (int j = 0; j < 3; j++) {
      probe_init(&probes[j], NULL, NULL);
      post(pool, CSCHED_PRIORITY_DEFAULT, &probes[j]);
    }
    for (int j = 0; j < 3; j++) CHECK_SOON(atomic_load(&probes[j].releases) == 1);
    nap(chance_below(&seed, 400) * US);
  }
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("idle workers leave, all but one") { // F1, F4, F6, WK2
  pool_idle_exit();
  pool_idle_exit_races(times(1000), seed());
}

// MARK: a job is queued while another forks

typedef struct crossing {
  probe forker, queued;
  csched_job forked;
  atomic_int is_ready, delay, begun;
  bool was_late; // the forker's
} crossing;

static void begin_forked(csched_job *job) { atomic_store(&((crossing *)job->context)->begun, 1); }
static void drop_nothing(csched_job *job) { (void)job; }
static const csched_job_type forked_type = {begin_forked, drop_nothing, NULL};

static bool has_begun_soon(crossing *test) {
  for (csched_time end = csched_now() + 10000 * MS; !atomic_load(&test->begun) && csched_now() < end;) nap(20 * US);
  return atomic_load(&test->begun);
}

static void fork_and_go_on(probe *probe) {
  crossing *test = probe->context;
  csched_fork fork;
  csched_job_init(&test->forked, &forked_type, test);
  atomic_store(&test->is_ready, 1);
  int delay;
  while ((delay = atomic_load(&test->delay)) == 0) CSCHED_CPU_RELAX();
  burn((csched_time)delay * US / 2);
  csched_pool_fork(&fork, &test->forked);
  test->was_late = !has_begun_soon(test); // without a wait: it is for another worker
  csched_pool_wait(&fork);
}

static void hold_worker(probe *probe) { has_begun_soon(probe->context); }

static void pool_fork_beside_queued(int rounds) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 4});
  pool_gate gate;
  pool_gate_close(&gate, pool, 4); // so that there are four threads
  pool_gate_open(&gate);
  bool was_late = false;
  for (int i = 0; i < rounds && !was_late; i++) {
    crossing test = {0};
    probe_init(&test.forker, fork_and_go_on, &test);
    probe_init(&test.queued, hold_worker, &test);
    post(pool, CSCHED_PRIORITY_DEFAULT, &test.forker);
    WAIT_WHILE(!atomic_load(&test.is_ready));
    nap(MS); // the others go to sleep
    atomic_store(&test.delay, 1 + i % 40);
    post(pool, CSCHED_PRIORITY_DEFAULT, &test.queued);
    while (atomic_load(&test.forker.releases) == 0 || atomic_load(&test.queued.releases) == 0) nap(20 * US);
    was_late = test.was_late;
  }
  CHECK(!was_late); // two workers slept beside it
  end_pool(pool, CSCHED_STOP_RUN);
}

// F1, F2, FJ2
TEST("a forked job finds a worker though another takes a queued one") { pool_fork_beside_queued(times(400)); }

// Each pointer lets a lower folder of the core call a higher one. Without them, blocked workers are found late, and
// observers see nothing.
TEST("the folders of the core are connected when the library is loaded") {
  CHECK(csched_waiting_begins_ == csched_pool_blocking_begin && csched_waiting_ends_ == csched_pool_blocking_end);
  CHECK(csched_observe_hooks_ != NULL && csched_os_on_call_ != NULL);
  CHECK(csched_panic_say_ == csched_recorder_say_);
}
