// deque.c: DQ1 to DQ5. One owner, which has pushed some entries already, and thieves.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/job/deque_internal.h"

enum { ENTRIES = CSCHED_DEQUE_SLOTS + 1 };

static csched_deque deque;
static model_cell contents[ENTRIES];
static int taken[ENTRIES], pushed, last;
static uint32_t flag;
static bool is_seen, was_empty;

static void reset(void) {
  deque = (csched_deque){0};
  for (int i = 0; i < ENTRIES; i++) {
    contents[i] = (model_cell){0};
    taken[i] = 0;
  }
  pushed = flag = 0;
  last = -1;
  is_seen = was_empty = false;
}

static bool push(void) {
  model_write(&contents[pushed], pushed + 1);
  bool is_in = csched_deque_push_(&deque, &contents[pushed]);
  pushed += is_in;
  return is_in;
}
static int take(void *entry) {
  int i = (int)((model_cell *)entry - contents);
  model_assert(model_read(&contents[i]) == i + 1);
  taken[i]++;
  return i;
}

static void pop_all(void) {
  for (void *entry; (entry = csched_deque_pop_(&deque)) != NULL;) take(entry);
}
static void push_and_pop(void *count) {
  for (intptr_t i = 0; i < (intptr_t)count; i++) push();
  pop_all();
}
// What comes in between: the last is taken back, and another takes its number.
static void push_pop_push(void *unused) {
  (void)unused;
  push();
  push();
  void *entry = csched_deque_pop_(&deque);
  if (entry != NULL) take(entry);
  push();
  pop_all();
}
static void steal_one(void *unused) {
  (void)unused;
  void *entry = csched_deque_steal_(&deque);
  if (entry != NULL) take(entry);
}
static void steal_two(void *unused) {
  for (int i = 0, before = -1; i < 2; i++) {
    void *entry = csched_deque_steal_(&deque);
    if (entry == NULL) continue;
    int number = take(entry);
    model_assert(number > before); // the oldest first
    before = number;
  }
  (void)unused;
}

static void push_one(void) {
  reset();
  push();
}
static void push_two(void) {
  push_one();
  push();
}
// Without pops: the owner takes entries as the others do.
static void push_and_take(void *unused) {
  (void)unused;
  push();
  push();
  for (void *entry; (entry = csched_deque_take_(&deque)) != NULL;) take(entry);
}
static void take_half(void *unused) {
  (void)unused;
  void *entries[2];
  size_t count = csched_deque_take_half_(&deque, entries, 2);
  int first = count > 0 ? take(entries[0]) : 0;
  for (size_t i = 1; i < count; i++) model_assert(take(entries[i]) == first + (int)i); // neighbours, the oldest first
}
static void fill_and_take(void *unused) {
  (void)unused;
  push(); // fails unless half was taken
  last = take(csched_deque_take_(&deque));
}
static void oldest_were_taken(void) {
  int count = 0;
  for (int i = 0; i < pushed; i++) count += taken[i];
  for (int i = 0; i < count; i++) model_assert(taken[i] == 1); // the oldest, each once
  model_assert(deque.bottom - deque.top == (uint64_t)(pushed - count));
}
static void each_once(void) {
  for (int i = 0; i < pushed; i++) model_assert(taken[i] == 1);
  model_assert(deque.top == deque.bottom);
}

// Full, until the thief has taken one: then the first slot is written again.
static void push_more(void *unused) {
  (void)unused;
  push();
  void *entry = csched_deque_pop_(&deque);
  last = take(entry);
}
static void fill(void) {
  reset();
  while (pushed < CSCHED_DEQUE_SLOTS) push();
}
static void not_overwritten(void) {
  model_assert(taken[0] == 1 && last == pushed - 1 && taken[last] == 1);
  model_assert(deque.bottom - deque.top == (uint64_t)pushed - 2);
}

// The protocol of pool_idle.c: the pusher checks for sleepers, the sleeper checks for entries. Beside it, a thief takes
// an older entry.
static void push_and_look(void *unused) {
  (void)unused;
  push();
  csched_fence_full();
  is_seen = csched_load_relaxed(&flag) != 0;
}
static void be_idle_and_look(void *unused) {
  (void)unused;
  csched_store_relaxed(&flag, 1u);
  csched_fence_full();
  was_empty = csched_deque_is_empty_(&deque);
}
static void not_missed(void) { model_assert(is_seen || !was_empty); }

// The owner ends what the thief waits for, and pushes another entry, perhaps at the number of one that it has popped.
// The thief must not take that one.
static void push_end_push(void *pops) {
  push();
  if (pops != NULL) pop_all();
  csched_store_relaxed(&flag, 1u);
  push();
  pop_all();
}
static void steal_until_the_end(void *unused) {
  (void)unused;
  void *entry = csched_deque_steal_until_(&deque, &flag, 1);
  if (entry != NULL) model_assert(take(entry) == 0);
}

const model_check deque_checks[] = {
    {"deque: the last entry, one thief", push_one, each_once, THREADS({push_and_pop, 0}, {steal_one})}, // DQ1
    {"deque: two entries, one thief", reset, each_once, THREADS({push_and_pop, 2}, {steal_two})},       // DQ1, DQ2
    {"deque: two entries, two thieves", push_two, each_once,
     THREADS({push_and_pop, 0}, {steal_one}, {steal_one})}, // DQ1
    {"deque: a number is used again beside a thief", reset, each_once,
     THREADS({push_pop_push}, {steal_two})}, // DQ1, DQ2
    {"deque: a full deque, beside a thief: no entry is overwritten", fill, not_overwritten,
     THREADS({push_more}, {steal_one})}, // DQ3
    {"deque: no pops, the owner takes beside one who takes half", push_two, each_once,
     THREADS({push_and_take}, {take_half})}, // DQ6, DQ2
    {"deque: no pops, a full deque, beside one who takes half", fill, oldest_were_taken,
     THREADS({fill_and_take}, {take_half})}, // DQ6, DQ3
    {"deque: a check for entries against a check for sleepers", push_one, not_missed,
     THREADS({push_and_look}, {be_idle_and_look}, {steal_one})}, // DQ4
    {"deque: an end between two entries: the second is not stolen", reset, each_once,
     THREADS({push_end_push}, {steal_until_the_end})}, // DQ5
    {"deque: an end between a popped entry and another: that is not stolen", reset, each_once,
     THREADS({push_end_push, true}, {steal_until_the_end})}, // DQ5
    {NULL, NULL, NULL},
};
