// Time in a unit test: what is tested waits for minutes, and the test takes none.
//
// "Try again, each time after twice as long" is written for any target. A program gives it that of a loop, a thread or
// a pool, and it waits in real time. The tests give it virtual time, which moves when they say so: no sleeps, no
// tolerances, the same on a busy machine.
#include <CScheduler/CScheduler.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

// MARK: what is tested

static const csched_time SECOND = 1000000000;
enum { MOST_ATTEMPTS = 8 };

typedef struct retry {
  csched_timer timer;
  csched_target *target;
  bool (*attempt)(void *context); // returns whether it has succeeded
  void *context;
  csched_time pause;
  int attempts;
} retry;

static void attempt_once(csched_job *job) {
  retry *retry = (struct retry *)job;
  if (retry->attempt(retry->context) || ++retry->attempts == MOST_ATTEMPTS) return;
  csched_time deadline = csched_target_now(retry->target) + retry->pause; // the target's clock, whichever that is
  retry->pause *= 2;
  csched_target_submit_at(retry->target, &retry->timer, deadline, 0);
}
static void give_up(csched_job *job) { (void)job; } // cancelled, or the target takes no more: nothing to give back
static const csched_job_type retry_type = {attempt_once, give_up, NULL};

// Does: attempts at once, and then after pauses of 1 s, 2 s, 4 s …, until it succeeds or has been attempted eight
// times.
// csched_timer_cancel ends it.
static void retry_start(retry *retry, csched_target *target, bool (*attempt)(void *context), void *context) {
  *retry = (struct retry){.target = target, .attempt = attempt, .context = context, .pause = SECOND};
  csched_timer_init(&retry->timer, &retry_type, NULL);
  csched_target_submit(target, &retry->timer.job);
}

// MARK: its tests

typedef struct attempts {
  csched_virtual *clock;
  int count, succeeds_at;
  csched_time times[MOST_ATTEMPTS];
} attempts;

static bool note(void *context) {
  attempts *seen = context;
  seen->times[seen->count++] = csched_virtual_now(seen->clock);
  return seen->count == seen->succeeds_at;
}

static int failures;
static void check(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "not so: %s\n", what);
  failures++;
}

static void pauses_double(csched_virtual *clock) {
  attempts seen = {.clock = clock};
  retry retry;
  csched_time start = csched_virtual_now(clock);
  retry_start(&retry, csched_virtual_target(clock), note, &seen);
  csched_virtual_run(clock); // until there is nothing left to do
  check(seen.count == MOST_ATTEMPTS, "it gives up after eight attempts");
  for (int i = 0; i < seen.count; i++)
    check(seen.times[i] - start == ((1u << i) - 1) * SECOND, "the pauses are 1 s, 2 s, 4 s …");
  check(csched_virtual_now(clock) - start == 127 * SECOND, "that took 127 s");
}

static void success_ends_it(csched_virtual *clock) {
  attempts seen = {.clock = clock, .succeeds_at = 3};
  retry retry;
  retry_start(&retry, csched_virtual_target(clock), note, &seen);
  csched_virtual_run(clock);
  check(seen.count == 3, "the third attempt succeeds, and there is no fourth");
}

static void cancelling_ends_it(csched_virtual *clock) {
  attempts seen = {.clock = clock};
  retry retry;
  retry_start(&retry, csched_virtual_target(clock), note, &seen);
  csched_virtual_advance(clock, 3 * SECOND - 1);
  check(seen.count == 2, "a nanosecond before the third attempt there were two");
  csched_virtual_advance(clock, 1);
  check(seen.count == 3, "and then three");
  csched_timer_cancel(&retry.timer);
  check(csched_virtual_pending(clock) == 0, "nothing waits once it is cancelled");
  csched_virtual_advance(clock, 3600 * SECOND);
  check(seen.count == 3, "an hour later there is no attempt more");
}

int main(void) {
  csched_virtual *clock;
  if (csched_virtual_create(&clock, 0, 0) != 0) return EXIT_FAILURE;
  csched_time start = csched_now();
  pauses_double(clock);
  success_ends_it(clock);
  cancelling_ends_it(clock);
  printf("%" PRIu64 " s of virtual time took %" PRIu64 " us; %d checks failed\n", csched_virtual_now(clock) / SECOND,
         (csched_now() - start) / 1000, failures);
  csched_virtual_destroy(clock);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
