// What the flight recorder costs, in time: a submission and a run on a loop, again and again.
// Tests/Integration/Counts/observed builds it with and without.
#include <CScheduler/loop.h>

#include <stdio.h>
#include <stdlib.h>

static void nothing(csched_job *job) { (void)job; }
static const csched_job_type type = {nothing, nothing, NULL};

// Prints the nanoseconds of one submission and run: the least of several measurements.
int main(int count, char **arguments) {
  enum { BATCH = 64, BATCHES = 2000 };
  static csched_job jobs[BATCH];
  csched_loop *loop;
  int looks = count > 1 ? atoi(arguments[1]) : 20;
  csched_time least = CSCHED_FOREVER;
  if (csched_loop_create(&loop) != 0) return 1;
  for (int i = 0; i < BATCH; i++) csched_job_init(&jobs[i], &type, NULL);
  for (int look = 0; look < looks; look++) {
    csched_time begun = csched_now();
    for (int i = 0; i < BATCHES; i++) {
      for (int j = 0; j < BATCH; j++) csched_target_submit(csched_loop_target(loop), &jobs[j]);
      csched_loop_run_ready(loop, SIZE_MAX);
    }
    csched_time span = csched_now() - begun;
    if (span < least) least = span;
  }
  printf("%.3f\n", (double)least / (BATCH * BATCHES));
  csched_loop_destroy(loop);
}
