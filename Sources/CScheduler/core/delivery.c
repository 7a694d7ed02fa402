// States
//   word       how many deliveries have begun, times 4; plus MAKING while one is being made, plus WAITED when somebody waits for its end
//
// Obligations
//   DV1  A loop or a pool is not freed under a delivery. A delivery ends by a wake or a look at the target, but the job may have been run by
//       then, and its release have let go of the target: so whoever frees a target waits until the delivery has returned. MAKING is
//       written before the job is pushed, and what frees the target comes after its run: so it is seen there.
//   DV2  The wait ends with that delivery, or a later look at the word. Skip the wake: when nobody has written WAITED.
// Orderings
//   word: relaxed at the beginning, ordered by the job's push and run; release at the end, pairs with settle's acquire
// Assumes: one thread at a time makes deliveries (clock.c). Other submitters keep the target valid during their call.
// Source: a grace period of one reader, as in epoch-based reclamation.
// Checked by: "a thread that ends with its last timer is freed after the delivery".
// Models: checks/clock.c.

#include "delivery_internal.h"

#include "../platform/platform.h"

#include <CScheduler/target.h>

enum { MAKING = 1, WAITED = 2, COUNT = 4 };

static uint32_t word; // futex

static CSCHED_THREAD_LOCAL bool is_making_here;

void csched_delivery_make_(csched_timer *timer) {
  uint32_t begun = csched_load_relaxed(&word) + COUNT; // DV1: nobody else changes it while it is not MAKING
  csched_store_relaxed(&word, begun + MAKING);         // DV1: before the push
  is_making_here = true;
  timer->target->type->deliver(timer->target, &timer->job);
  is_making_here = false;
  if ((csched_exchange_release(&word, begun) & WAITED) != 0) // DV1, DV2: pairs with settle's acquire
    csched_futex_wake_(&word, INT32_MAX);
}

void csched_delivery_settle_(void) {
  uint32_t first = csched_load_acquire(&word), seen = first; // DV1: pairs with make's release
  if (is_making_here) return;
  while ((seen & MAKING) != 0 && seen / COUNT == first / COUNT) {                // DV2
    if ((seen & WAITED) != 0 || csched_cas_relaxed(&word, &seen, seen + WAITED)) // DV2
      csched_futex_wait_(&word, seen | WAITED, CSCHED_FOREVER);
    seen = csched_load_acquire(&word); // DV1: pairs with make's release
  }
}
