#if defined(__linux__) // Platform layer for Linux: time, futexes, fences, threads. See platform.h.
#define _GNU_SOURCE
#include "../platform.h"
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NANOSECONDS = 1000000000, ATTEMPTS = 100 }; // ns in a second; failed membarrier calls before the process stops

static const char PERMIT[] = "Permit it where system calls are filtered (seccomp).";

csched_time csched_now(void) {
  struct timespec now;
  if (CSCHED_UNLIKELY(clock_gettime(CLOCK_MONOTONIC, &now) != 0))
    csched_os_abort_refused_("csched_now", "clock_gettime", errno, PERMIT);
  return (csched_time)now.tv_sec * NANOSECONDS + (csched_time)now.tv_nsec;
}

static struct timespec timespec_from(csched_time time) {
  return (struct timespec){.tv_sec = (time_t)(time / NANOSECONDS), .tv_nsec = (long)(time % NANOSECONDS)};
}

// MARK: futex

// Does: if `*word == expected`, sleeps until a wake on `word`, a signal, or `deadline`.
csched_futex_result csched_futex_wait_(uint32_t *word, uint32_t expected, csched_time deadline) {
  csched_os_note_call_();
  int saved = errno;
  struct timespec at = timespec_from(deadline); // unused with CSCHED_FOREVER
  // WAIT_BITSET has an absolute deadline on the monotonic clock; plain WAIT has a relative timeout.
  long answer = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline == CSCHED_FOREVER ? NULL : &at,
                        NULL, FUTEX_BITSET_MATCH_ANY);
  int error = answer == 0 ? 0 : errno;
  errno = saved;
  switch (error) {
  case 0: return CSCHED_FUTEX_WOKEN;
  case EAGAIN: return CSCHED_FUTEX_CHANGED;
  case EINTR: return CSCHED_FUTEX_INTERRUPTED;
  case ETIMEDOUT: return CSCHED_FUTEX_TIMED_OUT;
  default: csched_os_abort_refused_("csched_futex_wait_", "futex", error, PERMIT); // stops: EFAULT, EINVAL, ENOSYS
  }
}

static bool wake_sleepers_on(uint32_t *word, int count) { // Returns: false: error in errno
  return syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0) >= 0;
}

void csched_futex_wake_(uint32_t *word, int count) { // wakes up to `count` threads that sleep on `word`
  static uint32_t unused;                            // a futex on which no thread sleeps
  csched_os_note_call_();
  int saved = errno;
  // A wake may fail harmlessly: the sleeper has returned, and its memory is unmapped or another kind of futex. A wake
  // on `unused`, where no thread sleeps, fails only if the system refuses the call. Then a thread could sleep for ever,
  // so the process stops.
  if (CSCHED_UNLIKELY(!wake_sleepers_on(word, count)) && !wake_sleepers_on(&unused, 1))
    csched_os_abort_refused_("csched_futex_wake_", "futex", errno, PERMIT);
  errno = saved;
}

bool csched_os_has_more_rights_(void) { return getauxval(AT_SECURE) != 0; }

// MARK: membarrier

uint32_t csched_has_membarrier_; // 1: the light fence is a compiler fence (platform.h)

enum { UNDECIDED = 0, FULL = 1, PRIVATE = 2 }; // kinds of the heavy fence: see decide_fences

static long membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0); } // -1: error in errno

// Returns: the kind of the heavy fence. FULL: a full fence. PRIVATE: a membarrier, which interrupts the processors that
// run this process. The first call decides for all threads, because both fences must agree. Light fences become
// compiler fences only after `kind` is PRIVATE, never before.
static uint32_t decide_fences(void) {
  static uint32_t kind;
  uint32_t found = csched_load_acquire(&kind);
  if (CSCHED_LIKELY(found != UNDECIDED)) return found;
  int saved = errno;
  uint32_t offered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 ? PRIVATE : FULL;
  errno = saved;
  if (!csched_cas_acq_rel(&kind, &found, offered)) return found; // another thread has decided, for this one, too
  if (offered == PRIVATE) csched_store_relaxed(&csched_has_membarrier_, 1u); // light fences may be compiler fences now
  return offered;
}

bool csched_fences_decide_(void) { return decide_fences() == PRIVATE; }

// Stops the process if membarrier fails repeatedly: it has no substitute, because other threads' light fences are
// compiler fences. Rejected: a change of a page's protection, which interrupts all processors on some machines only; a
// change of affinity, which needs the use of all processors.
void csched_fence_heavy_(void) {
  if (decide_fences() != PRIVATE) {
    csched_fence_full();
    return;
  }
  int saved = errno;
  for (int attempts = 0; membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0; attempts++) {
    // ENOMEM: the kernel has no memory at the moment. EPERM: the process's registration is lost, so repeat it.
    bool may_try = errno == ENOMEM || (errno == EPERM && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0);
    if (!may_try || attempts == ATTEMPTS)
      csched_os_abort_refused_(
          "csched_fence_heavy_", "membarrier", errno,
          "It was permitted when the library was loaded, which now relies on it. Permit it in the filter of system "
          "calls (seccomp) that was installed since, or load the library after that.");
    csched_nap_(100000); // ns before the next attempt
  }
  errno = saved;
}

__attribute__((constructor)) static void decide_fences_at_load(void) { decide_fences(); }

// MARK: time

void csched_nap_(csched_time span) { // an absolute time, so that a signal (EINTR) does not make it longer
  struct timespec until = timespec_from(csched_now() + span);
  int before = csched_os_disable_cancellation_();
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {}
  csched_os_restore_cancellation_(before);
}

// MARK: threads

// Called for the program and each library. Does: adds the size of its thread-local storage to `*sum`. Returns: 0: go
// on.
static int add_locals(struct dl_phdr_info *info, size_t size, void *sum) {
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_TLS) *(size_t *)sum += info->dlpi_phdr[i].p_memsz + info->dlpi_phdr[i].p_align;
  return 0;
}

// The system's minimum lacks thread-local storage, which is on the stack, and a signal's frame and handler, such as
// that which samples stacks.
size_t csched_os_thread_least_stack_(void) {
  enum { HANDLER = 6144, AT_MINIMUM = 51 }; // bytes for a backtrace; AT_MINSIGSTKSZ, which older headers lack
  unsigned long frame = getauxval(AT_MINIMUM);
  size_t sum = (size_t)sysconf(_SC_THREAD_STACK_MIN) + HANDLER +
               (frame > (unsigned long)MINSIGSTKSZ ? frame : (unsigned long)MINSIGSTKSZ);
  dl_iterate_phdr(add_locals, &sum);
  return sum;
}

// Does: writes the range of the main thread's stack, if known: it begins below the program's name (AT_EXECFN), and may
// grow down to its limit. Rejected: pthread_getattr_np, which reads a file.
static void find_main_stack(uintptr_t *low, uintptr_t *high) {
  static const uintptr_t GAP = (uintptr_t)128 << 20; // 128 MB: the kernel keeps at least so much free for the stack
  struct rlimit limit;
  uintptr_t top = (uintptr_t)getauxval(AT_EXECFN);
  if (top == 0 || getrlimit(RLIMIT_STACK, &limit) != 0) return;
  *high = top;
  *low = top - (limit.rlim_cur < GAP ? (uintptr_t)limit.rlim_cur : GAP);
}

void csched_os_thread_get_stack_(uintptr_t *low, uintptr_t *high) { // the calling thread's stack; 0, 0: unknown
  int saved = errno;
  pthread_attr_t attributes;
  void *address = NULL;
  size_t size = 0;
  *low = *high = 0;
  if (csched_os_is_main_thread_()) {
    find_main_stack(low, high);
  } else if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    if (pthread_attr_getstack(&attributes, &address, &size) == 0) *low = (uintptr_t)address;
    *high = *low + size;
    pthread_attr_destroy(&attributes);
  }
  errno = saved;
}

// Sets the timer slack to 1 ns. The kernel's default of 50 µs would delay each deadline; the library's timers have
// their own leeway.
void csched_os_thread_drop_slack_(void) { prctl(PR_SET_TIMERSLACK, 1UL); }
void csched_os_thread_set_name_(const char *name) { pthread_setname_np(pthread_self(), name); }

uint32_t csched_os_thread_id_(void) {
  long id = syscall(SYS_gettid); // mostly called by a thread's first csched_lock_lock, which the message names
  if (CSCHED_UNLIKELY(id <= 0)) csched_os_abort_refused_("csched_lock_lock", "gettid", errno, PERMIT);
  return (uint32_t)id;
}

bool csched_os_is_main_thread_(void) { return csched_os_thread_id_() == (uint32_t)getpid(); }

bool csched_os_thread_signal_(uint32_t id, int signal) {
  int saved = errno;
  bool is_sent = syscall(SYS_tgkill, getpid(), id, signal) == 0;
  errno = saved;
  return is_sent;
}

bool csched_os_thread_exists_(uint32_t id) {
  int saved = errno;
  bool exists = syscall(SYS_tgkill, getpid(), id, 0) == 0 || errno != ESRCH; // signal 0: only checks
  errno = saved;
  return exists;
}

static int filter_at_load, privileges_at_load; // what prctl said of seccomp and of NO_NEW_PRIVS

__attribute__((constructor)) static void note_filter_at_load(void) {
  int saved = errno;
  filter_at_load = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
  privileges_at_load = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  errno = saved;
}

// Returns: whether system calls may have been filtered (seccomp) since the library was loaded. A call that is not
// strictly needed could then end the process. An earlier filter, as in a container, permits to open files: the program
// was started under it. A second filter is seen by NO_NEW_PRIVS, which a program without more rights must set first; it
// is not seen if that was set at the load.
static bool is_filtered(void) {
  int now = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
  return now != 0 && (now != filter_at_load || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != privileges_at_load);
}

void csched_os_thread_get_name_(uint32_t id, char *name, size_t size) { // "?": the thread has ended, or is unknown
  char path[64], own[16];
  if (id == csched_os_thread_id_() && prctl(PR_GET_NAME, own) == 0) { // the caller's own name: needs no file
    snprintf(name, size, "%s", own);
    return;
  }
  int before = csched_os_disable_cancellation_(), saved = errno;
  snprintf(path, sizeof path, "/proc/self/task/%u/comm", (unsigned)id);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? -1 : read(file, name, size - 1);
  if (file >= 0) close(file);
  errno = saved;
  csched_os_restore_cancellation_(before);
  if (length <= 0) {
    name[0] = '?';
    length = 1;
  }
  name[length] = 0;
  name[strcspn(name, "\n")] = 0; // the file ends with a newline
}

uint32_t csched_os_main_thread_id_(void) { return (uint32_t)getpid(); }

csched_time csched_os_thread_processor_time_(uint32_t id) { // ns; 0: the thread has ended, or the clock is unknown
  clockid_t clock = (clockid_t)(~id << 3 | 6); // the kernel's id of the thread's clock, as in pthread_getcpuclockid
  struct timespec used;
  if (clock_gettime(clock, &used) != 0) return 0;
  return (csched_time)used.tv_sec * NANOSECONDS + (csched_time)used.tv_nsec;
}

// Does: reads `file` of thread `id` in /proc to `text`, which is empty if the file cannot be read, or if system calls
// are filtered.
static void read_of_thread(uint32_t id, const char *file, char *text, size_t size) {
  char path[64];
  int saved = errno, before = csched_os_disable_cancellation_();
  snprintf(path, sizeof path, "/proc/self/task/%u/%s", (unsigned)id, file);
  int fd = is_filtered() ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = fd < 0 ? 0 : read(fd, text, size - 1);
  if (fd >= 0) close(fd);
  csched_os_restore_cancellation_(before);
  errno = saved;
  text[length > 0 ? length : 0] = 0;
}

// Returns: the state letter of thread `id` in /proc. R: runs or is ready; Z: has ended; other: sleeps; 0: unknown, or
// system calls are filtered.
static char state_of(uint32_t id) {
  char text[128];
  read_of_thread(id, "stat", text, sizeof text);
  const char *name_end = strrchr(text, ')'); // the line is: number (name) state …
  return name_end != NULL && name_end[1] == ' ' ? name_end[2] : 0;
}

// The signals that the main thread waits for in sigwait, which it does not block meanwhile. `*is_own`: false if it
// waits with another mask (ppoll).
static uint64_t signals_waited_for(bool *is_own) {
  char call[192], *first;
  uint64_t waited = 0;
  read_of_thread(csched_os_main_thread_id_(), "syscall", call, sizeof call); // number argument argument …; or "running"
  long number = strtol(call, &first, 10);
  if (first == call) return 0;
  if (number == SYS_ppoll || number == SYS_pselect6 || number == SYS_epoll_pwait) *is_own = false;
  if (number == SYS_rt_sigtimedwait)
    csched_os_copy_if_mapped_(&waited, (const void *)(uintptr_t)strtoull(first, NULL, 16), sizeof waited);
  return waited;
}

// Returns: whether the C library or a sanitizer may have set `mask` for a moment, as in pthread_create: 0: no; else how
// long to wait, in units of await_main. `own`: the mask of the calling thread.
static int doubt_of(uint64_t mask, uint64_t own) {
  uint64_t all =
      csched_os_all_signals_() & ~((uint64_t)1 << (SIGKILL - 1) | (uint64_t)1 << (SIGSTOP - 1)); // that can be blocked
  // A signal that only glibc blocks, unless the process has inherited that. musl blocks no more than a program's
  // sigfillset.
  if ((mask & ~own & (uint64_t)1 << 31) != 0) return 100;
  if ((mask & all) == all) return 1;
  // A sanitizer leaves open the signals of faults, SIGPIPE, SIGSYS, and those of the C library.
  static const int open[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGPIPE, SIGSYS};
  for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) all &= ~((uint64_t)1 << (open[i] - 1));
  return (mask & ~own & all) == all ? 10 : 0;
}

// Does: waits a moment for the main thread to leave the C library. It may enter it again meanwhile, if it starts one
// thread after the other. Returns: false: it has had the time, so the mask is the program's. `*used`: the main thread's
// processor time at the first call; `*sleeps`: how often it did not run.
static bool await_main(int doubt, csched_time *used, int *sleeps) {
  // ns of the processor, ns of a nap, and naps while the thread sleeps
  enum { TIME = 10000000, NAP = 200000, SLEEPS = 50 };
  uint32_t main = csched_os_main_thread_id_();
  csched_time now = csched_os_thread_processor_time_(main);
  if (*used == 0) *used = now;
  bool is_over = now - *used > (csched_time)TIME * (csched_time)doubt;
  if (doubt == 0 || is_over || (!csched_os_thread_is_ready_(main) && ++*sleeps > SLEEPS * doubt)) return false;
  csched_nap_(NAP);
  return true;
}

bool csched_os_main_mask_(uint64_t *mask) {
  const uint64_t own = *mask;
  char status[2048];
  bool is_own = true;
  csched_time used = 0;
  int sleeps = 0, saved = errno;
  do {
    uint64_t waited = signals_waited_for(&is_own); // and again below: the thread may begin or end a wait meanwhile
    read_of_thread(csched_os_main_thread_id_(), "status", status, sizeof status);
    const char *line = strstr(status, "SigBlk:");
    if (line == NULL || strstr(status, "State:\tZ") != NULL) return false; // Z: the thread has ended, with all blocked
    *mask = strtoull(line + sizeof "SigBlk:" - 1, NULL, 16) | waited | signals_waited_for(&is_own);
  } while (await_main(doubt_of(*mask, own), &used, &sleeps));
  errno = saved;
  return is_own;
}

bool csched_os_thread_is_ready_(uint32_t id) { return state_of(id) == 'R'; }

bool csched_os_thread_has_ended_(uint32_t id) { // the first thread, once ended, still exists as a zombie (Z)
  bool has_ended = !csched_os_thread_exists_(id) || (id == csched_os_main_thread_id_() && state_of(id) == 'Z');
  csched_fence_full(); // pairs with fences of the kernel's thread exit: the caller sees the thread's writes
  return has_ended;
}
#endif
