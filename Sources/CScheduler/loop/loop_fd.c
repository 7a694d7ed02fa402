// The descriptors of a loop: calls the handlers of ready sources, and lets the loop sleep on a poller or in a host.
//
// States
//   poller_state  0: the loop sleeps on its futex. 1: the poller is open: from its next park on, the loop sleeps on it,
//              until csched_fds_destroy_. LOST: a child of fork had no free descriptor for a poller of its own; the
//              loop's thread opens one later
//   by_fd      a table: a source of each descriptor number; `sibling` links the sources of a number in a ring. The
//              poller watches each number once, for the events of all its sources. It reports the number, and the
//              serial number that these sources share
//   is_silent  of a source: SILENT once csched_loop_unregister_fd_ has removed it from the poller, CLOSED if its
//              descriptor was closed before. The loop's thread removes it from the table later
//   ready      the queue of sources whose handlers are to be called; of a source: its reported events, 0 outside the
//              queue
//
// Invariants
//   FD1  A waker wakes the object that the loop sleeps on (futex or poller): poller_state is written before the park
//        that the waker has found.
//       (A late waker may wake a later sleep: one wake too many.) A thread that reads 1 may use the poller.
//   FD2  A sleep on the poller ends by a wake, by a source, or by the alarm, which is set to the end of the sleep. A
//       wake or an alarm stays pending until the loop polls. So no wake or alarm is lost between the park and the
//       sleep.
//   FD3  A handler is called only for an added source, and only for events that the source still waits for. A removal
//       unlinks the source from the poller, the table and the queue. A reported event is looked up by number and serial
//       number, never by an address.
//   FD4  Each polled event is reported once, however the runs nest: it waits in `ready`, which all runs of the loop
//        share.
//   FD5  No starvation: a batch begins with a poll if eight batches have begun since the previous poll, or if the first
//       of them began half a millisecond ago. One poll returns a bounded number of events. Each batch calls a bounded
//       number of handlers (loop.c, LP3).
//   FD6  Once a source is silent or removed, the poller does not watch its descriptor, except for other sources of the
//        same number. The poller's descriptors, the rings and is_silent change under `lock`. A number is added to the
//        poller only if its ring is empty.
//   FD7  Events of a descriptor without a source stop. Without this rule they would repeat for ever if a descriptor was
//       closed before its source was removed, and a copy of it is open. The second poll in a row that finds such an
//       event replaces the poller by a new one, under the same number. The new poller does not get numbers that are now
//       those of other descriptors. A loop with a host prints one message instead, because the host knows the old
//       poller. A loop without free descriptors prints it, too.
// Orderings
//   is_silent: relaxed. The loop's thread reads it before a handler, and may miss a change: the thread that silences a
//   source must itself keep the handler from starting (LoopSource.swift) · poller_state: release, pairs with the
//   waker's acquire, carries the poller
// Assumes: the poller's wake and alarm stay pending as platform.h says; a source is removed before its descriptor is
//   closed. (Otherwise the system removes the descriptor from the poller, unless a copy is open (FD7), and the source
//   leaves the table when its number is added again.)
// Source: one descriptor for a whole loop is libuv's backend_fd. An eventfd that wakes and is never read is mio's
//   (edge-triggered there, one-shot here). The table with serial numbers, against stale events, is epoll(7)'s advice.
// Models: checks/loop_fd.c. Not modelled: FD3, FD4, FD5, FD6, FD7, which concern one thread and the system's
//   descriptors.

#include "loop_fd_internal.h"

#include "../base/panic.h"
#include "../job/job_internal.h"
#include "loop_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 64, MOST_BATCHES = 8, LOST = 2 }; // FD5: limits of a poll, and between polls. LOST: a poller_state
enum { SILENT = 1, CLOSED = 2 };                  // values of is_silent
static const csched_time MOST_TIME = 500000;      // FD5: most ns between polls while there are jobs
enum { BOTH = CSCHED_FD_READ | CSCHED_FD_WRITE }; // all events; CSCHED_FD_EDGE is an option

_Static_assert((int)CSCHED_FD_READ == CSCHED_POLLER_READ, "the port's events are ours");
_Static_assert((int)CSCHED_FD_WRITE == CSCHED_POLLER_WRITE, "the port's events are ours");
_Static_assert((int)CSCHED_FD_EDGE == CSCHED_POLLER_EDGE, "the port's events are ours");

// MARK: the poller

static bool is_silent(const csched_fd_source *source) {
  return csched_load_relaxed(&source->is_silent) != 0; // FD6: exact under the lock; else a racy read
}

// The `run` of `fds->job`: calls the handler of the first ready source.
static void call_next_handler(csched_job *job) {
  csched_fds *fds = job->context;
  csched_fd_source *source = TAILQ_FIRST(&fds->ready);
  unsigned ready = source->ready;
  TAILQ_REMOVE(&fds->ready, source, node); // FD4: before the handler, whose nested run would report it again
  source->ready = 0;
  if (is_silent(source)) return;
  CSCHED_NEEDS_FUNCTION_(source->handler, "csched_fd_source_init");
  source->handler(source, ready); // it may free the source
}

static void drop_nothing(csched_job *job) { (void)job; } // the job captures nothing

static const csched_job_type handler_job_type = {call_next_handler, drop_nothing, NULL};

void csched_fds_init_(csched_fds *fds, const csched_loop *loop) {
  fds->loop = loop;
  TAILQ_INIT(&fds->ready);
}

// Returns: what the poller reports with each event of `source`: its serial number in the high half, its descriptor in
// the low half (FD3).
static uint64_t event_tag(const csched_fd_source *source) {
  return (uint64_t)source->serial << 32 | (uint32_t)source->fd;
}

// Returns: the events that the other sources of `source`'s number wait for, without silent sources. Requires: the lock.
static unsigned events_beside(const csched_fd_source *source) {
  unsigned events = 0;
  for (const csched_fd_source *each = source->sibling; each != source; each = each->sibling)
    if (!is_silent(each)) events |= each->events;
  return events;
}

// Returns: the events for which the poller watches `source`'s number. Requires: the lock.
static unsigned events_with(const csched_fd_source *source) {
  return events_beside(source) | (is_silent(source) ? 0 : source->events);
}

// Returns: whether `poller` still watches the descriptor of `source`. If not, the descriptor was closed, or all its
// sources are silent. Requires: the lock. The poller reports again what is ready now.
static bool is_watched(csched_poller *poller, const csched_fd_source *source) {
  unsigned events = events_with(source);
  return events != 0 && csched_poller_set_(poller, source->fd, events, events, event_tag(source)) == 0;
}

static bool is_open(const csched_fds *fds) {           // open or LOST; on the loop's thread
  return csched_load_relaxed(&fds->poller_state) != 0; // FD1: relaxed: only this thread writes it
}

static void mark_open(csched_fds *fds) {
  csched_store_release(&fds->poller_state, 1u); // FD1: pairs with csched_fds_wake_'s acquire; publishes the poller
}

static bool is_lost(const csched_fds *fds) {              // on the loop's thread, or under the lock
  return csched_load_relaxed(&fds->poller_state) == LOST; // FD1: relaxed: only `lock` and the loop's thread end LOST
}

// Does: in a child of fork, opens the poller again, with its sources. Returns: 0 or an errno value. Requires: the lock.
// Thread: the loop's.
static int reopen_poller_locked(csched_fds *fds) {
  int error = csched_poller_renew_(&fds->poller);
  for (size_t fd = 0; fd < fds->size && error == 0; fd++) {
    csched_fd_source *source = fds->by_fd[fd];
    unsigned events = source != NULL ? events_with(source) : 0;
    if (events == 0) continue;
    if (source->renew != NULL && source->renew(source) != 0) { // failed: ready, so that its handler reports it
      if (source->ready == 0) TAILQ_INSERT_TAIL(&fds->ready, source, node);
      source->ready |= CSCHED_FD_READ;
      continue;
    }
    csched_poller_set_(&fds->poller, source->fd, 0, events, event_tag(source)); // after an error: no events
  }
  if (error == 0) mark_open(fds);
  return error;
}

static int reopen_poller(csched_fds *fds) { // as reopen_poller_locked, for a caller that does not hold the lock
  csched_lock_lock(&fds->lock);             // FD6: else a source that is silenced now could be added again
  int error = reopen_poller_locked(fds);
  csched_lock_unlock(&fds->lock);
  return error;
}

int csched_fds_open_(csched_fds *fds) { // opens the poller, unless it is open. Returns: 0 or an errno value
  if (CSCHED_UNLIKELY(is_lost(fds))) return reopen_poller(fds);
  if (is_open(fds)) return 0;
  int error = csched_poller_open_(&fds->poller, "csched_loop_run");
  if (error == 0) mark_open(fds);
  return error;
}

// Does: reopens a LOST poller. Stops the process if the system refuses, or this is not the loop's thread.
static CSCHED_NOINLINE void reopen_lost(csched_fds *fds) {
  if (!csched_loop_is_on_thread(fds->loop) || reopen_poller(fds) != 0)
    csched_panic_("csched_loop_run",
                  "this child of fork had no descriptors to open its loop's poller anew, and has none now. "
                  "Close some before the loop is used, or exec.");
}

// Returns: the poller, opened again if it was LOST. Requires: the poller is open, or LOST.
static csched_poller *poller_of(csched_fds *fds) {
  if (CSCHED_UNLIKELY(is_lost(fds))) reopen_lost(fds);
  return &fds->poller;
}

// Does: wakes the poller. After an error, stops the process, unless the poller was closed meanwhile, as csched_shutdown
// closes the main loop's.
static void wake_poller(csched_fds *fds) {
  int error = csched_poller_wake_(&fds->poller);
  if (CSCHED_UNLIKELY(error != 0) && csched_load_relaxed(&fds->poller_state) != 0) // FD1: 0: closed: no loop to wake
    csched_poller_abort_refused_(&fds->poller, error);                             // stops the process
}

bool csched_fds_wake_(csched_fds *fds) { // Returns: false: there is no poller, so the caller wakes the loop's futex
  uint32_t open = csched_load_acquire(&fds->poller_state); // FD1: pairs with mark_open; then the poller can be used
  if (open == 0) return false;                             // the loop sleeps on its futex
  if (CSCHED_UNLIKELY(open == LOST)) reopen_lost(fds);
  wake_poller(fds);
  return true;
}

// Does: replaces a poller that reports a descriptor without a source by a new one; if that is impossible, prints a
// message, once.
static CSCHED_NOINLINE void replace_poller(csched_fds *fds) { // FD7: ends the events without a source
  csched_poller next;
  static const char *const advice =
      "a descriptor was closed while a source waited for it, and a copy of it is open: the system goes on to "
      "tell of it. Remove a source before its descriptor is closed.";
  if (fds->has_host || csched_poller_open_replacement_(&fds->poller, &next) != 0) {
    if (!fds->has_warned) csched_say_("csched_loop_add_fd", "%s", advice);
    fds->has_warned = true;
    return;
  }
  csched_lock_lock(&fds->lock); // FD6: else a source that is silenced now could be added again
  for (size_t fd = 0; fd < fds->size; fd++) {
    csched_fd_source *source = fds->by_fd[fd];
    if (source != NULL && is_watched(&fds->poller, source)) // FD7: else the number is another descriptor's
      csched_poller_set_(&next, source->fd, 0, events_with(source), event_tag(source)); // after an error: no events
  }
  csched_poller_replace_(&fds->poller, &next);
  csched_lock_unlock(&fds->lock);
}

// Does: notes `events`, which the poller has reported, for `source`, and appends it to `ready`.
static void add_ready(csched_fds *fds, csched_fd_source *source, unsigned events) {
  if (is_silent(source)) return;                   // FD6: silenced since the poll, so not called
  unsigned ready = events & source->events & BOTH; // FD3: without events that it does not wait for
  if (ready != 0 && source->ready == 0) TAILQ_INSERT_TAIL(&fds->ready, source, node);
  source->ready |= ready; // FD4: adds to events that are not yet passed to the handler
}

// Does: polls, and appends the ready sources to `ready`. `blocks`: first waits for an event, a wake, the alarm or a
// signal.
static void poll_sources(csched_fds *fds, bool blocks) {
  csched_poller_event events[EVENTS]; // FD5: bounded; the next poll returns the other events
  int count = csched_poller_wait_(poller_of(fds), events, EVENTS, blocks), unknown = 0;
  fds->batches = 0;      // FD5: counts anew from this poll
  fds->since = 0;        // csched_fds_poll_if_due_ stores the start of the next batch
  fds->is_stale = false; // the poll has consumed the pending wake and alarm
  for (int i = 0; i < count; i++) {
    size_t fd = (uint32_t)events[i].tag; // the low half: see event_tag
    csched_fd_source *source = fd < fds->size ? fds->by_fd[fd] : NULL;
    if (source == NULL || source->serial != events[i].tag >> 32) { // FD3: the source was removed since
      unknown++;
      continue;
    }
    csched_fd_source *first = source;
    do add_ready(fds, source, events[i].events);
    while ((source = source->sibling) != first);
  }
  if (CSCHED_UNLIKELY(unknown > 0)) {
    csched_poller_require_intact_(&fds->poller); // stops the process if other code has replaced the poller's descriptor
    if (fds->had_unknown_event) replace_poller(fds); // FD7: one event may be stale; two polls show a repetition
  }
  fds->had_unknown_event = unknown > 0;
}

void csched_fds_poll_if_due_(csched_fds *fds, csched_time now) { // FD5: else jobs could starve the sources
  if (fds->since == 0) fds->since = now;
  if (++fds->batches > MOST_BATCHES || now - fds->since >= MOST_TIME) poll_sources(fds, false);
}

// Does: marks `fds->job`, which calls the handler of the first ready source, as submitted. Returns: that job, for the
// caller to run.
static CSCHED_NOINLINE csched_job *call_ready(csched_fds *fds) {
  if (!csched_job_is_running_here_(&fds->job))          // else a nested run inside a handler resubmits the running job
    csched_job_init(&fds->job, &handler_job_type, fds); // resets it: its previous run may have been unwound
  csched_job_submitted_(&fds->job, "csched_loop_add_fd");
  return &fds->job;
}

csched_job *csched_fds_next_(csched_fds *fds) {
  return CSCHED_LIKELY(TAILQ_EMPTY(&fds->ready)) ? NULL : call_ready(fds);
}

csched_job *csched_fds_poll_next_(csched_fds *fds) {
  if (is_open(fds)) poll_sources(fds, false);
  return csched_fds_next_(fds);
}

bool csched_fds_wait_(csched_fds *fds, csched_time until) { // Returns: false: no poller, so the caller uses its futex
  if (!is_open(fds)) return false;
  csched_poller_set_alarm_(poller_of(fds), until); // FD2: the sleep itself has no timeout
  poll_sources(fds, true);
  return true;
}

void csched_fds_consume_stale_(csched_fds *fds) {
  if (fds->is_stale) poll_sources(fds, false); // FD2: consumes what csched_fds_arm_for_host_ left pending
}

void csched_fds_arm_for_host_(csched_fds *fds, bool is_idle, csched_time until) {
  csched_poller *poller = poller_of(fds);
  fds->is_stale = !is_idle;
  if (is_idle) csched_poller_set_alarm_(poller, until); // FD2: the descriptor becomes readable at `until`
  else wake_poller(fds);                                // FD2: the descriptor becomes readable at once
}

// Does: gives the loop to a host. Returns: 0, and in `*fd` the poller's descriptor, on which the host waits; or an
// errno value.
int csched_loop_fd(csched_loop *loop, int *fd) {
  csched_fds *fds = csched_loop_fds_(loop, "csched_loop_fd");
  int error = csched_fds_open_(fds);
  if (error != 0) return error;
  if (!fds->has_host) {
    fds->has_host = true;
    csched_loop_run_ready(loop, 0); // runs no job; but its end, if it is the outermost run, parks the loop in the host
  }
  *fd = fds->poller.fd;
  return 0;
}

void csched_loop_detach(csched_loop *loop) {
  csched_loop_fds_(loop, "csched_loop_detach"); // called for its check: stops the process on another thread
  csched_loop_unbind_(loop);
}

void csched_loop_attach(csched_loop *loop) {
  csched_loop_bind_(loop);
  csched_loop_unblock_signals_(loop);
}

// MARK: sources

// Does: enlarges the table, if necessary, for `fd`. Returns: false if there is no memory.
static bool reserve_table(csched_fds *fds, size_t fd) {
  if (fd < fds->size) return true;
  size_t size = fds->size > 0 ? fds->size : 64; // 64: the numbers of a small program
  while (size <= fd) size *= 2;
  csched_fd_source **by_fd = calloc(size, sizeof *by_fd);
  if (by_fd == NULL) return false;
  if (fds->size > 0) memcpy(by_fd, fds->by_fd, fds->size * sizeof *by_fd);
  free(fds->by_fd);
  fds->by_fd = by_fd;
  fds->size = size;
  return true;
}

// Does: unlinks `source` from the table and the ready queue, but not from the poller.
static void unlink_source(csched_fds *fds, csched_fd_source *source) { // FD3: else its handler could still be called
  csched_fd_source *next = source->sibling, *previous = source;
  while (previous->sibling != source) previous = previous->sibling;
  previous->sibling = next;
  if (fds->by_fd[source->fd] == source) fds->by_fd[source->fd] = next != source ? next : NULL;
  if (source->ready != 0) TAILQ_REMOVE(&fds->ready, source, node);
  source->ready = 0;
  source->owner = NULL;
  fds->count--;
}

// Does: removes the events of `source` from the poller, if they are there. Returns: 0; EBADF or ENOENT if its
// descriptor was closed before. Requires: the lock, and the source is in the table.
static int leave_poller(csched_fds *fds, const csched_fd_source *source) {
  if (is_silent(source)) return csched_load_relaxed(&source->is_silent) == CLOSED ? EBADF : 0; // FD6: under the lock
  if (is_lost(fds)) return 0;                                                                  // there is no poller
  unsigned others = events_beside(source);
  return csched_poller_set_(&fds->poller, source->fd, source->events | others, others, event_tag(source));
}

// Does: unlinks `source` from the table, the ready queue and the poller. Returns: as leave_poller.
static int remove_source(csched_fds *fds, csched_fd_source *source) { // FD3: else its handler could still be called
  csched_lock_lock(&fds->lock);
  int error = leave_poller(fds, source);
  unlink_source(fds, source);
  if (error != 0) source->serial = 0;
  csched_lock_unlock(&fds->lock);
  return error;
}

// Does: calls the source's `dropped`, which may free the source. Without `dropped`, prints a message after EBADF.
static void report_drop(csched_fd_source *source, int error) {
  if (source->dropped != NULL) source->dropped(source, error);
  else if (error == EBADF && !is_silent(source))
    csched_say_(
        "csched_loop_add_fd",
        "descriptor %d was closed while source %p waited for it. The source gets no further events. Remove a source "
        "before its descriptor is closed.",
        source->fd, (void *)source);
}

// Does: drops one source of number `fd` if the number's descriptor was closed, or the number has only silent sources.
// Returns: whether it did.
// Requires: the lock, which is unlocked during the call of `dropped`.
static bool drop_closed(csched_fds *fds, int fd) {
  csched_fd_source *source = fds->by_fd[fd];
  if (source == NULL || is_watched(&fds->poller, source)) return false;
  unlink_source(fds, source);
  source->serial = 0;
  csched_lock_unlock(&fds->lock);
  report_drop(source, EBADF);
  csched_lock_lock(&fds->lock);
  return true;
}

// Returns: the errno value with which `source` cannot be added, or 0.
static int refusal_of(const csched_fds *fds, const csched_fd_source *source) {
  if (source->owner != NULL) return EEXIST;
  if (source->fd < 0) return EBADF;
  if ((source->events & BOTH) == 0) return EINVAL;
  return fds->is_closed || is_silent(source) ? ECANCELED : 0;
}

// Does: adds `source` to the poller and the table. `other`: a source of the same number, or NULL. Returns: 0 or an
// errno value; after an error the source is not added. Requires: the lock, and the poller watches `other`.
static int add_beside(csched_fds *fds, csched_fd_source *source, csched_fd_source *other) {
  unsigned before = other != NULL ? events_with(other) : 0;
  source->serial = other != NULL ? other->serial : ++fds->last_serial; // FD3: new, so that earlier events are stale
  int error = csched_poller_set_(&fds->poller, source->fd, before, before | source->events, event_tag(source));
  if (error != 0) return error;
  source->sibling = other != NULL ? other->sibling : source;
  if (other != NULL) other->sibling = source;
  else fds->by_fd[source->fd] = source;
  source->owner = fds;
  source->ready = 0;
  fds->count++;
  return 0;
}

// Does: adds `source`, also beside other level-triggered sources of its number if `is_shared`. Returns: 0 or an errno
// value.
static int add_source(csched_fds *fds, csched_fd_source *source, bool is_shared) {
  int error = refusal_of(fds, source);
  if (error == 0) error = csched_fds_open_(fds);
  if (error != 0) return error;
  if (!reserve_table(fds, (size_t)source->fd)) return ENOMEM;
  csched_lock_lock(&fds->lock);           // FD6: unregister_fd_ must come before or after the whole addition
  while (drop_closed(fds, source->fd)) {} // FD6: the number has a new descriptor: its ring must be empty
  error = refusal_of(fds, source);        // again: `dropped` may have changed it
  csched_fd_source *other = fds->by_fd[source->fd];
  bool can_share = is_shared && other != NULL && ((source->events | events_with(other)) & CSCHED_FD_EDGE) == 0;
  if (error == 0 && other != NULL && !can_share) error = EEXIST;
  if (error == 0) error = add_beside(fds, source, other);
  csched_lock_unlock(&fds->lock);
  return error;
}

int csched_loop_add_fd(csched_loop *loop, csched_fd_source *source) {
  return add_source(csched_loop_fds_(loop, "csched_loop_add_fd"), source, false);
}

int csched_loop_add_shared_fd_(csched_loop *loop, csched_fd_source *source) {
  return add_source(csched_loop_fds_(loop, "csched_loop_add_fd"), source, true);
}

// Does: makes `source` wait for `events` in place of its previous events. Returns: 0 or an errno value, with no change.
int csched_loop_modify_fd(csched_loop *loop, csched_fd_source *source, unsigned events) {
  csched_fds *fds = csched_loop_fds_(loop, "csched_loop_modify_fd");
  if (source->owner != fds) return ENOENT;
  if ((events & BOTH) == 0) return EINVAL;
  csched_poller *poller = poller_of(fds);
  csched_lock_lock(&fds->lock); // FD6: else a source that is silenced now could be added again
  unsigned others = events_beside(source);
  int error = is_silent(source)
                  ? 0
                  : csched_poller_set_(poller, source->fd, source->events | others, events | others, event_tag(source));
  if (error == 0) source->events = events;
  csched_lock_unlock(&fds->lock);
  if (error != 0) return error;
  unsigned ready = source->ready & events; // FD3: the handler must not get events that the source no longer waits for
  if (source->ready != 0 && ready == 0) TAILQ_REMOVE(&fds->ready, source, node);
  source->ready = ready;
  return 0;
}

// Does: from any thread, removes `source` from the poller at once. The loop's thread removes it from the table and the
// queue later.
void csched_loop_unregister_fd_(csched_loop *loop, csched_fd_source *source) {
  csched_fds *fds = csched_loop_fds_of_(loop);
  csched_lock_lock(&fds->lock); // FD6: the loop's thread may be adding or removing the source
  uint32_t state = source->owner == fds && leave_poller(fds, source) != 0 ? CLOSED : SILENT;
  csched_store_relaxed(&source->is_silent, state); // FD6: under the lock, so no thread adds it to the poller again
  csched_lock_unlock(&fds->lock);
}

int csched_loop_remove_fd(csched_loop *loop, csched_fd_source *source) {
  csched_fds *fds = csched_loop_fds_(loop, "csched_loop_remove_fd");
  if (source->owner != fds) return ENOENT;
  return remove_source(fds, source) == 0 ? 0 : EBADF; // ENOENT of the poller, too, means a closed descriptor
}

void csched_fds_close_(csched_fds *fds) { // removes all sources; later ones are refused
  fds->is_closed = true;
  for (size_t fd = 0; fds->count > 0; fd++) { // until no source is left: remove_source decrements `count`
    for (csched_fd_source *source; (source = fds->by_fd[fd]) != NULL;) {
      remove_source(fds, source);
      report_drop(source, ECANCELED);
    }
  }
}

void csched_fds_destroy_(csched_fds *fds) { // also closes the poller, and frees the table; may be called again
  csched_fds_close_(fds);
  free(fds->by_fd);
  fds->by_fd = NULL;
  fds->size = 0;
  if (!is_open(fds)) return;
  csched_store_relaxed(&fds->poller_state, 0u); // FD1: first: a late wake_poller that fails must read 0, not stop
  csched_poller_close_(&fds->poller);
}

// MARK: forks

void csched_fds_renew_(csched_fds *fds) {    // in a child of fork: gives a loop that continues a poller of its own
  fds->lock = (csched_lock)CSCHED_LOCK_INIT; // FD6: a thread of the parent may have locked it
  // The old poller may have had a pending wake, which a host needs: wakes the new one. LOST: the first use tries again;
  // a child may only call exec.
  if (!is_open(fds)) return;
  if (reopen_poller_locked(fds) == 0) wake_poller(fds);          // FD6: no lock is needed: the child has one thread
  else csched_store_relaxed(&fds->poller_state, (uint32_t)LOST); // FD1: relaxed: the child has one thread
}

void csched_fds_abandon_(csched_fds *fds) { // in a child of fork: closes its copies of the parent's descriptors
  if (is_open(fds)) csched_poller_close_(&fds->poller);
}
