// The platform layer: everything that the core needs from the system. linux*.c, darwin*.c and posix*.c implement it,
// and so does the model checker.
// Depends on: base.h.
#pragma once

#include <CScheduler/atomic.h>

/// The observers in use (observed.h); 0: none. The platform layer defines the word, because on Linux it is in a section
/// of its own: the kernel counts attached probe programs in its low 16 bits. Unless it is 0, csched_os_on_call_ is
/// called before each futex call: an observer counts these calls.
extern CSCHED_HIDDEN uint32_t csched_observed_;
extern CSCHED_HIDDEN void (*csched_os_on_call_)(void); ///< set when the library is loaded
static inline void csched_os_note_call_(void) { // Does: notifies the observers, if any, of a system call that follows.
  bool is_observed = CSCHED_UNLIKELY(csched_is_set(&csched_observed_)); // Speed only
  if (is_observed && csched_os_on_call_ != NULL) csched_os_on_call_();
}

/// Static probes for perf, bpftrace and SystemTap; empty where the system has none. `code`: the address of the function
/// that the job calls. `has_run` false: the job was cancelled, and did not run. `reason`: a csched_drop_reason.
void csched_os_probe_submit_(const void *target, const void *job, uintptr_t code);
void csched_os_probe_run_(const void *job, uintptr_t code);
void csched_os_probe_ran_(const void *job, bool has_run);
void csched_os_probe_drop_(const void *job, int reason);

/// How a futex wait ended. CHANGED: the word was not the expected value. INTERRUPTED: by a signal. WOKEN may be
/// spurious: read the word.
typedef enum csched_futex_result {
  CSCHED_FUTEX_WOKEN,
  CSCHED_FUTEX_CHANGED,
  CSCHED_FUTEX_INTERRUPTED,
  CSCHED_FUTEX_TIMED_OUT,
} csched_futex_result;

/// Does: if `*word == expected`, sleeps until csched_futex_wake_ on `word`, a signal, or `deadline` (of csched_now;
/// CSCHED_FOREVER: none).
csched_futex_result csched_futex_wait_(uint32_t *word, uint32_t expected, csched_time deadline);

/// Does: wakes up to `count` sleepers on `word`. The memory at `word` is not read, and may have been freed.
void csched_futex_wake_(uint32_t *word, int count);

/// An epoll set or a kqueue. A loop's thread sleeps on it if the loop waits for descriptors, or has a host. Only `fd`
/// is for callers.
typedef struct csched_poller {
  int fd;               ///< can be polled itself: readable when csched_poller_wait_ would not block
  int wake, alarm;      ///< Linux: descriptors for csched_poller_wake_ and csched_poller_set_alarm_; -1: none
  csched_time armed;    ///< the alarm's deadline; CSCHED_FOREVER: none
  const char *function; ///< public function that messages name
} csched_poller;

enum { CSCHED_POLLER_READ = 1, CSCHED_POLLER_WRITE = 2, CSCHED_POLLER_EDGE = 4 }; ///< a set; EDGE: report changes only

typedef struct csched_poller_event {
  uint64_t tag;    ///< identifies the source: the argument of csched_poller_set_ for this descriptor
  unsigned events; ///< READ, WRITE; after an error of the descriptor both, even if not requested
} csched_poller_event;

/// Does: makes a poller. Returns: 0, or an errno value and no open descriptor. If the system refuses a later call, or
/// other code closes or replaces a descriptor of the poller, the process stops with a message that names `function`.
int csched_poller_open_(csched_poller *poller, const char *function);
void csched_poller_close_(const csched_poller *poller); ///< closes all its descriptors
/// Does: in a child of fork, replaces the poller, which the parent shares, by a new one that watches no descriptor;
/// `fd` keeps its number. Returns: 0 or an errno value. After an error, call this again; the number stays reserved
/// until then.
int csched_poller_renew_(csched_poller *poller);
/// To drop a descriptor that the system reports after its close, because a copy of it is open, the loop replaces the
/// poller, in two steps.
/// Does: makes `next` a poller with only the wake and the alarm of `poller`. Returns: 0, or an errno value and no open
/// descriptor.
int csched_poller_open_replacement_(const csched_poller *poller, csched_poller *next);
/// Does: replaces `poller` by `next`, from csched_poller_open_replacement_; `fd` keeps its number. Wakes the poller: a
/// wake may have been lost.
void csched_poller_replace_(csched_poller *poller, csched_poller *next);
/// Does: stops the process if other code has closed or replaced the poller's descriptors. Call this after an event with
/// an unknown `tag`.
void csched_poller_require_intact_(const csched_poller *poller);
/// Does: ends the present wait or the next one, once. Returns: 0 or an errno value. After an error, unless the poller
/// is being closed, the caller calls csched_poller_abort_refused_, which stops the process with a message. Thread: any;
/// not a cancellation point.
int csched_poller_wake_(const csched_poller *poller);
void csched_poller_abort_refused_(const csched_poller *poller, int error) CSCHED_NORETURN;
/// Does: sets the alarm, which ends one wait at `deadline`, and replaces the previous deadline; CSCHED_FOREVER: no
/// alarm.
void csched_poller_set_alarm_(csched_poller *poller, csched_time deadline);
/// Does: changes the events for which the poller watches `fd` from the set `before` to the set `events`; 0: none.
/// Returns: 0 or an errno value. If `before` is not 0, an error means that the watched descriptor was closed: its
/// number is free, or another descriptor's. On Linux that is EBADF.
int csched_poller_set_(csched_poller *poller, int fd, unsigned before, unsigned events, uint64_t tag);
/// Does: writes the events of descriptors to `events`. If `blocks`, first waits for an event, a wake, the alarm or a
/// signal. Returns: the number of `events`, at most `most`; 0: no descriptor has an event.
int csched_poller_wait_(csched_poller *poller, csched_poller_event *events, int most, bool blocks);

/// Asymmetric fences: a light fence on one thread and a heavy fence on another order like two full fences. If the
/// kernel can interrupt all processors that run this process (membarrier), the light fence is a compiler fence;
/// otherwise, and until that is decided, a full fence.
extern uint32_t csched_has_membarrier_; ///< 1: the light fence is a compiler fence
/// Does: decides the kind of fence, once for the whole process, at the first call. Returns: whether the light fence is
/// only a compiler fence.
bool csched_fences_decide_(void);
void csched_fence_heavy_(void);                ///< expensive: with membarrier it interrupts the other processors
static inline void csched_fence_light_(void) { // a stale 0 costs time only: a full fence pairs with every heavy fence
  if (CSCHED_LIKELY(csched_load_relaxed(&csched_has_membarrier_))) csched_fence_compiler();
  else csched_fence_full();
}

/// Returns: how many processors this process may use now, by its affinity and by the quota of its control groups; at
/// least 1. This may read files.
unsigned csched_cpu_count_(void);
/// Returns: the least of `most` and the quotas of this process's control groups and their parents, in processors,
/// rounded up. `groups`: the file that lists the groups, /proc/self/cgroup. `mounts`: the folder of their file systems,
/// /sys/fs/cgroup. Linux only.
unsigned csched_os_quota_(const char *groups, const char *mounts, unsigned most);

/// The processors that threads of this process may use, by the affinities checked so far. 0: unknown; MANY: several;
/// else 1 + the only one's number.
enum { CSCHED_PROCESSORS_MANY_ = UINT32_MAX >> 1 };
extern uint32_t csched_processors_seen_;
/// Does: unless csched_processors_seen_ is MANY, adds the calling thread's processors to it. Called at a thread's first
/// lock, and when it starts a loop. Reads no file. csched_processors_recheck_ does this once in 64 calls, because
/// affinities change. Returns: whether the word is MANY.
void csched_processors_note_own_(void);
bool csched_processors_recheck_(void);
/// Returns: whether two threads of this process may run at the same time, so that spinning may help.
static inline bool csched_may_spin_(void) {
  return CSCHED_LIKELY(csched_load_relaxed(&csched_processors_seen_) == CSCHED_PROCESSORS_MANY_) || // Speed only
         csched_processors_recheck_();
}

/// Does: sleeps for `span` nanoseconds.
void csched_nap_(csched_time span);

/// A system thread. All fields but `handle` are arguments for the new thread: they are here so that a start allocates
/// nothing.
typedef struct csched_os_thread {
  uintptr_t handle; ///< a pthread_t
  void (*body)(void *);
  void *context;
  bool is_raised;   ///< the starting thread's nice value is above its base: see csched_os_thread_set_nice_
  int nice;         ///< if `is_raised`: that base, with which the new thread begins
  uint64_t signals; ///< the signals that it blocks when it begins: bit N - 1 for signal N
} csched_os_thread;

/// Does: starts a joinable thread that calls `body(context)`, with the main thread's signal mask (base.h). Returns: 0
/// or an errno value. `stack_size` 0 is the default. Requires: `*thread` stays in place until `body` is called.
int csched_os_thread_start_(csched_os_thread *thread, size_t stack_size, void (*body)(void *), void *context);
/// Does: the same, for a thread that never runs user code: it blocks all signals except those of faults (SIGSEGV …).
int csched_os_thread_start_internal_(csched_os_thread *thread, void (*body)(void *), void *context);
void csched_os_thread_join_(csched_os_thread thread);   ///< waits for its end; call join or detach, exactly once
void csched_os_thread_detach_(csched_os_thread thread); ///< does not wait: the system frees the thread when it ends

/// Returns: how many threads started by csched_os_thread_start_ have not ended.
size_t csched_os_thread_count_(void);
/// Does: removes the calling thread from the count of csched_os_thread_count_. For threads that only observe the
/// program.
void csched_os_thread_leave_count_(void);
/// Returns: the smallest stack that a thread may have, in bytes.
size_t csched_os_thread_least_stack_(void);

/// Does: blocks or unblocks `signal` in the calling thread. Returns: whether it was blocked before.
bool csched_os_signal_block_(int signal, bool blocks);
/// Returns: the bits of all signals that a program may block, bit N - 1 for signal N, and of SIGKILL and SIGSTOP.
uint64_t csched_os_all_signals_(void);
/// Does: gives the calling thread, which another function has started, the signal mask of csched_os_thread_start_.
void csched_os_begin_with_main_mask_(void);
/// Does: replaces the calling thread's signal mask in `*mask`, bit N - 1 for signal N, by the main thread's. Returns:
/// false: that one is unknown, or may be the mask of one wait (ppoll).
bool csched_os_main_mask_(uint64_t *mask);
/// Does: writes the range of the calling thread's own stack to `*low` and `*high`, even while the thread runs on
/// another stack. 0, 0: unknown.
void csched_os_thread_get_stack_(uintptr_t *low, uintptr_t *high);
/// Does: asks the system to wake the calling thread at its deadlines without the usual delay (timer slack).
void csched_os_thread_drop_slack_(void);
/// Does: calls `body(context)`, then `finally(context)`, also when the thread ends (pthread_exit, cancellation) inside
/// `body`.
void csched_os_call_with_cleanup_(void (*body)(void *), void (*finally)(void *), void *context);

/// Does: disables the cancellation of this thread. No wait of the library may be a cancellation point: a cancelled
/// thread continues to one of its own code. So C library calls that are cancellation points run so; the raw system
/// calls of futexes and pollers are none. Returns: the state to restore.
int csched_os_disable_cancellation_(void);
void csched_os_restore_cancellation_(int before);

/// Does: restricts the calling thread to these processors. Returns: 0; EINVAL: a processor is not available to the
/// thread; ENOTSUP.
int csched_os_thread_set_affinity_(const unsigned *processors, size_t count);
/// Does: gives the calling thread a csched_thread_policy (thread.h) other than the default. Returns: 0, EINVAL, EPERM,
/// EACCES or ENOTSUP.
enum { CSCHED_OS_POLICY_NICE = 1, CSCHED_OS_POLICY_FIFO, CSCHED_OS_POLICY_ROUND_ROBIN };
int csched_os_thread_set_policy_(unsigned policy, int priority); ///< `priority`: with NICE a nice value, else real-time
/// Does: names the calling thread; the name is at most 15 bytes.
void csched_os_thread_set_name_(const char *name);
/// Returns: the system's number for the calling thread, never 0.
uint32_t csched_os_thread_id_(void);
/// Returns: the processor time that thread `id` of this process has used, in nanoseconds; 0: the thread has ended, or
/// the time is unknown.
csched_time csched_os_thread_processor_time_(uint32_t id);
/// Returns: whether blocks wait in Dispatch's main queue; false: unknown.
bool csched_os_main_queue_waits_(void);
/// Returns: the system's number of the main thread; 0: unknown.
uint32_t csched_os_main_thread_id_(void);
/// Returns: whether thread `id` of this process runs, or waits only for a processor. Also false if this is unknown, or
/// system calls are filtered.
bool csched_os_thread_is_ready_(uint32_t id);

/// A pool raises a worker's nice value above its base, so that the worker yields to other threads. A thread that waits
/// for the worker's lock lifts the nice value: it resets the value to the base.
/// Does: writes the calling thread's nice value. Returns: whether the thread may raise the value, and lower it again.
bool csched_os_thread_has_nice_(int *nice);
/// Does: sets the calling thread's nice value; above `base` only if the thread may later return to `base`. Threads that
/// it then starts by csched_os_thread_start_ begin at `base`. Returns: whether the value is set.
bool csched_os_thread_set_nice_(int nice, int base);
int csched_os_thread_nice_(void); ///< Returns: the calling thread's nice value
/// Does: if csched_os_thread_set_nice_ has raised the nice value of `thread`, resets the value to its base.
/// csched_os_thread_is_lifted_ then returns true until `thread` sets the value again. Does nothing if the calling
/// thread's own value is raised. Requires: `thread` is of this process.
void csched_os_thread_lift_(uint32_t thread);
bool csched_os_thread_is_lifted_(uint32_t thread);
/// Returns: whether the calling thread's nice value is raised above its base; if so, writes the base to `*base`.
bool csched_os_thread_is_raised_(int *base);
/// Returns: whether this process has a thread `id`.
bool csched_os_thread_exists_(uint32_t id);
/// Does: sends `signal` to thread `id`. Returns: whether the system has accepted it.
bool csched_os_thread_signal_(uint32_t id, int signal);
/// Does: in a signal handler, writes the addresses of the calls on the interrupted stack, the innermost first. Returns:
/// how many, at most `most`.
int csched_os_backtrace_(uintptr_t *addresses, int most);
/// Does: loads what csched_os_backtrace_ needs. Returns: 0; ENOTSUP: the system cannot walk stacks.
int csched_os_backtrace_prepare_(void);
/// Returns: whether thread `id` has ended. After true, the caller sees all writes of that thread.
bool csched_os_thread_has_ended_(uint32_t id);
/// Returns: whether the calling thread is the process's first thread. In a child of fork, that is the thread that
/// forked.
bool csched_os_is_main_thread_(void);
/// Does: writes the name of thread `id` of this process into `name`; "?" if the thread has ended, or its name cannot be
/// read.
void csched_os_thread_get_name_(uint32_t id, char *name, size_t size);

/// Thread-specific data: a value per thread whose destructor runs when the thread ends.
typedef struct csched_tsd {
  uint32_t state; ///< 0: no key yet; 2: has a key
  uint32_t key;   ///< the system's key
} csched_tsd;

/// Does: sets this thread's value of `tsd`. The first call makes the key, with `destructor`. Returns: 0 or an errno
/// value.
int csched_tsd_set_(csched_tsd *tsd, void *value, void (*destructor)(void *));

/// Returns: zeroed memory from the system, or NULL. Not from malloc: a thread's first malloc sets up an arena, for
/// which glibc opens a file.
void *csched_os_memory_allocate_(size_t size);
void csched_os_memory_free_(void *memory, size_t size); ///< frees it; `size`: as in csched_os_memory_allocate_
/// Returns: `size` zeroed bytes at a multiple of `size`, or NULL. They are never freed, and leak checkers search them
/// for pointers. Requires: `size` is a power of two, and at least a page. csched_os_leaks_register_ registers other
/// `memory` with leak checkers, which then search it.
void *csched_os_pages_take_(size_t size);
void csched_os_leaks_register_(void *memory, size_t size);
/// Does: discards the content of the pages, which then read as zero; pages locked by mlock keep it. Other threads may
/// read the pages meanwhile.
void csched_os_pages_discard_(void *pages, size_t size);
/// Returns: the size of a page, a power of two.
size_t csched_os_page_size_(void);

/// The phases of a fork: one before it, one in the parent, three in the child, which has only the forking thread. The
/// handlers of all entries run for one phase before any runs for the next. In IN_CHILD_FIRST a handler may not lock or
/// unlock a csched_lock: lock.c still has the parent's sleepers. In none of these may user code run, because the fork
/// list is locked. In AFTER_CHILD it may: the handlers that have asked for it by `continues` are called once more,
/// unlocked.
typedef enum csched_atfork_phase {
  CSCHED_ATFORK_BEFORE,
  CSCHED_ATFORK_IN_PARENT,
  CSCHED_ATFORK_IN_CHILD_FIRST,
  CSCHED_ATFORK_IN_CHILD,
  CSCHED_ATFORK_IN_CHILD_LAST,
  CSCHED_ATFORK_AFTER_CHILD,
} csched_atfork_phase;

/// An entry in the fork list, embedded in an object such as a loop. `handler` is called at each fork, on the forking
/// thread. All zero at first.
typedef struct csched_atfork {
  struct csched_atfork *next, **back; ///< `back`: the `next` or list head that points here; NULL: not in the list
  void (*handler)(struct csched_atfork *atfork, csched_atfork_phase phase);
  bool
      continues; ///< set by `handler` in the child: it is called for CSCHED_ATFORK_AFTER_CHILD, if it is still in the list then
  bool (*is_busy)(struct csched_atfork *atfork, const void *root); ///< see csched_loop_finish_work_; NULL: never
} csched_atfork;

/// Does: registers `handler`, called at each fork until csched_os_atfork_end_. A second call does nothing. Requires:
/// `handler` removes no entry.
void csched_os_atfork_(csched_atfork *atfork, void (*handler)(csched_atfork *atfork, csched_atfork_phase phase));
void csched_os_atfork_end_(csched_atfork *atfork);
/// Does: locks the list, and calls `visit` for each entry, newest first, until `visit` returns false. Returns: whether
/// `visit` returned false. Then `mark` stays in the list, and the next call begins again with the refused entry.
/// Requires: `visit` does not block; the calling thread has locked a csched_lock before. `mark` is all zero at first,
/// is not moved, and has a `handler`, which forks call.
bool csched_os_atfork_visit_(csched_atfork *mark, bool (*visit)(csched_atfork *atfork, void *context), void *context);

/// Does: has each fork call `before` first, and `after` in both processes when the handlers of the list have run, but
/// before CSCHED_ATFORK_AFTER_CHILD. There is one such pair. Requires: no other thread exists yet.
void csched_os_around_fork_(void (*before)(void), void (*after)(void));

uint32_t csched_os_process_id_(void);

/// The action of a signal (struct sigaction).
typedef struct csched_os_handler {
  uint64_t words[32];
} csched_os_handler;
/// Does: installs `handler` for `signal`, on an alternate stack if the thread has one; `*before`: the previous action.
/// Returns: 0 or an errno value.
int csched_os_handle_signal_(int signal, void (*handler)(int signal), csched_os_handler *before);
void csched_os_restore_handler_(int signal, const csched_os_handler *before); ///< restores the action `before`

/// Does: copies `size` bytes of this process. Other threads may change or free `memory` meanwhile. Returns: false: the
/// memory is not mapped, or the system forbids the copy. Thread: any, also in a signal handler.
bool csched_os_copy_if_mapped_(void *copy, const void *memory, size_t size);
/// Does: writes the name of the function at `address` to `name`; if unknown, the file's name and the offset in it. May
/// use locks of the C library.
void csched_os_code_name_(uintptr_t address, char *name, size_t size);
/// Does: finds the name of the function at `address`, relative to the load address, in the symbol table of `path`.
/// Returns: whether it exists.
bool csched_os_code_in_file_(const char *path, uint64_t address, char *name, size_t size);
/// Does: makes a mangled Swift name readable, in place, if the program has Swift's runtime. It allocates.
void csched_os_demangle_(char *name, size_t size);
/// Returns: whether the program contains Swift's runtime.
bool csched_os_has_swift_(void);
/// Does: writes all of `text` to `fd`; not a cancellation point. Returns: 0 or an errno value. Thread: any, also in a
/// signal handler.
int csched_os_write_(int fd, const char *text, size_t size);
/// Does: waits up to 100 ms until `fd` can be written to. Returns: 0, and the next 4096 bytes (PIPE_BUF) do not block;
/// else EAGAIN.
int csched_os_can_write_(int fd);
/// Does: opens and empties a trace file, which only its owner may read. Returns: 0; ELOOP: a link; EPERM: no regular
/// file of this user; other errno.
int csched_os_trace_open_(const char *path, int *fd);
/// Does: if the environment variable SCHEDULER_TRACE is set, calls `begin` with its path, and prints an error of
/// `begin`.
void csched_os_trace_by_environment_(int (*begin)(const char *path));
/// Returns: the environment variable `name`; NULL if it is not set, or if the program has more rights than its user:
/// then he could use them.
const char *csched_os_environment_(const char *name);
/// Returns: whether the program has rights that its user lacks, by its set-user-ID or set-group-ID bit or its
/// capabilities.
bool csched_os_has_more_rights_(void);
/// Does: calls `begin` if the environment variable SCHEDULER_RECORD is 1. If `begin` fails, prints the error.
void csched_os_record_by_environment_(int (*begin)(void));
/// Does: if the environment variable SCHEDULER_WATCH is set, calls `begin` with its span, such as 1s, 250ms or 100us.
/// If the value is no span, or `begin` fails, prints the error.
void csched_os_watch_by_environment_(int (*begin)(csched_time span));
/// Does: closes `fd`; not a cancellation point.
void csched_os_close_(int fd);
/// Does: writes `text` to standard error.
void csched_os_say_(const char *text);
/// Does: writes `text` to standard error, and aborts.
void csched_os_abort_(const char *text) CSCHED_NORETURN;
/// Does: aborts with a message that the system refused `call`. For calls that fail only for an external cause, such as
/// a filter of system calls.
void csched_os_abort_refused_(const char *function, const char *call, int error, const char *advice) CSCHED_NORETURN;
