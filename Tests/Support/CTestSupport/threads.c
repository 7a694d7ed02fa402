// Threads for tests that block: each call runs at once, on a thread that is idle or on a new one.
// An idle thread has a semaphore of its own. With one condition for all, a signal was lost once in a whole run, and a
// test never ended: glibc before 2.41 loses signals of pthread_cond_signal (bug 25847).
#include <CTestSupport.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

typedef struct worker {
  void (*body)(void *);
  void *context;
  sem_t is_called;
  struct worker *next;
} worker;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static worker *idle; // under `mutex`

static CSCHED_NORETURN void *run_calls(void *given) {
  worker *own = given;
  for (;;) {
    own->body(own->context);
    pthread_mutex_lock(&mutex);
    own->next = idle;
    idle = own;
    pthread_mutex_unlock(&mutex);
    while (sem_wait(&own->is_called) != 0 && errno == EINTR) {}
  }
}

static void start_thread(worker *own) {
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (pthread_create(&thread, &attributes, run_calls, own) != 0) abort();
  pthread_attr_destroy(&attributes);
}

void ctest_run_on_thread(void (*body)(void *), void *context) {
  pthread_mutex_lock(&mutex);
  worker *found = idle;
  if (found != NULL) idle = found->next;
  pthread_mutex_unlock(&mutex);
  worker *own = found != NULL ? found : malloc(sizeof *own);
  if (own == NULL || (found == NULL && sem_init(&own->is_called, 0, 0) != 0)) abort();
  own->body = body;
  own->context = context;
  if (found != NULL) sem_post(&own->is_called);
  else start_thread(own);
}

__attribute__((noinline)) uintptr_t ctest_stack_address(void) { return (uintptr_t)__builtin_frame_address(0); }
