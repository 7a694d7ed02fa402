// Threads for tests that block: each call runs at once, on a thread that is idle or on a new one.
#include <CTestSupport.h>

#include <pthread.h>
#include <stdlib.h>

typedef struct call {
  void (*body)(void *);
  void *context;
  struct call *next;
} call;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_called = PTHREAD_COND_INITIALIZER;
static call *first, **last = &first;
static size_t idle, waiting; // threads; calls

static CSCHED_NORETURN void *run_calls(void *unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  for (;;) {
    while (first == NULL) {
      idle++;
      pthread_cond_wait(&is_called, &mutex);
      idle--;
    }
    call *own = first;
    first = own->next;
    if (first == NULL) last = &first;
    waiting--;
    pthread_mutex_unlock(&mutex);
    own->body(own->context);
    free(own);
    pthread_mutex_lock(&mutex);
  }
}

static void start_thread(void) {
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (pthread_create(&thread, &attributes, run_calls, NULL) != 0) abort();
  pthread_attr_destroy(&attributes);
}

void ctest_run_on_thread(void (*body)(void *), void *context) {
  call *own = malloc(sizeof *own);
  *own = (call){.body = body, .context = context};
  pthread_mutex_lock(&mutex);
  *last = own;
  last = &own->next;
  waiting++;
  bool needs_thread = waiting > idle; // an idle thread may have been woken for an earlier call
  pthread_cond_signal(&is_called);
  pthread_mutex_unlock(&mutex);
  if (needs_thread) start_thread();
}
