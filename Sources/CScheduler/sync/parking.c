// Buckets of sleeping threads: a hash of an address selects a bucket, and a wake reaches one chosen sleeper.
//
// States of a bucket's lock
//   0 free      1 locked      2 locked, and a thread may sleep on the lock
// States of a sleeper
//   queued, signal 0: in its bucket      dequeued, signal 0: its waker will signal it      signal ≠ 0: woken
// Invariants
//   PK1  One thread at a time changes a bucket.
//   PK2  A thread that sleeps on a bucket's lock is woken: an unlock that finds 2 wakes one thread. A thread that has
//        found the lock locked later acquires it by setting it to 2, because other threads may sleep on it.
//   PK3  A dequeued sleeper is signalled exactly once. Its wait does not return before the signal, because the sleeper
//        is on its thread's stack.
// Orderings
//   lock: acquire, pairs with unlock's release, carries the bucket · signal: release, pairs with wait's acquire,
//   carries what the waker did before (such as a hand-off of a lock)
// Assumes: code that holds a bucket's lock calls no user code and allocates nothing.
// Source: the three-state lock of Drepper's "Futexes are tricky"; buckets by address as in WebKit's ParkingLot.
// Models: checks/lock.c.

#include "parking.h"
#include <string.h>

enum { FREE = 0, LOCKED = 1, SLEPT_ON = 2 }; // a bucket's lock. SLEPT_ON: locked, and a thread may sleep on it

static csched_bucket buckets[CSCHED_BUCKETS_]; // the first half for locks, the second half for all other waits

// Does: locks bucket `index`: changes FREE to LOCKED. If another thread has locked it, sleeps until it can change FREE
// to SLEPT_ON.
csched_bucket *csched_bucket_lock_(size_t index) {
  csched_bucket *bucket = &buckets[index];
  uint32_t found = FREE;
  if (!csched_cas_acquire(&bucket->lock, &found, (uint32_t)LOCKED))            // PK1: acquire; it was free
    while (csched_exchange_acquire(&bucket->lock, (uint32_t)SLEPT_ON) != FREE) // PK1, PK2: acquires; others may sleep
      csched_futex_wait_(&bucket->lock, SLEPT_ON, CSCHED_FOREVER);
  if (bucket->sleepers.tqh_last == NULL) TAILQ_INIT(&bucket->sleepers); // zero: first use, or after a fork
  return bucket;
}

void csched_bucket_unlock_(csched_bucket *bucket) {
  if (csched_exchange_release(&bucket->lock, (uint32_t)FREE) == SLEPT_ON) // PK1: release; PK2: another may sleep
    csched_futex_wake_(&bucket->lock, 1);
}

csched_time csched_bucket_next_starved_at_(size_t index) {
  return csched_load_relaxed(&buckets[index].looks_for_starved_at); // Speed only: may be old; lock.c checks again
}

void csched_bucket_insert_locked_(csched_bucket *bucket, csched_sleeper *sleeper, bool in_front) {
  if (in_front) TAILQ_INSERT_HEAD(&bucket->sleepers, sleeper, link);
  else TAILQ_INSERT_TAIL(&bucket->sleepers, sleeper, link);
  sleeper->queued = true;
}

void csched_bucket_remove_locked_(csched_bucket *bucket, csched_sleeper *sleeper) {
  TAILQ_REMOVE(&bucket->sleepers, sleeper, link);
  sleeper->queued = false;
}

csched_sleeper *csched_bucket_first_locked_(csched_bucket *bucket, const void *address) {
  csched_sleeper *sleeper;
  TAILQ_FOREACH(sleeper, &bucket->sleepers, link) {
    if (sleeper->address == address) return sleeper;
  }
  return NULL;
}

uint32_t csched_sleeper_wait_(csched_sleeper *sleeper, csched_time deadline) {
  uint32_t signal;
  while ((signal = csched_load_acquire(&sleeper->signal)) == 0) // PK3: sees what the waker did before
    if (csched_futex_wait_(&sleeper->signal, 0, deadline) == CSCHED_FUTEX_TIMED_OUT)
      return csched_load_acquire(&sleeper->signal); // PK3: it may have been signalled at the deadline
  return signal;
}

void csched_sleeper_signal_(csched_sleeper *sleeper, uint32_t signal) {
  uint32_t *word = &sleeper->signal;
  csched_store_release(word, signal); // PK3: the sleeper may now be freed; the wake uses only its address
  csched_futex_wake_(word, 1);
}

void csched_buckets_forget_(void) { memset(buckets, 0, sizeof buckets); } // zero: unlocked and empty
