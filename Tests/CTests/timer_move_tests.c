#include "testing.h"

// MARK: moving

static void timer_moved(void) {
  csched_thread *thread = start_thread("timers"), *other = start_thread("others");
  probe probe, unused;
  probe_init(&probe, NULL, NULL);
  probe_init(&unused, NULL, NULL);
  CHECK(!csched_loop_rearm(csched_thread_loop(thread), &unused.timer, 1)); // never submitted
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &probe.timer, CSCHED_FOREVER, 0), 0);
  CHECK(!csched_loop_rearm(csched_thread_loop(other), &probe.timer, 1)); // it waits elsewhere
  CHECK(csched_loop_rearm(csched_thread_loop(thread), &probe.timer, csched_now() + 60000 * MS));
  nap(2 * MS); // it sleeps until then
  CHECK_EQUAL(atomic_load(&probe.releases), 0);
  CHECK(csched_loop_rearm(csched_thread_loop(thread), &probe.timer, csched_now() + 2 * MS)); // and is woken
  CHECK_SOON(atomic_load(&probe.releases) == 1);
  CHECK(probe.ran_at >= probe.timer.deadline);
  CHECK_PROBE(&probe, 1, 0);
  CHECK(!csched_loop_rearm(csched_thread_loop(thread), &probe.timer, 1)); // it is over
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &probe.timer, CSCHED_FOREVER, 0), 0);
  csched_thread_stop(thread, CSCHED_STOP_RUN);
  stop_and_join(thread, CSCHED_STOP_RUN);
  stop_and_join(other, CSCHED_STOP_RUN);
  CHECK_EQUAL(atomic_load(&probe.drops), 1);
}

// LP1, LP4
TEST("a timer can be moved, from any thread") { timer_moved(); }

static void remember_thread(probe *probe) { *(atomic_uint *)probe->context = probe->thread; }

static void timer_debounced(int moves) {
  csched_thread *thread = start_thread("timers");
  atomic_uint id = 0;
  probe first, probe;
  probe_init(&first, remember_thread, &id);
  probe_init(&probe, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&first)), 0);
  CHECK_SOON(atomic_load(&first.releases) == 1);
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &probe.timer, csched_now() + 10000 * MS, 0), 0);
  CHECK_RESTS(atomic_load(&id));
  int64_t before = ctest_thread_voluntary_switches(atomic_load(&id));
  for (int i = 0; i < moves; i++) // later and later
    CHECK(csched_loop_rearm(csched_thread_loop(thread), &probe.timer, csched_now() + 10000 * MS));
  CHECK(ctest_thread_voluntary_switches(atomic_load(&id)) - before <= 3); // a move does not wake the thread
  CHECK_EQUAL(csched_timer_cancel(&probe.timer), CSCHED_CANCEL_DROPPED);
  stop_and_join(thread, CSCHED_STOP_RUN);
  CHECK_PROBE(&probe, 0, 1);
}

TEST("a timer moved away from its deadline wakes no thread") { timer_debounced(times(10000)); }

enum { RACERS = 16 };

typedef struct moving {
  csched_thread *thread;
  probe *probes;
  uint64_t seed;
  atomic_int moved;
} moving;

static void move_timers(int index, void *context) {
  moving *test = context;
  uint64_t seed = test->seed + (uint64_t)index;
  for (int i = 0; i < 4 * RACERS; i++) {
    burn(chance_below(&seed, 10 * US));
    probe *probe = &test->probes[chance_below(&seed, RACERS)];
    csched_time deadline = csched_now() + chance_below(&seed, 100 * US);
    if (csched_loop_rearm(csched_thread_loop(test->thread), &probe->timer, deadline)) atomic_fetch_add(&test->moved, 1);
  }
}

static void check_deadline(probe *probe) { CHECK(probe->ran_at >= probe->timer.deadline); }

static void timer_move_races(int rounds, uint64_t seed) {
  csched_thread *thread = start_thread("timers");
  probe probes[RACERS];
  int moved = 0;
  for (int round = 0; round < rounds; round++) {
    moving test = {.thread = thread, .probes = probes, .seed = seed + 100 * (uint64_t)round};
    csched_time start = csched_now();
    for (int i = 0; i < RACERS; i++) probe_init(&probes[i], check_deadline, NULL);
    for (int i = 0; i < RACERS; i++)
      CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &probes[i].timer,
                                          start + 200 * US + chance_below(&seed, 200 * US), 0),
                  0);
    crew_run(3, move_timers, &test);
    for (int i = 0; i < RACERS; i++) {
      CHECK_SOON(atomic_load(&probes[i].releases) > 0);
      CHECK_PROBE(&probes[i], 1, 0);
    }
    moved += atomic_load(&test.moved);
  }
  CHECK(moved > 0 || rounds < 100); // with few rounds one of the two may always be too late
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// W1, W5
TEST("a timer moved while it becomes due runs once") { timer_move_races(times(500), seed()); }

// MARK: owners

static void go_to_other(probe *probe) {
  csched_thread **threads = probe->context;
  probe->id ^= 1;
  csched_target_submit_at(csched_thread_target(threads[probe->id]), &probe->timer, csched_now() + 30 * US, 0);
}

static void timer_changes_loops(int rounds) {
  csched_thread *threads[2] = {start_thread("timers"), start_thread("others")};
  for (int i = 0; i < rounds; i++) {
    probe probe;
    probe_init(&probe, go_to_other, threads);
    CHECK_EQUAL(csched_target_submit_at(csched_thread_target(threads[0]), &probe.timer, csched_now() + 10 * US, 0), 0);
    burn(100 * US);
    WAIT_WHILE(csched_timer_cancel(&probe.timer) != CSCHED_CANCEL_DROPPED); // until caught between two runs
    CHECK_SOON(atomic_load(&probe.releases) == 1);
    CHECK_EQUAL(atomic_load(&probe.drops), 1);
  }
  for (int i = 0; i < 2; i++) stop_and_join(threads[i], CSCHED_STOP_RUN);
}

// W6
TEST("a timer that changes its loop can be cancelled") { timer_changes_loops(times(1000)); }

// MARK: leeway

static void timer_leeway_wakes(int timers, int seconds, uint64_t seed) {
  csched_thread *thread = start_thread("timers");
  atomic_uint id = 0;
  probe first, *probes = calloc((size_t)timers, sizeof *probes);
  probe_init(&first, remember_thread, &id);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&first)), 0);
  CHECK_SOON(atomic_load(&first.releases) == 1);
  csched_time start = csched_now() + 300 * MS, span = (csched_time)seconds * 1000 * MS;
  for (int i = 0; i < timers; i++) {
    probe_init(&probes[i], check_deadline, NULL);
    csched_time deadline = start + chance_below(&seed, span);
    CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &probes[i].timer, deadline, 10 * MS), 0);
  }
  // On a busy machine some are due before all are submitted: only the time after that counts.
  int64_t before = ctest_thread_voluntary_switches(atomic_load(&id));
  csched_time now = csched_now(), end = start + span, left = now < start ? span : now < end ? end - now : 0;
  if (now < end) nap(end + 20 * MS - now);
  for (int i = 0; i < timers; i++) CHECK_SOON(atomic_load(&probes[i].releases) == 1);
  int64_t wakes = ctest_thread_voluntary_switches(atomic_load(&id)) - before;
  CHECK(wakes <= (int64_t)(left / (10 * MS)) + 6); // and a few strays
  CHECK(wakes > 0 || left < 100 * MS);
  stop_and_join(thread, CSCHED_STOP_RUN);
  free(probes);
}

// W1, W4
TEST("timers with leeway wake a loop a hundred times a second at the most") { timer_leeway_wakes(10000, 2, seed()); }

static void timer_leeway_rides_along(void) {
  csched_thread *thread = start_thread("timers");
  probe patient, exact;
  probe_init(&patient, NULL, NULL);
  probe_init(&exact, NULL, NULL);
  csched_time now = csched_now(); // far enough for the thread to be asleep by then, on a slow machine, too
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &patient.timer, now + 200 * MS, CSCHED_FOREVER), 0);
  nap(220 * MS);
  CHECK_EQUAL(atomic_load(&patient.runs), 0); // it causes no wake
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &exact.timer, csched_now() + MS, 0), 0);
  CHECK_SOON(atomic_load(&exact.releases) == 1);
  CHECK_SOON(atomic_load(&patient.releases) == 1); // with the other one
  CHECK(patient.ran_at <= exact.ran_at);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

TEST("a timer that may be late runs when another wakes the loop") { timer_leeway_rides_along(); }
