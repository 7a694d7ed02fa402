#include "kernel.h"

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

static void lock_timed(int index, void *context) {
  timed *test = context;
  (void)index;
  test->began = csched_now();
  test->taken = csched_lock_lock_until(&test->lock, csched_time_after(test->began, (int64_t)test->wait));
  test->ended = csched_now();
  if (test->taken) csched_lock_unlock(&test->lock);
}

ctest_failure ctest_lock_timed(void) {
  KERNEL();
  static timed test; // the waiter flag of a stack address might be shared with somebody else's lock
  static const csched_time waits[] = {0, 50000, 1000000, 5000000, 20000000};
  test = (timed){0};
  csched_lock_lock(&test.lock);
  for (int i = 0; i < 5; i++) { // held: gives up, not early, and leaves nothing behind
    test.wait = waits[i];
    crew_run(1, lock_timed, &test);
    CHECK(!test.taken);
    CHECK(test.ended - test.began >= test.wait);
    CHECK_EQUAL(test.lock.owner, ctest_thread_id());
    CHECK_SOON(flag_of(&test.lock) == 0);
  }
  test.wait = 60000 * MS;
  crew crew;
  crew_start(&crew, 1, lock_timed, &test);
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
  return kernel_result();
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

ctest_failure ctest_lock_timed_storm(int threads, int rounds, uint64_t seed) {
  KERNEL();
  static storm test;
  test = (storm){.rounds = rounds, .seed = seed};
  crew_run(threads, brave_storm, &test);
  CHECK_EQUAL(test.count, atomic_load(&test.taken));
  CHECK_EQUAL(test.lock.owner, 0);
  CHECK_SOON(flag_of(&test.lock) == 0);
  return kernel_result();
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

// How long the caller and the bargers have been ready to run, and kept from a processor: on a machine with other work that may be
// seconds, and no lock can help it. Whoever sleeps is not ready.
static csched_time kept_from_processors(barging *test, int bargers, int64_t *before) {
  int64_t now = ctest_thread_run_delay(ctest_thread_id());
  for (int i = 0; i < bargers; i++) now += ctest_thread_run_delay(atomic_load(&test->ids[i]));
  csched_time kept = (csched_time)(now - *before);
  *before = now;
  return kept;
}

ctest_failure ctest_lock_handed_over(int bargers, int hold_us, int outside_us, int turns, int limit_ms) {
  KERNEL();
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
  return kernel_result();
}

// Two sleep until either may be due. One is woken, and is some microseconds on its way; the other one is passed meanwhile.
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

ctest_failure ctest_lock_passed(int rounds, int limit) {
  KERNEL();
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
  return kernel_result();
}

typedef struct on_one {
  int bargers, hold_us, turns, limit_ms;
  ctest_failure result;
} on_one;

static void hand_over_on_one(void *context) {
  on_one *one = context;
  one->result = ctest_lock_handed_over(one->bargers, one->hold_us, 0, one->turns, one->limit_ms);
}

ctest_failure ctest_lock_handed_over_on_one_processor(int bargers, int hold_us, int turns, int limit_ms) {
  on_one one = {bargers, hold_us, turns, limit_ms, NULL};
  ctest_on_one_processor(hand_over_on_one, &one);
  return one.result;
}

// MARK: signals

static void ignore(int number) { (void)number; }

static void wait_long(int index, void *context) {
  timed *test = context;
  (void)index;
  lock_timed(0, test);
}

ctest_failure ctest_lock_interrupted(int signals) {
  KERNEL();
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
  return kernel_result();
}

// MARK: misuse, which ends the process

static void name_me(const char *name) { pthread_setname_np(pthread_self(), name); }

void ctest_die_relock(void) {
  csched_lock lock = CSCHED_LOCK_INIT;
  name_me("greedy");
  csched_lock_lock(&lock);
  csched_lock_lock(&lock);
}

void ctest_die_relock_timed(void) {
  csched_lock lock = CSCHED_LOCK_INIT;
  name_me("greedy");
  csched_lock_lock(&lock);
  csched_lock_lock_until(&lock, csched_now() + MS);
}

static void unlock_as_stranger(int index, void *context) {
  (void)index;
  name_me("stranger");
  csched_lock_unlock(context);
}

void ctest_die_unlock_by_stranger(void) {
  csched_lock lock = CSCHED_LOCK_INIT;
  name_me("owner");
  csched_lock_lock(&lock);
  crew_run(1, unlock_as_stranger, &lock);
}

void ctest_die_unlock_of_unlocked(void) {
  csched_lock lock = CSCHED_LOCK_INIT;
  name_me("absentminded");
  csched_lock_lock(&lock);
  csched_lock_unlock(&lock);
  csched_lock_unlock(&lock);
}

static void assert_as_stranger(int index, void *context) {
  (void)index;
  name_me("stranger");
  csched_lock_assert_owner(context);
}

void ctest_die_assert_owner(void) {
  csched_lock lock = CSCHED_LOCK_INIT;
  name_me("owner");
  csched_lock_lock(&lock);
  crew_run(1, assert_as_stranger, &lock);
}

void ctest_die_assert_not_owner(void) {
  csched_lock lock = CSCHED_LOCK_INIT;
  name_me("greedy");
  csched_lock_lock(&lock);
  csched_lock_assert_not_owner(&lock);
}
