#if defined(__linux__) || defined(__APPLE__) // Platform layer, POSIX part: trace files, environment variables.
#define _GNU_SOURCE
#include "platform.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Does: empties the file if it is a regular file of this user with one link. Returns: 0; EPERM: it is not, and keeps
// its content (so open() has no O_TRUNC); or another errno value.
static int check_and_empty(int fd) {
  struct stat found;
  if (fstat(fd, &found) != 0) return errno;
  if (!S_ISREG(found.st_mode) || found.st_nlink != 1 || found.st_uid != geteuid()) return EPERM;
  return fchmod(fd, S_IRUSR | S_IWUSR) != 0 || ftruncate(fd, 0) != 0 ? errno : 0;
}

int csched_os_trace_open_(const char *path, int *fd) {
  int saved = errno,
      before =
          csched_os_disable_cancellation_(); // O_NOFOLLOW: a link is an error (ELOOP); O_NONBLOCK: so is a pipe without a reader (ENXIO)
  *fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, S_IRUSR | S_IWUSR);
  int error = *fd < 0 ? errno : check_and_empty(*fd);
  if (error != 0 && *fd >= 0) close(*fd); // it was opened, but must not be written
  csched_os_restore_cancellation_(before);
  errno = saved;
  return error == ENXIO ? EPERM : error; // ENXIO: a pipe
}

// MARK: environment

// Does: copies `asked` to `path`, with the process number in place of the first "%p". Returns: whether the result fits.
static bool expand_path(char *path, size_t size, const char *asked) {
  const char *number = strstr(asked, "%p");
  int length = number == NULL
                   ? snprintf(path, size, "%s", asked)
                   : snprintf(path, size, "%.*s%ld%s", (int)(number - asked), asked, (long)getpid(), number + 2);
  return length > 0 && (size_t)length < size;
}

const char *csched_os_environment_(const char *name) { return csched_os_has_more_rights_() ? NULL : getenv(name); }

void csched_os_trace_by_environment_(int (*begin)(const char *path)) { // calls `begin` if SCHEDULER_TRACE is a path
  char path[4096], line[512];                                          // `line`: a message
  const char *asked = csched_os_environment_("SCHEDULER_TRACE");
  if (asked == NULL || *asked == 0) return;
  int error = expand_path(path, sizeof path, asked) ? begin(path) : ENAMETOOLONG;
  if (error == 0) return;
  snprintf(line, sizeof line, "Scheduler: SCHEDULER_TRACE: no trace is written to %.300s: errno %d, %s\n", asked, error,
           strerror(error));
  csched_os_say_(line);
}

void csched_os_record_by_environment_(int (*begin)(void)) {
  const char *asked = csched_os_environment_("SCHEDULER_RECORD");
  if (asked == NULL || strcmp(asked, "1") != 0 || begin() == 0) return; // 0: it records now
  csched_os_say_("Scheduler: SCHEDULER_RECORD: no memory to record events\n");
}

// Returns: the span `text`, such as 1s, 0.5s, 250ms or 100us, in nanoseconds; 0: `text` has another form, or is more
// than a year.
static csched_time span_of(const char *text) {
  static const struct {
    const char *name;
    double nanoseconds;
  } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}};
  double number = 0, place = 1; // `place`: the value of the current digit behind the point
  const char *at = text;
  for (; *at >= '0' && *at <= '9'; at++) number = number * 10 + (*at - '0');
  if (at != text && *at == '.')
    for (at++; *at >= '0' && *at <= '9'; at++) number += (*at - '0') * (place /= 10);
  for (size_t i = 0; at != text && i < sizeof units / sizeof units[0]; i++)
    if (strcmp(at, units[i].name) == 0 && number * units[i].nanoseconds < 3.2e16) // a year
      return (csched_time)(number * units[i].nanoseconds);
  return 0;
}

void csched_os_watch_by_environment_(int (*begin)(csched_time span)) { // calls `begin` if SCHEDULER_WATCH is a span
  char line[256];
  const char *asked = csched_os_environment_("SCHEDULER_WATCH");
  if (asked == NULL || *asked == 0) return;
  csched_time span = span_of(asked); // 0: not a span
  int error = span != 0 ? begin(span) : 0;
  if (span != 0 && error == 0) return;
  if (span == 0)
    snprintf(line, sizeof line, "Scheduler: SCHEDULER_WATCH: \"%.60s\" is no time such as 1s or 250ms\n", asked);
  else snprintf(line, sizeof line, "Scheduler: SCHEDULER_WATCH: no watchdog: errno %d, %s\n", error, strerror(error));
  csched_os_say_(line);
}
#endif
