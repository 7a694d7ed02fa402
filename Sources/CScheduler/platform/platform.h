// The port: everything the core asks of the system, in one page of more than 120 lines. linux*.c, darwin*.c and posix.c implement
// it; a model checker may too.
// Depends on: base.h.
#pragma once

#include <CScheduler/atomic.h>

/// Who observes (observe_internal.h). It is the port's, because programs that attach to its probes have the system count themselves in the low 16 bits. Unless
/// it is 0, the port tells of each futex call before it makes it.
extern CSCHED_HIDDEN uint32_t csched_observed_;
void csched_observe_system_call_(void);
static inline void csched_os_calls_(void) {
  if (CSCHED_UNLIKELY(csched_is_set(&csched_observed_))) csched_observe_system_call_(); // Speed only
}

/// Static probes for programs such as perf, bpftrace and SystemTap: nothing, where the system has none. `code`: what the job calls.
void csched_os_probe_submit_(const void *target, const void *job, uintptr_t code);
void csched_os_probe_run_(const void *job, uintptr_t code);
void csched_os_probe_ran_(const void *job, bool has_run);
void csched_os_probe_drop_(const void *job, int reason);

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
  const char *function;
} csched_poller;

enum { CSCHED_POLLER_READ = 1, CSCHED_POLLER_WRITE = 2, CSCHED_POLLER_EDGE = 4 };

typedef struct csched_poller_event {
  uint64_t tag;
  unsigned events; ///< READ, WRITE; both after an error, asked for or not
} csched_poller_event;

/// Does: makes a poller. `function` is who is named when the system refuses it something later: that stops the process with a message,
/// as does a descriptor of it that somebody has closed or replaced. Returns: 0 or an errno value, with nothing left behind.
int csched_poller_open_(csched_poller *poller, const char *function);
void csched_poller_close_(const csched_poller *poller);

/// Does: parts from the process that this one was forked from: closes, and opens under the same number. Returns: as open; what has
/// failed can be tried again, and until then the number is not given to anything else.
int csched_poller_renew_(csched_poller *poller);

/// Does: makes `next` a poller with the wake and the alarm of `poller`, and no descriptors. Returns: as open.
int csched_poller_open_again_(const csched_poller *poller, csched_poller *next);
/// Does: puts `next`, made so, in the place of `poller`, under its number, and wakes it: a wake of the old one may have come to nothing.
void csched_poller_replace_(csched_poller *poller, csched_poller *next);

/// Does: stops the process if the poller's descriptor has come to stand for something else. For when it tells of what is not its own.
void csched_poller_check_(const csched_poller *poller);

/// Does: ends this wait, or the next. Once it has, it is over. Thread: any; no point of cancellation.
/// Returns: 0, or an errno value, for csched_poller_refused_ unless the poller is being closed.
int csched_poller_wake_(const csched_poller *poller);
void csched_poller_refused_(const csched_poller *poller, int error) CSCHED_NORETURN;

/// Does: lets the wait end at `deadline`, and no longer at an earlier one; CSCHED_FOREVER at none. Once it has, it is over.
void csched_poller_arm_(csched_poller *poller, csched_time deadline);

/// Does: waits for `events` of `fd` in place of `before`; 0 is not at all. Returns: 0 or an errno value.
int csched_poller_set_(csched_poller *poller, int fd, unsigned before, unsigned events, uint64_t tag);

/// Does: waits, if `blocks`, for a wake, the alarm, or a descriptor. Returns: how many descriptors have events, `most` at the most.
/// It may be 0, for a wake, the alarm, or nothing.
int csched_poller_wait_(csched_poller *poller, csched_poller_event *events, int most, bool blocks);

/// Asymmetric fences: a light and a heavy one together order like two full fences. The light one costs nothing where the
/// kernel lets the heavy one interrupt every other processor that runs this process (membarrier). Which it is, is settled once for the
/// process, by the first who asks, which may be before the library's constructors; until then the light one is a full one.
extern uint32_t csched_has_membarrier_;
bool csched_settle_fences_(void); ///< returns: whether the light one costs nothing
void csched_fence_heavy_(void);
static inline void csched_fence_light_(void) {
  if (CSCHED_LIKELY(csched_load_relaxed(&csched_has_membarrier_))) csched_fence_compiler();
  else csched_fence_full();
}

/// Returns: how many processors this process may use now, by its affinity and its quota, at least 1. It may read files.
unsigned csched_cpu_count_(void);

/// Which processors the threads of this process may use, as far as has been looked: 0 not at all, MANY, or else 1 + the only one.
enum { CSCHED_PROCESSORS_MANY_ = UINT32_MAX >> 1 };
extern uint32_t csched_processors_seen_;
/// Does: adds the affinity of the calling thread, unless they are MANY already. At its first lock, and when it begins a loop. No file is read.
void csched_processors_look_(void);
bool csched_processors_look_again_(void); ///< now and then, because affinities change; returns: whether they are MANY
/// Returns: whether two threads of this process can run at once, so that one may spin for the other.
static inline bool csched_may_spin_(void) {
  return CSCHED_LIKELY(csched_load_relaxed(&csched_processors_seen_) == CSCHED_PROCESSORS_MANY_) || // Speed only
         csched_processors_look_again_();
}

/// Does: sleeps for `span` nanoseconds.
void csched_nap_(csched_time span);

/// A thread as the system knows it; all but `handle` is for its beginning, which takes no memory that way.
typedef struct csched_os_thread {
  uintptr_t handle;
  void (*body)(void *);
  void *context;
  bool is_raised; ///< whoever starts it is: see csched_os_thread_set_nice_
  int nice;
} csched_os_thread;

/// Does: starts a joinable thread that calls `body(context)`. Returns: 0 or an errno value. `stack_size` 0 is the default.
/// Requires: `*thread` stays where it is until `body` is called.
int csched_os_thread_start_(csched_os_thread *thread, size_t stack_size, void (*body)(void *), void *context);
void csched_os_thread_join_(csched_os_thread thread);
void csched_os_thread_detach_(csched_os_thread thread);

/// Returns: how many threads that csched_os_thread_start_ has started are not over.
size_t csched_os_thread_count_(void);
/// Does: leaves the calling thread out of that from now on, as one that only observes.
void csched_os_thread_leave_count_(void);

/// Returns: the least stack that a thread may have, in bytes.
size_t csched_os_thread_least_stack_(void);

/// The signals that a thread takes.
typedef struct csched_os_signals {
  uint64_t words[16];
} csched_os_signals;

/// Does: keeps signals from the calling thread, but those that tell of its own faults, and so from the threads that it starts.
void csched_os_signals_block_(csched_os_signals *before);
void csched_os_signals_restore_(const csched_os_signals *before);
/// Does: writes where the calling thread's own stack lies, from `low` up to `high`, whatever stack the thread is on at the moment; 0 and 0
/// when the system does not tell. It opens no file.
void csched_os_stack_(uintptr_t *low, uintptr_t *high);

/// Does: asks the system to wake the calling thread at its deadlines, and no later.
void csched_os_thread_be_punctual_(void);

/// Does: calls `body(context)`, then `finally(context)`, also when the thread ends (pthread_exit, cancellation) inside `body`.
void csched_os_finally_(void (*body)(void *), void (*finally)(void *), void *context);

/// Does: keeps the calling thread to these processors, and no others. Returns: 0; EINVAL when it cannot have one of them; ENOTSUP.
int csched_os_thread_keep_to_(const unsigned *processors, size_t count);
/// Does: gives the calling thread a csched_thread_policy (thread.h) other than the default. Returns: 0, EINVAL, EPERM, EACCES, ENOTSUP.
enum { CSCHED_OS_POLICY_NICE = 1, CSCHED_OS_POLICY_FIFO, CSCHED_OS_POLICY_ROUND_ROBIN };
int csched_os_thread_set_policy_(unsigned policy, int priority);

/// Does: names the calling thread; the name is at most 15 bytes.
void csched_os_thread_set_name_(const char *name);

/// Returns: the system's number for the calling thread, never 0.
uint32_t csched_os_thread_id_(void);

/// Returns: the processor time that thread `id` of this process has used, in nanoseconds; 0 when it is gone.
csched_time csched_os_thread_processor_time_(uint32_t id);

/// Returns: whether thread `id` of this process runs, or would if it had a processor; false where the system does not say, or where
/// system calls are filtered, so that to ask may end the process.
bool csched_os_thread_is_ready_(uint32_t id);

/// Does: writes the calling thread's nice value. Returns: whether a thread may raise its value and lower it again.
bool csched_os_thread_has_nice_(int *nice);
/// Does: sets the calling thread's nice value; above `base` only if it may come back to that at this moment. Threads that it starts by
/// csched_os_thread_start_ meanwhile begin at `base`. Returns: whether it has that value now.
bool csched_os_thread_set_nice_(int nice, int base);
int csched_os_thread_nice_(void);
/// Does: sets the value of `thread`, if it has been set above its base by the function before, to that base, where the calling thread has not
/// been set above its own. Until it sets its value itself; is_lifted tells whether that is why. Requires: `thread` is one of this process.
void csched_os_thread_lift_(uint32_t thread);
bool csched_os_thread_is_lifted_(uint32_t thread);
/// Returns: whether the calling thread's value has been set above its base, and writes that.
bool csched_os_thread_is_raised_(int *base);

/// Returns: whether thread `id` is one of this process.
bool csched_os_thread_exists_(uint32_t id);
/// Returns: whether it runs no more; the caller then sees what it did.
bool csched_os_thread_has_ended_(uint32_t id);

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

/// Returns: zeroed memory from the system itself, or NULL. For what a thread takes where it may be the first of its memory: the C library
/// would then make room for the thread, and open a file for that (glibc: to count the processors).
void *csched_os_memory_take_(size_t size);
void csched_os_memory_give_(void *memory, size_t size);
/// Returns: `size` zeroed bytes at a multiple of `size`, a power of two and of the pages' size, or NULL. They stay for ever, and tools that
/// look for leaks find what they hold.
void *csched_os_pages_take_(size_t size);
void csched_os_leaks_look_into_(void *memory, size_t size);
/// Does: gives up what the pages hold, which read as zero from then on, unless they are locked. Thread: any; others may read them meanwhile.
void csched_os_pages_empty_(void *pages, size_t size);
/// Returns: the size of a page, a power of two.
size_t csched_os_page_size_(void);

/// The instants of a fork. In the child only the forking thread is left; there are three for it, and all are told of one before the
/// first is told of the next. Nobody locks or unlocks in the first: other threads' sleepers are still written down.
typedef enum csched_atfork_phase {
  CSCHED_ATFORK_BEFORE,
  CSCHED_ATFORK_IN_PARENT,
  CSCHED_ATFORK_IN_CHILD_FIRST,
  CSCHED_ATFORK_IN_CHILD,
  CSCHED_ATFORK_IN_CHILD_LAST,
} csched_atfork_phase;

/// Something that is told of each fork of the process, on the forking thread; it lives in what that is done for. All zero at first.
typedef struct csched_atfork {
  struct csched_atfork *next, **back;
  void (*told)(struct csched_atfork *atfork, csched_atfork_phase phase);
} csched_atfork;

/// Does: calls `told` at each fork from now on, until csched_os_atfork_end_; once is enough. Requires: `told` ends none. Thread: any.
void csched_os_atfork_(csched_atfork *atfork, void (*told)(csched_atfork *atfork, csched_atfork_phase phase));
void csched_os_atfork_end_(csched_atfork *atfork);
/// Does: shows each of them to `visit`, newest first, while none can come, go, or be told, until `visit` returns false; `mark` then keeps the
/// place, from which the next call goes on with that one. Returns: whether it was left so. Requires: `visit` does not block; the calling
/// thread has taken a lock before. `mark`, all zero at first, stays where it is, also in a child; its `told` may be anything.
bool csched_os_atfork_visit_(csched_atfork *mark, bool (*visit)(csched_atfork *atfork, void *context), void *context);

/// Returns: the number of this process.
uint32_t csched_os_process_id_(void);

/// What handles a signal; the port's.
typedef struct csched_os_handler {
  uint64_t words[32];
} csched_os_handler;
/// Does: has `handler` called at each `signal`, on the thread's other stack if it has one. Returns: 0 or an errno value.
int csched_os_handle_signal_(int signal, void (*handler)(int signal), csched_os_handler *before);
void csched_os_handle_signal_as_before_(int signal, const csched_os_handler *before);

/// Does: copies `size` bytes of this process, which others may be changing or giving back meanwhile. Returns: whether it could; false where the
/// system does not let it. Thread: any, a signal handler, too.
bool csched_os_peek_(void *copy, const void *memory, size_t size);
/// Does: writes what is at the address of code: the name of a function, or the name of the file and the offset in it. It may take locks
/// of the C library.
void csched_os_code_name_(uintptr_t address, char *name, size_t size);
/// Does: writes the name of the function at that address of the program or library `path`, from its table of symbols. Returns: whether it has one.
bool csched_os_code_in_file_(const char *path, uint64_t address, char *name, size_t size);
/// Does: makes a name of Swift's readable, in place, where the program has Swift's runtime. It allocates.
void csched_os_demangle_(char *name, size_t size);
/// Does: writes all of it to `fd`; no point of cancellation. Returns: 0 or an errno value. Thread: any, a signal handler, too.
int csched_os_write_(int fd, const char *text, size_t size);

/// Returns: 0 when 4096 bytes can be written to `fd` without waiting for a reader for longer than 100 ms; else EAGAIN.
int csched_os_can_write_(int fd);

/// Does: opens the file for a trace, for writing, and empties it: readable for its owner only. Returns: 0, or an errno value: ELOOP for a link, EPERM for what
/// is no plain file of this user's.
int csched_os_trace_open_(const char *path, int *fd);

/// Does: closes `fd`; no point of cancellation.
void csched_os_close_(int fd);

/// Does: writes `text` to standard error.
void csched_os_say_(const char *text);
/// Does: the same, and aborts.
void csched_os_abort_(const char *text) CSCHED_NORETURN;
/// Does: the same with a message about a call that the system has refused, which it does not do by itself.
void csched_os_refused_(const char *function, const char *call, int error, const char *advice) CSCHED_NORETURN;
