// cond.c, semaphore.c, latch.c over waiting.c, and rlock.c: CV1 to CV7, SM1 to SM7, LT1 to LT6. More than 300 lines:
// they share their threads.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/sync/lock_internal.h"
#include "waiters.h"

#include <stdlib.h>
#include <string.h>

enum { SHORT = 20000 }; // ns

static csched_cond cond;
static csched_lock lock, other;
static csched_rlock rlock;
static csched_semaphore semaphore;
static csched_latch latch;
static model_cell cells[3];
static int items, ready, given_up, passed, ordered;
static uint32_t signalled_thread;

static void reset(void) {
  cond = (csched_cond)CSCHED_COND_INIT;
  lock = other = (csched_lock)CSCHED_LOCK_INIT;
  rlock = (csched_rlock)CSCHED_RLOCK_INIT;
  csched_semaphore_init(&semaphore, 0);
  csched_latch_init(&latch, 0);
  memset(cells, 0, sizeof cells);
  items = ready = given_up = passed = ordered = 0;
  signalled_thread = 0;
  csched_processors_seen_ = 1; // no thread spins for the lock: fewer steps
  csched_cond_woken_at_once_ = 1;
}

static void until_waiting(const void *address, int count) {
  while (waiters_of(address) < count) csched_nap_(SHORT);
}

// As above, for waiters that may have given up already.
static void a_while_until_waiting(const void *address, int count) {
  for (int i = 0; i < 4 && waiters_of(address) < count; i++) csched_nap_(SHORT / 2);
}

static csched_time soon(void) { return csched_time_after(csched_now(), SHORT); }

// MARK: conditions

static void use(void) { model_write(&cells[0], model_read(&cells[0]) + 1); }

static void take_item(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  while (items == 0) csched_cond_wait(&cond, &lock);
  items--;
  use();
  csched_lock_unlock(&lock);
}
static void put_item(void) {
  csched_lock_lock(&lock);
  items++;
  use();
  csched_lock_unlock(&lock);
  csched_cond_signal(&cond);
}
static void put_two(void *unused) {
  (void)unused;
  put_item();
  put_item();
}
static void wait_until_ready(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  while (!ready) csched_cond_wait(&cond, &lock);
  use();
  passed++;
  csched_lock_unlock(&lock);
}
static void wait_for_a_while(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  csched_time deadline = soon();
  while (!ready && csched_cond_wait_until(&cond, &lock, deadline)) {}
  if (ready) passed++;
  else given_up++;
  use();
  csched_lock_unlock(&lock);
}
// A woken waiter passes the wake on. A wake that a waiter takes though it gives up would be lost.
static void wait_and_hand_on(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  if (csched_cond_wait_until(&cond, &lock, soon())) csched_cond_signal(&cond);
  csched_lock_unlock(&lock);
}
static void be_ready(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  ready = 1;
  csched_lock_unlock(&lock);
  csched_cond_broadcast(&cond);
}
static void broadcast_twice(void *unused) {
  until_waiting(&cond, 2);
  be_ready(unused);
  csched_cond_broadcast(&cond);
}
static void put_for_two(void *unused) {
  (void)unused;
  a_while_until_waiting(&cond, 2);
  put_item();
}

static void all_taken(void) { model_assert(items == 0 && cells[0].value == 4 && lock.owner == 0); }

static void wake_two_at_once(void) { // so that one of these wakes the third
  reset();
  csched_cond_woken_at_once_ = 2;
}
static void have_passed(int waiters) {
  model_assert(passed + given_up == waiters && cells[0].value == waiters && lock.owner == 0 && waiters_of(&cond) == 0);
}
static void all_passed(void) { have_passed(2); }
static void three_passed(void) { have_passed(3); }

// No herd: while the lock is held, a broadcast of one at once has woken only the waiter that now waits for the lock.
static void wait_and_count(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  csched_cond_wait(&cond, &lock);
  passed++;
  csched_lock_unlock(&lock);
}
static void look_for_herd(void *unused) {
  (void)unused;
  until_waiting(&cond, 2);
  csched_lock_lock(&lock);
  csched_cond_broadcast(&cond);
  model_assert(waiters_of(&cond) == 1);
  csched_nap_(SHORT);
  model_assert(waiters_of(&cond) == 1);
  csched_lock_unlock(&lock);
}

// The second waiter is marked by the broadcast, and gives up before its turn comes.
static void wait_told(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  bool woken = csched_cond_wait_until(&cond, &lock, csched_time_after(csched_now(), 20 * SHORT));
  model_assert(woken || signalled_thread != csched_lock_self_());
  csched_lock_unlock(&lock);
}
static void tell_and_hold(void *unused) {
  (void)unused;
  a_while_until_waiting(&cond, 2);
  csched_lock_lock(&lock);
  ready = 1;
  csched_cond_broadcast(&cond);
  csched_bucket *bucket = csched_waiters_lock_(&cond);
  csched_sleeper *next = csched_bucket_first_locked_(bucket, &cond);
  if (next != NULL) signalled_thread = next->thread;
  csched_bucket_unlock_(bucket);
  csched_nap_(40 * SHORT);
  csched_lock_unlock(&lock);
}
static void not_left(void) { model_assert(lock.owner == 0 && waiters_of(&cond) == 0); }

static void one_item_taken(void) { model_assert(items == 0 && cells[0].value == 2 && waiters_of(&cond) == 0); }

typedef struct own {
  csched_lock lock;
  csched_cond cond;
  csched_semaphore semaphore;
  csched_latch latch;
  bool waits;
} own;
static own *heap;

static own *make_own(void) {
  reset();
  heap = calloc(1, sizeof *heap);
  return heap;
}
static void wait_and_free(void *context) {
  own *own = context;
  csched_lock_lock(&own->lock);
  own->waits = true;
  csched_cond_wait(&own->cond, &own->lock);
  csched_lock_unlock(&own->lock);
  free(own);
}
static void signal_own(void *context) {
  own *own = context;
  for (bool waits = false; !waits;) {
    csched_lock_lock(&own->lock);
    waits = own->waits;
    csched_lock_unlock(&own->lock);
    if (!waits) csched_nap_(SHORT);
  }
  csched_cond_signal(&own->cond);
}
static void freed_by_woken(void) {
  make_own();
  model_spawn(wait_and_free, heap);
  model_spawn(signal_own, heap);
}

// MARK: misuse of conditions

static void wait_without_lock(void *unused) {
  (void)unused;
  csched_cond_wait(&cond, &lock);
}
static void wait_with_other(void *unused) {
  (void)unused;
  until_waiting(&cond, 1);
  csched_lock_lock(&other);
  csched_cond_wait(&cond, &other);
}
static void destroy_cond(void *unused) {
  (void)unused;
  until_waiting(&cond, 1);
  csched_cond_destroy(&cond);
}
static void ready_after_panic(void *unused) {
  while (model_panics() == 0) csched_nap_(SHORT);
  be_ready(unused);
}

// MARK: semaphores

static void exclude_twice(void *unused) {
  (void)unused;
  for (int i = 0; i < 2; i++) {
    csched_semaphore_wait(&semaphore);
    use();
    csched_semaphore_signal(&semaphore, 1);
  }
}
static void have_one_unit(void) {
  reset();
  csched_semaphore_init(&semaphore, 1);
}
static void four_uses(void) { model_assert(cells[0].value == 4 && csched_semaphore_units(&semaphore) == 1); }

static void exclude_once(void *unused) {
  (void)unused;
  csched_semaphore_wait(&semaphore);
  use();
  csched_semaphore_signal(&semaphore, 1);
}
static void three_uses(void) { model_assert(cells[0].value == 3 && csched_semaphore_units(&semaphore) == 1); }

static void give(void *units) {
  model_write(&cells[0], 42);
  csched_semaphore_signal(&semaphore, (uint32_t)(intptr_t)units);
}
static void give_bare(void *units) { csched_semaphore_signal(&semaphore, (uint32_t)(intptr_t)units); }
static void get(void *unused) {
  (void)unused;
  csched_semaphore_wait(&semaphore);
  passed++;
}
static void get_and_read(void *unused) {
  get(unused);
  model_assert(model_read(&cells[0]) == 42);
}
static void get_in_time(void *unused) {
  (void)unused;
  bool got = csched_semaphore_wait_until(&semaphore, soon());
  passed += got;
  given_up += !got;
}
static void give_twice(void *unused) {
  (void)unused;
  csched_semaphore_signal(&semaphore, 1);
  csched_semaphore_signal(&semaphore, 1);
}
static void two_units_left(void) { model_assert(passed == 1 && csched_semaphore_units(&semaphore) == 2); }
static void no_unit_left(void) { model_assert(passed == 2 && csched_semaphore_units(&semaphore) == 0); }
static void one_unit_in_all(void) {
  model_assert(passed + given_up == 2 && passed + (int)csched_semaphore_units(&semaphore) == 1);
  model_assert(waiters_of(&semaphore) == 0);
}

static int order[2];
static void get_in_order(void *which) {
  until_waiting(&semaphore, (int)(intptr_t)which);
  csched_semaphore_wait(&semaphore);
  order[ordered++] = (int)(intptr_t)which;
}
static void give_in_order(void *unused) {
  (void)unused;
  until_waiting(&semaphore, 2);
  csched_semaphore_signal(&semaphore, 1);
  while (ordered == 0) csched_nap_(SHORT);
  model_assert(order[0] == 0);
  csched_semaphore_signal(&semaphore, 1);
}

static void get_and_free(void *context) {
  own *own = context;
  csched_semaphore_wait(&own->semaphore);
  free(own);
}
static void give_own(void *context) {
  own *own = context;
  csched_semaphore_signal(&own->semaphore, 1);
}
static void freed_by_taker(void) {
  make_own();
  model_spawn(get_and_free, heap);
  model_spawn(give_own, heap);
}

static void give_too_many(void *unused) {
  (void)unused;
  csched_semaphore_signal(&semaphore, 1);
}
static void destroy_semaphore(void *unused) {
  (void)unused;
  until_waiting(&semaphore, 1);
  csched_semaphore_destroy(&semaphore);
}
static void give_after_panic(void *unused) {
  (void)unused;
  while (model_panics() == 0) csched_nap_(SHORT);
  csched_semaphore_signal(&semaphore, 1);
}
static void too_many(void) {
  reset();
  csched_semaphore_init(&semaphore, CSCHED_SEMAPHORE_MOST);
  model_expect_panic("cannot have 1 more");
  model_spawn(give_too_many, NULL);
}

// MARK: latches

static void count_down(void *which) {
  model_write(&cells[(intptr_t)which], 42);
  csched_latch_count_down(&latch, 1);
}
static void pass(void *unused) {
  (void)unused;
  csched_latch_wait(&latch);
  model_assert(model_read(&cells[0]) == 42 && model_read(&cells[1]) == 42);
  passed++;
}
static void look(void *unused) {
  (void)unused;
  while (csched_latch_count(&latch) > 0) csched_nap_(SHORT);
  model_assert(model_read(&cells[0]) == 42 && model_read(&cells[1]) == 42);
  passed++;
}
static void pass_in_time(void *unused) {
  (void)unused;
  if (csched_latch_wait_until(&latch, soon())) {
    model_assert(model_read(&cells[0]) == 42);
    passed++;
  } else {
    given_up++;
  }
}
static void close_with(unsigned count) {
  reset();
  csched_latch_init(&latch, count);
}
static void close_with_one(void) { close_with(1); }
static void close_with_two(void) { close_with(2); }
static void latch_is_open(void) {
  model_assert(passed + given_up > 0 && csched_latch_count(&latch) == 0 && waiters_of(&latch) == 0);
}

static void pass_and_free(void *context) {
  own *own = context;
  csched_latch_wait(&own->latch);
  free(own);
}
static void open_own(void *context) {
  own *own = context;
  csched_latch_count_down(&own->latch, 1);
}
static void freed_by_passer(void) {
  csched_latch_init(&make_own()->latch, 1);
  model_spawn(pass_and_free, heap);
  model_spawn(open_own, heap);
}

// The thread that passes makes another latch in the same memory, which is not opened, while a second thread still
// sleeps for the first latch.
static void wait_only(void *unused) {
  (void)unused;
  csched_latch_wait(&latch);
}
static void open_for_sleeper(void *unused) {
  until_waiting(&latch, 1);
  ready = 1;
  count_down(unused);
}
static void pass_and_reuse(void *unused) {
  while (!ready) csched_nap_(SHORT);
  wait_only(unused);
  csched_latch_init(&latch, 1);
  model_assert(!csched_latch_wait_until(&latch, csched_time_after(csched_now(), 10 * SHORT)));
  csched_latch_count_down(&latch, 1);
}

static void count_too_far(void *unused) {
  (void)unused;
  csched_latch_count_down(&latch, 2);
}
static void destroy_latch(void *unused) {
  (void)unused;
  until_waiting(&latch, 1);
  csched_latch_destroy(&latch);
}
static void open_after_panic(void *unused) {
  (void)unused;
  while (model_panics() == 0) csched_nap_(SHORT);
  csched_latch_count_down(&latch, 1);
}
// The last unit is counted down twice: the second call stops the process.
static void count_last(void *unused) {
  (void)unused;
  a_while_until_waiting(&latch, 1);
  csched_latch_count_down(&latch, 1);
}

// MARK: recursive locks

static void nest(void *unused) {
  (void)unused;
  csched_rlock_lock(&rlock);
  model_assert(csched_rlock_trylock(&rlock));
  use();
  csched_rlock_unlock(&rlock);
  use();
  csched_rlock_unlock(&rlock);
}
static void try_nested(void *unused) {
  (void)unused;
  if (!csched_rlock_lock_until(&rlock, soon())) return;
  csched_rlock_lock(&rlock);
  use();
  csched_rlock_unlock(&rlock);
  csched_rlock_unlock(&rlock);
}
static void unlock_only(void *unused) {
  (void)unused;
  csched_rlock_unlock(&rlock);
}
static void unlock_once_more(void *unused) {
  nest(unused);
  csched_rlock_unlock(&rlock);
}
static void all_unlocked(void) { model_assert(cells[0].value >= 4 && rlock.lock.owner == 0 && rlock.again == 0); }
static void keep_twice(void *unused) {
  (void)unused;
  csched_rlock_lock(&rlock);
  csched_rlock_lock(&rlock);
  ready = 1;
  while (model_panics() == 0) csched_nap_(SHORT);
  csched_rlock_unlock(&rlock);
  csched_rlock_unlock(&rlock);
}
static void unlock_kept(void *unused) {
  while (!ready) csched_nap_(SHORT);
  unlock_only(unused);
}

const model_check waiting_checks[] = {
    {"cond: two items for two consumers: no lost wake", reset, all_taken,
     THREADS({put_two}, {take_item}, {take_item})}, // CV1, CV2, CV5
    {"cond: a broadcast to two waiters", reset, all_passed,
     THREADS({be_ready}, {wait_until_ready}, {wait_until_ready})}, // CV1, CV3, CV5
    {"cond: a broadcast to three waiters, two at once", wake_two_at_once, three_passed,
     THREADS({be_ready}, {wait_until_ready}, {wait_until_ready}, {wait_until_ready})}, // CV1, CV3, CV5
    {"cond: two broadcasts to two waiters", reset, all_passed,
     THREADS({broadcast_twice}, {wait_until_ready}, {wait_until_ready})}, // CV3
    {"cond: a broadcast wakes one waiter, and that waiter the next", reset, not_left,
     THREADS({look_for_herd}, {wait_and_count}, {wait_and_count})}, // CV3
    {"cond: a broadcast beside a waiter that gives up", reset, all_passed,
     THREADS({be_ready}, {wait_for_a_while}, {wait_until_ready})}, // CV4
    {"cond: a marked waiter gives up before its turn", reset, not_left,
     THREADS({tell_and_hold}, {wait_until_ready}, {wait_told})}, // CV4
    {"cond: a signal beside a waiter that gives up", reset, one_item_taken,
     THREADS({put_for_two}, {wait_and_hand_on}, {take_item})}, // CV2, CV4
    {"cond: freed by the woken waiter", freed_by_woken, NULL}, // CV6
    {"cond: a wait without the lock stops the process", reset, model_one_panic, THREADS({wait_without_lock}),
     "the caller does not own lock"}, // CV7
    {"cond: a wait with another lock stops the process", reset, model_one_panic,
     THREADS({wait_until_ready}, {wait_with_other}, {ready_after_panic}), "Use one lock with it"}, // CV7
    {"cond: destroyed with a waiter stops the process", reset, model_one_panic,
     THREADS({wait_until_ready}, {destroy_cond}, {ready_after_panic}),
     "Destroy it when all waits for it have returned"}, // CV7
    {"semaphore: one unit as a lock, two threads twice", have_one_unit, four_uses,
     THREADS({exclude_twice}, {exclude_twice})}, // SM1, SM2, SM5
    {"semaphore: one unit as a lock, three threads", have_one_unit, three_uses,
     THREADS({exclude_once}, {exclude_once}, {exclude_once})}, // SM1, SM2, SM5
    {"semaphore: two units at once for two waiters", reset, no_unit_left,
     THREADS({give, 2}, {get_and_read}, {get_and_read})}, // SM2, SM5
    {"semaphore: two signals for two waiters", reset, no_unit_left,
     THREADS({give_bare, 1}, {give_bare, 1}, {get}, {get})}, // SM1, SM2
    {"semaphore: three signals for one waiter", reset, two_units_left,
     THREADS({give_twice}, {give_bare, 1}, {get})}, // SM1, SM2
    {"semaphore: two waiters give up beside a signal", reset, one_unit_in_all,
     THREADS({give_bare, 1}, {get_in_time}, {get_in_time})}, // SM4
    {"semaphore: in the order of arrival", reset, NULL,
     THREADS({give_in_order}, {get_in_order, 0}, {get_in_order, 1})},            // SM3
    {"semaphore: freed by the waiter that gets the unit", freed_by_taker, NULL}, // SM6
    {"semaphore: too many units stop the process", too_many, model_one_panic},   // SM7
    {"semaphore: destroyed with a waiter stops the process", reset, model_one_panic,
     THREADS({get}, {destroy_semaphore}, {give_after_panic}), "Destroy it when all waits for it have returned"}, // SM7
    {"latch: two threads count down, two wait", close_with_two, latch_is_open,
     THREADS({count_down, 0}, {count_down, 1}, {pass}, {pass})}, // LT1, LT2, LT3
    {"latch: two threads count down, one reads the count", close_with_two, latch_is_open,
     THREADS({count_down, 0}, {count_down, 1}, {look})}, // LT1, LT3
    {"latch: two waiters give up beside its opening", close_with_one, latch_is_open,
     THREADS({count_down}, {pass_in_time}, {pass_in_time})},      // LT4
    {"latch: freed by the first to pass", freed_by_passer, NULL}, // LT5
    {"latch: another latch in its memory is not opened", close_with_one, NULL,
     THREADS({open_for_sleeper}, {wait_only}, {pass_and_reuse})}, // LT5
    {"latch: counted below zero stops the process", close_with_one, model_one_panic, THREADS({count_too_far}),
     "cannot be counted down by 2"}, // LT6
    {"latch: the last unit counted down twice stops the process", close_with_one, model_one_panic,
     THREADS({wait_only}, {count_last}, {count_last}), "cannot be counted down by 1"}, // LT1, LT6
    {"latch: destroyed with a waiter stops the process", close_with_one, model_one_panic,
     THREADS({wait_only}, {destroy_latch}, {open_after_panic}),
     "Destroy it when all waits for it have returned"}, // LT6
    {"rlock: two threads nest, one tries", reset, all_unlocked, THREADS({nest}, {nest}, {try_nested})},
    {"rlock: unlocked by another thread stops the process", reset, model_one_panic,
     THREADS({keep_twice}, {unlock_kept}), "does not own lock"},
    {"rlock: one unlock too many stops the process", reset, model_one_panic, THREADS({unlock_once_more}),
     "does not own lock"},
    {NULL, NULL, NULL},
};
