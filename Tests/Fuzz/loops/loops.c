// Target: three loops of one thread, queues on them and on one another, and jobs and timers that move between all of
// these: run, run inside of runs, cancelled, moved, suspended, stopped, closed, destroyed and created again; from
// outside, from inside of jobs, and partly from inside of drops and releases.
//
// The model checks:
//   order      on each target, jobs run in the order of submission, and timers by deadline and order, never early
//   once       each submission is run or dropped; one release follows, unless `run` submitted the job again
//   one        a queue runs one job at a time, and so do all queues of a tree; none while it is suspended, none past a
//              sync
//   all        after a complete run no item waits that could run, nor before a sleep; a sleep ends in time for each
//              timer
//   ends       each run ends for the first reason in their order, and takes no stop of another run
//   cancel     the answer; a timer that waits for its deadline is released at once
//   owners     a queue keeps its owner while it has work, and not longer

#include "loops.h"

#include <CScheduler/trampoline.h>

#include <stdlib.h>

unsigned depth;
static int own_count; // of the trampoline's jobs

enum { ALL = 100000 };

// MARK: operations

static void act(void);

void act_some(unsigned most) {
  if (depth >= DEEPEST) return;
  depth++;
  for (unsigned n = fuzz_below(most + 1); n > 0 && !fuzz_is_over(); n--) act();
  depth--;
}

// What drops and releases do, too.
static void change(unsigned what) {
  unsigned which = fuzz_byte();
  item *item = &items[which % ITEMS];
  int loop = (int)(which / ITEMS % LOOPS);
  switch (what % 12) {
  case 0: item_submit(item, loop_exists(loop) ? loops[loop].place : NOWHERE, false); break;
  case 1: item_submit(item, place_any(), false); break;
  case 2:
  case 3: item_submit(&items[which % TIMERS], loop_exists(loop) ? loops[loop].place : NOWHERE, true); break;
  case 4: item_submit(&items[which % TIMERS], place_any(), true); break;
  case 5: item_cancel(item, true, false); break;
  case 6: item_cancel(item, false, which / ITEMS % 2); break;
  case 7:
    if (loop_exists(loop)) item_rearm(&items[which % TIMERS], loop);
    break;
  case 8: queue_suspend(place_any_queue()); break;
  case 9: queue_resume(place_any_queue()); break;
  case 10: loop_stop(loop); break;
  default: stop_activation(which);
  }
}

void act_lightly(void) {
  unsigned what = fuzz_byte();
  if (what % 4 != 0 || depth >= DEEPEST || fuzz_is_over()) return;
  depth++;
  change(what / 4);
  depth--;
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

static void use_trampoline(void) {
  static const csched_job_type own = {run_own, drop_own, free_own};
  csched_job *job = malloc(sizeof *job);
  if (job == NULL) abort();
  csched_job_init(job, &own, NULL);
  own_count++;
  csched_trampoline_run(job);
}

// A deadline that passes: time does not continue to its end.
static csched_time soon(void) { return fuzz_now + (fuzz_span() & (((csched_time)1 << 40) - 1)); }

static void run(unsigned what) {
  unsigned which = fuzz_byte();
  int loop = (int)(which % LOOPS);
  switch (what % 14) {
  case 0: loop_run_ready(loop, which / LOOPS % 40); break;
  case 1:
  case 2: loop_run_ready(loop, ALL); break;
  case 3:
  case 4: loop_run_until(loop, soon()); break;
  case 5: loop_run_once(loop, soon()); break;
  case 6: loop_run_activation(loop, soon(), which / LOOPS % 4 == 0); break;
  case 7: queue_sync(place_any_queue()); break;
  case 8: queue_enter(place_any_queue()); break;
  case 9: fuzz_pass(fuzz_span() & (((csched_time)1 << 50) - 1)); break;
  case 10: use_trampoline(); break;
  case 11: queue_replace(place_any_queue()); break;
  case 12: // seldom, but then perhaps once more
    if (which / LOOPS % 8 == 0 || loops[loop].closing != 0)
      loop_close(loop, which / LOOPS / 8 % 2 ? CSCHED_STOP_DROP : CSCHED_STOP_RUN);
    break;
  default:
    if (which / LOOPS % 4 == 0) loop_replace(loop, true);
  }
}

static void act(void) {
  unsigned what = fuzz_byte();
  item_check(&items[what % ITEMS]);
  if (what % 8 < 5) change(what / 8);
  else run(what / 8);
}

// MARK: the end

static void resume_all(void) {
  for (int i = 0; i < PLACES; i++)
    while (places[i].exists && places[i].suspensions > 0) queue_resume(i);
}

// Moves the time to each deadline: each timer that is due there runs.
static void run_out(void) {
  for (int i = 0; i < TIMERS; i++) {
    if (items[i].state != WAITS || items[i].deadline >= FUZZ_LATEST) continue;
    if (fuzz_now < items[i].due_by) fuzz_now = items[i].due_by;
    loop_run_ready(places[items[i].place].loop, ALL);
    REQUIRE(items[i].state != WAITS, "timer %d is left at its deadline", i);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_begin(data, size);
  bool runs_out = fuzz_below(2);
  depth = 0;
  items_begin();
  runs_begin();
  places_begin();
  while (!fuzz_is_over()) act();
  resume_all();
  for (int i = 0; i < LOOPS; i++) loop_run_ready(i, ALL);
  if (runs_out) run_out();
  for (int i = 0; i < ITEMS; i++) item_check(&items[i]);
  for (int i = 0; i < LOOPS; i++) loop_replace(i, false);
  for (int i = 0; i < ITEMS; i++) item_check_end(&items[i]);
  REQUIRE(csched_target_current() == NULL && csched_trampoline_is_required() && own_count == 0, "something is inside");
  return 0;
}
