// Deliveries by threads that keep time. They run no user code, and only the timer's job keeps the target for them.
// Depends on: target.h, job_internal.h.
#pragma once

#include <CScheduler/target.h>

#include "../job/job_internal.h"

/// A delivery worker: delivers and discards in place of such a thread.
typedef struct csched_delivery {
  csched_deferred_drops deferred; ///< deferred drops: takes the jobs to discard
  /// Does: has another thread deliver `timer`, behind the earlier ones for its target or one of its bases, and then
  /// call csched_delivery_done_.
  void (*deliver)(struct csched_delivery *delivery, csched_timer *timer);
  uint32_t *on_its_way; ///< how many timers are not delivered yet
} csched_delivery;

/// Does: delivers `timer`, which is due, to its target; gives it to `delivery` if the target, or one of its bases, is
/// the user's. Jobs to discard meanwhile go to `delivery`, too. Thread: one that keeps time.
void csched_delivery_pass_on_(csched_delivery *delivery, csched_timer *timer);

/// Does: gives `timer`, which is late, to `delivery` if timers that it must follow may be on their way. Returns: whether
/// it did. Thread: any.
bool csched_delivery_follows_(csched_delivery *delivery, csched_timer *timer);

/// Returns: whether a late timer for `target` may have to follow others. Thread: any.
bool csched_delivery_must_follow_(const csched_delivery *delivery, csched_target *target);

/// Does: counts a timer of `delivery` as delivered. Thread: the one that delivers or discards it.
void csched_delivery_done_(const csched_delivery *delivery);

/// Does: as csched_delivery_pass_on_; csched_delivery_settle_ waits for its end. Thread: one at a time in the process.
void csched_delivery_make_(csched_delivery *delivery, csched_timer *timer);

/// Does: waits until a running csched_delivery_make_ has returned. Call it before freeing a target. Thread: any; inside
/// a delivery it does not wait.
void csched_delivery_settle_(void);
