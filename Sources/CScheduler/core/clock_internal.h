// The end of the thread that keeps the other clocks' time: the other half of clock.h.
// Depends on: clock.h.
#pragma once

#include <CScheduler/clock.h>

/// Does: ends that thread, and drops what waits for it; the next submission starts another. Meanwhile submissions are refused. Thread: any
/// but that one, outside of jobs.
void csched_clocks_stop_(void);

/// Does: ends that thread, and drops what waits for it; the next submission starts another. For tests. Requires: no thread is in a call
/// of csched_target_submit_at_clock, or of csched_timer_cancel for such a timer. Thread: any but that one.
void csched_clocks_end_(void);
