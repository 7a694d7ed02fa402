// Sleeping for a condition, a semaphore, a latch, a group or a read-write lock. No atomics here: the bucket's lock
// orders all accesses.
// Models: checks/waiting.c.

#include "../base/panic.h"
#include "../job/observed.h"
#include "lock_internal.h"
#include "waiting_internal.h"

void (*csched_waiting_begins_)(void); // called before a sleep, so that a pool replaces a waiting worker; NULL: no pool
void (*csched_waiting_ends_)(void);   // called after the sleep

csched_bucket *csched_waiters_lock_(const void *address) {
  return csched_bucket_lock_(CSCHED_LOCK_WAITER_FLAGS_ + csched_lock_hash_(address)); // the first half is for locks
}

csched_sleeper csched_waiter_(const void *address) {
  uint32_t self = csched_lock_self_(); // also registers the fork handler that empties the buckets
  return (csched_sleeper){.address = address, .thread = self, .since = csched_now()};
}

uint32_t csched_waiter_sleep_(csched_sleeper *waiter, csched_time deadline) { // Returns: the signal; 0: timeout
  if (csched_is_observed_()) csched_observe_hooks_->note(CSCHED_OCCURRED_BLOCK, waiter->address, 0); // 0: unused
  if (csched_waiting_begins_ != NULL) csched_waiting_begins_();
  uint32_t signal = csched_sleeper_wait_(waiter, deadline);
  if (signal == 0) { // timeout: dequeue `waiter`, unless a waker has done so
    csched_bucket *bucket = csched_waiters_lock_(waiter->address);
    bool was_queued = waiter->queued;
    if (was_queued) csched_bucket_remove_locked_(bucket, waiter);
    csched_bucket_unlock_(bucket);
    if (!was_queued) signal = csched_sleeper_wait_(waiter, CSCHED_FOREVER); // parking.c PK3: a waker will signal it
  }
  if (csched_waiting_ends_ != NULL) csched_waiting_ends_();
  return signal;
}

void csched_waiter_take_locked_(csched_bucket *bucket, csched_sleeper *waiter, csched_sleepers *taken) {
  csched_bucket_remove_locked_(bucket, waiter);
  TAILQ_INSERT_TAIL(taken, waiter, link);
}

void csched_waiters_signal_(csched_sleepers *taken, uint32_t signal) {
  csched_sleeper *waiter, *next;
  TAILQ_FOREACH_SAFE(waiter, taken, link, next) csched_sleeper_signal_(waiter, signal);
}

void csched_waiters_require_none_(const void *address, const char *function, const char *what) {
  csched_bucket *bucket = csched_waiters_lock_(address);
  csched_sleeper *first = csched_bucket_first_locked_(bucket, address);
  uint32_t thread = first != NULL ? first->thread : 0; // 0: no thread waits
  csched_bucket_unlock_(bucket);
  if (thread == 0) return;
  char name[16];
  csched_os_thread_get_name_(csched_lock_thread_of_(thread), name, sizeof name);
  csched_panic_(function, "thread %u (%s) waits for %s %p. Destroy it when all waits for it have returned.", thread,
                name, what, address);
}
