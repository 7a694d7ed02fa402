#include "testing.h"

// MARK: order

enum { TIMERS = 400 };

typedef struct delayed {
  csched_thread *thread;
  probe spinner;
  atomic_int is_over;
  bool is_late[TIMERS]; // it may have been due at its submission: then it waits behind earlier submissions
  int fired[TIMERS];
  int count; // the thread's own
} delayed;

static void fire(probe *probe) {
  delayed *test = probe->context;
  CHECK(probe->ran_at >= probe->timer.deadline); // never early
  test->fired[test->count++] = probe->id;
}

static void keep_busy(probe *probe) {
  delayed *test = probe->context;
  if (!atomic_load(&test->is_over)) csched_target_submit(csched_thread_target(test->thread), job_of(probe));
}

static void timer_order(int timers, bool busy, uint64_t seed) {
  delayed test = {.thread = start_thread("timers")};
  probe *probes = calloc(TIMERS, sizeof *probes);
  csched_time start = csched_now() + 20 * MS; // after the last submission, but on a busy machine
  if (timers > TIMERS) timers = TIMERS;
  for (int i = 0; i < timers; i++) {
    probe_init(&probes[i], fire, &test);
    probes[i].id = i;
    csched_time deadline = start + chance_below(&seed, 50) * 200 * US; // many are equal
    CHECK_EQUAL(csched_target_submit_at(csched_thread_target(test.thread), &probes[i].timer, deadline, 0), 0);
    test.is_late[i] = csched_now() >= deadline;
  }
  probe_init(&test.spinner, keep_busy, &test); // a loop that does not sleep reads the clock all the time
  if (busy) CHECK_EQUAL(csched_target_submit(csched_thread_target(test.thread), job_of(&test.spinner)), 0);
  for (int i = 0; i < timers; i++) CHECK_SOON(atomic_load(&probes[i].releases) == 1);
  atomic_store(&test.is_over, 1);
  stop_and_join(test.thread, CSCHED_STOP_RUN);
  CHECK_EQUAL(test.count, timers);
  probe *before = NULL;
  for (int i = 0; i < test.count; i++) {
    probe *after = &probes[test.fired[i]];
    if (test.is_late[after->id]) continue;
    CHECK(before == NULL || before->timer.deadline < after->timer.deadline ||
          (before->timer.deadline == after->timer.deadline && before->id < after->id));
    before = after;
  }
  free(probes);
}

TEST("delayed jobs run in the order of their deadlines, never early") { // LP1, LP9
  int timers = is_under(VALGRIND | QEMU) ? 100 : 400;                   // all are submitted before the first comes due
  timer_order(timers, false, seed());
  timer_order(timers, true, seed());
}

static void timer_equal_deadlines(void) {
  csched_thread *thread = start_thread("timers");
  journal journal = {0};
  probe probes[6];
  gate gate;
  gate_close(&gate, thread);
  csched_time deadline = csched_now() + 3 * MS;
  for (int i = 0; i < 6; i++) {
    probe_init(&probes[i], note, &journal);
    probes[i].id = i;
    CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &probes[i].timer, deadline, 0), 0);
  }
  nap(5 * MS); // all are due when the thread comes to them
  gate_open(&gate);
  for (int i = 0; i < 6; i++) CHECK_SOON(atomic_load(&probes[i].releases) == 1);
  CHECK_JOURNAL(&journal, "0,1,2,3,4,5");
  stop_and_join(thread, CSCHED_STOP_RUN);
}

typedef struct overdue {
  csched_loop *loop;
  journal journal;
  probe probes[3];
} overdue;

static void add(probe *probe) {
  overdue *test = probe->context;
  journal_add(&test->journal, probe->id);
}

static void submit_overdue(probe *probe) {
  overdue *test = probe->context;
  (void)probe;
  csched_time deadline = csched_now() + MS;
  for (int i = 1; i < 3; i++) { // one deadline, once in the future and once in the past
    probe_init(&test->probes[i], add, test);
    test->probes[i].id = i;
    CHECK_EQUAL(csched_target_submit_at(csched_loop_target(test->loop), &test->probes[i].timer, deadline, 0), 0);
    nap(3 * MS);
  }
}

static void timer_overdue_keeps_its_place(void) {
  overdue test = {0};
  CHECK_EQUAL(csched_loop_create(&test.loop), 0);
  probe_init(&test.probes[0], submit_overdue, &test);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(test.loop), job_of(&test.probes[0])), 0);
  for (int i = 0; i < 100 && test.journal.count < 2; i++) // the machine may be busy
    CHECK_EQUAL(csched_loop_run_until(test.loop, csched_now() + 20 * MS), CSCHED_RUN_TIMED_OUT);
  CHECK_JOURNAL(&test.journal, "1,2");
  csched_loop_destroy(test.loop);
}

TEST("equal deadlines keep the order of submission") { // LP3, LP9
  timer_equal_deadlines();
  timer_overdue_keeps_its_place();
}

// MARK: cancel

static void timer_cancel_outside(void) {
  csched_thread *thread = start_thread("timers");
  probe later, never, unused;
  probe_init(&later, NULL, NULL);
  probe_init(&never, NULL, NULL);
  probe_init(&unused, NULL, NULL);
  CHECK_EQUAL(csched_timer_cancel(&unused.timer), CSCHED_CANCEL_FINISHED);
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &later.timer, csched_now() + 60000 * MS, 0), 0);
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &never.timer, CSCHED_FOREVER, 0), 0);
  CHECK_EQUAL(csched_timer_cancel(&later.timer), CSCHED_CANCEL_DROPPED);
  CHECK_PROBE(&later, 0, 1); // at once
  CHECK_EQUAL(csched_timer_cancel(&never.timer), CSCHED_CANCEL_DROPPED);
  CHECK_PROBE(&never, 0, 1);
  CHECK_EQUAL(csched_timer_cancel(&later.timer), CSCHED_CANCEL_FINISHED);
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &later.timer, csched_now() + MS, 0),
              0); // and it can be used again
  CHECK_SOON(atomic_load(&later.releases) == 2);
  CHECK_EQUAL(atomic_load(&later.runs), 1);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// A slow target: a timer is cancelled between its submission to this target and its arrival at the base loop.
typedef struct slow_target {
  csched_target target;
  csched_target *base;
} slow_target;

static int cancel_then_deliver_at(csched_target *target, csched_timer *timer, csched_time deadline,
                                  csched_time leeway) {
  csched_target *base = ((slow_target *)target)->base;
  CHECK_EQUAL(csched_timer_cancel(timer), CSCHED_CANCEL_DROPPED);
  return base->type->deliver_at(base, timer, deadline, leeway);
}

static void timer_cancel_on_its_way(void) {
  static const csched_target_type slow_type = {.deliver_at = cancel_then_deliver_at};
  csched_thread *thread = start_thread("timers");
  slow_target slow = {{.type = &slow_type}, csched_loop_target(csched_thread_loop(thread))};
  csched_time deadlines[] = {csched_now() + 60000 * MS, CSCHED_FOREVER};
  for (int i = 0; i < 2; i++) {
    probe probe;
    probe_init(&probe, NULL, NULL);
    csched_target_submit_at(&slow.target, &probe.timer, deadlines[i], 0);
    CHECK_PROBE(&probe, 0, 1); // and released
  }
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// W8
TEST("a timer cancelled before it waits is released at once") { timer_cancel_on_its_way(); }

static void cancel_other(probe *probe) {
  struct probe *other = probe->context;
  CHECK_EQUAL(csched_timer_cancel(&other->timer), CSCHED_CANCEL_DROPPED);
  CHECK_PROBE(other, 0, 1);
}

static void timer_cancel_inside(void) {
  csched_thread *thread = start_thread("timers");
  probe later, canceller;
  probe_init(&later, NULL, NULL);
  probe_init(&canceller, cancel_other, &later);
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &later.timer, csched_now() + 60000 * MS, 0), 0);
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &canceller.timer, csched_now() + MS, 0), 0);
  CHECK_SOON(atomic_load(&canceller.releases) == 1);
  CHECK_PROBE(&later, 0, 1);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

TEST("a timer cancelled while it waits is released at once") { // LP4
  timer_cancel_outside();
  timer_cancel_inside();
}

enum { RACERS = 16 };

typedef struct racing {
  probe *probes;
  uint64_t seed;
  atomic_int won;
} racing;

static void cancel_timers(int index, void *context) {
  racing *test = context;
  uint64_t seed = test->seed + (uint64_t)index;
  for (int i = 0; i < RACERS; i++) {
    burn(chance_below(&seed, 20 * US));
    csched_cancel_result result =
        index % 2 == 0 ? csched_timer_cancel(&test->probes[i].timer) : csched_job_cancel(job_of(&test->probes[i]));
    if (result == CSCHED_CANCEL_DROPPED) atomic_fetch_add(&test->won, 1);
  }
}

static void timer_cancel_races(int rounds, uint64_t seed) {
  csched_thread *thread = start_thread("timers");
  probe probes[RACERS];
  for (int round = 0; round < rounds; round++) {
    racing test = {.probes = probes, .seed = seed + 100 * (uint64_t)round};
    csched_time start = csched_now();
    for (int i = 0; i < RACERS; i++) {
      probe_init(&probes[i], NULL, NULL);
      csched_time deadline = start + 50 * US + chance_below(&seed, 200 * US);
      CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &probes[i].timer, deadline, 0), 0);
    }
    crew_run(3, cancel_timers, &test);
    int drops = 0;
    for (int i = 0; i < RACERS; i++) {
      CHECK_SOON(atomic_load(&probes[i].releases) > 0);
      drops += atomic_load(&probes[i].drops);
      CHECK_PROBE(&probes[i], 1 - atomic_load(&probes[i].drops), atomic_load(&probes[i].drops));
    }
    CHECK_EQUAL(atomic_load(&test.won), drops);
  }
  stop_and_join(thread, CSCHED_STOP_RUN);
}

TEST("a timer cancelled while it becomes due is run or dropped once") { timer_cancel_races(times(500), seed()); }

static void rearm(probe *probe) {
  csched_thread *thread = probe->context;
  csched_target_submit_at(csched_thread_target(thread), &probe->timer, csched_now() + 30 * US, 0);
}

static void timer_rearmed_and_cancelled(int rounds) {
  csched_thread *thread = start_thread("timers");
  for (int i = 0; i < rounds; i++) {
    probe probe;
    probe_init(&probe, rearm, thread);
    CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &probe.timer, csched_now() + 10 * US, 0), 0);
    burn(100 * US);
    WAIT_WHILE(csched_timer_cancel(&probe.timer) != CSCHED_CANCEL_DROPPED); // until it is caught between two runs
    CHECK_SOON(atomic_load(&probe.releases) == 1);
    CHECK_EQUAL(atomic_load(&probe.drops), 1);
  }
  stop_and_join(thread, CSCHED_STOP_RUN);
}

TEST("a timer that submits itself again can be cancelled from outside") { timer_rearmed_and_cancelled(times(1000)); }

static void timer_earlier_wakes(void) {
  csched_thread *thread = start_thread("timers");
  probe late, early;
  probe_init(&late, NULL, NULL);
  probe_init(&early, NULL, NULL);
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &late.timer, csched_now() + 60000 * MS, 0), 0);
  nap(2 * MS); // it sleeps until then
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &early.timer, csched_now() + 2 * MS, 0), 0);
  CHECK_SOON(atomic_load(&early.releases) == 1);
  CHECK(early.ran_at >= early.timer.deadline);
  stop_and_join(thread, CSCHED_STOP_RUN);
  CHECK_PROBE(&late, 0, 1);
}

TEST("an earlier timer wakes a loop that sleeps for a later one") { timer_earlier_wakes(); }
