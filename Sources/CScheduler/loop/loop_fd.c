// The descriptors of a loop: calls the handlers of ready sources, and lets the loop sleep on a poller or in a host.
//
// States
//   poller_state  0: the loop sleeps on its futex. 1: the poller is open: from its next park on, the loop sleeps on it, until csched_fds_destroy_.
//              LOST: a child of fork had no free descriptor for a poller of its own; the loop's thread opens one later
//   by_fd      a table: the source of each descriptor number. The poller reports that number, and the source's serial number
//   is_silent  of a source: 1 once csched_loop_unregister_fd_ has removed it from the poller. The loop's thread removes it from the table later
//   ready      the queue of sources whose handlers are to be called; of a source: its reported events, 0 outside the queue
//
// Invariants
//   FD1  A waker wakes the object that the loop sleeps on (futex or poller): poller_state is written before the park that the waker has found.
//       (A late waker may wake a later sleep: one wake too many.) A thread that reads 1 may use the poller.
//   FD2  A sleep on the poller ends by a wake, by a source, or by the alarm, which is set to the end of the sleep. A wake or an alarm
//       stays pending until the loop polls. So no wake or alarm is lost between the park and the sleep.
//   FD3  A handler is called only for an added source, and only for events that the source still waits for. A removal unlinks the source from
//       the poller, the table and the queue. A reported event is looked up by number and serial number, never by an address.
//   FD4  Each polled event is reported once, however the runs nest: it waits in `ready`, which all runs of the loop share.
//   FD5  No starvation: a batch begins with a poll if eight batches have begun since the previous poll, or if the first of them began half a
//       millisecond ago. One poll returns a bounded number of events. Each batch calls a bounded number of handlers (loop.c, LP3).
//   FD6  Once a source is silent or removed, its descriptor is not in the poller. The poller's descriptors and is_silent change under `lock`.
//   FD7  Events of a descriptor without a source stop. Without this rule they would repeat for ever if a descriptor was closed before its source was
//       removed, and a copy of it is open. The second poll in a row that finds such an event replaces the poller by a new one, under the same number.
//       A loop with a host prints one message instead, because the host knows the old poller. A loop without free descriptors prints it, too.
// Orderings
//   is_silent: relaxed. The loop's thread reads it before a handler, and may miss a change: the thread that silences a source must itself keep the
//   handler from starting (LoopSource.swift) · poller_state: release, pairs with the waker's acquire, carries the poller
// Assumes: the poller's wake and alarm stay pending as platform.h says; a source is removed before its descriptor is closed. (Otherwise the system
//   removes the descriptor from the poller, unless a copy is open (FD7), and the source leaves the table when its number is added again.)
// Source: one descriptor for a whole loop is libuv's backend_fd. An eventfd that wakes and is never read is mio's (edge-triggered there, one-shot
//   here). The table with serial numbers, against stale events, is epoll(7)'s advice.
// Checked by: "a source reports that it can be read, and written", "a level is reported again, an edge once", "a source removed in a handler is not
//   called again", "a descriptor's number used again brings no stale event", "a thousand sources", "a source that another thread silences leaves the
//   poller at once", "a descriptor closed before its source, with a copy, does not keep the loop busy", "jobs, timers and sources do not starve each
//   other", "a loop with sources does not wake up while idle", "a submission wakes a loop that sleeps on its poller", "timers of a loop with sources
//   are never early".
// Models: checks/loop_fd.c. Not modelled: FD3, FD4, FD5, FD6, FD7, which concern one thread and the system's descriptors.

#include "loop_fd_internal.h"

#include "../base/panic.h"
#include "../job/job_internal.h"
#include "loop_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 64, MOST_BATCHES = 8, LOST = 2 }; // FD5: limits of a poll, and between polls. LOST: a poller_state
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
  if (!is_silent(source)) source->handler(source, ready); // it may free the source
}

static void drop_nothing(csched_job *job) { (void)job; } // the job captures nothing

static const csched_job_type handler_job_type = {call_next_handler, drop_nothing, NULL};

void csched_fds_init_(csched_fds *fds, const csched_loop *loop) {
  fds->loop = loop;
  TAILQ_INIT(&fds->ready);
}

// Returns: what the poller reports with each event of `source`: its serial number in the high half, its descriptor in the low half (FD3).
static uint64_t event_tag(const csched_fd_source *source) {
  return (uint64_t)source->serial << 32 | (uint32_t)source->fd;
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

// Does: in a child of fork, opens the poller again, with its sources. Returns: 0 or an errno value. Requires: the lock. Thread: the loop's.
static int reopen_poller_locked(csched_fds *fds) {
  int error = csched_poller_renew_(&fds->poller);
  for (size_t fd = 0; fd < fds->size && error == 0; fd++) {
    csched_fd_source *source = fds->by_fd[fd];
    if (source == NULL || is_silent(source)) continue;
    if (source->renew != NULL && source->renew(source) != 0) { // failed: ready, so that its handler reports it
      if (source->ready == 0) TAILQ_INSERT_TAIL(&fds->ready, source, node);
      source->ready |= CSCHED_FD_READ;
      continue;
    }
    csched_poller_set_(&fds->poller, source->fd, 0, source->events, event_tag(source)); // after an error: no events
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

// Does: wakes the poller. After an error, stops the process, unless the poller was closed meanwhile, as csched_shutdown closes the main loop's.
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

// Does: replaces a poller that reports a descriptor without a source by a new one; if that is impossible, prints a message, once.
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
    if (source != NULL && !is_silent(source))
      csched_poller_set_(&next, source->fd, 0, source->events, event_tag(source)); // after an error: no events
  }
  csched_poller_replace_(&fds->poller, &next);
  csched_lock_unlock(&fds->lock);
}

// Does: polls, and appends the ready sources to `ready`. `blocks`: first waits for an event, a wake, the alarm or a signal.
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
    if (is_silent(source)) continue;                           // FD6: silenced since the poll, so not called
    unsigned ready = events[i].events & source->events & BOTH; // FD3: without events that it does not wait for
    if (ready != 0 && source->ready == 0) TAILQ_INSERT_TAIL(&fds->ready, source, node);
    source->ready |= ready; // FD4: adds to events that are not yet passed to the handler
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

// Does: marks `fds->job`, which calls the handler of the first ready source, as submitted. Returns: that job, for the caller to run.
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

// Does: gives the loop to a host. Returns: 0, and in `*fd` the poller's descriptor, on which the host waits; or an errno value.
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

void csched_loop_attach(csched_loop *loop) { csched_loop_bind_(loop); }

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
  if (source->ready != 0) TAILQ_REMOVE(&fds->ready, source, node);
  source->ready = 0;
  source->owner = NULL;
  fds->by_fd[source->fd] = NULL;
  fds->count--;
}

// Does: unlinks `source` from the table, the ready queue and the poller. Returns: 0; EBADF or ENOENT if its descriptor was closed before.
static int remove_source(csched_fds *fds, csched_fd_source *source) { // FD3: else its handler could still be called
  csched_lock_lock(&fds->lock);
  bool is_in_poller = !is_lost(fds) && !is_silent(source); // FD6: else the poller does not have it
  int error = is_in_poller ? csched_poller_set_(&fds->poller, source->fd, source->events, 0, 0) : 0; // to no events
  unlink_source(fds, source);
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

// Does: adds `source` to the poller and the table. Returns: 0 or an errno value; after an error the source is not added.
int csched_loop_add_fd(csched_loop *loop, csched_fd_source *source) {
  csched_fds *fds = csched_loop_fds_(loop, "csched_loop_add_fd");
  if (source->owner != NULL) return EEXIST;
  if (source->fd < 0) return EBADF;
  if ((source->events & BOTH) == 0) return EINVAL;
  if (fds->is_closed) return ECANCELED;
  int error = csched_fds_open_(fds);
  if (error != 0) return error;
  if (!reserve_table(fds, (size_t)source->fd)) return ENOMEM;
  csched_fd_source *previous = NULL;   // a source whose descriptor was closed: its number is now that of `source`
  csched_lock_lock(&fds->lock);        // FD6: unregister_fd_ must come before or after the whole addition
  source->serial = ++fds->last_serial; // FD3: new, so that events of an earlier source with this number are stale
  error = is_silent(source) ? ECANCELED
                            : csched_poller_set_(&fds->poller, source->fd, 0, source->events, event_tag(source));
  if (error == 0) {
    previous = fds->by_fd[source->fd];
    if (previous != NULL) unlink_source(fds, previous); // FD3: `by_fd` has one source for each number
    fds->by_fd[source->fd] = source;
    source->owner = fds;
    source->ready = 0;
    fds->count++;
  }
  csched_lock_unlock(&fds->lock);
  if (error != 0) return error;
  if (previous != NULL) report_drop(previous, EBADF); // without the lock: `dropped` may call the loop
  return 0;
}

// Does: makes `source` wait for `events` in place of its previous events. Returns: 0 or an errno value, with no change.
int csched_loop_modify_fd(csched_loop *loop, csched_fd_source *source, unsigned events) {
  csched_fds *fds = csched_loop_fds_(loop, "csched_loop_modify_fd");
  if (source->owner != fds) return ENOENT;
  if ((events & BOTH) == 0) return EINVAL;
  csched_poller *poller = poller_of(fds);
  csched_lock_lock(&fds->lock); // FD6: else a source that is silenced now could be added again
  int error = is_silent(source) ? 0 : csched_poller_set_(poller, source->fd, source->events, events, event_tag(source));
  if (error == 0) source->events = events;
  csched_lock_unlock(&fds->lock);
  if (error != 0) return error;
  unsigned ready = source->ready & events; // FD3: the handler must not get events that the source no longer waits for
  if (source->ready != 0 && ready == 0) TAILQ_REMOVE(&fds->ready, source, node);
  source->ready = ready;
  return 0;
}

// Does: from any thread, removes `source` from the poller at once. The loop's thread removes it from the table and the queue later.
void csched_loop_unregister_fd_(csched_loop *loop, csched_fd_source *source) {
  csched_fds *fds = csched_loop_fds_of_(loop);
  csched_lock_lock(&fds->lock); // FD6: the loop's thread may be adding or removing the source
  bool is_in_poller = source->owner == fds && !is_silent(source) && !is_lost(fds);
  csched_store_relaxed(&source->is_silent, 1u); // FD6: under the lock, so no thread adds it to the poller again
  if (is_in_poller) csched_poller_set_(&fds->poller, source->fd, source->events, 0, 0);
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
    csched_fd_source *source = fds->by_fd[fd];
    if (source == NULL) continue;
    remove_source(fds, source);
    report_drop(source, ECANCELED);
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
  // The old poller may have had a pending wake, which a host needs: wakes the new one. LOST: the first use tries again; a child may only call exec.
  if (!is_open(fds)) return;
  if (reopen_poller_locked(fds) == 0) wake_poller(fds);          // FD6: no lock is needed: the child has one thread
  else csched_store_relaxed(&fds->poller_state, (uint32_t)LOST); // FD1: relaxed: the child has one thread
}

void csched_fds_abandon_(csched_fds *fds) { // in a child of fork: closes its copies of the parent's descriptors
  if (is_open(fds)) csched_poller_close_(&fds->poller);
}
