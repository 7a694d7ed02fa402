// The end of the thread that keeps the other clocks' time: the other half of clock.h.
// Depends on: clock.h, delivery_internal.h.
#pragma once

#include <CScheduler/clock.h>

#include "delivery_internal.h"

/// Does: ends that thread, and drops what waits for it; the next submission starts another. Meanwhile submissions are refused. Thread: any
/// but that one, outside of jobs.
void csched_clocks_stop_(void);

/// Does: ends that thread, and drops what waits for it; the next submission starts another. For tests. Requires: no thread is in a call
/// of csched_target_submit_at_clock, or of csched_timer_cancel for such a timer. Thread: any but that one.
void csched_clocks_end_(void);

// clock_carry.c: who delivers and discards in place of that thread.

/// Returns: the courier of that thread, which holds what it is given.
csched_courier *csched_clock_courier_(void);

/// Does: has workers do what is held. Returns: when to try again, should there be none to be had. Thread: that one.
csched_time csched_clock_hand_on_(void);

/// Does: ends the workers; what they have is done, what is held is dropped. Requires: that thread has ended.
void csched_clock_end_carriers_(void);

/// Does: forgets them, in a child of fork.
void csched_clock_orphan_carriers_(void);

/// Returns: how many threads they have. Thread: any.
size_t csched_clock_carrier_threads_(void);
