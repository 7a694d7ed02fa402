// The state of a job: one word decides which thread runs, cancels and releases the job, and which thread owns its
// memory.
//
// States
//   IDLE       not submitted, or ended
//   QUEUED     submitted, not started
//   RUNNING    `run` has started
//   DROPPING   a thread is inside `drop_job`: a canceller, while the job is still linked, or the thread that dequeued
//              the job to drop it
//   CANCELLED  `drop_job` has returned; the job is still linked: a cancelled entry
//   PASSED     the queue has dequeued the job while its canceller is inside `drop_job`: the canceller must call
//              `release`
//   ORPHANED   in a child of fork: it was RUNNING on a thread of the parent; for a task (task_memory.c) also DROPPING
//              or PASSED
// These are the lowest bits of the job's word. Above them are
//   UNWANTED       the job's csched_task was cancelled (task.c)
//   resubmissions  how often the job's own run has submitted the job, modulo 16. A waiter for a run returns when this
//                  count changes
//   generation     (`life`) how often the job has become idle: 56 bits
// `waiting` counts the threads that wait for the end of any job. Each of the `wait_slots` serves all jobs whose
// addresses have the same hash: its `waiters` counts the threads that wait for such a job; its `ends` counts the runs
// and drops of such jobs that ended while there were waiters.
//
// Invariants
//   J1  Exactly one of `run` and `drop_job` is called: one compare-and-exchange changes QUEUED to RUNNING or DROPPING.
//   J2  Cancel returns after `drop_job`: the canceller that changes QUEUED to DROPPING calls `drop_job` itself.
//   J3  `release` is the last call, after the end of `drop_job`, once for each submission. A compare-and-exchange on
//       DROPPING decides whether the canceller or the queue calls `release`. A canceller that has unlinked the job
//       itself always calls `release`.
//   J4  A `run` that submits its own job again transfers the memory to that submission: the runner does not touch the
//       job afterwards.
//   J5  Cancel-and-wait returns after the end of `run`, and sees the writes of `run`. Inside the job's own run it does
//       not wait. A waiter also returns when the `run` submits its own job again.
//   J6  A thread that has run or dropped a job makes the wake system call only if a thread waits. It publishes the new
//       state (IDLE, CANCELLED, or QUEUED by J4), executes a light fence, and reads `waiting` and `waiters`. A waiter
//       increments `waiting` and `waiters`, executes a heavy fence, and reads `ends`, then the word. The two fences
//       order like full fences: the runner sees the waiter, or the waiter the new state.
//   J7  A run that is unwound ends its job, by thread exit (pthread_exit, cancellation), a C++ exception or longjmp.
//       Then the job's `release` is called, for the innermost job first. (frames.c stores the list of running jobs
//       outside the stack, which is no longer readable.)
//   J8  In a child of fork, a wait for a job that runs in the parent stops the process.
//   J9  The library reads and writes no field of a job that is IDLE. So a thread that has seen IDLE
//       (csched_job_is_idle, the end of a wait) owns the memory, unless the type has a `release`. The runner loads
//       `type->release` before it stores IDLE. Later it uses only the address.
//   J10  A node has no state word. The library does not touch a node once its `run` or `drop` has started.
//   J11  Discards do not recurse. A job that a `drop` or `release` discards on the same thread is postponed until that
//        `drop` and `release` return. Postponed jobs are dropped in order, and can be cancelled until then. The stack
//        does not limit their number.
// Orderings
//   →QUEUED: release, pairs with cancel's acquire, carries the job · QUEUED→RUNNING: relaxed, because the dequeue has
//   acquired the job · DROPPING→CANCELLED (canceller) and →PASSED (queue): release, pairs with the acquire of the queue
//   or canceller, carries the last access to the job · →IDLE: release, pairs with the acquire of waiters, late cancels
//   and csched_job_is_idle, carries the writes of `run` and the last access · RUNNING→QUEUED: as →IDLE, carries the
//   writes of that run · ends: release, pairs with the waiter's acquire, carries the change of the word
// Assumes: the memory stays valid during a cancel (job.h).
// Source: the one-word state: every task system; the release callback: RCU's deferred free; wait slots that are never
//   freed: lock.c, LK8.
// Models: checks/job.c, checks/trampoline.c, checks/frames.c. Not modelled: J8, J10, J11; J11 concerns one thread only.

#include "job_internal.h"

#include "../base/panic.h"
#include "../platform/platform.h"
#include "frames_internal.h"
#include "node.h"
#include "observed.h"
#include "recorder_internal.h"

#include <stdlib.h>
#include <string.h>

enum { // the states of a job: see above
  IDLE = CSCHED_JOB_IDLE,
  QUEUED = CSCHED_JOB_QUEUED,
  RUNNING = CSCHED_JOB_RUNNING,
  CANCELLED = CSCHED_JOB_CANCELLED,
  DROPPING = CSCHED_JOB_DROPPING,
  PASSED = CSCHED_JOB_PASSED,
  ORPHANED = CSCHED_JOB_ORPHANED
};
enum { WAIT_SLOTS = 256 }; // more slots: fewer vain wakes of waiters

const csched_observe_hooks *csched_observe_hooks_;

// Returns: the context frame in which `job` runs on this thread; NULL when it does not run here.
static CSCHED_NOINLINE csched_frame *frame_of(const csched_job *job) {
  csched_frame *each = csched_frame_here_();
  while (each != NULL && each->job != job) each = each->outer;
  return each;
}

bool csched_job_is_running_here_(const csched_job *job) { return frame_of(job) != NULL; }

// Does: clears `job` in its context frame, because its own run submits it again. Requires: `job` is RUNNING. Returns:
// false: another thread runs it.
static inline bool detach_from_frame(const csched_job *job) {
  csched_frame *frame = csched_frame_here_();
  if (CSCHED_UNLIKELY(frame->job != job) && (frame = frame_of(job)) == NULL) return false;
  frame->job = NULL;
  return true;
}

// MARK: waiters

static CSCHED_CACHE_ALIGNED uint32_t waiting; // threads that wait for the end of any job
static struct wait_slot { // shared by all jobs with the same address hash, so a waiter may wake in vain
  uint32_t waiters, ends; // `waiters`: threads that wait for such a job; `ends`: a futex, how many such jobs have ended
} wait_slots[WAIT_SLOTS];

static struct wait_slot *slot_of(const csched_job *job) {
  uintptr_t address = (uintptr_t)job; // the hash skips the alignment bits, and mixes in the number of the page
  return &wait_slots[(address >> 4 ^ address >> 12) % WAIT_SLOTS];
}

// Returns: whether any thread waits for any job; false saves the wake. Requires: a light fence after the store of the
// word: no waiter is missed.
static inline bool has_waiters(void) { return CSCHED_UNLIKELY(csched_load_relaxed(&waiting) != 0); } // J6: see above

// Does: wakes the threads that wait for `job`. The job may be freed already: its address is only a hash key.
static CSCHED_NOINLINE void wake_waiters(const csched_job *job) {
  struct wait_slot *slot = slot_of(job);
  if (csched_load_relaxed(&slot->waiters) == 0) return; // J6: no thread waits here: saves the system call
  csched_fetch_add_release(&slot->ends, 1u);            // J5, J6: ends their sleep; pairs with wait_in_'s acquire
  csched_futex_wake_(&slot->ends, INT32_MAX);           // all, because jobs of one slot share the futex
}

// Atfork handler. Does: in the child, clears the counts of waiters, which are threads of the parent.
static void job_at_fork(csched_atfork *atfork, csched_atfork_phase phase) {
  (void)atfork;
  if (phase != CSCHED_ATFORK_IN_CHILD_FIRST) return; // J8: no atomics below, because the child has one thread
  memset(wait_slots, 0, sizeof wait_slots);
  waiting = 0;
}

// Returns: whether a run or a drop of a job in `state` is in progress, so that a waiter must sleep.
static bool is_busy(unsigned state) { return state == RUNNING || state == DROPPING || state == PASSED; }

// Does: waits until the run or drop that the caller has seen in `word` has ended, or its run has submitted the job
// again.
void csched_job_wait_in_(const csched_job *job, uint64_t word) {
  static const uint64_t CHANGES = CSCHED_JOB_STATE | CSCHED_JOB_UNWANTED; // bits that may change before the end
  static csched_atfork atfork;
  struct wait_slot *slot = slot_of(job);
  csched_os_atfork_(&atfork, job_at_fork); // before the counts change, because a child must not keep them
  csched_blocked_begin_("csched_job_cancel_and_wait", job);
  csched_fetch_add_relaxed(&slot->waiters, 1u); // J6: before the fence, so that the thread that ends the job sees it
  csched_fetch_add_relaxed(&waiting, 1u);       // J6: before the fence, so that the thread that ends the job sees it
  csched_fence_heavy_();                        // J6: pairs with the light fence of the thread that ends a run or drop
  for (;;) {
    uint32_t ends = csched_load_acquire(&slot->ends); // J6: before the word: a later end ends the sleep below
    uint64_t found = csched_load_acquire(&job->word); // J5: pairs with end_job's and submit_again's release
    if (((found ^ word) & ~CHANGES) != 0 || !is_busy(csched_job_state_(found))) break; // J5: the run or drop ended
    csched_futex_wait_(&slot->ends, ends, CSCHED_FOREVER); // returns at once if `ends` has changed
  }
  csched_fetch_add_relaxed(&waiting, UINT32_MAX);       // J6: subtracts 1; if seen late: a vain wake
  csched_fetch_add_relaxed(&slot->waiters, UINT32_MAX); // J6: subtracts 1; if seen late: a vain wake
  csched_blocked_end_();
}

// MARK: submitting and running

// Returns: what the message of a refused submission says about `state`.
static const char *name_of_state(unsigned state) {
  if (state == ORPHANED) return "running in the parent of this fork";
  if (state == RUNNING) return "running on another thread";
  return state >= CANCELLED ? "cancelled, but not yet released" : "pending already";
}

static CSCHED_NOINLINE CSCHED_NORETURN void panic_in_use(const csched_job *job) {
  csched_panic_(
      "csched_job_init",
      "job %p was initialised while it was in use. What its run posts comes before the end of its use: wait for "
      "csched_job_is_idle, or by csched_job_cancel_and_wait, or for its release.",
      (const void *)job);
}

static CSCHED_NOINLINE CSCHED_NORETURN void panic_without_run(const csched_job *job) {
  csched_panic_("csched_job_init", "the type of job %p has no `run`. Only `drop` and `release` may be NULL.",
                (const void *)job);
}

// Does: calls the `run` of `job`.
static CSCHED_ALWAYS_INLINE void call_run(csched_job *job) {
  void (*run)(csched_job *) = job->type->run;
  if (CSCHED_UNLIKELY(run == NULL)) panic_without_run(job);
  run(job);
}

// Does: marks a RUNNING job as QUEUED, from inside its run. The count of resubmissions tells waiters that this run has
// ended. If a cancel sets UNWANTED meanwhile, the exchange fails, and is repeated with that flag.
static CSCHED_NOINLINE void submit_again(csched_job *job, uint64_t word) {
  uint64_t resubmissions = (word + CSCHED_JOB_RESUBMISSION) & CSCHED_JOB_RESUBMISSIONS, queued;
  do queued = csched_job_in_state_((word & ~(uint64_t)CSCHED_JOB_RESUBMISSIONS) | resubmissions, QUEUED);
  while (
      !csched_cas_release(&job->word, &word, queued)); // J1, J5: pairs with cancel, waiter; UNWANTED stays: task.c TK6
  csched_fence_light_();                               // J6: pairs with the waiter's heavy fence
  if (has_waiters()) wake_waiters(job); // J5: not later: once the caller has linked the job, it may run and be freed
}

// Does: marks as QUEUED a `job` that its own run submits again. In any other state but IDLE, the submission is misuse,
// and stops the process.
static CSCHED_NOINLINE void submitted_slow(csched_job *job, const char *function) {
  uint64_t word = csched_load_relaxed(&job->word); // racy read: detects misuse
  unsigned state = csched_job_state_(word);
  if (job->type == NULL) csched_panic_(function, "job %p has no type. Call csched_job_init first.", (void *)job);
  if (state != RUNNING || !detach_from_frame(job)) // J4: only the job's own run may submit it
    csched_panic_(function, "job %p is %s. Submit it again from inside its run, or after its release.", (void *)job,
                  name_of_state(state));
  submit_again(job, word);
}

void csched_job_submitted_(csched_job *job, const char *function) {
  if (!csched_job_mark_(job)) submitted_slow(job, function);
}

// Does: ends the use of a job whose word is `word`: makes it IDLE, wakes its waiters, calls `release`. From the store
// on, the memory may belong to another thread. The sum increments the generation, above bit 7, and clears the bits
// below it: the state (IDLE is 0), UNWANTED, resubmissions.
static CSCHED_ALWAYS_INLINE void end_job(csched_job *job, uint64_t word) {
  void (*release)(csched_job *) = job->type->release;                   // J9: not after the store: the job may be freed
  csched_store_release(&job->word, (word | (CSCHED_JOB_LIFE - 1)) + 1); // J5, J9: IDLE; pairs with waiters' acquire
  csched_fence_light_();                                                // J6: pairs with the waiter's heavy fence
  if (has_waiters()) wake_waiters(job);                                 // J6: uses the address only
  if (release != NULL) release(job);                                    // J3: last, because it may free the job
}

// Does: ends the run of `job`. Stops the process if the run has initialised the job, which is then not RUNNING.
static CSCHED_ALWAYS_INLINE void end_run(csched_job *job) {
  uint64_t word = csched_load_relaxed(&job->word); // racy read: detects misuse
  if (CSCHED_UNLIKELY(csched_job_state_(word) != RUNNING)) panic_in_use(job);
  end_job(job, word);
}

// Does: releases a dequeued cancelled entry, whose word was `found`. If its canceller is still inside `drop_job`,
// PASSED makes the canceller do so.
static void release_cancelled_entry(csched_job *job, uint64_t found) {
  if (csched_job_state_(found) == DROPPING &&
      csched_cas_release(&job->word, &found, csched_job_in_state_(found, PASSED)))
    return; // J3: the canceller calls `release`; pairs with the acquire in csched_job_end_cancel_
  if (CSCHED_UNLIKELY(csched_job_state_(found) != CANCELLED)) panic_in_use(job);
  end_job(job, csched_load_acquire(&job->word)); // J3: pairs with the release in csched_job_end_cancel_
}

// Does: ends the run of `job` and its context frame `frame`. Slow path: inner context frames were unwound, or `frame`
// is new or on the stack.
static CSCHED_NOINLINE void end_run_slow(csched_frame *frame, csched_job *job) {
  csched_frame_end_inner_(frame); // J7: first, so that `release` is called for the innermost job first
  if (frame->job == job) {        // J4: NULL if the run has submitted the job again
    frame->job = NULL;
    end_run(job);
  }
  csched_frame_end_(frame);
}

// Does: runs `job`, which is RUNNING, in a newly allocated context frame. Without memory the context frame is `spare`,
// on the stack.
static CSCHED_NOINLINE void perform_slow(csched_job *job, struct csched_target *target) {
  csched_frame spare, *frame = csched_frame_begin_(&spare, CSCHED_OWN_FRAME(), job, target);
  csched_recorder_make_room_();                                              // makes room for the run
  if (frame != &spare) csched_record_(job->type->run, target, job->context); // without memory there may be no recorder
  call_run(job);
  end_run_slow(frame, job);
}

// Returns: whether `job` is a csched_node: the type of a node has its `kind` where the type of a job has its `release`.
static inline bool is_node(const csched_job *job) { return (uintptr_t)job->type->release == CSCHED_NODE; }

// Does: runs `node` with `target` as the current target.
static CSCHED_NOINLINE void perform_node(csched_node *node, struct csched_target *target) {
  csched_frame spare, *frame = csched_frame_begin_(&spare, CSCHED_OWN_FRAME(), NULL, target);
  if (CSCHED_LIKELY(frame != &spare && csched_recorder_has_room_())) // a new recorder has no room yet
    csched_record_((void (*)(csched_job *))node->type->run, target, NULL);
  node->type->run(node); // J10: the node may be freed
  csched_frame_end_(frame);
}

// Does: as release_cancelled_entry, in a context frame: `release` sees `target` as the current target.
static CSCHED_NOINLINE void release_cancelled_entry_on(csched_job *job, struct csched_target *target, uint64_t found) {
  csched_frame spare, *frame = csched_frame_begin_(&spare, CSCHED_OWN_FRAME(), NULL, target);
  release_cancelled_entry(job, found);
  csched_frame_end_(frame);
}

// Does: changes `job`, which this thread has dequeued, from QUEUED to `state`. Returns: false if a canceller was first.
// `*found`: the word before.
static inline bool claim_dequeued(csched_job *job, unsigned state, uint64_t *found) {
  *found = csched_job_in_state_(csched_load_relaxed(&job->word), QUEUED); // J1: expects QUEUED; dequeue has acquired it
  return CSCHED_LIKELY(csched_cas_relaxed(&job->word, found, *found ^ QUEUED ^ state)); // J1: fails after a cancel
}

// Does: runs `job` with `target` as the current target, and ends it; a cancelled entry is only released. Returns:
// whether it ran.
static CSCHED_ALWAYS_INLINE bool perform_on(csched_job *job, struct csched_target *target) {
  csched_frame *outer = csched_frame_top_, *frame = outer->next; // `frame`: for the job; NULL: not allocated yet
  uint64_t found;
  if (is_node(job)) {
    perform_node((csched_node *)job, target);
    return true;
  }
  if (!claim_dequeued(job, RUNNING, &found)) {
    release_cancelled_entry_on(job, target, found);
    return false;
  }
  if (CSCHED_UNLIKELY(frame == NULL)) {
    perform_slow(job, target);
    return true;
  }
  csched_frame_begin_at_(frame, CSCHED_OWN_FRAME(), job, target);
  csched_record_(job->type->run, target, job->context);
  call_run(job);
  if (CSCHED_UNLIKELY(csched_frame_top_ != frame)) { // inner context frames were unwound
    end_run_slow(frame, job);
    return true;
  }
  if (CSCHED_LIKELY(frame->job == job)) { // J4: NULL if the run has submitted the job again
    frame->job = NULL;
    end_run(job);
  }
  csched_frame_top_ = frame->outer; // after end_run: `release` sees `target` as the current target
  return true;
}

// Does: as perform_on, if there is an observer, or the thread's recorder has no room for the run.
static CSCHED_NOINLINE bool perform_on_slow(csched_job *job, struct csched_target *target) {
  csched_observed_run run;
  bool is_observed = csched_is_observed_();
  if (is_observed) csched_observe_hooks_->run(&run, job); // may allocate the thread's recorder
  csched_recorder_make_room_();                           // makes room for the run
  bool has_run = perform_on(job, target);
  if (is_observed) csched_observe_hooks_->ran(&run, has_run);
  return has_run;
}

CSCHED_NOINLINE bool csched_job_perform_on_(csched_job *job, struct csched_target *target) {
  if (!csched_recorder_has_room_() || csched_is_observed_()) return perform_on_slow(job, target);
  return perform_on(job, target);
}

// Does: as perform_on, but the current target does not change. So the context frame may end before `release` is called.
static CSCHED_ALWAYS_INLINE bool perform(csched_job *job) {
  csched_frame *outer = csched_frame_top_, *frame = outer->next; // `frame`: for the job; NULL: not allocated yet
  uint64_t found;
  if (is_node(job)) {
    perform_node((csched_node *)job, csched_frame_here_()->target);
    return true;
  }
  if (!claim_dequeued(job, RUNNING, &found)) {
    release_cancelled_entry(job, found);
    return false;
  }
  if (CSCHED_UNLIKELY(frame == NULL)) {
    perform_slow(job, csched_frame_here_()->target);
    return true;
  }
  csched_frame_begin_at_(frame, CSCHED_OWN_FRAME(), job, outer->target);
  csched_record_(job->type->run, outer->target, job->context);
  call_run(job);
  if (CSCHED_UNLIKELY(csched_frame_top_ != frame)) { // inner context frames were unwound
    end_run_slow(frame, job);
    return true;
  }
  csched_frame_top_ = frame->outer;
  if (CSCHED_LIKELY(frame->job == job)) end_run(job); // J4: NULL if the run has submitted the job again
  return true;
}

// Does: as perform, if there is an observer, or the thread's recorder has no room for the run.
static CSCHED_NOINLINE void perform_here_slow(csched_job *job) {
  csched_observed_run run;
  bool is_observed = csched_is_observed_();
  if (is_observed) csched_observe_hooks_->run(&run, job); // may allocate the thread's recorder
  csched_recorder_make_room_();                           // makes room for the run
  bool has_run = perform(job);
  if (is_observed) csched_observe_hooks_->ran(&run, has_run);
}

CSCHED_NOINLINE void csched_job_perform_(csched_job *job) {
  if (!csched_recorder_has_room_() || csched_is_observed_()) perform_here_slow(job);
  else perform(job);
}

// Receives the jobs that this thread discards. NULL: this thread drops them itself.
static CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_deferred_drops *deferred_here;

csched_deferred_drops *csched_job_discard_into_(csched_deferred_drops *deferred) {
  csched_deferred_drops *before = deferred_here;
  deferred_here = deferred;
  return before;
}

bool csched_job_defers_discards_(void) { return deferred_here != NULL; }

// A call of `drop_job` in progress on this thread. `outer`: the `drop_job` call that encloses it; NULL: none.
typedef struct dropping {
  const csched_job *job;
  csched_drop_reason reason;
  struct dropping *outer;
} dropping;
static CSCHED_TLS_FAST CSCHED_THREAD_LOCAL dropping *current_drop; // the innermost `drop_job` call; NULL: none
CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_job_life csched_job_may_be_refused_; // the job that is being submitted here

bool csched_job_is_dropped_here_(const csched_job *job) {
  const dropping *each = current_drop;
  while (each != NULL && each->job != job) each = each->outer;
  return each != NULL;
}

csched_drop_reason csched_job_drop_reason_(void) { return current_drop->reason; }

// Does: calls the `drop` of `job`, which is DROPPING; meanwhile `reason` is the reason of the innermost drop on this
// thread.
static void drop_job(csched_job *job, csched_drop_reason reason) {
  if (csched_is_observed_()) csched_observe_hooks_->drop(job, reason);
  dropping this_drop = {job, reason, current_drop};
  current_drop = &this_drop;
  if (job->type->drop != NULL) job->type->drop(job);
  current_drop = this_drop.outer;
}

// Does: drops and releases `job`, which this thread has dequeued. A cancelled entry is only released: its canceller
// calls `drop`.
static void discard_now(csched_job *job, csched_drop_reason reason) {
  uint64_t found;
  if (is_node(job)) {
    csched_node *node = (csched_node *)job;
    if (csched_is_observed_()) csched_observe_hooks_->drop(job, reason);
    node->type->drop(node, reason); // J10: the node may be freed
  } else if (!claim_dequeued(job, DROPPING, &found)) {
    release_cancelled_entry(job, found);
  } else {
    drop_job(job, reason);
    end_job(job, csched_load_relaxed(&job->word)); // J3: only this thread changes the state now
  }
}

// MARK: nested discards, which are postponed until the drop around them has returned (J11)

// Lowest bit of the link to a postponed job, which stores the reason of the drop. Set: the submission refused the job.
// Clear: its target stopped.
static const uintptr_t REFUSED = 1;

csched_discards_owners csched_discards_owners_; // hooks of the Swift module; all NULL: jobs have no owners

// A list entry: an owner (csched_discards_owners) that is retained until all postponed jobs are dropped.
typedef struct retained_owner {
  const void *owner;
  struct retained_owner *next;
} retained_owner;

// Does: retains the owner of `job`, which is being postponed, unless the newest entry of the list has the same owner.
static CSCHED_NOINLINE void retain_owner(csched_postponed_drops *postponed, const csched_job *job) {
  const void *owner = csched_discards_owners_.owner_of(job);
  if (owner == NULL || (postponed->owners != NULL && postponed->owners->owner == owner)) return;
  retained_owner *kept = malloc(sizeof *kept);
  csched_discards_owners_.retain(owner);
  if (kept == NULL) return; // without memory the owner is never released: a leak, but no use after free
  *kept = (retained_owner){owner, postponed->owners};
  postponed->owners = kept;
}

// Does: releases the owners, when all postponed jobs are dropped.
static CSCHED_NOINLINE void release_owners(csched_postponed_drops *postponed) {
  for (retained_owner *kept; (kept = postponed->owners) != NULL;) {
    postponed->owners = kept->next;
    csched_discards_owners_.release(kept->owner);
    free(kept);
  }
}

static CSCHED_NOINLINE void discard_flat(csched_postponed_drops *postponed, csched_job *job, csched_drop_reason reason);

static void postpone(csched_postponed_drops *postponed, csched_job *job, csched_drop_reason reason) { // J11: appends
  csched_job **end = postponed->first != NULL ? &postponed->last->next : &postponed->first; // else `last` is invalid
  job->next = NULL;
  *end = (csched_job *)((uintptr_t)job | (reason == CSCHED_DROP_REFUSED ? REFUSED : 0));
  postponed->last = job;
  if (csched_discards_owners_.owner_of != NULL && !is_node(job)) retain_owner(postponed, job);
}

static csched_job *pop_postponed(csched_postponed_drops *postponed, csched_drop_reason *reason) { // J11: oldest first
  uintptr_t first = (uintptr_t)postponed->first;
  csched_job *job = (csched_job *)(first & ~REFUSED);
  if (job == NULL) return NULL;
  *reason = (first & REFUSED) != 0 ? CSCHED_DROP_REFUSED : CSCHED_DROP_STOPPED;
  postponed->first = job->next;
  return job;
}

// Does: starts an empty inner list of postponed jobs. Returns: the outer list, which csched_discards_end_ restores.
csched_discards csched_discards_begin_(void) {
  csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  if (postponed == NULL) return (csched_discards){0}; // no memory: discards are not postponed
  csched_discards outer = {postponed->first, postponed->last, postponed->is_discarding};
  postponed->first = NULL;
  postponed->is_discarding = true;
  return outer;
}

bool csched_is_in_drop_(void) {
  const csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  return postponed != NULL && postponed->is_discarding;
}

void csched_discards_end_(csched_discards outer) { // drops the jobs of the inner list, and restores `outer`
  csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  csched_drop_reason reason;
  if (postponed == NULL) return;
  for (csched_job *job; (job = pop_postponed(postponed, &reason)) != NULL;) discard_now(job, reason);
  postponed->first = outer.first;
  postponed->last = outer.last;
  postponed->is_discarding = outer.is_discarding;
  if (!outer.is_discarding && postponed->owners != NULL) release_owners(postponed); // no postponed job remains
}

bool csched_discards_begin_if_outermost_(void) { // true: from now on this thread postpones its discards
  csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  if (postponed == NULL || postponed->is_discarding) return false;
  return postponed->is_discarding = true;
}

bool csched_discards_reason_(csched_drop_reason *reason) {
  if (current_drop != NULL) *reason = current_drop->reason;
  return current_drop != NULL;
}

// Does: discards the remaining postponed jobs, after longjmp or thread exit has unwound a drop. It is the `release` of
// `unwind_job`.
static void discards_unwound(csched_job *unwind_job) { // J7, J11: postponed jobs are still discarded
  csched_postponed_drops *postponed = unwind_job->context;
  csched_drop_reason reason;
  postponed->is_discarding = false;
  current_drop = postponed->outer; // the inner ones were in stack frames that are gone
  csched_job *job = pop_postponed(postponed, &reason);
  if (job != NULL) discard_flat(postponed, job, reason);
}

static const csched_job_type discards_type = {.release = discards_unwound};

// Does: discards `job`, then in a loop the jobs that these drops postpone. If a drop is unwound, the context frame
// calls discards_unwound.
static CSCHED_NOINLINE void discard_flat(csched_postponed_drops *postponed, csched_job *job,
                                         csched_drop_reason reason) { // J11: no recursion
  csched_frame spare;
  csched_job_init(&postponed->unwind_job, &discards_type, postponed);
  postponed->outer = current_drop; // for discards_unwound
  postponed->is_discarding = true;
  csched_frame *frame =
      csched_frame_begin_(&spare, CSCHED_OWN_FRAME(), &postponed->unwind_job, csched_frame_here_()->target);
  do discard_now(job, reason);
  while ((job = pop_postponed(postponed, &reason)) != NULL);
  csched_frame_end_(frame);
  postponed->is_discarding = false;
  if (CSCHED_UNLIKELY(postponed->owners != NULL)) release_owners(postponed);
}

// The `type.drop` of a csched_own_job_type. Does: calls the `drop` behind the type.
void csched_job_drop_own_(csched_job *job) { ((const csched_own_job_type *)(const void *)job->type)->drop(job); }
// Returns: whether `job` is one of the library's own jobs, whose `drop` runs no user code.
static bool is_own(const csched_job *job) { return job->type->drop == csched_job_drop_own_; }

// Returns: the reason of a drop of `job` now: REFUSED while this thread is inside the submission of `job` in its
// present generation, else STOPPED.
static csched_drop_reason reason_of(const csched_job *job) {
  bool is_refused = job == csched_job_may_be_refused_.job;
  if (is_refused && !is_node(job))
    is_refused = csched_load_relaxed(&job->word) / CSCHED_JOB_LIFE == csched_job_may_be_refused_.life; // J1: not reused
  return is_refused ? CSCHED_DROP_REFUSED : CSCHED_DROP_STOPPED;
}

void csched_job_discard_(csched_job *job) {
  csched_postponed_drops *postponed;
  if (CSCHED_UNLIKELY(deferred_here != NULL)) deferred_here->take(deferred_here, job);
  else if ((!is_node(job) && is_own(job)) || (postponed = csched_frames_postponed_drops_()) == NULL)
    discard_now(job, reason_of(job)); // a `drop` without user code, or no memory for a list of postponed jobs
  else if (!postponed->is_discarding) discard_flat(postponed, job, reason_of(job));
  else postpone(postponed, job, reason_of(job));
}

// MARK: unwinding

void csched_job_end_unwound_(csched_job *job) {                                         // J7: ends the unwound run
  if (job->type->run == NULL) job->type->release(job);                                  // a placeholder job
  else if (csched_job_state_(csched_load_relaxed(&job->word)) == RUNNING) end_run(job); // J7: else initialised again
}

void csched_job_orphan_(csched_job *job) {         // J8: a wait for it would never end
  uint64_t word = csched_load_relaxed(&job->word); // J8: relaxed, because the child has one thread
  if (csched_job_state_(word) == RUNNING)
    csched_store_relaxed(&job->word, csched_job_in_state_(word, ORPHANED)); // J8: relaxed, the child has one thread
}

// MARK: cancelling

csched_cancel_result csched_job_begin_cancel_(csched_job *job) {
  uint64_t word = csched_load_relaxed(&job->word); // racy read, rechecked by the cas
  while (csched_job_state_(word) == QUEUED)
    if (csched_cas_acquire(&job->word, &word, csched_job_in_state_(word, DROPPING)))
      return CSCHED_CANCEL_DROPPED;      // J1: pairs with the release of csched_job_mark_ and submit_again
  (void)csched_load_acquire(&job->word); // J5, J9: pairs with end_job's release: the caller may free an idle job
  return csched_job_state_(word) == RUNNING || csched_job_state_(word) == ORPHANED ? CSCHED_CANCEL_RUNNING
                                                                                   : CSCHED_CANCEL_FINISHED;
}

void csched_job_end_cancel_(csched_job *job, bool is_unlinked) {
  drop_job(job, CSCHED_DROP_CANCELLED);            // J2: `drop` is called before csched_job_cancel returns
  uint64_t word = csched_load_relaxed(&job->word); // racy read, rechecked by the cas
  if (!is_unlinked && csched_job_state_(word) == DROPPING &&
      csched_cas_release(&job->word, &word, csched_job_in_state_(word, CANCELLED))) { // J3: the queue calls `release`
    csched_fence_light_();                // J6: pairs with the waiter's heavy fence
    if (has_waiters()) wake_waiters(job); // J6: threads may wait for the end of the drop
    return;
  }
  end_job(job, csched_load_acquire(&job->word)); // J3: pairs with the release of →PASSED in release_cancelled_entry
}

csched_cancel_result csched_job_cancel(csched_job *job) {
  csched_cancel_result result = csched_job_begin_cancel_(job);
  if (result == CSCHED_CANCEL_DROPPED) csched_job_end_cancel_(job, false);
  return result;
}

bool csched_job_is_cancelled_(const csched_job *job) {
  return !is_node(job) && csched_job_state_(csched_load_relaxed(&job->word)) >= CANCELLED; // J1: final in the queue
}

// For dumps. Returns: whether `job`, which may be freed, seems to be a node or an uncancelled job, and not of the type
// `except`.
bool csched_job_seems_to_wait_(const csched_job *job, const csched_job_type *except) {
  struct {
    const csched_job *next;
    const csched_job_type *type;
  } head;         // the first two fields, which a job and a node have in common
  uintptr_t kind; // of a node's type: CSCHED_NODE, in the place of a job type's `release`
  uint64_t word;
  if (!csched_os_copy_if_mapped_(&head, job, sizeof head) || head.type == except) return false;
  if (!csched_os_copy_if_mapped_(&kind, &head.type->release, sizeof kind)) return false;
  if (kind == CSCHED_NODE) return true;
  return csched_os_copy_if_mapped_(&word, &job->word, sizeof word) && csched_job_state_(word) < CANCELLED;
}

void csched_job_wait_(csched_job *job, const char *function) {
  if (csched_job_is_running_here_(job)) return;    // J5: inside the job's own run the wait would never end
  uint64_t word = csched_load_acquire(&job->word); // J5: pairs with end_job's release
  if (csched_job_state_(word) == ORPHANED)         // J8: ORPHANED is final: a wait would never end
    csched_panic_(function,
                  "job %p was orphaned by fork: it runs on a thread that lives in the parent. Do not wait for it here.",
                  (void *)job);
  if (csched_job_state_(word) == RUNNING) csched_job_wait_in_(job, word); // J5: waits for this run only
}

CSCHED_NOINLINE csched_cancel_result csched_job_cancel_and_wait(csched_job *job) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // J7: ends unwound runs first
  csched_cancel_result result = csched_job_cancel(job);
  if (result == CSCHED_CANCEL_RUNNING) csched_job_wait_(job, "csched_job_cancel_and_wait");
  return result;
}

CSCHED_NOINLINE bool csched_job_is_idle(const csched_job *job) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());                 // J7: ends unwound runs first
  return csched_job_state_(csched_load_acquire(&job->word)) == IDLE; // J5, J9: pairs with end_job's release
}
