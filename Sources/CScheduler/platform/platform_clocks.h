// The platform layer for clocks other than the monotonic one: see platform.h.
// Depends on: platform.h.
#pragma once

#include "platform.h"

enum { CSCHED_OS_BOOT = 1, CSCHED_OS_WALL = 2 };

/// Returns: nanoseconds on clock BOOT or WALL; 0 for a negative time.
csched_time csched_os_clock_now_(int clock);

/// An alarm: its descriptor becomes readable at an instant of BOOT or WALL. Poll `fd` with CSCHED_POLLER_EDGE. The other fields belong to the
/// platform layer; `changes` reports that the clock was set (Darwin).
typedef struct csched_alarm {
  int fd, changes, clock;
} csched_alarm;

/// Does: makes an alarm without a deadline. Returns: 0, or an errno value and no open descriptor.
int csched_alarm_open_(csched_alarm *alarm, int clock);
void csched_alarm_close_(const csched_alarm *alarm);

/// Does: makes `fd` readable, as an edge, when the clock reaches `deadline`, also because the clock was set; at once for a past deadline. Replaces
/// the previous deadline; CSCHED_FOREVER: never. `fd` may become readable without a cause. Thread: any, one at a time.
void csched_alarm_set_(const csched_alarm *alarm, csched_time deadline);
