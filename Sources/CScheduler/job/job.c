// The state of a job: one word decides which thread runs, cancels and releases the job, and which thread owns its memory.
//
// States
//   IDLE       not submitted, or ended
//   QUEUED     submitted, not started
//   RUNNING    `run` has started
//   DROPPING   a thread is inside `drop_job`: a canceller, while the job is still linked, or the thread that dequeued the job to drop it
//   CANCELLED  `drop_job` has returned; the job is still linked: a cancelled entry
//   PASSED     dequeued while the canceller is inside `drop_job`: the canceller must call `release`
//   ORPHANED   in a child of fork: it was RUNNING on a thread of the parent; for a task (task_memory.c) also DROPPING or PASSED
// These are the lowest bits of the job's word. Above them are
//   UNWANTED       the job's task was cancelled (task.c)
//   resubmissions  how often the job's own run has submitted it, modulo 16. A wait for a run ends when this changes, also if the job runs again
//   generation     (`life`) how often the job has become idle: 56 bits
// `waiting` counts the threads that wait for the end of any job. A wait slot serves all jobs whose addresses have the same hash: `waiters`
// counts the threads that wait for such a job, and `ends` the ends of such jobs meanwhile.
//
// Invariants
//   J1  Exactly one of `run` and `drop_job` is called: one compare-and-exchange changes QUEUED to RUNNING or DROPPING.
//   J2  Cancel returns after `drop_job`: the canceller that changes QUEUED to DROPPING calls `drop_job` itself.
//   J3  `release` is called last, after the end of `drop_job`, once for each submission. A compare-and-exchange on DROPPING decides whether the
//       canceller or the queue calls it. A canceller that has unlinked the job itself calls `release`.
//   J4  A `run` that submits its own job again transfers the memory to that submission: the runner does not touch the job afterwards.
//   J5  Cancel-and-wait returns after the end of `run`, and sees the writes of `run`. Inside the job's own run it does not wait. For a waiter, a
//       `run` also ends when it submits its own job again.
//   J6  Skip the wake: a thread that has run or dropped a job makes a wake call only if a thread waits. It publishes the new state (IDLE, CANCELLED,
//       or QUEUED by J4), executes a light fence, and reads both counts. A waiter raises both counts, executes a heavy fence, and reads `ends`, then
//       the word. The job may already run again by then.
//   J7  A job whose run is unwound has ended: by thread exit (pthread_exit, cancellation), a C++ exception or longjmp. Its `release` follows, the
//       innermost job's first. (The stack is gone by then, so frames.c records elsewhere which jobs run.)
//   J8  In a child of fork, a wait for a job that runs in the parent stops the process.
//   J9  No field of a job is read or written once the job is IDLE. So a thread that has seen IDLE (csched_job_is_idle, the end of a wait) owns the
//       memory, unless the type has a `release`, which is read before. Later steps use the address only as a hash key.
//   J10  A node has no state word. The library does not touch a node once its `run` or `drop` has started.
//   J11  Discards are flat. Jobs that a `drop` or `release` discards on the same thread are postponed until both have returned. Postponed jobs are
//        dropped in order, and can be cancelled until then. The stack does not limit their number.
// Orderings
//   →QUEUED: release, pairs with cancel's acquire, carries the job · QUEUED→RUNNING: relaxed, because the dequeue has acquired the job ·
//   DROPPING→CANCELLED and →PASSED: release, each pairs with the acquire of the other side, carries the last access to the job · →IDLE: release,
//   pairs with the acquire of waiters, late cancels and csched_job_is_idle; carries the writes of `run` and the last access to the job ·
//   RUNNING→QUEUED: as →IDLE, carries the writes of that run · ends: release, pairs with the waiter's acquire, carries the change of the word
// Assumes: the memory stays valid during a cancel (job.h).
// Source: the one-word state is that of every task system; the release callback is the idea of RCU's deferred free; memory for waiters that is never
//   freed is the lock's (lock.c, LK8).
// Checked by: "a job is run or dropped exactly once", "cancel drops before it returns", "a job may submit itself again", "cancel and wait returns
//   after the run", "submitting a queued job stops the process", "release waits for the end of drop", "cancel and wait returns when the job submits
//   itself again", "a job that ends its thread has ended", "a job that ends its thread on a loop has ended", "a job that is left by longjmp has
//   ended", "after fork a wait for a job of the parent stops the process", "a job is freed after cancel and wait", "a job is freed when it is idle",
//   "a waiter is not kept by a job that runs again and again", "a job that is initialised while it is in use stops the process", "a node runs or is
//   dropped, once", "drops that cause drops have a constant stack".
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

enum {
  IDLE = CSCHED_JOB_IDLE,
  QUEUED = CSCHED_JOB_QUEUED,
  RUNNING = CSCHED_JOB_RUNNING,
  CANCELLED = CSCHED_JOB_CANCELLED,
  DROPPING = CSCHED_JOB_DROPPING,
  PASSED = CSCHED_JOB_PASSED,
  ORPHANED = CSCHED_JOB_ORPHANED
};
enum { WAIT_SLOTS = 256 };

const csched_observe_hooks *csched_observe_hooks_;

// Returns: the context frame in which `job` runs on this thread; NULL when it does not run here.
static CSCHED_NOINLINE csched_frame *frame_of(const csched_job *job) {
  csched_frame *each = csched_frame_here_();
  while (each != NULL && each->job != job) each = each->outer;
  return each;
}

bool csched_job_is_running_here_(const csched_job *job) { return frame_of(job) != NULL; }

// Does: removes `job`, which its own run submits again, from its context frame. Requires: it is RUNNING. Returns: false if on another thread.
static inline bool detach_from_frame(const csched_job *job) {
  csched_frame *frame = csched_frame_here_();
  if (CSCHED_UNLIKELY(frame->job != job) && (frame = frame_of(job)) == NULL) return false;
  frame->job = NULL;
  return true;
}

// MARK: waiters

static CSCHED_CACHE_ALIGNED uint32_t waiting; // threads that wait for the end of any job
static struct wait_slot { // shared by jobs of one hash: a wake for another job of the slot costs one system call
  uint32_t waiters, ends; // threads that wait for a job of this slot; futex: ends of such jobs while there are waiters
} wait_slots[WAIT_SLOTS];

static struct wait_slot *slot_of(const csched_job *job) {
  uintptr_t address = (uintptr_t)job;
  return &wait_slots[(address >> 4 ^ address >> 12) % WAIT_SLOTS];
}

// Returns: whether to call `wake_waiters`. Requires: a light fence before. The job may be freed already: its address is only a hash key.
static inline bool has_waiters(void) { return CSCHED_UNLIKELY(csched_load_relaxed(&waiting) != 0); } // J6: skipped wake

static CSCHED_NOINLINE void wake_waiters(const csched_job *job) {
  struct wait_slot *slot = slot_of(job);
  if (csched_load_relaxed(&slot->waiters) == 0) return; // J6: skipped wake
  csched_fetch_add_release(&slot->ends, 1u);            // J5, J6: release; pairs with the waiter's acquire
  csched_futex_wake_(&slot->ends, INT32_MAX);
}

static void job_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // J8: atfork handler
  (void)atfork;
  if (phase != CSCHED_ATFORK_IN_CHILD_FIRST) return;
  memset(wait_slots, 0, sizeof wait_slots); // the waiters are threads of the parent
  waiting = 0;
}

static bool is_busy(unsigned state) { return state == RUNNING || state == DROPPING || state == PASSED; }

void csched_job_wait_in_(const csched_job *job, uint64_t word) {
  static const uint64_t CHANGES = CSCHED_JOB_STATE | CSCHED_JOB_UNWANTED; // bits that change within a submission
  static csched_atfork atfork;
  struct wait_slot *slot = slot_of(job);
  csched_os_atfork_(&atfork, job_at_fork);
  csched_blocked_begin_("csched_job_cancel_and_wait", job);
  csched_fetch_add_relaxed(&slot->waiters, 1u); // J6: before the fence
  csched_fetch_add_relaxed(&waiting, 1u);       // J6: before the fence
  csched_fence_heavy_();                        // J6: heavy side; pairs with the runner's light fence
  for (;;) {
    uint32_t ends = csched_load_acquire(&slot->ends); // J6: acquire; pairs with the wake
    uint64_t found = csched_load_acquire(&job->word); // J5: acquire; pairs with the runner's release
    if (((found ^ word) & ~CHANGES) != 0 || !is_busy(csched_job_state_(found))) break;
    csched_futex_wait_(&slot->ends, ends, CSCHED_FOREVER);
  }
  csched_fetch_add_relaxed(&waiting, UINT32_MAX);       // J6: orders nothing
  csched_fetch_add_relaxed(&slot->waiters, UINT32_MAX); // J6: orders nothing
  csched_blocked_end_();
}

// MARK: submitting and running

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

// Does: submits a job again from inside its run. The count of resubmissions lets a waiter distinguish this run from the next.
static CSCHED_NOINLINE void submit_again(csched_job *job, uint64_t word) {
  uint64_t resubmissions = (word + CSCHED_JOB_RESUBMISSION) & CSCHED_JOB_RESUBMISSIONS, queued;
  do queued = csched_job_in_state_((word & ~(uint64_t)CSCHED_JOB_RESUBMISSIONS) | resubmissions, QUEUED);
  while (!csched_cas_release(&job->word, &word, queued)); // J1, J5: pairs with the acquire of cancel and waiter; TK6
  csched_fence_light_();                                  // J6: light side
  if (has_waiters()) wake_waiters(job);                   // J5: before the push: later another thread may free the job
}

static CSCHED_NOINLINE void submitted_slow(csched_job *job, const char *function) {
  uint64_t word = csched_load_relaxed(&job->word); // racy read: finds misuse
  unsigned state = csched_job_state_(word);
  if (state != RUNNING || !detach_from_frame(job)) // J4: only its own run may resubmit
    csched_panic_(function, "job %p is %s. Submit it again from inside its run, or after its release.", (void *)job,
                  name_of_state(state));
  submit_again(job, word);
}

void csched_job_submitted_(csched_job *job, const char *function) {
  if (!csched_job_mark_(job)) submitted_slow(job, function);
}

// Does: ends a job whose word is `word`. After the store the memory belongs to `release`, or without a `release` to the job's owner.
static CSCHED_ALWAYS_INLINE void end_job(csched_job *job, uint64_t word) {
  void (*release)(csched_job *) = job->type->release;                   // J9: read before the store
  csched_store_release(&job->word, (word | (CSCHED_JOB_LIFE - 1)) + 1); // J5, J9: pairs with all acquires
  csched_fence_light_();                                                // J6: light side
  if (has_waiters()) wake_waiters(job);                                 // J6: skipped wake
  if (release != NULL) release(job);                                    // J3: last
}

static CSCHED_ALWAYS_INLINE void end_run(csched_job *job) {
  uint64_t word = csched_load_relaxed(&job->word); // racy read: finds misuse
  if (CSCHED_UNLIKELY(csched_job_state_(word) != RUNNING)) panic_in_use(job);
  end_job(job, word);
}

// Does: releases a cancelled entry that this thread has dequeued, or leaves that to the canceller in `drop_job`. `found`: the job's word.
static void release_cancelled_entry(csched_job *job, uint64_t found) {
  if (csched_job_state_(found) == DROPPING &&
      csched_cas_release(&job->word, &found, csched_job_in_state_(found, PASSED)))
    return; // J3: pairs with cancel's acquire; the canceller calls `release`
  if (CSCHED_UNLIKELY(csched_job_state_(found) != CANCELLED)) panic_in_use(job);
  end_job(job, csched_load_acquire(&job->word)); // J3: pairs with the canceller's release
}

// Does: ends `frame` and the run of `job` in it, after the context frames inside it were unwound or allocation failed.
static CSCHED_NOINLINE void end_run_slow(csched_frame *frame, csched_job *job) {
  csched_frame_leave_inner_(frame); // J7: unwound inner jobs end first
  if (frame->job == job) {          // J4: else resubmitted
    frame->job = NULL;
    end_run(job);
  }
  csched_frame_end_(frame);
}

// Does: runs `job`, which is RUNNING, in a newly allocated context frame; without memory the frame is `spare`, on the stack.
static CSCHED_NOINLINE void perform_slow(csched_job *job, struct csched_target *target) {
  csched_frame spare, *frame = csched_frame_begin_(&spare, CSCHED_OWN_FRAME(), job, target);
  csched_recorder_turn_();
  if (frame != &spare) csched_record_(job->type->run, target, job->context);
  job->type->run(job);
  end_run_slow(frame, job);
}

static inline bool is_node(const csched_job *job) { return (uintptr_t)job->type->release == CSCHED_NODE; }

static CSCHED_NOINLINE void perform_node(csched_node *node, struct csched_target *target) {
  csched_frame spare, *frame = csched_frame_begin_(&spare, CSCHED_OWN_FRAME(), NULL, target);
  if (CSCHED_LIKELY(frame != &spare && csched_recorder_has_room_())) // no room yet in the thread's first run
    csched_record_((void (*)(csched_job *))node->type->run, target, NULL);
  node->type->run(node); // J10: the node may be freed
  csched_frame_end_(frame);
}

static CSCHED_NOINLINE void release_cancelled_entry_on(csched_job *job, struct csched_target *target, uint64_t found) {
  csched_frame spare, *frame = csched_frame_begin_(&spare, CSCHED_OWN_FRAME(), NULL, target);
  release_cancelled_entry(job, found);
  csched_frame_end_(frame);
}

// Does: changes `job`, which this thread has dequeued, from QUEUED to `state`. Returns: false if a canceller was first: `*found` is the word.
static inline bool claim_dequeued(csched_job *job, unsigned state, uint64_t *found) {
  *found = csched_job_in_state_(csched_load_relaxed(&job->word), QUEUED); // J1: the dequeue has acquired the job
  return CSCHED_LIKELY(csched_cas_relaxed(&job->word, found, *found ^ QUEUED ^ state)); // J1: or a canceller wins
}

// Does: runs `job` with `target` as the current target, and ends it; a cancelled entry is only released. Returns: whether it ran.
static CSCHED_ALWAYS_INLINE bool perform_on(csched_job *job, struct csched_target *target) {
  csched_frame *outer = csched_frame_top_, *frame = outer->next;
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
  job->type->run(job);
  if (CSCHED_UNLIKELY(csched_frame_top_ != frame)) {
    end_run_slow(frame, job);
    return true;
  }
  if (CSCHED_LIKELY(frame->job == job)) { // J4: else resubmitted
    frame->job = NULL;
    end_run(job);
  }
  csched_frame_top_ = frame->outer;
  return true;
}

static CSCHED_NOINLINE bool perform_on_slow(csched_job *job, struct csched_target *target) {
  csched_observed_run run;
  bool is_observed = csched_is_observed_();
  csched_recorder_turn_();
  if (is_observed) csched_observe_hooks_->run(&run, job);
  bool has_run = perform_on(job, target);
  if (is_observed) csched_observe_hooks_->ran(&run, has_run);
  return has_run;
}

CSCHED_NOINLINE bool csched_job_perform_on_(csched_job *job, struct csched_target *target) {
  if (!csched_recorder_has_room_() || csched_is_observed_()) return perform_on_slow(job, target);
  return perform_on(job, target);
}

// Does: as perform_on, but the current target does not change. So the context frame can end before `release` is called.
static CSCHED_ALWAYS_INLINE bool perform(csched_job *job) {
  csched_frame *outer = csched_frame_top_, *frame = outer->next;
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
  job->type->run(job);
  if (CSCHED_UNLIKELY(csched_frame_top_ != frame)) {
    end_run_slow(frame, job);
    return true;
  }
  csched_frame_top_ = frame->outer;
  if (CSCHED_LIKELY(frame->job == job)) end_run(job); // J4: else resubmitted
  return true;
}

static CSCHED_NOINLINE void perform_here_slow(csched_job *job) {
  csched_observed_run run;
  bool is_observed = csched_is_observed_();
  csched_recorder_turn_();
  if (is_observed) csched_observe_hooks_->run(&run, job);
  bool has_run = perform(job);
  if (is_observed) csched_observe_hooks_->ran(&run, has_run);
}

CSCHED_NOINLINE void csched_job_perform_(csched_job *job) {
  if (!csched_recorder_has_room_() || csched_is_observed_()) perform_here_slow(job);
  else perform(job);
}

static CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_deferred_drops *deferred_here; // NULL: drop at once

csched_deferred_drops *csched_job_discard_into_(csched_deferred_drops *deferred) {
  csched_deferred_drops *before = deferred_here;
  deferred_here = deferred;
  return before;
}

// A call of `drop_job` in progress on this thread; `outer` is the call around it, NULL at the outermost call.
typedef struct dropping {
  const csched_job *job;
  csched_drop_reason reason;
  struct dropping *outer;
} dropping;
static CSCHED_TLS_FAST CSCHED_THREAD_LOCAL dropping *current_drop; // the innermost call; NULL: none
CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_job_life csched_job_may_be_refused_;

bool csched_job_is_dropped_here_(const csched_job *job) {
  const dropping *each = current_drop;
  while (each != NULL && each->job != job) each = each->outer;
  return each != NULL;
}

csched_drop_reason csched_job_drop_reason_(void) { return current_drop->reason; }

static void drop_job(csched_job *job, csched_drop_reason reason) {
  if (csched_is_observed_()) csched_observe_hooks_->drop(job, reason);
  dropping this_drop = {job, reason, current_drop};
  current_drop = &this_drop;
  if (job->type->drop != NULL) job->type->drop(job);
  current_drop = this_drop.outer;
}

// Does: drops and releases `job`, which this thread has dequeued; a cancelled entry is only released.
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
    end_job(job, csched_load_relaxed(&job->word)); // J3: only this thread changes the word
  }
}

// MARK: nested discards

// Lowest bit of the link to a postponed job. Set: the submission refused the job. Clear: the job's target was stopped.
static const uintptr_t REFUSED = 1;

csched_discards_owners csched_discards_owners_;

// A list entry: an owner that is retained until all postponed jobs are dropped.
typedef struct kept_owner {
  const void *owner;
  struct kept_owner *next;
} kept_owner;

// Does: retains the owner of `job`, which is being postponed, unless the last entry has retained it.
static CSCHED_NOINLINE void retain_owner(csched_postponed_drops *postponed, const csched_job *job) {
  const void *owner = csched_discards_owners_.of(job);
  if (owner == NULL || (postponed->owners != NULL && postponed->owners->owner == owner)) return;
  kept_owner *kept = malloc(sizeof *kept);
  csched_discards_owners_.retain(owner);
  if (kept == NULL) return; // without memory the owner is never released
  *kept = (kept_owner){owner, postponed->owners};
  postponed->owners = kept;
}

static CSCHED_NOINLINE void release_owners(csched_postponed_drops *postponed) {
  for (kept_owner *kept; (kept = postponed->owners) != NULL;) {
    postponed->owners = kept->next;
    csched_discards_owners_.release(kept->owner);
    free(kept);
  }
}

static CSCHED_NOINLINE void discard_flat(csched_postponed_drops *postponed, csched_job *job, csched_drop_reason reason);

static void postpone(csched_postponed_drops *postponed, csched_job *job, csched_drop_reason reason) { // J11: appends
  csched_job **end = postponed->first != NULL ? &postponed->last->next : &postponed->first;
  job->next = NULL;
  *end = (csched_job *)((uintptr_t)job | (reason == CSCHED_DROP_REFUSED ? REFUSED : 0));
  postponed->last = job;
  if (csched_discards_owners_.of != NULL && !is_node(job)) retain_owner(postponed, job);
}

static csched_job *pop_postponed(csched_postponed_drops *postponed, csched_drop_reason *reason) { // J11: oldest first
  uintptr_t first = (uintptr_t)postponed->first;
  csched_job *job = (csched_job *)(first & ~REFUSED);
  if (job == NULL) return NULL;
  *reason = (first & REFUSED) != 0 ? CSCHED_DROP_REFUSED : CSCHED_DROP_STOPPED;
  postponed->first = job->next;
  return job;
}

// Does: starts an inner list of postponed jobs. csched_discards_end_ discards the jobs in it, and restores the outer list.
csched_discards csched_discards_begin_(void) {
  csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  if (postponed == NULL) return (csched_discards){0};
  csched_discards outer = {postponed->first, postponed->last, postponed->is_discarding};
  postponed->first = NULL;
  postponed->is_discarding = true;
  return outer;
}

bool csched_is_in_drop_(void) {
  const csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  return postponed != NULL && postponed->is_discarding;
}

void csched_discards_end_(csched_discards outer) {
  csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  csched_drop_reason reason;
  if (postponed == NULL) return;
  for (csched_job *job; (job = pop_postponed(postponed, &reason)) != NULL;) discard_now(job, reason);
  postponed->first = outer.first;
  postponed->last = outer.last;
  postponed->is_discarding = outer.is_discarding;
  if (!outer.is_discarding && postponed->owners != NULL) release_owners(postponed);
}

// Does: starts to postpone discards, unless this thread already does. Returns: whether the caller must call csched_discards_end_((…){0}) later.
bool csched_discards_begin_if_outermost_(void) {
  csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  if (postponed == NULL || postponed->is_discarding) return false;
  return postponed->is_discarding = true;
}

bool csched_discards_reason_(csched_drop_reason *reason) {
  if (current_drop != NULL) *reason = current_drop->reason;
  return current_drop != NULL;
}

// Does: discards the postponed jobs after longjmp or thread exit has unwound a drop.
static void discards_unwound(csched_job *unwind_job) { // J7, J11: postponed jobs are still discarded
  csched_postponed_drops *postponed = unwind_job->context;
  csched_drop_reason reason;
  postponed->is_discarding = false;
  current_drop = postponed->outer;
  csched_job *job = pop_postponed(postponed, &reason);
  if (job != NULL) discard_flat(postponed, job, reason);
}

static const csched_job_type discards_type = {.release = discards_unwound};

// Does: discards `job`, then the jobs that these drops postpone. Its context frame handles an unwound drop (discards_unwound).
static CSCHED_NOINLINE void discard_flat(csched_postponed_drops *postponed, csched_job *job,
                                         csched_drop_reason reason) { // J11: a loop, no recursion
  csched_frame spare;
  csched_job_init(&postponed->unwind_job, &discards_type, postponed);
  postponed->outer = current_drop;
  postponed->is_discarding = true;
  csched_frame *frame =
      csched_frame_begin_(&spare, CSCHED_OWN_FRAME(), &postponed->unwind_job, csched_frame_here_()->target);
  do discard_now(job, reason);
  while ((job = pop_postponed(postponed, &reason)) != NULL);
  csched_frame_end_(frame);
  postponed->is_discarding = false;
  if (CSCHED_UNLIKELY(postponed->owners != NULL)) release_owners(postponed);
}

void csched_job_drop_own_(csched_job *job) { ((const csched_own_job_type *)(const void *)job->type)->drop(job); }

static bool is_own(const csched_job *job) { return job->type->drop == csched_job_drop_own_; }

// Returns: REFUSED inside the submission of `job` by this thread, else STOPPED.
static csched_drop_reason reason_of(const csched_job *job) {
  bool is_refused = job == csched_job_may_be_refused_.job;
  if (is_refused && !is_node(job))
    is_refused = csched_load_relaxed(&job->word) / CSCHED_JOB_LIFE == csched_job_may_be_refused_.life; // J1: generation
  return is_refused ? CSCHED_DROP_REFUSED : CSCHED_DROP_STOPPED;
}

void csched_job_discard_(csched_job *job) {
  csched_postponed_drops *postponed;
  if (CSCHED_UNLIKELY(deferred_here != NULL)) deferred_here->take(deferred_here, job);
  else if ((!is_node(job) && is_own(job)) || (postponed = csched_frames_postponed_drops_()) == NULL)
    discard_now(job, reason_of(job));
  else if (!postponed->is_discarding) discard_flat(postponed, job, reason_of(job));
  else postpone(postponed, job, reason_of(job));
}

// MARK: unwinding

void csched_job_left_(csched_job *job) { // J7: unwound
  if (job->type->run == NULL) job->type->release(job);
  else if (csched_job_state_(csched_load_relaxed(&job->word)) == RUNNING)
    end_run(job); // J7: else the run has initialised the job again
}

void csched_job_orphan_(csched_job *job) {         // J8: in a child of fork
  uint64_t word = csched_load_relaxed(&job->word); // J8: the only thread
  if (csched_job_state_(word) == RUNNING)
    csched_store_relaxed(&job->word, csched_job_in_state_(word, ORPHANED)); // J8: the only thread
}

// MARK: cancelling

csched_cancel_result csched_job_begin_cancel_(csched_job *job) {
  uint64_t word = csched_load_relaxed(&job->word); // racy read, rechecked by the cas
  while (csched_job_state_(word) == QUEUED)
    if (csched_cas_acquire(&job->word, &word, csched_job_in_state_(word, DROPPING)))
      return CSCHED_CANCEL_DROPPED;      // J1: pairs with the submission
  (void)csched_load_acquire(&job->word); // J5, J9: pairs with the end's release: the caller may free the job
  return csched_job_state_(word) == RUNNING || csched_job_state_(word) == ORPHANED ? CSCHED_CANCEL_RUNNING
                                                                                   : CSCHED_CANCEL_FINISHED;
}

void csched_job_end_cancel_(csched_job *job, bool is_unlinked) {
  drop_job(job, CSCHED_DROP_CANCELLED);            // J2: before cancel returns
  uint64_t word = csched_load_relaxed(&job->word); // racy read, rechecked by the cas
  if (!is_unlinked && csched_job_state_(word) == DROPPING &&
      csched_cas_release(&job->word, &word, csched_job_in_state_(word, CANCELLED))) { // J3: the queue calls `release`
    csched_fence_light_();                                                            // J6: light side
    if (has_waiters()) wake_waiters(job); // J6: threads that wait for the drop
    return;
  }
  end_job(job, csched_load_acquire(&job->word)); // J3: pairs with →PASSED: the queue no longer uses the job
}

csched_cancel_result csched_job_cancel(csched_job *job) {
  csched_cancel_result result = csched_job_begin_cancel_(job);
  if (result == CSCHED_CANCEL_DROPPED) csched_job_end_cancel_(job, false);
  return result;
}

bool csched_job_is_cancelled_(const csched_job *job) {
  return !is_node(job) && csched_job_state_(csched_load_relaxed(&job->word)) >= CANCELLED; // J1: never undone
}

bool csched_job_seems_to_wait_(const csched_job *job, const csched_job_type *except) {
  struct {
    const csched_job *next;
    const csched_job_type *type;
  } head; // the fields that a node has, too
  uintptr_t kind;
  uint64_t word;
  if (!csched_os_copy_if_mapped_(&head, job, sizeof head) || head.type == except) return false;
  if (!csched_os_copy_if_mapped_(&kind, &head.type->release, sizeof kind)) return false;
  if (kind == CSCHED_NODE) return true;
  return csched_os_copy_if_mapped_(&word, &job->word, sizeof word) && csched_job_state_(word) < CANCELLED;
}

void csched_job_wait_(csched_job *job, const char *function) {
  if (csched_job_is_running_here_(job)) return;    // J5: inside the job
  uint64_t word = csched_load_acquire(&job->word); // J5: acquire; pairs with the runner's release
  if (csched_job_state_(word) == ORPHANED)         // J8: never changes again
    csched_panic_(function,
                  "job %p was orphaned by fork: it runs on a thread that lives in the parent. Do not wait for it here.",
                  (void *)job);
  if (csched_job_state_(word) == RUNNING) csched_job_wait_in_(job, word); // J5: until that run has ended
}

CSCHED_NOINLINE csched_cancel_result csched_job_cancel_and_wait(csched_job *job) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // J7: unwound jobs
  csched_cancel_result result = csched_job_cancel(job);
  if (result == CSCHED_CANCEL_RUNNING) csched_job_wait_(job, "csched_job_cancel_and_wait");
  return result;
}

CSCHED_NOINLINE bool csched_job_is_idle(const csched_job *job) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());                 // J7: unwound jobs
  return csched_job_state_(csched_load_acquire(&job->word)) == IDLE; // J5, J9: pairs with the end's release
}
