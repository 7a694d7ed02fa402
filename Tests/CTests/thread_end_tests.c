#include "pool_testing.h"

// What ends in the middle of a job. Probes are static: they outlive the thread's frames.

static void exit_thread(probe *probe) {
  (void)probe;
  pthread_exit(NULL);
}

static void init_all(probe *probes, int count, void (*first)(probe *)) {
  for (int i = 0; i < count; i++) probe_init(&probes[i], i == 0 ? first : NULL, NULL);
}

// MARK: the job

static probe ending, next, last;

static void *run_to_end(void *context) {
  ((void (*)(void))context)();
  return NULL;
}

// Calls `body` on a thread that it ends.
static void on_bare_thread(void (*body)(void)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run_to_end, (void *)body) != 0) abort();
  pthread_join(thread, NULL);
}

static void nap_and_exit(probe *probe) {
  nap(2 * MS);
  exit_thread(probe);
}

static void wait_for_end(void (*submit)(void *), void *context) {
  probe_init(&ending, nap_and_exit, NULL);
  submit(context);
  CHECK_SOON(atomic_load(&ending.runs) == 1);
  csched_job_cancel_and_wait(job_of(&ending)); // returns
  CHECK_SOON(atomic_load(&ending.releases) == 1);
  CHECK_PROBE(&ending, 1, 0);
}

static void submit_to_thread(void *thread) {
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&ending)), 0);
}
static void submit_to_pool(void *pool) { post(pool, CSCHED_PRIORITY_DEFAULT, &ending); }
static void submit_to_queue(void *queue) {
  CHECK_EQUAL(csched_target_submit(csched_serial_target(queue), job_of(&ending)), 0);
}

static void end_waited_for(int rounds) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2, .name = "waited"});
  csched_serial *queue = NULL;
  CHECK_EQUAL(csched_serial_create(&queue, csched_pool_target(pool, CSCHED_PRIORITY_LOW)), 0);
  for (int i = 0; i < rounds; i++) {
    csched_thread *thread = start_thread("waited");
    wait_for_end(submit_to_thread, thread);
    CHECK_EQUAL(csched_thread_join(thread), 0);
    csched_thread_destroy(thread);
    wait_for_end(submit_to_pool, pool);
    wait_for_end(submit_to_queue, queue);
  }
  csched_serial_destroy(queue);
  end_pool(pool, CSCHED_STOP_RUN);
  CHECK_SOON(ctest_threads_named("waited") == 0);
}

static journal order;
static void record_release(csched_job *job) { journal_add(&order, ((probe *)job)->id); }
static void run_it(csched_job *job) {
  probe *probe = (struct probe *)job;
  if (probe->body != NULL) probe->body(probe);
}
static void drop_it(csched_job *job) { journal_add(&order, -((probe *)job)->id); }
static const csched_job_type recording = {run_it, drop_it, record_release};

static probe recorded[4];
static void recorded_init(int id, void (*body)(probe *)) {
  probe_init(&recorded[id], body, NULL);
  csched_job_init(job_of(&recorded[id]), &recording, NULL);
  recorded[id].id = id;
}

static void run_inner(probe *probe) {
  (void)probe;
  csched_trampoline_run(job_of(&recorded[2]));
}

static void run_innermost(probe *probe) {
  (void)probe;
  csched_trampoline_run(job_of(&recorded[3])); // waits, and is dropped
  pthread_exit(NULL);
}

static void end_nested(void) {
  csched_thread *thread = start_thread("nested");
  atomic_store(&order.count, 0);
  recorded_init(1, run_inner);
  recorded_init(2, run_innermost);
  recorded_init(3, NULL);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&recorded[1])), 0);
  CHECK_EQUAL(csched_thread_join(thread), 0);
  csched_thread_destroy(thread);
  CHECK_JOURNAL(&order, "2,1,-3,3");
}

// MARK: bare threads

static void exit_on_trampoline(void) { csched_trampoline_run(job_of(&ending)); }

static void queue_and_exit(probe *probe) {
  csched_trampoline_run(job_of(&next));
  exit_thread(probe);
}

static void end_on_trampoline(void) {
  probe_init(&ending, queue_and_exit, NULL);
  probe_init(&next, NULL, NULL);
  on_bare_thread(exit_on_trampoline);
  CHECK_PROBE(&ending, 1, 0);
  CHECK_PROBE(&next, 0, 1);
}

static void exit_in_fork(void) {
  csched_fork fork;
  csched_pool_fork(&fork, job_of(&ending)); // at once, outside of a pool
}

static void end_in_fork(void) {
  probe_init(&ending, exit_thread, NULL);
  on_bare_thread(exit_in_fork);
  CHECK_PROBE(&ending, 1, 0);
}

TEST("a job that ends its thread has ended") { // J7, TH3, WK3
  end_waited_for(times(20));
  end_nested();
  end_on_trampoline();
  end_in_fork();
}

static csched_loop *loop;

static void exit_on_loop(void) {
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&ending)), 0);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&next)), 0);
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), &last.timer, csched_now() + 60000 * MS, 0), 0);
  csched_loop_run(loop);
}

static void run_nested(probe *probe) {
  if (probe->context == NULL) exit_thread(probe);
  probe_init(&last, run_nested, NULL);
  csched_target_submit(csched_loop_target(loop), job_of(&last));
  csched_loop_run(loop);
}

static void exit_on_nested_loop(void) {
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&ending)), 0);
  csched_loop_run(loop);
}

static void create_and_leave(void) { CHECK_EQUAL(csched_loop_create(&loop), 0); }

static void check_not_on_thread(void) { CHECK(!csched_loop_is_on_thread(loop)); }

static void end_on_loop(void) {
  probe_init(&ending, exit_thread, NULL);
  probe_init(&next, NULL, NULL);
  probe_init(&last, NULL, NULL);
  on_bare_thread(exit_on_loop);
  CHECK_PROBE(&ending, 1, 0);
  CHECK_PROBE(&next, 0, 1); // no thread can run it
  CHECK_PROBE(&last, 0, 1);
  probe_init(&next, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&next)), ECANCELED);
  CHECK_PROBE(&next, 0, 1);
  csched_loop_destroy(loop);
  probe_init(&ending, run_nested, &ending);
  on_bare_thread(exit_on_nested_loop);
  CHECK_PROBE(&ending, 1, 0);
  CHECK_PROBE(&last, 1, 0);
  csched_loop_destroy(loop);
  on_bare_thread(create_and_leave);
  on_bare_thread(check_not_on_thread); // though it may have the other's memory
  csched_loop_destroy(loop);
}

// J7, LP6, LP7
TEST("a job that ends its thread on a loop has ended") { end_on_loop(); }

// MARK: serial queues

static void continues(csched_serial *queue) {
  init_all(&ending, 1, exit_thread);
  probe_init(&next, NULL, NULL);
  csched_serial_suspend(queue);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(queue), job_of(&ending)), 0);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(queue), job_of(&next)), 0);
  csched_serial_resume(queue);
  CHECK_SOON(atomic_load(&next.releases) == 1);
  CHECK_PROBE(&ending, 1, 0);
}

static csched_serial *synced;
static void exit_here(void *context) {
  (void)context;
  pthread_exit(NULL);
}
static void exit_in_sync(void) { csched_serial_sync(synced, exit_here, NULL); }
static void do_nothing(void *context) { (void)context; }

static bool is_idle(csched_serial *queue) {
  char text[256];
  csched_target_describe(csched_serial_target(queue), text, sizeof text);
  return strstr(text, ": idle") != NULL;
}

// `base`: what `queue` is on, or itself. A sync that waits for a queue on a busy queue may run its body inside of its
// help; such a body may not end its thread.
static void continues_after_sync(csched_serial *queue, csched_serial *base) {
  synced = queue;
  CHECK_SOON(is_idle(queue) && is_idle(base));
  on_bare_thread(exit_in_sync);
  probe_init(&next, NULL, NULL);
  CHECK_EQUAL(csched_serial_sync(queue, do_nothing, NULL), 0);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(queue), job_of(&next)), 0);
  CHECK_SOON(atomic_load(&next.releases) == 1);
  CHECK_PROBE(&next, 1, 0);
}

static void exit_in_waiting_sync(int index, void *context) {
  (void)index;
  CHECK_EQUAL(csched_serial_sync(context, exit_here, NULL), 0); // on a worker, because the queue is busy
}

static void end_queue_continues(int rounds) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1});
  csched_serial *queue = NULL, *on_queue = NULL;
  CHECK_EQUAL(csched_serial_create(&queue, csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT)), 0);
  CHECK_EQUAL(csched_serial_create(&on_queue, csched_serial_target(queue)), 0);
  for (int i = 0; i < rounds; i++) {
    continues(queue);
    continues(on_queue);
    continues_after_sync(queue, queue);
    continues_after_sync(on_queue, queue);
    crew crew;
    csched_serial_suspend(queue);
    crew_start(&crew, 2, exit_in_waiting_sync, queue);
    nap(200 * US);
    csched_serial_resume(queue);
    crew_join(&crew);
  }
  csched_serial_destroy(on_queue);
  csched_serial_destroy(queue);
  end_pool(pool, CSCHED_STOP_RUN);
  csched_thread *thread = start_thread("base");
  CHECK_EQUAL(csched_serial_create(&queue, csched_loop_target(csched_thread_loop(thread))), 0);
  init_all(&ending, 1, exit_thread);
  probe_init(&next, NULL, NULL);
  csched_serial_suspend(queue);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(queue), job_of(&ending)), 0);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(queue), job_of(&next)), 0);
  csched_serial_resume(queue);
  CHECK_EQUAL(csched_thread_join(thread), 0);
  CHECK_PROBE(&ending, 1, 0);
  CHECK_PROBE(&next, 0, 1); // the queue's base has ended
  csched_serial_destroy(queue);
  csched_thread_destroy(thread);
}

// SQ8
TEST("a serial queue continues when a job ends its thread") { end_queue_continues(times(50)); }

// MARK: spawned jobs

static void fork_one(probe *probe) {
  csched_fork fork;
  (void)probe;
  csched_pool_fork(&fork, job_of(&ending));
  while (atomic_load(&ending.runs) == 0) nap(50 * US); // another worker takes it
  csched_pool_wait(&fork);
  CHECK_PROBE(&ending, 1, 0);
}

static void end_forked(int rounds) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2});
  for (int i = 0; i < rounds; i++) {
    init_all(&ending, 1, exit_thread);
    probe_init(&next, fork_one, NULL);
    post(pool, CSCHED_PRIORITY_DEFAULT, &next);
    CHECK_SOON(atomic_load(&next.releases) == 1);
    CHECK_PROBE(&next, 1, 0);
  }
  end_pool(pool, CSCHED_STOP_RUN);
}

// FJ5, WK3
TEST("a forked job that ends its thread is waited for no longer") { end_forked(times(50)); }

// MARK: many frames

enum { LEVELS = 40 };
static probe levels[LEVELS];

static void go_deeper(probe *probe) {
  int level = (int)(probe - levels);
  csched_fork fork;
  if (atomic_load(&probe->runs) > 1) return; // submitted again
  if (level == 3 || level == 30) csched_target_submit(csched_loop_target(loop), job_of(probe));
  if (level == LEVELS - 1)
    for (int i = 0; i < LEVELS; i++)
      if (i != 3 && i != 30) csched_job_cancel_and_wait(job_of(&levels[i])); // does not wait: it is inside
  if (level == LEVELS - 1) return;
  csched_pool_fork(&fork, job_of(&levels[level + 1])); // at once, outside of a pool
  csched_pool_wait(&fork);
}

static void job_many_levels(void) {
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  for (int i = 0; i < LEVELS; i++) probe_init(&levels[i], go_deeper, NULL);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&levels[0])), 0);
  while (csched_loop_run_ready(loop, 8) > 0) {}
  for (int i = 0; i < LEVELS; i++) CHECK_PROBE(&levels[i], i == 3 || i == 30 ? 2 : 1, 0);
  csched_loop_destroy(loop);
}

TEST("nested jobs have the right current target, at any depth") { job_many_levels(); }
