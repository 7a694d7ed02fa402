// Deliveries by threads that keep time (the clock thread, the pool's monitor), which must not run user code. Protocol: delivery.c.
// Depends on: target.h, job_internal.h.
#pragma once

#include <CScheduler/target.h>

#include "../job/job_internal.h"

/// A delivery worker: delivers timers and discards jobs in place of a thread that keeps time.
typedef struct csched_delivery {
  csched_deferred_drops deferred; ///< receives the jobs that the thread that keeps time would discard
  /// Does: makes another thread deliver `timer`, after earlier timers for its target or a base of it, and then call csched_delivery_done_.
  void (*deliver)(struct csched_delivery *delivery, csched_timer *timer);
  uint32_t *on_its_way; ///< how many timers were given to the worker, and are not delivered yet
} csched_delivery;

/// Does: delivers `timer`, which is due, to its target. If the target, or one of its bases, is of a user's type, the worker `delivery` delivers
/// instead. Jobs that this call discards go to `delivery`, too. Thread: one that keeps time.
void csched_delivery_pass_on_(csched_delivery *delivery, csched_timer *timer);

/// Does: gives `timer`, which is late, to `delivery` if the worker may still have timers that it must follow. Returns: whether it did. Thread: any.
bool csched_delivery_follows_(csched_delivery *delivery, csched_timer *timer);

/// Returns: whether a late timer for `target` may have to follow timers of the delivery worker. Thread: any.
bool csched_delivery_must_follow_(const csched_delivery *delivery, csched_target *target);

/// Does: counts a timer of `delivery` as delivered. Thread: the one that delivers or discards it.
void csched_delivery_done_(const csched_delivery *delivery);

/// Does: as csched_delivery_pass_on_, so that csched_delivery_settle_ waits for its end. Thread: one at a time in the process.
void csched_delivery_make_(csched_delivery *delivery, csched_timer *timer);

/// Does: waits until a running csched_delivery_make_ has returned. Call it before freeing a target. Thread: any; inside a delivery, no wait.
void csched_delivery_settle_(void);
