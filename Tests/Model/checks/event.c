// event.c: EV1 to EV5. The target is a loop, which the first thread runs.

#include "../engine/model.h"

#include <errno.h>
#include <stdlib.h>

static csched_loop *loop;
static csched_event *event;
static model_cell before;          // what a merging thread did first
static uint64_t delivered, wanted; // what ends the run, or 0
static int calls, over, cancels;

static void hear(csched_event *event, uint64_t value) {
  (void)event;
  model_assert(cancels == 0);         // EV4
  if (value & 1) model_read(&before); // EV1: seen, not raced with
  delivered += value;
  calls++;
  if (delivered == wanted) csched_loop_end_run(loop);
}

static void begin(uint64_t ends_at) {
  delivered = 0;
  wanted = ends_at;
  calls = over = cancels = 0;
  before = (model_cell){0};
  model_assert(csched_loop_create(&loop) == 0);
  event = malloc(sizeof *event);
  csched_event_init(event, csched_loop_target(loop), CSCHED_MERGE_ADD, hear, NULL);
}

// Called when all threads have ended: the thread that ends the run may still be at it when the wait returns.
static void end(uint64_t sum) {
  csched_loop_destroy(loop);
  model_assert(delivered == sum && csched_event_is_idle(event)); // EV1, EV2
  free(event);
}

static void end_one(int threads) {
  if (++over == threads && wanted == 0) csched_loop_end_run(loop);
}

static void merge_after_write(void *threads) {
  model_write(&before, 1);
  csched_event_merge(event, 1);
  end_one((int)(intptr_t)threads);
}

static void merge(void *threads) {
  csched_event_merge(event, 2);
  end_one((int)(intptr_t)threads);
}

static void two_merge(void) {
  begin(3);
  model_spawn(merge_after_write, (void *)2);
  model_spawn(merge, (void *)2);
  csched_loop_run(loop);
}
static void both_are_told(void) {
  model_assert(calls == 1 || calls == 2); // EV1
  end(3);
}

static void cancel(void *unused) {
  (void)unused;
  csched_event_cancel_and_wait(event);
  cancels = 1;
  end_one(2);
}

static void cancelled_beside(void) {
  begin(0);
  model_spawn(merge, (void *)2);
  model_spawn(cancel, NULL);
  csched_loop_run(loop);
}
static void told_or_cancelled(void) {
  model_assert(csched_event_merge(event, 1) == ECANCELED); // EV4
  end(calls == 0 ? 0 : 2);
}

static void merge_twice(void *unused) {
  (void)unused;
  csched_event_merge(event, 1);
  csched_event_merge(event, 1);
}

static void merged_beside_the_end(void) { // EV3
  begin(2);
  model_spawn(merge_twice, NULL);
  csched_loop_run(loop);
}
static void both_ones_are_told(void) { end(2); }

static void close_loop(void *unused) {
  (void)unused;
  csched_loop_close(loop, CSCHED_STOP_DROP);
}

static void closed_beside(void) {
  begin(0);
  model_spawn(merge, (void *)2);
  model_spawn(close_loop, NULL);
  csched_loop_run(loop);
}
static void told_or_dropped(void) { // and idle: nothing waits in a loop that is closed
  end(calls == 0 ? 0 : 2);
}

static void free_when_idle(void *unused) { // EV5
  (void)unused;
  csched_event_merge(event, 1);
  while (!csched_event_is_idle(event)) csched_nap_(1000);
  free(event);
  csched_loop_end_run(loop);
}

static void freed_when_idle(void) {
  begin(0);
  model_spawn(free_when_idle, NULL);
  csched_loop_run(loop);
}
static void freed_after_telling(void) {
  model_assert(delivered == 1); // EV1
  csched_loop_destroy(loop);
}

// A target that runs each job within `deliver`, and a handler that merges again.
static int deliveries, chained;
static int perform_at_once(csched_target *target, csched_job *job) {
  model_assert(++deliveries <= 2); // EV6: without it, one for each merge
  csched_target_perform(target, job);
  deliveries--;
  return 0;
}
static const csched_target_type inline_type = {.deliver = perform_at_once};
static csched_target inline_target = {.type = &inline_type};
static void merge_again(csched_event *self, uint64_t value) {
  chained += (int)value;
  if (chained < 4) csched_event_merge(self, 1);
}
static void merge_chain(void *unused) {
  (void)unused;
  csched_event_merge(event, 1);
}
static void chain(void) {
  deliveries = chained = 0;
  event = malloc(sizeof *event);
  csched_event_init(event, &inline_target, CSCHED_MERGE_ADD, merge_again, NULL);
  model_spawn(merge_chain, NULL);
}
static void four_links(void) {
  model_assert(chained == 4 && csched_event_is_idle(event));
  free(event);
}

const model_check event_checks[] = {
    {"event: two threads merge", two_merge, both_are_told},                                        // EV1, EV2
    {"event: merged beside the end of its run", merged_beside_the_end, both_ones_are_told},        // EV2, EV3
    {"event: cancelled beside a merge", cancelled_beside, told_or_cancelled},                      // EV4
    {"event: its target is closed beside a merge", closed_beside, told_or_dropped},                // EV1, EV2
    {"event: freed when it is idle", freed_when_idle, freed_after_telling},                        // EV5
    {"event: a handler that merges again, on a target that runs jobs at once", chain, four_links}, // EV6, EV1
    {NULL, NULL, NULL},
};
