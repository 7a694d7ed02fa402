#if defined(__linux__) ||                                                                                              \
    defined(__APPLE__) // What the ports share: threads, their data, forks, the end. See platform.h.
#define _GNU_SOURCE
#include "platform.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// MARK: threads

static uint32_t live; // threads
static CSCHED_THREAD_LOCAL bool is_ours;

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
  csched_os_thread_be_punctual_();
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
    size_t page = (size_t)sysconf(_SC_PAGESIZE), least = csched_os_thread_least_stack_();
    if (stack_size != 0) {
      if (stack_size < least) stack_size = least;
      if (stack_size > SIZE_MAX - page) error = ENOMEM; // rounding up would wrap
      else error = pthread_attr_setstacksize(&attributes, (stack_size + page - 1) / page * page);
    }
    pthread_t id;
    csched_fetch_add_relaxed(&live, 1u); // hint
    if (error == 0) error = pthread_create(&id, &attributes, thread_main, info);
    if (error == EINVAL) error = ENOMEM; // a stack that fits into no address space
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

// MARK: thread-specific data

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

int csched_tsd_set_(csched_tsd *tsd, void *value, void (*destructor)(void *)) {
  if (csched_load_acquire(&tsd->state) != 2) {
    pthread_mutex_lock(&making);
    int error = 0;
    if (csched_load_relaxed(&tsd->state) != 2) {
      pthread_key_t key;
      error = pthread_key_create(&key, destructor);
      tsd->key = (uint32_t)key;
      if (error == 0) csched_store_release(&tsd->state, 2u);
    }
    pthread_mutex_unlock(&making);
    if (error != 0) return error;
  }
  return pthread_setspecific(tsd->key, value);
}

// MARK: forks

static pthread_mutex_t watching = PTHREAD_MUTEX_INITIALIZER; // of the list, also from before a fork until after it
static csched_fork_watch *watches;
// This thread has the list: one that is told may take its first lock, which watches.
static CSCHED_THREAD_LOCAL bool is_forking;

void csched_os_watch_forks_(csched_fork_watch *watch) {
  if (!is_forking) pthread_mutex_lock(&watching);
  if (watch->back == NULL) {
    watch->next = watches;
    watch->back = &watches;
    if (watches != NULL) watches->back = &watch->next;
    watches = watch;
  }
  if (!is_forking) pthread_mutex_unlock(&watching);
}

void csched_os_unwatch_forks_(csched_fork_watch *watch) {
  pthread_mutex_lock(&watching);
  if (watch->back != NULL) {
    *watch->back = watch->next;
    if (watch->next != NULL) watch->next->back = watch->back;
    watch->back = NULL;
  }
  pthread_mutex_unlock(&watching);
}

static void tell(csched_fork_phase phase) {
  for (csched_fork_watch *each = watches, *next; each != NULL; each = next) {
    next = each->next;
    each->told(each, phase);
  }
}

static void before(void) {
  pthread_mutex_lock(&watching);
  pthread_mutex_lock(&making);
  is_forking = true;
  tell(CSCHED_FORK_BEFORE);
}

static void in_parent(void) {
  tell(CSCHED_FORK_IN_PARENT);
  is_forking = false;
  pthread_mutex_unlock(&making);
  pthread_mutex_unlock(&watching);
}

static void in_child(void) {
  csched_store_relaxed(&live, is_ours ? 1u : 0u); // hint
  tell(CSCHED_FORK_IN_CHILD_FIRST);
  tell(CSCHED_FORK_IN_CHILD);
  tell(CSCHED_FORK_IN_CHILD_LAST);
  is_forking = false;
  pthread_mutex_unlock(&making);
  pthread_mutex_unlock(&watching);
}

// At the start of the program, so that a program's own handlers come before ours, and in the child after them.
__attribute__((constructor)) static void listen_to_forks(void) { pthread_atfork(before, in_parent, in_child); }

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
