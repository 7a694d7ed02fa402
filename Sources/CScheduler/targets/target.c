// Functions that all targets share: submission, and the current target. No atomics: each thread uses only its own
// context frames.

#include "../base/panic.h"
#include "../job/job_internal.h"
#include "../job/frames_internal.h"
#include "../job/node.h"
#include "../job/observed.h"
#include "target_internal.h"

// MARK: the current target

// Functions with CSCHED_CALLER_FRAME are CSCHED_NOINLINE: inlined, they would get the address of another stack frame.

// Does: ends unwound context frames. Returns: the target of the innermost context frame that remains.
static CSCHED_NOINLINE csched_target *current_slow(uintptr_t caller) {
  return csched_frames_end_unwound_slow_(caller)->target;
}

CSCHED_NOINLINE csched_target *csched_target_current(void) {
  uintptr_t caller = CSCHED_CALLER_FRAME();
  const csched_frame *top = csched_frame_top_; // in the thread's list or a sentinel, not on the stack: always readable
  return CSCHED_LIKELY(top->address >= caller) ? top->target : current_slow(caller); // else `top` may be unwound
}

// The address of `inside` stands for the stack frame that it lies in: when that is gone (frames.c), the context frame
// is unwound. An `inside` that is not on the thread's stack never counts as unwound.
CSCHED_NOINLINE void csched_target_enter(csched_target_inside *inside, csched_target *target) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // first: the new context frame must not lie inside an unwound one
  inside->frame = csched_frame_begin_(&inside->spare, (uintptr_t)inside, NULL, target);
}

CSCHED_NOINLINE void csched_target_leave(const csched_target_inside *inside) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // first: unwound context frames inside this one, with their jobs
  csched_frame_end_(inside->frame);
}

// Returns: whether a job or a sync of `target` is among the context frames of this thread from `each` on, or one of a
// target over it. `sees_hidden`: also among those that are hidden from the job that a helper runs (queue/helping.c).
static bool is_among(const csched_frame *each, const csched_target *target, bool sees_hidden) {
  for (; each != NULL; each = each->outer) {
    if (!sees_hidden && each->job != NULL && each->job->type->drop == csched_target_hides_outer_) return false;
    for (const csched_target *under = each->target; under != NULL; under = csched_target_base_(under))
      if (under == target) return true;
  }
  return false;
}

void csched_target_hides_outer_(csched_job *unused) { (void)unused; } // a mark: its address stands in a job's type

CSCHED_NOINLINE bool csched_target_is_inside(const csched_target *target) {
  return is_among(csched_frames_end_unwound_(CSCHED_CALLER_FRAME()), target, false);
}

CSCHED_NOINLINE bool csched_target_holds_(const csched_target *target) {
  return is_among(csched_frames_end_unwound_(CSCHED_CALLER_FRAME()), target, true);
}

// Returns: whether `target` runs one job at a time. A type with `base` is a queue, and one with `is_bound_here` is a
// loop or virtual time: both do. A pool has neither, and does not. A concurrent target has both, but counts as
// exclusive only while this thread runs its barrier.
bool csched_target_is_exclusive_(const csched_target *target) {
  if (target->type->is_concurrent_) return target->type->is_bound_here != NULL && target->type->is_bound_here(target);
  return target->type->base != NULL || target->type->is_bound_here != NULL;
}

// Returns: whether a wait of this thread for `target` would never end. It tests `target` and each base. First test:
// this thread runs a job of an exclusive target, whose next job cannot start before that job ends. Second test: the
// target is a loop bound to this thread, so no other thread runs its jobs, even if no run of the loop is in progress;
// or a barrier is waited for inside a job of its limited target (LM7 of limit.c).
bool csched_target_would_wait_forever_(const csched_target *target) {
  for (; target != NULL; target = csched_target_base_(target)) {
    if (csched_target_is_exclusive_(target) && csched_target_holds_(target)) return true;
    if (target->type->is_bound_here != NULL && target->type->is_bound_here(target)) return true;
  }
  return false;
}

bool csched_target_is_closed_(const csched_target *target) {
  for (; target != NULL; target = csched_target_base_(target))
    if (target->type->is_closed != NULL && target->type->is_closed(target)) return true;
  return false;
}

unsigned csched_target_rest_(const csched_target *target) {
  return target->type->rest_ == NULL || csched_job_defers_discards_() ? 0 : target->type->rest_(target);
}

csched_target *csched_target_base_(const csched_target *target) {
  return target->type->base == NULL ? NULL : target->type->base(target);
}

csched_target *csched_target_root_(csched_target *target) {
  for (csched_target *base; (base = csched_target_base_(target)) != NULL;) target = base;
  return target;
}

// Returns: the first in the chain of `target` and its bases that has its own clock (`now`); NULL: none has.
static const csched_target *timekeeper_of(const csched_target *target) {
  while (target != NULL && target->type->now == NULL) target = csched_target_base_(target);
  return target;
}

bool csched_target_has_virtual_time_(const csched_target *target) { return timekeeper_of(target) != NULL; }

csched_time csched_target_now(const csched_target *target) {
  target = timekeeper_of(target);
  return target != NULL ? target->type->now(target) : csched_now();
}

csched_target *csched_target_find_custom_(csched_target *target) {
  while (target != NULL && target->type->only_enqueues_) target = csched_target_base_(target);
  return target;
}

bool csched_target_enter_inline_(csched_target *target) {
  return target->type->enter != NULL && target->type->enter(target);
}

void csched_target_leave_inline_(csched_target *target) {
  if (target->type->leave != NULL) target->type->leave(target);
}

// MARK: targets that a fork has orphaned: their threads are in the parent

void csched_target_panic_orphaned_(const csched_target *target, const char *function) {
  csched_panic_(function,
                "%p was orphaned by fork: its threads live in the parent. Create it anew after fork, or exec there.",
                (const void *)target);
}

static int deliver_orphaned(csched_target *target, csched_job *job) {
  (void)job;
  csched_target_panic_orphaned_(target, "csched_target_submit");
}

static int deliver_at_orphaned(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway) {
  (void)timer, (void)deadline, (void)leeway;
  csched_target_panic_orphaned_(target, "csched_target_submit_at");
}

const csched_target_type csched_target_orphaned_ = {
    .deliver = deliver_orphaned, .deliver_at = deliver_at_orphaned, .only_enqueues_ = true};

bool csched_target_is_orphaned_(const csched_target *target) {
  for (; target != NULL; target = csched_target_base_(target))
    if (target->type == &csched_target_orphaned_) return true;
  return false;
}

// MARK: submitting

// Does: marks `job` as submitted. Before that, if `target` has a base (a queue or a limit), ends unwound context
// frames, because an unwound sync may still own `target`. Without a base it ends none, so that a signal handler, on its
// own stack, may submit.
static void end_unwound_and_mark(const csched_target *target, csched_job *job, uintptr_t caller, const char *function) {
  if (target->type->base != NULL) csched_frames_end_unwound_(caller);
  csched_job_submitted_(job, function);
}

// Does: delivers `job`, which a user submits. `target` may be full.
static inline int deliver_submitted(csched_target *target, csched_job *job) {
  return CSCHED_UNLIKELY(target->type->submit_ != NULL) ? target->type->submit_(target, job)
                                                        : target->type->deliver(target, job);
}

// The slow path of csched_target_submit: `target` has a base, or `job` is not idle: its own run submits it again, or it
// is misused (panic).
static CSCHED_NOINLINE int submit_slow(csched_target *target, csched_job *job, uintptr_t caller) {
  end_unwound_and_mark(target, job, caller, "csched_target_submit");
  return deliver_submitted(target, job);
}

static CSCHED_NOINLINE int submit_at_slow(csched_target *target, csched_timer *timer, csched_time deadline,
                                          csched_time leeway, uintptr_t caller) {
  end_unwound_and_mark(target, &timer->job, caller, "csched_target_submit_at");
  return target->type->deliver_at(target, timer, deadline, leeway);
}

// Does: as submit_slow, between two calls of the observers' hooks. `always`: also if the target is full. The next
// function does the same for a timer.
static CSCHED_NOINLINE int submit_observed(csched_target *target, csched_job *job, uintptr_t caller, bool always) {
  csched_observed_submission submission;
  end_unwound_and_mark(target, job, caller, "csched_target_submit");
  csched_observe_hooks_->submit(&submission, target, job, 0);
  int error = always ? target->type->deliver(target, job) : deliver_submitted(target, job);
  csched_observe_hooks_->submitted(&submission);
  return error;
}

static CSCHED_NOINLINE int submit_at_observed(csched_target *target, csched_timer *timer, csched_time deadline,
                                              csched_time leeway, uintptr_t caller) {
  csched_observed_submission submission;
  end_unwound_and_mark(target, &timer->job, caller, "csched_target_submit_at");
  csched_observe_hooks_->submit(&submission, target, &timer->job, deadline);
  int error = target->type->deliver_at(target, timer, deadline, leeway);
  csched_observe_hooks_->submitted(&submission);
  return error;
}

// Does: delivers a node, which is not marked as submitted, and calls the observers' hooks.
static CSCHED_NOINLINE int deliver_node_observed(csched_target *target, csched_job *job) {
  csched_observed_submission submission;
  csched_observe_hooks_->submit(&submission, target, job, 0);
  int error = target->type->deliver(target, job);
  csched_observe_hooks_->submitted(&submission);
  return error;
}

// Does: the fast path of end_unwound_and_mark: marks `job` as submitted, if it is idle and `target` has no base.
// Returns: false: no change.
static inline bool mark_for_root(const csched_target *target, csched_job *job) {
  return CSCHED_LIKELY(target->type->base == NULL) && csched_job_mark_(job);
}

CSCHED_NOINLINE int csched_target_submit(csched_target *target, csched_job *job) {
  if (csched_is_observed_()) return submit_observed(target, job, CSCHED_CALLER_FRAME(), false);
  if (!mark_for_root(target, job)) return submit_slow(target, job, CSCHED_CALLER_FRAME());
  return target->type->deliver(target, job);
}

CSCHED_NOINLINE int csched_target_submit_always_(csched_target *target, csched_job *job) {
  if (csched_is_observed_()) return submit_observed(target, job, CSCHED_CALLER_FRAME(), true);
  end_unwound_and_mark(target, job, CSCHED_CALLER_FRAME(), "csched_target_submit");
  return target->type->deliver(target, job);
}

CSCHED_NOINLINE int csched_target_submit_node(csched_target *target, csched_node *node) {
  if (CSCHED_UNLIKELY(node->type->kind != CSCHED_NODE))
    csched_panic_("csched_target_submit_node", "the type of node %p is no node's: its `kind` must be CSCHED_NODE.",
                  (void *)node);
  if (target->type->base != NULL) csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // see end_unwound_and_mark
  csched_job_life outer = csched_job_may_be_refused_;                                // of a submission around this one
  csched_job_may_be_refused_ = (csched_job_life){(csched_job *)node, 0}; // a drop inside `deliver` is a refusal
  int error = csched_is_observed_() ? deliver_node_observed(target, (csched_job *)node)
                                    : target->type->deliver(target, (csched_job *)node);
  csched_job_may_be_refused_ = outer;
  return error;
}

CSCHED_NOINLINE int csched_target_submit_at(csched_target *target, csched_timer *timer, csched_time deadline,
                                            csched_time leeway) {
  timer->target = target; // where the timer is delivered when it is due
  if (csched_is_observed_()) return submit_at_observed(target, timer, deadline, leeway, CSCHED_CALLER_FRAME());
  if (!mark_for_root(target, &timer->job))
    return submit_at_slow(target, timer, deadline, leeway, CSCHED_CALLER_FRAME());
  return target->type->deliver_at(target, timer, deadline, leeway);
}

CSCHED_NOINLINE void csched_target_perform_(csched_target *target, csched_job *job, csched_scope *scope) {
  csched_frame *next = csched_frames_end_unwound_(CSCHED_CALLER_FRAME())->next;
  scope->frame = CSCHED_LIKELY(next != NULL) ? next : csched_frame_make_next_(); // context frame: ended if it throws
  csched_job_perform_on_(job, target);
}

// Does: as csched_target_submit. If this thread is a worker of `target` and has no follow-up, `job` becomes its
// follow-up, and runs next.
int csched_target_submit_follow_up_(csched_target *target, csched_job *job) {
  uint32_t *follow_up = target->type->follow_up_ != NULL ? target->type->follow_up_(target) : NULL;
  if (follow_up == NULL || *follow_up != CSCHED_FOLLOW_UP_NONE) return csched_target_submit(target, job);
  *follow_up = CSCHED_FOLLOW_UP_COMES;
  int error = csched_target_submit(target, job);
  if (*follow_up == CSCHED_FOLLOW_UP_COMES) *follow_up = CSCHED_FOLLOW_UP_NONE; // else KEPT: was queued or dropped
  return error;
}

void csched_target_discard(csched_job *job) { csched_job_discard_(job); }
