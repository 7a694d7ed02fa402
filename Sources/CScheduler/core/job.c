// States
//   IDLE       not submitted, or at its end
//   QUEUED     submitted, waits for its turn
//   RUNNING    `run` has begun
//   DROPPING   a canceller is inside `drop`; the husk is still linked
//   CANCELLED  it has been; the husk is still linked
//   PASSED     a canceller is inside `drop`, and the queue has come past the husk: the release is the canceller's
// Flags: WAITED  somebody waits, or has waited, on the state for the end of `run`; only csched_job_init clears it
//   above it, how often waiters were woken: a wait ends by that too, when the job runs again already
//
// Obligations
//   J1  Exactly one of run and drop: QUEUED is left by one compare-and-exchange, to RUNNING, DROPPING or CANCELLED.
//   J2  What the job holds is gone before cancel returns: the winner calls `drop` itself.
//   J3  `release` comes last, after the end of `drop`, and once for a submission: nothing of ours looks at the job after it.
//       Canceller and queue settle by compare-and-exchange on DROPPING who of them comes last.
//   J4  A `run` that submits its own job again hands the memory on: it is not looked at again here.
//   J5  Cancel-and-wait returns after the end of `run`, and sees what it did. Inside the job it does not wait. A `run` that
//       submits its own job again counts as ended by that.
//   J6  Skip the wake: the runner wakes only if it sees WAITED. Publish IDLE (QUEUED, by J4), light fence, look at WAITED;
//       against: publish WAITED, heavy fence, look at the state. WAITED stays: a waiter may come to sleep one run late.
// Orderings
//   →QUEUED release, pairs with cancel's acquire, carries the job · QUEUED→RUNNING relaxed, because whoever unlinked the job
//   has acquired it from the queue · DROPPING→CANCELLED and →PASSED release, pair with the acquire of the other of the two,
//   carry the end of its looks at the job · →IDLE release, pairs with the waiter's acquire, carries what `run` did
// Assumes: whoever cancels keeps the memory valid meanwhile (job.h).
// Source: the one-word state is that of every task system; the release callback is the idea of RCU's deferred free.
// Checked by: "a job is run or dropped exactly once", "cancel drops before it returns", "a job may submit itself again",
//   "cancel and wait returns after the run", "submitting a queued job stops the process", "release waits for the end of drop",
//   "cancel and wait returns when the job submits itself again".
// Models: checks/job.c.

#include "job_internal.h"

#include "../platform/platform.h"
#include "panic.h"

enum { IDLE = 0, QUEUED = 1, RUNNING = 2, CANCELLED = 3, DROPPING = 4, PASSED = 5 };
enum { WAITED = 1 };

// The jobs whose `run` is on this thread's stack, innermost first. `job` is NULL once it was submitted again.
typedef struct running {
  csched_job *job;
  struct running *outer;
} running;

static CSCHED_TLS_FAST CSCHED_THREAD_LOCAL running *innermost;

static running *find_running(const csched_job *job) {
  running *each = innermost;
  while (each != NULL && each->job != job) each = each->outer;
  return each;
}

static void release(csched_job *job) {
  if (job->type->release != NULL) job->type->release(job); // J3
}

static CSCHED_NOINLINE void wake_waiters(csched_job *job) {
  csched_fetch_add_release(&job->flags, WAITED + 1u); // J5: release; pairs with the waiter's acquire; carries the work
  csched_futex_wake_(&job->state, INT32_MAX);
}

void csched_job_submitted_(csched_job *job, const char *function) {
  uint32_t state = csched_load_relaxed(&job->state); // hint: finds misuse
  running *here = NULL;
  if (CSCHED_UNLIKELY(state != IDLE)) {
    here = state == RUNNING ? find_running(job) : NULL;
    if (here == NULL)
      csched_panic_(function, "job %p is %s. Submit it again from inside its run, or after its release.", (void *)job,
                    state >= CANCELLED ? "cancelled, but not yet released" : "pending already");
    here->job = NULL; // J4
  }
  csched_store_release(&job->state, (uint32_t)QUEUED); // J1: release; pairs with cancel's acquire; carries the job; J5
  if (CSCHED_UNLIKELY(here != NULL)) {
    csched_fence_light_();                                            // J6: light side
    if (csched_load_relaxed(&job->flags) & WAITED) wake_waiters(job); // J6: before the push, which gives the job away
  }
}

static void end(csched_job *job) {
  csched_store_release(&job->state, (uint32_t)IDLE); // J5: release; pairs with the waiter's acquire; carries the work
  csched_fence_light_();                             // J6: light side
  if (CSCHED_UNLIKELY(csched_load_relaxed(&job->flags) & WAITED)) wake_waiters(job); // J6
  release(job);
}

// The queue has come to a job that was cancelled.
static void pass_husk(csched_job *job, uint32_t found) {
  if (found == DROPPING && csched_cas_release(&job->state, &found, (uint32_t)PASSED))
    return;                                          // J3: pairs with cancel's acquire
  (void)csched_load_acquire(&job->state);            // J3: pairs with the canceller's release; carries what `drop` did
  csched_store_release(&job->state, (uint32_t)IDLE); // J5: for whoever finds it idle
  release(job);
}

void csched_job_perform_(csched_job *job) {
  uint32_t found = QUEUED;
  if (CSCHED_LIKELY(csched_cas_relaxed(&job->state, &found, (uint32_t)RUNNING))) { // J1: unlinking it has acquired it
    running here = {job, innermost};
    innermost = &here;
    job->type->run(job);
    innermost = here.outer;
    if (here.job == NULL) return; // J4
    end(job);
  } else {
    pass_husk(job, found);
  }
}

void csched_job_discard_(csched_job *job) {
  uint32_t found = QUEUED;
  if (!csched_cas_relaxed(&job->state, &found, (uint32_t)CANCELLED)) { // J1: unlinking it has acquired it
    pass_husk(job, found);
    return;
  }
  job->type->drop(job);
  csched_store_release(&job->state, (uint32_t)IDLE); // J5: the same
  release(job);
}

void *csched_job_running_(void) { return innermost; }

void csched_job_restore_running_(void *running) { innermost = running; }

csched_cancel_result csched_job_begin_cancel_(csched_job *job) {
  uint32_t found = QUEUED;
  if (!csched_cas_acquire(&job->state, &found, (uint32_t)DROPPING)) // J1: acquire; pairs with submitted
    return found == RUNNING ? CSCHED_CANCEL_RUNNING : CSCHED_CANCEL_FINISHED;
  job->type->drop(job); // J2
  return CSCHED_CANCEL_DROPPED;
}

void csched_job_end_cancel_(csched_job *job) {
  uint32_t found = DROPPING;
  if (csched_cas_release(&job->state, &found, (uint32_t)CANCELLED)) return; // J3: the queue comes later
  (void)csched_load_acquire(&job->state);            // J3: pairs with the passing; the queue has done with the memory
  csched_store_release(&job->state, (uint32_t)IDLE); // J5: the same
  release(job);
}

csched_cancel_result csched_job_cancel(csched_job *job) {
  csched_cancel_result result = csched_job_begin_cancel_(job);
  if (result == CSCHED_CANCEL_DROPPED) csched_job_end_cancel_(job);
  return result;
}

bool csched_job_is_husk_(const csched_job *job) {
  return csched_load_relaxed(&job->state) >= CANCELLED; // J1: it stays so until it is discarded
}

csched_cancel_result csched_job_cancel_and_wait(csched_job *job) {
  csched_cancel_result result = csched_job_cancel(job);
  if (result != CSCHED_CANCEL_RUNNING || find_running(job) != NULL) return result;  // J5
  uint32_t flags = csched_fetch_or_relaxed(&job->flags, (uint32_t)WAITED) | WAITED; // J6
  csched_fence_heavy_();                                // J6: heavy side; pairs with the runner's light fence
  while (csched_load_acquire(&job->state) == RUNNING && // J5: acquire; pairs with the runner's release
         csched_load_acquire(&job->flags) == flags)     // J5: the same
    csched_futex_wait_(&job->state, RUNNING, CSCHED_FOREVER);
  return result;
}

bool csched_job_is_idle(const csched_job *job) { return csched_load_acquire(&job->state) == IDLE; } // J5
