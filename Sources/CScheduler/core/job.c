// States
//   IDLE       not submitted, or at its end
//   QUEUED     submitted, waits for its turn
//   RUNNING    `run` has begun
//   DROPPING   a canceller is inside `drop`; the husk is still linked
//   CANCELLED  it has been; the husk is still linked
//   PASSED     a canceller is inside `drop`, and the queue has come past the husk: the release is the canceller's
//   LEFT       in a child of fork: it was RUNNING on a thread that lives in the parent
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
//   J7  A thread that ends inside of jobs (pthread_exit, cancellation) has ended them: their releases follow, the innermost first.
//       So it is where the thread is told of its end: threads of ours, and those that have used a loop, a trampoline, a sync or a
//       fork; down to NESTED_MOST levels. (The stack is gone by then, so what runs is written down elsewhere.)
//   J8  In a child of fork nobody waits for a job that runs in the parent: that stops the process.
// Orderings
//   →QUEUED release, pairs with cancel's acquire, carries the job · QUEUED→RUNNING relaxed, because whoever unlinked the job
//   has acquired it from the queue · DROPPING→CANCELLED and →PASSED release, pair with the acquire of the other of the two,
//   carry the end of its looks at the job · →IDLE release, pairs with the waiter's acquire, carries what `run` did
// Assumes: whoever cancels keeps the memory valid meanwhile (job.h).
// Source: the one-word state is that of every task system; the release callback is the idea of RCU's deferred free.
// Checked by: "a job is run or dropped exactly once", "cancel drops before it returns", "a job may submit itself again",
//   "cancel and wait returns after the run", "submitting a queued job stops the process", "release waits for the end of drop",
//   "cancel and wait returns when the job submits itself again", "a job that ends its thread has ended",
//   "a job that ends its thread on a loop has ended", "after fork a wait for a job of the parent stops the process".
// Models: checks/job.c, checks/trampoline.c. Not modelled: J8.

#include "job_internal.h"

#include "../platform/platform.h"
#include "panic.h"

enum { IDLE = 0, QUEUED = 1, RUNNING = 2, CANCELLED = 3, DROPPING = 4, PASSED = 5, LEFT = 6 };
enum { WAITED = 1, NESTED_MOST = 16 };

// A level of jobs beyond NESTED_MOST.
typedef struct deeper {
  csched_job *job;
  struct deeper *outer;
  unsigned depth;
} deeper;

// The jobs whose `run` is on this thread's stack, outermost first; NULL once one was submitted again. Volatile: a fork finds each
// job there before it is counted.
struct csched_job_stack {
  volatile unsigned depth;
  unsigned holds_most; // NESTED_MOST once the thread is told of its end
  csched_job *volatile jobs[NESTED_MOST];
  deeper *deepest;
};

static CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_job_stack running;

// Takes `job` out of those that run here. Returns: whether it was among them.
static bool forget(const csched_job *job) {
  for (deeper *each = running.deepest; each != NULL; each = each->outer)
    if (each->job == job) {
      each->job = NULL;
      return true;
    }
  for (unsigned i = running.depth < NESTED_MOST ? running.depth : NESTED_MOST; i-- > 0;)
    if (running.jobs[i] == job) {
      running.jobs[i] = NULL;
      return true;
    }
  return false;
}

static bool is_running_here(const csched_job *job) {
  for (const deeper *each = running.deepest; each != NULL; each = each->outer)
    if (each->job == job) return true;
  for (unsigned i = running.depth < NESTED_MOST ? running.depth : NESTED_MOST; i-- > 0;)
    if (running.jobs[i] == job) return true;
  return false;
}

static void release(csched_job *job) {
  if (job->type->release != NULL) job->type->release(job); // J3
}

static CSCHED_NOINLINE void wake_waiters(csched_job *job) {
  csched_fetch_add_release(&job->flags, WAITED + 1u); // J5: release; pairs with the waiter's acquire; carries the work
  csched_futex_wake_(&job->state, INT32_MAX);
}

static const char *name_of(uint32_t state) {
  if (state == LEFT) return "running in the parent of this fork";
  return state >= CANCELLED ? "cancelled, but not yet released" : "pending already";
}

void csched_job_submitted_(csched_job *job, const char *function) {
  uint32_t state = csched_load_relaxed(&job->state);                        // hint: finds misuse
  if (CSCHED_UNLIKELY(state != IDLE) && (state != RUNNING || !forget(job))) // J4
    csched_panic_(function, "job %p is %s. Submit it again from inside its run, or after its release.", (void *)job,
                  name_of(state));
  csched_store_release(&job->state, (uint32_t)QUEUED); // J1: release; pairs with cancel's acquire; carries the job; J5
  if (CSCHED_UNLIKELY(state != IDLE)) {
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

static CSCHED_NOINLINE void run_deeper(csched_job *job) {
  deeper here = {job, running.deepest, running.depth};
  running.deepest = &here;
  running.depth = here.depth + 1;
  job->type->run(job);
  running.depth = here.depth;
  running.deepest = here.outer;
  if (here.job != NULL) end(job); // J4
}

// Returns: whether `job` is to run now; otherwise it was cancelled.
static bool begin(csched_job *job) {
  uint32_t found = QUEUED;
  bool begins = csched_cas_relaxed(&job->state, &found, (uint32_t)RUNNING); // J1: unlinking it has acquired it
  if (CSCHED_UNLIKELY(!begins)) pass_husk(job, found);
  return begins;
}

void csched_job_perform_(csched_job *job) {
  if (CSCHED_UNLIKELY(!begin(job))) return;
  unsigned depth = running.depth;
  if (CSCHED_UNLIKELY(depth >= NESTED_MOST)) {
    run_deeper(job);
    return;
  }
  running.jobs[depth] = job;
  running.depth = depth + 1;
  job->type->run(job);
  running.depth = depth;
  if (running.jobs[depth] != NULL) end(job); // J4
}

static CSCHED_THREAD_LOCAL csched_bin *bin_here;

csched_bin *csched_job_discard_into_(csched_bin *bin) {
  csched_bin *before = bin_here;
  bin_here = bin;
  return before;
}

void csched_job_discard_(csched_job *job) {
  uint32_t found = QUEUED;
  if (CSCHED_UNLIKELY(bin_here != NULL)) {
    bin_here->take(bin_here, job);
    return;
  }
  if (!csched_cas_relaxed(&job->state, &found, (uint32_t)CANCELLED)) { // J1: unlinking it has acquired it
    pass_husk(job, found);
    return;
  }
  job->type->drop(job);
  csched_store_release(&job->state, (uint32_t)IDLE); // J5: the same
  release(job);
}

// MARK: unwinding

void *csched_job_running_(void) {
  return running.deepest != NULL ? (void *)running.deepest : (void *)(uintptr_t)running.depth;
}

void csched_job_restore_running_(void *token) {
  running.deepest = (uintptr_t)token > NESTED_MOST ? token : NULL;
  running.depth = running.deepest != NULL ? running.deepest->depth + 1 : (unsigned)(uintptr_t)token;
}

void csched_job_end_running_(void) { // J7
  running.deepest = NULL;            // of a stack that is gone
  if (running.depth > NESTED_MOST) running.depth = NESTED_MOST;
  while (running.depth > 0) {
    csched_job *job = running.jobs[--running.depth];
    if (job != NULL) end(job);
  }
}

bool csched_job_hold_(csched_job *job, bool is_end_expected) {
  if (is_end_expected) running.holds_most = NESTED_MOST;
  unsigned depth = running.depth;
  if (CSCHED_UNLIKELY(depth >= running.holds_most)) return running.holds_most != 0; // too deep to be held
  running.jobs[depth] = job;
  running.depth = depth + 1;
  return true;
}

void csched_job_let_go_(const csched_job *job) {
  unsigned depth = running.depth;
  if (CSCHED_LIKELY(depth - 1 < NESTED_MOST && running.jobs[depth - 1] == job)) running.depth = depth - 1;
}

// MARK: forks

csched_job_stack *csched_job_stack_(void) { return &running; }

void csched_job_leave_behind_(csched_job_stack *stack) { // J8
  unsigned depth = stack->depth < NESTED_MOST ? stack->depth : NESTED_MOST;
  for (unsigned i = 0; i < depth; i++) {
    csched_job *job = stack->jobs[i];
    if (job != NULL && csched_load_relaxed(&job->state) == RUNNING) // J8: no other thread is left
      csched_store_relaxed(&job->state, (uint32_t)LEFT);            // J8: the same
  }
}

// MARK: cancelling

csched_cancel_result csched_job_begin_cancel_(csched_job *job) {
  uint32_t found = QUEUED;
  if (!csched_cas_acquire(&job->state, &found, (uint32_t)DROPPING)) // J1: acquire; pairs with submitted
    return found == RUNNING || found == LEFT ? CSCHED_CANCEL_RUNNING : CSCHED_CANCEL_FINISHED;
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
  if (result != CSCHED_CANCEL_RUNNING || is_running_here(job)) return result; // J5
  if (csched_load_relaxed(&job->state) == LEFT)                               // J8: nobody changes that
    csched_panic_(
        "csched_job_cancel_and_wait",
        "job %p was left behind by fork: it runs on a thread that lives in the parent. Do not wait for it here.",
        (void *)job);
  uint32_t flags = csched_fetch_or_relaxed(&job->flags, (uint32_t)WAITED) | WAITED; // J6
  csched_fence_heavy_();                                // J6: heavy side; pairs with the runner's light fence
  while (csched_load_acquire(&job->state) == RUNNING && // J5: acquire; pairs with the runner's release
         csched_load_acquire(&job->flags) == flags)     // J5: the same
    csched_futex_wait_(&job->state, RUNNING, CSCHED_FOREVER);
  return result;
}

bool csched_job_is_idle(const csched_job *job) { return csched_load_acquire(&job->state) == IDLE; } // J5
