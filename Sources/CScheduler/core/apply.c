// States
//   next        the first number that nobody has taken
//   references  of the helpers' memory: the caller's, and one for each helper that has not been released
//
// Obligations
//   AP1  Each number is in one part: `next` goes on by compare-and-exchange only, and a part is what it passed over.
//   AP2  The call returns after all parts: the caller has found none left, and each helper was cancelled before it began, or has ended.
//   AP3  What is before the call is seen by each part, and what the parts did by the caller.
//   AP4  Nothing waits for a helper that has not begun: so no thread is needed but the caller's, whatever it is inside of.
//   AP5  The helpers' memory is freed once, by the last that is done with it: a cancelled helper may be linked long after the call.
//   AP6  On a worker of the target's pool there are forks instead, in this frame: nothing of a call stays in the target, however many
//        are nested or follow each other while it is busy.
// Orderings
//   next: relaxed, it decides who has a number and carries nothing · AP3: the submission's release, and the acquire of a cancel that finds the helper
//   ended, or of the wait for it (job.c, J5); of forks, fork_join.c's D3 · references: acquire and release, carries the end of all use
// Assumes: J2, J3 and J5 of job.c; D3 and D4 of fork_join.c.
// Source: guided self-scheduling (Polychronopoulos and Kuck) for the parts; that the caller takes part, and helpers which come late find nothing, is
//   Dispatch's dispatch_apply.
// Checked by: "each number of a loop is in one part, on whichever thread", "the iterations of a loop run side by side",
//   "a loop that nobody helps with is run by its caller", "a loop inside of a loop, and inside of a queue, ends",
//   "helpers that come late find nothing", "without memory a loop is run by its caller", "after fork a loop of the parent stops the process".
// Models: checks/apply.c. Not modelled: AP6.

#include <CScheduler/apply.h>

#include "job_internal.h"
#include "pool_internal.h"

#include <stdlib.h>

enum { HELPERS_MOST = CSCHED_APPLY_THREADS_MOST - 1 };

_Static_assert(HELPERS_MOST < (int)CSCHED_DEQUE_SLOTS, "one call's forks fit into a deque");

typedef struct numbers {
  void (*body)(void *context, size_t from, size_t to);
  void *context;
  size_t next, count, grain, shares;
} numbers;

static bool take_part(numbers *all, size_t *from, size_t *to) {
  *from = csched_load_relaxed(&all->next); // racy read, rechecked by the cas
  do {
    size_t left = all->count - *from, span = left / all->shares;
    if (left == 0) return false;
    if (span < all->grain) span = all->grain;
    *to = *from + (span < left ? span : left);
  } while (!csched_cas_relaxed(&all->next, from, *to)); // AP1
  return true;
}

static void run_parts(numbers *all) {
  for (size_t from, to; take_part(all, &from, &to);) all->body(all->context, from, to);
}

static void drop_nothing(csched_job *job) { (void)job; }

// MARK: forks

static void help_in_fork(csched_job *job) { run_parts(job->context); }
static const csched_job_type forked_type = {help_in_fork, drop_nothing, NULL};

static void run_with_forks(numbers *all, size_t helpers) { // AP6
  csched_fork forks[HELPERS_MOST];
  csched_job jobs[HELPERS_MOST];
  for (size_t i = 0; i < helpers; i++) {
    csched_job_init(&jobs[i], &forked_type, all);
    csched_pool_fork(&forks[i], &jobs[i]);
  }
  run_parts(all);
  while (helpers-- > 0) csched_pool_wait(&forks[helpers]); // AP2
}

// MARK: jobs

typedef struct shared {
  numbers all;
  uint32_t references;
  csched_job helpers[];
} shared;

static void let_go(shared *shared) {
  if (csched_fetch_add_acq_rel(&shared->references, UINT32_MAX) == 1) free(shared); // AP5
}

static void help(csched_job *job) { run_parts(&((shared *)job->context)->all); }
static void release(csched_job *job) { let_go(job->context); }
static const csched_job_type helper_type = {help, drop_nothing, release};

static void end_helper(csched_job *helper) { // AP2, AP4
  if (csched_job_cancel(helper) != CSCHED_CANCEL_RUNNING) return;
  csched_pool_blocking_begin();
  csched_job_cancel_and_wait(helper);
  csched_pool_blocking_end();
}

static void run_with_jobs(shared *shared, csched_target *target, size_t helpers) {
  shared->references = (uint32_t)helpers + 1; // AP5: nobody else has it yet
  for (size_t i = 0; i < helpers; i++) csched_job_init(&shared->helpers[i], &helper_type, shared);
  for (size_t i = 0; i < helpers; i++) csched_target_submit(target, &shared->helpers[i]);
  run_parts(&shared->all);
  for (size_t i = 0; i < helpers; i++) end_helper(&shared->helpers[i]);
  let_go(shared);
}

void csched_apply(csched_target *target, size_t threads, size_t count, size_t grain,
                  void (*body)(void *context, size_t from, size_t to), void *context) {
  if (threads == 0) threads = 1;
  if (threads > CSCHED_APPLY_THREADS_MOST) threads = CSCHED_APPLY_THREADS_MOST;
  if (grain == 0) grain = 1;
  size_t helpers = threads - 1, parts = count / grain + (count % grain != 0);
  if (helpers >= parts) helpers = parts > 0 ? parts - 1 : 0;
  numbers all = {.body = body, .context = context, .count = count, .grain = grain, .shares = 4 * (helpers + 1)};
  csched_pool_worker *worker = csched_pool_worker_here_;
  shared *shared;
  if (helpers == 0) {
    if (count != 0) body(context, 0, count);
  } else if (worker != NULL && worker->class != NULL && &worker->class->target == target) {
    run_with_forks(&all, helpers);
  } else if ((shared = malloc(sizeof *shared + helpers * sizeof(csched_job))) != NULL) {
    shared->all = all;
    run_with_jobs(shared, target, helpers);
  } else {
    body(context, 0, count);
  }
}
