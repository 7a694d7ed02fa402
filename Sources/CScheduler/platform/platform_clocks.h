// The platform layer for clocks other than the monotonic one: see platform.h.
// Depends on: platform.h.
#pragma once

#include "platform.h"

/// BOOT: the monotonic clock that continues while the system sleeps. WALL: the time of day, which can be set.
enum { CSCHED_OS_BOOT = 1, CSCHED_OS_WALL = 2 };

/// Returns: the present time of clock BOOT or WALL, ns; 0 for a negative time.
csched_time csched_os_clock_now_(int clock);

/// An alarm: its descriptor `fd` becomes readable at an instant of BOOT or WALL. Poll `fd` with CSCHED_POLLER_EDGE. The other fields are for the
/// platform layer only: `changes` is a descriptor that reports that the clock was set (Darwin); -1: none.
typedef struct csched_alarm {
  int fd, changes, clock;
} csched_alarm;

/// Does: makes an alarm without a deadline. Returns: 0, or an errno value and no open descriptor.
int csched_alarm_open_(csched_alarm *alarm, int clock);
void csched_alarm_close_(const csched_alarm *alarm);

/// Does: makes `fd` readable, as an edge, when the clock reaches `deadline`, also because the clock was set; at once for a past deadline. Replaces
/// the previous deadline; CSCHED_FOREVER: no deadline. `fd` may become readable without a cause. Thread: any, one at a time.
void csched_alarm_set_(const csched_alarm *alarm, csched_time deadline);
