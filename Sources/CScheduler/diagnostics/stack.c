// Reads the call stack of another thread. The asker sends a signal, and the thread walks its own stack in the signal
// handler.
// States of request.word, a futex
//   IDLE                    no thread is asked
//   number << 2 | ASKED     the thread with this system number is asked for its stack
//   number << 2 | FILLING   the handler on that thread writes `addresses`
//   DONE                    `addresses` are complete
// Invariants
//   SK1  A handler writes `addresses` only after it has changed ASKED to FILLING. Then the asker waits for DONE. So a
//       handler whose signal arrives late, or at another thread, writes nothing.
//   SK2  The handler takes no lock, allocates nothing, and preserves errno.
//   SK3  The handler stays installed. A signal that a thread has blocked arrives later, and would end the process if
//        there were no handler.
// Orderings
//   word: release of DONE, pairs with the asker's acquire, carries `addresses`
// Assumes: the unwinder takes no lock that the interrupted thread may own. With gcc 12 and glibc 2.35 or later it takes
//   none; older unwinders take the loader's recursive lock. Rejected: _Unwind_Backtrace, which links each program with
//   libgcc_s.
// Source: the stack dumps of Java's and Go's runtimes.
// Models: none. Not modelled: SK1, SK2, SK3.

#include <CScheduler/lock.h>
#include <CScheduler/watch.h>
#include "../platform/platform.h"
#include "../platform/platform_sources.h"
#include "watch_internal.h"
#include <errno.h>

enum { IDLE, ASKED, FILLING, DONE, STATE = 3 };       // STATE: mask of the two low bits of `word`, which are the state
enum { MOST = 32 };                                   // most addresses of one stack
static const csched_time REQUEST_TIMEOUT = 100000000; // ns: how long the asker waits until the handler starts to write

static csched_lock changing; // serialises calls of csched_watch_stacks
static uint64_t installed;   // the signals whose handler is `answer_request`, by bit; guarded by `changing`
static csched_atfork atfork; // calls stacks_at_fork

static struct {
  uint32_t word;             // futex: IDLE, DONE, or the asked thread's number << 2 | ASKED or FILLING
  int32_t signal;            // sent to the asked thread; 0: csched_watch_stacks is off
  int count;                 // of `addresses`
  uintptr_t addresses[MOST]; // of the calls, the innermost first
} request;

// Does: if this thread is asked, writes its stack to `addresses`, and wakes the asker.
static void answer_request(int signal) { // SK2: the signal handler: no locks, no allocation
  uint32_t asked = csched_os_thread_id_() << 2 | ASKED;
  (void)signal;
  if (!csched_cas_acquire(&request.word, &asked, (asked & ~(uint32_t)STATE) | FILLING)) return; // SK1: not asked now
  request.count = csched_os_backtrace_(request.addresses, MOST);
  csched_store_release(&request.word, (uint32_t)DONE); // SK1: pairs with request_stack's acquire, publishes addresses
  csched_futex_wake_(&request.word, 1);
}

// Does: sends `signal` to `thread`, and waits until `addresses` are complete. Returns: false: the system refuses the
// signal, or its handler does not start within REQUEST_TIMEOUT. Thread: the watchdog's.
static bool request_stack(uint32_t thread, int signal) {
  uint32_t asked = thread << 2 | ASKED, word = asked;
  csched_time end = csched_now() + REQUEST_TIMEOUT;
  csched_store_relaxed(&request.word, asked); // SK1: the previous request is over, so no handler writes now
  // If the system refuses the signal, withdraws the request. An earlier signal of the thread may arrive late, so
  // FILLING is possible.
  bool is_sent = csched_os_thread_signal_(thread, signal);
  if (!is_sent && csched_cas_acquire(&request.word, &word, (uint32_t)IDLE))
    return false;                                               // SK1: withdraws it; fails if a handler is FILLING
  while ((word = csched_load_acquire(&request.word)) != DONE) { // SK1: pairs with answer_request's release
    if (word == asked && csched_now() >= end &&
        csched_cas_acquire(&request.word, &word, (uint32_t)IDLE)) // SK1: withdraws it; fails if FILLING
      return false;
    csched_futex_wait_(&request.word, word, word == asked ? end : CSCHED_FOREVER); // FILLING: DONE follows soon
  }
  return true;
}

void csched_stack_add_(csched_text *text, uint32_t thread) { // adds a line for each call of `thread`, or nothing
  int signal = csched_load_relaxed(&request.signal);         // SK3: if not 0, its handler is installed
  if (signal == 0 || thread == 0 || !request_stack(thread, signal)) return;
  for (int i = 0; i < request.count; i++) {
    char name[240];
    csched_os_code_name_(request.addresses[i], name, sizeof name);
    csched_os_demangle_(name, sizeof name);
    csched_text_add_(text, i == 0 ? "  in " : "  called by ");
    csched_text_add_(text, name);
    csched_text_add_(text, "\n");
  }
}

static void stacks_at_fork(csched_atfork *unused, csched_atfork_phase phase) {
  (void)unused;
  if (phase != CSCHED_ATFORK_IN_CHILD_FIRST) return;
  changing = (csched_lock)CSCHED_LOCK_INIT;
  request.word = IDLE; // the child has neither the asker nor the asked thread
}

// Does: installs the handler `answer_request` for `signal`, unless that was done before, or `signal` is 0. Returns: 0
// or an errno value.
static int install_locked(int signal) {
  uint64_t bit = signal > 0 && signal <= 64 ? (uint64_t)1 << (signal - 1) : 0;
  if (signal == 0 || (installed & bit) != 0) return 0;
  int error = csched_os_backtrace_prepare_(); // loads the unwinder, which the handler must not do
  if (error == 0) error = csched_os_signal_take_(signal, answer_request);
  if (error == 0) installed |= bit; // SK3: never uninstalled
  return error;
}

int csched_watch_stacks(int signal) {
  csched_os_atfork_(&atfork, stacks_at_fork);
  csched_lock_lock(&changing);
  int error = install_locked(signal);
  if (error == 0) csched_store_relaxed(&request.signal, (int32_t)signal); // SK3: after the handler, is installed
  csched_lock_unlock(&changing);
  return error;
}
