// The platform layer for clocks other than the monotonic one: see platform.h.
// Depends on: platform.h.
#pragma once

#include "platform.h"

/// BOOT: the monotonic clock that continues while the system sleeps. WALL: the time of day, which can be set.
enum { CSCHED_OS_BOOT = 1, CSCHED_OS_WALL = 2 };

/// Returns: the present time of the clock BOOT or WALL, in ns; 0 if it is negative (WALL before 1970).
csched_time csched_os_clock_now_(int clock);

/// An alarm: its descriptor `fd` becomes readable at an instant of `clock` (BOOT or WALL). Poll `fd` with
/// CSCHED_POLLER_EDGE. `changes` is for the platform layer only: a descriptor that reports that the clock was set
/// (Darwin); -1: none.
typedef struct csched_alarm {
  int fd, changes, clock;
} csched_alarm;

/// Does: makes an alarm of `clock` without a deadline. Returns: 0, or an errno value and no open descriptor.
int csched_alarm_open_(csched_alarm *alarm, int clock);
void csched_alarm_close_(const csched_alarm *alarm);

/// Does: replaces the deadline; CSCHED_FOREVER: none. `fd` becomes readable, as an edge, when the clock reaches
/// `deadline`, also because it was set; at once if `deadline` is past. `fd` may also become readable without a cause:
/// check the clock. Thread: any, one at a time.
void csched_alarm_set_(const csched_alarm *alarm, csched_time deadline);
