// The port, for clocks that are not the monotonic one: see platform.h.
// Depends on: platform.h.
#pragma once

#include "platform.h"

enum { CSCHED_OS_BOOT = 1, CSCHED_OS_WALL = 2 };

/// Returns: nanoseconds on that clock; 0 where it reads less.
csched_time csched_os_clock_now_(int clock);

/// What makes a descriptor readable at an instant of such a clock. `fd` can be waited for, with CSCHED_POLLER_EDGE; the rest is the port's.
typedef struct csched_alarm {
  int fd, changes, clock;
} csched_alarm;

/// Does: makes an alarm, set to none. Returns: 0 or an errno value, with nothing left behind.
int csched_alarm_open_(csched_alarm *alarm, int clock);
void csched_alarm_close_(const csched_alarm *alarm);

/// Does: makes `fd` readable, as an edge, when the clock reads `deadline` or more, at once where it does; by passing, or by being set.
/// CSCHED_FOREVER: never. What it was set to before is over. It may become readable for nothing. Thread: any, one at a time.
void csched_alarm_set_(const csched_alarm *alarm, csched_time deadline);
