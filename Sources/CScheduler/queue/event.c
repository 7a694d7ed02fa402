// An event: merges values from any thread, and calls one handler on a target with what was merged.
//
// States
//   word       the merged value that is not reported yet (62 bits) · QUEUED: the job is queued or running, and will look at the value ·
//              CANCELLED: for good
//
// Invariants
//   EV1  Each merged value is reported once, or discarded by a cancel or a target that accepts no more work: the run takes the value with one operation.
//   EV2  A waiting value has a job under way: the thread that sets QUEUED submits the job. The thread that clears QUEUED has found no value.
//   EV3  The job is submitted only while it is free: QUEUED is cleared in its release, not before.
//   EV4  After a cancel has returned, no handler begins: the cancel takes the value, and no value is merged after it. If a job is submitted later,
//        it is accepted, but calls no handler.
//   EV5  This file does not touch the event after the operation that clears QUEUED. So a caller that has seen the event idle owns its memory.
// Orderings
//   word: merge's release pairs with the run's acquire, carries what the merging thread did before; the release at the job's end pairs with the
//   acquire of the thread that submits next, or finds the event idle
// Assumes: a job's release comes last, once for each submission (job.c, J3).
// Source: data-add and data-or of Dispatch's sources; the word is this project's.
// Checked by: "merged values are reported once, and in sum", "an event that is cancelled tells nothing more".
// Models: checks/event.c.

#include <CScheduler/event.h>

#include <CScheduler/atomic.h>

#include <errno.h>

static const uint64_t QUEUED = (uint64_t)1 << 63, CANCELLED = (uint64_t)1 << 62, VALUE = CSCHED_EVENT_MOST;

static void submit_event(csched_event *event) { // EV2, EV3: a refusal calls `drop_event` and `release`
  csched_target_submit(event->target, &event->job);
}

// Takes the merged value. Returns: the word before.
static uint64_t take_value(csched_event *event) {
  uint64_t seen = csched_load_relaxed(&event->word);                 // racy read, rechecked by the cas
  while (!csched_cas_acquire(&event->word, &seen, seen & ~VALUE)) {} // EV1, EV4: pairs with merge
  return seen;
}

static void run(csched_job *job) {
  csched_event *event = job->context;
  uint64_t seen = take_value(event);
  if ((seen & VALUE) != 0) event->handler(event, seen & VALUE);
}

static void drop_event(csched_job *job) { take_value(job->context); }

static void release(csched_job *job) {
  csched_event *event = job->context;
  uint64_t seen = csched_load_relaxed(&event->word); // racy read, rechecked by the cas
  for (;;) {
    if ((seen & VALUE) != 0) {
      submit_event(event); // EV2: a value waits
      return;
    }
    if (csched_cas_release(&event->word, &seen, seen & CANCELLED)) return; // EV2, EV3, EV5: pairs with the next user
  }
}

static const csched_job_type type = {run, drop_event, release};

void csched_event_init(csched_event *event, csched_target *target, csched_merge merge,
                       void (*handler)(csched_event *event, uint64_t value), void *context) {
  *event = (csched_event){.target = target, .handler = handler, .context = context, .merge = merge};
  csched_job_init(&event->job, &type, event);
}

static uint64_t merged(const csched_event *event, uint64_t before, uint64_t value) {
  if (event->merge == CSCHED_MERGE_OR) return before | (value & VALUE);
  return value > VALUE - before ? VALUE : before + value;
}

int csched_event_merge(csched_event *event, uint64_t value) {
  uint64_t seen = csched_load_relaxed(&event->word), wanted; // racy read, rechecked by the cas
  do {
    if ((seen & CANCELLED) != 0) return ECANCELED;
    wanted = merged(event, seen & VALUE, value);
    if (wanted == 0) return 0;
  } while (!csched_cas_acq_rel(&event->word, &seen, wanted | QUEUED)); // EV1, EV3: pairs with take and release
  if ((seen & QUEUED) != 0) return 0;
  return csched_target_submit(event->target, &event->job) == 0 ? 0 : ECANCELED; // EV2: QUEUED is set
}

static void be_cancelled(csched_event *event) {
  uint64_t seen = csched_load_relaxed(&event->word);                               // racy read, rechecked by the cas
  while (!csched_cas_relaxed(&event->word, &seen, (seen & QUEUED) | CANCELLED)) {} // EV4: only its value
}

csched_cancel_result csched_event_cancel(csched_event *event) {
  be_cancelled(event);
  return csched_job_cancel(&event->job);
}

csched_cancel_result csched_event_cancel_and_wait(csched_event *event) {
  be_cancelled(event);
  return csched_job_cancel_and_wait(&event->job);
}

bool csched_event_is_idle(const csched_event *event) {
  return (csched_load_acquire(&event->word) & QUEUED) == 0; // EV5: pairs with release
}
