#include "testing.h"

#include <setjmp.h>

typedef struct actions {
  journal journal;
  probe probes[16];
  csched_trampoline_frame frames[4];
  jmp_buf back;
} actions;

static void prepare(actions *test, int id, void (*body)(probe *)) {
  probe_init(&test->probes[id], body, test);
  test->probes[id].id = id;
}

static void submit(actions *test, int id, void (*body)(probe *)) {
  prepare(test, id, body);
  csched_trampoline_run(job_of(&test->probes[id]));
}

static void log_it(probe *probe) {
  actions *test = probe->context;
  journal_add(&test->journal, probe->id);
}

// MARK: order

static void order_third(probe *probe) {
  log_it(probe);
  submit(probe->context, 5, log_it);
}

static void order_first(probe *probe) {
  actions *test = probe->context;
  CHECK(!csched_trampoline_is_required());
  log_it(probe);
  submit(test, 3, order_third);
  submit(test, 4, log_it);
  journal_add(&test->journal, 2); // the action ends before its submissions run
}

static void trampoline_order(void) {
  actions test = {0};
  for (int i = 0; i < 3; i++) { // repeated: no job remains
    test.journal = (journal){0};
    CHECK(csched_trampoline_is_required());
    submit(&test, 1, order_first);
    CHECK_JOURNAL(&test.journal, "1,2,3,4,5");
    CHECK_PROBE(&test.probes[5], 1, 0);
    CHECK(csched_trampoline_is_required());
  }
}

// TP1, TP3
TEST("first runs at once, the rest in order") { trampoline_order(); }

static void cancel_second(probe *probe) {
  actions *test = probe->context;
  log_it(probe);
  submit(test, 2, log_it);
  submit(test, 3, log_it);
  CHECK_EQUAL(csched_job_cancel(job_of(&test->probes[2])), CSCHED_CANCEL_DROPPED);
  CHECK_EQUAL(atomic_load(&test->probes[2].drops), 1); // its context is released
}

static void trampoline_cancelled(void) {
  actions test = {0};
  submit(&test, 1, cancel_second);
  CHECK_JOURNAL(&test.journal, "1,3");
  CHECK_PROBE(&test.probes[2], 0, 1);
}

TEST("a job cancelled before its turn never runs") { trampoline_cancelled(); }

// MARK: threads

static void submit_slowly(probe *probe) {
  actions *test = probe->context;
  log_it(probe);
  submit(test, 2, log_it);
  sched_yield();
  submit(test, 3, log_it);
}

static void be_independent(int index, void *context) {
  int rounds = *(int *)context;
  (void)index;
  for (int i = 0; i < rounds; i++) {
    actions test = {0};
    CHECK(csched_trampoline_is_required()); // whatever the other thread is doing
    submit(&test, 1, submit_slowly);
    CHECK_JOURNAL(&test.journal, "1,2,3");
    for (int id = 1; id <= 3; id++) CHECK_EQUAL(test.probes[id].thread, ctest_thread_id());
  }
}

static void trampoline_two_threads(int rounds) { crew_run(2, be_independent, &rounds); }

TEST("two threads have independent trampolines") { trampoline_two_threads(times(1000)); }

static void submit_when_dropped(probe *probe) {
  actions *test = probe->context;
  submit(test, 5, log_it); // from the destructor: dropped too
}

static void exit_inside(probe *probe) {
  actions *test = probe->context;
  submit(test, 2, log_it);
  submit(test, 3, log_it);
  submit(test, 4, log_it);
  test->probes[3].on_drop = submit_when_dropped;
  pthread_exit(NULL);
}

static void leave_thread(int index, void *context) {
  actions *test = context;
  if (index == 1) { // opened and never closed
    CHECK(csched_trampoline_enter());
    submit(test + 1, 2, log_it);
    return;
  }
  submit(test, 1, exit_inside);
}

static void trampoline_thread_exit(bool inside_action) {
  static actions tests[2];
  memset(tests, 0, sizeof tests);
  crew crew;
  crew_start(&crew, inside_action ? 1 : 2, leave_thread, tests);
  crew_join(&crew);
  CHECK_EQUAL(atomic_load(&tests[0].journal.count), 0);
  for (int id = 2; id <= 5; id++) CHECK_PROBE(&tests[0].probes[id], 0, 1);
  if (!inside_action) CHECK_PROBE(&tests[1].probes[2], 0, 1);
  CHECK(csched_trampoline_is_required()); // this thread's own is untouched
}

TEST("the key's destructor drops the remaining work") { // TP4
  trampoline_thread_exit(true);
  trampoline_thread_exit(false);
}

// MARK: nested frames

static void submit_fifth(probe *probe) {
  log_it(probe);
  submit(probe->context, 5, log_it);
}

static void nest(probe *probe) {
  actions *test = probe->context;
  log_it(probe);
  submit(test, 2, log_it);
  submit(test, 3, log_it);
  csched_trampoline_push(&test->frames[0]);
  CHECK(!csched_trampoline_is_required());
  CHECK_EQUAL(csched_trampoline_drain(), 0); // fresh and empty: 2 and 3 wait below
  submit(test, 4, submit_fifth);
  CHECK_EQUAL(csched_trampoline_drain(), 2);
  submit(test, 6, log_it);
  csched_trampoline_pop(&test->frames[0]); // drains the remaining jobs
  journal_add(&test->journal, 7);
  submit(test, 8, log_it);
}

static void trampoline_nested(void) {
  actions test = {0};
  submit(&test, 1, nest);
  CHECK_JOURNAL(&test.journal, "1,4,5,6,7,2,3,8");
  CHECK(csched_trampoline_is_required());
}

// TP1, TP2
TEST("a nested frame leaves the outer jobs alone") { trampoline_nested(); }

static void wait_beside(probe *probe) {
  actions *test = probe->context;
  csched_trampoline_aside aside;
  log_it(probe);
  submit(test, 2, log_it);
  csched_trampoline_set_aside(&aside);
  CHECK(csched_trampoline_is_required());
  submit(test, 4, submit_fifth); // runs at once, and so does its own submission
  CHECK(csched_trampoline_is_required());
  csched_trampoline_put_back(&aside);
  CHECK(!csched_trampoline_is_required());
  journal_add(&test->journal, 7);
  submit(test, 8, log_it);
}

static void trampoline_aside(void) {
  actions test = {0};
  csched_trampoline_aside aside;
  for (int i = 0; i < 2; i++) { // repeated: no job remains
    test.journal = (journal){0};
    submit(&test, 1, wait_beside);
    CHECK_JOURNAL(&test.journal, "1,4,5,7,2,8");
    CHECK(csched_trampoline_is_required());
    csched_trampoline_set_aside(&aside); // outside of any action there is nothing to set aside
    csched_trampoline_put_back(&aside);
  }
}

// TP2
TEST("work beside a trampoline set aside runs at once, and the outer jobs wait") { trampoline_aside(); }

static void go_deeper(probe *probe) {
  actions *test = probe->context;
  int depth = probe->id;
  log_it(probe);
  submit(test, depth + 3, log_it); // waits in this frame
  if (depth == 3) return;
  csched_trampoline_push(&test->frames[depth]);
  submit(test, depth + 1, go_deeper);
  csched_trampoline_pop(&test->frames[depth]);
  journal_add(&test->journal, 10 * depth);
}

static void trampoline_three_deep(void) {
  actions test = {0};
  submit(&test, 1, go_deeper);
  CHECK_JOURNAL(&test.journal, "1,2,3,6,20,5,10,4");
  CHECK(csched_trampoline_is_required());
}

TEST("frames nest three deep") { trampoline_three_deep(); }

static void trampoline_push_outside(void) {
  actions test = {0};
  csched_trampoline_push(&test.frames[0]); // opens the trampoline
  CHECK(!csched_trampoline_is_required());
  submit(&test, 1, log_it);
  CHECK_EQUAL(atomic_load(&test.journal.count), 0);
  csched_trampoline_push(&test.frames[1]);
  submit(&test, 2, log_it);
  csched_trampoline_pop(&test.frames[1]);
  CHECK_JOURNAL(&test.journal, "2");
  csched_trampoline_pop(&test.frames[0]);
  CHECK_JOURNAL(&test.journal, "2,1");
  CHECK(csched_trampoline_is_required());
}

TEST("a frame pushed outside of any action opens the trampoline") { trampoline_push_outside(); }

// MARK: unwinding

static bool sets_aside;

static void jump_out(probe *probe) {
  actions *test = probe->context;
  csched_trampoline_aside aside;
  log_it(probe);
  submit(test, 2, log_it);
  if (sets_aside) csched_trampoline_set_aside(&aside); // and never puts it back
  longjmp(test->back, 1);
}

// One function both unwinds and submits, so that the caller sets the depth of the stack.
static CSCHED_NOINLINE void at_depth(actions *test, int depth, bool unwinds) {
  volatile char room[64];
  room[0] = (char)depth;
  if (depth > 0) at_depth(test, depth - 1, unwinds);
  else if (unwinds) submit(test, 1, jump_out);
  else submit(test, 3, log_it);
  room[1] = room[0];
}

typedef struct unwound {
  actions test; // outlives the unwound frames
  int first, then;
} unwound;

static void unwind(int index, void *context) {
  unwound *unwound = context;
  actions *test = &unwound->test;
  (void)index;
  for (int i = 0; i < 3; i++) {
    test->journal = (journal){0};
    if (setjmp(test->back) == 0) at_depth(test, unwound->first, true);
    at_depth(test, unwound->then, false);
    CHECK_JOURNAL(&test->journal, "1,3,2"); // the first runs at once, then the jobs of the unwound action
    CHECK(csched_trampoline_is_required());
    if (atomic_load(&test->journal.count) != 3) return;
  }
}

static void trampoline_unwound(int first_depth, int then_depth) {
  static unwound unwound;
  memset(&unwound, 0, sizeof unwound);
  unwound.first = first_depth;
  unwound.then = then_depth;
  crew_run(1, unwind, &unwound); // a thread of its own: what goes wrong ends with it
}

TEST("an unwound action leaves the trampoline usable") { // TP5
  trampoline_unwound(8, 0);
  trampoline_unwound(1, 0);
  trampoline_unwound(0, 0);
  sets_aside = true;
  trampoline_unwound(8, 0);
  trampoline_unwound(1, 0);
}

// MARK: enter and leave

static void trampoline_enter_leave(void) {
  actions test = {0};
  CHECK(csched_trampoline_enter());
  CHECK(!csched_trampoline_is_required());
  CHECK(!csched_trampoline_enter()); // is open
  submit(&test, 1, order_first);
  CHECK_EQUAL(atomic_load(&test.journal.count), 0);
  csched_trampoline_leave();
  CHECK_JOURNAL(&test.journal, "1,2,3,4,5");
  CHECK(csched_trampoline_is_required());
  CHECK_EQUAL(csched_trampoline_drain(), 0);
}

TEST("enter waits, and leave runs") { trampoline_enter_leave(); }

TEST_STOPS("a pop without a push stops the process", "csched_trampoline_pop:", "no frame was pushed") {
  csched_trampoline_frame frame = {0};
  csched_trampoline_pop(&frame);
}
