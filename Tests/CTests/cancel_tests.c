#include "pool_testing.h"

#include <unistd.h>

// MARK: a cancelled thread in a wait of the library

typedef struct waiter {
  void (*wait)(void *);
  void *context;
  atomic_int began, returned, survived;
} waiter;

static void *wait_main(void *argument) {
  waiter *waiter = argument;
  atomic_store(&waiter->began, 1);
  waiter->wait(waiter->context);
  atomic_store(&waiter->returned, 1);
  pthread_testcancel();
  atomic_store(&waiter->survived, 1);
  return NULL;
}

// The wait continues until `end`. The thread then ends at its own cancellation point.
static void check_continues(const char *what, void (*wait)(void *), void *context, void (*end)(void *)) {
  waiter waiter = {.wait = wait, .context = context};
  pthread_t thread;
  void *result = NULL;
  if (pthread_create(&thread, NULL, wait_main, &waiter) != 0) abort();
  CHECK_SOON(atomic_load(&waiter.began));
  nap(3 * MS);
  pthread_cancel(thread);
  nap(3 * MS);
  bool was_early = atomic_load(&waiter.returned) != 0;
  end(context);
  pthread_join(thread, &result);
  if (was_early || !atomic_load(&waiter.returned) || atomic_load(&waiter.survived) || result != PTHREAD_CANCELED)
    test_fail(HERE, what);
}

static csched_lock lock;
static void wait_for_lock(void *context) {
  csched_lock_lock(context);
  csched_lock_unlock(context);
}
static void wait_for_lock_until(void *context) {
  CHECK(csched_lock_lock_until(context, csched_now() + 60000 * MS));
  csched_lock_unlock(context);
}
static void unlock(void *context) { csched_lock_unlock(context); }

static void do_nothing(void *context) { (void)context; }
static void wait_for_sync(void *context) { CHECK_EQUAL(csched_serial_sync(context, do_nothing, NULL), 0); }
static void resume(void *context) { csched_serial_resume(context); }

static void join_thread(void *context) { CHECK_EQUAL(csched_thread_join(context), 0); }
static void stop_thread(void *context) { csched_thread_stop(context, CSCHED_STOP_RUN); }
static void join_pool(void *context) { CHECK_EQUAL(csched_pool_join(context), 0); }
static void stop_pool(void *context) { csched_pool_stop(context, CSCHED_STOP_RUN); }

static atomic_int opens;
static probe busy;
static void be_busy(probe *probe) {
  (void)probe;
  while (!atomic_load(&opens)) nap(50 * US);
}
static void wait_for_job(void *context) { csched_job_cancel_and_wait(context); }
static void open_it(void *context) {
  (void)context;
  atomic_store(&opens, 1);
}

typedef struct run {
  void *loop; // a csched_loop
  bool has_source;
  atomic_int is_closed; // by a call that has returned
} run;
static void ignore_events(csched_fd_source *source, unsigned events) { (void)source, (void)events; }
static void run_loop(void *context) {
  run *run = context;
  csched_loop *loop = NULL;
  csched_fd_source source;
  int ends[2] = {-1, -1};
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  if (run->has_source) {
    if (pipe(ends) != 0) abort();
    csched_fd_source_init(&source, ends[0], CSCHED_FD_READ, ignore_events, NULL);
    CHECK_EQUAL(csched_loop_add_fd(loop, &source), 0);
  }
  csched_store_release(&run->loop, loop);
  CHECK_EQUAL(csched_loop_run(loop), CSCHED_RUN_CLOSED);
  WAIT_WHILE(!atomic_load(&run->is_closed));
  csched_loop_destroy(loop);
  int state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state); // close is a point of cancellation
  if (run->has_source) close(ends[0]), close(ends[1]);
  pthread_setcancelstate(state, &state);
}
static void close_loop(void *context) {
  run *mine = context;
  csched_loop_close(csched_load_acquire(&mine->loop), CSCHED_STOP_RUN);
  atomic_store(&mine->is_closed, 1);
}

static void cancel_in_waits(void) {
  csched_thread *thread = start_thread("joined");
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1});
  csched_serial *queue = NULL;
  CHECK_EQUAL(csched_serial_create(&queue, csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT)), 0);
  csched_lock_lock(&lock);
  check_continues("lock", wait_for_lock, &lock, unlock);
  csched_lock_lock(&lock);
  check_continues("lock until", wait_for_lock_until, &lock, unlock);
  csched_serial_suspend(queue);
  check_continues("sync", wait_for_sync, queue, resume);
  atomic_store(&opens, 0);
  probe_init(&busy, be_busy, NULL);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&busy)), 0);
  CHECK_SOON(atomic_load(&busy.runs) == 1);
  check_continues("cancel and wait", wait_for_job, job_of(&busy), open_it);
  check_continues("a thread's join", join_thread, thread, stop_thread);
  check_continues("a loop's run", run_loop, &(run){.has_source = false}, close_loop);
  check_continues("a loop's run with a source", run_loop, &(run){.has_source = true}, close_loop);
  csched_serial_destroy(queue);
  check_continues("a pool's join", join_pool, pool, stop_pool);
  CHECK_EQUAL(csched_thread_join(thread), 0); // no cancelled thread holds its lock
  csched_thread_destroy(thread);
  csched_pool_destroy(pool);
}

TEST("a wait is no cancellation point: the thread continues to its own one") { cancel_in_waits(); }

// MARK: a cancelled thread in a job

static void cancel_self(probe *probe) {
  (void)probe;
  pthread_cancel(pthread_self());
  pthread_testcancel();
  CHECK(false);
}

static probe cancelled_job, next;

static void queue_and_cancel(probe *probe) {
  csched_trampoline_run(job_of(&next));
  cancel_self(probe);
}

static void *cancel_on_trampoline(void *context) {
  csched_trampoline_run(job_of(&cancelled_job));
  return context;
}

static void *cancel_on_loop(void *context) {
  CHECK_EQUAL(csched_loop_create(context), 0);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(*(csched_loop **)context), job_of(&cancelled_job)), 0);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(*(csched_loop **)context), job_of(&next)), 0);
  csched_loop_run(*(csched_loop **)context);
  return context;
}

static void check_cancelled(void *(*body)(void *), void *context) {
  pthread_t thread;
  void *result = NULL;
  if (pthread_create(&thread, NULL, body, context) != 0) abort();
  pthread_join(thread, &result);
  CHECK(result == PTHREAD_CANCELED);
  CHECK_PROBE(&cancelled_job, 1, 0);
  CHECK_PROBE(&next, 0, 1); // no thread can run it
}

static void cancel_in_jobs(void) {
  csched_loop *loop = NULL;
  probe_init(&cancelled_job, queue_and_cancel, NULL);
  probe_init(&next, NULL, NULL);
  check_cancelled(cancel_on_trampoline, NULL);
  probe_init(&cancelled_job, cancel_self, NULL);
  probe_init(&next, NULL, NULL);
  check_cancelled(cancel_on_loop, &loop);
  csched_loop_destroy(loop);

  csched_thread *thread = start_thread("cancelled");
  gate gate;
  gate_close(&gate, thread);
  probe_init(&cancelled_job, cancel_self, NULL);
  probe_init(&next, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&cancelled_job)), 0);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&next)), 0);
  gate_open(&gate);
  CHECK_EQUAL(csched_thread_join(thread), 0);
  CHECK_PROBE(&cancelled_job, 1, 0);
  CHECK_PROBE(&next, 0, 1);
  csched_thread_destroy(thread);

  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1});
  probe_init(&cancelled_job, cancel_self, NULL);
  probe_init(&next, NULL, NULL);
  post(pool, CSCHED_PRIORITY_DEFAULT, &cancelled_job);
  post(pool, CSCHED_PRIORITY_DEFAULT, &next);
  end_pool(pool, CSCHED_STOP_RUN);
  CHECK_PROBE(&cancelled_job, 1, 0);
  CHECK_PROBE(&next, 1, 0); // by the worker in its place
}

// A cancelled thread does not return from its frames: AddressSanitizer takes their marks on the stack for those of the
// functions that are called next.
TEST_UNLESS(ADDRESS_SANITIZER, "it does not see that a cancelled thread leaves its frames",
            "a job whose thread is cancelled inside of it has ended, and the waiting jobs are dropped") {
  cancel_in_jobs();
}
