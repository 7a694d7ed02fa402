// The count of a loop's jobs that no run has reached, for the end of the process.
#include "testing.h"

static void ignore(csched_job *job) { (void)job; }

static const csched_job_type own_type = {.run = ignore, .drop = ignore};

static void check_unrun(csched_loop *loop, size_t queued, size_t delayed) {
  size_t found_queued = SIZE_MAX, found_delayed = SIZE_MAX;
  bool is_found = csched_loop_count_unrun_(loop, &own_type, &found_queued, &found_delayed);
  CHECK_EQUAL(found_queued, queued);
  CHECK_EQUAL(found_delayed, delayed);
  CHECK_EQUAL(is_found, queued + delayed > 0);
}

static void check_one_and_one(int index, void *context) {
  (void)index;
  check_unrun(context, 1, 1);
}

static void check_none(int index, void *context) {
  (void)index;
  check_unrun(context, 0, 0);
}

static void check_none_in_run(probe *probe) {
  check_unrun(probe->context, 0, 0);
  crew_run(1, check_none, probe->context);
}

static void submit(csched_loop *loop, probe *probe, void (*body)(struct probe *)) {
  probe_init(probe, body, loop);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(probe)), 0);
}

static void loop_counts_unrun(void) {
  csched_loop *loop = NULL;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_target *target = csched_loop_target(loop);
  probe probes[7];
  check_unrun(loop, 0, 0);
  submit(loop, &probes[0], check_none_in_run);
  probe_init(&probes[1], NULL, NULL);
  CHECK_EQUAL(csched_target_submit_at(target, &probes[1].timer, csched_time_after(csched_now(), 3600000 * MS), 0), 0);
  submit(loop, &probes[2], NULL);
  csched_job_cancel(job_of(&probes[2]));
  csched_job own;
  csched_job_init(&own, &own_type, NULL);
  CHECK_EQUAL(csched_target_submit(target, &own), 0);
  check_unrun(loop, 1, 1);
  crew_run(1, check_one_and_one, loop);
  submit(loop, &probes[3], NULL); // which still waits inside of the first one's run
  csched_loop_run_ready(loop, 1);
  CHECK_EQUAL(atomic_load(&probes[0].runs), 1);
  check_unrun(loop, 1, 0); // a loop that has run may still reach its later timers
  csched_loop_run_ready(loop, 9);
  check_unrun(loop, 0, 0);
  // After a run, the loop's own thread calls it.
  csched_time due = csched_now() + 1;
  probe_init(&probes[4], NULL, NULL);
  CHECK_EQUAL(csched_target_submit_at(target, &probes[4].timer, due, 0), 0);
  WAIT_WHILE(csched_now() <= due);
  check_unrun(loop, 1, 0);
  crew_run(1, check_none, loop);
  // Jobs that remain after a stop count as given up.
  csched_loop_end_run(loop);
  CHECK_EQUAL(csched_loop_run(loop), CSCHED_RUN_ENDED);
  check_unrun(loop, 0, 0);
  csched_loop_run_ready(loop, 9);
  submit(loop, &probes[5], NULL);
  check_unrun(loop, 1, 0);
  if (fd_of(loop) >= 0) check_unrun(loop, 0, 0);
  csched_loop_destroy(loop);
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  submit(loop, &probes[6], NULL);
  check_unrun(loop, 1, 0);
  csched_loop_close(loop, CSCHED_STOP_RUN);
  check_unrun(loop, 0, 0);
  csched_loop_destroy(loop);
}

TEST_UNLESS(QEMU, "qemu's process does not read its own memory by a system call",
            "a loop counts the jobs that no run has reached, unless it is run, was stopped or has a host") { // LP13
  loop_counts_unrun();
}
