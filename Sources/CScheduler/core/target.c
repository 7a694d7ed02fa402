// What all targets share: the way in, and which one is current. No atomics: the current target belongs to its thread.

#include <CScheduler/target.h>

#include "../platform/platform.h"
#include "job_internal.h"
#include "panic.h"
#include "target_internal.h"

static CSCHED_TLS_FAST CSCHED_THREAD_LOCAL const csched_target_inside *innermost;

// MARK: inside

csched_target *csched_target_current(void) { return innermost == NULL ? NULL : innermost->target; }

const csched_target_inside *csched_target_innermost_(void) { return innermost; }

void csched_target_enter(csched_target_inside *inside, csched_target *target) {
  *inside = (csched_target_inside){target, innermost};
  innermost = inside;
}

void csched_target_leave(const csched_target_inside *inside) { innermost = inside->outer; }

static void thread_ends(void *value) {
  (void)value;
  csched_target_end_thread_();
}

bool csched_target_expect_end_(void) {
  static csched_tsd key;
  static CSCHED_THREAD_LOCAL bool is_expected;
  if (!is_expected) is_expected = csched_tsd_set_(&key, &is_expected, thread_ends) == 0;
  return is_expected;
}

void csched_target_end_thread_(void) {
  innermost = NULL; // first: the frames are gone, and what ends may ask
  csched_job_end_running_();
}

bool csched_target_is_inside(const csched_target *target) {
  for (const csched_target_inside *each = innermost; each != NULL; each = each->outer)
    for (const csched_target *under = each->target; under != NULL; under = csched_target_base_(under))
      if (under == target) return true;
  return false;
}

// A root that is not bound to a thread may have others to go on with.
static bool is_exclusive(const csched_target *target) {
  return target->type->base != NULL || target->type->is_bound_here != NULL;
}

bool csched_target_is_held_here_(const csched_target *target) {
  for (; target != NULL; target = csched_target_base_(target)) {
    if (is_exclusive(target) && csched_target_is_inside(target)) return true;
    if (target->type->is_bound_here != NULL && target->type->is_bound_here(target)) return true;
  }
  return false;
}

csched_target *csched_target_base_(const csched_target *target) {
  return target->type->base == NULL ? NULL : target->type->base(target);
}

csched_target *csched_target_foreign_(csched_target *target) {
  while (target != NULL && target->type->passes_on_) target = csched_target_base_(target);
  return target;
}

bool csched_target_enter_inline_(csched_target *target) {
  return target->type->enter != NULL && target->type->enter(target);
}

void csched_target_leave_inline_(csched_target *target) {
  if (target->type->leave != NULL) target->type->leave(target);
}

// MARK: left behind by fork

void csched_target_panic_left_(const csched_target *target, const char *function) {
  csched_panic_(function,
                "%p was left behind by fork: its threads live in the parent. Create it anew after fork, or exec there.",
                (const void *)target);
}

static int deliver_left(csched_target *target, csched_job *job) {
  (void)job;
  csched_target_panic_left_(target, "csched_target_submit");
}

static int deliver_at_left(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway) {
  (void)timer, (void)deadline, (void)leeway;
  csched_target_panic_left_(target, "csched_target_submit_at");
}

const csched_target_type csched_target_left_ = {
    .deliver = deliver_left, .deliver_at = deliver_at_left, .passes_on_ = true};

bool csched_target_is_left_(const csched_target *target) {
  for (; target != NULL; target = csched_target_base_(target))
    if (target->type == &csched_target_left_) return true;
  return false;
}

// MARK: submitting

int csched_target_submit(csched_target *target, csched_job *job) {
  csched_job_submitted_(job, "csched_target_submit");
  return target->type->deliver(target, job);
}

int csched_target_submit_at(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway) {
  csched_job_submitted_(&timer->job, "csched_target_submit_at");
  timer->target = target;
  return target->type->deliver_at(target, timer, deadline, leeway);
}

void csched_target_perform(csched_target *target, csched_job *job) {
  csched_target_inside inside;
  csched_target_enter(&inside, target);
  csched_job_perform_(job);
  csched_target_leave(&inside);
}

void csched_target_discard(csched_job *job) { csched_job_discard_(job); }
