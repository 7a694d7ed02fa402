// Signals as sources of a loop: the signal handler counts, and writes to an eventfd (the bell), which wakes the loop.
//
// States, for each signal
//   count      how often the signal has arrived since its source was last called
//   bell       1 + the number of the eventfd to which the signal handler writes, and which is never closed; 0: not
//              opened yet
//   source     the source of the signal, and `loop`, its loop; under `lock`
//
// Invariants
//   SG1  Each signal is reported: the handler counts before it writes to the bell; the loop clears the bell before it
//        reads and resets the count.
//   SG2  The handler accesses only `count`, `bell` and the eventfd, because it may run on any thread, inside any
//        function. The bell is never closed in the process that opened it, so a late handler writes to a bell for which
//        no source waits.
//   SG3  A signal has one source. The signal's action is restored when the source ends: by removal, by another thread
//        that silences it, by the loop's close, or in a child of fork whose thread is not the loop's. A source that has
//        ended does not change the count or bell of the next source.
//   SG4  In a child of fork the bell is the child's own: neither process wakes the other. Signals counted before are
//        reported in the child, too.
//   SG5  While a signal has a source, the loop's thread does not block it. So it arrives even if all other threads
//        block it. The thread blocks it again when the source is removed, if it did before.
// Orderings
//   count, bell: relaxed, only the values matter. The write and read of the eventfd order the handler's earlier writes
//   before the loop's call of the source. The system call that sets the handler orders `bell`
// Assumes: eventfd and write(2) may be used in a signal handler (signal-safety(7)).
// Source: Bernstein's self-pipe, with a count, as in libuv and tokio. A signalfd was rejected: see source.h.
// Models: none, because the models have no interrupting handlers. Not modelled: SG1, SG2, SG3, SG4, SG5.

#include <CScheduler/source.h>

#include <CScheduler/lock.h>

#include "../base/panic.h"
#include "../platform/platform_sources.h"
#include "loop_fd_internal.h"
#include "loop_internal.h"

#include <errno.h>

enum { SIGNALS = 65 }; // signals 1 to 64

static struct { // one entry for each signal, by its number; the fields: see States
  uint32_t count, bell;
  csched_signal_source *source;
  csched_loop *loop;
} table[SIGNALS];
static csched_lock lock;     // guards `source`, `loop` and the signal's action
static csched_atfork atfork; // entry in the fork list

static void on_signal(int signal) {                   // SG2: the signal handler: no locks
  csched_fetch_add_relaxed(&table[signal].count, 1u); // SG1: before the ring, which reports it
  csched_os_wake_fd_signal_((int)csched_load_relaxed(&table[signal].bell) - 1); // SG1: after the count; wakes the loop
}

// Does: ends the source of `signal`: restores the signal's previous action, and unlinks the source. Requires: the lock.
static void release_signal(int signal) { // SG3: the action is restored when the source ends
  csched_os_signal_give_back_(signal, on_signal);
  table[signal].source = NULL;
}

// Does: in a child of fork, gives each signal a bell of its own, and ends the sources of loops that do not continue
// here.
static void signal_source_at_fork(csched_atfork *unused, csched_atfork_phase phase) {
  (void)unused;
  if (phase != CSCHED_ATFORK_IN_CHILD_FIRST) return;
  lock = (csched_lock)CSCHED_LOCK_INIT; // a thread of the parent may have locked it
  for (int i = 1; i < SIGNALS; i++) {
    uint32_t bell = csched_load_relaxed(&table[i].bell); // SG4: relaxed: the child has one thread
    if (bell == 0) continue;
    int error = csched_os_wake_fd_renew_((int)bell - 1);      // SG4: before the loops add the bell to new pollers
    if (error != 0) csched_store_relaxed(&table[i].bell, 0u); // SG4: closed by the failed call: opened again later
    if (table[i].source == NULL) continue;
    if (error != 0 || !csched_loop_is_on_thread(table[i].loop)) release_signal(i); // SG3: no bell or no loop
    else if (csched_load_relaxed(&table[i].count) != 0)
      csched_os_wake_fd_signal_((int)bell - 1); // SG4: else not reported
  }
}

// The `handler` of the bell's descriptor: calls the user's handler with the count of signals.
static void report_signals(csched_fd_source *fd, unsigned events) {
  (void)events;
  csched_signal_source *source = (csched_signal_source *)fd;
  uint32_t count = 0;
  csched_lock_lock(&lock);
  if (table[source->signal].source == source) { // SG3: else this source has ended
    csched_os_wake_fd_clear_(fd->fd);           // SG1: first: a signal after the read rings again
    count = csched_exchange_relaxed(&table[source->signal].count, 0u); // SG1: one step: loses no signal between
  }
  csched_lock_unlock(&lock);
  if (count > 0) source->handler(source, count); // without the lock: it may free or remove the source
}

// Does: restores the signal's action, unless `source` has ended already. `is_on_thread`: on the loop's thread, which
// also restores its mask.
static void end_signal_source(csched_signal_source *source, bool is_on_thread) {
  int signal = source->signal;
  csched_lock_lock(&lock);
  csched_signal_source *next = table[signal].source; // `source`, or one that was added since
  if (is_on_thread && source->was_blocked) {
    source->was_blocked = false;
    if (next != NULL && next != source && csched_loop_is_on_thread(table[signal].loop)) next->was_blocked = true;
    else csched_os_signal_block_(signal, true); // SG5: before the action is restored, which may end the process
  }
  if (next == source) release_signal(signal);
  csched_lock_unlock(&lock);
}

void csched_loop_unblock_signals_(csched_loop *loop) {
  csched_lock_lock(&lock);
  for (int i = 1; i < SIGNALS; i++)
    if (table[i].source != NULL && table[i].loop == loop)
      table[i].source->was_blocked |= csched_os_signal_block_(i, false); // SG5
  csched_lock_unlock(&lock);
}

static void signal_dropped(csched_fd_source *fd, int error) { // the `dropped` of the bell's descriptor
  csched_signal_source *source = (csched_signal_source *)fd;
  end_signal_source(source, csched_loop_is_on_thread(table[source->signal].loop));
  if (source->dropped != NULL) source->dropped(source, error);
}

void csched_signal_source_init(csched_signal_source *source, int signal,
                               void (*handler)(csched_signal_source *source, uint32_t count), void *context) {
  CSCHED_NEEDS_FUNCTION_(handler, "csched_signal_source_init");
  *source = (csched_signal_source){.handler = handler, .context = context, .signal = signal};
  csched_fd_source_init(&source->fd, -1, CSCHED_FD_READ, report_signals, NULL); // -1: claim_signal sets it
  source->fd.dropped = signal_dropped;
}

// Does: opens the signal's bell, or clears an open one. Returns: 0, and the bell's descriptor in `*fd`; or an errno
// value. Requires: the lock.
static int open_bell(int signal, int *fd) {
  uint32_t bell = csched_load_relaxed(&table[signal].bell); // ordered by the lock
  *fd = (int)bell - 1;
  if (bell != 0) {
    csched_os_wake_fd_clear_(*fd);
    return 0;
  }
  int error = csched_os_wake_fd_open_(fd);
  if (error == 0) csched_store_relaxed(&table[signal].bell, (uint32_t)*fd + 1); // SG2: before the handler is set
  return error;
}

// Does: makes `source` the source of its signal, unless it is that already, and installs on_signal. Returns: 0; EBUSY,
// ECANCELED or another errno value. Requires: the lock.
static int claim_signal(csched_loop *loop, csched_signal_source *source) {
  int signal = source->signal, fd;
  if (csched_load_relaxed(&source->fd.is_silent) != 0) return ECANCELED; // SG3: else it would keep the signal
  if (table[signal].source == source) return 0;                          // csched_loop_claim_signal_ was called
  if (table[signal].source != NULL) return EBUSY;                        // SG3: two sources would share one count
  int error = open_bell(signal, &fd);
  if (error != 0) return error;
  csched_store_relaxed(&table[signal].count, 0u); // SG3: the new source must not report signals of the previous one
  source->fd.fd = fd;
  error = csched_os_signal_take_(signal, on_signal);
  if (error != 0) return error;
  table[signal].source = source;
  table[signal].loop = loop;
  return 0;
}

int csched_loop_claim_signal_(csched_loop *loop, csched_signal_source *source) { // installs the signal handler
  if (source->signal <= 0 || source->signal >= SIGNALS) return EINVAL;
  csched_os_atfork_(&atfork, signal_source_at_fork); // a second call does nothing
  csched_lock_lock(&lock);
  int error = claim_signal(loop, source);
  csched_lock_unlock(&lock);
  return error;
}

// Does: installs the signal handler, and adds the bell's descriptor to the loop. Returns: 0; or an errno value: the
// signal keeps its action.
int csched_loop_add_signal(csched_loop *loop, csched_signal_source *source) {
  csched_loop_fds_(loop, "csched_loop_add_signal"); // called for its check: stops the process on another thread
  if (source->fd.owner != NULL) return EEXIST;
  int error = csched_loop_claim_signal_(loop, source);
  if (error != 0) return error;
  source->was_blocked = csched_os_signal_block_(source->signal, false); // SG5
  error = csched_loop_add_fd(loop, &source->fd);
  if (error != 0) end_signal_source(source, true); // undoes claim_signal
  return error;
}

void csched_loop_unregister_signal_(csched_loop *loop, csched_signal_source *source) {
  csched_loop_unregister_fd_(loop, &source->fd); // a later csched_loop_add_signal returns ECANCELED
  if (source->signal <= 0 || source->signal >= SIGNALS) return;
  end_signal_source(source, csched_loop_is_on_thread(loop));
}

int csched_loop_remove_signal(csched_loop *loop, csched_signal_source *source) {
  int error = csched_loop_remove_fd(loop, &source->fd);
  if (error != ENOENT) end_signal_source(source, true); // also after EBADF, which removes the descriptor, too
  return error;
}
