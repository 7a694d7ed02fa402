#include "pool_testing.h"

#include <CTestAllocations.h>

#include <setjmp.h>

// Frames unwound by longjmp. Probes are static: they outlive the unwound frames.

static jmp_buf back;

static void jump(probe *probe) {
  (void)probe;
  longjmp(back, 1);
}

static void jump_from_body(void *unused) {
  (void)unused;
  longjmp(back, 1);
}

static void do_nothing(void *unused) { (void)unused; }

// MARK: loops

static csched_loop *loop;
static probe leaving, next;

static void run_all(void) { csched_loop_run(loop); }
static void run_until(void) { csched_loop_run_until(loop, csched_now() + 1000 * MS); }
static void run_once(void) { csched_loop_run_once(loop, csched_now() + 1000 * MS); }
static void run_ready(void) { csched_loop_run_ready(loop, 8); }
static void run_activation(void) {
  csched_activation activation;
  csched_activation_init(&activation, loop);
  csched_loop_run_activation(loop, &activation, CSCHED_FOREVER);
}
static void (*const runs[])(void) = {run_all, run_until, run_once, run_ready, run_activation};
enum { RUNS = 5 };

static void leave_run(void (*run)(void)) {
  probe_init(&leaving, jump, NULL);
  probe_init(&next, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&leaving)), 0);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&next)), 0);
  if (setjmp(back) == 0) run();
}

static void unwind_loop(void) {
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  for (int i = 0; i < RUNS; i++) {
    leave_run(runs[i]);
    CHECK(csched_loop_current() == NULL);
    CHECK(csched_target_current() == NULL);
    CHECK(!csched_target_is_inside(csched_loop_target(loop)));
    CHECK_PROBE(&leaving, 1, 0); // has ended
    CHECK(csched_job_is_idle(job_of(&leaving)));
    CHECK_EQUAL(csched_loop_run_ready(loop, 8), 1);
    CHECK_PROBE(&next, 1, 0);
  }
  for (int i = 0; i < RUNS; i++) { // and when the next call is another run
    leave_run(runs[i]);
    CHECK(csched_loop_run_once(loop, 0));
    CHECK_PROBE(&leaving, 1, 0);
    CHECK_PROBE(&next, 1, 0);
  }
  leave_run(run_all);
  csched_loop_destroy(loop);
  CHECK_PROBE(&leaving, 1, 0);
  CHECK_PROBE(&next, 0, 1);
}

static void check_inside(void) {
  CHECK(csched_loop_current() == loop);
  CHECK(csched_target_current() == csched_loop_target(loop));
}

static void leave_nested_run(probe *probe) {
  (void)probe;
  for (int i = 0; i < RUNS; i++) {
    leave_run(runs[i]);
    check_inside();
    CHECK_PROBE(&leaving, 1, 0);
    CHECK_EQUAL(csched_loop_run_ready(loop, 8), 1);
    CHECK_PROBE(&next, 1, 0);
    check_inside();
  }
  leave_run(run_all); // not noticed before this job has returned
}

static void unwind_timer(void) {
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  for (int i = 0; i < RUNS; i++) {
    probe_init(&leaving, jump, NULL);
    CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), &leaving.timer, csched_now() + MS, 0), 0);
    if (setjmp(back) == 0)
      for (;;) runs[i]();
    CHECK_EQUAL(csched_timer_cancel_and_wait(&leaving.timer), CSCHED_CANCEL_FINISHED);
    CHECK_EQUAL(atomic_load(&leaving.releases), 1); // the memory may go now
  }
  csched_loop_destroy(loop);
}

static void unwind_nested_run(void) {
  static probe outer;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  probe_init(&outer, leave_nested_run, NULL);
  csched_target_submit(csched_loop_target(loop), job_of(&outer));
  CHECK_EQUAL(csched_loop_run_ready(loop, 8), 2); // `next` besides
  CHECK_PROBE(&outer, 1, 0);
  CHECK_PROBE(&leaving, 1, 0);
  CHECK_PROBE(&next, 1, 0);
  CHECK(csched_loop_current() == NULL);
  csched_loop_destroy(loop);
}

TEST_STOPS("a sync that drives virtual time, and is left by a job there, stops the process",
           "csched_serial_sync: what it ran in virtual time", "Let the job return") {
  csched_virtual *timeline = NULL;
  csched_serial *queue = NULL;
  if (csched_virtual_create(&timeline, 0, 0) != 0) return;
  if (csched_serial_create(&queue, csched_virtual_target(timeline)) != 0) return;
  probe_init(&leaving, jump, NULL);
  csched_target_submit(csched_serial_target(queue), job_of(&leaving)); // so that the sync has to wait
  if (setjmp(back) == 0) csched_serial_sync(queue, do_nothing, NULL);
  csched_target_current(); // checks for unwound frames
}

TEST("a loop continues after a longjmp out of a run") { // LP7
  unwind_loop();
  unwind_nested_run();
}

// MARK: jobs

enum { LEVELS = 40 };
static probe levels[LEVELS];
static int released[LEVELS], releases;

static void run_it(csched_job *job) { ((probe *)job)->body((probe *)job); }
static void drop_it(csched_job *job) { CHECK(job == NULL); }
static void note_release(csched_job *job) {
  CHECK(csched_target_current() == NULL);
  released[releases++] = ((probe *)job)->id;
}
static const csched_job_type noting = {run_it, drop_it, note_release};

static void go_deeper(probe *probe) {
  csched_fork fork;
  if (probe->id == LEVELS - 1) longjmp(back, 1);
  csched_pool_fork(&fork, job_of(&levels[probe->id + 1])); // at once, outside of a pool
  CHECK(probe == NULL);                                    // not reached
}

static void unwind_many_levels(void) {
  csched_fork fork;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  for (int round = 0; round < 3; round++) {
    releases = 0;
    for (int i = 0; i < LEVELS; i++) {
      probe_init(&levels[i], go_deeper, NULL);
      csched_job_init(job_of(&levels[i]), &noting, NULL);
      levels[i].id = i;
    }
    if (setjmp(back) == 0) csched_pool_fork(&fork, job_of(&levels[0]));
    CHECK(csched_job_is_idle(job_of(&levels[0])));
    CHECK_EQUAL(releases, LEVELS);
    for (int i = 0; i < LEVELS; i++) CHECK_EQUAL(released[i], LEVELS - 1 - i); // the innermost first
  }
  csched_loop_destroy(loop);
}

static atomic_int waits, has_waited;
static void jump_when_waited_for(probe *probe) {
  CHECK_SOON(atomic_load(&waits));
  nap(2 * MS);
  jump(probe);
}
static void wait_for_leaving(int index, void *context) {
  (void)index, (void)context;
  CHECK_SOON(atomic_load(&leaving.runs) == 1);
  atomic_store(&waits, 1);
  CHECK_EQUAL(csched_job_cancel_and_wait(job_of(&leaving)), CSCHED_CANCEL_RUNNING);
  CHECK(csched_job_is_idle(job_of(&leaving)));
  atomic_store(&has_waited, 1);
}

static void unwind_waited_for(void) {
  crew crew;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  atomic_store(&waits, 0);
  atomic_store(&has_waited, 0);
  probe_init(&leaving, jump_when_waited_for, NULL);
  csched_target_submit(csched_loop_target(loop), job_of(&leaving));
  crew_start(&crew, 1, wait_for_leaving, NULL);
  if (setjmp(back) == 0) csched_loop_run(loop);
  CHECK(csched_target_current() == NULL); // so it has ended
  CHECK_SOON(atomic_load(&has_waited));
  crew_join(&crew);
  if (setjmp(back) == 0) { // the waiter may be its own thread, too
    probe_init(&leaving, jump, NULL);
    csched_target_submit(csched_loop_target(loop), job_of(&leaving));
    csched_loop_run(loop);
  }
  csched_job_cancel_and_wait(job_of(&leaving));
  CHECK_PROBE(&leaving, 1, 0);
  csched_target_submit(csched_loop_target(loop), job_of(&leaving)); // it may be submitted as it is
  if (setjmp(back) == 0) csched_loop_run(loop);
  csched_job_init(job_of(&leaving), &probe_type, NULL); // and be initialised before anybody has noticed
  leaving.body = NULL;
  csched_target_submit(csched_loop_target(loop), job_of(&leaving));
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
  CHECK_EQUAL(atomic_load(&leaving.runs), 3);
  csched_loop_destroy(loop);
}

TEST("a job that is left by longjmp has ended") { // J7
  unwind_timer();
  unwind_many_levels();
  unwind_waited_for();
}

// MARK: queues

typedef struct queues {
  csched_pool *pool;
  csched_serial *queue, *under, *other;
} queues;

static void begin_queues(queues *all, bool is_on_queue) {
  *all = (queues){.pool = make_pool(&(csched_pool_options){.workers = 1})};
  csched_target *base = csched_pool_target(all->pool, CSCHED_PRIORITY_DEFAULT);
  CHECK_EQUAL(csched_serial_create(&all->under, base), 0);
  if (is_on_queue) base = csched_serial_target(all->under);
  CHECK_EQUAL(csched_serial_create(&all->queue, base), 0);
  CHECK_EQUAL(csched_serial_create(&all->other, csched_pool_target(all->pool, CSCHED_PRIORITY_DEFAULT)), 0);
}

static void end_queues(queues *all) {
  if (all->queue != NULL) csched_serial_destroy(all->queue);
  csched_serial_destroy(all->under);
  csched_serial_destroy(all->other);
  end_pool(all->pool, CSCHED_STOP_RUN);
}

// Then a sync runs here, and not on a worker, whose stack is none to leave.
static void wait_until_idle(csched_serial *queue) {
  csched_target_inside inside;
  CHECK_SOON(csched_serial_try_enter(queue, &inside) && (csched_serial_leave(queue, &inside), true));
}

static void leave_sync(csched_serial *queue) {
  wait_until_idle(queue);
  if (setjmp(back) == 0) csched_serial_sync(queue, jump_from_body, NULL);
}

static void check_continues(csched_serial *queue) {
  probe_init(&next, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(queue), job_of(&next)), 0);
  CHECK_SOON(atomic_load(&next.releases) == 1);
  CHECK_PROBE(&next, 1, 0);
}

static void sync_on_other_thread(int index, void *queue) {
  (void)index;
  CHECK_EQUAL(csched_serial_sync(queue, do_nothing, NULL), 0);
}

static void check_ways_to_notice(queues *all) {
  csched_target_inside inside;
  leave_sync(all->queue);
  check_continues(all->queue); // by a submission
  leave_sync(all->queue);
  CHECK_EQUAL(csched_serial_sync(all->queue, do_nothing, NULL), 0);
  leave_sync(all->queue);
  CHECK(csched_serial_try_enter(all->queue, &inside));
  CHECK(csched_target_current() == csched_serial_target(all->queue));
  csched_serial_leave(all->queue, &inside);
  leave_sync(all->queue);
  CHECK(csched_target_current() == NULL);
  crew_run(1, sync_on_other_thread, all->queue);
  leave_sync(all->queue);
  probe_init(&next, NULL, NULL);
  csched_target_submit_at(csched_serial_target(all->queue), &next.timer, csched_now() + 1 * MS, 0);
  CHECK_SOON(atomic_load(&next.releases) == 1);
}

static void leave_inner(void *context) {
  queues *all = context;
  leave_sync(all->other);
  CHECK(csched_target_current() == csched_serial_target(all->queue));
  CHECK(!csched_target_is_inside(csched_serial_target(all->other)));
  check_continues(all->other);
  CHECK(csched_target_current() == csched_serial_target(all->queue));
}

static void leave_both(void *context) { CHECK_EQUAL(csched_serial_sync(context, jump_from_body, NULL), 0); }

// Without AddressSanitizer, which keeps such variables elsewhere than on the stack.
__attribute__((no_sanitize_address)) static CSCHED_NOINLINE void enter_and_jump(csched_serial *queue) {
  csched_target_inside inside;
  CHECK(csched_serial_try_enter(queue, &inside));
  longjmp(back, 1);
}

static void unwind_sync(bool is_on_queue) {
  queues all;
  begin_queues(&all, is_on_queue);
  check_ways_to_notice(&all);
  CHECK_EQUAL(csched_serial_sync(all.queue, leave_inner, &all), 0);
  CHECK(csched_target_current() == NULL);
  wait_until_idle(all.queue);
  wait_until_idle(all.other);
  if (setjmp(back) == 0) csched_serial_sync(all.queue, leave_both, all.other);
  CHECK(csched_target_current() == NULL);
  check_continues(all.queue);
  check_continues(all.other);
  wait_until_idle(all.queue);
  if (setjmp(back) == 0) enter_and_jump(all.queue);
  CHECK(csched_target_current() == NULL);
  check_continues(all.queue);
  leave_sync(all.queue);
  csched_serial_destroy(all.queue);
  all.queue = NULL;
  end_queues(&all);
}

// A queue's jobs are unwound while they run on this thread's own loop. One of them is a sync of another thread.
static void sync_and_jump(int index, void *queue) {
  (void)index;
  CHECK_EQUAL(csched_serial_sync(queue, jump_from_body, NULL), 0);
  atomic_store(&has_waited, 1);
}

static void unwind_queue_on_loop(void) {
  csched_serial *queue = NULL;
  crew crew;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  CHECK_EQUAL(csched_serial_create(&queue, csched_loop_target(loop)), 0);
  atomic_store(&has_waited, 0);
  probe_init(&leaving, jump, NULL);
  probe_init(&next, NULL, NULL);
  csched_target_submit(csched_serial_target(queue), job_of(&leaving));
  csched_target_submit(csched_serial_target(queue), job_of(&next));
  if (setjmp(back) == 0) csched_loop_run(loop);
  CHECK(csched_loop_run_once(loop, csched_now() + 1000 * MS));
  CHECK_PROBE(&leaving, 1, 0);
  CHECK_PROBE(&next, 1, 0);
  crew_start(&crew, 1, sync_and_jump, queue);
  if (setjmp(back) == 0) csched_loop_run(loop);
  CHECK(csched_target_current() == NULL);
  CHECK_SOON(atomic_load(&has_waited));
  crew_join(&crew);
  leave_sync(queue); // here, because the loop is this thread's
  CHECK_EQUAL(csched_serial_sync(queue, do_nothing, NULL), 0);
  csched_serial_destroy(queue);
  csched_loop_destroy(loop);
}

TEST("a queue continues after a longjmp out of a sync") { // SQ8
  unwind_sync(false);
  unwind_sync(true);
  unwind_queue_on_loop();
}

// MARK: thread exit

static void leave_and_end(int index, void *context) {
  queues *all = context;
  (void)index;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  leave_run(run_all);
  leave_sync(all->queue);
}

static void unwind_and_end(void) {
  queues all;
  begin_queues(&all, true);
  crew_run(1, leave_and_end, &all);
  CHECK_PROBE(&leaving, 1, 0);
  CHECK_PROBE(&next, 0, 1); // no thread can run it
  csched_loop_destroy(loop);
  check_continues(all.queue);
  end_queues(&all);
}

TEST("a thread that ends after a longjmp closes its loop and lets its queue go") { unwind_and_end(); }

// MARK: without memory

static void without_memory_inside(void *context) {
  queues *all = context;
  CHECK(csched_target_current() == csched_serial_target(all->queue));
  CHECK_EQUAL(csched_serial_sync(all->queue, do_nothing, NULL), EDEADLK);
  CHECK_EQUAL(csched_serial_sync(all->under, do_nothing, NULL), 0); // a frame in a frame
  CHECK(csched_target_current() == csched_serial_target(all->queue));
}

static void submit_again(probe *probe) {
  CHECK_EQUAL(csched_job_cancel_and_wait(job_of(probe)), CSCHED_CANCEL_RUNNING); // does not wait: it is inside
  check_inside();
  if (atomic_load(&probe->runs) == 1) csched_target_submit(csched_loop_target(loop), job_of(probe));
}

static void have_no_memory(int index, void *context) {
  (void)index;
  csched_target_inside inside;
  ctest_fail_allocation(1);
  CHECK(csched_target_current() == NULL);
  CHECK_EQUAL(csched_serial_sync(((queues *)context)->queue, without_memory_inside, context), 0);
  ctest_fail_allocation(1);
  csched_target_enter(&inside, csched_serial_target(((queues *)context)->queue));
  ctest_fail_allocation(0);
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  probe_init(&leaving, submit_again, NULL);
  csched_target_submit(csched_loop_target(loop), job_of(&leaving));
  CHECK_EQUAL(csched_loop_run_ready(loop, 8), 2);
  CHECK_EQUAL(atomic_load(&leaving.runs), 2);
  CHECK_EQUAL(atomic_load(&leaving.releases), 1);
  CHECK(csched_target_current() == csched_serial_target(((queues *)context)->queue));
  csched_target_leave(&inside);
  CHECK(csched_target_current() == NULL);
  csched_loop_destroy(loop);
  ctest_fail_allocation(1);
  if (setjmp(back) == 0)
    csched_serial_sync(((queues *)context)->other, jump_from_body, NULL); // lost, but nothing else is
  CHECK(csched_target_current() == NULL);
  CHECK(!csched_target_is_inside(csched_serial_target(((queues *)context)->other)));
  leave_sync(((queues *)context)->queue); // there is memory again
  check_continues(((queues *)context)->queue);
}

static void unwind_without_memory(void) {
  queues all;
  begin_queues(&all, false);
  crew_run(1, have_no_memory, &all);
  end_queues(&all);
}

TEST_UNLESS(SANITIZERS | VALGRIND, "the tool allocates in the place of the tests",
            "a query of the current job needs no memory") {
  if (ctest_counts_allocations()) unwind_without_memory();
}
