// The thread of the main loop in a test process: a thread in place of the main one, as in a host; or, in a process that
// is started with SCHEDULER_TEST_MAIN set, the main thread, which would otherwise serve Dispatch while it waits for the
// test runner.
#define _GNU_SOURCE
#include "CTestSupport.h"

#include <CScheduler/loop_fd.h>
#include <CScheduler/main_loop.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

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

bool ctest_is_main_process(void) { return getenv("SCHEDULER_TEST_MAIN") != NULL; }

/// Swift's runtime calls it on the main thread, once that has nothing more to do in an asynchronous `main`.
extern void (*swift_task_asyncMainDrainQueue_hook)(void *original, void *override) __attribute__((weak));
/// Dispatch's doors for a main loop that is not its own: a descriptor that is readable when the main queue has
/// something, and what runs it.
extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *) __attribute__((weak));

static void run_main_queue(csched_fd_source *source, unsigned events) {
  uint64_t count;
  (void)events;
  if (read(source->fd, &count, sizeof count) != sizeof count) return;
  _dispatch_main_queue_callback_4CF(NULL);
}

static void run_main_loop(void *original, void *override) {
  static csched_fd_source source;
  (void)original, (void) override;
  csched_fd_source_init(&source, _dispatch_get_main_queue_handle_4CF(), CSCHED_FD_READ, run_main_queue, NULL);
  if (csched_loop_add_fd(csched_main_loop(), &source) != 0) abort();
  for (;;) csched_loop_run(csched_main_loop());
}

__attribute__((constructor)) static void take_main_thread(void) {
  if (!ctest_is_main_process()) return;
  sigset_t none; // a thread of Dispatch's has started the process, and has all signals blocked, which is inherited
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  if (&swift_task_asyncMainDrainQueue_hook != NULL) swift_task_asyncMainDrainQueue_hook = run_main_loop;
}
