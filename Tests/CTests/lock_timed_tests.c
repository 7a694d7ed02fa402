#include "testing.h"

#include <signal.h>

static uintptr_t flag_of(const csched_lock *lock) {
  return csched_load_relaxed(&csched_lock_waiter_flags_[csched_lock_hash_(lock)].word);
}

// MARK: timed

typedef struct timed {
  csched_lock lock;
  csched_time wait;
  bool taken;
  csched_time began, ended;
} timed;

static void try_lock_timed(int index, void *context) {
  timed *test = context;
  (void)index;
  test->began = csched_now();
  test->taken = csched_lock_lock_until(&test->lock, csched_time_after(test->began, (int64_t)test->wait));
  test->ended = csched_now();
  if (test->taken) csched_lock_unlock(&test->lock);
}

static void lock_timed(void) {
  static timed test; // static: a lock on the stack might share its waiter flag with another lock
  static const csched_time waits[] = {0, 50000, 1000000, 5000000, 20000000};
  test = (timed){0};
  csched_lock_lock(&test.lock);
  uint32_t owner = test.lock.owner;
  for (int i = 0; i < 5; i++) { // held: gives up, not early, and leaves nothing behind
    test.wait = waits[i];
    crew_run(1, try_lock_timed, &test);
    CHECK(!test.taken);
    CHECK(test.ended - test.began >= test.wait);
    CHECK_EQUAL(test.lock.owner, owner);
    CHECK_SOON(flag_of(&test.lock) == 0);
  }
  test.wait = 60000 * MS;
  crew crew;
  crew_start(&crew, 1, try_lock_timed, &test);
  nap(5 * MS);
  csched_lock_unlock(&test.lock); // released in time: succeeds
  crew_join(&crew);
  CHECK(test.taken);
  CHECK(test.ended - test.began < 60000 * MS);
  CHECK(csched_lock_lock_until(&test.lock, 0)); // a deadline in the past is a trylock
  csched_lock_unlock(&test.lock);
  CHECK(csched_lock_lock_until(&test.lock, CSCHED_FOREVER));
  csched_lock_unlock(&test.lock);
  CHECK_SOON(flag_of(&test.lock) == 0);
}

typedef struct storm {
  csched_lock lock;
  int rounds;
  uint64_t seed;
  int64_t count; // guarded
  atomic_llong taken;
} storm;

static void brave_storm(int index, void *context) {
  storm *test = context;
  uint64_t seed = test->seed + (uint64_t)index;
  for (int i = 0; i < test->rounds; i++) {
    csched_time deadline = csched_now() + chance_below(&seed, 200 * US);
    bool taken = csched_lock_lock_until(&test->lock, deadline);
    if (!taken) {
      CHECK(csched_now() >= deadline);
      continue;
    }
    test->count++;
    burn(chance_below(&seed, 30 * US));
    csched_lock_unlock(&test->lock);
    atomic_fetch_add(&test->taken, 1);
  }
}

static void lock_timed_storm(int threads, int rounds, uint64_t seed) {
  static storm test;
  test = (storm){.rounds = rounds, .seed = seed};
  crew_run(threads, brave_storm, &test);
  CHECK_EQUAL(test.count, atomic_load(&test.taken));
  CHECK_EQUAL(test.lock.owner, 0);
  CHECK_SOON(flag_of(&test.lock) == 0);
}

TEST("a timed lock gives up and leaves nothing behind") { // LK5
  lock_timed();
  lock_timed_storm(8, times(2000), seed());
}

// MARK: hand-off

enum { BARGERS_MOST = 16 };

typedef struct barging {
  csched_lock lock;
  csched_time hold, outside;
  atomic_int is_over;
  atomic_uint ids[BARGERS_MOST];
} barging;

static void barge(int index, void *context) {
  barging *test = context;
  atomic_store(&test->ids[index], ctest_thread_id());
  while (!atomic_load(&test->is_over)) {
    csched_lock_lock(&test->lock);
    burn(test->hold);
    csched_lock_unlock(&test->lock);
    burn(test->outside);
  }
}

// How long the caller and the bargers have been ready to run, and kept from a processor: on a machine with other work
// that may be seconds, which no lock can prevent. A sleeping thread is not ready.
static csched_time kept_from_processors(barging *test, int bargers, int64_t *before) {
  int64_t now = ctest_thread_run_delay(ctest_thread_id());
  for (int i = 0; i < bargers; i++) now += ctest_thread_run_delay(atomic_load(&test->ids[i]));
  csched_time kept = (csched_time)(now - *before);
  *before = now;
  return kept;
}

static void lock_handed_over(int bargers, int hold_us, int outside_us, int turns, int limit_ms) {
  barging test = {.hold = (csched_time)hold_us * US, .outside = (csched_time)outside_us * US};
  int64_t kept = 0;
  crew crew;
  csched_time longest = 0;
  crew_start(&crew, bargers, barge, &test);
  for (int i = 0; i < bargers; i++) CHECK_SOON(atomic_load(&test.ids[i]) != 0);
  for (int i = 0; i < turns; i++) {
    nap(MS);
    kept_from_processors(&test, bargers, &kept);
    csched_time began = csched_now();
    bool taken = csched_lock_lock_until(&test.lock, began + 5000 * MS);
    csched_time waited = csched_now() - began;
    if (taken) csched_lock_unlock(&test.lock);
    csched_time excused = waited > MS ? kept_from_processors(&test, bargers, &kept) : 0;
    waited -= excused < waited ? excused : waited;
    if (waited > longest) longest = waited;
  }
  atomic_store(&test.is_over, 1);
  crew_join(&crew);
  if (longest > (csched_time)limit_ms * MS) CHECK_EQUAL(longest / MS, limit_ms);
}

TEST("a thread that waits long is handed the lock") { // LK7
  lock_handed_over(1, 500, 0, times(100), 4000);
  lock_handed_over(1, 50, 0, times(100), 4000);
  lock_handed_over(2, 1, 0, times(100), 4000);
  lock_handed_over(2, 3, 1, times(100), 4000);
  lock_handed_over(3, 10, 5, times(100), 4000);
}
TEST("a thread that waits long is handed the lock, 16 at once") { lock_handed_over(16, 20, 0, times(100), 4000); }

// Two sleep until either may be due. One is woken, and is some microseconds on its way; the other one is passed
// meanwhile.
typedef struct passing {
  csched_lock lock;
  int entered; // guarded
  _Atomic uint32_t threads[2];
} passing;

static void enter_once(int index, void *context) {
  passing *test = context;
  atomic_store(&test->threads[index], ctest_thread_id());
  csched_lock_lock(&test->lock);
  test->entered++;
  csched_lock_unlock(&test->lock);
}

static bool sleeps(const _Atomic uint32_t *thread) {
  uint32_t id = atomic_load(thread);
  return id != 0 && ctest_thread_sleeps(id);
}

static void lock_passed(int rounds, int limit) {
  static passing test;
  for (int round = 0; round < rounds; round++) {
    crew crew;
    test.lock = (csched_lock)CSCHED_LOCK_INIT;
    test.entered = 0;
    for (int i = 0; i < 2; i++) atomic_store(&test.threads[i], 0);
    csched_lock_lock(&test.lock);
    crew_start(&crew, 2, enter_once, &test);
    CHECK_SOON(sleeps(&test.threads[0]) && sleeps(&test.threads[1]));
    nap(2 * MS);
    csched_lock_unlock(&test.lock);
    int passed = -1;
    for (bool passes = true; passes; passed++) {
      csched_lock_lock(&test.lock);
      passes = test.entered == 0;
      csched_lock_unlock(&test.lock);
    }
    crew_join(&crew);
    if (passed > limit) CHECK_EQUAL(passed, limit);
  }
}

// LK7
TEST("a waiter that has slept for 2 ms is passed by a thread 128 times at the most") { lock_passed(times(200), 128); }

typedef struct on_one {
  int bargers, hold_us, turns, limit_ms;
} on_one;

static void hand_over_on_one(void *context) {
  on_one *one = context;
  lock_handed_over(one->bargers, one->hold_us, 0, one->turns, one->limit_ms);
}

static void lock_handed_over_on_one_processor(int bargers, int hold_us, int turns, int limit_ms) {
  on_one one = {bargers, hold_us, turns, limit_ms};
  ctest_on_one_processor(hand_over_on_one, &one);
}

TEST("a thread that waits long is handed the lock on one processor") {
  lock_handed_over_on_one_processor(1, 200, times(40), 4000);
  lock_handed_over_on_one_processor(4, 200, times(40), 4000);
}

// MARK: signals

static void ignore(int number) { (void)number; }

static void wait_long(int index, void *context) {
  timed *test = context;
  (void)index;
  try_lock_timed(0, test);
}

static void lock_interrupted(int signals) {
  struct sigaction action = {.sa_handler = ignore}, before; // without SA_RESTART
  sigaction(SIGUSR2, &action, &before);
  timed test = {.wait = 50 * MS};
  csched_lock_lock(&test.lock);
  crew crew;
  crew_start(&crew, 1, wait_long, &test);
  nap(2 * MS);
  for (int i = 0; i < signals; i++) {
    pthread_kill(crew.threads[0], SIGUSR2);
    nap(10 * US);
  }
  crew_join(&crew);
  CHECK(!test.taken);
  CHECK(test.ended - test.began >= test.wait);
  csched_lock_unlock(&test.lock);
  sigaction(SIGUSR2, &before, NULL);
}

TEST("a signal does not end the wait for a lock") { lock_interrupted(times(200)); }

// MARK: misuse, which ends the process

static void name_me(const char *name) { pthread_setname_np(pthread_self(), name); }

TEST_STOPS("relock stops the process", "csched_lock_lock:", "(greedy)", "not recursive") { // LK6
  csched_lock lock = CSCHED_LOCK_INIT;
  name_me("greedy");
  csched_lock_lock(&lock);
  csched_lock_lock(&lock);
}

TEST_STOPS("a timed relock stops the process", "csched_lock_lock_until:", "(greedy)", "not recursive") {
  csched_lock lock = CSCHED_LOCK_INIT;
  name_me("greedy");
  csched_lock_lock(&lock);
  csched_lock_lock_until(&lock, csched_now() + MS);
}

static void unlock_as_other(int index, void *context) {
  (void)index;
  name_me("other");
  csched_lock_unlock(context);
}

TEST_STOPS("an unlock by another thread stops the process", "csched_lock_unlock:", "(other)", "(owner)",
           "Unlock on the thread that locked") { // LK6
  csched_lock lock = CSCHED_LOCK_INIT;
  name_me("owner");
  csched_lock_lock(&lock);
  crew_run(1, unlock_as_other, &lock);
}

static void unlock_while_cancelled(int index, void *context) {
  (void)index;
  pthread_cancel(pthread_self()); // takes effect at the next cancellation point
  csched_lock_unlock(context);
}

TEST_STOPS_UNLESS(THREAD_SANITIZER, "it intercepts the cancellation",
                  "misuse on a thread that is being cancelled stops the process",
                  "csched_lock_unlock:", "Unlock on the thread that locked") {
  csched_lock lock = CSCHED_LOCK_INIT;
  csched_lock_lock(&lock);
  crew_run(1, unlock_while_cancelled, &lock);
}

TEST_STOPS("the unlock of an unlocked lock stops the process", "csched_lock_unlock:", "(absentminded)",
           "no thread does") {
  csched_lock lock = CSCHED_LOCK_INIT;
  name_me("absentminded");
  csched_lock_lock(&lock);
  csched_lock_unlock(&lock);
  csched_lock_unlock(&lock);
}

static void assert_as_other(int index, void *context) {
  (void)index;
  name_me("other");
  csched_lock_assert_owner(context);
}

TEST_STOPS("assert_owner stops the process on another thread", "csched_lock_assert_owner:", "(other)", "(owner)") {
  csched_lock lock = CSCHED_LOCK_INIT;
  name_me("owner");
  csched_lock_lock(&lock);
  crew_run(1, assert_as_other, &lock);
}

TEST_STOPS("assert_not_owner stops the process for the owner", "csched_lock_assert_not_owner:", "(greedy)") {
  csched_lock lock = CSCHED_LOCK_INIT;
  name_me("greedy");
  csched_lock_lock(&lock);
  csched_lock_assert_not_owner(&lock);
}
