// The port: everything the core asks of the system, in one page of more than 120 lines. linux*.c, darwin*.c and posix.c implement
// it; a model checker may too.
// Depends on: base.h.
#pragma once

#include <CScheduler/atomic.h>

/// How a futex wait ended. All but WOKEN and TIMED_OUT mean "look again"; a WOKEN may be stray.
typedef enum csched_futex_result {
  CSCHED_FUTEX_WOKEN,
  CSCHED_FUTEX_CHANGED,
  CSCHED_FUTEX_INTERRUPTED,
  CSCHED_FUTEX_TIMED_OUT,
} csched_futex_result;

/// Does: sleeps while `*word == expected`, until woken or `deadline`.
csched_futex_result csched_futex_wait_(uint32_t *word, uint32_t expected, csched_time deadline);

/// Does: wakes up to `count` sleepers on `word`. The address may be stale: it is a name here, not memory to be read.
void csched_futex_wake_(uint32_t *word, int count);

/// What a loop sleeps on that has descriptors to wait for, or a host. The fields but `fd` are the port's.
typedef struct csched_poller {
  int fd; ///< can itself be waited for: readable when csched_poller_wait_ would not block
  int wake, alarm;
  csched_time armed;
} csched_poller;

enum { CSCHED_POLLER_READ = 1, CSCHED_POLLER_WRITE = 2, CSCHED_POLLER_EDGE = 4 };

typedef struct csched_poller_event {
  uint64_t tag;
  unsigned events; ///< READ, WRITE; both after an error, asked for or not
} csched_poller_event;

/// Does: makes a poller. Returns: 0 or an errno value, with nothing left behind.
int csched_poller_open_(csched_poller *poller);
void csched_poller_close_(csched_poller *poller);

/// Does: parts from the process that this one was forked from: closes, and opens under the same number. Returns: as open.
int csched_poller_renew_(csched_poller *poller);

/// Does: ends this wait, or the next. Once it has, it is over. Thread: any; no point of cancellation.
void csched_poller_wake_(const csched_poller *poller);

/// Does: lets the wait end at `deadline`, and no longer at an earlier one; CSCHED_FOREVER at none. Once it has, it is over.
void csched_poller_arm_(csched_poller *poller, csched_time deadline);

/// Does: waits for `events` of `fd` in place of `before`; 0 is not at all. Returns: 0 or an errno value.
int csched_poller_set_(csched_poller *poller, int fd, unsigned before, unsigned events, uint64_t tag);

/// Does: waits, if `blocks`, for a wake, the alarm, or a descriptor. Returns: how many descriptors have events, `most` at the most.
/// It may be 0, for a wake, the alarm, or nothing.
int csched_poller_wait_(csched_poller *poller, csched_poller_event *events, int most, bool blocks);

/// Asymmetric fences: a light and a heavy one together order like two full fences. The light one costs nothing where the
/// kernel lets the heavy one interrupt every other processor that runs this process (membarrier).
extern uint32_t csched_has_membarrier_;
void csched_fence_heavy_(void);
static inline void csched_fence_light_(void) {
  if (CSCHED_LIKELY(csched_has_membarrier_)) csched_fence_compiler();
  else csched_fence_full();
}

/// Returns: how many processors this process may use now, at least 1.
unsigned csched_cpu_count_(void);

/// Does: sleeps for `span` nanoseconds.
void csched_nap_(csched_time span);

/// A thread as the system knows it.
typedef struct csched_os_thread {
  uintptr_t handle;
} csched_os_thread;

/// Does: starts a joinable thread that calls `body(context)`. Returns: 0 or an errno value. `stack_size` 0 is the default.
int csched_os_thread_start_(csched_os_thread *thread, size_t stack_size, void (*body)(void *), void *context);
void csched_os_thread_join_(csched_os_thread thread);
void csched_os_thread_detach_(csched_os_thread thread);

/// Returns: how many threads that csched_os_thread_start_ has started are not over.
size_t csched_os_thread_count_(void);

/// Returns: the least stack that a thread may have, in bytes.
size_t csched_os_thread_least_stack_(void);

/// Does: writes where the calling thread's own stack lies, from `low` up to `high`, whatever stack the thread is on at the moment; 0 and 0
/// when the system does not tell. It opens no file.
void csched_os_stack_(uintptr_t *low, uintptr_t *high);

/// Does: asks the system to wake the calling thread at its deadlines, and no later.
void csched_os_thread_be_punctual_(void);

/// Does: calls `body(context)`, then `finally(context)`, also when the thread ends (pthread_exit, cancellation) inside `body`.
void csched_os_finally_(void (*body)(void *), void (*finally)(void *), void *context);

/// Does: names the calling thread; the name is at most 15 bytes.
void csched_os_thread_set_name_(const char *name);

/// Returns: the system's number for the calling thread.
uint32_t csched_os_thread_id_(void);

/// Returns: the processor time that thread `id` of this process has used, in nanoseconds; 0 when it is gone.
csched_time csched_os_thread_processor_time_(uint32_t id);

/// Returns: whether thread `id` of this process runs, or would if it had a processor; false where the system does not say.
bool csched_os_thread_is_ready_(uint32_t id);

/// Does: writes the calling thread's nice value. Returns: whether a thread may raise its value and lower it again.
bool csched_os_thread_has_nice_(int *nice);
/// Does: sets the calling thread's nice value.
void csched_os_thread_set_nice_(int nice);

/// Returns: whether thread `id` is one of this process.
bool csched_os_thread_exists_(uint32_t id);

/// Returns: whether the calling thread is the one that the process began with; in a child of fork, the one that forked.
bool csched_os_is_main_thread_(void);

/// Does: writes the name of thread `id` of this process into `name`, "?" when it is gone.
void csched_os_thread_get_name_(uint32_t id, char *name, size_t size);

/// Thread-specific data: a value per thread whose destructor runs when the thread ends.
typedef struct csched_tsd {
  uint32_t state; ///< 0 not yet made, 1 being made, 2 made
  uint32_t key;
} csched_tsd;

/// Does: sets this thread's value of `tsd`, made at first use with `destructor`. Returns: 0 or an errno value.
int csched_tsd_set_(csched_tsd *tsd, void *value, void (*destructor)(void *));

/// The moments of a fork. In the child only the forking thread is left; there are three for it, and all are told of one before the
/// first is told of the next. Nobody locks or unlocks in the first: other threads' sleepers are still written down.
typedef enum csched_fork_phase {
  CSCHED_FORK_BEFORE,
  CSCHED_FORK_IN_PARENT,
  CSCHED_FORK_IN_CHILD_FIRST,
  CSCHED_FORK_IN_CHILD,
  CSCHED_FORK_IN_CHILD_LAST,
} csched_fork_phase;

/// Something that is told of forks, on the forking thread; it lives in what it watches over. All zero, but `told`, at first.
typedef struct csched_fork_watch {
  struct csched_fork_watch *next, **back;
  void (*told)(struct csched_fork_watch *watch, csched_fork_phase phase);
} csched_fork_watch;

/// Does: tells `watch` of each fork from now on; once is enough. Requires: `told` unwatches nothing. Thread: any.
void csched_os_watch_forks_(csched_fork_watch *watch);
void csched_os_unwatch_forks_(csched_fork_watch *watch);

/// Does: writes `text` to standard error and aborts.
void csched_os_abort_(const char *text) CSCHED_NORETURN;
