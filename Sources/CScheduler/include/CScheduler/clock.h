// Timers on two other clocks: the boot clock, which continues during suspension, and the wall clock, which can be set.
// Depends on: target.h.
//
// A deadline of csched_target_submit_at is on the monotonic clock, which stops while the system is suspended and cannot be set. For "at eight
// o'clock", or "an hour from now, suspended or not", use these functions.
#ifndef CSCHED_CLOCK_H
#define CSCHED_CLOCK_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// Does: reads `clock`. Returns: its time in nanoseconds. The wall clock returns 0 before 1970, and never CSCHED_FOREVER. Thread: any.
csched_time csched_clock_now(csched_clock clock);

/// Does: as csched_target_submit_at, at `deadline` of `clock`. The job runs once the clock has reached the deadline, up to `leeway` nanoseconds of
/// that clock later. It does not matter whether the clock passed the deadline or was set past it. So a wall-clock timer waits longer when the clock
/// is set back. A deadline that has passed is a plain submission, after timers that are due before it. If `target` has been stopped when the timer is
/// due, the job is dropped. csched_timer_cancel removes it at once, as any timer. A child of fork has none of the waiting timers. Returns: as
/// csched_target_submit_at; also EAGAIN, ENOMEM, EMFILE or ENFILE when there is no thread, memory or descriptor for the clock. The job has then been
/// dropped, and a later call tries again. Requires: the job is idle. `target` stays valid until the timer's release, also if it is a loop, a thread
/// or a pool: the timer does not wait in it, and its stop does not drop it. Thread: any. The process has one thread for all such timers, from the
/// first on. A custom target (target.h) is notified by a thread of an additional pool. All these threads sleep while no timer is due.
int csched_target_submit_at_clock(csched_target *target, csched_clock clock, csched_timer *timer, csched_time deadline,
                                  csched_time leeway);

/// Returns: how many threads serve these timers. Private.
size_t csched_clocks_threads_(void);

CSCHED_END_DECLS

#endif
