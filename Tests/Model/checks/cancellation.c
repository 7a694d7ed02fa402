// cancellation.c: CN1 to CN6.

#include "../engine/model.h"

#include <CScheduler/cancellation.h>

#include <stdlib.h>

// A tree: the root, `under` below it, and `leaf` below that.
enum { ROOT, UNDER, LEAF, NODES };
static csched_cancellation *nodes[NODES];
static int gone[NODES];
static model_cell before; // the cancel

// Handlers, each in memory of its own, which its release frees.
typedef struct handler {
  csched_cancel_handler handler;
  int id;
} handler;
enum { HANDLERS = 3 };
static handler *handlers[HANDLERS];
static int calls[HANDLERS], releases[HANDLERS], order[HANDLERS], called;
static model_cell used[HANDLERS]; // by the call of each

static int which(const csched_cancellation *cancellation) {
  int i = 0;
  while (nodes[i] != cancellation) i++;
  return i;
}

static void go(csched_cancellation *cancellation) {
  int i = which(cancellation);
  gone[i]++;
  free(cancellation);
}

static void call(csched_cancel_handler *it) {
  int id = ((handler *)it)->id;
  model_assert(model_read(&before) == 1);
  model_write(&used[id], 1);
  calls[id]++;
  order[called++] = id;
}

static void release(csched_cancel_handler *it) {
  int id = ((handler *)it)->id;
  releases[id]++;
  free(it);
}

static void make(int node, int parent) {
  nodes[node] = calloc(1, sizeof *nodes[node]);
  model_assert(csched_cancellation_init(nodes[node], parent < 0 ? NULL : nodes[parent], go));
}

static void start(int count) {
  before = (model_cell){0};
  called = 0;
  for (int i = 0; i < HANDLERS; i++) {
    handlers[i] = calloc(1, sizeof *handlers[i]);
    *handlers[i] = (handler){{.call = call, .release = release}, i};
    calls[i] = releases[i] = 0;
    used[i] = (model_cell){0};
  }
  for (int i = 0; i < NODES; i++) gone[i] = 0;
  for (int i = 0; i < count; i++) make(i, i - 1);
}

static bool add(int node, int id) { return csched_cancellation_add(nodes[node], &handlers[id]->handler); }

static void cancel(void *node) {
  model_write(&before, 1);
  csched_cancellation_cancel(nodes[(intptr_t)node]);
}

static void end(void *node) { csched_cancellation_end(nodes[(intptr_t)node]); }

// Frees the handlers that were not added.
static void over(int nodes_made, int added) {
  for (int i = 0; i < nodes_made; i++) model_assert(gone[i] == 1);
  for (int i = 0; i < added; i++) model_assert(releases[i] == 1 && calls[i] <= 1);
  for (int i = added; i < HANDLERS; i++) free(handlers[i]);
}

// MARK: memory that more than one thread uses

static uint32_t users;
static void go_when_unused(csched_cancellation *cancellation) {
  gone[which(cancellation)]++;
  if (csched_fetch_add_acq_rel(&users, UINT32_MAX) == 1) free(cancellation);
}
static void leave(int node) {
  if (csched_fetch_add_acq_rel(&users, UINT32_MAX) == 1) free(nodes[node]);
}
static void cancel_and_leave(void *unused) {
  (void)unused;
  cancel((void *)ROOT);
  leave(ROOT);
}
static void start_shared(unsigned of_users) {
  start(1);
  nodes[ROOT]->gone_ = go_when_unused;
  users = of_users;
}
static void share_by_two(void) { start_shared(2); }
static void share_by_three(void) { start_shared(3); }

// MARK: handlers

// It is used until it is taken back; and then what its call uses goes.
static void use(void *unused) {
  (void)unused;
  model_assert(add(ROOT, 0) || csched_cancellation_is_cancelled(nodes[ROOT]));
  (void)add(ROOT, 1);
  csched_cancel_handler *handler = &handlers[0]->handler;
  (void)csched_cancellation_remove_and_wait(handler);
  model_write(&used[0], 2); // CN6: no call is under way
  csched_cancellation_end(nodes[ROOT]);
}
static void keep(csched_cancel_handler *it) { releases[((handler *)it)->id]++; }
static void taken_back(void) {
  start_shared(2);
  for (int i = 0; i < 2; i++) handlers[i]->handler.release = keep; // the waiter owns the memory
  model_spawn(use, NULL);
  model_spawn(cancel_and_leave, NULL);
}
static void over_kept(void) {
  model_assert(calls[0] <= 1 && calls[1] <= 1 && releases[0] == 1 && releases[1] == 1);
  model_assert(used[0].value == 2 && gone[ROOT] == 1);
  for (int i = 0; i < HANDLERS; i++) free(handlers[i]);
}

// Two calls, on two threads: the end of one is not the end of the other, for which a thread waits.
static void add_second(void *unused) {
  (void)unused;
  (void)add(ROOT, 1);
  leave(ROOT);
}
static void take_back_first(void *unused) {
  (void)unused;
  (void)csched_cancellation_remove_and_wait(&handlers[0]->handler);
  model_write(&used[0], 2); // CN6: its call is not under way
  csched_cancellation_end(nodes[ROOT]);
}
static void two_calls(void) {
  start_shared(3);
  for (int i = 0; i < 2; i++) handlers[i]->handler.release = keep;
  (void)add(ROOT, 0);
  model_spawn(cancel_and_leave, NULL);
  model_spawn(add_second, NULL);
  model_spawn(take_back_first, NULL);
}

static void add_and_end(void *unused) {
  (void)unused;
  for (int i = 0; i < HANDLERS; i++) (void)add(ROOT, i);
  csched_cancellation_end(nodes[ROOT]);
}
static void all_added(void) { over(1, HANDLERS); }

// Two threads cancel. A thread that sees the cancel sees the writes before it.
static void look(void *unused) {
  (void)unused;
  if (csched_cancellation_is_cancelled(nodes[ROOT])) model_assert(model_read(&before) == 1);
  leave(ROOT);
}
static void cancel_only(void *unused) {
  (void)unused;
  csched_cancellation_cancel(nodes[ROOT]);
  csched_cancellation_end(nodes[ROOT]);
}
static void seen(void) {
  start_shared(3);
  for (int i = 0; i < HANDLERS; i++) (void)add(ROOT, i);
  model_spawn(look, NULL);
  model_spawn(cancel_and_leave, NULL);
}
static void called_in_order(void) {
  model_assert(called == HANDLERS && csched_cancellation_is_cancelled(nodes[ROOT]));
  for (int i = 0; i < called; i++) model_assert(order[i] == i);
  csched_cancellation_end(nodes[ROOT]);
  all_added();
}
static void cancel_again(void *unused) {
  (void)unused;
  csched_cancellation_cancel(nodes[ROOT]);
  leave(ROOT);
}
static void twice(void) {
  start_shared(2);
  model_write(&before, 1);
  for (int i = 0; i < HANDLERS; i++) (void)add(ROOT, i);
  model_spawn(cancel_only, NULL);
  model_spawn(cancel_again, NULL);
}

// It has ended: a handler that comes is released, and not called.
static void add_late(void *unused) {
  (void)unused;
  (void)add(ROOT, 0);
  leave(ROOT);
}
static void one_added(void) { over(1, 1); }

// MARK: the tree

// A child that is added beside a cancel is cancelled in either order, and so are its own children.
static void go_on_below(void *unused) {
  (void)unused;
  make(UNDER, ROOT);
  make(LEAF, UNDER);
  (void)add(LEAF, 0);
  csched_cancellation_end(nodes[ROOT]);
  leave(ROOT);
}
static void all_cancelled(void) {
  model_assert(csched_cancellation_is_cancelled(nodes[UNDER]) && csched_cancellation_is_cancelled(nodes[LEAF]));
  model_assert(calls[0] == 1 && gone[LEAF] == 0);
  csched_cancellation_end(nodes[LEAF]);
  csched_cancellation_end(nodes[UNDER]);
  over(NODES, 1);
}

// All nodes end, in turn or at the same time, beside a cancel of the root, whose memory is kept.
static void end_two(void *unused) {
  (void)unused;
  csched_cancellation_end(nodes[UNDER]);
  csched_cancellation_end(nodes[ROOT]);
}
static void end_beside_cancel(void) {
  start(NODES);
  nodes[ROOT]->gone_ = go_when_unused;
  users = 2;
  (void)add(UNDER, 0);
  (void)add(LEAF, 1);
  model_spawn(end_two, NULL);
  model_spawn(end, (void *)LEAF);
  model_spawn(cancel_and_leave, NULL);
}
static void two_added(void) { over(NODES, 2); }

// The cancel of a child includes neither its parent nor its sibling.
static void cancel_under(void *unused) {
  (void)unused;
  cancel((void *)UNDER);
  csched_cancellation_end(nodes[UNDER]);
}
static void end_leaf(void *unused) {
  (void)unused;
  model_assert(!csched_cancellation_is_cancelled(nodes[LEAF]));
  csched_cancellation_end(nodes[LEAF]);
}
static void alone(void) {
  start(UNDER + 1);
  make(LEAF, ROOT);
  (void)add(UNDER, 0);
  (void)add(LEAF, 1);
  model_spawn(cancel_under, NULL);
  model_spawn(end_leaf, NULL);
}
static void under_only(void) {
  model_assert(calls[0] == 1 && calls[1] == 0 && !csched_cancellation_is_cancelled(nodes[ROOT]));
  model_assert(gone[UNDER] == 1 && gone[LEAF] == 1 && gone[ROOT] == 0);
  csched_cancellation_end(nodes[ROOT]);
  two_added();
}

// A handler ends the whole tree: the cancel reads none of the nodes again.
static void end_in_call(csched_cancel_handler *it) {
  call(it);
  csched_cancellation_end(nodes[LEAF]);
  csched_cancellation_end(nodes[UNDER]);
  csched_cancellation_end(nodes[ROOT]);
}
static void look_around(csched_cancellation *cancellation, void *count) {
  (void)cancellation;
  ++*(int *)count;
}
static void end_inside(void *unused) {
  (void)unused;
  int count = 0;
  csched_cancellation_visit_(nodes[ROOT], look_around, &count);
  model_assert(count == NODES);
  cancel((void *)ROOT);
}
static void inside(void) {
  start(NODES);
  handlers[0]->handler.call = end_in_call;
  for (int i = 0; i < HANDLERS; i++) (void)add(i, i);
  model_spawn(end_inside, NULL);
}
static void first_only(void) {
  model_assert(called == 1);
  over(NODES, HANDLERS);
}

// A removed parent whose memory is kept may get a child. The parent is not removed a second time.
static void below_gone(void *unused) {
  (void)unused;
  nodes[UNDER] = calloc(1, sizeof *nodes[UNDER]);
  bool is_held = csched_cancellation_init(nodes[UNDER], nodes[ROOT], go);
  model_assert(is_held || gone[ROOT] <= 1); // it may be on its way
  csched_cancellation_end(nodes[UNDER]);
  leave(ROOT);
}
static void both_gone(void) { over(2, 0); }

const model_check cancellation_checks[] = {
    {"cancellation: a handler taken back beside a cancel", taken_back, over_kept},    // CN1, CN5, CN6
    {"cancellation: a call that is waited for beside another", two_calls, over_kept}, // CN1, CN5, CN6
    {"cancellation: an end beside a cancel", share_by_two, all_added,
     THREADS({add_and_end}, {cancel_and_leave})},                    // CN1, CN3, CN5
    {"cancellation: seen by another thread", seen, called_in_order}, // CN1, CN3
    {"cancellation: two threads cancel", twice, all_added},          // CN1, CN3
    {"cancellation: a handler added beside the end", share_by_three, one_added,
     THREADS({end, ROOT}, {add_late}, {cancel_and_leave})}, // CN1, CN5
    {"cancellation: a child added beside a cancel", share_by_three, all_cancelled,
     THREADS({go_on_below}, {cancel_and_leave})},                                  // CN2
    {"cancellation: a tree ends beside its cancel", end_beside_cancel, two_added}, // CN3, CN4
    {"cancellation: one of two children is cancelled alone", alone, under_only},   // CN2, CN4
    {"cancellation: a handler ends the whole tree", inside, first_only},           // CN1, CN4, CN5
    {"cancellation: a removed parent gets a child", share_by_three, both_gone,
     THREADS({end, ROOT}, {below_gone}, {cancel_and_leave})}, // CN4
    {NULL, NULL, NULL},
};
