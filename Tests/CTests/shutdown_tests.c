#include "testing.h"

static void do_nothing(csched_job *job) { (void)job; }
static const csched_job_type nothing_type = {.run = do_nothing, .drop = do_nothing};

static void use_trampoline(void) {
  csched_job job;
  csched_job_init(&job, &nothing_type, NULL);
  csched_trampoline_run(&job);
}

static void threads_counted(void) {
  CHECK_EQUAL(csched_live_threads(), 0);
  csched_thread *threads[3];
  for (int i = 0; i < 3; i++) threads[i] = start_thread("counted");
  CHECK_EQUAL(csched_live_threads(), 3);
  csched_pool *pool = NULL;
  csched_pool_create(&pool, &(csched_pool_options){.workers = 1});
  CHECK_EQUAL(csched_live_threads(), 5); // a worker and the monitor
  csched_pool_destroy(pool);
  CHECK_EQUAL(csched_live_threads(), 3);
  for (int i = 0; i < 2; i++) stop_and_join(threads[i], CSCHED_STOP_RUN);
  CHECK_EQUAL(csched_live_threads(), 1);
  csched_thread_destroy(threads[2]); // without a join
  CHECK_SOON(csched_live_threads() == 0);
  const csched_thread_options absurd = {.stack_size = SIZE_MAX};
  csched_thread *none = NULL;
  CHECK(csched_thread_start(&none, &absurd) != 0);
  CHECK_EQUAL(csched_live_threads(), 0);
}

TEST("each thread of the library is counted from its start to its end") { threads_counted(); }

static void count_up(int index, void *context) {
  (void)index;
  for (int i = 0; i < *(int *)context; i++) {
    csched_count_(CSCHED_COUNTED_JOBS_, 3);
    csched_count_(CSCHED_COUNTED_JOBS_, -2);
    csched_count_(CSCHED_COUNTED_CLOSURES_, -1);
  }
}

static void counts_add_up(int threads, int rounds) {
  int64_t jobs = csched_counted_sum_(CSCHED_COUNTED_JOBS_), closures = csched_counted_sum_(CSCHED_COUNTED_CLOSURES_);
  crew_run(threads, count_up, &rounds);
  CHECK_EQUAL(csched_counted_sum_(CSCHED_COUNTED_JOBS_) - jobs, threads * rounds);
  CHECK_EQUAL(closures - csched_counted_sum_(CSCHED_COUNTED_CLOSURES_), threads * rounds);
  csched_count_(CSCHED_COUNTED_JOBS_, -threads * rounds);
  csched_count_(CSCHED_COUNTED_CLOSURES_, threads * rounds);
}

// DG1
TEST("counts of objects that many threads make and release add up") { counts_add_up(few(100), times(1000)); }

static probe queued, late; // they outlive a thread that is not the main one

static void shutdown(csched_stop_policy policy) {
  bool is_main = csched_is_main_thread();
  probe refused;
  probe_init(&queued, NULL, NULL);
  probe_init(&late, NULL, NULL);
  probe_init(&refused, NULL, NULL);
  bool was_open = csched_target_submit(csched_loop_target(csched_main_loop()), job_of(&queued)) == 0;
  csched_target_submit_at(csched_loop_target(csched_main_loop()), &late.timer,
                          csched_time_after(csched_now(), 60000 * MS), 0);
  if (is_main && was_open) fd_of(csched_main_loop()); // which has descriptors to close
  use_trampoline();

  csched_shutdown(policy);
  csched_shutdown(policy);
  bool has_run = was_open && policy == CSCHED_STOP_RUN;
  if (is_main) CHECK_PROBE(&queued, has_run, !has_run);
  if (is_main) CHECK_PROBE(&late, 0, 1);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(csched_main_loop()), job_of(&refused)), ECANCELED);
  CHECK_PROBE(&refused, 0, 1);
  if (is_main) CHECK_EQUAL(csched_loop_run(csched_main_loop()), CSCHED_RUN_CLOSED);

  use_trampoline(); // made anew
  csched_shutdown(policy);
}

TEST("shutdown runs the main loop's outstanding work by its policy, and refuses later work") {
  shutdown(CSCHED_STOP_RUN);
  shutdown(CSCHED_STOP_DROP); // with no work remaining
}

TEST("shutdown drops the main loop's outstanding work by its policy, and refuses later work") {
  shutdown(CSCHED_STOP_DROP);
}

static void shut_down_elsewhere(int index, void *unused) {
  (void)index, (void)unused;
  shutdown(CSCHED_STOP_RUN);
}

TEST("shutdown on another thread closes the main loop") {
  crew_run(1, shut_down_elsewhere, NULL);
  CHECK_EQUAL(atomic_load(&queued.runs) + atomic_load(&queued.drops), 0); // that is for the main thread
  csched_shutdown(CSCHED_STOP_RUN);
  CHECK_PROBE(&queued, 1, 0);
  CHECK_PROBE(&late, 0, 1);
}

TEST_STOPS("shutdown is refused when all tasks of the program run here",
           "csched_shutdown: called in a program whose tasks all run here", "Leave the call out") {
  csched_main_loop_keep_();
  csched_shutdown(CSCHED_STOP_RUN);
}

static void shut_down(csched_job *job) {
  (void)job;
  csched_shutdown(CSCHED_STOP_RUN);
}
static const csched_job_type shut_down_type = {.run = shut_down, .drop = do_nothing};

static void shutdown_clocks(void) {
  csched_thread *thread = start_thread("clock");
  csched_target *target = csched_loop_target(csched_thread_loop(thread));
  for (int round = 0; round < 3; round++) {
    probe waits, soon;
    probe_init(&waits, NULL, NULL);
    probe_init(&soon, NULL, NULL);
    csched_time now = csched_clock_now(CSCHED_CLOCK_BOOT);
    CHECK_EQUAL(csched_target_submit_at_clock(target, CSCHED_CLOCK_BOOT, &waits.timer, now + 60000 * MS, 0), 0);
    CHECK_EQUAL(csched_target_submit_at_clock(target, CSCHED_CLOCK_BOOT, &soon.timer, now + 5 * MS, 0), 0);
    CHECK_SOON(atomic_load(&soon.releases) == 1);
    CHECK_EQUAL(csched_live_threads(), 2);
    csched_shutdown(CSCHED_STOP_RUN);
    CHECK_EQUAL(csched_live_threads(), 1);
    CHECK_PROBE(&soon, 1, 0);
    CHECK_PROBE(&waits, 0, 1); // dropped
    CHECK_EQUAL(csched_timer_cancel(&waits.timer), CSCHED_CANCEL_FINISHED);
  }
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// CL4, CL5
TEST("after a shutdown the clocks start anew") { shutdown_clocks(); }

#define REPORTED_INSIDE "csched_shutdown: called inside a job, which it would have to wait for"

TEST_STOPS("shutdown inside a job is reported, on a trampoline", REPORTED_INSIDE) {
  csched_job job;
  csched_job_init(&job, &shut_down_type, NULL);
  csched_trampoline_run(&job);
}

static void shut_down_in_job(csched_target *target) {
  csched_job job;
  csched_job_init(&job, &shut_down_type, NULL);
  csched_target_submit(target, &job);
  nap(10000 * MS);
}

TEST_STOPS("shutdown inside a job is reported, on a thread", REPORTED_INSIDE) {
  shut_down_in_job(csched_thread_target(start_thread("ends")));
}

TEST_STOPS("shutdown inside a job is reported, in a pool", REPORTED_INSIDE) {
  csched_pool *pool = NULL;
  CHECK_EQUAL(csched_pool_create(&pool, NULL), 0);
  shut_down_in_job(csched_pool_target(pool, CSCHED_PRIORITY_HIGH));
}
