// States
//   carries_for  of a worker: NULL, or whose timer it delivers; under `pick`
//   carried      of a worker: timers for the same one, which came after that; under `pick`
//
// Obligations
//   CR1  Each timer that is carried is delivered once, or discarded when the pool drops, by a worker: until then it waits in the inbox of
//       CSCHED_CARRIED, or behind the one before it, with the worker that delivers that, who puts it back at the front.
//   CR2  One at a time for one target, and for all queues on it: so these keep their order.
//   CR3  A delivery that blocks, which may be the work itself, holds up the timers of that target only.
// Orderings: none of its own; `pick` carries what was taken out.
// Assumes: a target of the user's stays valid until the timer's release (target.h).
// Source: a key that is busy takes what comes for it, as in queues that are sharded by key.
// Checked by: "no code of the user's runs on a thread that keeps the time", "a target that blocks holds up no other's timers",
//   "timers of a target of one's own keep their order".
// Models: checks/pool.c.

#include "pool_internal.h"

#include "job_internal.h"
#include "target_internal.h"

static csched_pool *pool_of(csched_courier *courier) {
  return (csched_pool *)((char *)courier - offsetof(csched_pool, courier));
}

static bool add(csched_pool *pool, int class, csched_job *job) {
  bool is_taken = csched_mpsc_push(&pool->classes[class].inbox, job) != CSCHED_PUSH_CLOSED;
  if (is_taken) csched_pool_announce_(pool, 1);
  return is_taken;
}

// The monitor ends before the inboxes are closed; whoever submits late is refused.
static void take_over(csched_courier *courier, csched_timer *timer) { // CR1
  if (add(pool_of(courier), CSCHED_CARRIED, &timer->job)) return;
  csched_delivery_carried_(courier);
  csched_target_discard(&timer->job);
}

static void take_to_discard(csched_bin *bin, csched_job *job) { // CR1
  add(pool_of((csched_courier *)bin), CSCHED_BINNED, job);
}

void csched_pool_init_courier_(csched_pool *pool) {
  pool->courier = (csched_courier){.bin.take = take_to_discard, .carry = take_over, .on_its_way = &pool->on_its_way};
}

csched_courier *csched_pool_courier_(csched_pool *pool) { return &pool->courier; }

// MARK: workers

bool csched_pool_begin_carrying_locked_(csched_pool_worker *worker, csched_job *job) {
  csched_pool *pool = worker->pool;
  const csched_target *key = csched_target_foreign_(((csched_timer *)job)->target);
  uint32_t used = csched_load_relaxed(&pool->slots_used); // racy read: whoever carries has raised it
  for (uint32_t i = 0; i < used; i++) {
    csched_pool_worker *each = &pool->slots[i];
    if (each->carries_for != key) continue;
    job->next = NULL;
    *each->last_carried = job; // CR2
    each->last_carried = &job->next;
    return false;
  }
  worker->carries_for = key;
  worker->carried = NULL;
  worker->last_carried = &worker->carried;
  return true;
}

void csched_pool_carry_(csched_pool_worker *worker, csched_job *job) {
  csched_target *target = ((csched_timer *)job)->target;
  if (csched_pool_is_dropping_(worker->pool) || csched_job_is_cancelled_(job)) csched_target_discard(job);
  else target->type->deliver(target, job);
  csched_pool_end_carrying_(worker);
}

void csched_pool_end_carrying_(csched_pool_worker *worker) {
  csched_pool *pool = worker->pool;
  csched_pool_class *class = &pool->classes[CSCHED_CARRIED];
  csched_delivery_carried_(&pool->courier);
  csched_lock_lock(&pool->pick);
  if (worker->carried != NULL) { // CR1: before all that came after them
    *worker->last_carried = class->inbox.first;
    class->inbox.first = worker->carried;
    csched_store_relaxed(&class->more, 1u); // racy write: this worker looks again
  }
  worker->carries_for = NULL;
  csched_lock_unlock(&pool->pick);
}
