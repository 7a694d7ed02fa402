#include "fork_testing.h"
#include "pool_testing.h"
#include "waiting_testing.h"

#include <signal.h>

// Semaphores, latches, and tests of all waits: workers, forks, signals, misuse.

// MARK: units

typedef struct sharing {
  csched_semaphore semaphore;
  int units, rounds;
  uint64_t seed;
  bool timed;
  atomic_int inside, gave_up;
  int64_t guarded; // by the one unit, if it is one
} sharing;

static void share(int index, void *context) {
  sharing *test = context;
  uint64_t seed = test->seed + (uint64_t)index;
  for (int i = 0; i < test->rounds; i++) {
    csched_time deadline = csched_now() + chance_below(&seed, 100 * US);
    if (test->timed && !csched_semaphore_wait_until(&test->semaphore, deadline)) {
      CHECK(csched_now() >= deadline);
      atomic_fetch_add(&test->gave_up, 1);
      continue;
    }
    if (!test->timed) csched_semaphore_wait(&test->semaphore);
    CHECK(atomic_fetch_add(&test->inside, 1) < test->units);
    if (test->units == 1) test->guarded++;
    if (i % 8 == 0) burn(5 * US);
    atomic_fetch_sub(&test->inside, 1);
    csched_semaphore_signal(&test->semaphore, 1);
  }
}

static void semaphore_shares(int threads, int units, int rounds, bool timed, uint64_t seed) {
  sharing test = {.units = units, .rounds = rounds, .seed = seed, .timed = timed};
  csched_semaphore_init(&test.semaphore, (uint32_t)units);
  crew_run(threads, share, &test);
  CHECK_EQUAL(csched_semaphore_units(&test.semaphore), units); // none is lost, and none too many
  if (units == 1) CHECK_EQUAL(test.guarded + atomic_load(&test.gave_up), (int64_t)threads * rounds);
  CHECK_EQUAL(waiters_of(&test.semaphore), 0);
  csched_semaphore_destroy(&test.semaphore);
}

TEST("a semaphore's units are taken once each") { // SM1, SM2, SM5
  semaphore_shares(2, 1, times(2000), false, seed());
  semaphore_shares(8, 1, times(2000), false, seed());
  semaphore_shares(8, 3, times(2000), false, seed());
}

typedef struct on_one {
  int threads, rounds;
  uint64_t seed;
} on_one;

static void share_on_one(void *context) {
  on_one *one = context;
  semaphore_shares(one->threads, 1, one->rounds, false, one->seed);
}

static void semaphore_on_one_processor(int threads, int rounds, uint64_t seed) {
  on_one one = {threads, rounds, seed};
  ctest_on_one_processor(share_on_one, &one);
}

TEST("a semaphore's units are taken once each, on one processor") {
  semaphore_on_one_processor(4, times(2000), seed());
}

enum { MOST = 32 };
typedef struct line {
  csched_semaphore semaphore;
  atomic_int served;
  int order[MOST];
} line;

static void stand_in_line(int index, void *context) {
  line *line = context;
  WAIT_WHILE(waiters_of(&line->semaphore) != index);
  csched_semaphore_wait(&line->semaphore);
  int at = atomic_load(&line->served); // served one at a time
  line->order[at] = index;
  atomic_store(&line->served, at + 1);
}

static void semaphore_order(int waiters) {
  static line line;
  line = (struct line){.served = 0};
  crew crew;
  crew_start(&crew, waiters, stand_in_line, &line);
  CHECK_SOON(waiters_of(&line.semaphore) == waiters);
  CHECK(!csched_semaphore_trywait(&line.semaphore));
  for (int i = 0; i < waiters; i++) {
    csched_semaphore_signal(&line.semaphore, 1);
    CHECK(!csched_semaphore_trywait(&line.semaphore)); // handed over: no thread overtakes the waiters
    CHECK_SOON(atomic_load(&line.served) == i + 1);
  }
  crew_join(&crew);
  for (int i = 0; i < waiters; i++) CHECK_EQUAL(line.order[i], i);
  csched_semaphore_signal(&line.semaphore, 3);
  csched_semaphore_signal(&line.semaphore, 0);
  CHECK_EQUAL(csched_semaphore_units(&line.semaphore), 3);
}

TEST("a semaphore serves in the order of arrival") { // SM2, SM3
  semaphore_order(8);
  semaphore_order(16);
}

static void semaphore_timed(void) {
  csched_semaphore semaphore = CSCHED_SEMAPHORE_INIT;
  static const csched_time waits[] = {0, 50000, 1000000, 20000000};
  for (int i = 0; i < 4; i++) {
    csched_time deadline = csched_now() + waits[i];
    CHECK(!csched_semaphore_wait_until(&semaphore, deadline));
    CHECK(csched_now() >= deadline);
    CHECK_EQUAL(waiters_of(&semaphore), 0);
  }
  csched_semaphore_signal(&semaphore, CSCHED_SEMAPHORE_MOST);
  CHECK(csched_semaphore_wait_until(&semaphore, 0)); // a deadline in the past is a trywait
  CHECK(csched_semaphore_wait_until(&semaphore, CSCHED_FOREVER));
  CHECK_EQUAL(csched_semaphore_units(&semaphore), CSCHED_SEMAPHORE_MOST - 2);
}

TEST("a timed wait for a semaphore gives up and loses no unit") { // SM1, SM4
  semaphore_timed();
  semaphore_shares(2, 1, times(2000), true, seed());
  semaphore_shares(8, 1, times(2000), true, seed());
  semaphore_shares(8, 3, times(2000), true, seed());
}

static void get_and_free(int index, void *context) {
  csched_semaphore *semaphore = context;
  (void)index;
  csched_semaphore_wait(semaphore);
  free(semaphore);
}

static void semaphore_freed_by_taker(int rounds) {
  for (int i = 0; i < rounds; i++) {
    csched_semaphore *semaphore = calloc(1, sizeof *semaphore);
    crew crew;
    crew_start(&crew, 1, get_and_free, semaphore);
    if (i % 2 == 0) WAIT_WHILE(waiters_of(semaphore) == 0);
    csched_semaphore_signal(semaphore, 1);
    crew_join(&crew);
  }
}

// SM6
TEST("a semaphore may be freed by the thread that gets the last unit") { semaphore_freed_by_taker(times(1000)); }

// MARK: latches

typedef struct opening {
  csched_latch latch;
  int counters;
  int64_t written[MOST]; // each by one counting thread
} opening;

static void count_or_pass(int index, void *context) {
  opening *test = context;
  if (index < test->counters) {
    test->written[index] = index + 1;
    csched_latch_count_down(&test->latch, 1);
    return;
  }
  if (index % 2 == 0) csched_latch_wait(&test->latch);
  else CHECK(csched_latch_wait_until(&test->latch, csched_now() + 60000 * MS));
  CHECK_EQUAL(csched_latch_count(&test->latch), 0);
  for (int i = 0; i < test->counters; i++) CHECK_EQUAL(test->written[i], i + 1);
}

static void latch_opens(int counters, int waiters, int rounds) {
  for (int round = 0; round < rounds; round++) {
    opening test = {.counters = counters};
    csched_latch_init(&test.latch, (uint32_t)counters);
    crew_run(counters + waiters, count_or_pass, &test);
    CHECK(csched_latch_wait_until(&test.latch, 0)); // for good
    csched_latch_count_down(&test.latch, 0);
    csched_latch_destroy(&test.latch);
  }
}

TEST("a latch opens once, and all pass") { // LT1, LT2, LT3
  latch_opens(4, 4, times(100));
  latch_opens(1, 8, times(100));
}

// The last count meets the wait at each of its steps: one thread waits, the other counts down after a pause of its own
// each round.
typedef struct closing {
  int rounds;
  csched_latch latch;
  atomic_int arrived;
} closing;

static void meet(closing *test, int count) {
  atomic_fetch_add(&test->arrived, 1);
  while (atomic_load(&test->arrived) < count) sched_yield();
}

static void wait_or_count(int index, void *context) {
  closing *test = context;
  for (int i = 0; i < test->rounds; i++) {
    if (index == 0) csched_latch_init(&test->latch, 1);
    meet(test, i * 4 + 2);
    if (index == 0) CHECK(csched_latch_wait_until(&test->latch, csched_now() + 60000 * MS));
    for (csched_time end = csched_now() + (csched_time)(i % 100) * 100; index != 0 && csched_now() < end;) {}
    if (index != 0) csched_latch_count_down(&test->latch, 1);
    meet(test, i * 4 + 4);
  }
}

static void latch_closing(int rounds) {
  closing test = {.rounds = rounds};
  crew_run(2, wait_or_count, &test);
}

TEST("the last count of a latch wakes a waiter that is just going to sleep") { latch_closing(times(20000)); }

static void latch_timed(void) {
  csched_latch latch = CSCHED_LATCH_INIT;
  CHECK(csched_latch_wait_until(&latch, 0)); // open from the beginning
  csched_latch_init(&latch, CSCHED_LATCH_MOST);
  static const csched_time waits[] = {0, 50000, 1000000, 20000000};
  for (int i = 0; i < 4; i++) {
    csched_time deadline = csched_now() + waits[i];
    CHECK(!csched_latch_wait_until(&latch, deadline));
    CHECK(csched_now() >= deadline);
    CHECK_EQUAL(waiters_of(&latch), 0);
  }
  csched_latch_count_down(&latch, CSCHED_LATCH_MOST);
  CHECK_EQUAL(csched_latch_count(&latch), 0);
}

// LT1, LT4
TEST("a timed wait for a latch gives up") { latch_timed(); }

static void pass_and_free(int index, void *context) {
  csched_latch *latch = context;
  (void)index;
  csched_latch_wait(latch);
  free(latch);
}

static void latch_freed_by_passer(int rounds) {
  for (int i = 0; i < rounds; i++) {
    csched_latch *latch = calloc(1, sizeof *latch);
    csched_latch_init(latch, 1);
    crew crew;
    crew_start(&crew, 1, pass_and_free, latch);
    if (i % 2 == 0) WAIT_WHILE(waiters_of(latch) == 0);
    csched_latch_count_down(latch, 1);
    crew_join(&crew);
  }
}

// LT5
TEST("a latch may be freed by the first to pass") { latch_freed_by_passer(times(1000)); }

// MARK: workers

static struct {
  csched_lock lock;
  csched_cond cond;
  csched_semaphore semaphore;
  csched_latch latch;
  bool is_ready; // guarded
} all;

static void reset_all(void) {
  memset(&all, 0, sizeof all);
  csched_latch_init(&all.latch, 1);
}

static void wait_for_all(probe *probe) {
  (void)probe;
  csched_lock_lock(&all.lock);
  while (!all.is_ready) csched_cond_wait(&all.cond, &all.lock);
  csched_lock_unlock(&all.lock);
  csched_semaphore_wait(&all.semaphore);
  csched_latch_wait(&all.latch);
}

static void end_waits(probe *probe) {
  (void)probe;
  csched_lock_lock(&all.lock);
  all.is_ready = true;
  csched_lock_unlock(&all.lock);
  csched_cond_broadcast(&all.cond);
  csched_semaphore_signal(&all.semaphore, 8);
  csched_latch_count_down(&all.latch, 1);
}

static void waits_on_workers(void) {
  reset_all();
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2, .most_threads = 16});
  probe waiters[8], last;
  for (int i = 0; i < 8; i++) {
    probe_init(&waiters[i], wait_for_all, NULL);
    post(pool, CSCHED_PRIORITY_DEFAULT, &waiters[i]);
  }
  CHECK_SOON(waiters_of(&all.cond) == 8);
  probe_init(&last, end_waits, NULL);
  post(pool, CSCHED_PRIORITY_DEFAULT, &last);
  end_pool(pool, CSCHED_STOP_RUN);
  for (int i = 0; i < 8; i++) CHECK_PROBE(&waiters[i], 1, 0);
  CHECK_PROBE(&last, 1, 0);
}

TEST("workers that wait leave their places to others") { waits_on_workers(); }

TEST("zero is a condition, a lock, a semaphore and a latch of their sizes") {
  CHECK_EQUAL(sizeof(csched_cond), 8);
  CHECK_EQUAL(sizeof(csched_rlock), 8);
  CHECK_EQUAL(sizeof(csched_semaphore), 4);
  CHECK_EQUAL(sizeof(csched_latch), 4);
}

// MARK: forks

static void wait_for_one(int index, void *context) {
  (void)context;
  if (index == 0) wait_for_all(NULL);
  else if (index == 1) csched_semaphore_wait(&all.semaphore);
  else csched_latch_wait(&all.latch);
}

static void use_in_child(void *context) {
  (void)context;
  csched_cond_destroy(&all.cond); // no thread waits
  csched_semaphore_destroy(&all.semaphore);
  csched_latch_destroy(&all.latch);
  CHECK(!csched_semaphore_wait_until(&all.semaphore, csched_now() + MS));
  csched_semaphore_signal(&all.semaphore, 2);
  CHECK_EQUAL(csched_semaphore_units(&all.semaphore), 2); // the parent's sleepers take none
  csched_lock other = CSCHED_LOCK_INIT;
  csched_lock_lock(&other);
  CHECK(!csched_cond_wait_until(&all.cond, &other, csched_now() + MS)); // whose lock counted are not here
  csched_lock_unlock(&other);
  csched_cond_broadcast(&all.cond);
  CHECK_EQUAL(csched_latch_count(&all.latch), 1);
  csched_latch_count_down(&all.latch, 1);
  csched_latch_wait(&all.latch);
}

static void fork_waits(void) {
  reset_all();
  crew crew;
  crew_start(&crew, 3, wait_for_one, NULL);
  CHECK_SOON(waiters_of(&all.cond) == 1 && waiters_of(&all.semaphore) == 1 && waiters_of(&all.latch) == 1);
  CHECK_CHILD(use_in_child, NULL);
  end_waits(NULL);
  crew_join(&crew);
}

TEST_UNLESS(THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND, "tools do not follow a process with threads into its child",
            "after fork no thread waits, and units and counts are there") { // CV8, LT7, SM8
  fork_waits();
}

// MARK: signals

static void ignore(int number) { (void)number; }

static void wait_long(int index, void *context) {
  (void)index;
  csched_time deadline = csched_now() + 50 * MS;
  CHECK(!csched_semaphore_wait_until(context, deadline));
  CHECK(csched_now() >= deadline);
}

static void semaphore_interrupted(int signals) {
  struct sigaction action = {.sa_handler = ignore}, before; // without SA_RESTART
  sigaction(SIGUSR2, &action, &before);
  csched_semaphore semaphore = CSCHED_SEMAPHORE_INIT;
  crew crew;
  crew_start(&crew, 1, wait_long, &semaphore);
  for (int i = 0; i < signals; i++) {
    pthread_kill(crew.threads[0], SIGUSR2);
    nap(10 * US);
  }
  crew_join(&crew);
  sigaction(SIGUSR2, &before, NULL);
}

TEST("a signal handler does not end the wait for a semaphore") { semaphore_interrupted(times(200)); }

// MARK: misuse, which ends the process

static void wait_as_other(int index, void *context) {
  (void)context;
  pthread_setname_np(pthread_self(), "waiter");
  wait_for_one(index, NULL);
}

static void wait_for_others(void) {
  static crew crew;
  reset_all();
  crew_start(&crew, 3, wait_as_other, NULL);
  WAIT_WHILE(waiters_of(&all.cond) + waiters_of(&all.semaphore) + waiters_of(&all.latch) < 3);
}

TEST_STOPS("a wait without the lock stops the process", "csched_cond_wait:", "does not own lock",
           "and then wait with it") { // CV7
  csched_lock other = CSCHED_LOCK_INIT;
  csched_cond_wait(&all.cond, &other);
}

TEST_STOPS("a wait with another lock stops the process", "csched_cond_wait:", "Use one lock with it") { // CV7
  csched_lock other = CSCHED_LOCK_INIT;
  wait_for_others();
  csched_lock_lock(&other);
  csched_cond_wait(&all.cond, &other);
}

TEST_STOPS("a condition that is destroyed with waiters stops the process",
           "csched_cond_destroy:", "(waiter) waits for condition", "Destroy it when") { // CV7
  wait_for_others();
  csched_cond_destroy(&all.cond);
}

TEST_STOPS("a semaphore that is destroyed with waiters stops the process",
           "csched_semaphore_destroy:", "(waiter) waits for semaphore", "Destroy it when") { // SM7
  wait_for_others();
  csched_semaphore_destroy(&all.semaphore);
}

TEST_STOPS("a latch that is destroyed with waiters stops the process",
           "csched_latch_destroy:", "(waiter) waits for latch", "Destroy it when") { // LT6
  wait_for_others();
  csched_latch_destroy(&all.latch);
}

TEST_STOPS("too many units stop the process", "csched_semaphore_signal:", "cannot have 1 more",
           "Signal once for each wait") { // SM7
  csched_semaphore_init(&all.semaphore, CSCHED_SEMAPHORE_MOST);
  csched_semaphore_signal(&all.semaphore, 1);
}

TEST_STOPS("too many units at the beginning stop the process",
           "csched_semaphore_init:", "cannot have 4294967295 more") {
  csched_semaphore_init(&all.semaphore, UINT32_MAX);
}

// LT6
TEST_STOPS("a latch that is counted below zero stops the process", "csched_latch_count_down:", "has 1 left", "by 2") {
  csched_latch_init(&all.latch, 1);
  csched_latch_count_down(&all.latch, 2);
}

TEST_STOPS("a latch that has too much to count stops the process", "csched_latch_init:", "cannot count 4294967295") {
  csched_latch_init(&all.latch, UINT32_MAX);
}

static csched_rlock rlock;
static void unlock_as_other(int index, void *context) {
  (void)index, (void)context;
  pthread_setname_np(pthread_self(), "other");
  csched_rlock_unlock(&rlock);
}

TEST_STOPS("an unlock of a recursive lock by another thread stops the process", "csched_rlock_unlock:", "(other)",
           "Unlock on the thread that locked") {
  csched_rlock_lock(&rlock);
  csched_rlock_lock(&rlock);
  crew_run(1, unlock_as_other, NULL);
}

TEST_STOPS("a recursive lock that is unlocked once too often stops the process",
           "csched_rlock_unlock:", "no thread does") {
  csched_rlock_lock(&rlock);
  csched_rlock_unlock(&rlock);
  csched_rlock_unlock(&rlock);
}

TEST_STOPS("a recursive lock's assert_owner stops the process without an owner",
           "csched_rlock_assert_owner:", "no thread does") {
  csched_rlock_assert_owner(&rlock);
}

TEST_STOPS("a recursive lock's assert_not_owner stops the process for the owner",
           "csched_rlock_assert_not_owner:", "Call this without holding it") {
  csched_rlock_lock(&rlock);
  csched_rlock_assert_not_owner(&rlock);
}

TEST_STOPS("a recursive lock that is locked too often stops the process", "csched_rlock_lock:", "2^32 times",
           "as often as you lock it") {
  csched_rlock_lock(&rlock);
  rlock.again = UINT32_MAX;
  csched_rlock_lock(&rlock);
}
