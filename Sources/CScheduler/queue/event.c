// An event: merges values from any thread, and calls one handler on a target with the merged value.
//
// States
//   word       the merged value (62 bits; 0: none) · QUEUED: the event's job is queued or runs, and checks the value at
//              its end · CANCELLED
//
// Invariants
//   EV1  Each merged value is reported once, or discarded by a cancel or a refused submission: one operation reads and
//        clears the value.
//   EV2  A value waits only while the job is queued or running: the thread that sets QUEUED submits the job; QUEUED is
//        cleared only without a value.
//   EV3  The job is never submitted twice at a time: QUEUED is cleared in the job's `release`, not before.
//   EV4  After a cancel has returned, no handler starts: the cancel clears the value, and no value is merged after the
//        cancel. A job that is submitted later calls no handler.
//   EV5  This file does not touch the event after the operation that clears QUEUED. So a caller that has seen the event
//        idle owns its memory.
//   EV6  On a target that runs a job within `deliver`, a handler that merges again makes the stack no deeper:
//        csched_frame_continue_.
// Orderings
//   word: merge's release pairs with clear_value's acquire, carries the merging thread's earlier writes; the release at
//   the job's end pairs with the acquire of the thread that submits next, or finds the event idle
// Assumes: a job's `release` is called once for each submission, after its run or drop (job.c, J3).
// Source: data-add and data-or of Dispatch's sources; the word is this project's.
// Models: checks/event.c.

#include <CScheduler/event.h>
#include <CScheduler/atomic.h>
#include "../base/panic.h"
#include "../job/frames_internal.h"
#include "../targets/target_internal.h"
#include <errno.h>

// Parts of `word`: two flags, and the mask of the value, which is also the largest value.
static const uint64_t QUEUED = (uint64_t)1 << 63, CANCELLED = (uint64_t)1 << 62, VALUE = CSCHED_EVENT_MOST;

static void
submit_again(csched_job *job) { // EV2, EV3: if refused, csched_target_submit calls drop_event and release_event
  csched_target_submit_always_(((csched_event *)job->context)->target, job);
}

// Does: clears the merged value, and leaves the flags. Returns: the previous word, with the value.
static uint64_t clear_value(csched_event *event) {
  uint64_t seen = csched_load_relaxed(&event->word);                 // racy read, rechecked by the cas
  while (!csched_cas_acquire(&event->word, &seen, seen & ~VALUE)) {} // EV1: one cas, so once; pairs with a merge
  return seen;
}

// The job's `run`. Does: passes the merged value to the handler.
static void run_handler(csched_job *job) {
  csched_event *event = job->context;
  uint64_t seen = clear_value(event);
  if ((seen & VALUE) != 0) event->handler(event, seen & VALUE); // EV4: 0: a cancel has cleared the value
}

static void drop_event(csched_job *job) { clear_value(job->context); } // EV1: the value is discarded

// The job's `release`. Does: submits the job again if a value was merged during the run; otherwise makes the event
// idle.
static void release_event(csched_job *job) {
  csched_event *event = job->context;
  uint64_t seen = csched_load_relaxed(&event->word); // racy read, rechecked by the cas
  for (;;) {
    if ((seen & VALUE) != 0) {
      job->next = NULL;
      csched_frame_continue_(submit_again,
                             job); // EV2: QUEUED stays set, so a merge does not submit the job as well; EV6
      return;
    }
    if (csched_cas_release(&event->word, &seen, seen & CANCELLED)) return; // EV3, EV5: clears QUEUED; no access after
  }
}

static const csched_job_type type = {run_handler, drop_event, release_event};

void csched_event_init(csched_event *event, csched_target *target, csched_merge merge,
                       void (*handler)(csched_event *event, uint64_t value), void *context) {
  CSCHED_NEEDS_FUNCTION_(handler, "csched_event_init");
  *event = (csched_event){.target = target, .handler = handler, .context = context, .merge = merge};
  csched_job_init(&event->job, &type, event);
}

// Returns: the value `before` with `value` merged into it: their bitwise or (CSCHED_MERGE_OR), or their sum, at most
// VALUE.
static uint64_t merged(const csched_event *event, uint64_t before, uint64_t value) {
  if (event->merge == CSCHED_MERGE_OR) return before | (value & VALUE);
  return value > VALUE - before ? VALUE : before + value;
}

int csched_event_merge(csched_event *event, uint64_t value) { // ECANCELED: the handler does not get `value`
  uint64_t seen = csched_load_relaxed(&event->word), wanted;  // racy read, rechecked by the cas
  do {
    if ((seen & CANCELLED) != 0) return ECANCELED;
    wanted = merged(event, seen & VALUE, value);
    if (wanted == 0) return 0;                                         // 0 merged into 0: nothing to report
  } while (!csched_cas_acq_rel(&event->word, &seen, wanted | QUEUED)); // EV1, EV3: the handler sees these writes
  if ((seen & QUEUED) != 0) return 0; // EV2: the job that is queued or runs reports the value
  return csched_target_submit_always_(event->target, &event->job); // EV2: QUEUED is new: this call submits
}

// Does: sets CANCELLED, and clears the value, so that neither a queued job nor a later merge calls the handler.
static void set_cancelled(csched_event *event) {
  uint64_t seen = csched_load_relaxed(&event->word);                               // racy read, rechecked by the cas
  while (!csched_cas_relaxed(&event->word, &seen, (seen & QUEUED) | CANCELLED)) {} // EV4: no value, no handler
}

csched_cancel_result csched_event_cancel(csched_event *event) {
  set_cancelled(event);
  return csched_job_cancel(&event->job);
}

csched_cancel_result csched_event_cancel_and_wait(csched_event *event) {
  set_cancelled(event);
  return csched_job_cancel_and_wait(&event->job);
}

bool csched_event_is_idle(const csched_event *event) {
  return (csched_load_acquire(&event->word) & QUEUED) == 0; // EV5: idle: the caller owns it; pairs with release_event
}
