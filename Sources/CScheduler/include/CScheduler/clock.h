// Instants on other clocks: one that counts suspension, and the wall clock, which can be set.
// Depends on: target.h.
//
// A deadline of csched_target_submit_at is one on the monotonic clock, which stands still while the system is suspended, and cannot
// be set. Where that is not what is meant ("at eight o'clock", "an hour from now, asleep or not"), name the clock here.
#ifndef CSCHED_CLOCK_H
#define CSCHED_CLOCK_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// Whose time it is. Times of different clocks cannot be compared.
typedef enum csched_clock {
  CSCHED_CLOCK_MONOTONIC, ///< that of csched_now: since an arbitrary start, without suspension; it cannot be set
  CSCHED_CLOCK_BOOT,      ///< the same, and the time of suspension
  CSCHED_CLOCK_WALL,      ///< since 1970 began (UTC, no leap seconds); it can be set, forwards and back
} csched_clock;

/// Does: reads `clock`. Returns: its nanoseconds; the wall clock's are 0 before 1970, and never CSCHED_FOREVER. Thread: any.
csched_time csched_clock_now(csched_clock clock);

/// Does: as csched_target_submit_at, at `deadline` of `clock`: not before it reads that, or up to `leeway` of its nanoseconds more,
/// and soon after it does, whether by passing or by being set. So a timer on the wall clock waits longer when that is set back, and
/// comes due at once when it is set past the deadline. What `clock` reads already is a plain submission,
/// after those that are due before it. One that is refused when its time has come, because `target` has been stopped by then, is dropped.
/// csched_timer_cancel takes it out at once, as any timer. A child of fork has none of those that wait.
/// Returns: as csched_target_submit_at; also EAGAIN, ENOMEM, EMFILE or ENFILE when there is no thread, memory or descriptor to keep the time
/// with, after the job has been dropped: a later call tries again.
/// Requires: the job is idle; `target` stays valid until the timer's release, also a loop, a thread or a pool: the timer
/// does not wait in it, and its stop does not drop it. Thread: any. The process has one thread for all such timers, from the first on; a
/// target of the user's own is told by a thread of a pool beside it (target.h). They sleep while none is due.
int csched_target_submit_at_clock(csched_target *target, csched_clock clock, csched_timer *timer, csched_time deadline,
                                  csched_time leeway);

/// Returns: how many threads there are for that. Private.
size_t csched_clocks_threads_(void);

CSCHED_END_DECLS

#endif
