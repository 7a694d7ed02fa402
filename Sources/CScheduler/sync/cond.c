// A condition variable: a waiter releases a lock, sleeps until a signal, a broadcast or a deadline, and locks again.
//
// States
//   lock      0               no thread waits
//             address         threads that wait with the lock at this address may sleep in the condition's bucket
//                             (waiting_internal.h); set and cleared under the bucket's lock
//   a sleeper is in the bucket, unmarked; or there, marked (`is_marked`): a broadcast has included it and will wake it;
//             or dequeued
//
// Invariants
//   CV1  No lost wake: a waiter enters the bucket before it releases the lock. So a thread that locks later, and then
//        signals, finds the waiter.
//   CV2  A signal wakes the first unmarked waiter in the bucket. A wait ends by a signal, a broadcast or its deadline.
//   CV3  No thundering herd: a broadcast marks all waiters, and wakes the first csched_cond_woken_at_once_. A waiter
//        that it has woken wakes the next marked one. If that waiter finds the lock held, it wakes none before it owns
//        the lock. So a lock that is held throughout a broadcast has no more than these waiting for it. While a marked
//        waiter sleeps, a woken waiter is about to wake the next.
//   CV4  A waiter that gives up at its deadline is dequeued, and takes no wake from another waiter. A marked waiter
//        counts as woken.
//   CV5  The caller owns the lock again when a wait returns.
//   CV6  A signal does not access the condition after the wake: the woken thread may free it.
//   CV7  Misuse is detected and stops the process: a wait without the lock, a wait with a lock other than that of the
//        present waiters, and destroying the condition while a thread waits.
//   CV8  In a child of fork no thread sleeps, even if `lock` is not 0. Operations check the bucket, which is empty
//        there.
//
// Orderings
//   lock: relaxed; set before the wait releases the lock, so each later owner sees it · the lock carries the data that
//   it guards
// Assumes: PK1, PK3 of parking.c; LK1, LK2 of lock.c.
// Source: Mesa's monitors. nsync and WebKit move the waiters to the lock's queue. Here one waiter wakes the next,
//   because sleepers of a lock check that its owner lives (LK10), and a moved waiter would not check.
// Models: checks/waiting.c. Not modelled: CV8.

#include <CScheduler/cond.h>
#include "../base/panic.h"
#include "lock_internal.h"
#include "waiting_internal.h"

// The signals that end a waiter's sleep; 0, no signal, means that its deadline has passed. SIGNALLED:
// csched_cond_signal sends it; the waiter wakes no other. WAKE_NEXT: a broadcast marks all waiters, and sends it to the
// first few. Each waiter that gets WAKE_NEXT sends it to the next marked waiter (CV3).
enum { SIGNALLED = 1, WAKE_NEXT = 2 };

uint32_t csched_cond_woken_at_once_ = 4; // CV3: measured in Waiting.md; model checks change it

static CSCHED_NORETURN CSCHED_NOINLINE void panic_other_lock(const csched_cond *cond, const csched_lock *lock,
                                                             uintptr_t other) { // CV7: a wait with a second lock
  csched_panic_("csched_cond_wait",
                "condition %p is waited for with lock %p, and with lock %p by another thread. Use one lock with it.",
                (const void *)cond, (const void *)lock, (void *)other);
}

// Returns: the first waiter for `cond` that a broadcast has marked (`is_marked` true), or the first that none has
// marked (false). NULL: there is no such waiter. Requires: the bucket is locked.
static csched_sleeper *first_waiter_locked(csched_bucket *bucket, const csched_cond *cond, bool is_marked) {
  csched_sleeper *each;
  TAILQ_FOREACH(each, &bucket->sleepers, link) {
    if (each->address == cond && each->is_marked == is_marked) return each;
  }
  return NULL;
}

// Does: moves `waiter`, if not NULL, from the bucket to `taken`, and clears `cond->lock` if the bucket then has no
// waiter for `cond`. The caller then signals `taken`, and does not access `cond` afterwards: `waiter` may free it
// (CV6). If the caller is a woken waiter (CV3), its own wait still keeps `cond` valid up to here.
static void dequeue_locked(csched_bucket *bucket, csched_cond *cond, csched_sleeper *waiter, csched_sleepers *taken) {
  if (waiter != NULL) csched_waiter_take_locked_(bucket, waiter, taken);
  if (csched_bucket_first_locked_(bucket, cond) == NULL)
    csched_store_relaxed(&cond->lock, (uintptr_t)0); // CV6: before the signal: then the woken thread may free `cond`
}

static void wake_first(csched_cond *cond, bool is_marked, uint32_t signal) { // wakes the first waiter with `is_marked`
  csched_sleepers taken = TAILQ_HEAD_INITIALIZER(taken);
  csched_bucket *bucket = csched_waiters_lock_(cond);
  dequeue_locked(bucket, cond, first_waiter_locked(bucket, cond, is_marked), &taken);
  csched_bucket_unlock_(bucket);
  csched_waiters_signal_(&taken, signal);
}

static bool may_have_waiters(const csched_cond *cond) {
  return csched_load_relaxed(&cond->lock) != 0; // CV1: a waiter sets it before it releases its lock
}

// Does: inserts `waiter` into the bucket, unless threads wait with another lock (CV7). Returns: 0; else the address of
// that lock. `cond->lock` counts only if the bucket has a waiter for `cond`: a child of fork may have inherited it
// (CV8).
static uintptr_t insert_waiter(csched_cond *cond, const csched_lock *lock, csched_sleeper *waiter) {
  csched_bucket *bucket = csched_waiters_lock_(cond);
  uintptr_t other = csched_load_relaxed(&cond->lock); // ordered by the lock of the bucket
  if (other == (uintptr_t)lock || csched_bucket_first_locked_(bucket, cond) == NULL) other = 0; // CV7; CV8: or stale
  if (other == 0) {
    csched_store_relaxed(&cond->lock, (uintptr_t)lock);  // CV1: set first: each later owner of the lock sees it
    csched_bucket_insert_locked_(bucket, waiter, false); // false: at the end
  }
  csched_bucket_unlock_(bucket);
  return other;
}

bool csched_cond_wait_until(csched_cond *cond, csched_lock *lock, csched_time deadline) { // Returns: false: timeout
  if (!csched_lock_is_owner_(lock)) // CV7: only the owner can release the lock
    csched_panic_(
        "csched_cond_wait",
        "the caller does not own lock %p. Lock it, look whether there is anything to wait for, and then wait with it.",
        (void *)lock);
  csched_sleeper waiter = csched_waiter_(cond);
  uintptr_t other = insert_waiter(cond, lock, &waiter);
  if (other != 0) panic_other_lock(cond, lock, other);
  csched_lock_unlock(lock); // CV1: after the insertion: a signal from now on finds the waiter
  uint32_t signal = csched_waiter_sleep_(&waiter, deadline);
  bool must_wake = signal == WAKE_NEXT;
  bool is_held = must_wake && csched_lock_owner_seen_(lock) != 0; // CV3: the next waiter would wait for the lock, too
  if (must_wake && !is_held) wake_first(cond, true, WAKE_NEXT);   // CV3: early: it wakes up while this one locks
  csched_lock_lock(lock);                                         // CV5: the caller owns it again
  if (is_held) wake_first(cond, true, WAKE_NEXT);                 // CV3: now, because the caller soon unlocks
  return signal != 0 || waiter.is_marked;                         // CV4: a marked waiter counts as woken, even late
}

void csched_cond_wait(csched_cond *cond, csched_lock *lock) { csched_cond_wait_until(cond, lock, CSCHED_FOREVER); }

void csched_cond_signal(csched_cond *cond) {
  if (may_have_waiters(cond)) wake_first(cond, false, SIGNALLED); // CV2: false: the first unmarked waiter
}

void csched_cond_broadcast(csched_cond *cond) { // wakes the first waiters; each woken waiter wakes the next
  if (!may_have_waiters(cond)) return;
  csched_sleepers taken = TAILQ_HEAD_INITIALIZER(taken);
  csched_sleeper *each;
  csched_bucket *bucket = csched_waiters_lock_(cond);
  bool is_underway = first_waiter_locked(bucket, cond, true) != NULL; // CV3: then its woken waiters wake these, too
  uint32_t count = is_underway ? 0 : csched_cond_woken_at_once_;
  TAILQ_FOREACH(each, &bucket->sleepers, link) {
    if (each->address == cond) each->is_marked = true; // CV2: a signal now skips it
  }
  while (count-- > 0) dequeue_locked(bucket, cond, csched_bucket_first_locked_(bucket, cond), &taken);
  csched_bucket_unlock_(bucket);
  csched_waiters_signal_(&taken, WAKE_NEXT); // CV3: none if `is_underway`
}

void csched_cond_destroy(csched_cond *cond) {
  csched_waiters_require_none_(cond, "csched_cond_destroy", "condition"); // CV7: stops if a thread waits
}
