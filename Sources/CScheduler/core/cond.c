// States
//   lock      0               nobody waits
//             address         somebody may sleep in the bucket (waiting_internal.h), who has let go of the lock at that address; set and
//                             cleared under the bucket's lock
//   a sleeper: in the bucket, untold      in the bucket, told: a broadcast meant it, too, and it is to be woken in its turn      taken out
//
// Obligations
//   CV1  No lost wake: who waits is in the bucket before it lets go of the lock; so a signal by a thread that had the lock after that finds it.
//   CV2  A signal wakes one that no signal or broadcast has meant yet, the first of them; a wait ends by a signal, a broadcast or its deadline.
//   CV3  No herd: a broadcast wakes one; each that is woken by it wakes the next that is told, when it has the lock. While somebody who is
//        told sleeps, there is a thread on its way that will wake it.
//   CV4  A waiter that gives up at its deadline leaves nothing in the bucket, and takes nobody's wake with it; one that was told before
//        counts as woken.
//   CV5  The lock is the caller's again when a wait returns.
//   CV6  A signal does not touch the condition after the wake: who was woken may free it.
//   CV7  Misuse is found: a wait without the lock, with another lock than those who wait, and an end while somebody waits, stop the process.
//   CV8  In a child of fork nobody sleeps, whatever the word says: the bucket is what counts.
//
// Orderings
//   lock: relaxed; set before the unlock of the lock, so whoever has it later sees that · what is guarded is carried by the lock
// Assumes: B1, B3 of parking.c; L1, L2 of lock.c.
// Source: Mesa's monitors; one wake after the other in place of a queue that is moved to the lock (nsync, WebKit): those who wait for a lock look
//   whether its owner lives (L10), and who has been moved would not.
// Checked by: "a condition loses no wake", "a signal wakes one, in the order of arrival", "a broadcast wakes all that wait, one by one",
//   "a timed wait for a condition gives up and leaves nothing behind", "a condition may be freed by who was woken",
//   "a wait without the lock stops the process", "a wait with another lock stops the process",
//   "a condition that is destroyed with waiters stops the process", "after fork nobody waits, and units and counts are there".
// Models: checks/waiting.c. Not modelled: CV8.

#include <CScheduler/cond.h>

#include "lock_internal.h"
#include "panic.h"
#include "waiting_internal.h"

enum { GO_ON = 1, WAKE_NEXT = 2 }; // signals to a sleeper

static CSCHED_NORETURN CSCHED_NOINLINE void panic_other_lock(const csched_cond *cond, const csched_lock *lock,
                                                             uintptr_t other) {
  csched_panic_("csched_cond_wait", // CV7
                "condition %p is waited for with lock %p, and with lock %p by another thread. Use one lock with it.",
                (const void *)cond, (const void *)lock, (void *)other);
}

static csched_sleeper *first_locked(csched_bucket *bucket, const csched_cond *cond, bool told) {
  csched_sleeper *each;
  TAILQ_FOREACH(each, &bucket->sleepers, link) {
    if (each->address == cond && each->told == told) return each;
  }
  return NULL;
}

// The condition is there until who is taken out is signalled, or the caller's own call has returned.
static void take_locked(csched_bucket *bucket, csched_cond *cond, csched_sleeper *waiter, csched_sleepers *taken) {
  if (waiter != NULL) csched_waiter_take_locked_(bucket, waiter, taken);
  if (csched_bucket_first_locked_(bucket, cond) == NULL) csched_store_relaxed(&cond->lock, (uintptr_t)0); // CV6
}

static void wake_first(csched_cond *cond, bool told, uint32_t signal) {
  csched_sleepers taken = TAILQ_HEAD_INITIALIZER(taken);
  csched_bucket *bucket = csched_waiters_lock_(cond);
  take_locked(bucket, cond, first_locked(bucket, cond, told), &taken);
  csched_bucket_unlock_(bucket);
  csched_waiters_signal_(&taken, signal);
}

static bool somebody_may_wait(const csched_cond *cond) {
  return csched_load_relaxed(&cond->lock) != 0; // CV1
}

// Returns: 0, or the other lock with which threads wait already.
static uintptr_t insert(csched_cond *cond, const csched_lock *lock, csched_sleeper *waiter) {
  csched_bucket *bucket = csched_waiters_lock_(cond);
  uintptr_t other = csched_load_relaxed(&cond->lock); // ordered by the lock of the bucket
  if (other == (uintptr_t)lock || csched_bucket_first_locked_(bucket, cond) == NULL) other = 0; // CV7, CV8
  if (other == 0) {
    csched_store_relaxed(&cond->lock, (uintptr_t)lock); // CV1
    csched_bucket_insert_locked_(bucket, waiter, false);
  }
  csched_bucket_unlock_(bucket);
  return other;
}

bool csched_cond_wait_until(csched_cond *cond, csched_lock *lock, csched_time deadline) {
  if (!csched_lock_is_owner_(lock))
    csched_panic_(
        "csched_cond_wait", // CV7
        "the caller does not own lock %p. Lock it, look whether there is anything to wait for, and then wait with it.",
        (void *)lock);
  csched_sleeper waiter = csched_waiter_(cond);
  uintptr_t other = insert(cond, lock, &waiter);
  if (other != 0) panic_other_lock(cond, lock, other);
  csched_lock_unlock(lock); // CV1
  uint32_t signal = csched_waiter_sleep_(&waiter, deadline);
  csched_lock_lock(lock);                                     // CV5
  if (signal == WAKE_NEXT) wake_first(cond, true, WAKE_NEXT); // CV3
  return signal != 0 || waiter.told;                          // CV4
}

void csched_cond_wait(csched_cond *cond, csched_lock *lock) { csched_cond_wait_until(cond, lock, CSCHED_FOREVER); }

void csched_cond_signal(csched_cond *cond) {
  if (somebody_may_wait(cond)) wake_first(cond, false, GO_ON); // CV2
}

void csched_cond_broadcast(csched_cond *cond) {
  if (!somebody_may_wait(cond)) return;
  csched_sleepers taken = TAILQ_HEAD_INITIALIZER(taken);
  csched_sleeper *each;
  csched_bucket *bucket = csched_waiters_lock_(cond);
  bool goes_on = first_locked(bucket, cond, true) != NULL; // CV3: somebody is on its way already
  TAILQ_FOREACH(each, &bucket->sleepers, link) {
    if (each->address == cond) each->told = true; // CV2
  }
  take_locked(bucket, cond, goes_on ? NULL : csched_bucket_first_locked_(bucket, cond), &taken);
  csched_bucket_unlock_(bucket);
  csched_waiters_signal_(&taken, WAKE_NEXT); // CV3
}

void csched_cond_destroy(csched_cond *cond) {
  csched_waiters_require_none_(cond, "csched_cond_destroy", "condition"); // CV7
}
