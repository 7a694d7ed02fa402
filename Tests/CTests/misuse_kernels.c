#include "kernel.h"

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
    csched_loop_submit(loop, job_of(&probe));
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
  switch (where) {
  case 0: csched_pool_target(pool, priority); break;
  case 1: csched_pool_submit(pool, priority, jobs[0]); break;
  case 2: csched_pool_submit_at(pool, priority, &probe.timer, 0, 0); break;
  default: csched_pool_submit_batch(pool, priority, jobs, 1);
  }
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
    CHECK_EQUAL(csched_loop_submit(loops[i], job_of(&probe)), 0);
    csched_loop_destroy(loops[i]);
    CHECK_PROBE(&probe, 0, 1);
  }
  return kernel_result();
}
