// A thread that stays alive between jobs, and a trampoline that turns recursion into iteration.
#include <CScheduler/CScheduler.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

// MARK: a thread that owns a counter

typedef struct request {
  csched_job job;
  int amount;
} request;

static long total; // the thread's own: no lock

static void add(csched_job *job) { total += ((request *)job)->amount; }
static void refuse(csched_job *job) { printf("a request for %d was dropped\n", ((request *)job)->amount); }
static void free_request(csched_job *job) { free(job); }
static const csched_job_type additions = {add, refuse, free_request};

static int submit(csched_thread *thread, int amount) {
  request *request = malloc(sizeof *request);
  if (request == NULL) return -1;
  csched_job_init(&request->job, &additions, NULL);
  request->amount = amount;
  return csched_target_submit(csched_thread_target(thread), &request->job); // ours no longer, whatever the answer
}

// MARK: a chain of a million hops on the trampoline, with one job and no stack

static void hop(csched_job *job) {
  long *left = job->context;
  if (--*left > 0) csched_trampoline_run(job); // queued, because this one is still running
}
static void drop_hop(csched_job *job) { (void)job; }
static const csched_job_type hops = {hop, drop_hop, NULL};

int main(void) {
  csched_thread *thread;
  if (csched_thread_start(&thread, &(csched_thread_options){.name = "keep-alive"}) != 0) return EXIT_FAILURE;
  for (int amount = 1; amount <= 1000; amount++)
    if (submit(thread, amount) != 0) return EXIT_FAILURE;
  csched_thread_stop(thread, CSCHED_STOP_RUN); // after what was submitted
  csched_thread_join(thread);
  if (submit(thread, 7) == 0) return EXIT_FAILURE; // too late: reported, and dropped
  csched_thread_destroy(thread);

  long left = 1000000;
  csched_job job;
  csched_job_init(&job, &hops, &left);
  csched_time start = csched_now();
  csched_trampoline_run(&job);
  printf("a million hops took %" PRIu64 " ns each; the thread's total is %ld\n", (csched_now() - start) / 1000000,
         total);
  return total == 500500 && left == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
