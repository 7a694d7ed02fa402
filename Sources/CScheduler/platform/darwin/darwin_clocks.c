#if defined(__APPLE__) // Platform layer for Darwin, untested as darwin.c: other clocks. See platform_clocks.h.
#include "../platform_clocks.h"
#include <errno.h>
#include <notify.h>
#include <notify_keys.h>
#include <sys/event.h>
#include <time.h>
#include <unistd.h>

enum { OWN = 1 }; // the ident by which the kqueue knows its timer

static const uint64_t NANOSECONDS = 1000000000; // in a second

csched_time csched_os_clock_now_(int clock) {
  if (clock == CSCHED_OS_BOOT) return clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW); // on Darwin it includes sleep
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (now.tv_sec < 0) return 0; // before 1970
  return (csched_time)now.tv_sec * NANOSECONDS + (csched_time)now.tv_nsec;
}

// Does: changes one filter of the kqueue. Returns: 0 or an errno value.
static int change_filter(int queue, uintptr_t ident, int filter, int flags, unsigned notes, int64_t data) {
  struct kevent64_s event;
  EV_SET64(&event, ident, (int16_t)filter, (uint16_t)flags, notes, data, 0, 0, 0);
  return kevent64(queue, &event, 1, NULL, 0, 0, NULL) >= 0 ? 0 : errno;
}

// Darwin does not adjust a timer when its clock is set. So an alarm of WALL also becomes readable when the clock is
// set; its user then sets it again.
int csched_alarm_open_(csched_alarm *alarm, int clock) { // Returns: 0, or an errno value and no open descriptor
  int saved = errno, error = 0, token;
  *alarm = (csched_alarm){kqueue(), -1, clock};
  if (alarm->fd < 0) error = errno;
  if (error == 0 && clock == CSCHED_OS_WALL) {
    if (notify_register_file_descriptor(kNotifyClockSet, &alarm->changes, 0, &token) != NOTIFY_STATUS_OK)
      error = ENOMEM;
    else error = change_filter(alarm->fd, (uintptr_t)alarm->changes, EVFILT_READ, EV_ADD, 0, 0);
  }
  if (error != 0) csched_alarm_close_(alarm);
  errno = saved;
  return error;
}

void csched_alarm_close_(const csched_alarm *alarm) {
  int saved = errno;
  if (alarm->changes >= 0) close(alarm->changes);
  if (alarm->fd >= 0) close(alarm->fd);
  errno = saved;
}

// Does: reads all notifications that the clock was set, so that `fd` is no longer readable for them.
static void drain_changes(const csched_alarm *alarm) {
  struct kevent64_s event;
  struct timespec none = {0, 0};
  int token;
  while (alarm->changes >= 0 && kevent64(alarm->fd, NULL, 0, &event, 1, 0, &none) > 0 && event.filter == EVFILT_READ)
    if (read(alarm->changes, &token, sizeof token) <= 0) return;
}

void csched_alarm_set_(const csched_alarm *alarm, csched_time deadline) { // replaces the deadline; FOREVER: none
  int saved = errno;
  drain_changes(alarm);
  change_filter(alarm->fd, OWN, EVFILT_TIMER, EV_DELETE, 0, 0); // fails with ENOENT if no timer was set
  if (deadline != CSCHED_FOREVER) {
    csched_time now = csched_os_clock_now_(alarm->clock);
    int64_t span = deadline <= now ? 1 : deadline - now > INT64_MAX ? INT64_MAX : (int64_t)(deadline - now); // ns
    unsigned notes = NOTE_NSECONDS | NOTE_CRITICAL | (alarm->clock == CSCHED_OS_BOOT ? NOTE_MACH_CONTINUOUS_TIME : 0);
    change_filter(alarm->fd, OWN, EVFILT_TIMER, EV_ADD | EV_ONESHOT, notes, span);
  }
  errno = saved;
}
#endif
