// Deliveries by a thread that nothing but the job keeps the target for.
// Depends on: timer.h.
#pragma once

#include <CScheduler/timer.h>

/// Does: delivers `timer`, whose time has come, to its target. Thread: one at a time in the process.
void csched_delivery_make_(csched_timer *timer);

/// Does: waits until the delivery that is being made, if there is one, has returned. For whoever is about to free what can be a
/// target. Thread: any; inside of a delivery it does not wait.
void csched_delivery_settle_(void);
