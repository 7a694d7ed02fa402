// Delivers due timers to their targets, for threads that keep time (the clock thread, the pool's monitor). Threads that
// free a target wait here.
//
// States
//   undelivered of a delivery worker (`csched_delivery`): the number of timers that were given to the worker and are
//   not delivered yet
//   progress   the number of deliveries that have started, times 4; plus MAKING during a delivery; plus WAITED if a
//              thread waits for its end
//
// Invariants
//   DV1  A loop or a pool is not freed during a delivery. A delivery accesses the target after it has pushed the job.
//       By then the job may have run, and its `release` may have released the target. So a thread that frees a target
//       waits until the delivery has returned. MAKING is written before the job is pushed, and the target is freed
//       after the job's run, so the freeing thread sees MAKING.
//   DV2  A wait (csched_delivery_await_) ends with the delivery in progress: by its wake, or because the waiting thread
//       reads another number. A delivery that finds no WAITED wakes no thread.
//   DV3  A thread that keeps time never runs user code, which could delay all timers. It delivers to the library's own
//       targets only. The delivery worker delivers to a user's target, or to a queue on one. It also discards the jobs
//       that a delivery would drop or release.
//   DV4  Order: a thread that delivers an overdue timer has seen the end of all deliveries that the timer must follow,
//       or gives the timer to the delivery worker, behind them. Each delivery is counted before the unlock that makes
//       the timer's removal visible (timer.c W9, CL6).
//   DV5  In a child of fork no delivery is in progress but one that the forking thread makes: the thread of another one
//        does not exist there.
// Orderings
//   undelivered: an increment is relaxed: the lock of DV4 orders it; a decrement is release, pairs with
//   csched_delivery_must_follow_'s acquire progress: relaxed at the start, ordered by the job's push and run; release
//   at the end, pairs with csched_delivery_await_
// Assumes: one thread at a time makes deliveries (clock.c). Other submitters keep the target valid during their call.
// Source: epoch-based reclamation, with one reader: a thread that frees memory first waits until the reader that may
//   still use it, here the delivery in progress, has ended. Later readers cannot reach that memory.
// Models: checks/clock.c, checks/pool_monitor.c. Not modelled: DV5.

#include "delivery_internal.h"

#include "../platform/platform.h"

#include "../targets/target_internal.h"

enum { MAKING = 1, WAITED = 2, COUNT = 4 }; // of `progress`: two flags; COUNT adds one to the number of deliveries

static uint32_t progress; // futex; for the whole process, because at most one delivery is in progress

static CSCHED_THREAD_LOCAL bool is_making_here; // the calling thread is inside csched_delivery_deliver_tracked_

// Returns: whether the type of `target`, or of one of its bases, is the user's: its `deliver` may run user code.
static bool may_run_user_code(csched_target *target) { return csched_target_find_custom_(target) != NULL; }

// Does: counts `timer`, and gives it to the delivery worker: `delivery->deliver` only passes the timer on; the worker
// later calls the `deliver` of the timer's target.
static void give_to_worker(csched_delivery *delivery, csched_timer *timer) {
  csched_fetch_add_relaxed(delivery->undelivered, 1u); // DV4: ordered by the lock of the queue of timers
  delivery->deliver(delivery, timer);
}

void csched_delivery_done_(const csched_delivery *delivery) {
  csched_fetch_add_release(delivery->undelivered, UINT32_MAX); // DV4: minus 1; a reader of 0 sees the delivery's end
}

bool csched_delivery_must_follow_(const csched_delivery *delivery, csched_target *target) {
  return may_run_user_code(target) && csched_load_acquire(delivery->undelivered) != 0; // DV4: after 0, all have ended
}

bool csched_delivery_take_overdue_(csched_delivery *delivery, csched_timer *timer) { // false: the caller delivers it
  bool follows = csched_delivery_must_follow_(delivery, timer->target);
  if (follows) give_to_worker(delivery, timer);
  return follows;
}

// Does: on a thread that keeps time, delivers a due timer: calls the `deliver` of its target. If that may run user
// code, the delivery worker does it.
void csched_delivery_deliver_(csched_delivery *delivery, csched_timer *timer) {
  if (may_run_user_code(timer->target)) { // DV3: user code on this thread would delay all timers
    give_to_worker(delivery, timer);
    return;
  }
  csched_deferred_drops *before = csched_job_discard_into_(&delivery->deferred); // DV3: a drop may run user code
  timer->target->type->deliver(timer->target, &timer->job);
  csched_job_discard_into_(before); // restores the previous receiver of this thread's discards
}

// Does: as csched_delivery_deliver_, and makes csched_delivery_await_ wait until the delivery has ended.
void csched_delivery_deliver_tracked_(csched_delivery *delivery, csched_timer *timer) {
  // A plain store, which overwrites no WAITED: a waiting thread sets WAITED only by a cas that expects MAKING, and
  // MAKING is not set before it.
  uint32_t begun = csched_load_relaxed(&progress) + COUNT; // DV1: relaxed: only this thread changes the count
  csched_store_relaxed(&progress, begun + MAKING);         // DV1: before the push: then the job may free the target
  is_making_here = true;
  csched_delivery_deliver_(delivery, timer);
  is_making_here = false;
  if ((csched_exchange_release(&progress, begun) & WAITED) != 0) // DV1, DV2: ends it; pairs with csched_delivery_await_
    csched_futex_wake_(&progress, INT32_MAX);
}

void csched_delivery_await_(void) { // waits for the delivery in progress, so that the caller may free its target
  uint32_t first = csched_load_acquire(&progress), seen = first; // DV1: pairs with csched_delivery_deliver_tracked_
  if (is_making_here) return; // a job that this delivery runs or drops frees a target: it would wait for itself
  while ((seen & MAKING) != 0 &&
         seen / COUNT == first / COUNT) { // DV2: waits for no later delivery: that could last for ever
    if ((seen & WAITED) != 0 || csched_cas_relaxed(&progress, &seen, seen + WAITED)) // DV2: else no wake comes
      csched_futex_wait_(&progress, seen | WAITED, CSCHED_FOREVER);
    seen = csched_load_acquire(&progress); // DV1: pairs with csched_delivery_deliver_tracked_
  }
}

void csched_delivery_reset_in_child_(void) { // DV5: relaxed: the child has one thread
  uint32_t begun = csched_load_relaxed(&progress) & ~(uint32_t)(MAKING | WAITED); // DV5: relaxed, as above
  csched_store_relaxed(&progress, is_making_here ? begun + MAKING : begun);       // DV5: relaxed, as above
}
