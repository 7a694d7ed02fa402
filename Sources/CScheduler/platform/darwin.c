#if defined(__APPLE__) // The port to Darwin: see platform.h. Kept so that it can compile; Linux is where it is tested.
#include "platform.h"

#include <errno.h>
#include <mach/mach.h>
#include <os/os_sync_wait_on_address.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysctl.h>
#include <time.h>
#include <unistd.h>

enum { NANOSECONDS = 1000000000 };

csched_time csched_now(void) { return clock_gettime_nsec_np(CLOCK_UPTIME_RAW); }

// MARK: futex

csched_futex_result csched_futex_wait_(uint32_t *word, uint32_t expected, csched_time deadline) {
  int saved = errno, answer;
  if (deadline == CSCHED_FOREVER) {
    answer = os_sync_wait_on_address(word, expected, sizeof *word, OS_SYNC_WAIT_ON_ADDRESS_NONE);
  } else {
    csched_time now = csched_now();
    if (now >= deadline) return CSCHED_FUTEX_TIMED_OUT;
    answer = os_sync_wait_on_address_with_timeout(word, expected, sizeof *word, OS_SYNC_WAIT_ON_ADDRESS_NONE,
                                                  OS_CLOCK_MACH_ABSOLUTE_TIME, deadline - now);
  }
  int error = answer >= 0 ? 0 : errno;
  errno = saved;
  switch (error) {
  case 0: return CSCHED_FUTEX_WOKEN; // or changed: this system does not tell them apart
  case EINTR:
  case EFAULT: return CSCHED_FUTEX_INTERRUPTED; // EFAULT: the page was out, look again
  case ETIMEDOUT: return CSCHED_FUTEX_TIMED_OUT;
  default: csched_os_abort_("Scheduler: futex wait: the kernel refused a valid request\n");
  }
}

void csched_futex_wake_(uint32_t *word, int count) {
  int saved = errno;
  if (count == 1) os_sync_wake_by_address_any(word, sizeof *word, OS_SYNC_WAKE_BY_ADDRESS_NONE);
  else os_sync_wake_by_address_all(word, sizeof *word, OS_SYNC_WAKE_BY_ADDRESS_NONE);
  errno = saved; // ENOENT: nobody slept
}

// MARK: fences. There is no membarrier here: both sides are full fences.

uint32_t csched_has_membarrier_;

void csched_fence_heavy_(void) { csched_fence_full(); }

// MARK: processors and time

unsigned csched_cpu_count_(void) {
  int count = 0;
  size_t size = sizeof count;
  return sysctlbyname("hw.activecpu", &count, &size, NULL, 0) == 0 && count > 0 ? (unsigned)count : 1;
}

void csched_nap_(csched_time span) {
  struct timespec left = {.tv_sec = (time_t)(span / NANOSECONDS), .tv_nsec = (long)(span % NANOSECONDS)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
}

// MARK: threads

static uint32_t live; // threads
static CSCHED_THREAD_LOCAL bool is_ours;

void csched_os_count_in_child_(void) { csched_store_relaxed(&live, is_ours ? 1u : 0u); } // hint

size_t csched_os_thread_count_(void) { return csched_load_relaxed(&live); } // hint

static void count_end(void *unused) {
  (void)unused;
  csched_fetch_add_relaxed(&live, UINT32_MAX); // hint
}

typedef struct start_info {
  void (*body)(void *);
  void *context;
} start_info;

static void *thread_main(void *argument) {
  start_info info = *(start_info *)argument;
  free(argument);
  is_ours = true;
  csched_os_finally_(info.body, count_end, info.context);
  return NULL;
}

int csched_os_thread_start_(csched_os_thread *thread, size_t stack_size, void (*body)(void *), void *context) {
  start_info *info = malloc(sizeof *info);
  if (info == NULL) return ENOMEM;
  *info = (start_info){body, context};
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error == 0) {
    size_t page = (size_t)getpagesize(), least = PTHREAD_STACK_MIN;
    if (stack_size != 0) {
      if (stack_size < least) stack_size = least;
      if (stack_size > SIZE_MAX - page) error = ENOMEM;
      else error = pthread_attr_setstacksize(&attributes, (stack_size + page - 1) / page * page);
    }
    pthread_t id;
    csched_fetch_add_relaxed(&live, 1u); // hint
    if (error == 0) error = pthread_create(&id, &attributes, thread_main, info);
    if (error == 0) thread->handle = (uintptr_t)id;
    else count_end(NULL);
    pthread_attr_destroy(&attributes);
  }
  if (error != 0) free(info);
  return error;
}

void csched_os_thread_join_(csched_os_thread thread) {
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); // no wait of ours is a point of cancellation
  pthread_join((pthread_t)thread.handle, NULL);
  pthread_setcancelstate(before, &before);
}

void csched_os_thread_detach_(csched_os_thread thread) { pthread_detach((pthread_t)thread.handle); }

void csched_os_finally_(void (*body)(void *), void (*finally)(void *), void *context) {
  pthread_cleanup_push(finally, context);
  body(context);
  pthread_cleanup_pop(1);
}

void csched_os_thread_set_name_(const char *name) { pthread_setname_np(name); }

uint32_t csched_os_thread_id_(void) { return pthread_mach_thread_np(pthread_self()); }

bool csched_os_is_main_thread_(void) { return pthread_main_np() != 0; }

bool csched_os_thread_exists_(uint32_t id) { return pthread_from_mach_thread_np(id) != NULL; }

void csched_os_thread_get_name_(uint32_t id, char *name, size_t size) {
  pthread_t thread = pthread_from_mach_thread_np(id);
  if (thread == NULL || pthread_getname_np(thread, name, size) != 0 || name[0] == 0) strlcpy(name, "?", size);
}

bool csched_os_thread_is_ready_(uint32_t id) {
  (void)id;
  return false;
}

csched_time csched_os_thread_processor_time_(uint32_t id) {
  thread_basic_info_data_t info;
  mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
  if (thread_info(id, THREAD_BASIC_INFO, (thread_info_t)&info, &count) != KERN_SUCCESS) return 0;
  return ((csched_time)info.user_time.seconds + (csched_time)info.system_time.seconds) * NANOSECONDS +
         ((csched_time)info.user_time.microseconds + (csched_time)info.system_time.microseconds) * 1000;
}

bool csched_os_thread_has_nice_(int *nice) { // a process has one value here
  *nice = 0;
  return false;
}

void csched_os_thread_set_nice_(int nice) { (void)nice; }

// MARK: the end

void csched_os_abort_(const char *text) {
  size_t left = strlen(text);
  while (left > 0) {
    ssize_t written = write(STDERR_FILENO, text, left);
    if (written < 0 && errno != EINTR) break;
    if (written > 0) {
      text += written;
      left -= (size_t)written;
    }
  }
  abort();
}
#endif
