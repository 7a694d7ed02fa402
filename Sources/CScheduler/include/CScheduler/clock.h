// Timers on two other clocks: the boot clock, which continues during suspension, and the wall clock, which can be set.
// Depends on: target.h.
//
// csched_target_submit_at uses the monotonic clock, which stops while the system is suspended and cannot be set. For
// "at eight o'clock" (wall clock), or "an hour from now, suspended or not" (boot clock), use the functions below.
#ifndef CSCHED_CLOCK_H
#define CSCHED_CLOCK_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// Does: reads `clock`. Returns: its time in nanoseconds. The wall clock returns 0 before 1970, and never
/// CSCHED_FOREVER. Thread: any.
csched_time csched_clock_now(csched_clock clock);

/// Does: as csched_target_submit_at, at `deadline` of `clock`. The job runs once the clock has reached the deadline, up
/// to `leeway` nanoseconds of that clock later. A wall clock that is set past the deadline has reached it; if it is set
/// back, the timer waits longer. If the deadline has passed already, the timer is submitted as a job at once, behind
/// timers with earlier deadlines. If `target` is stopped, the job is dropped when the timer is due, not at the stop.
/// csched_timer_cancel removes a waiting timer at once. A child of fork has none of the waiting timers. Returns: as
/// csched_target_submit_at; also EAGAIN, ENOMEM, EMFILE or ENFILE when there is no thread, memory or descriptor for the
/// clock: the job has then been dropped, and a later call may succeed. Requires: the job is idle. A `target` of any
/// kind stays valid until the timer's release: the timer does not wait in the target, and the target's stop does not
/// drop it. Thread: any. The first call starts one thread for all such timers. A custom target (target.h) gets its
/// timers from a worker of an additional pool. All these threads sleep while no timer is due.
int csched_target_submit_at_clock(csched_target *target, csched_clock clock, csched_timer *timer, csched_time deadline,
                                  csched_time leeway);

/// Returns: how many threads the library has now for timers of csched_target_submit_at_clock. Private.
size_t csched_clocks_threads_(void);

CSCHED_END_DECLS

#endif
