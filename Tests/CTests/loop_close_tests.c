#include "testing.h"

static csched_loop *make_loop(void) {
  csched_loop *loop = NULL;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  if (loop == NULL) abort();
  return loop;
}

static void post(csched_loop *loop, probe *probe, void (*body)(struct probe *), void *context) {
  probe_init(probe, body, context);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(probe)), 0);
}

static void post_at(csched_loop *loop, probe *probe, csched_time deadline) {
  probe_init(probe, NULL, NULL);
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), &probe->timer, deadline, 0), 0);
}

// MARK: current

static void look_at_current(probe *probe) {
  csched_loop **loops = probe->context;
  CHECK(csched_loop_current() == loops[1]);
}

static void run_second(probe *probe) {
  csched_loop **loops = probe->context;
  CHECK(csched_loop_current() == loops[0]);
  struct probe inner;
  post(loops[1], &inner, look_at_current, loops);
  CHECK_EQUAL(csched_loop_run_ready(loops[1], 1), 1);
  CHECK(csched_loop_current() == loops[0]);
}

static void be_elsewhere(int index, void *context) {
  (void)index;
  CHECK(!csched_loop_is_on_thread(context));
  CHECK(csched_loop_current() == NULL);
}

static void loop_current_is_set(void) {
  csched_loop *loops[2] = {make_loop(), make_loop()};
  probe probe;
  CHECK(csched_loop_current() == NULL);
  CHECK(csched_loop_is_on_thread(loops[0]));
  crew_run(1, be_elsewhere, loops[0]);
  post(loops[0], &probe, run_second, loops);
  CHECK_EQUAL(csched_loop_run_ready(loops[0], 1), 1);
  CHECK(csched_loop_current() == NULL);
  csched_loop_destroy(loops[0]);
  csched_loop_destroy(loops[1]);
}

TEST("the current loop is set in jobs, nested ones too") { loop_current_is_set(); }

// MARK: close, one thread

static void loop_close(csched_stop_policy policy) {
  csched_loop *loop = make_loop();
  probe queued[3], due, later, refused, refused_later;
  bool runs = policy == CSCHED_STOP_RUN;
  for (int i = 0; i < 3; i++) post(loop, &queued[i], NULL, NULL);
  post_at(loop, &due, csched_now() + MS);
  post_at(loop, &later, csched_now() + 60000 * MS);
  nap(2 * MS);
  csched_loop_close(loop, policy);
  csched_loop_close(loop, CSCHED_STOP_RUN); // changes nothing
  probe_init(&refused, NULL, NULL);
  probe_init(&refused_later, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&refused)), ECANCELED);
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), &refused_later.timer, csched_now() + MS, 0), ECANCELED);
  CHECK_PROBE(&refused, 0, 1); // dropped and released on return
  CHECK_PROBE(&refused_later, 0, 1);
  CHECK_EQUAL(csched_loop_run(loop), CSCHED_RUN_CLOSED);
  for (int i = 0; i < 3; i++) CHECK_PROBE(&queued[i], runs, !runs);
  CHECK_PROBE(&due, runs, !runs);
  CHECK_PROBE(&later, 0, 1);
  CHECK_EQUAL(csched_loop_run(loop), CSCHED_RUN_CLOSED); // and every later one
  csched_loop_destroy(loop);
}

TEST("close runs or drops the outstanding work by its policy") {
  loop_close(CSCHED_STOP_RUN);
  loop_close(CSCHED_STOP_DROP);
}

static void loop_close_then(csched_stop_policy policy, bool once) {
  csched_loop *loop = make_loop();
  probe queued;
  post(loop, &queued, NULL, NULL);
  csched_loop_close(loop, policy);
  if (once) csched_loop_run_once(loop, csched_now() + MS);
  else csched_loop_run_ready(loop, SIZE_MAX);
  csched_loop_destroy(loop);
  if (policy == CSCHED_STOP_DROP) CHECK_PROBE(&queued, 0, 1);
  else CHECK_PROBE(&queued, 1, 0);
}

TEST("run_ready and run_once keep to the policy of a close") { // LP6
  for (int once = 0; once < 2; once++) {
    loop_close_then(CSCHED_STOP_RUN, once);
    loop_close_then(CSCHED_STOP_DROP, once);
  }
}

static void loop_destroy_drops(void) {
  csched_loop *loop = make_loop();
  probe queued, later, never;
  post(loop, &queued, NULL, NULL);
  post_at(loop, &later, csched_now() + 60000 * MS);
  post_at(loop, &never, CSCHED_FOREVER);
  csched_loop_destroy(loop);
  CHECK_PROBE(&queued, 0, 1);
  CHECK_PROBE(&later, 0, 1);
  CHECK_PROBE(&never, 0, 1);
}

TEST("destroy drops the outstanding work") { loop_destroy_drops(); }

// MARK: close, while others submit

enum { JOBS = 400 };

typedef struct closing {
  csched_thread *thread;
  probe *probes;
  int submitters;
  csched_stop_policy policy;
  bool escalate;
  uint64_t seed;
  atomic_int accepted[CREW_MOST], tried[CREW_MOST];
} closing;

static void submit_until_refused(int index, closing *test) {
  uint64_t seed = test->seed + (uint64_t)index;
  for (int i = 0; i < JOBS; i++) {
    probe *probe = &test->probes[index * JOBS + i];
    bool is_delayed = chance_below(&seed, 4) == 0;
    probe_init(probe, NULL, NULL);
    csched_time deadline = csched_now() + chance_below(&seed, 200 * US);
    int error = is_delayed ? csched_target_submit_at(csched_thread_target(test->thread), &probe->timer, deadline, 0)
                           : csched_target_submit(csched_thread_target(test->thread), job_of(probe));
    probe->id = error;
    atomic_fetch_add(&test->tried[index], 1);
    if (error == 0) continue;
    CHECK_EQUAL(error, ECANCELED);
    CHECK_PROBE(probe, 0, 1);
    return;
  }
}

static void submit_or_stop(int index, void *context) {
  closing *test = context;
  uint64_t seed = test->seed + 1000 + (uint64_t)index;
  if (index < test->submitters) {
    submit_until_refused(index, test);
    return;
  }
  burn(chance_below(&seed, 300 * US));
  csched_thread_stop(test->thread, test->policy);
  if (test->escalate) csched_thread_stop(test->thread, CSCHED_STOP_DROP);
  csched_thread_stop(test->thread, CSCHED_STOP_RUN);
}

static void loop_close_races_submit(int submitters, int rounds, csched_stop_policy policy, bool escalate,
                                    uint64_t seed) {
  probe *probes = calloc((size_t)(submitters * JOBS), sizeof *probes);
  for (int round = 0; round < rounds; round++) {
    closing test = {.probes = probes, .submitters = submitters, .policy = policy, .escalate = escalate};
    test.seed = seed + 10000 * (uint64_t)round;
    test.thread = start_thread("closing");
    crew_run(submitters + 2, submit_or_stop, &test); // two that stop
    CHECK_EQUAL(csched_thread_join(test.thread), 0);
    csched_thread_destroy(test.thread);
    for (int i = 0; i < submitters; i++)
      for (int n = 0; n < atomic_load(&test.tried[i]); n++) {
        probe *probe = &probes[i * JOBS + n];
        int drops = atomic_load(&probe->drops);
        CHECK_PROBE(probe, 1 - drops, drops); // accepted or refused: one of the two, once
      }
  }
  free(probes);
}

TEST("nothing submitted is lost across close") { // LP4, LP6
  loop_close_races_submit(3, times(300), CSCHED_STOP_RUN, false, seed());
  loop_close_races_submit(3, times(300), CSCHED_STOP_DROP, false, seed());
  loop_close_races_submit(3, times(300), CSCHED_STOP_RUN, true, seed());
}

static void run_elsewhere(int index, void *context) {
  (void)index;
  csched_loop_run(context);
}

TEST_STOPS("a loop run on another thread stops the process", "csched_loop_run:", "belongs to another thread") {
  crew_run(1, run_elsewhere, make_loop());
}
