#include <CSchedulerVirtualTime.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

extern void csched_testing_install_(void); // in Swift: Sources/SchedulerVirtualTime/Install.swift

static _Thread_local void *scope; // the VirtualScope (Swift) whose job runs on this thread; NULL: none

void *csched_testing_scope_(void) { return scope; }

void csched_testing_set_scope_(void *new_scope) { scope = new_scope; }

void csched_testing_warn_(const char *text) { fputs(text, stderr); }

typedef struct call { // the function that a new thread calls, on the heap until the thread has read it
  void (*body)(void *context);
  void *context;
} call;

// The function of a new thread. Does: copies and frees `given`, a struct call on the heap, and makes this call.
// Returns: NULL, unused.
static void *run_call(void *given) {
  call call = *(struct call *)given;
  free(given);
  call.body(call.context);
  return NULL;
}

int csched_testing_start_(uintptr_t *thread, void (*body)(void *context), void *context) {
  call *given = malloc(sizeof *given);
  if (given == NULL) return ENOMEM;
  *given = (call){body, context};
  pthread_t made;
  int error = pthread_create(&made, NULL, run_call, given);
  if (error != 0) free(given); // no thread was created, so run_call does not free it
  else *thread = (uintptr_t)made;
  return error;
}

void csched_testing_join_(uintptr_t thread) { pthread_join((pthread_t)thread, NULL); }

// Replaces Swift's executors. Runs before main, while the process has one thread: no other thread may use the executors
// meanwhile.
__attribute__((constructor)) static void install(void) { csched_testing_install_(); }
