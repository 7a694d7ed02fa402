// dump_slots.c: DT1; serial.c: the name that a dump reads.

#include "../engine/model.h"

#include <string.h>

#include "../../../Sources/CScheduler/base/dump_slots.h"
#include "../../../Sources/CScheduler/diagnostics/dump_internal.h"

enum { NUMBER = 7 };

// Used in turn, so that the next schedule does not find the value of the last one.
static csched_frame *tops[2];
static int turn;
static csched_dump_slot *slot;

static void takes(void *unused) {
  (void)unused;
  slot = csched_dump_add_thread_(NUMBER, &tops[turn], NULL);
}

// What a handler does, wherever it runs.
static void sees(void *unused) {
  uint32_t thread;
  csched_frame *const *seen = csched_dump_read_slot_(0, &thread);
  (void)unused;
  model_assert(seen == (thread == NUMBER ? &tops[turn] : NULL));
}

static void table(void) {
  turn = 1 - turn;
  model_spawn(takes, NULL);
  model_spawn(sees, NULL);
}
static void give(void) { csched_dump_remove_thread_(slot); }

static csched_loop *loop;
static csched_serial *queue;

static void names(void *unused) {
  (void)unused;
  csched_serial_set_name(queue, "ab");
}
static void describes(void *unused) {
  char text[256];
  (void)unused;
  csched_target_describe(csched_serial_target(queue), text, sizeof text);
  model_assert(strstr(text, "ab") != NULL || strstr(text, "\"") == NULL);
}
static void named(void) {
  model_assert(csched_loop_create(&loop) == 0);
  model_assert(csched_serial_create(&queue, csched_loop_target(loop)) == 0);
  model_spawn(names, NULL);
  model_spawn(describes, NULL);
}
static void ends(void) {
  csched_serial_destroy(queue);
  csched_loop_destroy(loop);
}

const model_check dump_checks[] = {
    {"dump: a handler reads the slot of a new thread", table, give}, // DT1
    {"dump: a queue that is being named", named, ends},              // SQ1
    {NULL, NULL, NULL},
};
