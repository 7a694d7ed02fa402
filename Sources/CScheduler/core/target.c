// What all targets share: the way in, and which one is current. No atomics: the current target belongs to its thread.

#include <CScheduler/target.h>

#include "job_internal.h"
#include "target_internal.h"

static CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_target *current;

csched_target *csched_target_current(void) { return current; }

csched_target *csched_target_enter_(csched_target *target) {
  csched_target *before = current;
  current = target;
  return before;
}

void csched_target_leave_(csched_target *before) { current = before; }

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
  csched_target *before = csched_target_enter_(target);
  csched_job_perform_(job);
  csched_target_leave_(before);
}

void csched_target_discard(csched_job *job) { csched_job_discard_(job); }
