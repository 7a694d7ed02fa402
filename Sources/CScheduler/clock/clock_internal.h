// Internals of the clock thread (of the boot and wall clocks): its stop, and its delivery workers. The public half is
// clock.h.
// Depends on: clock.h, delivery_internal.h.
#pragma once

#include <CScheduler/clock.h>

#include "../job/observed.h"
#include "../loop/delivery_internal.h"

/// Does: ends the clock thread, and drops its waiting timers. Meanwhile submissions are refused. The next one starts
/// another thread. Thread: any but the clock thread, outside of jobs.
void csched_clocks_stop_(void);
/// Does: as csched_clocks_stop_, but the next start of the thread also initialises the queues. For tests. Requires: no
/// thread is in csched_target_submit_at_clock, or in csched_timer_cancel for a timer of these clocks. Thread: any but
/// the clock thread.
void csched_clocks_end_(void);
// clock_delivery.c: workers that deliver and discard in place of the clock thread.
/// Returns: the csched_delivery of the clock thread. It lists timers and jobs for the delivery workers.
csched_delivery *csched_clock_delivery_(void);
/// Does: gives the listed timers and jobs to the workers. Returns: CSCHED_FOREVER; without workers, when to try again.
/// Thread: the clock thread.
csched_time csched_clock_give_to_workers_(void);
/// Does: drops the listed timers and jobs, waits for the workers' deliveries, and destroys their pool. Requires: the
/// clock thread has ended.
void csched_clock_end_workers_(void);
/// Does: in a child of fork, clears the lists and the reference to the workers, which are the parent's. Thread: the
/// only one.
void csched_clock_orphan_workers_(void);
/// Returns: how many threads the workers' pool has. Thread: any.
size_t csched_clock_worker_threads_(void);
/// Returns: the virtual time whose entry in the fork list is `atfork`; NULL if the entry is of another kind. Thread:
/// inside csched_os_atfork_visit_.
const csched_target *csched_virtual_of_atfork_(const csched_atfork *atfork);
/// Returns: the timers of `target`, if it is virtual time; else NULL.
csched_timers *csched_virtual_timers_seen_(const csched_target *target);

/// For observers: where jobs of csched_target_async and its variants store the user's function.
enum { CSCHED_ASYNC_CODES = 3 };
extern CSCHED_HIDDEN const csched_observed_code csched_async_codes_[CSCHED_ASYNC_CODES];
