// The timers' container by itself, at a time of the test's own.

#include "testing.h"

#include "../../Sources/CScheduler/job/job_internal.h"
#include "../../Sources/CScheduler/time/timer_internal.h"

static csched_timers *make_timers(void) {
  csched_timers *timers = calloc(1, sizeof *timers);
  csched_timers_init_(timers);
  return timers;
}

static csched_timer_added add(csched_timers *timers, csched_timer *timer, csched_time deadline, csched_time leeway) {
  csched_job_submitted_(&timer->job, "add");
  csched_timer_added added = csched_timers_add_(timers, timer, deadline, leeway);
  if (added == CSCHED_TIMER_REFUSED) csched_job_discard_(&timer->job);
  return added;
}

static void count_nothing(csched_job *job) { (void)job; }
static const csched_job_type idle_type = {count_nothing, count_nothing, NULL};

static csched_time latest(const csched_timer *timer) {
  return timer->deadline + timer->leeway < timer->deadline ? CSCHED_FOREVER : timer->deadline + timer->leeway;
}

static csched_time any_span(uint64_t *seed, unsigned bits) {
  return chance(seed) >> (64 - 1 - chance_below(seed, bits));
}

// MARK: against a sorted list

enum { ITEMS = 200 };

typedef struct comparison {
  csched_timers *timers;
  csched_time now;
  uint64_t seed;
  bool is_exact; // nothing is cancelled or moved: then the wake has to be exact
  bool is_set_back;
  int count;
  csched_timer *sorted[ITEMS]; // the waiting timers, in their due order
  csched_timer items[ITEMS];
} comparison;

static void list_add(comparison *test, csched_timer *timer, csched_time deadline) {
  int at = test->count++;
  for (; at > 0 && test->sorted[at - 1]->deadline > deadline; at--) test->sorted[at] = test->sorted[at - 1];
  test->sorted[at] = timer; // behind its equals
}

static void list_remove(comparison *test, const csched_timer *timer) {
  int at = 0;
  while (at < test->count && test->sorted[at] != timer) at++;
  if (at == test->count) return;
  memmove(&test->sorted[at], &test->sorted[at + 1], sizeof test->sorted[0] * (size_t)(--test->count - at));
}

static void check_wake(comparison *test, bool found_nothing) {
  csched_time wake = CSCHED_FOREVER, first = test->count > 0 ? test->sorted[0]->deadline : CSCHED_FOREVER;
  for (int i = 0; i < test->count && test->sorted[i]->deadline < wake; i++)
    if (latest(test->sorted[i]) < wake) wake = latest(test->sorted[i]);
  CHECK(test->timers->wake <= wake);   // no missed wake
  CHECK(test->timers->first <= first); // no timer is overtaken
  if (!found_nothing) return;
  CHECK(test->timers->wake > test->now); // no spin
  CHECK(test->timers->first > test->now);
  if (test->is_exact) CHECK_EQUAL(test->timers->wake, wake);
}

static csched_time any_deadline(comparison *test) {
  uint64_t *seed = &test->seed;
  switch (chance_below(seed, 9)) {
  case 0: return CSCHED_FOREVER;
  case 1: return CSCHED_FOREVER - any_span(seed, 30);
  case 2: return test->now - any_span(seed, 40) % (test->now + 1);                              // late already
  case 3: return (((test->now >> 22) + chance_below(seed, 130)) << 22) - chance_below(seed, 2); // the edge of a slot
  case 4: return csched_time_after(test->now, (int64_t)any_span(seed, 62));
  case 5:
    if (test->count > 0) return test->sorted[chance_below(seed, (uint64_t)test->count)]->deadline;
    return test->now;
  default: return test->now + any_span(seed, 36);
  }
}

static void add_any(comparison *test, csched_timer *timer) {
  csched_time deadline = any_deadline(test), before = test->timers->wake;
  csched_time leeway = chance_below(&test->seed, 2) ? 0 : any_span(&test->seed, 50);
  if (chance_below(&test->seed, 20) == 0) leeway = CSCHED_FOREVER;
  list_add(test, timer, deadline);
  csched_timer_added added = add(test->timers, timer, deadline, leeway);
  CHECK_EQUAL(added, latest(timer) < before ? CSCHED_TIMER_ADDED_FIRST : CSCHED_TIMER_ADDED);
}

static void move_any(comparison *test, csched_timer *timer) {
  bool waits = timer->owner != NULL;
  csched_time deadline = any_deadline(test);
  list_remove(test, timer);
  if (waits) list_add(test, timer, deadline);
  CHECK_EQUAL(csched_timers_move_(test->timers, timer, deadline) != CSCHED_TIMER_REFUSED, waits);
}

static void pop_due(comparison *test, int most) {
  csched_timer *timer = NULL;
  for (int i = 0; i < most && (timer = csched_timers_pop_(test->timers, test->now)) != NULL; i++) {
    CHECK(test->count > 0 && timer == test->sorted[0]);
    CHECK(timer->deadline <= test->now);
    list_remove(test, timer);
    csched_job_perform_(&timer->job);
  }
  if (timer != NULL) return;
  CHECK(test->count == 0 || test->sorted[0]->deadline > test->now);
  check_wake(test, true);
}

static void do_anything(comparison *test) {
  csched_timer *timer = &test->items[chance_below(&test->seed, ITEMS)];
  bool waits = timer->owner != NULL;
  uint64_t what = chance_below(&test->seed, 100);
  if (what < 60) {
    if (!waits) add_any(test, timer);
    else if (!test->is_exact) move_any(test, timer);
  } else if (what < 70) {
    if (test->is_exact) return;
    list_remove(test, timer);
    CHECK_EQUAL(csched_timer_cancel(timer), waits ? CSCHED_CANCEL_DROPPED : CSCHED_CANCEL_FINISHED);
  } else if (what < 75) {
    pop_due(test, 1 + (int)chance_below(&test->seed, 3));
  } else if (what < 80 && test->timers->wake > test->now && test->timers->wake < (csched_time)1 << 62) {
    test->now = test->timers->wake; // as after a sleep until then
    pop_due(test, ITEMS);
  } else if (what < 84 && test->is_set_back) {
    test->now -= any_span(&test->seed, 58) % (test->now + 1);
    pop_due(test, ITEMS);
  } else if (what < 99) {
    test->now += any_span(&test->seed, 34);
    pop_due(test, ITEMS);
  } else {
    test->now += any_span(&test->seed, 55); // up to a year
    pop_due(test, ITEMS);
  }
}

static void compare(int64_t operations, bool is_set_back, uint64_t seed) {
  comparison *test = calloc(1, sizeof *test);
  for (int64_t i = 0; i < operations && ctest_found() == NULL;) {
    *test = (comparison){.timers = make_timers(), .seed = seed++, .is_exact = i / 20000 % 3 == 0};
    test->is_set_back = is_set_back;
    test->now = chance_below(&test->seed, 4) == 0 ? 0 : any_span(&test->seed, 60);
    for (int k = 0; k < ITEMS; k++) csched_timer_init(&test->items[k], &idle_type, NULL);
    for (int k = 0; k < 20000; k++, i++) {
      do_anything(test);
      if (k % 8 == 0) check_wake(test, false);
    }
    test->now = CSCHED_FOREVER; // all remaining timers, in order
    csched_timer *timer;
    while ((timer = csched_timers_pop_(test->timers, CSCHED_FOREVER)) != NULL) {
      CHECK(test->count > 0 && timer == test->sorted[0]);
      list_remove(test, timer);
    }
    CHECK_EQUAL(test->count, 0);
    CHECK_EQUAL(test->timers->pending, 0);
    CHECK(test->timers->wake == CSCHED_FOREVER && test->timers->first == CSCHED_FOREVER);
    free(test->timers);
  }
  free(test);
}

static void wheel_agrees(int64_t operations, uint64_t seed) { compare(operations, false, seed); }

// W1, W2, W3, W4
TEST("the wheel and a sorted list agree") { wheel_agrees(times(2000000), seed()); }

static void wheel_set_back(int64_t operations, uint64_t seed) { compare(operations, true, seed); }

// W1, W2, W3, W4
TEST("the wheel keeps to a clock that is set back") { wheel_set_back(times(2000000), seed()); }

// MARK: edges

static void wheel_equal_deadlines(void) {
  enum { COUNT = 60 };
  csched_timers *timers = make_timers();
  csched_timer items[COUNT];
  csched_time deadline = (csched_time)40 * 24 * 3600 * 1000 * MS; // level 4, seen from the start
  for (int i = 0; i < COUNT;
       i++) { // each from half as far away as the last, so from ever lower levels, in the end from near
    csched_time now = deadline - (i < 50 ? deadline >> i : 0) + (i == 59);
    CHECK(csched_timers_pop_(timers, now < deadline ? now : deadline - 1) == NULL);
    csched_timer_init(&items[i], &idle_type, NULL);
    CHECK(add(timers, &items[i], deadline, 0) != CSCHED_TIMER_REFUSED);
  }
  for (int i = 0; i < COUNT; i++) CHECK(csched_timers_pop_(timers, deadline) == &items[i]);
  CHECK(csched_timers_pop_(timers, deadline) == NULL);
  free(timers);
}

// W2, W3
TEST("equal deadlines fire in the order of submission from any level") { wheel_equal_deadlines(); }

static void wheel_ends_of_time(void) {
  csched_timers *timers = make_timers();
  static const csched_time deadlines[] = {0, 1, CSCHED_FOREVER - 2, CSCHED_FOREVER - 1, CSCHED_FOREVER, CSCHED_FOREVER};
  enum { COUNT = sizeof deadlines / sizeof deadlines[0] };
  csched_timer items[COUNT];
  for (int i = COUNT - 1; i >= 0; i--) csched_timer_init(&items[i], &idle_type, NULL);
  CHECK_EQUAL(add(timers, &items[4], deadlines[4], 0), CSCHED_TIMER_ADDED); // it causes no wake
  CHECK(timers->wake == CSCHED_FOREVER && timers->first == CSCHED_FOREVER);
  CHECK_EQUAL(add(timers, &items[5], deadlines[5], 0), CSCHED_TIMER_ADDED);
  CHECK_EQUAL(add(timers, &items[3], deadlines[3], 0), CSCHED_TIMER_ADDED_FIRST);
  CHECK_EQUAL(add(timers, &items[2], deadlines[2], CSCHED_FOREVER), CSCHED_TIMER_ADDED);
  CHECK_EQUAL(add(timers, &items[1], deadlines[1], CSCHED_FOREVER), CSCHED_TIMER_ADDED);
  CHECK_EQUAL(add(timers, &items[0], deadlines[0], 0), CSCHED_TIMER_ADDED_FIRST);
  CHECK(csched_timers_pop_(timers, 0) == &items[0]);
  CHECK(csched_timers_pop_(timers, 0) == NULL);
  CHECK_EQUAL(timers->wake, CSCHED_FOREVER - 1);
  CHECK(csched_timers_pop_(timers, 1) == &items[1]);
  CHECK(csched_timers_pop_(timers, CSCHED_FOREVER - 3) == NULL);
  CHECK(csched_timers_pop_(timers, CSCHED_FOREVER - 2) == &items[2]);
  CHECK(csched_timers_pop_(timers, CSCHED_FOREVER - 2) == NULL);
  CHECK(csched_timers_pop_(timers, CSCHED_FOREVER - 1) == &items[3]);
  CHECK(csched_timers_pop_(timers, CSCHED_FOREVER - 1) == NULL); // never is never
  csched_timers_close_(timers);
  for (int i = 4; i < COUNT; i++) CHECK(csched_timers_pop_(timers, CSCHED_FOREVER) == &items[i]);
  CHECK(csched_timers_pop_(timers, CSCHED_FOREVER) == NULL);
  csched_timer late;
  csched_timer_init(&late, &idle_type, NULL);
  CHECK_EQUAL(add(timers, &late, 5, 0), CSCHED_TIMER_REFUSED);
  free(timers);
}

// W1, W2, W4, W7
TEST("time ends at both ends") { wheel_ends_of_time(); }

// MARK: costs, in steps

static void wheel_costs(int count, uint64_t seed) {
  csched_timers *timers = make_timers();
  csched_timer *items = calloc((size_t)count, sizeof *items);
  csched_time start = csched_now(), hour = 3600 * 1000 * MS;
  for (int i = 0; i < count; i++) {
    csched_timer_init(&items[i], &idle_type, NULL);
    add(timers, &items[i], start + 8 * MS + chance_below(&seed, hour), chance_below(&seed, 2) * MS);
  }
  for (int i = 0; i < count; i++) { // in any order
    csched_timer *timer = &items[chance_below(&seed, (uint64_t)count)];
    if (i % 2 == 0) csched_timers_move_(timers, timer, start + 8 * MS + chance_below(&seed, hour));
    else csched_timer_cancel(timer);
  }
  CHECK_EQUAL(timers->steps, 0); // add, move and cancel visit no other timer
  CHECK(RB_EMPTY(&timers->near));
  int64_t popped = 0, left = (int64_t)timers->pending;
  for (csched_time now = start; timers->pending > 0; now = timers->wake)
    while (csched_timers_pop_(timers, now) != NULL) popped++;
  CHECK_EQUAL(popped, left);
  CHECK(timers->steps <= 4 * (uint64_t)count + 1000); // each cascades once or twice, and is read for its wake
  free(items);
  free(timers);
}

TEST("adding and leaving look at nothing else, whatever the number") { // W3, W4
  wheel_costs(times(1000), seed());
  wheel_costs(times(1000000), seed());
}

static void wheel_gaps(void) {
  csched_timers *timers = make_timers();
  csched_timer items[2];
  csched_time year = (csched_time)365 * 24 * 3600 * 1000 * MS;
  for (int i = 0; i < 2; i++) {
    csched_timer_init(&items[i], &idle_type, NULL);
    add(timers, &items[i], (csched_time)(i + 1) * 100 * year, 0);
  }
  for (int i = 1; i < 100; i++) CHECK(csched_timers_pop_(timers, (csched_time)i * year) == NULL);
  CHECK(csched_timers_pop_(timers, 200 * year) == &items[0]);
  CHECK(csched_timers_pop_(timers, 200 * year) == &items[1]);
  CHECK(timers->steps < 40);
  csched_timer_init(&items[0], &idle_type, NULL);
  CHECK_EQUAL(add(timers, &items[0], 300 * year, 0), CSCHED_TIMER_ADDED_FIRST);
  CHECK_EQUAL(csched_timer_cancel(&items[0]), CSCHED_CANCEL_DROPPED); // the last one leaves nothing behind
  CHECK(timers->wake == CSCHED_FOREVER && timers->first == CSCHED_FOREVER);
  for (int i = 0; i < CSCHED_WHEEL_LEVELS; i++) CHECK_EQUAL(timers->occupied[i], 0);
  free(timers);
}

// W3, W4
TEST("long gaps are not walked") { wheel_gaps(); }

// MARK: leeway

static int by_latest(const void *a, const void *b) {
  csched_time first = latest(a), second = latest(b);
  return first < second ? -1 : first > second;
}

static void wheel_wakes(int count, int leeway_ms, bool mixed, uint64_t seed) {
  csched_timers *timers = make_timers();
  csched_timer *items = calloc((size_t)count, sizeof *items), *copy = calloc((size_t)count, sizeof *items);
  const csched_time start = 77, span = 4000 * MS, most = (csched_time)leeway_ms * MS;
  for (int i = 0; i < count; i++) {
    csched_timer_init(&items[i], &idle_type, NULL);
    add(timers, &items[i], start + chance_below(&seed, span), mixed ? chance_below(&seed, 2 * most) : most);
    copy[i] = items[i];
  }
  int wakes = 0, fewest = 0, popped = 0;
  while (timers->wake != CSCHED_FOREVER) {
    csched_time now = timers->wake;
    wakes++;
    for (csched_timer *timer; (timer = csched_timers_pop_(timers, now)) != NULL; popped++)
      CHECK(timer->deadline <= now && now <= latest(timer));
  }
  CHECK_EQUAL(popped, count);
  qsort(copy, (size_t)count, sizeof *copy, by_latest); // the fewest points that meet every interval
  csched_time last = 0;
  for (int i = 0; i < count; i++)
    if (copy[i].deadline > last || fewest == 0) {
      fewest++;
      last = latest(&copy[i]);
    }
  CHECK_EQUAL(wakes, fewest);
  if (!mixed) CHECK(wakes <= (int)((span + most) / most));
  free(items);
  free(copy);
  free(timers);
}

TEST("one wake serves all that is due") { // W1, W4
  for (int mixed = 0; mixed < 2; mixed++) wheel_wakes(10000, 10, mixed, seed());
}
