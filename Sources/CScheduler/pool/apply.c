// A parallel loop: the caller and its helper jobs claim ranges ("parts") of the iteration numbers from 0 to `count`,
// until all are claimed.
//
// States
//   next        the first number that no thread has claimed
//   references  to the helpers' memory (`shared`): one of the caller, and one of each helper that has not been released
// Invariants
//   AP1  Each iteration number is in one part: `next` changes by compare-and-exchange only; a part is the range from
//        the old value to the new.
//   AP2  The call returns after all parts: all numbers are claimed, and each helper was cancelled before its start, or
//        has ended.
//   AP3  Each part sees what happened before the call, and the caller sees what the parts did.
//   AP4  The call does not wait for a helper that has not started. So the caller's thread is enough, and the call may
//        be made inside any job.
//   AP5  The final reference frees the helpers' memory, once: a cancelled helper may stay linked in the target long
//        after the call.
//   AP6  On a pool worker that runs a job of the target, the helpers are spawned jobs (fork_join.c) in the caller's
//       stack frame. So a call leaves no cancelled helpers in a busy target, however many calls are nested or follow
//       each other.
//   AP7  The caller runs parts of its own call, and what these have spawned, but no other job. So a call may be made
//       under a lock that other jobs ask for, and in a queue's job. A caller whose numbers are all claimed waits for
//       spawned jobs (FJ4), or sleeps until its helpers have ended.
// Orderings
//   next: relaxed, it assigns a number to a thread and carries nothing
//   AP3, at the start: the release of the helper's submission; at the end: the acquire of its cancel, or of the wait
//   for it (J5, FJ3) references: acquire and release; the thread that releases the final reference sees the end of all
//   use
// Assumes: J2, J3 and J5 of job.c; FJ3 and FJ4 of fork_join.c.
// Source: guided self-scheduling (Polychronopoulos and Kuck) for the parts. Dispatch's dispatch_apply: the caller runs
//   parts too, and a helper that starts after all parts are claimed returns at once.
// Models: checks/apply.c. Not modelled: AP6; AP7, see FJ4 and FJ6. Not tested: AP6.

#include <CScheduler/apply.h>
#include "../base/panic.h"
#include "../job/job_internal.h"
#include "pool_internal.h"
#include "../targets/target_internal.h"

#include <stdlib.h>

enum { HELPERS_MOST = CSCHED_APPLY_THREADS_MOST - 1 }; // the caller is one of the threads

_Static_assert(HELPERS_MOST < (int)CSCHED_DEQUE_SLOTS, "one call's spawns fit into a deque");

// One call of csched_apply, with the iteration numbers from 0 to `count` - 1. A part has 1 / `shares` of the numbers
// that no thread has claimed yet, and at least `grain` numbers; the final part may be smaller. So the parts shrink, and
// the threads end together. `body` runs `from` to `to` - 1.
typedef struct numbers {
  void (*body)(void *context, size_t from, size_t to);
  void *context;
  size_t next, count, grain, shares;
} numbers;

// Does: claims the next part. Returns: false when all numbers are claimed.
static bool claim_part(numbers *all, size_t *from, size_t *to) {
  *from = csched_load_relaxed(&all->next); // racy read, rechecked by the cas
  do {
    size_t remaining = all->count - *from, span = remaining / all->shares;
    if (remaining == 0) return false;
    if (span < all->grain) span = all->grain;
    *to = *from + (span < remaining ? span : remaining);
  } while (!csched_cas_relaxed(&all->next, from, *to)); // AP1: claims the part; relaxed: it carries no data
  return true;
}

// Does: runs parts, until all numbers are claimed. Other threads may still run theirs.
static void run_parts(numbers *all) {
  for (size_t from, to; claim_part(all, &from, &to);) all->body(all->context, from, to);
}
static void drop_nothing(csched_job *job) { (void)job; } // a helper has no resources to free

// MARK: helpers that are spawned jobs

static void run_spawned_helper(csched_job *job) { run_parts(job->context); }
static const csched_job_type spawned_type = {run_spawned_helper, drop_nothing, NULL};

static void run_with_spawned_helpers(numbers *all,
                                     size_t helpers) { // AP6: `jobs` lie in this stack frame: waits for all
  csched_fork spawns[HELPERS_MOST];
  csched_job jobs[HELPERS_MOST];
  for (size_t i = 0; i < helpers; i++) {
    csched_job_init(&jobs[i], &spawned_type, all);
    csched_pool_fork(&spawns[i], &jobs[i]);
  }
  run_parts(all);
  while (helpers-- > 0) csched_pool_wait(&spawns[helpers]); // AP2: all helpers have ended; newest first, see pool.h
}

// MARK: helpers that are submitted jobs

// The numbers and the helpers of one call. They are on the heap, because a cancelled helper may stay linked in the
// target after the call (AP5).
typedef struct shared {
  numbers all;
  uint32_t references;
  csched_job helpers[];
} shared;

static void release_apply(shared *shared) {                                         // releases one reference
  if (csched_fetch_add_acq_rel(&shared->references, UINT32_MAX) == 1) free(shared); // AP5: the final reference
}

static void run_helper(csched_job *job) { run_parts(&((shared *)job->context)->all); }
static void release_helper(csched_job *job) { release_apply(job->context); }
static const csched_job_type helper_type = {run_helper, drop_nothing, release_helper};

// Does: cancels `helper`; if it runs, waits for its end. The first attempt does not wait, so that most calls never
// count as blocked.
static void end_helper(csched_job *helper) { // AP2, AP4: no wait for a helper that has not started
  if (csched_job_cancel(helper) != CSCHED_CANCEL_RUNNING) return;
  csched_pool_blocking_begin(); // on a pool's worker: another worker may run meanwhile
  csched_job_cancel_and_wait(helper);
  csched_pool_blocking_end();
}

static void run_with_jobs(shared *shared, csched_target *target, size_t helpers) {
  shared->references = (uint32_t)helpers + 1; // AP5: the helpers, and the caller
  for (size_t i = 0; i < helpers; i++) csched_job_init(&shared->helpers[i], &helper_type, shared);
  for (size_t i = 0; i < helpers; i++) csched_target_submit_always_(target, &shared->helpers[i]);
  run_parts(&shared->all); // until all numbers are claimed: a helper that starts later returns at once
  for (size_t i = 0; i < helpers; i++) end_helper(&shared->helpers[i]);
  release_apply(shared);
}

// Does: runs `body` for all numbers below `count`, on at most `threads` threads, this one included. Returns when all
// have run.
void csched_apply(csched_target *target, size_t threads, size_t count, size_t grain,
                  void (*body)(void *context, size_t from, size_t to), void *context) {
  CSCHED_NEEDS_FUNCTION_(body, "csched_apply");
  if (threads == 0) threads = 1;
  if (threads > CSCHED_APPLY_THREADS_MOST) threads = CSCHED_APPLY_THREADS_MOST;
  if (grain == 0) grain = 1;
  size_t helpers = threads - 1, parts = count / grain + (count % grain != 0); // the most parts, rounded up
  if (helpers >= parts) helpers = parts > 0 ? parts - 1 : 0;                  // a thread for each part is enough
  numbers all = {.body = body, .context = context, .count = count, .grain = grain, .shares = 4 * (helpers + 1)};
  csched_pool_worker *worker = csched_pool_worker_here_;
  shared *shared;
  if (helpers == 0) {
    if (count != 0) body(context, 0, count);
  } else if (worker != NULL && worker->class != NULL && &worker->class->target == target) { // AP6: in a job of `target`
    run_with_spawned_helpers(&all, helpers);
  } else if ((shared = malloc(sizeof *shared + helpers * sizeof(csched_job))) != NULL) {
    shared->all = all;
    run_with_jobs(shared, target, helpers);
  } else { // no memory: the caller runs all iterations
    body(context, 0, count);
  }
}
