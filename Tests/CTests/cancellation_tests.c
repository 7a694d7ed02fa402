#include "fork_testing.h"

typedef struct called {
  csched_cancel_handler handler;
  journal *journal;
  void (*body)(struct called *);
  void *context;
  int id;
  atomic_int calls, releases;
} called;

static void call(csched_cancel_handler *handler) {
  called *called = (struct called *)handler;
  atomic_fetch_add(&called->calls, 1);
  if (called->journal != NULL) journal_add(called->journal, called->id);
  if (called->body != NULL) called->body(called);
}
static void release(csched_cancel_handler *handler) { atomic_fetch_add(&((called *)handler)->releases, 1); }

static void called_init(called *it, int id, journal *journal, void (*body)(called *), void *context) {
  *it = (called){.handler = {.call = call, .release = release}, .journal = journal, .body = body, .id = id};
  it->context = context;
}

static atomic_int gone;
static void count_gone(csched_cancellation *unused) { (void)unused, atomic_fetch_add(&gone, 1); }

// MARK: a tree, and its handlers

static void add_late(called *it) { // inside of a cancel: at once, here
  called *late = it->context;
  CHECK(!csched_cancellation_add(it->handler.cancellation_, &late->handler));
}

static void cancellation_order(void) {
  atomic_store(&gone, 0);
  journal journal = {0};
  csched_cancellation root, first, second, below;
  called handlers[7];
  for (int i = 0; i < 7; i++) called_init(&handlers[i], i, &journal, NULL, NULL);
  CHECK(csched_cancellation_init(&root, NULL, count_gone));
  CHECK(csched_cancellation_init(&first, &root, count_gone));
  CHECK(csched_cancellation_init(&second, &root, count_gone));
  CHECK(csched_cancellation_init(&below, &first, count_gone));
  CHECK(csched_cancellation_add(&second, &handlers[4].handler));
  CHECK(csched_cancellation_add(&below, &handlers[3].handler));
  CHECK(csched_cancellation_add(&first, &handlers[2].handler));
  CHECK(csched_cancellation_add(&root, &handlers[0].handler));
  CHECK(csched_cancellation_add(&root, &handlers[1].handler));
  CHECK(csched_cancellation_add(&root, &handlers[5].handler));
  CHECK(csched_cancellation_remove(&handlers[5].handler));
  CHECK(!csched_cancellation_remove(&handlers[5].handler));
  handlers[2].body = add_late;
  handlers[2].context = &handlers[6];
  csched_cancellation_end(&first); // releases its handler; the parent stays for its children
  CHECK_EQUAL(atomic_load(&handlers[2].releases), 1);
  CHECK_EQUAL(atomic_load(&gone), 0);
  handlers[3].body = add_late;
  handlers[3].context = &handlers[6];
  csched_cancellation_cancel(&root);
  csched_cancellation_cancel(&root);
  CHECK_JOURNAL(&journal, "0,1,3,6,4");
  for (int i = 0; i < 7; i++) CHECK_EQUAL(atomic_load(&handlers[i].releases), 1);
  CHECK(csched_cancellation_is_cancelled(&below) && csched_cancellation_is_cancelled(&second));

  csched_cancellation late;
  CHECK(csched_cancellation_init(&late, &below, count_gone));
  CHECK(csched_cancellation_is_cancelled(&late));
  csched_cancellation *all[] = {&late, &below, &root, &second};
  for (int i = 0; i < 4; i++) csched_cancellation_end(all[i]);
  CHECK_EQUAL(atomic_load(&gone), 5);
  called_init(&handlers[0], 0, &journal, NULL, NULL);
  CHECK(!csched_cancellation_add(&root, &handlers[0].handler)); // it has ended
  CHECK(atomic_load(&handlers[0].calls) == 0 && atomic_load(&handlers[0].releases) == 1);
}

// CN1, CN2, CN3, CN5
TEST("a cancelled tree calls its handlers in order, once") { cancellation_order(); }

// MARK: taking back

typedef struct work {
  csched_cancellation cancellation;
  called handler;
  atomic_int is_open, was_closed, rounds;
} work;

static void use(called *it) {
  work *work = it->context;
  if (!atomic_load(&work->is_open)) atomic_store(&work->was_closed, 1);
  if (it->id % 16 == 0) nap(50 * US);
  csched_cancellation_remove_and_wait(&it->handler); // inside of its own call it does not wait
  if (!atomic_load(&work->is_open)) atomic_store(&work->was_closed, 1);
}

static void cancel_or_end(int index, void *context) {
  work *work = context;
  if (index == 0) {
    csched_cancellation_cancel(&work->cancellation);
    return;
  }
  csched_cancellation_remove_and_wait(&work->handler.handler);
  atomic_store(&work->is_open, 0);
}

static void cancellation_taken_back(int rounds) {
  work work = {.is_open = 1};
  int calls = 0;
  for (int i = 0; i < rounds; i++) {
    csched_cancellation_init(&work.cancellation, NULL, NULL);
    called_init(&work.handler, i, NULL, use, &work);
    atomic_store(&work.is_open, 1);
    CHECK(csched_cancellation_add(&work.cancellation, &work.handler.handler));
    crew_run(3, cancel_or_end, &work);
    csched_cancellation_end(&work.cancellation);
    CHECK_EQUAL(atomic_load(&work.handler.releases), 1);
    calls += atomic_load(&work.handler.calls);
  }
  CHECK_EQUAL(atomic_load(&work.was_closed), 0);
  CHECK(calls <= rounds);
}

// CN1, CN6
TEST("a handler that is taken back is not called, and its call is waited for") { cancellation_taken_back(times(2000)); }

// MARK: a tree under many threads

enum { BRANCHES = 4, LEAVES = 50 };
typedef struct forest {
  csched_cancellation root, branches[BRANCHES], leaves[BRANCHES][LEAVES];
  called handlers[BRANCHES][LEAVES];
  atomic_int missed;
} forest;

static void grow(int index, void *context) {
  forest *forest = context;
  if (index == BRANCHES) {
    csched_cancellation_cancel(&forest->root);
    return;
  }
  csched_cancellation *branch = &forest->branches[index];
  csched_cancellation_init(branch, &forest->root, count_gone);
  for (int i = 0; i < LEAVES; i++) {
    csched_cancellation *leaf = &forest->leaves[index][i];
    called *handler = &forest->handlers[index][i];
    csched_cancellation_init(leaf, branch, count_gone);
    called_init(handler, i, NULL, NULL, NULL);
    bool was = csched_cancellation_is_cancelled(leaf), waits = csched_cancellation_add(leaf, &handler->handler);
    if (was && (waits || atomic_load(&handler->calls) == 0)) atomic_store(&forest->missed, 1);
    if (i % 2 != 0) csched_cancellation_end(leaf);
  }
  csched_cancellation_end(branch);
}

static void cancellation_grows(int rounds) {
  forest *forest = calloc(1, sizeof *forest);
  for (int round = 0; round < rounds; round++) {
    atomic_store(&gone, 0);
    csched_cancellation_init(&forest->root, NULL, count_gone);
    crew_run(BRANCHES + 1, grow, forest);
    for (int i = 0; i < BRANCHES; i++)
      for (int leaf = 0; leaf < LEAVES; leaf += 2) {
        CHECK(csched_cancellation_is_cancelled(&forest->leaves[i][leaf]));
        CHECK_EQUAL(atomic_load(&forest->handlers[i][leaf].calls), 1);
        csched_cancellation_end(&forest->leaves[i][leaf]);
      }
    CHECK_EQUAL(atomic_load(&gone), BRANCHES * (LEAVES + 1));
    csched_cancellation_end(&forest->root);
    CHECK_EQUAL(atomic_load(&gone), BRANCHES * (LEAVES + 1) + 1);
    for (int i = 0; i < BRANCHES; i++)
      for (int leaf = 0; leaf < LEAVES; leaf++) CHECK_EQUAL(atomic_load(&forest->handlers[i][leaf].releases), 1);
  }
  CHECK_EQUAL(atomic_load(&forest->missed), 0);
  free(forest);
}

// CN2, CN4, CN5
TEST("a cancellation is gone when it and all its descendants have ended") { cancellation_grows(times(200)); }

static void end_another(called *it) { csched_cancellation_end(it->context); }

static void wipe(csched_cancellation *cancellation) {
  memset(cancellation, 0xA5, sizeof *cancellation); // no call may read it again
  atomic_fetch_add(&gone, 1);
}

static void cancellation_ends_inside(void) {
  atomic_store(&gone, 0);
  csched_cancellation root, below;
  called first, second;
  csched_cancellation_init(&root, NULL, count_gone);
  csched_cancellation_init(&below, &root, wipe);
  called_init(&first, 0, NULL, end_another, &below);
  called_init(&second, 1, NULL, NULL, NULL);
  CHECK(csched_cancellation_add(&root, &first.handler));
  CHECK(csched_cancellation_add(&below, &second.handler));
  csched_cancellation_cancel(&root); // which was about to come to `below`
  CHECK(atomic_load(&first.calls) == 1 && atomic_load(&second.calls) == 0);
  CHECK(atomic_load(&second.releases) == 1 && atomic_load(&gone) == 1);
  csched_cancellation_end(&root);
  CHECK_EQUAL(atomic_load(&gone), 2);
}

// CN1, CN4
TEST("a cancellation that a handler ends is gone before the cancel reaches it") { cancellation_ends_inside(); }

static void cancellation_deep(int depth) {
  atomic_store(&gone, 0);
  csched_cancellation *all = calloc((size_t)depth, sizeof *all);
  called handler;
  called_init(&handler, 0, NULL, NULL, NULL);
  for (int i = 0; i < depth; i++) csched_cancellation_init(&all[i], i == 0 ? NULL : &all[i - 1], count_gone);
  CHECK(csched_cancellation_add(&all[depth - 1], &handler.handler));
  for (int i = 0; i < depth - 1; i++) csched_cancellation_end(&all[i]);
  CHECK_EQUAL(atomic_load(&gone), 0);
  csched_cancellation_cancel(&all[0]);
  CHECK_EQUAL(atomic_load(&handler.calls), 1);
  csched_cancellation_end(&all[depth - 1]);
  CHECK_EQUAL(atomic_load(&gone), depth);
  free(all);
}

// CN3, CN4
TEST("a tree of any depth is cancelled, and goes, without a stack of that depth") { cancellation_deep(times(1000000)); }

// MARK: forks

typedef struct forked {
  csched_cancellation cancellation;
  called first, second, own;
  atomic_int reached, open;
} forked;

static void stand(called *it) {
  forked *forked = it->context;
  atomic_store(&forked->reached, 1);
  while (!atomic_load(&forked->open)) nap(MS);
}

static void cancel_it(int index, void *context) {
  (void)index;
  csched_cancellation_cancel(&((forked *)context)->cancellation);
}

// In the child: a handler call of the parent's other thread counts as returned. Handlers that it had not yet called are
// not called.
static void continue_cancel(void *context) {
  forked *forked = context;
  CHECK(csched_cancellation_is_cancelled(&forked->cancellation));
  CHECK(!csched_cancellation_remove_and_wait(&forked->first.handler));
  csched_cancellation_cancel(&forked->cancellation);
  CHECK_EQUAL(atomic_load(&forked->second.calls), 0);
  csched_cancellation_add(&forked->cancellation, &forked->own.handler);
  CHECK_EQUAL(atomic_load(&forked->own.calls), 1);
  csched_cancellation_end(&forked->cancellation);
  CHECK_EQUAL(atomic_load(&forked->second.releases), 1);
}

// A handler that forks continues in both processes.
static void continue_cancel_inside(void *context) {
  forked *forked = context;
  CHECK(!csched_cancellation_remove_and_wait(&forked->first.handler));
  CHECK_EQUAL(atomic_load(&forked->first.calls), 1);
}
static void fork_in_call(called *it) { CHECK_CHILD(continue_cancel_inside, it->context); }

static void cancellation_fork(void) {
  forked forked = {0};
  csched_cancellation_init(&forked.cancellation, NULL, NULL);
  called_init(&forked.first, 0, NULL, stand, &forked);
  called_init(&forked.second, 1, NULL, NULL, NULL);
  called_init(&forked.own, 2, NULL, NULL, NULL);
  csched_cancellation_add(&forked.cancellation, &forked.first.handler);
  csched_cancellation_add(&forked.cancellation, &forked.second.handler);
  crew crew;
  crew_start(&crew, 1, cancel_it, &forked);
  CHECK_SOON(atomic_load(&forked.reached));
  CHECK_CHILD(continue_cancel, &forked);
  atomic_store(&forked.open, 1);
  crew_join(&crew);
  CHECK_EQUAL(atomic_load(&forked.second.calls), 1);
  csched_cancellation_end(&forked.cancellation);

  csched_cancellation_init(&forked.cancellation, NULL, NULL);
  called_init(&forked.first, 0, NULL, fork_in_call, &forked);
  csched_cancellation_add(&forked.cancellation, &forked.first.handler);
  csched_cancellation_cancel(&forked.cancellation);
  CHECK_EQUAL(atomic_load(&forked.first.releases), 1);
  csched_cancellation_end(&forked.cancellation);
}

TEST_UNLESS(THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND, "tools do not follow a process with threads into its child",
            "after fork a cancellation is cancelled, and no handler runs") { // CN7
  cancellation_fork();
}
