// observe.c: OB3; trace.c: TR1, TR2. The ring of a model has four places.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/process/trace_internal.h"
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
    {"observe: a read of the current run mixes no two runs", level, level_over}, // OB3
    {"observe: a ring that gets full beside its writer", ring, ring_over},       // TR1, TR2
    {NULL, NULL, NULL},
};
