// Timers of the boot clock and the wall clock.

#include "testing.h"

#include "../../Sources/CScheduler/clock/clock_internal.h"

#include <CScheduler/clock.h>

#include <sys/resource.h>
#include <unistd.h>

static const csched_clock both[] = {CSCHED_CLOCK_BOOT, CSCHED_CLOCK_WALL};

static csched_target *target_of(csched_thread *thread) { return csched_loop_target(csched_thread_loop(thread)); }

// MARK: order

enum { TIMERS = 200 };

typedef struct delayed {
  csched_clock clock;
  csched_time deadlines[TIMERS];
  int fired[TIMERS];
  int count; // the thread's own
} delayed;

static void fire(probe *probe) {
  delayed *test = probe->context;
  CHECK(csched_clock_now(test->clock) >= test->deadlines[probe->id]); // never early, unless it is set back just then
  test->fired[test->count++] = probe->id;
}

static void check_order(const delayed *test) {
  for (int i = 1; i < test->count; i++) {
    int before = test->fired[i - 1], after = test->fired[i];
    CHECK(test->deadlines[before] < test->deadlines[after] ||
          (test->deadlines[before] == test->deadlines[after] && before < after));
  }
}

// On a thread, on a serial queue of the thread, and on one of a pool.
static void clock_order(csched_clock clock, int timers, int place, uint64_t seed) {
  csched_thread *thread = start_thread("timers");
  csched_pool *pool = NULL;
  csched_serial *serial = NULL;
  csched_target *target = target_of(thread);
  if (place == 2) {
    CHECK_EQUAL(csched_pool_create(&pool, &(csched_pool_options){.workers = 2}), 0);
    target = csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT);
  }
  if (place > 0) {
    CHECK_EQUAL(csched_serial_create(&serial, target), 0);
    target = csched_serial_target(serial);
  }
  delayed test = {.clock = clock};
  probe *probes = calloc(TIMERS, sizeof *probes);
  csched_time start =
      csched_clock_now(clock) + 40 * MS; // after the last submission, or else the late ones count as due
  if (timers > TIMERS) timers = TIMERS;
  for (int i = 0; i < timers; i++) {
    probe_init(&probes[i], fire, &test);
    probes[i].id = i;
    test.deadlines[i] = start + chance_below(&seed, 50) * 200 * US; // many are equal
    CHECK_EQUAL(csched_target_submit_at_clock(target, clock, &probes[i].timer, test.deadlines[i], 0), 0);
  }
  bool in_time = csched_clock_now(clock) < start; // else some were late when they were submitted, as under valgrind
  for (int i = 0; i < timers; i++) CHECK_SOON(atomic_load(&probes[i].releases) == 1);
  CHECK_EQUAL(test.count, timers);
  if (in_time) check_order(&test);
  csched_clocks_end_();
  if (serial != NULL) csched_serial_destroy(serial);
  if (pool != NULL) csched_pool_destroy(pool);
  stop_and_join(thread, CSCHED_STOP_RUN);
  free(probes);
}

TEST("a timer of another clock runs, never early by its clock") { // CL1, CL2, CL6
  int timers = is_under(VALGRIND | QEMU) ? 50 : TIMERS;           // all are submitted before the first comes due
  for (int i = 0; i < 2; i++)
    for (int place = 0; place < 3; place++) clock_order(both[i], timers, place, seed());
}

// One thread submits instants that are about to come, so that some are late and some are on their way: all keep their
// order.
static void clock_late_keep_their_place(int rounds) {
  csched_thread *thread = start_thread("timers");
  for (int round = 0; round < rounds; round++) {
    delayed test = {.clock = CSCHED_CLOCK_WALL};
    probe probes[8];
    csched_time deadline = csched_clock_now(CSCHED_CLOCK_WALL) + 100 * US;
    for (int i = 0; i < 8; i++) {
      probe_init(&probes[i], fire, &test);
      probes[i].id = i;
      CHECK_EQUAL(csched_target_submit_at_clock(target_of(thread), CSCHED_CLOCK_WALL, &probes[i].timer, deadline, 0),
                  0);
      burn(20 * US);
    }
    for (int i = 0; i < 8; i++) CHECK_SOON(atomic_load(&probes[i].releases) == 1);
    CHECK_EQUAL(test.count, 8);
    check_order(&test);
  }
  csched_clocks_end_();
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// CL1, CL6
TEST("timers of a clock keep their order") { clock_late_keep_their_place(times(500)); }

// MARK: cancel

static void clock_cancel(void) {
  csched_thread *thread = start_thread("timers");
  for (int i = 0; i < 2; i++) {
    probe later, never;
    probe_init(&later, NULL, NULL);
    probe_init(&never, NULL, NULL);
    csched_time hour = csched_clock_now(both[i]) + 3600000 * MS;
    CHECK_EQUAL(csched_target_submit_at_clock(target_of(thread), both[i], &later.timer, hour, 0), 0);
    CHECK_EQUAL(csched_target_submit_at_clock(target_of(thread), both[i], &never.timer, CSCHED_FOREVER, 0), 0);
    CHECK(!csched_loop_rearm(csched_thread_loop(thread), &later.timer, csched_now())); // it does not wait there
    CHECK_EQUAL(csched_timer_cancel(&later.timer), CSCHED_CANCEL_DROPPED);
    CHECK_PROBE(&later, 0, 1); // at once
    CHECK_EQUAL(csched_timer_cancel(&never.timer), CSCHED_CANCEL_DROPPED);
    CHECK_PROBE(&never, 0, 1);
    CHECK_EQUAL(csched_timer_cancel(&later.timer), CSCHED_CANCEL_FINISHED);
    csched_time soon = csched_clock_now(both[i]) + MS; // and it can be used again
    CHECK_EQUAL(csched_target_submit_at_clock(target_of(thread), both[i], &later.timer, soon, 0), 0);
    CHECK_SOON(atomic_load(&later.releases) == 2);
    CHECK_EQUAL(atomic_load(&later.runs), 1);
  }
  csched_clocks_end_();
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// CL5
TEST("a timer of another clock is cancelled at once") { clock_cancel(); }

enum { RACERS = 16 };

typedef struct racing {
  csched_thread *thread;
  probe probes[RACERS];
  uint64_t seed;
  atomic_int won;
} racing;

// Half of them submit timers that the other half cancels.
static void submit_or_cancel(int index, void *context) {
  racing *test = context;
  uint64_t seed = test->seed + (uint64_t)index;
  for (int i = index / 2; i < RACERS; i += 2) {
    probe *probe = &test->probes[i];
    csched_clock clock = both[i / 2 % 2];
    if (index % 2 == 0) {
      csched_time deadline = csched_clock_now(clock) + chance_below(&seed, 100 * US);
      CHECK_EQUAL(csched_target_submit_at_clock(target_of(test->thread), clock, &probe->timer, deadline, 0), 0);
      continue;
    }
    burn(chance_below(&seed, 40 * US));
    if (csched_timer_cancel(&probe->timer) == CSCHED_CANCEL_DROPPED) atomic_fetch_add(&test->won, 1);
  }
}

static void clock_cancel_races(int rounds, uint64_t seed) {
  racing *test = calloc(1, sizeof *test);
  test->thread = start_thread("timers");
  for (int round = 0; round < rounds; round++) {
    test->seed = seed + 100 * (uint64_t)round;
    atomic_store(&test->won, 0);
    for (int i = 0; i < RACERS; i++) probe_init(&test->probes[i], NULL, NULL);
    crew_run(4, submit_or_cancel, test);
    int drops = 0;
    for (int i = 0; i < RACERS; i++) {
      probe *probe = &test->probes[i];
      CHECK_SOON(atomic_load(&probe->releases) > 0);
      drops += atomic_load(&probe->drops);
      CHECK_PROBE(probe, 1 - atomic_load(&probe->drops), atomic_load(&probe->drops));
    }
    CHECK_EQUAL(atomic_load(&test->won), drops);
    if (round % 16 == 0) csched_clocks_end_(); // so that some submissions are first ones
  }
  csched_clocks_end_();
  stop_and_join(test->thread, CSCHED_STOP_RUN);
  free(test);
}

// CL2, CL4, CL5
TEST("a timer of another clock is cancelled or run, once") { clock_cancel_races(times(1000), seed()); }

// MARK: edges

static void clock_edges(void) {
  csched_thread *thread = start_thread("timers");
  csched_target *target = target_of(thread);
  CHECK(csched_clock_now(CSCHED_CLOCK_BOOT) >= csched_now() - 1000 * MS); // what counts suspension is ahead
  for (csched_clock clock = CSCHED_CLOCK_MONOTONIC; clock <= CSCHED_CLOCK_WALL; clock++) {
    csched_time now = csched_clock_now(clock);
    const csched_time instants[] = {0, 1, now - 1, now, now + 1, CSCHED_FOREVER - 1, CSCHED_FOREVER};
    probe probes[7], leeway;
    for (int i = 0; i < 7; i++) {
      probe_init(&probes[i], NULL, NULL);
      CHECK_EQUAL(csched_target_submit_at_clock(target, clock, &probes[i].timer, instants[i], i == 4 ? 5 : 0), 0);
    }
    probe_init(&leeway, NULL, NULL); // has endless leeway, and causes no wake
    CHECK_EQUAL(csched_target_submit_at_clock(target, clock, &leeway.timer, now + 3600000 * MS, CSCHED_FOREVER), 0);
    for (int i = 0; i < 5; i++) CHECK_SOON(atomic_load(&probes[i].releases) == 1);
    for (int i = 0; i < 5; i++) CHECK_PROBE(&probes[i], 1, 0);
    for (int i = 5; i < 7; i++) CHECK_EQUAL(atomic_load(&probes[i].releases), 0);
    for (int i = 5; i < 7; i++) CHECK_EQUAL(csched_timer_cancel(&probes[i].timer), CSCHED_CANCEL_DROPPED);
    CHECK_EQUAL(csched_timer_cancel(&leeway.timer), CSCHED_CANCEL_DROPPED);
  }
  csched_clocks_end_();
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// CL1
TEST("instants that have passed, and the ends of time") { clock_edges(); }

// A stopped thread drops timers that become due, and the end of the clocks drops waiting ones.
static void clock_refused(void) {
  csched_thread *thread = start_thread("timers");
  csched_target *target = target_of(thread);
  probe soon, far;
  probe_init(&soon, NULL, NULL);
  probe_init(&far, NULL, NULL);
  csched_time now = csched_clock_now(CSCHED_CLOCK_WALL);
  // Late enough for the stop to come before it.
  CHECK_EQUAL(csched_target_submit_at_clock(target, CSCHED_CLOCK_WALL, &soon.timer, now + 500 * MS, 0), 0);
  CHECK_EQUAL(csched_target_submit_at_clock(target, CSCHED_CLOCK_WALL, &far.timer, now + 3600000 * MS, 0), 0);
  csched_thread_stop(thread, CSCHED_STOP_RUN);
  CHECK_EQUAL(csched_thread_join(thread), 0);
  CHECK_SOON(atomic_load(&soon.releases) == 1);
  CHECK_PROBE(&soon, 0, 1);
  probe_init(&soon, NULL, NULL);
  CHECK_EQUAL(csched_target_submit_at_clock(target, CSCHED_CLOCK_WALL, &soon.timer, now, 0), ECANCELED);
  CHECK_PROBE(&soon, 0, 1);
  csched_clocks_end_();
  CHECK_PROBE(&far, 0, 1);
  csched_thread_destroy(thread);
}

TEST("a timer that is due on a stopped target is dropped") { clock_refused(); }

static void stop_own_thread(probe *probe) { csched_thread_stop(probe->context, CSCHED_STOP_RUN); }

// The timer is the last that keeps the thread: when it has run, the loop is freed, while the delivery may still be at
// its wake.
static void clock_last_owner(int rounds) {
  for (int i = 0; i < rounds; i++) {
    csched_thread *thread = start_thread("timers");
    probe probe;
    probe_init(&probe, stop_own_thread, thread);
    csched_time soon = csched_clock_now(CSCHED_CLOCK_WALL) + 20 * US;
    CHECK_EQUAL(csched_target_submit_at_clock(target_of(thread), CSCHED_CLOCK_WALL, &probe.timer, soon, 0), 0);
    CHECK_EQUAL(csched_thread_join(thread), 0);
    csched_thread_destroy(thread);
    CHECK_PROBE(&probe, 1, 0);
  }
  csched_clocks_end_();
}

// DV1, DV2
TEST("a thread that ends with its last timer is freed after the delivery") { clock_last_owner(times(500)); }

// MARK: the thread

typedef struct teller {
  csched_target target;
  atomic_uint thread; // that delivered last
} teller;

static int note_thread(csched_target *target, csched_job *job) {
  atomic_store(&((teller *)target)->thread, ctest_thread_id());
  csched_target_perform(target, job);
  return 0;
}
static const csched_target_type teller_type = {.deliver = note_thread};

static void clock_idle(int milliseconds) {
  teller teller = {.target.type = &teller_type};
  probe first, far, never;
  probe_init(&first, NULL, NULL);
  probe_init(&far, NULL, NULL);
  probe_init(&never, NULL, NULL);
  CHECK_EQUAL(ctest_threads_named("csched-clock"), 0);
  csched_time now = csched_clock_now(CSCHED_CLOCK_BOOT);
  CHECK_EQUAL(csched_target_submit_at_clock(&teller.target, CSCHED_CLOCK_BOOT, &first.timer, now, 0), 0);
  CHECK_EQUAL(ctest_threads_named("csched-clock"), 0); // a plain submission needs none
  CHECK_EQUAL(atomic_load(&teller.thread), ctest_thread_id());
  probe_init(&first, NULL, NULL);
  now = csched_clock_now(
      CSCHED_CLOCK_BOOT); // read again: a slow tool may have made the deadline pass, and a due timer needs no thread
  CHECK_EQUAL(csched_target_submit_at_clock(&teller.target, CSCHED_CLOCK_BOOT, &first.timer, now + 50 * MS, 0), 0);
  CHECK_SOON(atomic_load(&first.releases) == 1);
  CHECK_EQUAL(ctest_threads_named("csched-clock"), 1);
  uint32_t clocks = ctest_thread_named_so("csched-clock"), carrier = atomic_load(&teller.thread);
  CHECK(carrier != clocks);
  csched_time hour = csched_clock_now(CSCHED_CLOCK_WALL) + 3600000 * MS;
  CHECK_EQUAL(csched_target_submit_at_clock(&teller.target, CSCHED_CLOCK_WALL, &far.timer, hour, 0), 0);
  CHECK_EQUAL(csched_target_submit_at_clock(&teller.target, CSCHED_CLOCK_WALL, &never.timer, CSCHED_FOREVER, 0), 0);
  CHECK_RESTS(clocks);
  CHECK_RESTS(carrier);
  int64_t before = ctest_thread_voluntary_switches(clocks) + ctest_thread_voluntary_switches(carrier);
  nap((csched_time)milliseconds * MS);
  CHECK_EQUAL(ctest_thread_voluntary_switches(clocks) + ctest_thread_voluntary_switches(carrier), before);
  csched_clocks_end_();
  CHECK_SOON(ctest_threads_named("csched-clock") == 0 && ctest_thread_voluntary_switches(carrier) == -1);
  CHECK_PROBE(&far, 0, 1);
  CHECK_PROBE(&never, 0, 1);
}

// CL3, CL4, CL5
TEST("clocks do not wake up for nothing") { clock_idle(300); }

static void clock_without_descriptors(void) {
  csched_thread *thread = start_thread("timers");
  wait_until_run(thread);
  nap(20 * MS); // until it sleeps: before its first sleep it reads how many processors there are
  struct rlimit before, none = {0, 0};
  getrlimit(RLIMIT_NOFILE, &before);
  none.rlim_max = before.rlim_max;
  csched_time soon = csched_clock_now(CSCHED_CLOCK_WALL) + 10 * MS;
  for (int room = 0; room < 5; room++) { // the poller has three, and each clock one
    int used = dup(0);
    if (used < 0) abort();
    close(used);
    probe probe;
    probe_init(&probe, NULL, NULL);
    none.rlim_cur = (rlim_t)(used + room);
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) abort();
    int answer =
        csched_target_submit_at_clock(target_of(thread), CSCHED_CLOCK_WALL, &probe.timer, soon + 60000 * MS, 0);
    setrlimit(RLIMIT_NOFILE, &before);
    CHECK_EQUAL(answer, EMFILE);
    CHECK_PROBE(&probe, 0, 1);
    int now = dup(0); // no descriptor has leaked
    CHECK_EQUAL(now, used);
    close(now);
  }
  probe probe;
  probe_init(&probe, NULL, NULL);
  CHECK_EQUAL(csched_target_submit_at_clock(target_of(thread), CSCHED_CLOCK_WALL, &probe.timer, soon, 0), 0);
  CHECK_SOON(atomic_load(&probe.releases) == 1);
  CHECK_PROBE(&probe, 1, 0);
  csched_clocks_end_();
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// CL4
TEST("a clock that cannot be waited for is an error") { clock_without_descriptors(); }

TEST_STOPS("an invalid clock stops the process", "csched_clock_now: 7 is no clock", "Name one of csched_clock") {
  csched_clock_now((csched_clock)7);
}

TEST_STOPS("a timer of an invalid clock stops the process", "csched_target_submit_at_clock: -1 is no clock") {
  csched_thread *thread = start_thread("timers");
  probe probe;
  probe_init(&probe, NULL, NULL);
  csched_target_submit_at_clock(target_of(thread), (csched_clock)-1, &probe.timer, 0, 0);
}
