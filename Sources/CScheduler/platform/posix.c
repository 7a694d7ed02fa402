#if defined(__linux__) || defined(__APPLE__) // What the ports share: thread-specific data, and forks. See platform.h.
#define _GNU_SOURCE
#include "platform.h"

#include <pthread.h>

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
static CSCHED_THREAD_LOCAL bool
    is_forking; // this thread has the list: one that is told may take its first lock, which watches

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
  csched_os_count_in_child_();
  tell(CSCHED_FORK_IN_CHILD);
  tell(CSCHED_FORK_IN_CHILD_LAST);
  is_forking = false;
  pthread_mutex_unlock(&making);
  pthread_mutex_unlock(&watching);
}

// At the start of the program, so that a program's own handlers come before ours, and in the child after them.
__attribute__((constructor)) static void listen_to_forks(void) { pthread_atfork(before, in_parent, in_child); }
#endif
