// Deliveries of due timers by the threads that keep time (the clock thread, the pool's monitor), which must not run
// user code. Protocol: delivery.c.
// Depends on: target.h, job_internal.h.
#pragma once

#include <CScheduler/target.h>

#include "../job/job_internal.h"

/// A delivery worker: delivers timers and discards jobs in place of a thread that keeps time.
typedef struct csched_delivery {
  csched_deferred_drops deferred; ///< receives the jobs that a thread that keeps time discards: the worker drops them
  /// Does: makes another thread deliver `timer`, after earlier timers of its target or of a base of it, and then call
  /// csched_delivery_done_.
  void (*deliver)(struct csched_delivery *delivery, csched_timer *timer);
  uint32_t *undelivered; ///< how many timers were given to the worker, and are not delivered yet
} csched_delivery;

/// Does: delivers `timer`, which is due, to its target. If the target, or one of its bases, is of a user's type, the
/// worker `delivery` delivers instead. Jobs that this call discards go to `delivery`, too. Thread: one that keeps time.
void csched_delivery_deliver_(csched_delivery *delivery, csched_timer *timer);
/// Does: gives `timer`, which is overdue, to the worker `delivery`, if the worker may still have timers that `timer`
/// must follow. Returns: whether it did; false: the caller delivers `timer`. Thread: any.
bool csched_delivery_take_overdue_(csched_delivery *delivery, csched_timer *timer);
/// Returns: whether an overdue timer of `target` may have to follow timers that the delivery worker still has. Thread:
/// any.
bool csched_delivery_must_follow_(const csched_delivery *delivery, csched_target *target);
/// Does: counts a timer of `delivery` as delivered. Thread: the one that delivers or discards it.
void csched_delivery_done_(const csched_delivery *delivery);
/// Does: as csched_delivery_deliver_, and records the call, so that csched_delivery_await_ waits for its end. Thread:
/// one at a time in the process.
void csched_delivery_deliver_tracked_(csched_delivery *delivery, csched_timer *timer);
/// Does: waits until a csched_delivery_deliver_tracked_ in progress has returned. Call it before you free a target.
/// Thread: any. Inside that call it does not wait.
void csched_delivery_await_(void);
/// Does: in a child of fork, forgets the delivery of a thread that does not exist there. Thread: the child's only one.
void csched_delivery_reset_in_child_(void);
