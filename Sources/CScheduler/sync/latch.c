// A countdown latch in 4 bytes: once the count is zero, it is open for good, and all waiters return.
//
// States
//   word      2n              n counts remain, and no thread sleeps
//             2n | SLEEPERS   n counts remain, and a thread may sleep in the bucket (waiting_internal.h); set under the
//                             bucket's lock
//             0               open for good
//
// Invariants
//   LT1  The thread that counts down to zero opens the latch, once. A wait succeeds only if its thread has read the
//        open latch, or was signalled by the opening thread.
//   LT2  No lost wake: a sleeper has set SLEEPERS while counts remained. The opening thread then dequeues all sleepers.
//   LT3  All that precedes any count is visible to each waiter whose wait succeeds.
//   LT4  A waiter that gives up at its deadline is dequeued. If it is signalled at that moment, its wait succeeds.
//   LT5  After the opening, neither the opening thread nor the sleepers access the latch: the first waiter to return
//        may free it. One critical section of the bucket opens the latch and dequeues the sleepers. So a new latch in
//        this memory has no old sleepers.
//   LT6  Misuse is detected: a count below zero, and destroying the latch while a thread waits, stop the process.
//   LT7  In a child of fork no thread sleeps, even if SLEEPERS is set. The opening thread finds the bucket empty.
//
// Orderings
//   word: acquire, pairs with each count's release, carries what preceded the count; all counts are one release
//   sequence · a sleeper gets the same through the release of its signal: the opening thread has acquired all counts
// Assumes: PK1, PK3 of parking.c.
// Source: a countdown latch as in java.util.concurrent; sleepers by address as in WebKit's ParkingLot.
// Models: checks/waiting.c. Not modelled: LT7.

#include <CScheduler/latch.h>
#include "../base/panic.h"
#include "waiting_internal.h"

enum { SLEEPERS = 1, ONE = 2 }; // parts of `word`: the bit, and one count
enum { OPEN = 1 };              // signal to a sleeper

static CSCHED_NORETURN CSCHED_NOINLINE void panic_below_zero(const csched_latch *latch, uint32_t left, uint32_t count) {
  csched_panic_(
      "csched_latch_count_down", // LT6: more counts than the latch has
      "latch %p has %u left, and cannot be counted down by %u. Make it with the number of all that count it down.",
      (const void *)latch, left, count);
}

static bool is_open(const csched_latch *latch) {
  return csched_load_acquire(&latch->word) < ONE; // LT1, LT3: acquire: sees what preceded each count
}

// Does: sets SLEEPERS, unless the latch is open. Returns: whether the latch is closed. Requires: the bucket is locked.
static bool announce_sleep_locked(csched_latch *latch) {
  uint32_t seen = csched_load_relaxed(&latch->word); // racy read, rechecked by the cas
  while (seen >= ONE)
    if (csched_cas_relaxed(&latch->word, &seen, seen | SLEEPERS)) return true; // LT2: so the opening finds it
  return false;
}

static bool wait_for_opening(csched_latch *latch, csched_time deadline) { // Returns: false: timeout
  csched_sleeper waiter = csched_waiter_(latch);
  csched_bucket *bucket = csched_waiters_lock_(latch);
  bool sleeps = announce_sleep_locked(latch);                       // false: it has opened meanwhile
  if (sleeps) csched_bucket_insert_locked_(bucket, &waiter, false); // LT2: false: at the end
  csched_bucket_unlock_(bucket);
  return sleeps ? csched_waiter_sleep_(&waiter, deadline) == OPEN : is_open(latch); // LT5: may be freed after a sleep
}

// Does: if the word is still `expected`, opens the latch and wakes its sleepers. Returns: whether it has opened the
// latch.
static bool open_latch(csched_latch *latch, uint32_t expected) {
  csched_sleepers taken = TAILQ_HEAD_INITIALIZER(taken);
  csched_sleeper *waiter;
  csched_bucket *bucket = csched_waiters_lock_(latch);
  bool opens = csched_cas_acq_rel(&latch->word, &expected, 0u); // LT1, LT3: acquires all counts; 0: open
  while (opens && (waiter = csched_bucket_first_locked_(bucket, latch)) != NULL)
    csched_waiter_take_locked_(bucket, waiter, &taken); // LT2, LT5: all, before a new latch can have this address
  csched_bucket_unlock_(bucket);
  csched_waiters_signal_(&taken, OPEN);
  return opens;
}

void csched_latch_init(csched_latch *latch, uint32_t count) {
  if (count > CSCHED_LATCH_MOST)
    csched_panic_("csched_latch_init", "a latch cannot count %u. Give CSCHED_LATCH_MOST at the most.", count);
  latch->word = count * ONE;
}

void csched_latch_count_down(csched_latch *latch, uint32_t count) { // the thread that reaches 0 opens the latch
  if (count == 0) return;
  uint32_t seen = csched_load_relaxed(&latch->word); // racy read, rechecked by the cas
  for (;;) {
    uint32_t left = seen / ONE;
    if (count > left) panic_below_zero(latch, left, count); // LT6: too many counts
    if (count == left && (seen & SLEEPERS) != 0) {          // the final counts, and threads may sleep
      if (open_latch(latch, seen)) return;
      seen = csched_load_relaxed(&latch->word);                               // racy read, rechecked by the cas
    } else if (csched_cas_release(&latch->word, &seen, seen - count * ONE)) { // LT1, LT3: waiters see this count
      return;
    }
  }
}

void csched_latch_wait(csched_latch *latch) {
  if (!is_open(latch)) wait_for_opening(latch, CSCHED_FOREVER);
}

bool csched_latch_wait_until(csched_latch *latch, csched_time deadline) {
  if (is_open(latch)) return true;
  return (deadline == CSCHED_FOREVER || csched_now() < deadline) && wait_for_opening(latch, deadline);
}

uint32_t csched_latch_count(const csched_latch *latch) {
  return csched_load_acquire(&latch->word) / ONE; // LT3: at 0, the caller sees what preceded each count
}

void csched_latch_destroy(csched_latch *latch) {
  csched_waiters_require_none_(latch, "csched_latch_destroy", "latch"); // LT6: stops if a thread waits
}
