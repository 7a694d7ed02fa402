#if defined(__linux__) // Platform layer for Linux: clocks other than the monotonic one. See platform_clocks.h.
#define _GNU_SOURCE
#include "../platform_clocks.h"
#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>

static const uint64_t NANOSECONDS = 1000000000; // in a second

static clockid_t id_of(int clock) { return clock == CSCHED_OS_WALL ? CLOCK_REALTIME : CLOCK_BOOTTIME; }

csched_time csched_os_clock_now_(int clock) { // ns of BOOT or WALL; 0 if it is negative
  struct timespec now;
  if (CSCHED_UNLIKELY(clock_gettime(id_of(clock), &now) != 0))
    csched_os_abort_refused_("csched_clock_now", "clock_gettime", errno,
                             "Permit it where system calls are filtered (seccomp).");
  if (now.tv_sec < 0) return 0;                                            // WALL before 1970
  return (csched_time)now.tv_sec * NANOSECONDS + (csched_time)now.tv_nsec; // no overflow: the clocks end in 2262
}

int csched_alarm_open_(csched_alarm *alarm, int clock) {
  int saved = errno, error = 0;
  *alarm = (csched_alarm){timerfd_create(id_of(clock), TFD_CLOEXEC | TFD_NONBLOCK), -1, clock};
  if (alarm->fd < 0) error = errno;
  errno = saved;
  return error;
}

void csched_alarm_close_(const csched_alarm *alarm) {
  int saved = errno;
  csched_os_close_(alarm->fd);
  errno = saved;
}

// When a clock is set, the kernel itself re-evaluates absolute timers of this clock. So `changes` (-1) is not needed
// here.
void csched_alarm_set_(const csched_alarm *alarm, csched_time deadline) {
  struct itimerspec at = {{0, 0}, {0, 0}}; // no deadline
  if (deadline == 0) deadline = 1;         // 0 would disarm the timer
  if (deadline != CSCHED_FOREVER)
    at.it_value = (struct timespec){(time_t)(deadline / NANOSECONDS), (long)(deadline % NANOSECONDS)};
  if (CSCHED_UNLIKELY(timerfd_settime(alarm->fd, TFD_TIMER_ABSTIME, &at, NULL) != 0))
    csched_os_abort_refused_(
        "csched_target_submit_at_clock", "timerfd_settime", errno,
        "No other code may close or replace the library's descriptors; and permit the call where system calls are "
        "filtered (seccomp).");
}
#endif
