#include "fork_testing.h"

#include <signal.h>
#include <unistd.h>

// What cannot be meant stops the process.

static void destroy_loop(probe *probe) { csched_loop_destroy(probe->context); }

TEST_STOPS("a loop that is destroyed inside of a run stops the process", "csched_loop_destroy: called inside of a run",
           "destroy it when its runs have returned") {
  csched_loop *loop = NULL;
  probe probe;
  if (csched_loop_create(&loop) != 0) return;
  probe_init(&probe, destroy_loop, loop);
  csched_target_submit(csched_loop_target(loop), job_of(&probe));
  csched_loop_run_once(loop, 0);
}

TEST_STOPS("a thread's loop that is destroyed stops the process",
           "csched_loop_destroy:", "is that of a thread. Stop and destroy the thread, not its loop") {
  csched_loop_destroy(csched_thread_loop(start_thread("mine")));
}

TEST_STOPS("the main loop that is destroyed stops the process",
           "csched_loop_destroy:", "is the main loop, which lives as long as the process") {
  csched_loop_destroy(csched_main_loop());
}

static void destroy_elsewhere(int index, void *loop) {
  (void)index;
  csched_loop_destroy(loop);
}

TEST_STOPS("a loop that is destroyed on another thread than its own stops the process",
           "csched_loop_destroy:", "belongs to another thread. Destroy it there") {
  csched_loop *loop = NULL;
  if (csched_loop_create(&loop) != 0) return;
  crew_run(1, destroy_elsewhere, loop);
}

TEST_STOPS("an invalid priority stops the process", "csched_pool_target: 4 is no priority",
           "Name one of csched_priority") {
  csched_pool *pool = NULL;
  if (csched_pool_create(&pool, NULL) == 0) csched_pool_target(pool, (csched_priority)4);
}

TEST_STOPS("an invalid priority of a batch stops the process", "csched_pool_submit_batch: -1 is no priority",
           "Name one of csched_priority") {
  csched_pool *pool = NULL;
  probe probe;
  probe_init(&probe, NULL, NULL);
  csched_job *jobs[] = {job_of(&probe)};
  if (csched_pool_create(&pool, NULL) == 0) csched_pool_submit_batch(pool, (csched_priority)-1, jobs, 1);
}

TEST_STOPS("a loop that is closed by an invalid policy stops the process", "csched_loop_close: 2 is no policy",
           "Name one of csched_stop_policy") {
  csched_loop *loop = NULL;
  if (csched_loop_create(&loop) == 0) csched_loop_close(loop, (csched_stop_policy)2);
}

TEST_STOPS("a thread that is stopped by an invalid policy stops the process", "csched_thread_stop: -1 is no policy",
           "Name one of csched_stop_policy") {
  csched_thread_stop(start_thread("stopped"), (csched_stop_policy)-1);
}

TEST_STOPS("a pool that is stopped by an invalid policy stops the process", "csched_pool_stop: 2 is no policy",
           "Name one of csched_stop_policy") {
  csched_pool *pool = NULL;
  if (csched_pool_create(&pool, NULL) == 0) csched_pool_stop(pool, (csched_stop_policy)2);
}

TEST_STOPS("a shutdown by an invalid policy stops the process", "csched_shutdown: -1 is no policy",
           "Name one of csched_stop_policy") {
  csched_shutdown((csched_stop_policy)-1);
}

static void do_not_repeat(void *unused) { (void)unused; }

TEST_STOPS("a repeating task by an invalid pace stops the process", "csched_target_async_every: 4 is no pace",
           "Name one of csched_pace") {
  csched_loop *loop = NULL;
  if (csched_loop_create(&loop) != 0) return;
  csched_target_async_every(csched_loop_target(loop), &(csched_timing){.pace = (csched_pace)4}, do_not_repeat, NULL,
                            NULL);
}

// MARK: NULL in place of a function, and jobs that were not initialised

static csched_target *target_of_a_thread(void) { return csched_thread_target(start_thread("misused")); }

TEST_STOPS("a task without a function stops the process", "csched_target_async: `function` is NULL",
           "Give a function") {
  csched_target_async(target_of_a_thread(), NULL, NULL);
}

TEST_STOPS("a delayed task without a function stops the process", "csched_target_async_after: `function` is NULL",
           "Give a function") {
  csched_target_async_after(target_of_a_thread(), 1, NULL, NULL);
}

TEST_STOPS("a repeating task without a function stops the process", "csched_target_async_every: `function` is NULL",
           "Give a function") {
  csched_target_async_every(target_of_a_thread(), &(csched_timing){.period = 1}, NULL, NULL, NULL);
}

TEST_STOPS("a sync without a function stops the process", "csched_serial_sync: `body` is NULL", "Give a function") {
  csched_serial *serial = NULL;
  if (csched_serial_create(&serial, target_of_a_thread()) == 0) csched_serial_sync(serial, NULL, NULL);
}

TEST_STOPS("an apply without a function stops the process", "csched_apply: `body` is NULL", "Give a function") {
  csched_apply(target_of_a_thread(), 1, 1, 1, NULL, NULL);
}

TEST_STOPS("an event without a handler stops the process", "csched_event_init: `handler` is NULL", "Give a function") {
  csched_event event;
  csched_event_init(&event, target_of_a_thread(), CSCHED_MERGE_ADD, NULL, NULL);
}

TEST_STOPS("a signal's source without a handler stops the process", "csched_signal_source_init: `handler` is NULL",
           "Give a function") {
  csched_signal_source source;
  csched_signal_source_init(&source, SIGUSR1, NULL, NULL);
}

TEST_STOPS("a descriptor's source without a handler stops the process",
           "csched_fd_source_init: `source->handler` is NULL", "Give a function") {
  int ends[2];
  csched_fd_source source;
  if (pipe(ends) != 0 || write(ends[1], "x", 1) != 1) return;
  csched_fd_source_init(&source, ends[0], CSCHED_FD_READ, NULL, NULL);
  if (csched_loop_add_fd(csched_main_loop(), &source) == 0)
    csched_loop_run_until(csched_main_loop(), csched_time_after(csched_now(), 10000000000));
}

TEST_STOPS("a handler of a cancellation without a function stops the process",
           "csched_cancellation_add: `handler->call` is NULL", "Give a function") {
  csched_cancellation cancellation;
  csched_cancel_handler handler = {0};
  csched_cancellation_init(&cancellation, NULL, NULL);
  csched_cancellation_add(&cancellation, &handler);
}

TEST_STOPS("a job that was never initialised stops the process", "csched_target_submit: job",
           "Call csched_job_init first") {
  csched_job job = {0};
  csched_target_submit(target_of_a_thread(), &job);
}

TEST_STOPS("a timer that was never initialised stops the process", "csched_target_submit_at: job",
           "Call csched_job_init first") {
  csched_timer timer = {0};
  csched_target_submit_at(target_of_a_thread(), &timer, csched_time_after(csched_now(), 1000000000), 0);
}

TEST_STOPS("a job of a type without a run stops the process", "csched_job_init: the type of job", "has no `run`") {
  static const csched_job_type empty;
  csched_thread *thread = start_thread("misused");
  csched_job job;
  csched_job_init(&job, &empty, NULL);
  csched_target_submit(csched_thread_target(thread), &job);
  wait_until_run(thread);
}

static void destroy_timeline(probe *probe) { csched_virtual_destroy(probe->context); }

TEST_STOPS("virtual time that is destroyed inside of a job stops the process",
           "csched_virtual_destroy: called inside of a job", "Destroy it when the drive has returned") {
  csched_virtual *timeline = NULL;
  probe probe;
  if (csched_virtual_create(&timeline, 0, 0) != 0) return;
  probe_init(&probe, destroy_timeline, timeline);
  csched_target_submit(csched_virtual_target(timeline), job_of(&probe));
  csched_virtual_run(timeline);
}

// MARK: correct use

static void make_and_leave(int index, void *context) {
  (void)index;
  csched_loop **loops = context;
  for (int i = 0; i < 2; i++) CHECK_EQUAL(csched_loop_create(&loops[i]), 0);
  csched_loop_detach(loops[0]); // the thread of the other loop ends
}

static void loop_destroyed_elsewhere(void) {
  csched_loop *loops[2] = {NULL, NULL};
  crew_run(1, make_and_leave, loops);
  for (int i = 0; i < 2; i++) {
    probe probe;
    probe_init(&probe, NULL, NULL);
    CHECK_EQUAL(csched_target_submit(csched_loop_target(loops[i]), job_of(&probe)), 0);
    csched_loop_destroy(loops[i]);
    CHECK_PROBE(&probe, 0, 1);
  }
}

TEST("a loop is destroyed on its own thread, or when it has none") { loop_destroyed_elsewhere(); }

// MARK: a loop destroyed by its own job, drop or release

static csched_loop *own;
static void destroy_own(csched_job *job) { (void)job, csched_loop_destroy(own); }
static void do_nothing(csched_job *job) { (void)job; }
static void destroy_in_sync(void *context) { (void)context, csched_loop_destroy(own); }

static void begin_own(const csched_job_type *type) {
  static csched_job job;
  if (csched_loop_create(&own) != 0) abort();
  csched_job_init(&job, type, NULL);
  csched_target_submit(csched_loop_target(own), &job);
}

static void destroy_in_drop(void *type) {
  begin_own(type);
  csched_loop_destroy(own);
}

static void destroy_when_closed(void *type) {
  begin_own(type);
  csched_loop_close(own, CSCHED_STOP_DROP);
  csched_loop_run(own);
}

static void destroy_in_sync_on_it(void *context) {
  csched_serial *queue = NULL;
  if (csched_loop_create(&own) != 0 || csched_serial_create(&queue, csched_loop_target(own)) != 0) abort();
  csched_serial_sync(queue, destroy_in_sync, context);
}

static void loop_destroyed_by_its_own(void) {
  static csched_job_type drops = {do_nothing, destroy_own, NULL}, releases = {do_nothing, do_nothing, destroy_own};
  CHECK_CHILD_STOPS(destroy_in_drop, &drops, "is being destroyed");
  CHECK_CHILD_STOPS(destroy_in_drop, &releases, "is being destroyed");
  CHECK_CHILD_STOPS(destroy_when_closed, &drops, "called inside of a run");
  CHECK_CHILD_STOPS(destroy_in_sync_on_it, NULL, "called inside of a sync");
}

TEST("a loop that its own job destroys stops the process") { loop_destroyed_by_its_own(); }
