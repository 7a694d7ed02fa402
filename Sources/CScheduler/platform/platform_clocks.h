// The platform layer for clocks other than the monotonic one: see platform.h.
// Depends on: platform.h.
#pragma once

#include "platform.h"

enum { CSCHED_OS_BOOT = 1, CSCHED_OS_WALL = 2 };

/// Returns: nanoseconds on that clock; 0 if it reads less.
csched_time csched_os_clock_now_(int clock);

/// Makes a descriptor readable at an instant of such a clock. `fd` can be polled, with CSCHED_POLLER_EDGE; the rest belongs to the platform layer.
typedef struct csched_alarm {
  int fd, changes, clock;
} csched_alarm;

/// Does: makes an alarm without a deadline. Returns: 0, or an errno value and no open descriptor.
int csched_alarm_open_(csched_alarm *alarm, int clock);
void csched_alarm_close_(const csched_alarm *alarm);

/// Does: makes `fd` readable, as an edge, when the clock reads `deadline` or more, perhaps at once; also if it does because it was set. It replaces
/// the previous deadline. CSCHED_FOREVER: never. `fd` may become readable without a cause. Thread: any, one at a time.
void csched_alarm_set_(const csched_alarm *alarm, csched_time deadline);
