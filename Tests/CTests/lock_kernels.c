#include "kernel.h"

// MARK: exclusion

typedef struct excluding {
  csched_lock lock;
  int rounds, outside;
  int64_t first, second; // guarded: equal whenever the lock is free
  bool by_try;
  atomic_int holders;
  atomic_llong taken;
} excluding;

static void exclude(int index, void *context) {
  excluding *test = context;
  (void)index;
  for (int i = 0; i < test->rounds; i++) {
    if (test->by_try) {
      if (!csched_lock_trylock(&test->lock)) continue;
    } else {
      csched_lock_lock(&test->lock);
    }
    CHECK_EQUAL(atomic_fetch_add_explicit(&test->holders, 1, memory_order_relaxed), 0);
    csched_lock_assert_owner(&test->lock);
    test->first++;
    CHECK_EQUAL(test->first, test->second + 1);
    test->second++;
    atomic_fetch_sub_explicit(&test->holders, 1, memory_order_relaxed);
    csched_lock_unlock(&test->lock);
    csched_lock_assert_not_owner(&test->lock);
    atomic_fetch_add_explicit(&test->taken, 1, memory_order_relaxed);
    for (volatile int n = 0; n < test->outside; n = n + 1) {}
  }
}

static void run_excluding(excluding *test, int threads) {
  crew_run(threads, exclude, test);
  CHECK_EQUAL(test->first, atomic_load(&test->taken));
  CHECK_EQUAL(test->second, atomic_load(&test->taken));
  CHECK_EQUAL(test->lock.owner, 0);
}

ctest_failure ctest_lock_excludes(int threads, int rounds, int outside) {
  KERNEL();
  excluding test = {.rounds = rounds, .outside = outside};
  run_excluding(&test, threads);
  CHECK_EQUAL(atomic_load(&test.taken), (int64_t)threads * rounds);
  return kernel_result();
}

typedef struct on_one {
  excluding test;
  int threads;
} on_one;

static void exclude_on_one(void *context) {
  on_one *one = context;
  run_excluding(&one->test, one->threads);
}

ctest_failure ctest_lock_excludes_on_one_processor(int threads, int rounds) {
  KERNEL();
  on_one one = {.test = {.rounds = rounds, .outside = 10}, .threads = threads};
  ctest_on_one_processor(exclude_on_one, &one);
  CHECK_EQUAL(atomic_load(&one.test.taken), (int64_t)threads * rounds);
  return kernel_result();
}

static void try_in_vain(int index, void *context) {
  csched_lock *lock = context;
  (void)index;
  CHECK(!csched_lock_trylock(lock));
  csched_lock_assert_not_owner(lock);
}

ctest_failure ctest_lock_trylock(int threads, int rounds) {
  KERNEL();
  excluding test = {.rounds = rounds, .outside = 10, .by_try = true};
  CHECK(csched_lock_trylock(&test.lock));
  CHECK(!csched_lock_trylock(&test.lock)); // its owner is told no, too
  crew_run(2, try_in_vain, &test.lock);
  csched_lock_unlock(&test.lock);
  run_excluding(&test, threads);
  CHECK(atomic_load(&test.taken) > 0);
  return kernel_result();
}

// MARK: buckets

// Locks whose addresses share one hash, so that they share a bucket and a waiter flag.
enum { SLOT = 16, SLOTS = 256 * 1024 };
static char arena[SLOTS * SLOT] __attribute__((aligned(4096)));

static void find_colliding(csched_lock **locks, int count, size_t hashes) {
  for (size_t i = 0; i < SLOTS && count > 0; i++) {
    csched_lock *lock = (csched_lock *)(void *)(arena + i * SLOT);
    if (csched_lock_hash_(lock) < hashes) locks[--count] = lock;
  }
  if (count > 0) abort();
}

typedef struct colliding {
  csched_lock **locks;
  int64_t *counts;
  int locks_count, rounds;
  uint64_t seed;
} colliding;

static void use_colliding(int index, void *context) {
  colliding *test = context;
  uint64_t seed = test->seed + (uint64_t)index;
  for (int i = 0; i < test->rounds; i++) {
    int at = (int)chance_below(&seed, (uint64_t)(i % 4 == 0 ? test->locks_count : 4)); // a few are fought for
    csched_lock_lock(test->locks[at]);
    test->counts[at]++;
    if (i % 16 == 0) burn(10 * US);
    csched_lock_unlock(test->locks[at]);
  }
}

ctest_failure ctest_lock_shared_buckets(int threads, int locks, int rounds, uint64_t seed) {
  KERNEL();
  colliding test = {.locks_count = locks, .rounds = rounds, .seed = seed};
  test.locks = calloc((size_t)locks, sizeof *test.locks);
  test.counts = calloc((size_t)locks, sizeof *test.counts);
  find_colliding(test.locks, locks, 2);
  crew_run(threads, use_colliding, &test);
  int64_t sum = 0;
  for (int i = 0; i < locks; i++) sum += test.counts[i];
  CHECK_EQUAL(sum, (int64_t)threads * rounds);
  CHECK_SOON(csched_load_relaxed(&csched_lock_waiter_flags_[0].word) == 0);
  CHECK_SOON(csched_load_relaxed(&csched_lock_waiter_flags_[1].word) == 0);
  free(test.locks);
  free(test.counts);
  return kernel_result();
}

// MARK: wakes

// Each round one thread holds the lock for about as long as the others need to fall asleep, unlocks it, and then keeps away:
// if the wake of that unlock is lost, or a waiter does not pass it on, the round never ends.
typedef struct handshake {
  csched_lock *lock;
  int waiters, rounds;
  bool timed;
  uint64_t seed;
  atomic_int round, passed;
  int64_t count; // guarded
} handshake;

static void wait_in_rounds(int index, void *context) {
  handshake *test = context;
  uint64_t seed = test->seed + 100 + (uint64_t)index;
  bool gives_up = test->timed && index % 2 == 1;
  for (int round = 1; round <= test->rounds; round++) {
    WAIT_WHILE(atomic_load(&test->round) < round);
    bool taken = true;
    if (gives_up)
      taken =
          csched_lock_lock_until(test->lock, csched_now() + chance_below(&seed, round % 2 == 0 ? 14 * US : 60 * US));
    else csched_lock_lock(test->lock);
    if (taken) {
      test->count++;
      csched_lock_unlock(test->lock);
    }
    atomic_fetch_add(&test->passed, 1);
  }
}

static void hold_in_rounds(int index, void *context) {
  handshake *test = context;
  (void)index;
  crew waiters;
  uint64_t seed = test->seed;
  crew_start(&waiters, test->waiters, wait_in_rounds, test);
  for (int round = 1; round <= test->rounds; round++) {
    csched_lock_lock(test->lock);
    atomic_store(&test->round, round);
    burn(round % 2 == 0 ? 7 * US + chance_below(&seed, 6 * US) : chance_below(&seed, 60 * US)); // about a spin, or any
    csched_lock_unlock(test->lock);
    WAIT_WHILE(atomic_load(&test->passed) < round * test->waiters);
  }
  crew_join(&waiters);
}

static void hold_one_of_two(int index, void *context) { hold_in_rounds(0, (handshake *)context + index); }

ctest_failure ctest_lock_loses_no_wake(int waiters, int rounds, bool timed, bool shared_bucket, uint64_t seed) {
  KERNEL();
  csched_lock *locks[2];
  find_colliding(locks, 2, 1);
  handshake tests[2];
  for (int i = 0; i < 2; i++)
    tests[i] = (handshake){
        .lock = locks[i], .waiters = waiters, .rounds = rounds, .timed = timed, .seed = seed + 7 * (uint64_t)i};
  crew_run(shared_bucket ? 2 : 1, hold_one_of_two, tests);
  if (!timed) CHECK_EQUAL(tests[0].count, (int64_t)waiters * rounds);
  CHECK_SOON(csched_load_relaxed(&csched_lock_waiter_flags_[csched_lock_hash_(locks[0])].word) == 0);
  return kernel_result();
}

typedef struct relay {
  csched_lock lock;
  int threads, turns, turn;
} relay;

static void take_turns(int index, void *context) {
  relay *test = context;
  for (bool ended = false; !ended;) {
    csched_lock_lock(&test->lock);
    if (test->turn % test->threads == index) test->turn++;
    ended = test->turn >= test->turns;
    csched_lock_unlock(&test->lock);
  }
}

ctest_failure ctest_lock_relay(int threads, int turns) {
  KERNEL();
  relay test = {.threads = threads, .turns = turns};
  crew_run(threads, take_turns, &test);
  CHECK(test.turn >= turns);
  return kernel_result();
}

// MARK: memory

typedef struct counted {
  csched_lock lock;
  int references;
} counted;

static void let_go(int index, void *context) {
  counted *object = *(counted **)context;
  (void)index;
  csched_lock_lock(&object->lock);
  bool is_last = --object->references == 0;
  csched_lock_unlock(&object->lock);
  if (!is_last) return;
  memset(object, 0xA5, sizeof *object); // a late look finds no free lock here
  free(object);
}

static void sleep_for(int index, void *context) {
  (void)index;
  csched_lock_lock(context);
  csched_lock_unlock(context);
}

ctest_failure ctest_lock_freed_after_unlock(int threads, int rounds, bool slow) {
  KERNEL();
  for (int i = 0; i < rounds; i++) {
    counted *object = calloc(1, sizeof *object);
    object->references = threads;
    crew sleeper;
    csched_lock *other = NULL;
    if (slow) { // somebody sleeps in the same bucket, so that each unlock looks whom to wake
      size_t hash = csched_lock_hash_(&object->lock);
      for (size_t slot = 0; other == NULL; slot++) {
        csched_lock *each = (csched_lock *)(void *)(arena + slot * SLOT);
        if (csched_lock_hash_(each) == hash) other = each;
      }
      csched_lock_lock(other);
      crew_start(&sleeper, 1, sleep_for, other);
      CHECK_SOON((csched_load_relaxed(&csched_lock_waiter_flags_[hash].word) & 1) != 0);
    }
    crew_run(threads, let_go, &object);
    if (!slow) continue;
    csched_lock_unlock(other);
    crew_join(&sleeper);
  }
  return kernel_result();
}

ctest_failure ctest_lock_zero_is_unlocked(void) {
  KERNEL();
  static csched_lock in_static_memory;
  csched_lock from_macro = CSCHED_LOCK_INIT, *from_heap = calloc(1, sizeof *from_heap);
  csched_lock *all[] = {&in_static_memory, &from_macro, from_heap};
  CHECK_EQUAL(sizeof(csched_lock), 4);
  for (int i = 0; i < 3; i++) {
    csched_lock_assert_not_owner(all[i]);
    csched_lock_lock(all[i]);
    csched_lock_assert_owner(all[i]);
    CHECK_EQUAL(all[i]->owner, ctest_thread_id());
    csched_lock_unlock(all[i]);
    CHECK_EQUAL(all[i]->owner, 0);
  }
  free(from_heap);
  return kernel_result();
}
