// States
//   is_open    0 the loop sleeps on its futex; 1 on the poller, from its next park on. It stays 1
//   by_fd      which source stands for a descriptor's number. What the system reports bears that number, and a serial number
//   ready      the sources whose handlers are to be called; `ready` of such a source is not 0
//
// Obligations
//   E1  Whoever owes a wake gives it to what the loop sleeps on: is_open is written before the park that the waker has found.
//       (A waker that comes late may meet a later park: a wake too many.) Whoever sees 1 may use the poller.
//   E2  A sleep on the poller ends by a wake, by the alarm, which is set to the moment that the loop may sleep until, or by a
//       source. A wake or alarm that has come stays until it is looked at, so none falls between the park and the sleep.
//   E3  A handler is called for a source that is added, for what it still waits for: removing takes it out of the poller, the
//       table and the queue, and what the system reports goes by the table and the serial number, never by an address.
//   E4  What has been collected is told once, however the runs nest: it waits in `ready`, not in the run that collected it.
//   E5  No starving: a long turn, or the eighth one, ends with a look at the poller; what that brings is bounded.
// Orderings
//   is_open: release, pairs with the waker's acquire, carries the poller
// Assumes: the poller's wake and alarm stay as platform.h says; a source is removed before its descriptor is closed. (One that is
//   not leaves with its descriptor, or when the number is added again; but a copy of the descriptor keeps it in the poller.)
// Source: one descriptor for a whole loop is libuv's backend_fd; an eventfd that is edge-triggered, and so never read, is mio's;
//   that what epoll reports may be stale, and goes by a table, is epoll(7)'s advice.
// Checked by: "a source is told that it can be read, and written", "a level is told again, an edge once", "a source removed in a
//   handler is not called again", "a descriptor's number used again brings no stale event", "a thousand sources",
//   "jobs, timers and sources do not starve each other", "a loop with sources does not wake up while idle",
//   "a submission wakes a loop that sleeps on its poller", "timers of a loop with sources are never early".
// Models: checks/loop_fd.c; promela/loop_fd.pml, also for E3 and E4. Not modelled: E3, E4, E5, which concern one thread and the system's descriptors.

#include "loop_fd_internal.h"

#include "job_internal.h"
#include "loop_internal.h"
#include "panic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, MOST_TURNS = 8 };
enum { BOTH = CSCHED_FD_READ | CSCHED_FD_WRITE };

_Static_assert((int)CSCHED_FD_READ == CSCHED_POLLER_READ, "the port's events are ours");
_Static_assert((int)CSCHED_FD_WRITE == CSCHED_POLLER_WRITE, "the port's events are ours");
_Static_assert((int)CSCHED_FD_EDGE == CSCHED_POLLER_EDGE, "the port's events are ours");

// MARK: the poller

static void call_next(csched_job *job) {
  csched_fds *fds = job->context;
  csched_fd_source *source = TAILQ_FIRST(&fds->ready);
  unsigned ready = source->ready;
  TAILQ_REMOVE(&fds->ready, source, node); // E4
  source->ready = 0;
  source->handler(source, ready); // which may free it
}

static void drop_nothing(csched_job *job) { (void)job; }

static const csched_job_type calling = {call_next, drop_nothing, NULL};

void csched_fds_init_(csched_fds *fds) { TAILQ_INIT(&fds->ready); }

static bool is_open(const csched_fds *fds) {
  return csched_load_acquire(&fds->is_open) != 0; // E1: pairs with open; carries the poller
}

int csched_fds_open_(csched_fds *fds) {
  if (is_open(fds)) return 0;
  int error = csched_poller_open_(&fds->poller);
  if (error == 0) csched_store_release(&fds->is_open, 1u); // E1: pairs with is_open's acquire
  return error;
}

bool csched_fds_wake_(csched_fds *fds) {
  if (!is_open(fds)) return false; // E1
  csched_poller_wake_(&fds->poller);
  return true;
}

// Looks at the poller, and queues the sources that it names.
static void collect(csched_fds *fds, bool blocks) {
  csched_poller_event events[BATCH]; // E5
  int count = csched_poller_wait_(&fds->poller, events, BATCH, blocks);
  fds->turns = 0;
  fds->is_stale = false;
  for (int i = 0; i < count; i++) {
    size_t fd = (uint32_t)events[i].tag;
    csched_fd_source *source = fd < fds->size ? fds->by_fd[fd] : NULL;
    if (source == NULL || source->serial != events[i].tag >> 32) continue; // E3
    unsigned ready = events[i].events & source->events & BOTH;             // E3
    if (ready != 0 && source->ready == 0) TAILQ_INSERT_TAIL(&fds->ready, source, node);
    source->ready |= ready;
  }
}

void csched_fds_turn_(csched_fds *fds, bool is_long) {
  if (fds->count > 0 && (++fds->turns >= MOST_TURNS || is_long)) collect(fds, false); // E5
}

static CSCHED_NOINLINE csched_job *call_ready(csched_fds *fds) {
  if (!csched_job_is_running_here_(&fds->job)) // else it is submitted by its own run, which is nested around
    csched_job_init(&fds->job, &calling, fds); // anew: the one before may have been left by unwinding
  csched_job_submitted_(&fds->job, "csched_loop_add_fd");
  return &fds->job;
}

csched_job *csched_fds_next_(csched_fds *fds) {
  return CSCHED_LIKELY(TAILQ_EMPTY(&fds->ready)) ? NULL : call_ready(fds);
}

csched_job *csched_fds_look_(csched_fds *fds) {
  if (is_open(fds)) collect(fds, false);
  return csched_fds_next_(fds);
}

bool csched_fds_wait_(csched_fds *fds, csched_time until) {
  if (!is_open(fds)) return false;
  csched_poller_arm_(&fds->poller, until); // E2
  collect(fds, true);
  return true;
}

void csched_fds_settle_(csched_fds *fds) {
  if (fds->is_stale) collect(fds, false); // E2: what they were for was there before
}

void csched_fds_leave_to_host_(csched_fds *fds, bool is_idle, csched_time until) {
  fds->is_stale = !is_idle;
  if (is_idle) csched_poller_arm_(&fds->poller, until); // E2
  else csched_poller_wake_(&fds->poller);               // E2
}

int csched_loop_fd(csched_loop *loop) {
  csched_fds *fds = csched_loop_fds_(loop, "csched_loop_fd");
  int error = csched_fds_open_(fds);
  if (error != 0) return -error;
  if (!fds->has_host) {
    fds->has_host = true;
    csched_loop_run_ready(loop, 0); // parks at its end, unless it is in another run
  }
  return fds->poller.fd;
}

void csched_loop_detach(csched_loop *loop) {
  csched_loop_fds_(loop, "csched_loop_detach");
  csched_loop_unbind_(loop);
}

void csched_loop_attach(csched_loop *loop) { csched_loop_bind_(loop); }

// MARK: sources

static uint64_t tag_of(const csched_fd_source *source) { // E3
  return (uint64_t)source->serial << 32 | (uint32_t)source->fd;
}

// Makes room in the table for `fd`. Returns: whether there is.
static bool reserve(csched_fds *fds, size_t fd) {
  if (fd < fds->size) return true;
  size_t size = fds->size > 0 ? fds->size : 64;
  while (size <= fd) size *= 2;
  csched_fd_source **by_fd = calloc(size, sizeof *by_fd);
  if (by_fd == NULL) return false;
  if (fds->size > 0) memcpy(by_fd, fds->by_fd, fds->size * sizeof *by_fd);
  free(fds->by_fd);
  fds->by_fd = by_fd;
  fds->size = size;
  return true;
}

static void forget(csched_fds *fds, csched_fd_source *source) { // E3
  if (source->ready != 0) TAILQ_REMOVE(&fds->ready, source, node);
  source->ready = 0;
  source->owner = NULL;
  fds->by_fd[source->fd] = NULL;
  fds->count--;
}

int csched_loop_add_fd(csched_loop *loop, csched_fd_source *source) {
  csched_fds *fds = csched_loop_fds_(loop, "csched_loop_add_fd");
  if (source->owner != NULL) return EEXIST;
  if (source->fd < 0) return EBADF;
  if ((source->events & BOTH) == 0) return EINVAL;
  if (fds->is_closed) return ECANCELED;
  int error = csched_fds_open_(fds);
  if (error != 0) return error;
  if (!reserve(fds, (size_t)source->fd)) return ENOMEM;
  source->serial = ++fds->last_serial;
  error = csched_poller_set_(&fds->poller, source->fd, 0, source->events, tag_of(source));
  if (error != 0) return error;
  csched_fd_source *before = fds->by_fd[source->fd];
  if (before != NULL) forget(fds, before); // E3: it was closed, and the number is used again
  fds->by_fd[source->fd] = source;
  source->owner = fds;
  source->ready = 0;
  fds->count++;
  return 0;
}

int csched_loop_modify_fd(csched_loop *loop, csched_fd_source *source, unsigned events) {
  csched_fds *fds = csched_loop_fds_(loop, "csched_loop_modify_fd");
  if (source->owner != fds) return ENOENT;
  if ((events & BOTH) == 0) return EINVAL;
  int error = csched_poller_set_(&fds->poller, source->fd, source->events, events, tag_of(source));
  if (error != 0) return error;
  unsigned ready = source->ready & events; // E3
  if (source->ready != 0 && ready == 0) TAILQ_REMOVE(&fds->ready, source, node);
  source->ready = ready;
  source->events = events;
  return 0;
}

int csched_loop_remove_fd(csched_loop *loop, csched_fd_source *source) {
  csched_fds *fds = csched_loop_fds_(loop, "csched_loop_remove_fd");
  if (source->owner != fds) return ENOENT;
  csched_poller_set_(&fds->poller, source->fd, source->events, 0,
                     0); // E3; if it fails the system has forgotten it already
  forget(fds, source);
  return 0;
}

void csched_fds_close_(csched_fds *fds) {
  fds->is_closed = true;
  for (size_t fd = 0; fds->count > 0; fd++) {
    csched_fd_source *source = fds->by_fd[fd];
    if (source == NULL) continue;
    csched_poller_set_(&fds->poller, source->fd, source->events, 0, 0);
    forget(fds, source);
  }
}

void csched_fds_destroy_(csched_fds *fds) {
  csched_fds_close_(fds);
  free(fds->by_fd);
  if (is_open(fds)) csched_poller_close_(&fds->poller);
}

// MARK: forks

void csched_fds_renew_(csched_fds *fds) {
  if (!is_open(fds)) return;
  if (csched_poller_renew_(&fds->poller) != 0)
    csched_panic_("fork", "the child has no descriptors for the poller of its loop. Close some before fork.");
  for (size_t fd = 0; fd < fds->size; fd++) {
    csched_fd_source *source = fds->by_fd[fd];
    if (source == NULL) continue; // one whose descriptor is gone is told nothing
    csched_poller_set_(&fds->poller, source->fd, 0, source->events, tag_of(source));
  }
  csched_poller_wake_(&fds->poller); // for a host, whose wake may have been on its way
}

void csched_fds_abandon_(csched_fds *fds) {
  if (is_open(fds)) csched_poller_close_(&fds->poller);
}
