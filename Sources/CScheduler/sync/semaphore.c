// A counting semaphore in 4 bytes: a signal hands units to the sleepers in order of arrival, and frees the remaining
// units.
//
// States
//   word      2n              n units are free, and no thread sleeps
//             SLEEPERS        no unit is free, and a thread may sleep in the bucket (waiting_internal.h); set and
//                             cleared under the bucket's lock
//
// Invariants
//   SM1  Each signalled unit is acquired once, or is still free. No thread acquires a unit that was not signalled.
//   SM2  No lost wake: while a thread sleeps, no unit is free, and no signal frees one.
//   SM3  Order of arrival: a unit goes to the sleeper that has waited longest.
//   SM4  A waiter that gives up at its deadline is dequeued. If a unit is handed to it at that moment, its wait
//        succeeds.
//   SM5  All that precedes a signal is visible to the threads that acquire its units.
//   SM6  A signal does not access the semaphore after it has published its units: the thread that acquires the last
//        unit may free the semaphore.
//   SM7  Misuse is detected: more units than CSCHED_SEMAPHORE_MOST, and destroying the semaphore while a thread waits,
//        stop the process.
//   SM8  In a child of fork no thread sleeps, even if SLEEPERS is set. The first signal there finds the bucket empty,
//        and frees its units.
//
// Orderings
//   word: acquire, pairs with signal's release, carries what preceded the signal · a unit that is handed over: the
//   release of the sleeper's signal
// Assumes: PK1, PK3 of parking.c.
// Source: a benaphore that hands over contended units, like tickets; sleepers by address as in WebKit's ParkingLot.
// Models: checks/waiting.c. Not modelled: SM8.

#include <CScheduler/semaphore.h>
#include "../base/panic.h"
#include "waiting_internal.h"

enum { SLEEPERS = 1, UNIT = 2 }; // parts of `word`: the bit, and one unit
enum { YOURS = 1 };              // signal to a sleeper: it has a unit

// Does: stops the process if `free` and `units` together exceed CSCHED_SEMAPHORE_MOST.
static void require_room(const csched_semaphore *semaphore, uint32_t free, uint32_t units, const char *function) {
  if (units <= CSCHED_SEMAPHORE_MOST && free <= CSCHED_SEMAPHORE_MOST - units) return; // SM7: compared without overflow
  csched_panic_(function,
                "semaphore %p has %u free units, and cannot have %u more. Signal once for each wait.", // SM7: too many
                (const void *)semaphore, free, units);
}

static bool take_unit(csched_semaphore *semaphore) {     // Returns: false: no unit is free
  uint32_t seen = csched_load_relaxed(&semaphore->word); // racy read, rechecked by the cas
  while (seen >= UNIT)
    if (csched_cas_acquire(&semaphore->word, &seen, seen - UNIT)) return true; // SM1, SM5: sees what preceded it
  return false;
}

// Does: sets SLEEPERS, unless a unit is free. Returns: whether no unit is free. Requires: the bucket is locked.
static bool announce_sleep_locked(csched_semaphore *semaphore) {
  uint32_t seen = 0;
  return csched_cas_relaxed(&semaphore->word, &seen, (uint32_t)SLEEPERS) || seen == SLEEPERS; // SM2: a signal sees it
}

static bool wait_for_unit(csched_semaphore *semaphore, csched_time deadline) { // Returns: false: timeout
  csched_sleeper waiter = csched_waiter_(semaphore);
  csched_bucket *bucket = csched_waiters_lock_(semaphore);
  bool taken = false;
  while (!taken && !announce_sleep_locked(semaphore)) taken = take_unit(semaphore); // until none is free
  if (!taken) csched_bucket_insert_locked_(bucket, &waiter, false);                 // SM3: false: at the end
  csched_bucket_unlock_(bucket);
  return taken || csched_waiter_sleep_(&waiter, deadline) == YOURS; // SM4: else timeout, and dequeued
}

// Does: if `word` is SLEEPERS, hands `units` to the sleepers, and frees the remaining units. Returns: false: `word` had
// changed; nothing is done.
static bool hand_units_over(csched_semaphore *semaphore, uint32_t units) {
  csched_sleepers taken = TAILQ_HEAD_INITIALIZER(taken);
  csched_sleeper *waiter;
  csched_bucket *bucket = csched_waiters_lock_(semaphore);
  bool may_sleep = csched_load_relaxed(&semaphore->word) == SLEEPERS; // SM2: stays while the bucket is locked
  if (may_sleep) {
    for (; units > 0 && (waiter = csched_bucket_first_locked_(bucket, semaphore)) != NULL; units--)
      csched_waiter_take_locked_(bucket, waiter, &taken);       // SM3: the oldest sleeper first
    if (csched_bucket_first_locked_(bucket, semaphore) == NULL) // clears SLEEPERS; `units` may be 0 now
      csched_store_release(&semaphore->word, units * UNIT);     // SM2, SM5, SM8: frees the rest; pairs with take_unit
  }
  csched_bucket_unlock_(bucket);
  csched_waiters_signal_(&taken, YOURS); // SM6: the semaphore may have been freed: not accessed
  return may_sleep;
}

void csched_semaphore_init(csched_semaphore *semaphore, uint32_t units) {
  require_room(semaphore, 0, units, "csched_semaphore_init");
  semaphore->word = units * UNIT;
}

bool csched_semaphore_trywait(csched_semaphore *semaphore) { return take_unit(semaphore); }

void csched_semaphore_wait(csched_semaphore *semaphore) {
  if (!take_unit(semaphore)) wait_for_unit(semaphore, CSCHED_FOREVER);
}

bool csched_semaphore_wait_until(csched_semaphore *semaphore, csched_time deadline) {
  if (take_unit(semaphore)) return true;
  return (deadline == CSCHED_FOREVER || csched_now() < deadline) && wait_for_unit(semaphore, deadline);
}

void csched_semaphore_signal(csched_semaphore *semaphore, uint32_t units) { // sleepers get units before others
  require_room(semaphore, 0, units, "csched_semaphore_signal"); // checks `units` alone: sleepers may get them all
  if (units == 0) return;
  do {
    uint32_t seen = csched_load_relaxed(&semaphore->word); // racy read, rechecked by the cas
    while (seen != SLEEPERS) {
      require_room(semaphore, seen / UNIT, units, "csched_semaphore_signal");
      if (csched_cas_release(&semaphore->word, &seen, seen + units * UNIT)) return; // SM1, SM5: pairs with take_unit
    }
  } while (!hand_units_over(semaphore, units)); // false: no thread sleeps any more, so free the units
}

uint32_t csched_semaphore_units(const csched_semaphore *semaphore) {
  return csched_load_relaxed(&semaphore->word) / UNIT; // racy read: for diagnostics
}

void csched_semaphore_destroy(csched_semaphore *semaphore) {
  csched_waiters_require_none_(semaphore, "csched_semaphore_destroy", "semaphore"); // SM7: stops if a thread waits
}
