#include "testing.h"

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

static void lock_excludes(int threads, int rounds, int outside) {
  excluding test = {.rounds = rounds, .outside = outside};
  run_excluding(&test, threads);
  CHECK_EQUAL(atomic_load(&test.taken), (int64_t)threads * rounds);
}

TEST("the lock excludes") { // LK1
  lock_excludes(2, times(200000), 0);
  lock_excludes(2, times(100000), 50);
  lock_excludes(8, times(50000), 0);
  lock_excludes(8, times(25000), 50);
  lock_excludes(24, times(5000), 0);
  lock_excludes(64, times(5000), 0);
  lock_excludes(64, times(2500), 50);
}

typedef struct on_one {
  excluding test;
  int threads;
} on_one;

static void exclude_on_one(void *context) {
  on_one *one = context;
  run_excluding(&one->test, one->threads);
}

static void lock_excludes_on_one_processor(int threads, int rounds) {
  on_one one = {.test = {.rounds = rounds, .outside = 10}, .threads = threads};
  ctest_on_one_processor(exclude_on_one, &one);
  CHECK_EQUAL(atomic_load(&one.test.taken), (int64_t)threads * rounds);
}

TEST("the lock excludes on one processor") {
  lock_excludes_on_one_processor(2, times(20000));
  lock_excludes_on_one_processor(16, times(20000));
}

static void try_in_vain(int index, void *context) {
  csched_lock *lock = context;
  (void)index;
  CHECK(!csched_lock_trylock(lock));
  csched_lock_assert_not_owner(lock);
}

static void lock_trylock(int threads, int rounds) {
  excluding test = {.rounds = rounds, .outside = 10, .by_try = true};
  CHECK(csched_lock_trylock(&test.lock));
  CHECK(!csched_lock_trylock(&test.lock)); // fails for the owner, too
  crew_run(2, try_in_vain, &test.lock);
  csched_lock_unlock(&test.lock);
  run_excluding(&test, threads);
  CHECK(atomic_load(&test.taken) > 0);
}

TEST("a trylock takes a free lock only") { lock_trylock(4, times(100000)); }

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

static void lock_shared_buckets(int threads, int locks, int rounds, uint64_t seed) {
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
}

// MARK: wakes

// Each round one thread holds the lock for about as long as the others need to fall asleep, unlocks it, and then keeps
// away:
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
  csched_time start = csched_now();
  // On a machine with much else to do, a round takes as long as all the others are kept from a processor.
  for (int round = 1; round <= test->rounds && csched_now() - start < 10000 * MS; round++) {
    csched_lock_lock(test->lock);
    atomic_store(&test->round, round);
    burn(round % 2 == 0 ? 7 * US + chance_below(&seed, 6 * US) : chance_below(&seed, 60 * US)); // about a spin, or any
    csched_lock_unlock(test->lock);
    WAIT_WHILE(atomic_load(&test->passed) < round * test->waiters);
  }
  atomic_store(&test->round, test->rounds); // no thread holds it in the remaining rounds
  crew_join(&waiters);
}

static void hold_one_of_two(int index, void *context) { hold_in_rounds(0, (handshake *)context + index); }

static void lock_loses_no_wake(int waiters, int rounds, bool timed, bool shared_bucket, uint64_t seed) {
  csched_lock *locks[2];
  find_colliding(locks, 2, 1);
  handshake tests[2];
  for (int i = 0; i < 2; i++)
    tests[i] = (handshake){
        .lock = locks[i], .waiters = waiters, .rounds = rounds, .timed = timed, .seed = seed + 7 * (uint64_t)i};
  crew_run(shared_bucket ? 2 : 1, hold_one_of_two, tests);
  if (!timed) CHECK_EQUAL(tests[0].count, (int64_t)waiters * rounds);
  CHECK_SOON(csched_load_relaxed(&csched_lock_waiter_flags_[csched_lock_hash_(locks[0])].word) == 0);
}

TEST("no wake is lost") { // LK2, LK3, LK4
  lock_loses_no_wake(1, times(10000), false, false, seed());
  lock_loses_no_wake(3, times(10000), false, false, seed());
  lock_loses_no_wake(8, times(10000), false, false, seed());
}

static void lose_no_wake_on_one(void *unused) {
  (void)unused;
  lock_loses_no_wake(3, times(2000), false, false, seed());
}

TEST("no wake is lost on one processor") { ctest_on_one_processor(lose_no_wake_on_one, NULL); }

TEST("a waiter that gives up passes its wake on") { // LK3, LK5
  lock_loses_no_wake(2, times(20000), true, false, seed());
  lock_loses_no_wake(4, times(20000), true, false, seed());
}
TEST("a waiter that gives up passes its wake on, 8 waiters") {
  lock_loses_no_wake(8, times(20000), true, false, seed());
}

TEST("locks that share a bucket do not take each other's wakes") { // LK2, LK3, LK5, PK1, PK2, PK3
  lock_shared_buckets(8, 1000, times(20000), seed());
  lock_shared_buckets(8, 100, times(10000), seed());
  lock_loses_no_wake(3, times(2000), false, true, seed());
  lock_loses_no_wake(4, times(2000), true, true, seed());
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

static void lock_relay(int threads, int turns) {
  relay test = {.threads = threads, .turns = turns};
  crew_run(threads, take_turns, &test);
  CHECK(test.turn >= turns);
}

TEST("threads that take turns all get the lock") { lock_relay(4, times(200)); }

// MARK: memory

typedef struct counted {
  csched_lock lock;
  int references;
} counted;

static void release_object(int index, void *context) {
  counted *object = *(counted **)context;
  (void)index;
  csched_lock_lock(&object->lock);
  bool is_last = --object->references == 0;
  csched_lock_unlock(&object->lock);
  if (!is_last) return;
  memset(object, 0xA5, sizeof *object); // a late read finds no free lock here
  free(object);
}

static void sleep_for(int index, void *context) {
  (void)index;
  csched_lock_lock(context);
  csched_lock_unlock(context);
}

static void lock_freed_after_unlock(int threads, int rounds, bool slow) {
  for (int i = 0; i < rounds; i++) {
    counted *object = calloc(1, sizeof *object);
    object->references = threads;
    crew sleeper;
    csched_lock *other = NULL;
    if (slow) { // a thread sleeps in the same bucket, so that each unlock takes the slow path
      size_t hash = csched_lock_hash_(&object->lock);
      for (size_t slot = 0; other == NULL; slot++) {
        csched_lock *each = (csched_lock *)(void *)(arena + slot * SLOT);
        if (csched_lock_hash_(each) == hash) other = each;
      }
      csched_lock_lock(other);
      crew_start(&sleeper, 1, sleep_for, other);
      CHECK_SOON((csched_load_relaxed(&csched_lock_waiter_flags_[hash].word) & 1) != 0);
    }
    crew_run(threads, release_object, &object);
    if (!slow) continue;
    csched_lock_unlock(other);
    crew_join(&sleeper);
  }
}

TEST("a lock may be freed by the owner after the last unlock") { // LK8
  for (int threads = 2; threads <= 8; threads *= 2) {
    lock_freed_after_unlock(threads, times(2000), false);
    lock_freed_after_unlock(threads, times(1000), true);
  }
}

static void use_zero(int index, void *context) {
  (void)index, (void)context;
  static csched_lock in_static_memory;
  csched_lock from_macro = CSCHED_LOCK_INIT, *from_heap = calloc(1, sizeof *from_heap);
  csched_lock *all[] = {&in_static_memory, &from_macro, from_heap};
  for (int i = 0; i < 3; i++) {
    csched_lock_assert_not_owner(all[i]);
    csched_lock_lock(all[i]);
    csched_lock_assert_owner(all[i]);
    CHECK_EQUAL(all[i]->owner, ctest_thread_id());
    csched_lock_unlock(all[i]);
    CHECK_EQUAL(all[i]->owner, 0);
  }
  free(from_heap);
}

TEST("a lock is four bytes, and zero is unlocked") {
  CHECK_EQUAL(sizeof(csched_lock), 4);
  crew_run(1, use_zero, NULL); // this thread, whose process was forked, has the number that it had before
}
