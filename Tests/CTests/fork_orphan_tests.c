#include "fork_testing.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

// MARK: objects orphaned by fork

// Under which no child of a process with threads can be tested.
enum { NO_FORK = THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND };
static const char *const no_child = "tools do not follow a process with threads into its child";

static struct family {
  csched_thread *thread;
  csched_pool *pool;
  csched_serial *queue, *on_queue, *suspended;
  probe waiting, on_pool, busy, mine;
  atomic_int opens;
} parents;

static void submit_to_thread(void *c) {
  (void)c, csched_target_submit(csched_thread_target(parents.thread), job_of(&parents.mine));
}
static void submit_to_thread_at(void *c) {
  (void)c, csched_target_submit_at(csched_thread_target(parents.thread), &parents.mine.timer, csched_now() + MS, 0);
}
static void submit_to_thread_now(void *c) {
  (void)c, csched_target_submit_at(csched_thread_target(parents.thread), &parents.mine.timer, 0, 0);
}
static void rearm_of_thread(void *c) {
  (void)c, csched_loop_rearm(csched_thread_loop(parents.thread), &parents.waiting.timer, csched_now() + MS);
}
static void run_its_loop(void *c) { (void)c, csched_loop_run(csched_thread_loop(parents.thread)); }
static void join_thread(void *c) {
  (void)c;
  csched_thread_stop(parents.thread, CSCHED_STOP_RUN);
  csched_thread_join(parents.thread);
}

static void submit_to_pool(void *c) {
  (void)c, csched_target_submit(csched_pool_target(parents.pool, CSCHED_PRIORITY_LOW), job_of(&parents.mine));
}
static void submit_to_pool_at(void *c) {
  (void)c, csched_target_submit_at(csched_pool_target(parents.pool, CSCHED_PRIORITY_LOW), &parents.mine.timer,
                                   csched_now() + MS, 0);
}
static void submit_batch_to_pool(void *c) {
  csched_job *jobs[1] = {job_of(&parents.mine)};
  (void)c, csched_pool_submit_batch(parents.pool, CSCHED_PRIORITY_LOW, jobs, 1);
}
static void join_pool(void *c) {
  (void)c;
  csched_pool_stop(parents.pool, CSCHED_STOP_DROP);
  csched_pool_join(parents.pool);
}

static void do_nothing(void *c) { (void)c; }
static void submit_to_queue(void *c) {
  (void)c, csched_target_submit(csched_serial_target(parents.queue), job_of(&parents.mine));
}
static void submit_to_queue_at(void *c) {
  (void)c, csched_target_submit_at(csched_serial_target(parents.queue), &parents.mine.timer, csched_now() + MS, 0);
}
static void sync_on_queue(void *c) { (void)c, csched_serial_sync(parents.queue, do_nothing, NULL); }
static void submit_to_queue_on_queue(void *c) {
  (void)c, csched_target_submit(csched_serial_target(parents.on_queue), job_of(&parents.mine));
}
static void sync_on_queue_on_queue(void *c) { (void)c, csched_serial_sync(parents.on_queue, do_nothing, NULL); }
static void wait_for_job(void *c) { (void)c, csched_job_cancel_and_wait(job_of(&parents.busy)); }

static void give_all_up(void *context) {
  (void)context;
  CHECK_EQUAL(csched_timer_cancel(&parents.waiting.timer),
              CSCHED_CANCEL_DROPPED); // a job that waits in the parent can be released
  CHECK_PROBE(&parents.waiting, 0, 1);
  CHECK_EQUAL(csched_job_cancel(job_of(&parents.busy)), CSCHED_CANCEL_RUNNING);
  csched_serial_resume(parents.suspended);
  csched_serial_destroy(parents.suspended);
  csched_serial_destroy(parents.on_queue);
  csched_serial_destroy(parents.queue);
  csched_thread_stop(parents.thread, CSCHED_STOP_RUN);
  csched_thread_destroy(parents.thread);
  csched_pool_stop(parents.pool, CSCHED_STOP_RUN);
  csched_pool_destroy(parents.pool);
}

static void be_busy(probe *probe) {
  (void)probe;
  while (!atomic_load(&parents.opens)) nap(MS);
}

static void begin_family(bool is_busy) {
  memset(&parents, 0, sizeof parents);
  parents.thread = start_thread("parents");
  CHECK_EQUAL(csched_pool_create(&parents.pool, &(csched_pool_options){.workers = 2}), 0);
  CHECK_EQUAL(csched_serial_create(&parents.queue, csched_pool_target(parents.pool, CSCHED_PRIORITY_LOW)), 0);
  CHECK_EQUAL(csched_serial_create(&parents.on_queue, csched_serial_target(parents.queue)), 0);
  CHECK_EQUAL(csched_serial_create(&parents.suspended, csched_serial_target(parents.queue)), 0);
  csched_serial_suspend(parents.suspended);
  probe_init(&parents.mine, NULL, NULL);
  probe_init(&parents.waiting, NULL, NULL);
  probe_init(&parents.busy, be_busy, NULL);
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(parents.thread), &parents.waiting.timer,
                                      csched_now() + 60000 * MS, 0),
              0);
  if (!is_busy) atomic_store(&parents.opens, 1);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(parents.queue), job_of(&parents.busy)), 0);
  if (is_busy) CHECK_SOON(atomic_load(&parents.busy.runs) == 1);
  else CHECK_SOON(atomic_load(&parents.busy.releases) == 1);
  csched_time then = csched_now() + 60000 * MS;
  probe_init(&parents.on_pool, NULL, NULL);
  CHECK_EQUAL(
      csched_target_submit_at(csched_pool_target(parents.pool, CSCHED_PRIORITY_LOW), &parents.on_pool.timer, then, 0),
      0);
}

static void end_family(void) {
  atomic_store(&parents.opens, 1);
  csched_serial_destroy(parents.suspended);
  csched_serial_destroy(parents.on_queue);
  csched_serial_destroy(parents.queue);
  csched_pool_destroy(parents.pool);
  stop_and_join(parents.thread, CSCHED_STOP_DROP);
  CHECK_PROBE(&parents.waiting, 0, 1);
  CHECK_PROBE(&parents.on_pool, 0, 1);
  CHECK_PROBE(&parents.busy, 1, 0);
}

static const char *const ORPHANED = "orphaned by fork";

static void fork_thread_is_orphaned(void) {
  begin_family(true);
  void (*const uses[])(void *) = {submit_to_thread, submit_to_thread_at, submit_to_thread_now,
                                  rearm_of_thread,  run_its_loop,        join_thread};
  for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) CHECK_CHILD_STOPS(uses[i], NULL, ORPHANED);
  CHECK_CHILD_STOPS(join_thread, NULL, "csched_thread_join");
  end_family();
}

// LP8, TH5
TEST_UNLESS(NO_FORK, no_child, "after fork a thread of the parent stops the process") { fork_thread_is_orphaned(); }

static void fork_pool_is_orphaned(void) {
  begin_family(true);
  void (*const uses[])(void *) = {submit_to_pool, submit_to_pool_at, submit_batch_to_pool, join_pool};
  for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) CHECK_CHILD_STOPS(uses[i], NULL, ORPHANED);
  CHECK_CHILD_STOPS(join_pool, NULL, "csched_pool_join");
  end_family();
}

// WK4, X5
TEST_UNLESS(NO_FORK, no_child, "after fork a pool of the parent stops the process") { fork_pool_is_orphaned(); }

static void fork_queue_is_orphaned(bool is_busy) {
  begin_family(is_busy);
  void (*const uses[])(void *) = {submit_to_queue, submit_to_queue_at, sync_on_queue, submit_to_queue_on_queue,
                                  sync_on_queue_on_queue};
  for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) CHECK_CHILD_STOPS(uses[i], NULL, ORPHANED);
  end_family();
}

TEST_UNLESS(NO_FORK, no_child, "after fork a queue of the parent stops the process") { // SQ9
  fork_queue_is_orphaned(false);
  fork_queue_is_orphaned(true);
}

static void fork_job_is_orphaned(void) {
  begin_family(true);
  CHECK_CHILD_STOPS(wait_for_job, NULL, "csched_job_cancel_and_wait");
  end_family();
}

TEST_UNLESS(NO_FORK, no_child, "after fork a wait for a job of the parent stops the process") { // J8
  fork_job_is_orphaned();
}

static void fork_gives_up(void) {
  begin_family(true);
  CHECK_CHILD(give_all_up, NULL);
  end_family();
}

// X5
TEST_UNLESS(NO_FORK, no_child, "after fork the child can release the parent's objects") { fork_gives_up(); }

// MARK: from inside of a job

static bool is_child;

static void return_in_child(void *context) {
  (void)context;
  is_child = true;
}

// Forks by hand, because the child returns from here.
static void fork_and_return(probe *probe) {
  int *said = probe->context;
  pid_t child = fork();
  if (child != 0) {
    probe->id = child;
    return;
  }
  return_in_child(NULL);
  alarm(120);
  dup2(said[1], STDERR_FILENO);
  signal(SIGABRT, SIG_DFL);
}

static void check_returned(probe *probe, int said[2], const char *says) {
  char text[1024];
  size_t length = 0;
  close(said[1]);
  for (ssize_t count; (count = read(said[0], text + length, sizeof text - 1 - length)) > 0;) length += (size_t)count;
  text[length] = 0;
  close(said[0]);
  int ended = 0;
  while (waitpid((pid_t)probe->id, &ended, 0) < 0 && errno == EINTR) {}
  if (says != NULL) CHECK(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGABRT && strstr(text, says) != NULL);
  else CHECK(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
  if (ctest_found() != NULL) fprintf(stderr, "%x %s\n", (unsigned)ended, text);
}

static void fork_worker_returns(bool on_queue) {
  csched_pool *pool = NULL;
  csched_serial *queue = NULL;
  int said[2];
  if (pipe(said) != 0) abort();
  CHECK_EQUAL(csched_pool_create(&pool, &(csched_pool_options){.workers = 1}), 0);
  CHECK_EQUAL(csched_serial_create(&queue, csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT)), 0);
  csched_serial_suspend(queue);
  static probe forking, next;
  probe_init(&forking, fork_and_return, said);
  probe_init(&next, NULL, NULL);
  for (int i = 0; i < 2; i++) {
    csched_job *job = job_of(i == 0 ? &forking : &next);
    if (on_queue) CHECK_EQUAL(csched_target_submit(csched_serial_target(queue), job), 0);
    else CHECK_EQUAL(csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), job), 0);
  }
  csched_serial_resume(queue);
  CHECK_SOON(atomic_load(&next.releases) == 1);
  check_returned(&forking, said, "returns in the child");
  csched_serial_destroy(queue);
  csched_pool_destroy(pool);
}

TEST_UNLESS(NO_FORK, no_child, "a worker's job that forks cannot return in the child") { // WK4
  fork_worker_returns(false);
  fork_worker_returns(true);
}

static void end_itself(probe *probe) { // the child's last job
  if (!is_child) return;
  if (ctest_sanitizer() != CTEST_NO_SANITIZER) _Exit(0); // skips exit handlers, which would not end in a child of fork
  csched_thread_stop(probe->context, CSCHED_STOP_RUN);
}

enum { THROUGH_NOTHING, THROUGH_LIMIT, THROUGH_QUEUE };

// What forks may be inside of a queue, or hold the permit of a limit; the next job waits for its end.
static void fork_thread_continues(int through) {
  csched_thread *thread = start_thread("goes-on");
  csched_target *target = csched_thread_target(thread);
  csched_limit *limit;
  csched_serial *queue;
  CHECK_EQUAL(csched_limit_create(&limit, target, 1), 0);
  CHECK_EQUAL(csched_serial_create(&queue, target), 0);
  if (through != THROUGH_NOTHING)
    target = through == THROUGH_LIMIT ? csched_limit_target(limit) : csched_serial_target(queue);
  int said[2];
  if (pipe(said) != 0) abort();
  static probe forking, next;
  gate gate;
  gate_close(&gate, thread);
  probe_init(&forking, fork_and_return, said);
  probe_init(&next, end_itself, thread);
  CHECK_EQUAL(csched_target_submit(target, job_of(&forking)), 0);
  CHECK_EQUAL(csched_target_submit(target, job_of(&next)), 0);
  gate_open(&gate);
  CHECK_SOON(atomic_load(&next.releases) == 1);
  check_returned(&forking, said, NULL); // the last thread of a process ends it with 0
  csched_limit_destroy(limit);
  csched_serial_destroy(queue);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

TEST_UNLESS(NO_FORK, no_child, "a thread's job that forks returns in the child, where the thread continues") {
  for (int through = THROUGH_NOTHING; through <= THROUGH_QUEUE; through++) fork_thread_continues(through);
}
