#include "pool_testing.h"

#include <unistd.h>

// MARK: a cancelled thread in a wait of ours

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

// The wait goes on until `end`; then the thread dies at a point of its own.
static void check_goes_on(const char *what, void (*wait)(void *), void *context, void (*end)(void *)) {
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
static void be_told(csched_fd_source *source, unsigned events) { (void)source, (void)events; }
static void run_loop(void *context) {
  run *run = context;
  csched_loop *loop = NULL;
  csched_fd_source source;
  int ends[2] = {-1, -1};
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  if (run->has_source) {
    if (pipe(ends) != 0) abort();
    csched_fd_source_init(&source, ends[0], CSCHED_FD_READ, be_told, NULL);
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
  check_goes_on("lock", wait_for_lock, &lock, unlock);
  csched_lock_lock(&lock);
  check_goes_on("lock until", wait_for_lock_until, &lock, unlock);
  csched_serial_suspend(queue);
  check_goes_on("sync", wait_for_sync, queue, resume);
  atomic_store(&opens, 0);
  probe_init(&busy, be_busy, NULL);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&busy)), 0);
  CHECK_SOON(atomic_load(&busy.runs) == 1);
  check_goes_on("cancel and wait", wait_for_job, job_of(&busy), open_it);
  check_goes_on("a thread's join", join_thread, thread, stop_thread);
  check_goes_on("a loop's run", run_loop, &(run){.has_source = false}, close_loop);
  check_goes_on("a loop's run with a source", run_loop, &(run){.has_source = true}, close_loop);
  csched_serial_destroy(queue);
  check_goes_on("a pool's join", join_pool, pool, stop_pool);
  CHECK_EQUAL(csched_thread_join(thread), 0); // no cancelled thread holds its lock
  csched_thread_destroy(thread);
  csched_pool_destroy(pool);
}

TEST("a wait is no point of cancellation: the thread goes on to one of its own") { cancel_in_waits(); }

// MARK: a cancelled thread in a job

static void die(probe *probe) {
  (void)probe;
  pthread_cancel(pthread_self());
  pthread_testcancel();
  CHECK(false);
}

static probe dying, next;

static void queue_and_die(probe *probe) {
  csched_trampoline_run(job_of(&next));
  die(probe);
}

static void *die_on_trampoline(void *context) {
  csched_trampoline_run(job_of(&dying));
  return context;
}

static void *die_on_loop(void *context) {
  CHECK_EQUAL(csched_loop_create(context), 0);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(*(csched_loop **)context), job_of(&dying)), 0);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(*(csched_loop **)context), job_of(&next)), 0);
  csched_loop_run(*(csched_loop **)context);
  return context;
}

static void check_dies(void *(*body)(void *), void *context) {
  pthread_t thread;
  void *result = NULL;
  if (pthread_create(&thread, NULL, body, context) != 0) abort();
  pthread_join(thread, &result);
  CHECK(result == PTHREAD_CANCELED);
  CHECK_PROBE(&dying, 1, 0);
  CHECK_PROBE(&next, 0, 1); // no thread can run it
}

static void cancel_in_jobs(void) {
  csched_loop *loop = NULL;
  probe_init(&dying, queue_and_die, NULL);
  probe_init(&next, NULL, NULL);
  check_dies(die_on_trampoline, NULL);
  probe_init(&dying, die, NULL);
  probe_init(&next, NULL, NULL);
  check_dies(die_on_loop, &loop);
  csched_loop_destroy(loop);

  csched_thread *thread = start_thread("cancelled");
  gate gate;
  gate_close(&gate, thread);
  probe_init(&dying, die, NULL);
  probe_init(&next, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&dying)), 0);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&next)), 0);
  gate_open(&gate);
  CHECK_EQUAL(csched_thread_join(thread), 0);
  CHECK_PROBE(&dying, 1, 0);
  CHECK_PROBE(&next, 0, 1);
  csched_thread_destroy(thread);

  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1});
  probe_init(&dying, die, NULL);
  probe_init(&next, NULL, NULL);
  post(pool, CSCHED_PRIORITY_DEFAULT, &dying);
  post(pool, CSCHED_PRIORITY_DEFAULT, &next);
  end_pool(pool, CSCHED_STOP_RUN);
  CHECK_PROBE(&dying, 1, 0);
  CHECK_PROBE(&next, 1, 0); // by the worker in its place
}

// A cancelled thread does not return from its frames: AddressSanitizer takes their marks on the stack for those of the
// functions that are called next.
TEST_UNLESS(ADDRESS_SANITIZER, "it does not see that a cancelled thread leaves its frames",
            "a job whose thread is cancelled inside of it has ended, and what waits is dropped") {
  cancel_in_jobs();
}
