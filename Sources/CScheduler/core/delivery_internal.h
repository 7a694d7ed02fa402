// Deliveries by threads that keep the time: nothing but the job keeps the target for them, and they call nothing of the user's.
// Depends on: target.h, job_internal.h.
#pragma once

#include <CScheduler/target.h>

#include "job_internal.h"

/// Who delivers, and discards, in place of such a thread.
typedef struct csched_courier {
  csched_bin bin;
  /// Does: has another thread deliver `timer` to its target, behind all that was carried before for that target or one of its bases, and
  /// call csched_delivery_carried_ then.
  void (*carry)(struct csched_courier *courier, csched_timer *timer);
  uint32_t *on_its_way; ///< how many timers are being carried
} csched_courier;

/// Does: delivers `timer`, whose time has come, to its target; when that, or one of its bases, is of the user's making, `courier` does.
/// What would be discarded meanwhile is the courier's, too. Thread: one that keeps the time.
void csched_delivery_pass_on_(csched_courier *courier, csched_timer *timer);

/// Does: has `courier` deliver `timer`, which comes late, if others that it must not overtake may be on their way. Returns: whether it
/// has. Thread: any.
bool csched_delivery_follows_(csched_courier *courier, csched_timer *timer);

/// Returns: whether a timer that comes late for its target may have to follow others. Thread: any.
bool csched_delivery_must_follow_(const csched_courier *courier, csched_target *target);

/// Does: counts one that was carried as delivered. Thread: the one that has delivered it.
void csched_delivery_carried_(const csched_courier *courier);

/// Does: as csched_delivery_pass_on_; csched_delivery_settle_ waits for its end. Thread: one at a time in the process.
void csched_delivery_make_(csched_courier *courier, csched_timer *timer);

/// Does: waits until the delivery that is being made, if there is one, has returned. For whoever is about to free what can be a
/// target. Thread: any; inside of a delivery it does not wait.
void csched_delivery_settle_(void);
