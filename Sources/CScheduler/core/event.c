// States
//   word       the value that waits to be told (62 bits) · QUEUED: the job is queued or running, somebody will look at the value ·
//              CANCELLED: for good
//
// Obligations
//   EV1  What is merged is told once, or gone by a cancel or a target that takes no more: the run takes the value with one operation.
//   EV2  A value that waits has a job under way: whoever sets QUEUED submits it; whoever clears it has found no value.
//   EV3  The job is submitted only when it is nobody's: QUEUED is cleared in its release, not before.
//   EV4  After a cancel has returned no handler begins: the cancel takes the value, and none is merged after it. A submission that comes later is
//        accepted as a job, and calls nothing.
//   EV5  Nothing here touches the event after the operation that clears QUEUED, so the memory is the caller's who has seen it idle.
// Orderings
//   word: release by merge, pairs with the acquire of the run, carries what came before; release by the end, pairs with the acquire of who
//   submits next or finds it idle
// Assumes: a job's release comes last, once for each submission (job.c, J3).
// Source: data-add and data-or of Dispatch's sources; the word is ours.
// Checked by: "what is merged is told once, and in sum", "an event that is cancelled tells nothing more".
// Models: checks/event.c.

#include <CScheduler/event.h>

#include <CScheduler/atomic.h>

#include <errno.h>

static const uint64_t QUEUED = (uint64_t)1 << 63, CANCELLED = (uint64_t)1 << 62, VALUE = CSCHED_EVENT_MOST;

static void submit(csched_event *event) { // EV2, EV3. A refusal is seen to by the drop and the release
  csched_target_submit(event->target, &event->job);
}

// Takes what has been merged. Returns: the word before.
static uint64_t take(csched_event *event) {
  uint64_t seen = csched_load_relaxed(&event->word);                 // racy read, rechecked by the cas
  while (!csched_cas_acquire(&event->word, &seen, seen & ~VALUE)) {} // EV1, EV4: pairs with merge
  return seen;
}

static void run(csched_job *job) {
  csched_event *event = job->context;
  uint64_t seen = take(event);
  if ((seen & VALUE) != 0) event->handler(event, seen & VALUE);
}

static void drop(csched_job *job) { take(job->context); }

static void release(csched_job *job) {
  csched_event *event = job->context;
  uint64_t seen = csched_load_relaxed(&event->word); // racy read, rechecked by the cas
  for (;;) {
    if ((seen & VALUE) != 0) {
      submit(event); // EV2
      return;
    }
    if (csched_cas_release(&event->word, &seen, seen & CANCELLED)) return; // EV2, EV3, EV5: pairs with who comes next
  }
}

static const csched_job_type type = {run, drop, release};

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
  return csched_target_submit(event->target, &event->job) == 0 ? 0 : ECANCELED; // EV2
}

static void be_cancelled(csched_event *event) {
  uint64_t seen = csched_load_relaxed(&event->word);                               // racy read, rechecked by the cas
  while (!csched_cas_relaxed(&event->word, &seen, (seen & QUEUED) | CANCELLED)) {} // EV4: its value is all
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
