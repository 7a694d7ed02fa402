// A thread that takes the main one's place for the main loop, as a host's thread does.
#include "CTestSupport.h"

#include <CScheduler/loop_fd.h>
#include <CScheduler/main_loop.h>

#include <pthread.h>
#include <stdlib.h>

static void *host(void *unused) {
  csched_loop *loop = csched_main_loop();
  if (loop == NULL) abort();
  csched_loop_attach(loop);
  for (;;) csched_loop_run(loop);
  return unused;
}

static void start(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, host, NULL) != 0) abort();
  pthread_detach(thread);
}

void ctest_take_main_loop(void) { csched_loop_attach(csched_main_loop()); }

void ctest_host_main_loop(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start);
}
