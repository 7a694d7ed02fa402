// The wall clock is set under timers that wait for it. The steps are short, and taken back by the monotonic clock
// within a fifth of a second, but they change the whole system's clock: the test runs only on request.

#define _GNU_SOURCE
#include "testing.h"

#include "../../Sources/CScheduler/clock/clock_internal.h"

#include <CScheduler/clock.h>

#include <time.h>

static csched_time real_then, monotonic_then;

static int set_wall(csched_time to) {
  struct timespec at = {.tv_sec = (time_t)(to / 1000000000), .tv_nsec = (long)(to % 1000000000)};
  return clock_settime(CLOCK_REALTIME, &at);
}

static int step_by(int64_t by) {
  real_then = csched_clock_now(CSCHED_CLOCK_WALL);
  monotonic_then = csched_now();
  return set_wall((csched_time)((int64_t)real_then + by));
}

static void step_back(void) {
  csched_time gone_by = csched_now() - monotonic_then;
  set_wall(real_then + gone_by);
}

static void submit(csched_thread *thread, probe *probe, csched_clock clock, csched_time span) {
  csched_target *target = csched_loop_target(csched_thread_loop(thread));
  probe_init(probe, NULL, NULL);
  csched_time deadline = csched_clock_now(clock) + span;
  CHECK_EQUAL(csched_target_submit_at_clock(target, clock, &probe->timer, deadline, 0), 0);
}

static bool has_run(probe *probe) { return atomic_load(&probe->releases) == 1; }

TEST("a wall timer follows a clock that is set") { // CL1
  if (getenv("SCHEDULER_TEST_SETS_CLOCK") == NULL) {
    fprintf(stderr, "not done: it sets the system's clock by seconds, for a fifth of one: "
                    "set SCHEDULER_TEST_SETS_CLOCK=1, as a user who may set the clock\n");
    return;
  }
  if (step_by(0) != 0) {
    fprintf(stderr, "not done: this process may not set the clock\n");
    return;
  }
  csched_thread *thread = start_thread("timers");
  probe wall, boot, plain;

  submit(thread, &wall, CSCHED_CLOCK_WALL, 2000 * MS); // forwards, past the deadline of one of the three
  submit(thread, &boot, CSCHED_CLOCK_BOOT, 2000 * MS);
  submit(thread, &plain, CSCHED_CLOCK_MONOTONIC, 2000 * MS);
  nap(2 * MS);
  csched_time before = csched_now();
  step_by((int64_t)(2500 * MS));
  while (!has_run(&wall) && csched_now() - before < 200 * MS) nap(100 * US);
  csched_time took = csched_now() - before;
  step_back();
  CHECK(has_run(&wall) && took < 200 * MS);
  nap(2 * MS);
  CHECK(!has_run(&boot) && !has_run(&plain));
  CHECK_EQUAL(csched_timer_cancel(&boot.timer), CSCHED_CANCEL_DROPPED);
  CHECK_EQUAL(csched_timer_cancel(&plain.timer), CSCHED_CANCEL_DROPPED);

  submit(thread, &wall, CSCHED_CLOCK_WALL, 50 * MS); // back: it waits longer than that
  submit(thread, &boot, CSCHED_CLOCK_BOOT, 50 * MS);
  before = csched_now();
  step_by(-(int64_t)(1000 * MS));
  while (csched_now() - before < 150 * MS) nap(MS);
  bool was_early = has_run(&wall), was_late = !has_run(&boot);
  step_back(); // forwards again, and past the deadline
  CHECK(!was_early && !was_late);
  before = csched_now();
  CHECK_SOON(has_run(&wall));
  CHECK(csched_now() - before < 500 * MS);
  CHECK_PROBE(&wall, 1, 0);

  csched_clocks_end_();
  stop_and_join(thread, CSCHED_STOP_RUN);
  fprintf(stderr, "set past the deadline: ran %llu µs later\n", (unsigned long long)(took / US));
}
