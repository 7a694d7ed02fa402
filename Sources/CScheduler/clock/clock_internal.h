// The thread of the boot clock and the wall clock: its end, and its delivery workers. The internal half of clock.h.
// Depends on: clock.h, delivery_internal.h.
#pragma once

#include <CScheduler/clock.h>

#include "../job/observed.h"
#include "../loop/delivery_internal.h"

/// Does: ends the clock thread, and drops the timers that wait for it; the next submission starts another. Meanwhile
/// submissions are refused. Thread: any but that one, outside of jobs.
void csched_clocks_stop_(void);

/// Does: as csched_clocks_stop_; the next start also initialises the queues. For tests. Requires: no thread is in a
/// call of csched_target_submit_at_clock, or of csched_timer_cancel for such a timer. Thread: any but the clock thread.
void csched_clocks_end_(void);

// clock_delivery.c: workers that deliver and discard in place of the clock thread.

/// Returns: the delivery of the clock thread, which holds timers and jobs for delivery workers.
csched_delivery *csched_clock_delivery_(void);

/// Does: hands what is held to workers. Returns: when to try again; CSCHED_FOREVER: never. Thread: the clock thread.
csched_time csched_clock_hand_on_(void);

/// Does: ends the workers. They finish their work; what is held is dropped. Requires: the clock thread has ended.
void csched_clock_end_workers_(void);

/// Does: in a child of fork, forgets the workers and what is held. Thread: the only one.
void csched_clock_orphan_workers_(void);

/// Returns: how many threads the workers' pool has. Thread: any.
size_t csched_clock_worker_threads_(void);

/// Returns: the target whose entry in the fork list is `atfork`; NULL if the entry is of another kind. Thread: inside csched_os_atfork_visit_.
const csched_target *csched_virtual_of_atfork_(const csched_atfork *atfork);

/// Returns: the timers of `target`, if it is of this kind; else NULL.
csched_timers *csched_virtual_timers_seen_(const csched_target *target);

/// Where the tasks of csched_target_async and its variants have the function that they call.
enum { CSCHED_ASYNC_CODES = 3 };
extern CSCHED_HIDDEN const csched_observed_code csched_async_codes_[CSCHED_ASYNC_CODES];
