// lock.c: LK1 to LK8, LK10.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/sync/parking.h"

#include <stdlib.h>
#include <string.h>

static csched_lock lock;
static model_cell guarded;
static int timed_out, entered;
static csched_sleeper sleeper;

static void reset(void) {
  memset(&lock, 0, sizeof lock);
  guarded = (model_cell){0};
  timed_out = entered = 0;
  sleeper = (csched_sleeper){0};
}

static void use(void) {
  model_write(&guarded, model_read(&guarded) + 1);
  entered++;
}

static void lock_once(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  use();
  csched_lock_unlock(&lock);
}

static void lock_twice(void *unused) {
  lock_once(unused);
  lock_once(unused);
}

static void lock_for_a_while(void *unused) {
  (void)unused;
  if (csched_lock_lock_until(&lock, csched_time_after(csched_now(), 20000))) {
    use();
    csched_lock_unlock(&lock);
  } else {
    timed_out++;
  }
}

static void try_once(void *unused) {
  lock_once(unused); // the thread's first use is the slow one
  if (csched_lock_trylock(&lock)) {
    use();
    csched_lock_unlock(&lock);
  } else {
    timed_out++;
  }
}

static void hold_long(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  csched_time end = csched_now() + 1500000; // longer than a spin, and than the hand-off waits
  while (csched_now() < end) csched_nap_(400000);
  use();
  csched_lock_unlock(&lock);
  lock_once(NULL);
}

// Its only waiter has not slept before the flag says so, or had its wake since.
static void hold_and_look(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  for (int i = 0; i < 4; i++)
    model_assert((csched_load_relaxed(&csched_lock_waiter_flags_[csched_lock_hash_(&lock)].word) & ~(uintptr_t)1) == 0);
  use();
  csched_lock_unlock(&lock);
}

static void all_left(int sections) {
  model_assert(entered + timed_out == sections && guarded.value == entered);
  model_assert(lock.owner == 0);
  for (int i = 0; i < CSCHED_LOCK_WAITER_FLAGS_; i++)
    model_assert(csched_lock_waiter_flags_[i].word == 0); // no waiter flag stays set
}

// MARK: buckets

enum { SHARED = 2 };
static struct {
  csched_lock lock;
  char apart[(1 << 20) - sizeof(csched_lock)]; // so that the locks have one hash
} shared[SHARED];
static model_cell owned[SHARED];

static void lock_shared(void *context) {
  int i = (int)(intptr_t)context;
  csched_lock_lock(&shared[i].lock);
  model_write(&owned[i], model_read(&owned[i]) + 1);
  csched_lock_unlock(&shared[i].lock);
  entered++;
}
static void one_bucket(void) {
  reset();
  for (int i = 0; i < SHARED; i++) {
    shared[i].lock.owner = 0;
    owned[i] = (model_cell){0};
    model_assert(csched_lock_hash_(&shared[i].lock) == csched_lock_hash_(&shared[0].lock));
  }
  for (intptr_t i = 0; i < 2 * SHARED; i++) model_spawn(lock_shared, (void *)(i % SHARED));
}
static void bucket_left(void) {
  for (int i = 0; i < SHARED; i++) model_assert(owned[i].value == 2 && shared[i].lock.owner == 0);
  for (int i = 0; i < CSCHED_LOCK_WAITER_FLAGS_; i++) model_assert(csched_lock_waiter_flags_[i].word == 0);
}

static void use_bucket(void *unused) {
  (void)unused;
  csched_bucket *bucket = csched_bucket_lock_(7);
  use();
  csched_bucket_unlock_(bucket);
}
static void three_used(void) { model_assert(guarded.value == 3); }

// MARK: hand-off and signals

// A sleeper is starved at once.
static void reset_due(void) {
  reset();
  csched_lock_starved_after_ = 0;
}
static void due_in_one_bucket(void) {
  one_bucket();
  csched_lock_starved_after_ = 0;
}

// Two sleep until they may be starved. The first is woken, and may be late; the other is passed so often and no more.
enum { PASSES = 2, TRIES = PASSES + 4 };
static int waiting(void) {
  csched_bucket *bucket = csched_bucket_lock_(csched_lock_hash_(&lock));
  csched_sleeper *each;
  int count = 0;
  TAILQ_FOREACH(each, &bucket->sleepers, link) count++;
  csched_bucket_unlock_(bucket);
  return count;
}
static void pass_sleepers(void *unused) {
  (void)unused;
  int passed = 0;
  csched_lock_lock(&lock);
  while (waiting() < 2) csched_nap_(100000);
  for (csched_time end = csched_now() + 2000000; csched_now() < end;) csched_nap_(1000000);
  csched_lock_unlock(&lock);
  for (bool passes = true; passes && passed < TRIES; passed += passes) {
    csched_lock_lock(&lock);
    passes = entered == 0;
    csched_lock_unlock(&lock);
  }
  model_assert(passed <= PASSES + 1);
}
static void wait_behind(void *unused) {
  while (csched_load_relaxed(&lock.owner) == 0) csched_nap_(100000);
  lock_once(unused);
}
static void passed(void) {
  reset();
  csched_lock_passes_ = PASSES;
  csched_processors_seen_ = 1; // no thread spins
  model_spawn(pass_sleepers, NULL);
  model_spawn(wait_behind, NULL);
  model_spawn(wait_behind, NULL);
}

static void signal_sleeper(void *unused) {
  (void)unused;
  model_write(&guarded, 42);
  csched_sleeper_signal_(&sleeper, 3);
}
static void wait_for_signal(void *unused) {
  (void)unused;
  model_assert(csched_sleeper_wait_(&sleeper, CSCHED_FOREVER) == 3 && model_read(&guarded) == 42);
}
static void wait_for_signal_in_time(void *unused) { // whose signal may come when the time is over
  (void)unused;
  uint32_t signal = csched_sleeper_wait_(&sleeper, csched_time_after(csched_now(), 10000));
  model_assert(signal == 0 || (signal == 3 && model_read(&guarded) == 42));
}

// MARK: life

static csched_lock *shared_lock;
static int users;
static void share_on_heap(void) {
  shared_lock = calloc(1, sizeof *shared_lock);
  users = 3;
}
static void use_and_free(void *unused) {
  (void)unused;
  csched_lock_lock(shared_lock);
  bool is_last = --users == 0;
  csched_lock_unlock(shared_lock);
  if (is_last) free(shared_lock);
}

// MARK: misuse

static void relock(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  csched_lock_lock(&lock);
}
static void relock_in_time(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  (void)csched_lock_lock_until(&lock, CSCHED_FOREVER);
}
static void unlock_only(void *unused) {
  (void)unused;
  csched_lock_unlock(&lock);
}
static void keep_locked(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
}
// A stranger unlocks although a sleeper of the lock is starved, to which an unlock by the owner would hand it.
static void hold_until_panic(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  while (model_panics() == 0) csched_nap_(100000);
  csched_lock_unlock(&lock);
}
static void unlock_past_sleeper(void *unused) {
  while (waiting() == 0) csched_nap_(100000);
  unlock_only(unused);
}

// MARK: an owner that has ended

enum { LOOK = 100000 }; // ns; longer than a spin

static void nap_until(csched_time end) {
  while (csched_now() < end) csched_nap_(LOOK);
}

static void keep_for_long(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  nap_until(csched_now() + 3 * LOOK);
}
static void hold_for_long(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  nap_until(csched_now() + LOOK);
  use();
  csched_lock_unlock(&lock);
}
// This thread has the number of the first, and so counts as the owner, as if the first had unlocked and this one had
// locked since.
static void unlock_as_the_first(void *unused) {
  (void)unused;
  while (!model_has_number_of(1)) csched_nap_(LOOK);
  csched_lock_unlock(&lock);
}

// The waiter that stops leaves its frame in the bucket.
static void stopped_for_ended(void) {
  model_assert(model_panics() == (entered == 0));
  csched_buckets_forget_();
  memset(csched_lock_waiter_flags_, 0, sizeof csched_lock_waiter_flags_);
}

static void expect_looks(void) {
  reset();
  csched_lock_checks_owner_after_ = LOOK;
  csched_processors_seen_ = 1; // no thread spins: the checks come after few steps
}

static void lock_kept(void *unused) {
  while (csched_load_relaxed(&lock.owner) == 0) csched_nap_(LOOK);
  lock_once(unused);
}
static void number_taken(void) {
  expect_looks();
  model_give_number_after_look(3, 1);
  model_spawn(keep_locked, NULL);
  model_spawn(lock_kept, NULL);
  model_spawn(unlock_as_the_first, NULL);
}
static void one_section(void) { all_left(1); }

// An awake waiter gives up while another sleeps. The owner's wake is lost with it, unless the waiter checks again.
static void lock_briefly(void *unused) {
  (void)unused;
  csched_time start = csched_now(), step = csched_now() - start;
  if (csched_lock_lock_until(&lock, start + 3 * step + step / 2)) {
    use();
    csched_lock_unlock(&lock);
  } else {
    timed_out++;
  }
}
static void three_sections(void) { all_left(3); }

static void two_sections(void) { model_assert(entered == 2 && guarded.value == 2 && lock.owner == 0); }

static void four_sections(void) { all_left(4); }

const model_check lock_checks[] = {
    {"lock: two threads, twice each: exclusion, no lost wake", reset, four_sections,
     THREADS({lock_twice}, {lock_twice})}, // LK1, LK2, LK3
    {"lock: a spinning thread writes no flag while no thread sleeps", reset, two_sections,
     THREADS({hold_and_look}, {lock_once})}, // LK11
    {"lock: three threads: exclusion, no lost wake", reset, four_sections,
     THREADS({lock_once}, {lock_twice}, {lock_once})}, // LK1, LK2, LK3, LK4
    {"lock: a timed lock gives up and leaves nothing behind", reset, four_sections,
     THREADS({lock_twice}, {lock_for_a_while}, {lock_once})},                               // LK5
    {"lock: trylock beside lock", reset, four_sections, THREADS({lock_twice}, {try_once})}, // LK1
    {"lock: held for long, with hand-off and timeout", reset, four_sections,
     THREADS({hold_long}, {lock_once}, {lock_for_a_while})}, // LK7
    {"lock: an awake waiter gives up while another sleeps", reset, three_sections,
     THREADS({lock_once}, {lock_once}, {lock_briefly})}, // LK5
    {"lock: handed over, three threads", reset_due, four_sections,
     THREADS({lock_once}, {lock_twice}, {lock_once})}, // LK1, LK2, LK7
    {"lock: handed over, beside a waiter that gives up", reset_due, four_sections,
     THREADS({lock_twice}, {lock_for_a_while}, {lock_once})},                         // LK5, LK7
    {"lock: handed over, two locks of one bucket", due_in_one_bucket, bucket_left},   // LK3, LK7
    {"lock: a starved sleeper is passed so often and no more", passed, two_sections}, // LK7
    {"lock: two locks of one bucket, two threads each", one_bucket, bucket_left},     // LK3, PK3
    {"lock: a bucket's own lock, three threads", reset, three_used,
     THREADS({use_bucket}, {use_bucket}, {use_bucket})}, // PK1, PK2
    {"lock: a signal publishes the waker's writes", reset, NULL,
     THREADS({signal_sleeper}, {wait_for_signal})}, // PK3, LK7
    {"lock: a signal at the deadline publishes the waker's writes", reset, NULL,
     THREADS({signal_sleeper}, {wait_for_signal_in_time})}, // PK3, LK7
    {"lock: freed by the last of its users", share_on_heap, NULL,
     THREADS({use_and_free}, {use_and_free}, {use_and_free})}, // LK8
    {"lock: held by a thread that has ended", expect_looks, stopped_for_ended, THREADS({keep_locked}, {lock_once}),
     "which has ended without unlocking it"}, // LK10
    {"lock: held by a thread that ends later", expect_looks, stopped_for_ended, THREADS({keep_for_long}, {lock_once}),
     "which has ended without unlocking it"}, // LK10
    {"lock: unlocked by a thread that then ends", expect_looks, two_sections,
     THREADS({hold_for_long}, {lock_once})},                                                           // LK10
    {"lock: unlocked by a thread whose number is reused", number_taken, one_section},                  // LK10
    {"lock: relock stops the process", reset, model_one_panic, THREADS({relock}), "is not recursive"}, // LK6
    {"lock: relock with a deadline stops the process", reset, model_one_panic, THREADS({relock_in_time}),
     "is not recursive"}, // LK6
    {"lock: unlock of an unlocked lock stops the process", reset, model_one_panic, THREADS({unlock_only}),
     "does not own"}, // LK6
    {"lock: unlock by another thread stops the process", reset, model_one_panic, THREADS({keep_locked}, {unlock_only}),
     "does not own"}, // LK6
    {"lock: unlock by another thread, past a starved sleeper", reset_due, model_one_panic,
     THREADS({hold_until_panic}, {wait_behind}, {unlock_past_sleeper}), "does not own"}, // LK6
    {NULL, NULL, NULL},
};
