#include "testing.h"

static csched_loop *make_loop(void) {
  csched_loop *loop = NULL;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  if (loop == NULL) abort();
  return loop;
}

static void prepare(probe *probe, int id, void (*body)(struct probe *), void *context) {
  probe_init(probe, body, context);
  probe->id = id;
}

// MARK: ends of a run

typedef struct nesting {
  csched_loop *loop;
  journal journal;
  probe probes[8];
  csched_activation outer, inner;
} nesting;

static void stop_run(probe *probe) {
  nesting *test = probe->context;
  journal_add(&test->journal, probe->id);
  csched_loop_end_run(test->loop);
}

static void jot(probe *probe) {
  nesting *test = probe->context;
  journal_add(&test->journal, probe->id);
}

static void post(nesting *test, int id, void (*body)(probe *)) {
  prepare(&test->probes[id], id, body, test);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(test->loop), job_of(&test->probes[id])), 0);
}

static void loop_stop_before_run(void) {
  nesting test = {.loop = make_loop()};
  post(&test, 1, jot);
  csched_loop_end_run(test.loop);
  csched_loop_end_run(test.loop); // twice is once
  CHECK_EQUAL(csched_loop_run(test.loop), CSCHED_RUN_ENDED);
  CHECK_EQUAL(atomic_load(&test.journal.count), 0);
  post(&test, 2, stop_run);
  post(&test, 3, jot);
  CHECK_EQUAL(csched_loop_run(test.loop), CSCHED_RUN_ENDED); // the earlier stop is used up
  CHECK_JOURNAL(&test.journal, "1,2");
  csched_loop_destroy(test.loop);
  CHECK_PROBE(&test.probes[3], 0, 1);
}

TEST("a stop before the run ends it at once") { loop_stop_before_run(); }

static void run_inside(probe *probe) {
  nesting *test = probe->context;
  journal_add(&test->journal, probe->id);
  CHECK_EQUAL(csched_loop_run(test->loop), CSCHED_RUN_ENDED);
  journal_add(&test->journal, 10 * probe->id);
}

static void loop_stop_innermost(void) {
  nesting test = {.loop = make_loop()};
  post(&test, 1, run_inside);
  post(&test, 2, run_inside);
  post(&test, 3, stop_run);
  post(&test, 4, stop_run);
  post(&test, 5, jot);
  post(&test, 6, stop_run);
  CHECK_EQUAL(csched_loop_run(test.loop), CSCHED_RUN_ENDED);
  CHECK_JOURNAL(&test.journal, "1,2,3,20,4,10,5,6");
  csched_loop_destroy(test.loop);
}

// LP5
TEST("stop ends the innermost run") { loop_stop_innermost(); }

static void stop_outer(probe *probe) {
  nesting *test = probe->context;
  journal_add(&test->journal, probe->id);
  csched_activation_end_run(&test->outer);
}

static void stop_inner(probe *probe) {
  nesting *test = probe->context;
  journal_add(&test->journal, probe->id);
  csched_activation_end_run(&test->inner);
}

static void run_inner(probe *probe) {
  nesting *test = probe->context;
  journal_add(&test->journal, probe->id);
  CHECK_EQUAL(csched_loop_run_activation(test->loop, &test->inner, CSCHED_FOREVER), CSCHED_RUN_ENDED);
  journal_add(&test->journal, 10 * probe->id);
}

static void loop_activations(void) {
  nesting test = {.loop = make_loop()};
  csched_activation_init(&test.outer, test.loop);
  csched_activation_init(&test.inner, test.loop);
  post(&test, 1, run_inner);
  post(&test, 2, stop_outer); // while the inner run continues
  post(&test, 3, jot);
  post(&test, 4, stop_inner);
  post(&test, 5, jot); // after the end of both
  CHECK_EQUAL(csched_loop_run_activation(test.loop, &test.outer, CSCHED_FOREVER), CSCHED_RUN_ENDED);
  CHECK_JOURNAL(&test.journal, "1,2,3,4,10");
  csched_activation_end_run(&test.outer); // late: ends nothing
  CHECK_EQUAL(csched_loop_run_until(test.loop, csched_now() + 5 * MS), CSCHED_RUN_TIMED_OUT);
  CHECK_JOURNAL(&test.journal, "1,2,3,4,10,5");
  csched_activation_init(&test.inner, test.loop);
  csched_activation_end_run(&test.inner); // before it begins: ends at once
  CHECK_EQUAL(csched_loop_run_activation(test.loop, &test.inner, CSCHED_FOREVER), CSCHED_RUN_ENDED);
  csched_activation_init(&test.inner, test.loop);
  csched_time deadline = csched_now() + 2 * MS;
  CHECK_EQUAL(csched_loop_run_activation(test.loop, &test.inner, deadline), CSCHED_RUN_TIMED_OUT);
  CHECK(csched_now() >= deadline);
  csched_loop_destroy(test.loop);
}

// LP5
TEST("an activation ends by its own stop only") { loop_activations(); }

typedef struct stopping {
  nesting *test;
  int rounds;
  uint64_t seed;
  atomic_int round, stopped;
} stopping;

static void stop_from_outside(int index, void *context) {
  stopping *stopping = context;
  uint64_t seed = stopping->seed;
  (void)index;
  for (int i = 1; i <= stopping->rounds; i++) {
    WAIT_WHILE(atomic_load(&stopping->round) < i);
    burn(chance_below(&seed, 20 * US));
    csched_activation_end_run(&stopping->test->outer); // the run ends, however deep it sleeps
    atomic_store(&stopping->stopped, i);
  }
}

static void loop_activation_stop_races(int rounds, uint64_t seed) {
  nesting test = {.loop = make_loop()};
  stopping stopping = {.test = &test, .rounds = rounds, .seed = seed};
  crew crew;
  crew_start(&crew, 1, stop_from_outside, &stopping);
  for (int i = 1; i <= rounds; i++) {
    csched_activation_init(&test.outer, test.loop);
    atomic_store(&stopping.round, i);
    CHECK_EQUAL(csched_loop_run_activation(test.loop, &test.outer, CSCHED_FOREVER), CSCHED_RUN_ENDED);
    WAIT_WHILE(atomic_load(&stopping.stopped) < i); // the activation stays valid during the call
  }
  crew_join(&crew);
  csched_loop_destroy(test.loop);
}

// LP1, LP5
TEST("an activation's stop is never missed") { loop_activation_stop_races(times(10000), seed()); }

// MARK: runs with an end of their own

static void loop_run_until(void) {
  nesting test = {.loop = make_loop()};
  post(&test, 1, jot);
  post(&test, 2, jot);
  csched_time deadline = csched_now() + 10 * MS;
  CHECK_EQUAL(csched_loop_run_until(test.loop, deadline), CSCHED_RUN_TIMED_OUT);
  CHECK(csched_now() >= deadline);
  CHECK_JOURNAL(&test.journal, "1,2");
  CHECK_EQUAL(csched_loop_run_until(test.loop, 0), CSCHED_RUN_TIMED_OUT);
  post(&test, 3, stop_run);
  CHECK_EQUAL(csched_loop_run_until(test.loop, csched_now() + 60000 * MS), CSCHED_RUN_ENDED);
  csched_loop_close(test.loop, CSCHED_STOP_RUN);
  CHECK_EQUAL(csched_loop_run_until(test.loop, CSCHED_FOREVER), CSCHED_RUN_CLOSED);
  csched_loop_destroy(test.loop);
}

TEST("a run until a deadline ends then, not earlier") { loop_run_until(); }

static void loop_run_once(void) {
  nesting test = {.loop = make_loop()};
  csched_time deadline = csched_now() + 5 * MS;
  CHECK(!csched_loop_run_once(test.loop, deadline));
  CHECK(csched_now() >= deadline);
  post(&test, 1, jot);
  post(&test, 2, jot);
  CHECK(csched_loop_run_once(test.loop, 0)); // a ready job runs without a wait
  CHECK_JOURNAL(&test.journal, "1");
  CHECK(csched_loop_run_once(test.loop, CSCHED_FOREVER));
  CHECK_JOURNAL(&test.journal, "1,2");
  prepare(&test.probes[3], 3, jot, &test);
  deadline = csched_now() + 5 * MS;
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(test.loop), &test.probes[3].timer, deadline, 0), 0);
  CHECK(csched_loop_run_once(test.loop, CSCHED_FOREVER)); // waits for a delayed one, too
  CHECK(csched_now() >= deadline);
  CHECK_JOURNAL(&test.journal, "1,2,3");
  csched_loop_destroy(test.loop);
}

TEST("run_once runs one job, and waits for it") { loop_run_once(); }

static void loop_run_once_with_stop_pending(void) {
  csched_loop *loop = make_loop();
  csched_loop_end_run(loop);
  int64_t before = ctest_thread_processor_time(ctest_thread_id());
  csched_loop_run_once(loop, csched_now() + 100 * MS);
  CHECK(ctest_thread_processor_time(ctest_thread_id()) - before <
        30 * (int64_t)MS); // it sleeps or returns, and does not spin
  csched_loop_destroy(loop);
}

// LP5
TEST("run_once does not burn the processor while a stop is pending") { loop_run_once_with_stop_pending(); }

static void post_again(probe *probe) {
  nesting *test = probe->context;
  journal_add(&test->journal, probe->id);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(test->loop), job_of(probe)), 0);
}

static void loop_run_ready(void) {
  nesting test = {.loop = make_loop()};
  CHECK_EQUAL(csched_loop_run_ready(test.loop, SIZE_MAX), 0); // does not wait
  for (int id = 1; id <= 5; id++) post(&test, id, jot);
  CHECK_EQUAL(csched_loop_run_ready(test.loop, 0), 0);
  CHECK_EQUAL(csched_loop_run_ready(test.loop, 2), 2);
  CHECK_JOURNAL(&test.journal, "1,2");
  CHECK_EQUAL(csched_loop_run_ready(test.loop, SIZE_MAX), 3);
  CHECK_JOURNAL(&test.journal, "1,2,3,4,5");
  post(&test, 6, post_again);
  CHECK_EQUAL(csched_loop_run_ready(test.loop, 3), 3); // a job that is submitted again counts each time
  CHECK_JOURNAL(&test.journal, "1,2,3,4,5,6,6,6");
  csched_loop_destroy(test.loop);
}

TEST("run_ready runs so many, and does not wait") { loop_run_ready(); }
