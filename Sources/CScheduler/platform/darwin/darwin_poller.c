#if defined(__APPLE__) // Platform layer for Darwin, untested as darwin.c: pollers (kqueue). See platform.h.
#include "../platform.h"
#include <errno.h>
#include <sys/event.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { OWN = 1, BATCH = 64 }; // ident of the wake and of the alarm, which differ by filter; most events of one wait

// Does: changes one filter of the kqueue. Returns: 0 or an errno value.
static int change_filter(int queue, uintptr_t ident, int filter, int flags, unsigned notes, int64_t data,
                         uint64_t tag) {
  struct kevent64_s event;
  EV_SET64(&event, ident, (int16_t)filter, (uint16_t)flags, notes, data, tag, 0, 0);
  return kevent64(queue, &event, 1, NULL, 0, 0, NULL) >= 0 ? 0 : errno;
}

void csched_poller_abort_refused_(const csched_poller *poller, int error) {
  csched_os_abort_refused_(poller->function, "kevent", error,
                           "The descriptor is the library's: no other code may close or replace it.");
}

int csched_poller_open_(csched_poller *poller, const char *function) { // Returns: 0, or an errno value and no poller
  int saved = errno, error = 0;
  *poller = (csched_poller){.fd = kqueue(), .wake = -1, .alarm = -1, .armed = CSCHED_FOREVER, .function = function};
  if (poller->fd < 0) error = errno;
  else error = change_filter(poller->fd, OWN, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, 0);
  if (error != 0 && poller->fd >= 0) close(poller->fd);
  errno = saved;
  return error;
}

void csched_poller_close_(const csched_poller *poller) {
  int saved = errno;
  close(poller->fd);
  errno = saved;
}

int csched_poller_renew_(csched_poller *poller) { // a child of fork does not inherit the kqueue: `fd` may be closed
  csched_poller new;
  int saved = errno, error = csched_poller_open_(&new, poller->function);
  if (error != 0 || new.fd == poller->fd) return error; // equal: the number was free
  if (dup2(new.fd, poller->fd) < 0) error = errno;
  close(new.fd);
  poller->armed = CSCHED_FOREVER;
  errno = saved;
  return error;
}

// Not needed on Darwin: a kqueue drops a descriptor when it is closed, even if a copy of it is open. So each event has
// a source.
int csched_poller_open_replacement_(const csched_poller *poller, csched_poller *next) {
  (void)poller, (void)next;
  return ENOTSUP;
}
void csched_poller_replace_(csched_poller *poller, csched_poller *next) { (void)poller, (void)next; }
void csched_poller_require_intact_(const csched_poller *poller) { (void)poller; }

int csched_poller_wake_(const csched_poller *poller) {
  int saved = errno, error = change_filter(poller->fd, OWN, EVFILT_USER, 0, NOTE_TRIGGER, 0, 0);
  errno = saved;
  return error;
}

void csched_poller_set_alarm_(csched_poller *poller, csched_time deadline) { // FOREVER: no alarm
  if (deadline == poller->armed) return;
  int saved = errno;
  if (deadline == CSCHED_FOREVER) {
    change_filter(poller->fd, OWN, EVFILT_TIMER, EV_DELETE, 0, 0, 0); // removes the alarm
  } else {
    csched_time now = csched_now();
    int64_t span = deadline <= now ? 1 : deadline - now > INT64_MAX ? INT64_MAX : (int64_t)(deadline - now); // ns
    if (change_filter(poller->fd, OWN, EVFILT_TIMER, EV_ADD | EV_ONESHOT, NOTE_NSECONDS | NOTE_CRITICAL, span, 0) != 0)
      csched_poller_abort_refused_(poller, errno);
  }
  errno = saved;
  poller->armed = deadline;
}

// Does: sets one of a descriptor's two filters, for reading or writing. `mask`: the filter's event, READ or WRITE.
// Returns: 0 or an errno value.
static int set_filter(csched_poller *poller, int fd, int filter, unsigned mask, unsigned before, unsigned events,
                      uint64_t tag) {
  if (events & mask)
    return change_filter(poller->fd, (uintptr_t)fd, filter, EV_ADD | (events & CSCHED_POLLER_EDGE ? EV_CLEAR : 0), 0, 0,
                         tag);
  return before & mask ? change_filter(poller->fd, (uintptr_t)fd, filter, EV_DELETE, 0, 0, tag) : 0;
}

// Does: changes the events for which the kqueue watches `fd`, from `before` to `events`; 0: does not watch it. Returns:
// 0 or an errno value.
int csched_poller_set_(csched_poller *poller, int fd, unsigned before, unsigned events, uint64_t tag) {
  int saved = errno;
  if ((before ^ events) & CSCHED_POLLER_EDGE && before != 0 && events != 0)
    csched_poller_set_(poller, fd, before, 0, 0); // EDGE changes: first removes both filters
  int error = set_filter(poller, fd, EVFILT_READ, CSCHED_POLLER_READ, before, events, tag);
  int other = error != 0 ? error : set_filter(poller, fd, EVFILT_WRITE, CSCHED_POLLER_WRITE, before, events, tag);
  // The second filter failed: removes the first one, so that an error leaves a new descriptor unwatched.
  if (error == 0 && other != 0 && before == 0) set_filter(poller, fd, EVFILT_READ, CSCHED_POLLER_READ, events, 0, tag);
  errno = saved;
  return other;
}

// Does: if `blocks`, waits for an event, a wake, the alarm or a signal. Returns: how many `events` of descriptors it
// has written.
int csched_poller_wait_(csched_poller *poller, csched_poller_event *events, int most, bool blocks) {
  int saved = errno, count = 0;
  struct kevent64_s found[BATCH];
  struct timespec none = {0, 0};
  if (most > BATCH) most = BATCH;
  int all = kevent64(poller->fd, NULL, 0, found, most, 0, blocks ? NULL : &none); // NULL: no timeout
  if (all < 0 && errno != EINTR) csched_poller_abort_refused_(poller, errno);
  errno = saved; // EINTR: no event
  for (int i = 0; i < all; i++) {
    if (found[i].filter == EVFILT_TIMER) poller->armed = CSCHED_FOREVER; // expired: the same deadline can be set again
    else if (found[i].filter == EVFILT_READ)
      events[count++] = (csched_poller_event){found[i].udata, CSCHED_POLLER_READ};
    else if (found[i].filter == EVFILT_WRITE)
      events[count++] = (csched_poller_event){found[i].udata, CSCHED_POLLER_WRITE};
  }
  return count;
}
#endif
