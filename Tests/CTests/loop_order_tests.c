#include "testing.h"

// MARK: order

typedef struct ordered {
  csched_thread *thread;
  probe *probes;
  int jobs;
  int next[CREW_MOST]; // the thread's own
} ordered;

static void come_in_order(probe *probe) {
  ordered *test = probe->context;
  int submitter = probe->id / test->jobs;
  CHECK_EQUAL(probe->id % test->jobs, test->next[submitter]++);
  CHECK(csched_thread_is_current(test->thread));
  CHECK(csched_loop_current() == csched_thread_loop(test->thread));
}

static void submit_in_order(int index, void *context) {
  ordered *test = context;
  for (int i = 0; i < test->jobs; i++) {
    CHECK_EQUAL(csched_target_submit(csched_thread_target(test->thread), job_of(&test->probes[index * test->jobs + i])),
                0);
    if (i % 100 == 0) nap(100 * US); // let it sleep now and then
  }
}

static void loop_order(int submitters, int jobs) {
  ordered test = {.thread = start_thread("ordered"), .jobs = jobs};
  test.probes = calloc((size_t)(submitters * jobs), sizeof *test.probes);
  for (int i = 0; i < submitters * jobs; i++) {
    probe_init(&test.probes[i], come_in_order, &test);
    test.probes[i].id = i;
  }
  crew_run(submitters, submit_in_order, &test);
  stop_and_join(test.thread, CSCHED_STOP_RUN);
  for (int i = 0; i < submitters * jobs; i++) {
    CHECK_PROBE(&test.probes[i], 1, 0);
    CHECK_EQUAL(test.probes[i].thread, test.probes[0].thread);
  }
  free(test.probes);
}

TEST("jobs of one thread run in order") { // LP6
  loop_order(1, times(10000));
  loop_order(4, times(10000));
}

// MARK: sleeping and waking

static void loop_wakes(int rounds, uint64_t seed) {
  csched_thread *thread = start_thread("sleeper");
  for (int i = 0; i < rounds; i++) {
    probe probe;
    probe_init(&probe, NULL, NULL);
    burn(chance_below(&seed, 30 * US)); // it spins, parks or sleeps by now
    CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&probe)), 0);
    WAIT_WHILE(atomic_load(&probe.releases) == 0); // hangs if the wake is lost
  }
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// LP1, LP2
TEST("a submission wakes a sleeping loop") { loop_wakes(times(10000), seed()); }

static void loop_idle(int milliseconds) {
  csched_thread *thread = start_thread("idle");
  probe first, never;
  probe_init(&first, NULL, NULL);
  probe_init(&never, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&first)), 0);
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &never.timer, CSCHED_FOREVER, 0), 0);
  wait_until_run(thread);
  CHECK_RESTS(first.thread);
  int64_t switches = ctest_thread_switches(first.thread), time = ctest_thread_processor_time(first.thread);
  nap((csched_time)milliseconds * MS);
  CHECK_EQUAL(ctest_thread_switches(first.thread) - switches, 0);
  CHECK_EQUAL(ctest_thread_processor_time(first.thread) - time, 0);
  stop_and_join(thread, CSCHED_STOP_RUN);
  CHECK_PROBE(&never, 0, 1);
}

TEST("an idle loop does not wake up") { loop_idle(300); }
