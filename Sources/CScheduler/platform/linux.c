#if defined(__linux__) // The port to Linux: see platform.h.
#define _GNU_SOURCE
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NANOSECONDS = 1000000000 };

csched_time csched_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (csched_time)now.tv_sec * NANOSECONDS + (csched_time)now.tv_nsec;
}

static struct timespec timespec_from(csched_time time) {
  return (struct timespec){.tv_sec = (time_t)(time / NANOSECONDS), .tv_nsec = (long)(time % NANOSECONDS)};
}

// MARK: futex

csched_futex_result csched_futex_wait_(uint32_t *word, uint32_t expected, csched_time deadline) {
  int saved = errno;
  struct timespec at = timespec_from(deadline);
  // WAIT_BITSET takes an absolute deadline on the monotonic clock; plain WAIT would take a relative one.
  long answer = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline == CSCHED_FOREVER ? NULL : &at,
                        NULL, FUTEX_BITSET_MATCH_ANY);
  int error = answer == 0 ? 0 : errno;
  errno = saved;
  switch (error) {
  case 0: return CSCHED_FUTEX_WOKEN;
  case EAGAIN: return CSCHED_FUTEX_CHANGED;
  case EINTR: return CSCHED_FUTEX_INTERRUPTED;
  case ETIMEDOUT: return CSCHED_FUTEX_TIMED_OUT;
  default: csched_os_abort_("Scheduler: futex wait: the kernel refused a valid request\n"); // EFAULT, EINVAL, ENOSYS
  }
}

void csched_futex_wake_(uint32_t *word, int count) {
  int saved = errno;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0); // EFAULT: the sleeper is gone, and awake
  errno = saved;
}

// MARK: membarrier

uint32_t csched_has_membarrier_;

static long membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

__attribute__((constructor)) static void register_membarrier(void) {
  int saved = errno;
  csched_has_membarrier_ = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  errno = saved;
}

void csched_fence_heavy_(void) {
  if (!csched_has_membarrier_) {
    csched_fence_full();
    return;
  }
  int saved = errno;
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) {
    // EPERM: a registration that did not survive (fork into a new address space). ENOMEM: the kernel had none just now.
    while (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0 ||
           membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)
      sched_yield();
  }
  errno = saved;
}

// MARK: time

// No wait of ours is a point of cancellation: who is cancelled in one goes on to a point of its own. The system calls of futexes
// and pollers are raw, and so are none.
static int refuse_cancellation(void) {
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  return before;
}

static void permit_cancellation(int before) { pthread_setcancelstate(before, &before); }

void csched_nap_(csched_time span) {
  struct timespec until = timespec_from(csched_now() + span);
  int before = refuse_cancellation();
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {}
  permit_cancellation(before);
}

// MARK: threads

size_t csched_os_thread_least_stack_(void) { return (size_t)sysconf(_SC_THREAD_STACK_MIN); }

// The main thread's stack begins below the name of the program, and has nothing but itself for 128 MB below: the kernel keeps a gap.
// (pthread_getattr_np reads a file for it.)
static void find_main_stack(uintptr_t *low, uintptr_t *high) {
  static const uintptr_t GAP = (uintptr_t)128 << 20;
  struct rlimit limit;
  uintptr_t top = (uintptr_t)getauxval(AT_EXECFN);
  if (top == 0 || getrlimit(RLIMIT_STACK, &limit) != 0) return;
  *high = top;
  *low = top - (limit.rlim_cur < GAP ? (uintptr_t)limit.rlim_cur : GAP);
}

void csched_os_stack_(uintptr_t *low, uintptr_t *high) {
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

// Else the kernel may be 50 µs late. Who can wait says so, by a leeway.
void csched_os_thread_be_punctual_(void) { prctl(PR_SET_TIMERSLACK, 1UL); }

void csched_os_thread_set_name_(const char *name) { pthread_setname_np(pthread_self(), name); }

uint32_t csched_os_thread_id_(void) { return (uint32_t)syscall(SYS_gettid); }

bool csched_os_is_main_thread_(void) { return csched_os_thread_id_() == (uint32_t)getpid(); }

bool csched_os_thread_exists_(uint32_t id) {
  int saved = errno;
  bool exists = syscall(SYS_tgkill, getpid(), id, 0) == 0 || errno != ESRCH;
  errno = saved;
  return exists;
}

void csched_os_thread_get_name_(uint32_t id, char *name, size_t size) {
  char path[64];
  int before = refuse_cancellation();
  snprintf(path, sizeof path, "/proc/self/task/%u/comm", (unsigned)id);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? -1 : read(file, name, size - 1);
  if (file >= 0) close(file);
  permit_cancellation(before);
  if (length <= 0) {
    name[0] = '?';
    length = 1;
  }
  name[length] = 0;
  name[strcspn(name, "\n")] = 0;
}

csched_time csched_os_thread_processor_time_(uint32_t id) {
  clockid_t clock =
      (clockid_t)(~id << 3 | 6); // the kernel's name for a thread's clock, as pthread_getcpuclockid makes it
  struct timespec used;
  if (clock_gettime(clock, &used) != 0) return 0;
  return (csched_time)used.tv_sec * NANOSECONDS + (csched_time)used.tv_nsec;
}

bool csched_os_thread_is_ready_(uint32_t id) {
  char path[64], text[128];
  snprintf(path, sizeof path, "/proc/self/task/%u/stat", (unsigned)id);
  int saved = errno, file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  errno = saved;
  text[length > 0 ? length : 0] = 0;
  const char *name_end = strrchr(text, ')'); // then the state: R, or how it sleeps
  return name_end != NULL && strncmp(name_end, ") R", 3) == 0;
}

bool csched_os_thread_has_nice_(int *nice) {
  int saved = errno;
  struct rlimit limit;
  errno = 0;
  *nice = getpriority(PRIO_PROCESS, 0); // of the thread: on Linux each has its own
  bool may = errno == 0 && *nice < 19 && getrlimit(RLIMIT_NICE, &limit) == 0 && (rlim_t)(20 - *nice) <= limit.rlim_cur;
  if (!may && errno == 0 && *nice > -20) { // a capability, or none: only trying tells
    may = setpriority(PRIO_PROCESS, 0, *nice - 1) == 0;
    if (may) setpriority(PRIO_PROCESS, 0, *nice);
  }
  errno = saved;
  return may;
}

void csched_os_thread_set_nice_(int nice) {
  int saved = errno;
  setpriority(PRIO_PROCESS, 0, nice);
  errno = saved;
}
#endif
