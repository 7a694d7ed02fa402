// mpsc.c: Q1 to Q6. The consumer parks as a loop does, and the producers wake it.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/platform/platform.h"

#include "../../../Sources/CScheduler/job/mpsc.h"

enum { PRODUCERS = 2, EACH = 2, ALL = PRODUCERS * EACH };

static csched_mpsc queue;
static csched_job jobs[ALL];
static model_cell contents[ALL], last_words;
static uint32_t wake, flag;
static int popped[ALL], count, wakes_owed, parks, refused, flag_seen;

static void reset(void) {
  csched_mpsc_init(&queue);
  wake = flag = 0;
  last_words = (model_cell){0};
  count = wakes_owed = parks = refused = flag_seen = 0;
  for (int i = 0; i < ALL; i++) contents[i] = (model_cell){0};
}

static void wake_consumer(void) {
  wakes_owed++;
  csched_store_release(&wake, 1u);
  csched_futex_wake_(&wake, 1);
}

static void produce(void *context) {
  int first = (int)(intptr_t)context * EACH;
  for (int i = first; i < first + EACH; i++) {
    model_write(&contents[i], i + 1);
    csched_push_result result = csched_mpsc_push(&queue, &jobs[i]);
    if (result == CSCHED_PUSHED_WAKE) wake_consumer();
    if (result == CSCHED_PUSH_CLOSED) refused++;
  }
}

static void set_flag(void *unused) {
  (void)unused;
  csched_store_relaxed(&flag, 1u);
  if (csched_mpsc_notify(&queue)) wake_consumer();
}

static void close_queue(void *unused) {
  (void)unused;
  model_write(&last_words, 1);
  if (csched_mpsc_close(&queue)) wake_consumer();
}

static void park(bool for_flag) {
  csched_store_relaxed(&wake, 0u);
  if (!csched_mpsc_park(&queue)) return;
  parks++;
  if (!for_flag || csched_load_relaxed(&flag) == 0)
    while (csched_load_acquire(&wake) == 0) csched_futex_wait_(&wake, 0, CSCHED_FOREVER);
  if (csched_mpsc_unpark(&queue)) parks--; // undone: no push reports a wake
}

static void pop_all(void) {
  for (csched_job *job; (job = csched_mpsc_pop(&queue)) != NULL;) {
    int i = (int)(job - jobs);
    model_assert(model_read(&contents[i]) == i + 1);
    popped[count++] = i;
  }
}

static void consume(void *unused) {
  (void)unused;
  while (pop_all(), count < ALL) park(false);
}

static void consume_until_flag(void *unused) {
  (void)unused;
  while (pop_all(), csched_load_relaxed(&flag) == 0) park(true);
}

static void consume_until_closed(void *unused) {
  (void)unused;
  while (pop_all(), !csched_mpsc_is_closed(&queue)) park(false);
  model_assert(model_read(&last_words) == 1); // the closer's
  pop_all();
}

static void producers(void) {
  for (intptr_t p = 0; p < PRODUCERS; p++) model_spawn(produce, (void *)p);
}
static void all_consumed(void) {
  reset();
  producers();
  model_spawn(consume, NULL);
}
static void closed(void) {
  reset();
  producers();
  model_spawn(close_queue, NULL);
  model_spawn(consume_until_closed, NULL);
}

// Of producer 0 some jobs may be missing for good; those of producer 1 come through. The consumer does not sleep here:
// a producer that stops between its push and the wake that it owes leaves a sleeping one asleep, see Q2.
static void consume_the_other(void *unused) {
  (void)unused;
  for (;;) {
    pop_all();
    int others = 0;
    for (int i = 0; i < count; i++) others += popped[i] / EACH == 1;
    if (others == EACH) return;
    csched_nap_(1000);
  }
}
static void frozen(void) {
  reset();
  model_spawn_frozen(produce, (void *)0);
  model_spawn(produce, (void *)1);
  model_spawn(consume_the_other, NULL);
}

static void in_order(void) {
  int last[PRODUCERS] = {-1, -1};
  for (int i = 0; i < count; i++) {
    model_assert(popped[i] > last[popped[i] / EACH]);
    last[popped[i] / EACH] = popped[i];
  }
}
static void each_once(void) {
  in_order();
  model_assert(count == ALL && wakes_owed == parks);
}
static void popped_or_refused(void) {
  in_order();
  model_assert(count + refused == ALL && wakes_owed == parks);
}
static void one_wake(void) { model_assert(wakes_owed == parks); }

const model_check mpsc_checks[] = {
    {"mpsc: every job once, in order, exactly one wake for a park", all_consumed, each_once}, // Q1, Q3, Q4
    {"mpsc: a notify is seen after a park", reset, one_wake,
     THREADS({produce, 0}, {set_flag}, {consume_until_flag})},                     // Q5
    {"mpsc: a push beside close is popped or refused", closed, popped_or_refused}, // Q6
    {"mpsc: a frozen producer delays no other thread", frozen, in_order},          // Q2
    {NULL, NULL, NULL},
};
