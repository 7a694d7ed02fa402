// observe.c: OB3, OB5; trace.c: TR1, TR2. The ring of a model has four places, each table of submissions two.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/diagnostics/observe_internal.h"
#include "../../../Sources/CScheduler/diagnostics/trace_internal.h"
#include "../../../Sources/CScheduler/platform/platform.h"

// MARK: what a thread runs

static csched_observer looked_at;

// Two runs, of which each has its number in all that is seen of it; the second is inside of the first.
static void runs(void *unused) {
  csched_observed_run outer = {.seen = {.id = 1, .code = 1, .number = 1}, .since = 1};
  csched_observed_run later = {.seen = {.id = 2, .code = 2, .number = 2}, .since = 2};
  (void)unused;
  csched_observer_begin_(&looked_at, &outer);
  csched_observer_end_(&looked_at, &outer);
  csched_observer_begin_(&looked_at, &later);
  csched_observer_end_(&looked_at, &later);
}

static void looks(void *unused) {
  csched_recorded_run level;
  (void)unused;
  if (!csched_observer_copy_run_(&looked_at, 0, &level)) return;
  model_assert(level.id == 1 || level.id == 2);
  model_assert(level.since == level.id && level.code == level.id && level.number == level.id);
}

static void level(void) {
  looked_at = (csched_observer){0};
  model_spawn(runs, NULL);
  model_spawn(looks, NULL);
}
static void level_over(void) {
  csched_recorded_run level;
  model_assert(!csched_observer_copy_run_(&looked_at, 0, &level)); // nothing runs
}

// MARK: the number of waiting jobs

static int deliver_nothing(csched_target *target, csched_job *job) {
  (void)target, (void)job;
  return 0;
}
static const csched_target_type counted_type = {.deliver = deliver_nothing};
static csched_target counted = {&counted_type};
static csched_job counted_jobs[2];
static const csched_job_type counted_job_type = {NULL, NULL, NULL};

extern int model_unseen; // allocates outside of what a run must free

static void is_counted(void *job) { // a job is submitted, and runs or is dropped
  csched_observed_submission submission;
  csched_observed_run run;
  model_unseen++; // makes the thread's record, which is never freed
  csched_observe_hooks_->note(CSCHED_OCCURRED_BLOCK, NULL, 0);
  model_unseen--;
  if (csched_is_observed_()) {
    csched_observe_hooks_->submit(&submission, &counted, job, 0);
    csched_observe_hooks_->submitted(&submission);
  }
  if (!csched_is_observed_()) return; // it ends uncounted
  if (job == &counted_jobs[0]) {
    csched_observe_hooks_->run(&run, job);
    csched_observe_hooks_->ran(&run, true);
  } else {
    csched_observe_hooks_->drop(job, CSCHED_DROP_REFUSED);
  }
}

static void counts_again(void *unused) { // counting ends, and begins again
  (void)unused;
  csched_observe_end_(CSCHED_OBSERVED_BY_STATISTICS);
  csched_observe_begin_(CSCHED_OBSERVED_BY_STATISTICS);
}

static void counting(void) {
  for (int i = 0; i < 2; i++) csched_job_init(&counted_jobs[i], &counted_job_type, NULL);
  model_unseen++; // the first time, makes the tables, which are never freed
  csched_observe_begin_(CSCHED_OBSERVED_BY_STATISTICS);
  model_unseen--;
  for (int i = 0; i < 2; i++) model_spawn(is_counted, &counted_jobs[i]);
  model_spawn(counts_again, NULL);
}

static void counting_over(void) {
  const csched_figures *figures = csched_figures_find_(&counted);
  csched_seen seen;
  for (int i = 0; i < 2; i++) model_assert(!csched_observe_find_(&counted_jobs[i], &seen)); // OB5
  model_assert(figures == NULL || csched_figures_waiting_(figures) == 0);
  csched_observe_hooks_->gone(&counted); // the next run begins figures
  csched_observed_ = 0;
}

// MARK: the ring of a trace

enum { EVENTS = 6 };
static csched_observer observer;
static uint64_t last, taken, said_lost;

void __tsan_read4(void *address); // announces a plain read, as the compiler does in the core

// Each event has its number twice, and comes after the one before.
static void take(void *unused, const csched_trace_event *event) {
  (void)unused;
  __tsan_read4((void *)(uintptr_t)&event->thread);
  model_assert(event->id == event->code && event->id > last);
  last = event->id;
  taken++;
}

static void adds(void *unused) {
  (void)unused;
  for (uint64_t i = 1; i <= EVENTS; i++) {
    csched_trace_event event = {.what = CSCHED_OCCURRED_SUBMIT, .id = i, .code = (uintptr_t)i};
    said_lost += csched_trace_add_(&observer, &event) % 2; // odd: it was lost
  }
}

static void writes(void *unused) {
  (void)unused;
  csched_trace_drain_(&observer, take, NULL);
}

static void ring(void) {
  observer = (csched_observer){0};
  last = taken = said_lost = 0;
  csched_observed_ = CSCHED_OBSERVED_BY_TRACE;
  model_spawn(adds, NULL);
  model_spawn(writes, NULL);
}

static void ring_over(void) {
  csched_trace_drain_(&observer, take, NULL);
  model_assert(taken + said_lost == EVENTS && csched_trace_lost_(&observer) == said_lost);
  model_assert(taken >= 4); // none is lost before the ring is full
  csched_observed_ = 0;
  csched_os_memory_free_(observer.ring, 0);
}

const model_check observe_checks[] = {
    {"observe: a read of the current run mixes no two runs", level, level_over},                // OB3
    {"observe: jobs that are counted while counting ends and begins", counting, counting_over}, // OB5
    {"observe: a ring that gets full beside its writer", ring, ring_over},                      // TR1, TR2
    {NULL, NULL, NULL},
};
