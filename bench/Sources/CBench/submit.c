// Submissions to a thread of its own, ours and Dispatch's.
#include "dispatch.h"
#include "kit.h"

#include <semaphore.h>

enum { SOME = 4096, MOST = 1 << 20 };

static void await(sem_t *semaphore) {
  while (sem_wait(semaphore) != 0) {}
}

// MARK: ours

static const csched_job_type nothing = {do_nothing, do_nothing, NULL};

static void post(csched_job *job) { sem_post(job->context); }
static const csched_job_type posts = {post, do_nothing, NULL};

static void hold(csched_job *job) { await(job->context); }
static const csched_job_type holds = {hold, do_nothing, NULL};

static csched_thread *the_thread(void) {
  static csched_thread *thread;
  if (thread == NULL && csched_thread_start(&thread, NULL) != 0) abort();
  return thread;
}

// The last job has posted, which comes before its end: its memory is ours when it is idle.
static void await_idle(const csched_job *job) {
  while (!csched_job_is_idle(job)) CSCHED_CPU_RELAX();
}

static double submit_some(csched_job *jobs, long some, bool until_run) {
  csched_thread *thread = the_thread();
  sem_t busy, done;
  sem_init(&busy, 0, 0);
  sem_init(&done, 0, 0);
  csched_job first, last;
  csched_job_init(&first, &holds, &busy);
  csched_job_init(&last, &posts, &done);
  for (long i = 0; i < some; i++) csched_job_init(&jobs[i], &nothing, NULL);
  if (!until_run) csched_target_submit(csched_thread_target(thread), &first);
  csched_time start = csched_now();
  for (long i = 0; i < some; i++) csched_target_submit(csched_thread_target(thread), &jobs[i]);
  double took = since(start);
  csched_target_submit(csched_thread_target(thread), &last);
  sem_post(&busy);
  await(&done);
  if (until_run) took = since(start);
  await_idle(&last);
  sem_destroy(&busy);
  sem_destroy(&done);
  return took;
}

double cbench_submit_ours(bool until_run, long count) {
  static csched_job *jobs;
  if (jobs == NULL) jobs = touched(sizeof *jobs * MOST);
  double took = 0;
  for (long left = count, most = until_run ? MOST : SOME; left > 0; left -= most)
    took += submit_some(jobs, left < most ? left : most, until_run);
  return took;
}

// MARK: Dispatch's

static void call_nothing(void *context) { (void)context; }
static void call_post(void *semaphore) { sem_post(semaphore); }
static void call_hold(void *semaphore) { await(semaphore); }

static double dispatch_some(long some, bool until_run) {
  static dispatch_queue_t queue;
  if (queue == NULL) queue = dispatch_queue_create("bench.submit", NULL);
  static sem_t busy, done; // they live as long as the block that posts
  sem_init(&busy, 0, 0);
  sem_init(&done, 0, 0);
  if (!until_run) dispatch_async_f(queue, &busy, call_hold);
  csched_time start = csched_now();
  for (long i = 0; i < some; i++) dispatch_async_f(queue, NULL, call_nothing);
  double took = since(start);
  dispatch_async_f(queue, &done, call_post);
  sem_post(&busy);
  await(&done);
  if (until_run) took = since(start);
  dispatch_sync_f(queue, NULL, call_nothing); // whoever posted has returned
  return took;
}

double cbench_submit_dispatch(bool until_run, long count) {
  double took = 0;
  for (long left = count, most = until_run ? MOST : SOME; left > 0; left -= most)
    took += dispatch_some(left < most ? left : most, until_run);
  return took;
}
