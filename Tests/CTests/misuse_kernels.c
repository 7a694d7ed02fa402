#include "fork_kernel.h"

// What cannot be meant stops the process. Each of these ends it; `where` and `value` say how.

static void destroy_loop(probe *probe) { csched_loop_destroy(probe->context); }
static void destroy_elsewhere(int index, void *loop) {
  (void)index;
  csched_loop_destroy(loop);
}

void ctest_die_loop_destroy(int where) {
  csched_loop *loop = NULL;
  probe probe;
  if (csched_loop_create(&loop) != 0) abort();
  switch (where) {
  case 0: // inside of its own job
    probe_init(&probe, destroy_loop, loop);
    csched_target_submit(csched_loop_target(loop), job_of(&probe));
    csched_loop_run_once(loop, 0);
    break;
  case 1: csched_loop_destroy(csched_thread_loop(start_thread("mine"))); break;
  case 2: csched_loop_destroy(csched_main_loop()); break;
  default: crew_run(1, destroy_elsewhere, loop);
  }
}

void ctest_die_priority(int where, int value) {
  csched_pool *pool = NULL;
  probe probe;
  probe_init(&probe, NULL, NULL);
  csched_job *jobs[] = {job_of(&probe)};
  csched_priority priority = (csched_priority)value;
  if (csched_pool_create(&pool, NULL) != 0) abort();
  if (where == 0) csched_pool_target(pool, priority);
  else csched_pool_submit_batch(pool, priority, jobs, 1);
}

void ctest_die_policy(int where, int value) {
  csched_pool *pool = NULL;
  csched_loop *loop = NULL;
  csched_stop_policy policy = (csched_stop_policy)value;
  switch (where) {
  case 0:
    if (csched_loop_create(&loop) == 0) csched_loop_close(loop, policy);
    break;
  case 1: csched_thread_stop(start_thread("stopped"), policy); break;
  case 2:
    if (csched_pool_create(&pool, NULL) == 0) csched_pool_stop(pool, policy);
    break;
  default: csched_shutdown(policy);
  }
}

// MARK: what is meant

static void make_and_leave(int index, void *context) {
  (void)index;
  csched_loop **loops = context;
  for (int i = 0; i < 2; i++) CHECK_EQUAL(csched_loop_create(&loops[i]), 0);
  csched_loop_detach(loops[0]); // the other one's thread ends
}

ctest_failure ctest_loop_destroyed_elsewhere(void) {
  KERNEL();
  csched_loop *loops[2] = {NULL, NULL};
  crew_run(1, make_and_leave, loops);
  for (int i = 0; i < 2; i++) {
    probe probe;
    probe_init(&probe, NULL, NULL);
    CHECK_EQUAL(csched_target_submit(csched_loop_target(loops[i]), job_of(&probe)), 0);
    csched_loop_destroy(loops[i]);
    CHECK_PROBE(&probe, 0, 1);
  }
  return kernel_result();
}

// MARK: a loop destroyed by what is its own

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

ctest_failure ctest_loop_destroyed_by_its_own(void) {
  KERNEL();
  static csched_job_type drops = {do_nothing, destroy_own, NULL}, releases = {do_nothing, do_nothing, destroy_own};
  CHECK_CHILD_STOPS(destroy_in_drop, &drops, "is being destroyed");
  CHECK_CHILD_STOPS(destroy_in_drop, &releases, "is being destroyed");
  CHECK_CHILD_STOPS(destroy_when_closed, &drops, "called inside of a run");
  CHECK_CHILD_STOPS(destroy_in_sync_on_it, NULL, "called inside of a sync");
  return kernel_result();
}
