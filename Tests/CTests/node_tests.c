#include "task_testing.h"

#include "../../Sources/CScheduler/job/node.h"

#include <CScheduler/virtual.h>

#include <setjmp.h>

// A node that counts in a record, and is gone when it has.
typedef struct counted {
  csched_node node;
  record *record;
  int order;
  csched_target *target;
} counted;

static record *take_record(csched_node *node) {
  counted *counted = (struct counted *)node;
  record *record = counted->record;
  free(counted); // the memory is the callee's
  return record;
}

static void run_counted(csched_node *node) {
  CHECK(csched_target_current() == ((counted *)node)->target);
  CHECK_EQUAL(atomic_load(&((counted *)node)->record->runs), ((counted *)node)->order);
  count_run(take_record(node));
}

static void drop_counted(csched_node *node, csched_drop_reason reason) { count_drop(take_record(node), reason); }

static const csched_node_type counting = {run_counted, drop_counted, CSCHED_NODE};

static int submit(csched_target *target, record *record, int order) {
  counted *made = malloc(sizeof *made);
  *made = (counted){.node.type = &counting, .record = record, .order = order, .target = target};
  return csched_target_submit_node(target, &made->node);
}

static void node_once(int rounds) {
  places made = make_places();
  record ran[PLACES] = {{0}}, refused[PLACES] = {{0}};
  for (int i = 0; i < PLACES; i++) {
    bool keeps_order = i != 1; // the pool's does not
    for (int j = 0; j < rounds; j++) {
      CHECK_EQUAL(submit(made.targets[i], &ran[i], j), 0);
      if (!keeps_order) CHECK_SOON(atomic_load(&ran[i].runs) == j + 1);
    }
    CHECK_SOON(atomic_load(&ran[i].runs) == rounds);
  }
  csched_thread_stop(made.thread, CSCHED_STOP_RUN);
  csched_thread_join(made.thread);
  csched_pool_stop(made.pool, CSCHED_STOP_RUN);
  csched_pool_join(made.pool);
  for (int i = 0; i < PLACES; i++) {
    CHECK_EQUAL(submit(made.targets[i], &refused[i], 0), ECANCELED);
    CHECK(atomic_load(&refused[i].drops) == 1 && atomic_load(&refused[i].reason) == CSCHED_DROP_REFUSED);
    CHECK(atomic_load(&ran[i].drops) == 0 && atomic_load(&refused[i].runs) == 0);
  }
  end_places(&made, CSCHED_STOP_RUN);
}

static void node_dropped(int rounds) {
  csched_thread *thread = start_thread("nodes");
  csched_loop *loop;
  csched_virtual *timeline;
  csched_serial *serial;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  CHECK_EQUAL(csched_virtual_create(&timeline, 0, 0), 0);
  CHECK_EQUAL(csched_serial_create(&serial, csched_thread_target(thread)), 0);
  record on_thread = {0}, on_loop = {0}, in_virtual = {0}, on_serial = {0};
  gate gate;
  gate_close(&gate, thread);
  for (int i = 0; i < rounds; i++) {
    submit(csched_thread_target(thread), &on_thread, 0);
    submit(csched_loop_target(loop), &on_loop, 0);
    submit(csched_virtual_target(timeline), &in_virtual, 0);
    submit(csched_serial_target(serial), &on_serial, 0);
  }
  csched_thread_stop(thread, CSCHED_STOP_DROP);
  gate_open(&gate);
  csched_thread_join(thread);
  csched_loop_destroy(loop);
  csched_virtual_destroy(timeline);
  csched_serial_destroy(serial);
  csched_thread_destroy(thread);
  record *records[] = {&on_thread, &on_loop, &in_virtual, &on_serial};
  for (int i = 0; i < 4; i++) {
    CHECK_SOON(atomic_load(&records[i]->drops) == rounds);
    CHECK(atomic_load(&records[i]->reason) == CSCHED_DROP_STOPPED && atomic_load(&records[i]->runs) == 0);
  }
}

static void node_virtual(int rounds) {
  csched_virtual *timeline;
  record ran = {0};
  CHECK_EQUAL(csched_virtual_create(&timeline, 0, 0), 0);
  for (int i = 0; i < rounds; i++) submit(csched_virtual_target(timeline), &ran, i);
  csched_virtual_run(timeline);
  CHECK_EQUAL(atomic_load(&ran.runs), rounds);
  csched_virtual_destroy(timeline);
}

TEST("a node runs or is dropped, once") { // J10
  node_once(times(200));
  node_dropped(times(200));
  node_virtual(times(200));
}

// A node that submits itself `left` more times.
typedef struct again {
  csched_node node;
  csched_target *target;
  int left;
  atomic_bool has_ended;
} again;

static void run_again(csched_node *node) {
  again *again = (struct again *)node;
  if (again->left-- > 0) csched_target_submit_node(again->target, node);
  else atomic_store(&again->has_ended, true);
}

static void drop_never(csched_node *node, csched_drop_reason reason) {
  (void)node, (void)reason;
  CHECK(false);
}

static void node_again(int rounds) {
  static const csched_node_type type = {run_again, drop_never, CSCHED_NODE};
  places made = make_places();
  for (int i = 0; i < PLACES; i++) {
    again node = {.node.type = &type, .target = made.targets[i], .left = rounds};
    CHECK_EQUAL(csched_target_submit_node(node.target, &node.node), 0);
    CHECK_SOON(atomic_load(&node.has_ended));
  }
  end_places(&made, CSCHED_STOP_RUN);
}

TEST("a node may submit itself again") { node_again(times(1000)); }

// A node whose run is unwound.
typedef struct left {
  csched_node node;
  jmp_buf *out;
} left;

static void leave(csched_node *node) { longjmp(*((left *)node)->out, 1); }

static void node_left(void) {
  static const csched_node_type type = {leave, drop_never, CSCHED_NODE};
  csched_loop *loop;
  record ran = {0};
  jmp_buf out;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  left node = {.node.type = &type, .out = &out};
  CHECK_EQUAL(csched_target_submit_node(csched_loop_target(loop), &node.node), 0);
  CHECK_EQUAL(submit(csched_loop_target(loop), &ran, 0), 0);
  if (setjmp(out) == 0) {
    csched_loop_run_ready(loop, 1);
    CHECK(false);
  }
  CHECK(csched_target_current() == NULL);
  csched_loop_run_ready(loop, 1);
  CHECK_EQUAL(atomic_load(&ran.runs), 1);
  csched_loop_destroy(loop);
}

TEST("a loop continues when a node is left by longjmp") { node_left(); }

TEST_STOPS("an invalid node stops the process", "csched_target_submit_node:", "its `kind` must be CSCHED_NODE") {
  static const csched_node_type type = {run_again, drop_never, 0};
  csched_node node = {.type = &type};
  csched_target_submit_node(csched_loop_target(csched_main_loop()), &node);
}
