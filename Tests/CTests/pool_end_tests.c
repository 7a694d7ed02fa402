#include "pool_testing.h"

#include <CScheduler/statistics.h>

#include <unistd.h>

// MARK: stop

static void stop_inside(probe *probe) {
  csched_pool_stop(probe->context, CSCHED_STOP_RUN);
  csched_pool_stop(probe->context, CSCHED_STOP_RUN);
  CHECK_EQUAL(csched_pool_join(probe->context), EDEADLK);
}

static void pool_ends(void) {
  for (int round = 0; round < 4; round++) {
    bool from_inside = round % 2 != 0;
    csched_stop_policy policy = round < 2 || from_inside ? CSCHED_STOP_RUN : CSCHED_STOP_DROP;
    csched_pool *pool = make_pool(&(csched_pool_options){.name = "ends", .workers = 1, .most_threads = 1});
    probe queued[10], far, refused, stopper;
    pool_gate gate;
    pool_gate_close(&gate, pool, 1);
    probe_init(&stopper, stop_inside, pool);
    if (from_inside) post(pool, CSCHED_PRIORITY_HIGH, &stopper);
    for (int i = 0; i < 10; i++) {
      probe_init(&queued[i], NULL, NULL);
      post(pool, (csched_priority)(i % 4), &queued[i]);
    }
    probe_init(&far, NULL, NULL);
    CHECK_EQUAL(csched_target_submit_at(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), &far.timer,
                                        csched_now() + 60000 * MS, 0),
                0);
    if (!from_inside) csched_pool_stop(pool, policy);
    if (!from_inside) csched_pool_stop(pool, policy);
    pool_gate_open(&gate);
    CHECK_EQUAL(csched_pool_join(pool), 0);
    CHECK_EQUAL(csched_pool_join(pool), 0);
    for (int i = 0; i < 10; i++) CHECK_PROBE(&queued[i], policy == CSCHED_STOP_RUN, policy == CSCHED_STOP_DROP);
    CHECK_PROBE(&far, 0, 1);
    probe_init(&refused, NULL, NULL);
    CHECK_EQUAL(csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_LOW), job_of(&refused)), ECANCELED);
    CHECK_PROBE(&refused, 0, 1);
    probe_init(&refused, NULL, NULL);
    CHECK_EQUAL(csched_target_submit_at(csched_pool_target(pool, CSCHED_PRIORITY_LOW), &refused.timer, csched_now(), 0),
                ECANCELED);
    CHECK_PROBE(&refused, 0, 1);
    // A thread that has been joined may be in the system's list a moment longer, above all in an emulator's.
    CHECK_SOON(ctest_threads_named("ends-1") + ctest_threads_named("ends-0") == 0);
    csched_pool_destroy(pool);
  }
}

// F5, F7, X1, X2, X3
TEST("a pool ends by stop from outside, from inside, twice") { pool_ends(); }

// `first`, and then the other policy: to drop wins, whichever comes first.
static void pool_stopped_twice(csched_stop_policy first) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1, .most_threads = 1});
  probe queued[4];
  pool_gate gate;
  pool_gate_close(&gate, pool, 1);
  for (int i = 0; i < 4; i++) {
    probe_init(&queued[i], NULL, NULL);
    post(pool, (csched_priority)i, &queued[i]);
  }
  csched_pool_stop(pool, first);
  csched_pool_stop(pool, first == CSCHED_STOP_RUN ? CSCHED_STOP_DROP : CSCHED_STOP_RUN);
  pool_gate_open(&gate);
  CHECK_EQUAL(csched_pool_join(pool), 0);
  for (int i = 0; i < 4; i++) CHECK_PROBE(&queued[i], 0, 1);
  csched_pool_destroy(pool);
}

TEST("a pool that is stopped by both policies drops what it has") { // X1, X2
  pool_stopped_twice(CSCHED_STOP_RUN);
  pool_stopped_twice(CSCHED_STOP_DROP);
}

TEST("join on a pool's own thread is refused") { // X2, X3
  csched_pool *pool = make_pool(NULL);
  probe stopper;
  probe_init(&stopper, stop_inside, pool);
  post(pool, CSCHED_PRIORITY_DEFAULT, &stopper);
  CHECK_EQUAL(csched_pool_join(pool), 0);
  CHECK_PROBE(&stopper, 1, 0);
  csched_pool_destroy(pool);
}

typedef struct race {
  csched_pool *pool;
  probe probes[3][32];
  csched_stop_policy policy;
  atomic_int refused;
} race;

static void submit_or_stop(int index, void *context) {
  race *test = context;
  if (index == 3) {
    csched_pool_stop(test->pool, test->policy);
    csched_pool_join(test->pool);
    return;
  }
  for (int i = 0; i < 32; i++) {
    probe *each = &test->probes[index][i];
    int result = i % 8 == 3
                     ? csched_target_submit_at(csched_pool_target(test->pool, (csched_priority)(i % 4)), &each->timer,
                                               csched_now() + 20 * US, 0)
                     : csched_target_submit(csched_pool_target(test->pool, (csched_priority)(i % 4)), job_of(each));
    if (result != 0) atomic_fetch_add(&test->refused, 1);
  }
}

static void pool_stop_races(int rounds, csched_stop_policy policy) {
  race *test = calloc(1, sizeof *test);
  for (int round = 0; round < rounds; round++) {
    *test = (race){.pool = make_pool(&(csched_pool_options){.workers = 2}), .policy = policy};
    for (int i = 0; i < 3 * 32; i++) probe_init(&test->probes[i / 32][i % 32], NULL, NULL);
    crew_run(4, submit_or_stop, test);
    csched_pool_destroy(test->pool);
    int drops = 0;
    for (int i = 0; i < 3 * 32; i++) {
      probe *each = &test->probes[i / 32][i % 32];
      int dropped = atomic_load(&each->drops);
      CHECK_PROBE(each, 1 - dropped, dropped);
      if (i % 8 != 3) drops += dropped; // a timer may be dropped after it was taken
    }
    if (policy == CSCHED_STOP_RUN) CHECK(drops <= atomic_load(&test->refused));
  }
  free(test);
}

TEST("nothing submitted is lost across a pool's stop") { // F5, F7, MN4, X1, X2
  pool_stop_races(times(300), CSCHED_STOP_RUN);
  pool_stop_races(times(300), CSCHED_STOP_DROP);
}

static void exit_thread(probe *probe) {
  (void)probe;
  pthread_exit(NULL);
}

// With as many threads as workers, the exiting thread may have to continue. With more threads, another replaces it.
static void exit_inside(int rounds, size_t most) {
  csched_pool *pool = make_pool(&(csched_pool_options){.name = "exits", .workers = 2, .most_threads = most});
  static probe exiting[200];
  if (rounds > 200) rounds = 200;
  for (int i = 0; i < rounds; i++) {
    probe after[2];
    probe_init(&exiting[i], exit_thread, NULL);
    post(pool, CSCHED_PRIORITY_DEFAULT, &exiting[i]);
    for (int j = 0; j < 2; j++) {
      probe_init(&after[j], NULL, NULL);
      post(pool, CSCHED_PRIORITY_DEFAULT, &after[j]);
    }
    for (int j = 0; j < 2; j++) CHECK_SOON(atomic_load(&after[j].releases) == 1);
  }
  pool_gate gate;
  pool_gate_close(&gate, pool, 2); // both are there
  pool_gate_open(&gate);
  end_pool(pool, CSCHED_STOP_RUN);
  CHECK_SOON(ctest_threads_named("exits-1") + ctest_threads_named("exits-2") == 0); // as above
}

static void pool_exits_inside(int rounds) {
  for (size_t most = 2; most <= 4; most += 2) exit_inside(rounds, most);
}

// WK2, WK3
TEST("pthread_exit inside a job does not cost the pool a worker") { pool_exits_inside(100); }

// MARK: creation

static void read_name(probe *probe) { pthread_getname_np(pthread_self(), probe->context, 16); }

static void pool_named(const char *name, const char *shown) {
  char found[16] = "", inherited[16] = "";
  pthread_getname_np(pthread_self(), inherited, sizeof inherited);
  csched_pool *pool = make_pool(&(csched_pool_options){.name = name, .workers = 1, .most_threads = 1});
  probe probe;
  probe_init(&probe, read_name, found);
  post(pool, CSCHED_PRIORITY_DEFAULT, &probe);
  end_pool(pool, CSCHED_STOP_RUN);
  if (strcmp(found, shown != NULL ? shown : inherited) != 0) test_fail(HERE, found);
}

TEST("a pool's threads are numbered, and their name is cut before the number") {
  static char long_name[4097];
  memset(long_name, 'x', sizeof long_name - 1);
  pool_named("", NULL);
  pool_named("short", "short-1");
  pool_named("exactly-fifteen", "exactly-fifte-1");
  pool_named("sixteen-bytes-xx", "sixteen-bytes-1");
  pool_named("twelve-bytesé", "twelve-bytes-1");
  pool_named(long_name, "xxxxxxxxxxxxx-1");
}

static void pool_absurd_stacks(void) {
  csched_pool *const untouched = (csched_pool *)(uintptr_t)16;
  const size_t huge[] = {SIZE_MAX, SIZE_MAX - 4096, SIZE_MAX / 2};
  for (int i = 0; i < 3; i++) {
    csched_pool *pool = untouched;
    int error = csched_pool_create(&pool, &(csched_pool_options){.name = "absurd", .stack_size = huge[i]});
    CHECK(error == EAGAIN || error == ENOMEM);
    CHECK(pool == untouched);
  }
  CHECK_EQUAL(ctest_threads_named("absurd-1"), 0);
}

TEST_UNLESS(SANITIZERS | HELGRIND, "they stop at such a size, or at a thread that cannot be made",
            "a pool that cannot have a thread is an error, because of an absurd stack size") {
  pool_absurd_stacks();
}

// MARK: spawn and join

typedef struct sum {
  csched_job job;
  int n;
  int64_t result;
  bool in_order;
} sum;

static int64_t fib(int n, bool in_order);
static void run_fib(csched_job *job) {
  sum *sum = (struct sum *)job;
  sum->result = fib(sum->n, sum->in_order);
}
static void never_dropped(csched_job *job) {
  (void)job;
  test_fail(HERE, "a forked job was dropped");
}
static const csched_job_type fib_type = {run_fib, never_dropped, NULL};

static int64_t fib(int n, bool in_order) {
  if (n < 2) return n;
  sum sums[2];
  csched_fork forks[2];
  for (int i = 0; i < 2; i++) {
    csched_job_init(&sums[i].job, &fib_type, NULL);
    sums[i].n = n - 1 - i;
    sums[i].in_order = in_order;
    csched_pool_fork(&forks[i], &sums[i].job);
  }
  csched_pool_wait(&forks[in_order ? 1 : 0]); // out of order: the later fork lies above
  csched_pool_wait(&forks[in_order ? 0 : 1]);
  return sums[0].result + sums[1].result;
}

static void start_fib(probe *probe) {
  csched_target *before = csched_target_current();
  CHECK_EQUAL(fib(probe->id, true), fib(probe->id, false));
  CHECK(csched_target_current() == before);
}

static void pool_fib(int n, int jobs, int workers) {
  CHECK_EQUAL(fib(10, true), 55); // outside of a pool
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = (size_t)workers});
  probe probes[16];
  for (int i = 0; i < jobs; i++) {
    probe_init(&probes[i], start_fib, NULL);
    probes[i].id = n;
    post(pool, (csched_priority)(i % 4), &probes[i]);
  }
  end_pool(pool, CSCHED_STOP_RUN);
  for (int i = 0; i < jobs; i++) CHECK_PROBE(&probes[i], 1, 0);
}

TEST("forks nested in forks do not deadlock") { // DQ1, DQ2, FJ3, FJ4
  static const int workers[] = {1, 2, 6};
  for (int i = 0; i < 3; i++) pool_fib(14, 16, workers[i]);
}

static void fib_here(void *unused) {
  (void)unused;
  pool_fib(12, 4, 3);
}

static void pool_fib_on_one_processor(void) { ctest_on_one_processor(fib_here, NULL); }

// FJ3, FJ4
TEST("one processor runs everything, forked jobs, too") { pool_fib_on_one_processor(); }

typedef struct long_fork {
  probe outer;
  csched_job inner;
  atomic_int begun, ended;
} long_fork;

static void take_long(csched_job *job) {
  long_fork *test = job->context;
  atomic_store(&test->begun, 1);
  nap(20 * MS);
  atomic_store(&test->ended, 1);
}
static const csched_job_type long_type = {take_long, never_dropped, NULL};

static void fork_long(probe *probe) {
  long_fork *test = probe->context;
  csched_fork fork;
  csched_job_init(&test->inner, &long_type, test);
  csched_pool_fork(&fork, &test->inner);
  WAIT_WHILE(!atomic_load(&test->begun)); // a thief has it
  int64_t used = ctest_thread_processor_time(ctest_thread_id());
  csched_pool_wait(&fork);
  CHECK(atomic_load(&test->ended));
  CHECK(ctest_thread_processor_time(ctest_thread_id()) - used < (int64_t)(10 * MS));
}

static void pool_wait_sleeps(void) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2});
  long_fork test = {0};
  csched_statistics found;
  probe_init(&test.outer, fork_long, &test);
  CHECK_EQUAL(csched_statistics_begin(), 0);
  post(pool, CSCHED_PRIORITY_DEFAULT, &test.outer);
  CHECK_SOON(atomic_load(&test.ended) != 0);
  csched_target_statistics(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), &found);
  CHECK_EQUAL(found.steals, 1);
  csched_statistics_end();
  end_pool(pool, CSCHED_STOP_RUN);
  CHECK_PROBE(&test.outer, 1, 0);
}

// FJ3, FJ4
TEST_UNLESS(DRD, "it bounds processor time, most of which is the tool's", "a wait sleeps until the thief has done") {
  pool_wait_sleeps();
}

// Two jobs that fork. The first waits for `stolen`, which another worker has, while the fork of the second has not
// started.
typedef struct two_forkers {
  probe waiter, stranger;
  csched_job stolen, own, foreign;
  csched_lock lock; // the waiter holds it, and `foreign` asks for it
  csched_serial *queue;
  atomic_int is_stolen, is_forked, is_over, foreign_runs, foreign_inside; // inside: of the waiter's queue
  atomic_uint waiter_thread, own_thread;                                  // numbers of the system
} two_forkers;

static void note_own(csched_job *job) { atomic_store(&((two_forkers *)job->context)->own_thread, ctest_thread_id()); }
static const csched_job_type own_type = {note_own, never_dropped, NULL};

static void run_foreign(csched_job *job) {
  two_forkers *test = job->context;
  if (csched_target_is_inside(csched_serial_target(test->queue))) {
    atomic_fetch_add(&test->foreign_inside, 1);
    return;
  }
  csched_lock_lock(&test->lock);
  csched_lock_unlock(&test->lock);
  atomic_fetch_add(&test->foreign_runs, 1);
}
static const csched_job_type foreign_type = {run_foreign, never_dropped, NULL};

static void fork_foreign(probe *probe) {
  two_forkers *test = probe->context;
  csched_fork fork;
  csched_job_init(&test->foreign, &foreign_type, test);
  csched_pool_fork(&fork, &test->foreign);
  atomic_store(&test->is_forked, 1);
  WAIT_WHILE(!atomic_load(&test->is_over));
  csched_pool_wait(&fork);
}

static void end_when_the_waiter_sleeps(csched_job *job) {
  two_forkers *test = job->context;
  atomic_store(&test->is_stolen, 1);
  WAIT_WHILE(atomic_load(&test->waiter_thread) == 0);
  WAIT_WHILE(!ctest_thread_sleeps(atomic_load(&test->waiter_thread)) && atomic_load(&test->foreign_runs) == 0 &&
             atomic_load(&test->foreign_inside) == 0);
}
static const csched_job_type ending_type = {end_when_the_waiter_sleeps, never_dropped, NULL};

static void wait_in_a_queue(probe *probe) {
  two_forkers *test = probe->context;
  csched_fork fork;
  csched_lock_lock(&test->lock);
  csched_job_init(&test->stolen, &ending_type, test);
  csched_pool_fork(&fork, &test->stolen);
  WAIT_WHILE(!atomic_load(&test->is_stolen) || !atomic_load(&test->is_forked));
  atomic_store(&test->waiter_thread, ctest_thread_id());
  csched_pool_wait(&fork);
  CHECK_EQUAL(atomic_load(&test->foreign_runs) + atomic_load(&test->foreign_inside), 0);
  csched_lock_unlock(&test->lock);
  atomic_store(&test->is_over, 1);
}

static void pool_wait_runs_no_stranger(void) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 3, .most_threads = 3});
  static two_forkers test;
  CHECK_EQUAL(csched_serial_create(&test.queue, csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT)), 0);
  probe_init(&test.waiter, wait_in_a_queue, &test);
  probe_init(&test.stranger, fork_foreign, &test);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(test.queue), job_of(&test.waiter)), 0);
  CHECK_SOON(atomic_load(&test.is_stolen) != 0);
  post(pool, CSCHED_PRIORITY_DEFAULT, &test.stranger); // now all three workers have a job
  CHECK_SOON(atomic_load(&test.waiter.releases) == 1 && atomic_load(&test.stranger.releases) == 1);
  CHECK_EQUAL(atomic_load(&test.foreign_runs), 1);
  CHECK_EQUAL(atomic_load(&test.foreign_inside), 0);
  csched_serial_destroy(test.queue);
  end_pool(pool, CSCHED_STOP_RUN);
}

// FJ4, FJ6
TEST("a wait for a forked job runs no fork of another job") { pool_wait_runs_no_stranger(); }

static void fork_and_leave_to_the_waiter(csched_job *job) {
  two_forkers *test = job->context;
  csched_fork fork;
  csched_job_init(&test->own, &own_type, test);
  csched_pool_fork(&fork, &test->own);
  atomic_store(&test->is_stolen, 1);
  WAIT_WHILE(atomic_load(&test->own_thread) == 0); // the two workers are busy, so the waiter has to run it
  csched_pool_wait(&fork);
}
static const csched_job_type leaving_type = {fork_and_leave_to_the_waiter, never_dropped, NULL};

static void wait_and_help(probe *probe) {
  two_forkers *test = probe->context;
  csched_fork fork;
  csched_job_init(&test->stolen, &leaving_type, test);
  csched_pool_fork(&fork, &test->stolen);
  WAIT_WHILE(!atomic_load(&test->is_stolen));
  csched_pool_wait(&fork);
  CHECK_EQUAL(atomic_load(&test->own_thread), ctest_thread_id());
}

static void pool_wait_helps(void) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2, .most_threads = 2});
  static two_forkers test;
  probe_init(&test.waiter, wait_and_help, &test);
  post(pool, CSCHED_PRIORITY_DEFAULT, &test.waiter);
  CHECK_SOON(atomic_load(&test.waiter.releases) == 1);
  end_pool(pool, CSCHED_STOP_RUN);
}

// DQ4, FJ4, FJ6
TEST("a wait for a stolen job runs what that job has forked") { pool_wait_helps(); }

static void fork_many(probe *probe) { // more than a deque holds
  enum { MANY = 500 };
  static sum sums[MANY];
  static csched_fork forks[MANY];
  (void)probe;
  for (int i = 0; i < MANY; i++) {
    csched_job_init(&sums[i].job, &fib_type, NULL);
    sums[i].n = 5;
    sums[i].in_order = true;
    csched_pool_fork(&forks[i], &sums[i].job);
  }
  for (int i = 0; i < MANY; i++) {
    csched_pool_wait(&forks[i]);
    CHECK_EQUAL(sums[i].result, 5);
  }
}

static void pool_fork_many(void) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2});
  probe probe;
  probe_init(&probe, fork_many, NULL);
  post(pool, CSCHED_PRIORITY_BACKGROUND, &probe);
  end_pool(pool, CSCHED_STOP_RUN);
  CHECK_PROBE(&probe, 1, 0);
}

TEST("forked jobs compute what plain calls do") { // DQ1, DQ2, DQ3, FJ1, FJ3
  pool_fib(16, 4, 0);
  pool_fib(12, 4, 2);
  pool_fork_many();
}

// MARK: misuse and limits

static void destroy_own(probe *probe) { csched_pool_destroy(probe->context); }

TEST_STOPS("a pool that is destroyed on its own thread stops the process",
           "csched_pool_destroy:", "destroy it elsewhere") {
  csched_pool *pool = make_pool(NULL);
  probe probe;
  probe_init(&probe, destroy_own, pool);
  post(pool, CSCHED_PRIORITY_DEFAULT, &probe);
  csched_pool_join(pool);
}

// A pool that cannot have a thread is an error, and one with a single thread works.
static void pool_without_threads(void) {
  struct rlimit limit = {0, 0};
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 4}), *other = NULL;
  bool is_root = setgid(65534) != 0 || setuid(65534) != 0; // root is not limited
  if (setrlimit(RLIMIT_NPROC, &limit) != 0 || is_root) {
    end_pool(pool, CSCHED_STOP_RUN);
    return;
  }
  CHECK_EQUAL(csched_pool_create(&other, NULL), EAGAIN);
  CHECK(other == NULL);
  probe probes[100], late;
  for (int i = 0; i < 100; i++) {
    probe_init(&probes[i], NULL, NULL);
    post(pool, CSCHED_PRIORITY_DEFAULT, &probes[i]);
  }
  probe_init(&late, NULL, NULL); // the thread that keeps the time is there
  csched_target *target = csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT);
  CHECK_EQUAL(csched_target_submit_at(target, &late.timer, csched_now() + MS, 0), 0);
  CHECK_SOON(atomic_load(&late.releases) == 1);
  end_pool(pool, CSCHED_STOP_RUN);
  for (int i = 0; i < 100; i++) CHECK_PROBE(&probes[i], 1, 0);
  CHECK_PROBE(&late, 1, 0);
}

TEST_UNLESS(HELGRIND | ADDRESS_SANITIZER, "they stop at a thread that cannot be made, as their own",
            "a pool that cannot have a thread is an error") { // X4
  pool_without_threads();
}
