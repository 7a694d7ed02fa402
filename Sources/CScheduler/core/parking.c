// States of a bucket's lock
//   0 free      1 taken      2 taken, somebody may sleep on it
// States of a sleeper
//   queued, signal 0: in its bucket      removed, signal 0: its waker is about to signal      signal ≠ 0: told to go on
// Obligations
//   B1  A bucket is changed by one thread at a time.
//   B2  A thread that sleeps on a bucket's lock is woken: whoever finds 2 at unlock wakes one, and whoever has slept takes
//       the lock with 2, because there may be more like it.
//   B3  A sleeper that was removed is signalled exactly once, and does not leave before: its memory is its stack.
// Orderings
//   lock: acquire, pairs with unlock's release, carries the bucket · signal: release, pairs with wait's acquire, carries
//   what the waker did before (a lock handed over)
// Assumes: nothing is called and nothing allocated under a bucket's lock.
// Source: the three-state lock of Drepper's "Futexes are tricky"; the lot itself is WebKit's idea.
// Checked by: every contended lock test; "locks that share a bucket do not take each other's wakes".
// Models: checks/lock.c.

#include "parking.h"

#include <string.h>

enum { FREE = 0, TAKEN = 1, SLEPT_ON = 2 };

static csched_bucket buckets[CSCHED_BUCKETS_];

csched_bucket *csched_bucket_lock_(size_t index) {
  csched_bucket *bucket = &buckets[index];
  uint32_t found = FREE;
  if (!csched_cas_acquire(&bucket->lock, &found, (uint32_t)TAKEN))             // B1
    while (csched_exchange_acquire(&bucket->lock, (uint32_t)SLEPT_ON) != FREE) // B1, B2
      csched_futex_wait_(&bucket->lock, SLEPT_ON, CSCHED_FOREVER);
  if (bucket->sleepers.tqh_last == NULL) TAILQ_INIT(&bucket->sleepers); // its first use
  return bucket;
}

void csched_bucket_unlock_(csched_bucket *bucket) {
  if (csched_exchange_release(&bucket->lock, (uint32_t)FREE) == SLEPT_ON) // B1: release; B2
    csched_futex_wake_(&bucket->lock, 1);
}

csched_time csched_bucket_looks_at_(size_t index) {
  return csched_load_relaxed(&buckets[index].looks_at); // Speed only
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
  while ((signal = csched_load_acquire(&sleeper->signal)) == 0) // B3: pairs with the waker's release
    if (csched_futex_wait_(&sleeper->signal, 0, deadline) == CSCHED_FUTEX_TIMED_OUT)
      return csched_load_acquire(&sleeper->signal); // B3
  return signal;
}

void csched_sleeper_signal_(csched_sleeper *sleeper, uint32_t signal) {
  uint32_t *word = &sleeper->signal;
  csched_store_release(word, signal); // B3: from here on the sleeper may be gone; the address is only a name
  csched_futex_wake_(word, 1);
}

void csched_buckets_forget_(void) { memset(buckets, 0, sizeof buckets); }
