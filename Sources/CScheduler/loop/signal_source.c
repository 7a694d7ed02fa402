// Signals as sources of a loop: the signal handler counts, and writes to an eventfd (the bell), which wakes the loop.
//
// States, for each signal
//   count      how often the signal has arrived since the loop was last notified
//   bell       1 + the eventfd that the handler writes to, which stays open as long as the process; 0: none yet
//   source     which source is notified, and `loop`, on whose thread; under `lock`
//
// Invariants
//   SG1  A signal that has arrived is reported: the handler counts before it writes to the bell, the loop clears the bell before it takes the count.
//   SG2  The handler touches only the two words and the bell, because it may run on any thread, inside any function. The bell is never closed
//        in the process that opened it, so a late handler writes to a bell that no source waits for.
//   SG3  A signal has one source. Its action is restored when the source ends: by removal, by another thread that silences it, by the loop's
//        close, or in a child of fork whose thread is not the loop's. A source that has ended takes nothing from the next one's count or bell.
//   SG4  In a child of fork the bell is the child's own: neither process wakes the other. Signals counted before are reported in the child, too.
// Orderings
//   count, bell: relaxed, only the values matter. The bell carries what the thread did before the signal: the handler writes it, the loop reads
//   it. `bell` itself is carried by the system call that sets the handler
// Assumes: eventfd and write(2) may be used in a signal handler (signal-safety(7)).
// Source: Bernstein's self-pipe, with a count, as in libuv and tokio. A signalfd was rejected: see source.h.
// Checked by: "a signal is reported to its loop, and its action put back", "a signal that has a handler already is refused",
//   "signals during the loop's check are all reported",
//   "a signal that another thread gives up can be taken by another loop at once", "a signal in a child of fork is the child's",
//   "signals for one source are not reported to the next one".
// Models: none, because the models have no interrupting handlers. Not modelled: SG1, SG2, SG3, SG4.

#include <CScheduler/source.h>

#include <CScheduler/lock.h>

#include "../platform/platform_sources.h"
#include "loop_fd_internal.h"
#include "loop_internal.h"

#include <errno.h>

enum { SIGNALS = 65 };

static struct {
  uint32_t count, bell;
  csched_signal_source *source;
  csched_loop *loop;
} table[SIGNALS];
static csched_lock lock;
static csched_atfork atfork;

static void caught(int signal) {                                           // SG2: the signal handler
  csched_fetch_add_relaxed(&table[signal].count, 1u);                      // SG1: count first
  csched_os_bell_ring_((int)csched_load_relaxed(&table[signal].bell) - 1); // SG2: write
}

static void release_signal(int signal) { // SG3: under the lock
  csched_os_signal_give_back_(signal, caught);
  table[signal].source = NULL;
}

static void signal_source_at_fork(csched_atfork *unused, csched_atfork_phase phase) {
  (void)unused;
  if (phase != CSCHED_ATFORK_IN_CHILD_FIRST) return;
  lock = (csched_lock)CSCHED_LOCK_INIT;
  for (int i = 1; i < SIGNALS; i++) {
    uint32_t bell = csched_load_relaxed(&table[i].bell); // SG4: the child has one thread
    if (bell == 0) continue;
    int error = csched_os_bell_renew_((int)bell - 1);         // SG4: before the loop opens its poller again
    if (error != 0) csched_store_relaxed(&table[i].bell, 0u); // SG4: the child has one thread
    if (table[i].source == NULL) continue;
    if (error != 0 || !csched_loop_is_on_thread(table[i].loop)) release_signal(i);           // SG3: restore
    else if (csched_load_relaxed(&table[i].count) != 0) csched_os_bell_ring_((int)bell - 1); // SG4: report
  }
}

static void came(csched_fd_source *fd, unsigned events) {
  (void)events;
  csched_signal_source *source = (csched_signal_source *)fd;
  uint32_t count = 0;
  csched_lock_lock(&lock);
  if (table[source->signal].source == source) {                        // SG3: not ended
    csched_os_bell_quiet_(fd->fd);                                     // SG1: clear first
    count = csched_exchange_relaxed(&table[source->signal].count, 0u); // SG1: then take
  }
  csched_lock_unlock(&lock);
  if (count > 0) source->handler(source, count); // it may free the source
}

static void give_up_signal(csched_signal_source *source) {
  csched_lock_lock(&lock);
  if (table[source->signal].source == source) release_signal(source->signal);
  csched_lock_unlock(&lock);
}

static void signal_dropped(csched_fd_source *fd, int error) {
  csched_signal_source *source = (csched_signal_source *)fd;
  give_up_signal(source);
  if (source->dropped != NULL) source->dropped(source, error);
}

void csched_signal_source_init(csched_signal_source *source, int signal,
                               void (*handler)(csched_signal_source *source, uint32_t count), void *context) {
  *source = (csched_signal_source){.handler = handler, .context = context, .signal = signal};
  csched_fd_source_init(&source->fd, -1, CSCHED_FD_READ, came, NULL);
  source->fd.dropped = signal_dropped;
}

// Returns: 0, and the signal's bell in `*fd`; or an errno value. Requires: the lock.
static int open_bell(int signal, int *fd) {
  uint32_t bell = csched_load_relaxed(&table[signal].bell); // ordered by the lock
  *fd = (int)bell - 1;
  if (bell != 0) {
    csched_os_bell_quiet_(*fd);
    return 0;
  }
  int error = csched_os_bell_open_(fd);
  if (error == 0) csched_store_relaxed(&table[signal].bell, (uint32_t)*fd + 1); // SG2: never closed
  return error;
}

// Requires: the lock.
static int take_signal(csched_loop *loop, csched_signal_source *source) {
  int signal = source->signal, fd;
  if (csched_load_relaxed(&source->fd.is_silent) != 0) return ECANCELED; // SG3: silenced before this lock was taken
  if (table[signal].source != NULL) return EBUSY;                        // SG3: one source
  int error = open_bell(signal, &fd);
  if (error != 0) return error;
  csched_store_relaxed(&table[signal].count, 0u); // SG1: signals of the previous source do not count
  source->fd.fd = fd;
  error = csched_os_signal_take_(signal, caught);
  if (error != 0) return error;
  table[signal].source = source;
  table[signal].loop = loop;
  return 0;
}

int csched_loop_add_signal(csched_loop *loop, csched_signal_source *source) {
  csched_loop_fds_(loop, "csched_loop_add_signal");
  if (source->fd.owner != NULL) return EEXIST;
  if (source->signal <= 0 || source->signal >= SIGNALS) return EINVAL;
  csched_os_atfork_(&atfork, signal_source_at_fork);
  csched_lock_lock(&lock);
  int error = take_signal(loop, source);
  csched_lock_unlock(&lock);
  if (error != 0) return error;
  error = csched_loop_add_fd(loop, &source->fd);
  if (error != 0) give_up_signal(source);
  return error;
}

void csched_loop_silence_signal_(csched_loop *loop, csched_signal_source *source) {
  csched_loop_silence_fd_(loop, &source->fd); // a later add returns ECANCELED
  if (source->signal <= 0 || source->signal >= SIGNALS) return;
  give_up_signal(source);
}

int csched_loop_remove_signal(csched_loop *loop, csched_signal_source *source) {
  int error = csched_loop_remove_fd(loop, &source->fd);
  if (error != ENOENT) give_up_signal(source);
  return error;
}
