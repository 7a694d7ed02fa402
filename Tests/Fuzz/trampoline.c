// Target: a thread's trampoline (targets/trampoline.c), with nested frames, and set aside. The model is a list of jobs
// for each frame (`level`).
//
// The model checks:
//   order    a job runs in the frame in which it was submitted, when that frame is the innermost, in the order of
//            submission
//   at once  the first job of a closed trampoline runs before the call returns, and so do all jobs that it submits
//   once     each submission is run or dropped; one release follows, unless `run` submitted the job again

#include "fuzz.h"

#include <CScheduler/trampoline.h>

#include <stdlib.h>
#include <string.h>

enum { ITEMS = 24, DEEPEST = 22 };                // deeper than NESTED_MOST of job/job.c
enum { IDLE, WAITS, RUNS, ENDS, DROPS, DROPPED }; // DROPPED: and the trampoline has not come past it
enum { CLOSED = 0 };

typedef struct item {
  csched_job job;
  int state;
  unsigned level, order;
  unsigned submitted, ran, dropped, released;
} item;

static item items[ITEMS];
static unsigned level; // the innermost one, or CLOSED
static unsigned last_level, last_order, depth;
static int own_count; // of jobs that free themselves

static int number(const item *item) { return (int)(item - items); }

// MARK: operations, from outside and from inside of jobs

static void act(void);

static void act_some(unsigned most) {
  if (depth >= DEEPEST) return;
  depth++;
  for (unsigned n = fuzz_below(most + 1); n > 0 && !fuzz_is_over(); n--) act();
  depth--;
}

static void check_done(unsigned in_level) {
  for (int i = 0; i < ITEMS; i++)
    REQUIRE(items[i].level != in_level || (items[i].state != WAITS && items[i].state != DROPPED), "item %d is left", i);
}

// Calls csched_trampoline_run, in the model as well: `job` waits in the innermost frame, or opens the first frame.
static void submit(csched_job *job) {
  bool opens = level == CLOSED;
  if (opens) level = ++last_level;
  unsigned here = level;
  csched_trampoline_run(job);
  REQUIRE(level == here, "level %u, not %u", level, here);
  if (!opens) return;
  check_done(here);
  level = CLOSED;
}

static void run(item *item) {
  if (item->state != IDLE && item->state != RUNS) return;
  TRACE("run %d%s", number(item), level == CLOSED ? ", at once" : "");
  if (item->state == RUNS) item->released++; // J4: none of its own
  item->submitted++;
  item->state = WAITS;
  item->level = level == CLOSED ? last_level + 1 : level;
  item->order = ++last_order;
  submit(&item->job);
}

static void cancel(item *item, bool waits) {
  int before = item->state;
  TRACE("cancel %d in %d", number(item), before);
  csched_cancel_result result = waits ? csched_job_cancel_and_wait(&item->job) : csched_job_cancel(&item->job);
  csched_cancel_result expected = before == WAITS  ? CSCHED_CANCEL_DROPPED
                                  : before == RUNS ? CSCHED_CANCEL_RUNNING
                                                   : CSCHED_CANCEL_FINISHED;
  REQUIRE(result == expected, "cancel of %d in %d says %d", number(item), before, (int)result);
}

static void nest(bool drains) {
  unsigned outer = level, here = ++last_level;
  csched_trampoline_frame frame;
  TRACE("push %u", here);
  csched_trampoline_push(&frame);
  level = here;
  act_some(6);
  if (drains) {
    csched_trampoline_drain();
    check_done(here);
    act_some(3);
  }
  csched_trampoline_pop(&frame);
  TRACE("pop %u", here);
  REQUIRE(level == here, "level %u, not %u", level, here);
  check_done(here);
  level = outer;
}

static void enter(void) {
  bool enters = csched_trampoline_enter();
  REQUIRE(enters == (level == CLOSED), "enter says %d", enters);
  if (!enters) return;
  unsigned here = level = ++last_level;
  TRACE("enter %u", here);
  act_some(6);
  csched_trampoline_leave();
  TRACE("leave %u", here);
  check_done(here);
  level = CLOSED;
}

static void set_aside(void) {
  unsigned outer = level;
  csched_trampoline_aside aside;
  TRACE("set aside %u", outer);
  csched_trampoline_set_aside(&aside);
  level = CLOSED;
  act_some(6);
  REQUIRE(level == CLOSED, "level %u", level);
  csched_trampoline_put_back(&aside);
  TRACE("put back %u", outer);
  level = outer;
}

static void run_own(csched_job *job) {
  (void)job;
  act_some(3);
}
static void drop_own(csched_job *job) { REQUIRE(false, "%p is dropped", (void *)job); }
static void free_own(csched_job *job) {
  own_count--;
  free(job);
}

static void submit_own(void) {
  static const csched_job_type own = {run_own, drop_own, free_own};
  csched_job *job = malloc(sizeof *job);
  if (job == NULL) abort();
  csched_job_init(job, &own, NULL);
  own_count++;
  submit(job);
}

static void act(void) {
  unsigned what = fuzz_byte();
  item *item = &items[fuzz_below(ITEMS)];
  REQUIRE(csched_trampoline_is_required() == (level == CLOSED), "level %u", level);
  REQUIRE(csched_job_is_idle(&item->job) == (item->state == IDLE), "item %d in %d", number(item), item->state);
  switch (what % 12) {
  case 0:
  case 1:
  case 2:
  case 3: run(item); break;
  case 4: cancel(item, false); break;
  case 5: cancel(item, true); break;
  case 6: nest(false); break;
  case 7: nest(true); break;
  case 8: enter(); break;
  case 9: set_aside(); break;
  case 10: submit_own(); break;
  default:
    if (depth == 0) csched_trampoline_end_();
  }
}

// MARK: the jobs

static void ran(csched_job *job) {
  item *item = (struct item *)job;
  REQUIRE(item->state == WAITS, "item %d runs in %d", number(item), item->state);
  REQUIRE(item->level == level, "item %d of level %u runs in %u", number(item), item->level, level);
  for (int i = 0; i < ITEMS; i++)
    REQUIRE(items[i].level != level || items[i].order >= item->order ||
                (items[i].state != WAITS && items[i].state != DROPPED),
            "item %d runs before %d", number(item), i);
  unsigned order = item->order;
  TRACE("%d runs", number(item));
  item->state = RUNS;
  item->ran++;
  act_some(4);
  if (item->state == RUNS && item->order == order) item->state = ENDS; // else it was submitted again
}

static void dropped(csched_job *job) {
  item *item = (struct item *)job;
  REQUIRE(item->state == WAITS, "item %d is dropped in %d", number(item), item->state);
  item->state = DROPS;
  item->dropped++;
  if (fuzz_below(4) == 0) act_some(2);
  REQUIRE(item->state == DROPS, "item %d", number(item));
  item->state = DROPPED;
}

static void released(csched_job *job) {
  item *item = (struct item *)job;
  // What `drop` does may bring the trampoline past the job: then its release comes after the drop.
  REQUIRE(item->state == ENDS || item->state == DROPPED, "item %d is released in %d", number(item), item->state);
  REQUIRE(csched_job_is_idle(job), "item %d is released", number(item));
  item->state = IDLE;
  item->released++;
  if (fuzz_below(8) == 0) act_some(2);
}

static const csched_job_type type = {ran, dropped, released};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_begin(data, size);
  memset(items, 0, sizeof items);
  for (int i = 0; i < ITEMS; i++) csched_job_init(&items[i].job, &type, NULL);
  level = CLOSED;
  last_level = last_order = depth = 0;
  while (!fuzz_is_over()) act();
  REQUIRE(level == CLOSED && csched_trampoline_is_required(), "level %u", level);
  REQUIRE(own_count == 0, "%d jobs that free themselves are left", own_count);
  for (int i = 0; i < ITEMS; i++) {
    const item *item = &items[i];
    REQUIRE(item->state == IDLE, "item %d ends in %d", i, item->state);
    REQUIRE(item->submitted == item->ran + item->dropped && item->submitted == item->released,
            "item %d: %u submitted, %u ran, %u dropped, %u released", i, item->submitted, item->ran, item->dropped,
            item->released);
  }
  csched_trampoline_end_();
  return 0;
}
