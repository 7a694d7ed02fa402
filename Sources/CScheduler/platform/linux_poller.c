#if defined(__linux__) // The port to Linux, pollers: see platform.h.
#define _GNU_SOURCE
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { NANOSECONDS = 1000000000, SIGNAL_SET_SIZE = 8, BATCH = 64 };

static const uint64_t WAKE = UINT64_MAX, ALARM = UINT64_MAX - 1; // no source's: a descriptor is not negative

static void close_one(int fd) {
  if (fd >= 0) syscall(SYS_close, fd); // the C library's close() is a point of cancellation
}

static void close_all(csched_poller *poller) {
  close_one(poller->alarm);
  close_one(poller->wake);
  close_one(poller->fd);
}

// Edge-triggered: each write to the eventfd, and each expiry of the timer, is told once, and nothing has to be read.
static bool add_own(csched_poller *poller, int fd, uint64_t tag) {
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = tag};
  return fd >= 0 && epoll_ctl(poller->fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

int csched_poller_open_(csched_poller *poller) {
  int saved = errno, error = 0;
  poller->armed = CSCHED_FOREVER;
  poller->wake = poller->alarm = -1;
  poller->fd = epoll_create1(EPOLL_CLOEXEC);
  if (poller->fd >= 0) poller->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (poller->wake >= 0) poller->alarm = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (!add_own(poller, poller->wake, WAKE) || !add_own(poller, poller->alarm, ALARM)) {
    error = errno;
    close_all(poller);
  }
  errno = saved;
  return error;
}

void csched_poller_close_(csched_poller *poller) {
  int saved = errno;
  close_all(poller);
  errno = saved;
}

int csched_poller_renew_(csched_poller *poller) {
  int number = poller->fd, saved = errno;
  poller->fd = -1;
  csched_poller_close_(poller); // the other two
  int error = csched_poller_open_(poller);
  if (error == 0 && poller->fd != number) {
    if (dup3(poller->fd, number, O_CLOEXEC) < 0) error = errno;
    close_one(error == 0 ? poller->fd : number);
    poller->fd = number;
  }
  errno = saved;
  return error;
}

void csched_poller_wake_(const csched_poller *poller) {
  int saved = errno;
  static const uint64_t one = 1;
  syscall(SYS_write, poller->wake, &one, sizeof one); // the C library's write() is a point of cancellation
  errno = saved;
}

void csched_poller_arm_(csched_poller *poller, csched_time deadline) {
  if (deadline == poller->armed) return;
  struct itimerspec at = {{0, 0}, {0, 0}}; // none
  if (deadline == 0) deadline = 1;
  if (deadline != CSCHED_FOREVER)
    at.it_value = (struct timespec){(time_t)(deadline / NANOSECONDS), (long)(deadline % NANOSECONDS)};
  timerfd_settime(poller->alarm, TFD_TIMER_ABSTIME, &at, NULL);
  poller->armed = deadline;
}

int csched_poller_set_(csched_poller *poller, int fd, unsigned before, unsigned events, uint64_t tag) {
  struct epoll_event event = {.events = 0, .data.u64 = tag};
  if (events & CSCHED_POLLER_READ) event.events |= EPOLLIN;
  if (events & CSCHED_POLLER_WRITE) event.events |= EPOLLOUT;
  if (events & CSCHED_POLLER_EDGE) event.events |= EPOLLET;
  int saved = errno;
  int how = events == 0 ? EPOLL_CTL_DEL : before == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  int error = epoll_ctl(poller->fd, how, fd, &event) == 0 ? 0 : errno;
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
  struct epoll_event found[BATCH] = {0}; // the system call is raw: MemorySanitizer does not see it write
  if (most > BATCH) most = BATCH;
  // Not epoll_wait(), which is a point of cancellation.
  long all = syscall(SYS_epoll_pwait, poller->fd, found, most, blocks ? -1 : 0, NULL, SIGNAL_SET_SIZE);
  errno = saved; // EINTR: nothing came
  for (long i = 0; i < all; i++) {
    uint64_t tag = found[i].data.u64;
    if (tag == ALARM)
      poller->armed = CSCHED_FOREVER; // and not armed any more, though it may be for that same time again
    else if (tag != WAKE) events[count++] = (csched_poller_event){tag, events_from(found[i].events)};
  }
  return count;
}
#endif
