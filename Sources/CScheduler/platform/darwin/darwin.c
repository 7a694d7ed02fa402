#if defined(__APPLE__) // Platform layer for Darwin, written to compile there; only Linux is tested. See platform.h.
#include "../platform.h"
#include <errno.h>
#include <mach/mach.h>
#include <os/os_sync_wait_on_address.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysctl.h>
#include <time.h>
#include <unistd.h>

enum { NANOSECONDS = 1000000000 }; // in a second

csched_time csched_now(void) { return clock_gettime_nsec_np(CLOCK_UPTIME_RAW); }

bool csched_os_has_more_rights_(void) { return issetugid() != 0; }

// MARK: futex

// Does: if `*word == expected`, sleeps until a wake on `word`, a signal, or `deadline`.
csched_futex_result csched_futex_wait_(uint32_t *word, uint32_t expected, csched_time deadline) {
  csched_os_note_call_();
  int saved = errno, answer;
  if (deadline == CSCHED_FOREVER) {
    answer = os_sync_wait_on_address(word, expected, sizeof *word, OS_SYNC_WAIT_ON_ADDRESS_NONE);
  } else {
    csched_time now = csched_now();
    if (now >= deadline) return CSCHED_FUTEX_TIMED_OUT; // the call below has a relative timeout
    answer = os_sync_wait_on_address_with_timeout(word, expected, sizeof *word, OS_SYNC_WAIT_ON_ADDRESS_NONE,
                                                  OS_CLOCK_MACH_ABSOLUTE_TIME, deadline - now);
  }
  int error = answer >= 0 ? 0 : errno;
  errno = saved;
  switch (error) {
  case 0: return CSCHED_FUTEX_WOKEN; // or CHANGED: Darwin does not distinguish them
  case EINTR:
  case EFAULT: return CSCHED_FUTEX_INTERRUPTED; // EFAULT: the page was not resident; callers retry
  case ETIMEDOUT: return CSCHED_FUTEX_TIMED_OUT;
  default: csched_os_abort_("Scheduler: futex wait: the kernel refused a valid request\n");
  }
}

void csched_futex_wake_(uint32_t *word, int count) {
  csched_os_note_call_();
  int saved = errno;
  if (count == 1) os_sync_wake_by_address_any(word, sizeof *word, OS_SYNC_WAKE_BY_ADDRESS_NONE);
  else os_sync_wake_by_address_all(word, sizeof *word, OS_SYNC_WAKE_BY_ADDRESS_NONE); // Darwin has no other counts
  errno = saved; // an error means that no thread slept (ENOENT)
}

// MARK: fences. Darwin has no membarrier, so the light and the heavy fence are full fences.

uint32_t csched_has_membarrier_; // always 0

bool csched_fences_decide_(void) { return false; }
void csched_fence_heavy_(void) { csched_fence_full(); }

// MARK: processors and time

unsigned csched_cpu_count_(void) {
  int count = 0;
  size_t size = sizeof count;
  return sysctlbyname("hw.activecpu", &count, &size, NULL, 0) == 0 && count > 0 ? (unsigned)count : 1;
}

uint32_t csched_processors_seen_; // 0: unknown; 1: one processor; MANY: several

void csched_processors_note_own_(void) {                  // no affinity: a thread may use all
  if (csched_load_relaxed(&csched_processors_seen_) == 0) // Speed only
    csched_store_relaxed(&csched_processors_seen_, csched_cpu_count_() > 1 ? (uint32_t)CSCHED_PROCESSORS_MANY_ : 1u);
}

bool csched_processors_recheck_(void) {
  csched_processors_note_own_();
  return csched_load_relaxed(&csched_processors_seen_) == CSCHED_PROCESSORS_MANY_; // Speed only
}

void csched_nap_(csched_time span) {
  struct timespec left = {.tv_sec = (time_t)(span / NANOSECONDS), .tv_nsec = (long)(span % NANOSECONDS)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
}

// MARK: threads

size_t csched_os_thread_least_stack_(void) { return PTHREAD_STACK_MIN; }
void csched_os_thread_drop_slack_(void) {} // Darwin wakes only real-time threads without delay
void csched_os_thread_set_name_(const char *name) { pthread_setname_np(name); }
uint32_t csched_os_thread_id_(void) { return pthread_mach_thread_np(pthread_self()); }
bool csched_os_is_main_thread_(void) { return pthread_main_np() != 0; }
bool csched_os_main_mask_(uint64_t *mask) { return (void)mask, false; } // Darwin does not tell it

void csched_os_thread_get_stack_(uintptr_t *low, uintptr_t *high) {
  *high = (uintptr_t)pthread_get_stackaddr_np(pthread_self());
  *low = *high - pthread_get_stacksize_np(pthread_self());
}

bool csched_os_thread_signal_(uint32_t id, int signal) {
  pthread_t thread = pthread_from_mach_thread_np(id);
  return thread != NULL && pthread_kill(thread, signal) == 0;
}

bool csched_os_thread_exists_(uint32_t id) { return pthread_from_mach_thread_np(id) != NULL; }

bool csched_os_thread_has_ended_(uint32_t id) {
  bool has_ended = !csched_os_thread_exists_(id);
  csched_fence_full(); // so that the caller sees the writes of the ended thread
  return has_ended;
}

void csched_os_thread_get_name_(uint32_t id, char *name, size_t size) {
  pthread_t thread = pthread_from_mach_thread_np(id);
  if (thread == NULL || pthread_getname_np(thread, name, size) != 0 || name[0] == 0) strlcpy(name, "?", size);
}

bool csched_os_thread_is_ready_(uint32_t id) { // false: unknown, so the pool counts the thread as blocked
  (void)id;
  return false;
}

uint32_t csched_os_main_thread_id_(void) { return 0; }
bool csched_os_main_queue_waits_(void) { return false; } // its port would have to be asked by a message

csched_time csched_os_thread_processor_time_(uint32_t id) {
  thread_basic_info_data_t info;
  mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
  if (thread_info(id, THREAD_BASIC_INFO, (thread_info_t)&info, &count) != KERN_SUCCESS) return 0;
  return ((csched_time)info.user_time.seconds + (csched_time)info.system_time.seconds) * NANOSECONDS +
         ((csched_time)info.user_time.microseconds + (csched_time)info.system_time.microseconds) * 1000;
}

bool csched_os_thread_has_nice_(int *nice) { // false: Darwin has one nice value per process, none per thread
  *nice = 0;
  return false;
}

bool csched_os_thread_set_nice_(int nice, int base) { return nice == base; } // only no change is possible
int csched_os_thread_nice_(void) { return 0; }
void csched_os_thread_lift_(uint32_t thread) { (void)thread; } // no nice value is ever raised
bool csched_os_thread_is_lifted_(uint32_t thread) {
  (void)thread;
  return false;
}

int csched_os_thread_set_affinity_(const unsigned *processors, size_t count) {
  return (void)processors, (void)count, ENOTSUP;
}

int csched_os_thread_set_policy_(unsigned policy, int priority) { return (void)policy, (void)priority, ENOTSUP; }
bool csched_os_thread_is_raised_(int *base) { return (void)base, false; }

// MARK: memory

// Not needed: Darwin's leak tools search all memory.
void csched_os_leaks_register_(void *memory, size_t size) { (void)memory, (void)size; }

// Maps new zeroed pages in place of the old ones. Rejected: madvise, after which the pages may keep their content for a
// while.
void csched_os_pages_discard_(void *pages, size_t size) {
  mmap(pages, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0);
}

// MARK: reading memory and names

bool csched_os_copy_if_mapped_(void *copy, const void *memory, size_t size) {
  vm_size_t copied = 0;
  return vm_read_overwrite(mach_task_self(), (vm_address_t)memory, size, (vm_address_t)copy, &copied) == KERN_SUCCESS &&
         copied == size;
}

// No symbol table is read here: dladdr finds all names that are available.
bool csched_os_code_in_file_(const char *path, uint64_t address, char *name, size_t size) {
  return (void)path, (void)address, (void)name, (void)size, false;
}
void csched_os_demangle_(char *name, size_t size) { (void)name, (void)size; }
bool csched_os_has_swift_(void) { return false; }
#endif
