#include "waiting_testing.h"

// Conditions and recursive locks.

int waiters_of(const void *address) {
  csched_bucket *bucket = csched_waiters_lock_(address);
  csched_sleeper *each;
  int count = 0;
  TAILQ_FOREACH(each, &bucket->sleepers, link) count += each->address == address;
  csched_bucket_unlock_(bucket);
  return count;
}

// MARK: wakes

enum { ROOM = 4 };
typedef struct store {
  csched_lock lock;
  csched_cond filled, emptied;
  int held, items, producers; // guarded
  int64_t taken;              // guarded
  uint64_t seed;
  bool timed;
} store;

static void wait_in(store *store, csched_cond *cond, uint64_t *seed) {
  if (store->timed) csched_cond_wait_until(cond, &store->lock, csched_now() + chance_below(seed, 200 * US));
  else csched_cond_wait(cond, &store->lock);
  csched_lock_assert_owner(&store->lock);
}

static void produce(store *store, uint64_t *seed) {
  for (int i = 0; i < store->items; i++) {
    csched_lock_lock(&store->lock);
    while (store->held == ROOM) wait_in(store, &store->emptied, seed);
    store->held++;
    csched_lock_unlock(&store->lock);
    csched_cond_signal(&store->filled);
  }
}

static void consume(store *store, uint64_t *seed) {
  for (int i = 0; i < store->items; i++) {
    csched_lock_lock(&store->lock);
    while (store->held == 0) wait_in(store, &store->filled, seed);
    store->held--;
    store->taken++;
    csched_cond_signal(&store->emptied); // with the lock, for once
    csched_lock_unlock(&store->lock);
  }
}

static void trade(int index, void *context) {
  store *store = context;
  uint64_t seed = store->seed + (uint64_t)index;
  if (index < store->producers) produce(store, &seed);
  else consume(store, &seed);
}

static void cond_loses_no_wake(int pairs, int items, bool timed, uint64_t seed) {
  store store = {.items = items, .producers = pairs, .seed = seed, .timed = timed};
  crew_run(2 * pairs, trade, &store);
  CHECK_EQUAL(store.held, 0);
  CHECK_EQUAL(store.taken, (int64_t)pairs * items);
  CHECK_EQUAL(waiters_of(&store.filled) + waiters_of(&store.emptied), 0);
  csched_cond_destroy(&store.filled);
  csched_cond_destroy(&store.emptied);
}

TEST("a condition loses no wake") { // CV1, CV4, CV5
  for (int timed = 0; timed < 2; timed++) {
    cond_loses_no_wake(1, times(3000), timed, seed());
    cond_loses_no_wake(3, times(3000), timed, seed());
    cond_loses_no_wake(4, times(3000), timed, seed());
  }
}

typedef struct on_one {
  int pairs, items;
  uint64_t seed;
} on_one;

static void trade_on_one(void *context) {
  on_one *one = context;
  cond_loses_no_wake(one->pairs, one->items, false, one->seed);
}

static void cond_on_one_processor(int pairs, int items, uint64_t seed) {
  on_one one = {pairs, items, seed};
  ctest_on_one_processor(trade_on_one, &one);
}

TEST("a condition loses no wake on one processor") {
  cond_on_one_processor(2, times(2000), seed());
  cond_on_one_processor(3, times(2000), seed());
}

// MARK: order, and broadcasts

enum { MOST = 32 };
typedef struct queue {
  csched_lock lock;
  csched_cond cond;
  int arrived, woken, order[MOST]; // guarded
  _Atomic uint32_t threads[MOST];
} queue;

static void wait_in_line(int index, void *context) {
  queue *queue = context;
  atomic_store(&queue->threads[index], ctest_thread_id());
  WAIT_WHILE(waiters_of(&queue->cond) != index);
  csched_lock_lock(&queue->lock);
  queue->arrived++;
  csched_cond_wait(&queue->cond, &queue->lock);
  queue->order[queue->woken++] = index;
  csched_lock_unlock(&queue->lock);
}

static int woken_of(queue *queue) {
  csched_lock_lock(&queue->lock);
  int woken = queue->woken;
  csched_lock_unlock(&queue->lock);
  return woken;
}

static void gather(queue *queue, crew *crew, int waiters) {
  *queue = (struct queue){.arrived = 0};
  crew_start(crew, waiters, wait_in_line, queue);
  CHECK_SOON(waiters_of(&queue->cond) == waiters);
}

static void check_order(const queue *queue, int waiters) {
  for (int i = 0; i < waiters; i++) CHECK_EQUAL(queue->order[i], i);
}

static void cond_signal_wakes_one(int waiters) {
  static queue queue;
  crew crew;
  gather(&queue, &crew, waiters);
  for (int i = 0; i < waiters; i++) {
    csched_cond_signal(&queue.cond);
    CHECK_EQUAL(waiters_of(&queue.cond), waiters - i - 1);
    CHECK_SOON(woken_of(&queue) == i + 1);
  }
  crew_join(&crew);
  check_order(&queue, waiters);
  csched_cond_signal(&queue.cond); // without a waiter; the signal is not kept
  CHECK_EQUAL(queue.cond.lock, 0);
}

TEST("a signal wakes one, in the order of arrival") { // CV2
  cond_signal_wakes_one(8);
  cond_signal_wakes_one(16);
}

static void cond_broadcast_wakes_all(int waiters) {
  static queue queue;
  crew crew;
  gather(&queue, &crew, waiters);
  csched_lock_lock(&queue.lock);
  csched_cond_broadcast(&queue.cond);
  csched_cond_broadcast(&queue.cond); // marks no waiter twice
  nap(10 * MS);
  CHECK_EQUAL(waiters_of(&queue.cond), waiters - 4); // four have been woken, and wait for the lock
  csched_lock_unlock(&queue.lock);
  crew_join(&crew);
  CHECK_EQUAL(queue.woken, waiters);
  CHECK_EQUAL(queue.cond.lock, 0);
}

// A signal after a broadcast wakes a waiter that came after the broadcast.
static void wait_since(int index, void *context) {
  queue *queue = context;
  (void)index;
  csched_lock_lock(&queue->lock);
  queue->arrived++;
  csched_cond_wait(&queue->cond, &queue->lock);
  queue->woken += 100;
  csched_lock_unlock(&queue->lock);
}

static void cond_signal_after_broadcast(int waiters) {
  static queue queue;
  crew crew, later;
  gather(&queue, &crew, waiters);
  csched_lock_lock(&queue.lock);
  csched_cond_broadcast(&queue.cond);
  crew_start(&later, 1, wait_since, &queue);
  csched_lock_unlock(&queue.lock);
  crew_join(&crew);
  CHECK_SOON(waiters_of(&queue.cond) == 1);
  CHECK_EQUAL(woken_of(&queue), waiters); // the later waiter has not been woken
  csched_cond_signal(&queue.cond);
  crew_join(&later);
  CHECK_EQUAL(queue.woken, waiters + 100);
}

TEST("a broadcast wakes all that wait, a few at once") { // CV2, CV3
  cond_broadcast_wakes_all(8);
  cond_broadcast_wakes_all(16);
  cond_signal_after_broadcast(4);
  cond_signal_after_broadcast(8);
}

// MARK: deadlines

static void cond_timed(void) {
  csched_lock lock = CSCHED_LOCK_INIT;
  csched_cond cond = CSCHED_COND_INIT;
  static const csched_time waits[] = {0, 50000, 1000000, 20000000};
  csched_lock_lock(&lock);
  for (int i = 0; i < 4; i++) {
    csched_time deadline = csched_now() + waits[i];
    CHECK(!csched_cond_wait_until(&cond, &lock, deadline));
    CHECK(csched_now() >= deadline);
    csched_lock_assert_owner(&lock);
  }
  CHECK(!csched_cond_wait_until(&cond, &lock, 0));
  CHECK_EQUAL(waiters_of(&cond), 0);
  csched_cond_destroy(&cond);
  csched_cond_signal(&cond);
  CHECK_EQUAL(cond.lock, 0);
  csched_lock_unlock(&lock);
}

// CV2, CV4, CV5
TEST("a timed wait for a condition gives up and leaves nothing behind") { cond_timed(); }

// MARK: life

typedef struct own {
  csched_lock lock;
  csched_cond cond;
} own;

static void wait_and_free(int index, void *context) {
  own *own = context;
  (void)index;
  csched_lock_lock(&own->lock);
  csched_cond_wait(&own->cond, &own->lock);
  csched_lock_unlock(&own->lock);
  free(own);
}

static void cond_freed_by_woken(int rounds) {
  for (int i = 0; i < rounds; i++) {
    own *own = calloc(1, sizeof *own);
    crew crew;
    crew_start(&crew, 1, wait_and_free, own);
    WAIT_WHILE(waiters_of(&own->cond) == 0);
    if (i % 2 == 0) csched_cond_signal(&own->cond);
    else csched_cond_broadcast(&own->cond);
    crew_join(&crew);
  }
}

// CV6
TEST("a condition may be freed by the woken thread") { cond_freed_by_woken(times(500)); }

// MARK: recursive locks

typedef struct nesting {
  csched_rlock rlock;
  int rounds;
  int64_t count; // guarded
} nesting;

static void nest(csched_rlock *rlock, int depth) {
  csched_rlock_lock(rlock);
  if (depth > 0) nest(rlock, depth - 1);
  csched_rlock_assert_owner(rlock);
  csched_rlock_unlock(rlock);
}

static void use_nested(int index, void *context) {
  nesting *test = context;
  for (int i = 0; i < test->rounds; i++) {
    bool taken = true;
    if (i % 3 == 0) taken = csched_rlock_lock_until(&test->rlock, csched_now() + 60000 * MS);
    else if (i % 3 == 1) WAIT_WHILE(!csched_rlock_trylock(&test->rlock));
    else csched_rlock_lock(&test->rlock);
    CHECK(taken);
    nest(&test->rlock, (i + index) % 5);
    CHECK(csched_rlock_trylock(&test->rlock));
    CHECK(csched_rlock_lock_until(&test->rlock, 0));
    test->count++;
    for (int k = 0; k < 3; k++) csched_rlock_unlock(&test->rlock);
    csched_rlock_assert_not_owner(&test->rlock);
  }
}

static void try_in_vain(int index, void *context) {
  (void)index;
  CHECK(!csched_rlock_trylock(context));
  csched_time deadline = csched_now() + 5 * MS;
  CHECK(!csched_rlock_lock_until(context, deadline));
  CHECK(csched_now() >= deadline);
  csched_rlock_assert_not_owner(context);
}

static void rlock_nests(int threads, int rounds) {
  nesting test = {.rounds = rounds};
  crew_run(threads, use_nested, &test);
  CHECK_EQUAL(test.count, (int64_t)threads * rounds);
  csched_rlock_lock(&test.rlock);
  csched_rlock_lock(&test.rlock);
  csched_rlock_unlock(&test.rlock); // once more to go
  crew_run(1, try_in_vain, &test.rlock);
  csched_rlock_unlock(&test.rlock);
  CHECK_EQUAL(test.rlock.lock.owner, 0);
  CHECK_EQUAL(test.rlock.again, 0);
}

TEST("a recursive lock excludes all but its owner") {
  for (int threads = 1; threads <= 8; threads *= 2) rlock_nests(threads, times(10000));
}
