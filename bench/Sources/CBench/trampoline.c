// Jobs on the thread's own trampoline.
#include "kit.h"

static const csched_job_type nothing = {do_nothing, do_nothing, NULL};

enum { BATCH = 1024 };

typedef struct batch {
  csched_job outer;
  csched_job inner[BATCH];
} batch;

static void submit_batch(csched_job *job) {
  batch *batch = job->context;
  for (int i = 0; i < BATCH; i++) csched_trampoline_run(&batch->inner[i]);
}
static const csched_job_type batches = {submit_batch, do_nothing, NULL};

double cbench_trampoline_nested(long count) {
  static batch jobs;
  csched_job_init(&jobs.outer, &batches, &jobs);
  for (int i = 0; i < BATCH; i++) csched_job_init(&jobs.inner[i], &nothing, NULL);
  csched_time start = csched_now();
  for (long i = 0; i < count; i += BATCH) csched_trampoline_run(&jobs.outer);
  return since(start) * (double)count / (double)((count + BATCH - 1) / BATCH * BATCH);
}

static void hop(csched_job *job) {
  long *left = job->context;
  if (--*left > 0) csched_trampoline_run(job);
}
static const csched_job_type hops = {hop, do_nothing, NULL};

double cbench_trampoline_chain(long count) {
  csched_job job;
  csched_job_init(&job, &hops, &count);
  csched_time start = csched_now();
  csched_trampoline_run(&job);
  return since(start);
}
