// The platform layer: everything that the core needs from the system. linux*.c, darwin*.c and posix*.c implement it, and so does the model checker.
// Depends on: base.h.
#pragma once

#include <CScheduler/atomic.h>

/// The observers in use (observed.h); 0: none. The word is defined here because the kernel counts attached probe programs in its low 16 bits.
/// Unless the word is 0, the platform layer calls csched_os_on_call_ before each futex call, so that an observer counts system calls.
extern CSCHED_HIDDEN uint32_t csched_observed_;
extern CSCHED_HIDDEN void (*csched_os_on_call_)(void); ///< set when the library is loaded
static inline void csched_os_calls_(void) {
  bool is_observed = CSCHED_UNLIKELY(csched_is_set(&csched_observed_)); // Speed only
  if (is_observed && csched_os_on_call_ != NULL) csched_os_on_call_();
}

/// Static probes for perf, bpftrace and SystemTap; empty where the system has none. `code`: the function that the job calls.
void csched_os_probe_submit_(const void *target, const void *job, uintptr_t code);
void csched_os_probe_run_(const void *job, uintptr_t code);
void csched_os_probe_ran_(const void *job, bool has_run);
void csched_os_probe_drop_(const void *job, int reason);

/// How a futex wait ended. CHANGED: the word was not the expected value. INTERRUPTED: by a signal. WOKEN may be spurious: check the word again.
typedef enum csched_futex_result {
  CSCHED_FUTEX_WOKEN,
  CSCHED_FUTEX_CHANGED,
  CSCHED_FUTEX_INTERRUPTED,
  CSCHED_FUTEX_TIMED_OUT,
} csched_futex_result;

/// Does: if `*word == expected`, sleeps until csched_futex_wake_ or `deadline` (of csched_now).
csched_futex_result csched_futex_wait_(uint32_t *word, uint32_t expected, csched_time deadline);

/// Does: wakes up to `count` sleepers on `word`. The memory may be freed: it is not read.
void csched_futex_wake_(uint32_t *word, int count);

/// What a loop's thread sleeps on if the loop waits for descriptors, or has a host: an epoll set or a kqueue. Only `fd` is for callers.
typedef struct csched_poller {
  int fd;               ///< can be polled itself: readable when csched_poller_wait_ would not block
  int wake, alarm;      ///< descriptors for csched_poller_wake_ and csched_poller_arm_; -1: none
  csched_time armed;    ///< the alarm's deadline; CSCHED_FOREVER: none
  const char *function; ///< public function that messages name
} csched_poller;

enum { CSCHED_POLLER_READ = 1, CSCHED_POLLER_WRITE = 2, CSCHED_POLLER_EDGE = 4 };

typedef struct csched_poller_event {
  uint64_t tag;    ///< argument of csched_poller_set_ for this descriptor
  unsigned events; ///< READ, WRITE; after an error of the descriptor both, even if not requested
} csched_poller_event;

/// Does: makes a poller. Later, the process stops with a message that names `function` if the system refuses a call, or other code has closed or
/// replaced a descriptor of the poller. Returns: 0, or an errno value and no open descriptor.
int csched_poller_open_(csched_poller *poller, const char *function);
void csched_poller_close_(const csched_poller *poller);

/// Does: in a child of fork, replaces the poller, which the parent shares, by a new one without descriptors, under the same number. Returns: 0 or an
/// errno value. After an error, call this again; the number stays reserved until then.
int csched_poller_renew_(csched_poller *poller);

/// Does: makes `next` a poller with the wake and the alarm of `poller`, and no other descriptors: the first step to drop a descriptor that the system
/// reports, but that has no source. Returns: 0, or an errno value and no open descriptor.
int csched_poller_open_again_(const csched_poller *poller, csched_poller *next);
/// Does: replaces `poller` by `next`, from csched_poller_open_again_, under the same number: the second step. Repeats the wake, which may be lost.
void csched_poller_replace_(csched_poller *poller, csched_poller *next);

/// Does: stops the process if the poller's descriptor now refers to another file. Call this after an event with an unknown `tag`.
void csched_poller_check_(const csched_poller *poller);

/// Does: ends the present wait or the next one, once. Thread: any; not a cancellation point. Returns: 0 or an errno value. Then, unless the poller is
/// being closed, the caller calls csched_poller_refused_, which stops the process with a message.
int csched_poller_wake_(const csched_poller *poller);
void csched_poller_refused_(const csched_poller *poller, int error) CSCHED_NORETURN;

/// Does: sets the alarm, which ends one wait at `deadline`. It replaces the previous deadline; CSCHED_FOREVER: no alarm.
void csched_poller_arm_(csched_poller *poller, csched_time deadline);

/// Does: changes the events for which the poller watches `fd` from `before` to `events`; 0: none. Returns: 0 or an errno value.
int csched_poller_set_(csched_poller *poller, int fd, unsigned before, unsigned events, uint64_t tag);

/// Does: waits, if `blocks`, for a wake, the alarm, or a descriptor. Returns: the number of `events`, at most `most`; 0: no
/// descriptor has an event.
int csched_poller_wait_(csched_poller *poller, csched_poller_event *events, int most, bool blocks);

/// Asymmetric fences: a light fence and a heavy fence together order like two full fences. If the kernel can interrupt all processors that run this
/// process (membarrier), the light fence is a compiler fence. Otherwise, and until the kind of fence is decided, the light fence is a full fence.
extern uint32_t csched_has_membarrier_;
/// Does: the first call decides the kind of fence for the whole process. Returns: whether the light fence is only a compiler fence.
bool csched_settle_fences_(void);
void csched_fence_heavy_(void);
static inline void csched_fence_light_(void) {
  if (CSCHED_LIKELY(csched_load_relaxed(&csched_has_membarrier_))) csched_fence_compiler();
  else csched_fence_full();
}

/// Returns: how many processors this process may use now, by its affinity and its quota; at least 1. This may read files.
unsigned csched_cpu_count_(void);

/// The processors that this process's threads may use, from the affinities checked so far. 0: unknown; MANY: several; else 1 + the only processor.
enum { CSCHED_PROCESSORS_MANY_ = UINT32_MAX >> 1 };
extern uint32_t csched_processors_seen_;
/// Does: unless csched_processors_seen_ is MANY, adds the calling thread's processors to it. Called at a thread's first lock, and when it starts a
/// loop. Reads no file. The `again` form does this once in 64 calls, because affinities change. Returns: whether the word is MANY.
void csched_processors_look_(void);
bool csched_processors_look_again_(void);
/// Returns: whether two threads of this process can run at once, so that spinning may help.
static inline bool csched_may_spin_(void) {
  return CSCHED_LIKELY(csched_load_relaxed(&csched_processors_seen_) == CSCHED_PROCESSORS_MANY_) || // Speed only
         csched_processors_look_again_();
}

/// Does: sleeps for `span` nanoseconds.
void csched_nap_(csched_time span);

/// A system thread. All fields but `handle` are arguments of its start, which therefore allocates nothing.
typedef struct csched_os_thread {
  uintptr_t handle;
  void (*body)(void *);
  void *context;
  bool is_raised; ///< the starting thread's nice value is raised: see csched_os_thread_set_nice_
  int nice;       ///< then the base of the starting thread, which is this thread's first nice value
} csched_os_thread;

/// Does: starts a joinable thread that calls `body(context)`. Returns: 0 or an errno value. `stack_size` 0 is the default.
/// Requires: `*thread` stays in place until `body` is called.
int csched_os_thread_start_(csched_os_thread *thread, size_t stack_size, void (*body)(void *), void *context);
void csched_os_thread_join_(csched_os_thread thread);
void csched_os_thread_detach_(csched_os_thread thread);

/// Returns: how many threads started by csched_os_thread_start_ have not ended.
size_t csched_os_thread_count_(void);
/// Does: removes the calling thread from the count of csched_os_thread_count_, because the thread only observes.
void csched_os_thread_leave_count_(void);

/// Returns: the smallest stack that a thread may have, in bytes.
size_t csched_os_thread_least_stack_(void);

/// The signal mask of a thread.
typedef struct csched_os_signals {
  uint64_t words[16];
} csched_os_signals;

/// Does: blocks all signals in the calling thread, and so in threads that it starts, except signals of the thread's own faults. `before`: old mask.
void csched_os_signals_block_(csched_os_signals *before);
void csched_os_signals_restore_(const csched_os_signals *before);
/// Does: writes the range of the calling thread's own stack to `*low` and `*high`, even if the thread runs on another one. 0, 0: unknown.
void csched_os_stack_(uintptr_t *low, uintptr_t *high);

/// Does: asks the system to wake the calling thread at its deadlines without the usual delay (timer slack).
void csched_os_thread_be_punctual_(void);

/// Does: calls `body(context)`, then `finally(context)`, also when the thread ends (pthread_exit, cancellation) inside `body`.
void csched_os_finally_(void (*body)(void *), void (*finally)(void *), void *context);

/// Does: restricts the calling thread to these processors. Returns: 0; EINVAL: a processor is not available to the thread; ENOTSUP.
int csched_os_thread_keep_to_(const unsigned *processors, size_t count);
/// Does: gives the calling thread a csched_thread_policy (thread.h) other than the default. Returns: 0, EINVAL, EPERM, EACCES, ENOTSUP.
enum { CSCHED_OS_POLICY_NICE = 1, CSCHED_OS_POLICY_FIFO, CSCHED_OS_POLICY_ROUND_ROBIN };
int csched_os_thread_set_policy_(unsigned policy, int priority);

/// Does: names the calling thread; the name is at most 15 bytes.
void csched_os_thread_set_name_(const char *name);

/// Returns: the system's number for the calling thread, never 0.
uint32_t csched_os_thread_id_(void);

/// Returns: the processor time that thread `id` of this process has used, in nanoseconds; 0 if it has ended.
csched_time csched_os_thread_processor_time_(uint32_t id);

/// Returns: whether thread `id` of this process runs, or waits only for a processor. False: also if unknown, or if system calls are filtered.
bool csched_os_thread_is_ready_(uint32_t id);

/// A nice value is raised when it is above its base: the thread yields to others. It is lifted when another thread has reset it to the base.
/// Does: writes the calling thread's nice value. Returns: whether a thread may raise its value and lower it again.
bool csched_os_thread_has_nice_(int *nice);
/// Does: sets the calling thread's nice value; above `base` only if the thread may now return to `base`. Threads that a raised thread starts by
/// csched_os_thread_start_ begin at `base`. Returns: whether the value is set.
bool csched_os_thread_set_nice_(int nice, int base);
int csched_os_thread_nice_(void);
/// Does: if csched_os_thread_set_nice_ has raised the nice value of `thread`, resets the value to its base. Until `thread` sets the value again,
/// csched_os_thread_is_lifted_ returns true. Does nothing if the calling thread's value is raised. Requires: `thread` belongs to this process.
void csched_os_thread_lift_(uint32_t thread);
bool csched_os_thread_is_lifted_(uint32_t thread);
/// Returns: whether the calling thread's nice value is raised above its base; if so, writes the base to `*base`.
bool csched_os_thread_is_raised_(int *base);

/// Returns: whether this process has a thread `id`.
bool csched_os_thread_exists_(uint32_t id);
/// Does: sends `signal` to thread `id`. Returns: whether the system has accepted it.
bool csched_os_thread_signal_(uint32_t id, int signal);
/// Does: in a signal handler, writes the addresses of the calls on the interrupted stack, the innermost first. Returns: how many, at most `most`.
int csched_os_backtrace_(uintptr_t *addresses, int most);
/// Does: loads what csched_os_backtrace_ needs. Returns: 0; ENOTSUP: the system cannot walk stacks.
int csched_os_backtrace_prepare_(void);
/// Returns: whether thread `id` has ended; the caller then sees all writes of that thread.
bool csched_os_thread_has_ended_(uint32_t id);

/// Returns: whether the calling thread is the process's first thread; in a child of fork, the one that forked.
bool csched_os_is_main_thread_(void);

/// Does: writes the name of thread `id` of this process into `name`; "?" if it has ended.
void csched_os_thread_get_name_(uint32_t id, char *name, size_t size);

/// Thread-specific data: a value per thread whose destructor runs when the thread ends.
typedef struct csched_tsd {
  uint32_t state; ///< 0: no key yet; 2: has a key
  uint32_t key;   ///< the system's key
} csched_tsd;

/// Does: sets this thread's value of `tsd`. The first call makes the key, with `destructor`. Returns: 0 or an errno value.
int csched_tsd_set_(csched_tsd *tsd, void *value, void (*destructor)(void *));

/// Returns: zeroed memory from the system, not from malloc, or NULL. A thread's first malloc would set up an arena: glibc then opens a
/// file to count the processors.
void *csched_os_memory_take_(size_t size);
void csched_os_memory_give_(void *memory, size_t size);
/// Returns: `size` zeroed bytes at a multiple of `size`, or NULL. They are never freed, and leak checkers search them for pointers. Requires: `size`
/// is a power of two, and at least a page. csched_os_leaks_look_into_ registers `memory` with leak checkers, which then search it.
void *csched_os_pages_take_(size_t size);
void csched_os_leaks_look_into_(void *memory, size_t size);
/// Does: discards the content of the pages, which then read as zero; locked pages keep it. Thread: any, while other threads read the pages.
void csched_os_pages_empty_(void *pages, size_t size);
/// Returns: the size of a page, a power of two.
size_t csched_os_page_size_(void);

/// The phases of a fork. The child has only the forking thread, and three phases. The handlers of all entries run for one phase before any runs for
/// the next phase. A handler in IN_CHILD_FIRST may neither lock nor unlock a csched_lock: sleepers of the parent's threads are still in the buckets.
typedef enum csched_atfork_phase {
  CSCHED_ATFORK_BEFORE,
  CSCHED_ATFORK_IN_PARENT,
  CSCHED_ATFORK_IN_CHILD_FIRST,
  CSCHED_ATFORK_IN_CHILD,
  CSCHED_ATFORK_IN_CHILD_LAST,
} csched_atfork_phase;

/// An entry in the fork list, embedded in an object such as a loop. `handler` is called at each fork, on the forking thread. All zero at first.
typedef struct csched_atfork {
  struct csched_atfork *next, **back;
  void (*handler)(struct csched_atfork *atfork, csched_atfork_phase phase);
} csched_atfork;

/// Does: registers `handler`, called at each fork until csched_os_atfork_end_. A second call does nothing. Requires: `handler` removes no entry.
void csched_os_atfork_(csched_atfork *atfork, void (*handler)(csched_atfork *atfork, csched_atfork_phase phase));
void csched_os_atfork_end_(csched_atfork *atfork);
/// Does: locks the list, and calls `visit` for each entry, newest first, until `visit` returns false. After false, `mark` stays in the list, and the
/// next call begins again with the refused entry. Returns: whether `visit` returned false. Requires: `visit` does not block; the calling thread has
/// locked a csched_lock before. `mark` is all zero at first, is not moved, and may have any `handler`.
bool csched_os_atfork_visit_(csched_atfork *mark, bool (*visit)(csched_atfork *atfork, void *context), void *context);

/// Returns: the number of this process.
uint32_t csched_os_process_id_(void);

/// The action of a signal (struct sigaction).
typedef struct csched_os_handler {
  uint64_t words[32];
} csched_os_handler;
/// Does: installs `handler` for `signal`, on an alternate stack if the thread has one; `*before`: the previous action. Returns: 0 or an errno value.
int csched_os_handle_signal_(int signal, void (*handler)(int signal), csched_os_handler *before);
void csched_os_handle_signal_as_before_(int signal, const csched_os_handler *before);

/// Does: copies `size` bytes of this process. Other threads may change or free `memory` meanwhile. Returns: true, or false: the memory is not mapped,
/// or the system forbids the copy. Thread: any, also in a signal handler.
bool csched_os_copy_if_mapped_(void *copy, const void *memory, size_t size);
/// Does: writes the name of the function at `address`, or else the file's name and the offset in it. It may take locks of the C library.
void csched_os_code_name_(uintptr_t address, char *name, size_t size);
/// Does: writes the name of the function at `address` in the program or library `path`, from its symbol table. Returns: whether it is found.
bool csched_os_code_in_file_(const char *path, uint64_t address, char *name, size_t size);
/// Does: makes a Swift name readable, in place, if the program has Swift's runtime. It allocates.
void csched_os_demangle_(char *name, size_t size);
/// Does: writes all of `text` to `fd`; not a cancellation point. Returns: 0 or an errno value. Thread: any, also in a signal handler.
int csched_os_write_(int fd, const char *text, size_t size);

/// Returns: 0 if 4096 bytes can be written to `fd` without waiting more than 100 ms for a reader; else EAGAIN.
int csched_os_can_write_(int fd);

/// Does: opens and empties a trace file, which only its owner may read. Returns: 0; ELOOP: a link; EPERM: no regular file of this user; other errno.
int csched_os_trace_open_(const char *path, int *fd);

/// Does: calls `begin` with the path in the environment variable SCHEDULER_TRACE, if set, unless the program has more rights than its user.
/// Prints an error of `begin`.
void csched_os_trace_asked_(int (*begin)(const char *path));
/// Does: calls `begin` if the environment variable SCHEDULER_RECORD is 1. If `begin` fails, prints the error.
void csched_os_record_asked_(int (*begin)(void));
/// Does: calls `begin` with the span in the environment variable SCHEDULER_WATCH, such as 1s, 250ms or 100us, if the variable is set. If its value is
/// no span, or `begin` fails, prints the error.
void csched_os_watch_asked_(int (*begin)(csched_time span));

/// Does: closes `fd`; not a cancellation point.
void csched_os_close_(int fd);

/// Does: writes `text` to standard error.
void csched_os_say_(const char *text);
/// Does: writes `text` to standard error, and aborts.
void csched_os_abort_(const char *text) CSCHED_NORETURN;
/// Does: aborts with a message about a refused system call. Use it for calls that fail only for an external cause, such as a filter.
void csched_os_refused_(const char *function, const char *call, int error, const char *advice) CSCHED_NORETURN;
