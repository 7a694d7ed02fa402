#if defined(__linux__) // Platform layer for Linux: pollers (epoll). See platform.h.
#define _GNU_SOURCE
#include "../platform.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
  NANOSECONDS = 1000000000, // in a second
  SIGNAL_SET_SIZE = 8,      // bytes of the kernel's sigset_t: an argument of epoll_pwait
  BATCH = 64                // the most events of one csched_poller_wait_
};

// The tags with which epoll reports the wake and the alarm. The low 32 bits of a source's tag are its descriptor, which
// is never negative. The low 32 bits of these two are -1 and -2, so no source has the same tag.
static const uint64_t WAKE = UINT64_MAX, ALARM = UINT64_MAX - 1;

// Does: stops the process with a message that the system refused `call`.
static CSCHED_NOINLINE CSCHED_NORETURN void stop_process(const csched_poller *poller, const char *call, int error) {
  char advice[200];
  snprintf(
      advice, sizeof advice,
      "Descriptors %d, %d and %d are the library's: no other code may close or replace them. And permit the call where "
      "system calls are filtered (seccomp).",
      poller->fd, poller->wake, poller->alarm);
  csched_os_abort_refused_(poller->function, call, error, advice);
}

void csched_poller_abort_refused_(const csched_poller *poller, int error) { stop_process(poller, "epoll_ctl", error); }

static void close_if_open(int *fd) {
  if (*fd >= 0) csched_os_close_(*fd);
  *fd = -1;
}

static bool change_watch(const csched_poller *poller, int how, int fd, uint32_t events, uint64_t tag) {
  struct epoll_event event = {.events = events, .data.u64 = tag}; // `how`: EPOLL_CTL_ADD, _MOD or _DEL
  return epoll_ctl(poller->fd, how, fd, &event) == 0;             // false: error in errno
}

// Does: opens the wake and the alarm, and adds them to the epoll set. Returns: 0 or an errno value. The wake is an
// eventfd that is always readable, and one-shot: each EPOLL_CTL_MOD by csched_poller_wake_ makes epoll report it once.
// That EPOLL_CTL_MOD fails if other code has replaced the epoll set or the eventfd. The alarm is an edge-triggered
// timerfd: epoll reports each expiry once, even without a read. So neither descriptor is read.
static int open_wake_and_alarm(csched_poller *poller) {
  poller->armed = CSCHED_FOREVER;
  poller->wake = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK); // 1: readable; not reported before a wake adds EPOLLIN
  if (poller->wake >= 0) poller->alarm = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (poller->alarm >= 0 && change_watch(poller, EPOLL_CTL_ADD, poller->wake, EPOLLONESHOT, WAKE) &&
      change_watch(poller, EPOLL_CTL_ADD, poller->alarm, EPOLLIN | EPOLLET, ALARM))
    return 0;
  int error = errno;
  close_if_open(&poller->alarm);
  close_if_open(&poller->wake);
  return error;
}

int csched_poller_open_(csched_poller *poller, const char *function) { // Returns: 0, or an errno value and no poller
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

// Does: in a child of fork, makes a new poller with the same `fd`, which callers know. Returns: 0 or an errno value.
// First closes the old wake and alarm, so that the process needs few free descriptors.
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

// Does: makes `next` an epoll set that shares the wake and the alarm of `poller`. Returns: 0, or an errno value and no
// open `next->fd`.
int csched_poller_open_replacement_(const csched_poller *poller, csched_poller *next) {
  int saved = errno, error = 0;
  *next = *poller;
  next->fd = epoll_create1(EPOLL_CLOEXEC);
  if (next->fd < 0 || !change_watch(next, EPOLL_CTL_ADD, next->wake, EPOLLONESHOT, WAKE) ||
      !change_watch(next, EPOLL_CTL_ADD, next->alarm, EPOLLIN | EPOLLET, ALARM))
    error = errno;
  if (error != 0) close_if_open(&next->fd);
  errno = saved;
  return error;
}

void csched_poller_replace_(csched_poller *poller, csched_poller *next) { // `poller` becomes `next`, and is woken
  int saved = errno;
  if (dup3(next->fd, poller->fd, O_CLOEXEC) < 0) stop_process(poller, "dup3", errno); // `fd` keeps its number
  close_if_open(&next->fd);
  errno = saved;
  int error = csched_poller_wake_(poller); // a wake that the old set had to report may be lost
  if (error != 0) stop_process(poller, "epoll_ctl", error);
}

int csched_poller_wake_(const csched_poller *poller) { // makes epoll report the wake once; see open_wake_and_alarm
  int saved = errno;
  int error = change_watch(poller, EPOLL_CTL_MOD, poller->wake, EPOLLIN | EPOLLONESHOT, WAKE) ? 0 : errno;
  errno = saved;
  return error;
}

// Stops the process if EPOLL_CTL_MOD of the alarm fails: other code has replaced the epoll set or the timerfd.
// EPOLL_CTL_MOD makes epoll report a readable alarm again. So an expired alarm, which was reported already, gets no
// EPOLLIN.
void csched_poller_require_intact_(const csched_poller *poller) {
  int saved = errno;
  uint32_t events = poller->armed != CSCHED_FOREVER ? EPOLLIN | EPOLLET : EPOLLET; // FOREVER: no alarm, or expired
  if (!change_watch(poller, EPOLL_CTL_MOD, poller->alarm, events, ALARM)) stop_process(poller, "epoll_ctl", errno);
  errno = saved;
}

void csched_poller_set_alarm_(csched_poller *poller, csched_time deadline) { // FOREVER: no alarm
  if (deadline == poller->armed) return; // the alarm has this deadline already: saves two system calls
  int saved = errno;
  struct itimerspec at = {{0, 0}, {0, 0}}; // no deadline
  if (deadline == 0) deadline = 1;         // 0 would disarm the timer
  if (deadline != CSCHED_FOREVER)
    at.it_value = (struct timespec){(time_t)(deadline / NANOSECONDS), (long)(deadline % NANOSECONDS)};
  if (CSCHED_UNLIKELY(timerfd_settime(poller->alarm, TFD_TIMER_ABSTIME, &at, NULL) != 0))
    stop_process(poller, "timerfd_settime", errno);
  poller->armed = deadline;
  csched_poller_require_intact_(poller); // restores EPOLLIN; stops the process if other code has replaced the timerfd
  errno = saved;
}

// Does: changes the events for which epoll watches `fd`, from `before` to `events`; 0: does not watch it. Returns: 0 or
// an errno value. A change of a watched descriptor has one error, EBADF: its number is free, or another file's, for
// which epoll may have any error (/dev/null: EPERM). If a copy of the watched descriptor is open, epoll goes on to
// report it (loop_fd.c, FD7).
int csched_poller_set_(csched_poller *poller, int fd, unsigned before, unsigned events, uint64_t tag) {
  uint32_t bits = 0;
  if (events & CSCHED_POLLER_READ) bits |= EPOLLIN;
  if (events & CSCHED_POLLER_WRITE) bits |= EPOLLOUT;
  if (events & CSCHED_POLLER_EDGE) bits |= EPOLLET;
  int saved = errno;
  int error = EBADF, how = events == 0 ? EPOLL_CTL_DEL : before == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (fd != poller->wake && fd != poller->alarm) error = change_watch(poller, how, fd, bits, tag) ? 0 : errno;
  // EEXIST: the number belonged to this file before, was reused, and belongs to it again. epoll has watched the file
  // since then.
  if (error == EEXIST) error = change_watch(poller, EPOLL_CTL_MOD, fd, bits, tag) ? 0 : errno;
  if (error != 0 && before != 0) error = EBADF;
  errno = saved;
  return error;
}

static unsigned poller_events(uint32_t bits) { // from the bits of epoll; an error or hangup ends all waits
  unsigned events = 0;
  if (bits & (EPOLLIN | EPOLLERR | EPOLLHUP)) events |= CSCHED_POLLER_READ;
  if (bits & (EPOLLOUT | EPOLLERR | EPOLLHUP)) events |= CSCHED_POLLER_WRITE;
  return events;
}

// Does: if `blocks`, waits for an event, a wake, the alarm or a signal. Returns: how many `events` of descriptors it
// has written.
int csched_poller_wait_(csched_poller *poller, csched_poller_event *events, int most, bool blocks) {
  int saved = errno, count = 0;
  struct epoll_event found[BATCH] = {0}; // set, because MemorySanitizer does not see the raw system call's writes
  if (most > BATCH) most = BATCH;
  // A raw system call, because epoll_wait() is a cancellation point. -1: no timeout, the alarm ends the wait.
  long all = syscall(SYS_epoll_pwait, poller->fd, found, most, blocks ? -1 : 0, NULL, (size_t)SIGNAL_SET_SIZE);
  if (CSCHED_UNLIKELY(all < 0) && errno != EINTR) stop_process(poller, "epoll_pwait", errno);
  errno = saved; // EINTR: no event
  for (long i = 0; i < all; i++) {
    uint64_t tag = found[i].data.u64;
    if (tag == ALARM) poller->armed = CSCHED_FOREVER; // expired: the same deadline can be set again
    else if (tag != WAKE) events[count++] = (csched_poller_event){tag, poller_events(found[i].events)};
  }
  return count;
}
#endif
