#if defined(__linux__) // Platform layer for Linux: pollers (epoll). See platform.h.
#define _GNU_SOURCE
#include "../platform.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { NANOSECONDS = 1000000000, SIGNAL_SET_SIZE = 8, BATCH = 64 }; // ns in a second; bytes; events of one wait

static const uint64_t WAKE = UINT64_MAX, ALARM = UINT64_MAX - 1; // tags; a source's tag ends in its fd, >= 0

// Does: stops the process with a message.
static CSCHED_NOINLINE CSCHED_NORETURN void refuse(const csched_poller *poller, const char *call, int error) {
  char advice[200];
  snprintf(
      advice, sizeof advice,
      "Descriptors %d, %d and %d are the library's: no other code may close or replace them. And permit the call where "
      "system calls are filtered (seccomp).",
      poller->fd, poller->wake, poller->alarm);
  csched_os_refused_(poller->function, call, error, advice);
}

void csched_poller_refused_(const csched_poller *poller, int error) { refuse(poller, "epoll_ctl", error); }

static void close_if_open(int *fd) {
  if (*fd >= 0) csched_os_close_(*fd);
  *fd = -1;
}

static bool control(const csched_poller *poller, int how, int fd, uint32_t events, uint64_t tag) {
  struct epoll_event event = {.events = events, .data.u64 = tag};
  return epoll_ctl(poller->fd, how, fd, &event) == 0;
}

// Does: opens and adds the wake and the alarm. The wake is an eventfd that is always readable, and one-shot: each EPOLL_CTL_MOD makes epoll report it
// once. csched_poller_wake_ makes this call, which fails if other code has replaced the epoll set or the eventfd. The alarm is an edge-triggered
// timerfd: epoll reports each expiry once. Neither descriptor is ever read. Returns: 0 or an errno value.
static int open_wake_and_alarm(csched_poller *poller) {
  poller->armed = CSCHED_FOREVER;
  poller->wake = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
  if (poller->wake >= 0) poller->alarm = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (poller->alarm >= 0 && control(poller, EPOLL_CTL_ADD, poller->wake, EPOLLONESHOT, WAKE) &&
      control(poller, EPOLL_CTL_ADD, poller->alarm, EPOLLIN | EPOLLET, ALARM))
    return 0;
  int error = errno;
  close_if_open(&poller->alarm);
  close_if_open(&poller->wake);
  return error;
}

int csched_poller_open_(csched_poller *poller, const char *function) {
  int saved = errno;
  *poller = (csched_poller){.fd = epoll_create1(EPOLL_CLOEXEC), .wake = -1, .alarm = -1, .function = function};
  int error = poller->fd >= 0 ? open_wake_and_alarm(poller) : errno;
  if (error != 0) close_if_open(&poller->fd);
  errno = saved;
  return error;
}

void csched_poller_close_(const csched_poller *poller) {
  int saved = errno;
  if (poller->alarm >= 0) csched_os_close_(poller->alarm);
  if (poller->wake >= 0) csched_os_close_(poller->wake);
  csched_os_close_(poller->fd);
  errno = saved;
}

// Closes the old wake and alarm first, so that free descriptors suffice. The new ones may have other numbers, which no other code knows.
int csched_poller_renew_(csched_poller *poller) {
  int saved = errno, error = 0;
  close_if_open(&poller->alarm);
  close_if_open(&poller->wake);
  int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0 || dup3(fd, poller->fd, O_CLOEXEC) < 0) error = errno;
  close_if_open(&fd);
  if (error == 0) error = open_wake_and_alarm(poller);
  errno = saved;
  return error;
}

int csched_poller_open_again_(const csched_poller *poller, csched_poller *next) {
  int saved = errno, error = 0;
  *next = *poller;
  next->fd = epoll_create1(EPOLL_CLOEXEC);
  if (next->fd < 0 || !control(next, EPOLL_CTL_ADD, next->wake, EPOLLONESHOT, WAKE) ||
      !control(next, EPOLL_CTL_ADD, next->alarm, EPOLLIN | EPOLLET, ALARM))
    error = errno;
  if (error != 0) close_if_open(&next->fd);
  errno = saved;
  return error;
}

void csched_poller_replace_(csched_poller *poller, csched_poller *next) {
  int saved = errno;
  if (dup3(next->fd, poller->fd, O_CLOEXEC) < 0) refuse(poller, "dup3", errno);
  close_if_open(&next->fd);
  errno = saved;
  int error = csched_poller_wake_(poller);
  if (error != 0) refuse(poller, "epoll_ctl", error);
}

int csched_poller_wake_(const csched_poller *poller) {
  int saved = errno;
  int error = control(poller, EPOLL_CTL_MOD, poller->wake, EPOLLIN | EPOLLONESHOT, WAKE) ? 0 : errno;
  errno = saved;
  return error;
}

// Changes the alarm's events: EPOLL_CTL_MOD fails if other code has replaced the epoll set or the timerfd. EPOLL_CTL_MOD reports a readable alarm
// again. So an expired alarm, which was reported already, gets no EPOLLIN.
void csched_poller_check_(const csched_poller *poller) {
  int saved = errno;
  uint32_t events = poller->armed != CSCHED_FOREVER ? EPOLLIN | EPOLLET : EPOLLET;
  if (!control(poller, EPOLL_CTL_MOD, poller->alarm, events, ALARM)) refuse(poller, "epoll_ctl", errno);
  errno = saved;
}

void csched_poller_arm_(csched_poller *poller, csched_time deadline) {
  if (deadline == poller->armed) return;
  int saved = errno;
  struct itimerspec at = {{0, 0}, {0, 0}}; // no deadline
  if (deadline == 0) deadline = 1;         // 0 would disarm the timer
  if (deadline != CSCHED_FOREVER)
    at.it_value = (struct timespec){(time_t)(deadline / NANOSECONDS), (long)(deadline % NANOSECONDS)};
  if (CSCHED_UNLIKELY(timerfd_settime(poller->alarm, TFD_TIMER_ABSTIME, &at, NULL) != 0))
    refuse(poller, "timerfd_settime", errno);
  poller->armed = deadline;
  csched_poller_check_(poller); // other code may have replaced the timerfd
  errno = saved;
}

// Returns: whether `fd` is now a file or directory, which epoll rejects. Then the earlier descriptor was closed, which removed it from the epoll set.
static bool is_file(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

int csched_poller_set_(csched_poller *poller, int fd, unsigned before, unsigned events, uint64_t tag) {
  uint32_t bits = 0;
  if (events & CSCHED_POLLER_READ) bits |= EPOLLIN;
  if (events & CSCHED_POLLER_WRITE) bits |= EPOLLOUT;
  if (events & CSCHED_POLLER_EDGE) bits |= EPOLLET;
  int saved = errno;
  int how = events == 0 ? EPOLL_CTL_DEL : before == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  int error = control(poller, how, fd, bits, tag) ? 0 : errno;
  // A descriptor that cannot be removed is an error: epoll would report it for ever. EBADF, ENOENT: its close has removed it already.
  bool has_left = error == EBADF || error == ENOENT || (error == EPERM && is_file(fd));
  if (CSCHED_UNLIKELY(events == 0 && error != 0 && !has_left)) refuse(poller, "epoll_ctl", error);
  errno = saved;
  return error;
}

static unsigned events_from(uint32_t bits) {
  unsigned events = 0;
  if (bits & (EPOLLIN | EPOLLERR | EPOLLHUP)) events |= CSCHED_POLLER_READ;
  if (bits & (EPOLLOUT | EPOLLERR | EPOLLHUP)) events |= CSCHED_POLLER_WRITE;
  return events;
}

int csched_poller_wait_(csched_poller *poller, csched_poller_event *events, int most, bool blocks) {
  int saved = errno, count = 0;
  struct epoll_event found[BATCH] = {0}; // MemorySanitizer does not see the raw system call's writes
  if (most > BATCH) most = BATCH;
  // A raw system call: epoll_wait() would be a cancellation point.
  long all = syscall(SYS_epoll_pwait, poller->fd, found, most, blocks ? -1 : 0, NULL, (size_t)SIGNAL_SET_SIZE);
  if (CSCHED_UNLIKELY(all < 0) && errno != EINTR) refuse(poller, "epoll_pwait", errno);
  errno = saved; // EINTR: no event
  for (long i = 0; i < all; i++) {
    uint64_t tag = found[i].data.u64;
    if (tag == ALARM) poller->armed = CSCHED_FOREVER; // expired: the same deadline can be set again
    else if (tag != WAKE) events[count++] = (csched_poller_event){tag, events_from(found[i].events)};
  }
  return count;
}
#endif
