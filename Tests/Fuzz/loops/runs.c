// Runs of loops: why each ended, and that none sleeps while there is something to do.

#include "loops.h"

enum { RUNS_MOST = 4 * DEEPEST };

typedef struct frame {
  int loop;
  csched_activation *activation; // NULL: none
  bool is_stopped;               // the activation is
} frame;

static frame frames[RUNS_MOST]; // the runs that are on the stack
static int frame_count;

// MARK: sleeping

static const frame *innermost_of(int at) {
  for (int i = frame_count - 1; i >= 0; i--)
    if (frames[i].loop == at) return &frames[i];
  return NULL;
}

static void check_timer(const item *item, csched_time deadline) {
  if (item->state != WAITS || !item->is_timed || item->deadline == CSCHED_FOREVER) return;
  if (place_is_queue(item->place) && item->deadline <= fuzz_now) return; // it may have come to its queue
  REQUIRE(item_latest(item) >= deadline, "it would sleep until %llu, and miss item %d", (unsigned long long)deadline,
          item_number(item));
}

static void check_sleep(csched_time deadline) {
  int at = frames[frame_count - 1].loop;
  const frame *innermost = innermost_of(at);
  REQUIRE(csched_loop_current() == loops[at].loop, "loop %d sleeps, and is not current", at);
  REQUIRE(!loops[at].is_stop_pending && loops[at].closing == 0 && !innermost->is_stopped,
          "loop %d would sleep, and is to stop", at);
  loop_check_settled(at);
  for (int i = 0; i < ITEMS; i++)
    if (places[items[i].place].loop == at) check_timer(&items[i], deadline);
  fuzz_sleep(deadline);
}

void runs_begin(void) {
  frame_count = 0;
  fuzz_on_sleep = check_sleep;
}

// MARK: running

static bool begin(int at, csched_activation *activation, bool is_stopped) {
  if (!loop_exists(at) || frame_count == RUNS_MOST) return false;
  frames[frame_count++] = (frame){at, activation, is_stopped};
  loops[at].runs++;
  loops[at].is_quiet = false;
  return true;
}

static void end(int at, bool is_quiet) {
  frame_count--;
  loops[at].runs--;
  loops[at].ran_at = fuzz_now;
  loops[at].is_quiet = is_quiet;
}

void loop_stop(int at) {
  if (!loop_exists(at)) return;
  TRACE("stop loop %d", at);
  loops[at].is_stop_pending = true;
  csched_loop_end_run(loops[at].loop);
}

void loop_run_ready(int at, size_t most) {
  if (!begin(at, NULL, false)) return;
  TRACE("loop %d: run %zu that are ready", at, most);
  size_t ran = csched_loop_run_ready(loops[at].loop, most);
  TRACE("loop %d: %zu ran", at, ran);
  REQUIRE(ran <= most, "%zu ran, of %zu", ran, most);
  if (ran < most) loop_check_settled(at);
  end(at, ran < most);
}

// A run checks its reasons to end in this order.
static csched_run_result expected(int at, bool is_stopped) {
  if (loops[at].closing != 0) return CSCHED_RUN_CLOSED;
  if (is_stopped || loops[at].is_stop_pending) return CSCHED_RUN_ENDED;
  return CSCHED_RUN_TIMED_OUT;
}

static void check_result(int at, csched_run_result result, csched_time deadline) {
  bool is_stopped = frames[frame_count - 1].is_stopped;
  TRACE("loop %d: ends by %d", at, (int)result);
  REQUIRE(result == expected(at, is_stopped), "a run of loop %d ends by %d", at, (int)result);
  if (result == CSCHED_RUN_TIMED_OUT) REQUIRE(fuzz_now >= deadline, "a run of loop %d ends early", at);
  if (result == CSCHED_RUN_CLOSED)
    for (int i = 0; i < ITEMS; i++)
      REQUIRE(items[i].place != loops[at].place || items[i].state != WAITS, "item %d is left by a close", i);
  if (result == CSCHED_RUN_ENDED && !is_stopped) loops[at].is_stop_pending = false; // this run has taken it
}

void loop_run_until(int at, csched_time deadline) {
  if (!begin(at, NULL, false)) return;
  TRACE("loop %d: run until %llu", at, (unsigned long long)deadline);
  bool ends = loops[at].is_stop_pending || loops[at].closing != 0;
  if (ends && deadline % 2 == 0) check_result(at, csched_loop_run(loops[at].loop), deadline);
  else check_result(at, csched_loop_run_until(loops[at].loop, deadline), deadline);
  end(at, false);
}

void loop_run_activation(int at, csched_time deadline, bool is_stopped_before) {
  csched_activation activation;
  if (!begin(at, &activation, is_stopped_before)) return;
  csched_activation_init(&activation, loops[at].loop);
  if (is_stopped_before) csched_activation_end_run(&activation);
  TRACE("loop %d: run an activation until %llu", at, (unsigned long long)deadline);
  check_result(at, csched_loop_run_activation(loops[at].loop, &activation, deadline), deadline);
  end(at, false);
}

void loop_run_once(int at, csched_time deadline) {
  if (!begin(at, NULL, false)) return;
  // A run takes a stop when no job is ready, and its deadline has not passed.
  bool may_take = loops[at].is_stop_pending && loops[at].closing == 0 && fuzz_now < deadline;
  TRACE("loop %d: run once until %llu", at, (unsigned long long)deadline);
  bool has_run = csched_loop_run_once(loops[at].loop, deadline);
  TRACE("loop %d: one ran: %d", at, has_run);
  if (!has_run && may_take) loops[at].is_stop_pending = false;
  else if (!has_run) REQUIRE(loops[at].closing != 0 || fuzz_now >= deadline, "loop %d gives up early", at);
  end(at, false);
}

void stop_activation(unsigned which) {
  for (int i = 0; i < frame_count; i++) {
    frame *frame = &frames[(i + (int)which) % frame_count];
    if (frame->activation == NULL) continue;
    TRACE("stop an activation of loop %d", frame->loop);
    frame->is_stopped = true;
    csched_activation_end_run(frame->activation);
    return;
  }
}
