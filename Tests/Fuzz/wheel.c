// Target: two timer wheels (time/timer.c), against a list. The input sets their time, which may go back.
//
// The model checks, after each operation:
//   order    a pop takes the first due timer, by (deadline, order of submission), and never one that is not due
//   wake     is not after the least deadline + leeway, nor `first` after the least deadline. After a pop without a
//            result, both are after now, and exact if no timer has been removed or moved since the wheel was empty
//   once     each submission is run or dropped, then released, at once if no thread is at the timer

#include "fuzz.h"

#include "../../Sources/CScheduler/job/job_internal.h"
#include "../../Sources/CScheduler/time/timer_internal.h"

#include <string.h>

enum { ITEMS = 32, WHEELS = 2 };
enum { IDLE, WAITS, GONE }; // GONE: cancelled, but still in the wheel

typedef struct item {
  csched_timer timer;
  int state, wheel;
  csched_time deadline, leeway;
  uint64_t order;
  unsigned added, ran, dropped, released;
} item;

typedef struct wheel {
  csched_timers timers;
  bool is_exact;
} wheel;

static item items[ITEMS];
static wheel wheels[WHEELS];
static uint64_t last_order;
static csched_time now;

static void count_run(csched_job *job) { ((item *)job)->ran++; }
static void count_drop(csched_job *job) { ((item *)job)->dropped++; }
static void count_release(csched_job *job) { ((item *)job)->released++; }
static const csched_job_type type = {count_run, count_drop, count_release};

static int number(const item *item) { return (int)(item - items); }

// MARK: the model

static bool is_in(const item *item, int wheel) { return item->state != IDLE && item->wheel == wheel; }

static bool comes_before(const item *one, const item *other) {
  if (one->deadline != other->deadline) return one->deadline < other->deadline;
  return one->order < other->order;
}

static item *first_in(int wheel) {
  item *first = NULL;
  for (int i = 0; i < ITEMS; i++)
    if (is_in(&items[i], wheel) && (first == NULL || comes_before(&items[i], first))) first = &items[i];
  return first;
}

static csched_time wake_of(int wheel) {
  csched_time wake = CSCHED_FOREVER;
  for (int i = 0; i < ITEMS; i++) {
    if (!is_in(&items[i], wheel) || items[i].deadline == CSCHED_FOREVER) continue;
    csched_time latest = fuzz_add(items[i].deadline, items[i].leeway);
    if (latest < wake) wake = latest;
  }
  return wake;
}

static void check_wake(int at, bool has_found_nothing) {
  wheel *wheel = &wheels[at];
  const item *first = first_in(at);
  csched_time wake = wake_of(at);
  REQUIRE(wheel->timers.wake <= wake, "wheel %d wakes too late, at %llu", at, (unsigned long long)wheel->timers.wake);
  REQUIRE(first == NULL || wheel->timers.first <= first->deadline, "wheel %d says a later first one", at);
  if (has_found_nothing) {
    REQUIRE(now == CSCHED_FOREVER || (wheel->timers.wake > now && wheel->timers.first > now), "wheel %d spins", at);
    if (wheel->is_exact)
      REQUIRE(wheel->timers.wake == wake, "wheel %d wakes early, at %llu, not %llu", at,
              (unsigned long long)wheel->timers.wake, (unsigned long long)wake);
  }
  if (first == NULL || first->deadline == CSCHED_FOREVER) wheel->is_exact = true;
}

static void check_counts(const item *item) {
  REQUIRE(item->added == item->ran + item->dropped + (item->state == WAITS), "item %d: %u added, %u ran, %u dropped",
          number(item), item->added, item->ran, item->dropped);
  REQUIRE(item->added == item->released + (item->state != IDLE), "item %d: %u added, %u released", number(item),
          item->added, item->released);
  REQUIRE(csched_job_is_idle(&item->timer.job) == (item->state == IDLE), "item %d", number(item));
}

// MARK: operations

static void add(item *item, int at, bool is_cancelled) {
  if (item->state != IDLE) return;
  if (fuzz_below(8) == 0) csched_timer_init(&item->timer, &type, NULL);
  csched_time deadline = fuzz_instant(now), leeway = fuzz_below(3) == 0 ? fuzz_span() : 0;
  csched_time before = wheels[at].timers.wake;
  TRACE("add %d to %d at %llu + %llu%s", number(item), at, (unsigned long long)deadline, (unsigned long long)leeway,
        is_cancelled ? ", cancelled" : "");
  csched_job_submitted_(&item->timer.job, "fuzz");
  item->added++;
  if (is_cancelled) csched_job_cancel(&item->timer.job);
  csched_timer_added added = csched_timers_add_(&wheels[at].timers, &item->timer, deadline, leeway);
  bool is_earlier = deadline != CSCHED_FOREVER && fuzz_add(deadline, leeway) < before;
  REQUIRE(added == (is_earlier ? CSCHED_TIMER_ADDED_FIRST : CSCHED_TIMER_ADDED), "add says %d", (int)added);
  item->wheel = at;
  item->deadline = deadline;
  item->leeway = leeway;
  item->order = ++last_order;
  item->state = is_cancelled ? IDLE : WAITS; // W8: the add of a cancelled timer releases it
  if (is_cancelled) wheels[at].is_exact = false;
}

static void move(item *item, int at) {
  csched_time deadline = fuzz_instant(now), before = wheels[at].timers.wake;
  bool waits = is_in(item, at);
  TRACE("move %d in %d to %llu", number(item), at, (unsigned long long)deadline);
  csched_timer_added moved = csched_timers_move_(&wheels[at].timers, &item->timer, deadline);
  bool is_moved = moved != CSCHED_TIMER_REFUSED;
  if (item->state != GONE || !waits) REQUIRE(is_moved == waits, "move of %d says %d", number(item), (int)moved);
  if (!is_moved) return;
  bool is_earlier = deadline != CSCHED_FOREVER && fuzz_add(deadline, item->leeway) < before;
  REQUIRE(moved == (is_earlier ? CSCHED_TIMER_ADDED_FIRST : CSCHED_TIMER_ADDED), "move says %d", (int)moved);
  item->deadline = deadline;
  item->order = ++last_order;
  wheels[at].is_exact = false;
}

static void cancel(item *item, bool takes_out) {
  TRACE("cancel %d%s", number(item), takes_out ? "" : ", and leave it there");
  csched_cancel_result result = takes_out ? csched_timer_cancel(&item->timer) : csched_job_cancel(&item->timer.job);
  REQUIRE(result == (item->state == WAITS ? CSCHED_CANCEL_DROPPED : CSCHED_CANCEL_FINISHED), "cancel of %d says %d",
          number(item), (int)result);
  if (item->state == IDLE) return;
  bool is_out = takes_out && item->state == WAITS; // a timer that a plain cancel leaves there may stay, or not
  if (item->state == GONE) is_out = item->released == item->added;
  item->state = is_out ? IDLE : GONE;
  if (is_out) wheels[item->wheel].is_exact = false;
}

// Returns: whether one was popped.
static bool pop(int at) {
  item *first = first_in(at);
  csched_timer *timer = csched_timers_pop_(&wheels[at].timers, now);
  if (first != NULL && first->deadline > now) first = NULL;
  REQUIRE(timer == (csched_timer *)first, "pop of wheel %d: %d, not %d", at, timer ? number((item *)timer) : -1,
          first ? number(first) : -1);
  if (timer == NULL) {
    check_wake(at, true);
    return false;
  }
  TRACE("pop %d from %d", number(first), at);
  first->state = IDLE;
  csched_job_perform_(&timer->job);
  return true;
}

static void pop_all(int at) {
  while (pop(at)) {}
}

static void begin(int at) {
  memset(&wheels[at], 0, sizeof wheels[at]);
  csched_timers_init_(&wheels[at].timers);
  wheels[at].is_exact = true;
}

// At the end of time: all waiting timers come, in order, and then the timers without a deadline.
static void finish(int at) {
  csched_time saved = now;
  now = CSCHED_FOREVER;
  TRACE("finish %d", at);
  csched_timers_close_(&wheels[at].timers);
  pop_all(at);
  REQUIRE(wheels[at].timers.pending == 0, "wheel %d counts %zu", at, wheels[at].timers.pending);
  now = saved;
  begin(at);
}

static void advance(csched_time to) {
  if (to > now && to < CSCHED_FOREVER) now = to;
}

static void step(void) {
  unsigned what = fuzz_byte(), which = fuzz_byte();
  item *item = &items[which % ITEMS];
  int at = (int)(which / ITEMS % WHEELS);
  switch (what % 16) {
  case 0:
  case 1:
  case 2: add(item, at, false); break;
  case 3: add(item, at, which / ITEMS % 4 == 3); break;
  case 4:
  case 5: move(item, at); break;
  case 6: cancel(item, true); break;
  case 7: cancel(item, which / ITEMS % 4 != 3); break;
  case 8: pop(at); break;
  case 9: pop_all(at); break;
  case 10: advance(wheels[at].timers.wake); break;
  case 11: advance(wheels[at].timers.first); break;
  case 12:
  case 13: advance(fuzz_add(now, fuzz_span())); break;
  case 14: now -= fuzz_span() % (now + 1); break;
  default:
    if (which / ITEMS == 7) finish(at);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_begin(data, size);
  now = fuzz_now;
  last_order = 0;
  memset(items, 0, sizeof items);
  for (int i = 0; i < ITEMS; i++) csched_timer_init(&items[i].timer, &type, NULL);
  for (int i = 0; i < WHEELS; i++) begin(i);
  while (!fuzz_is_over()) {
    step();
    for (int i = 0; i < WHEELS; i++) check_wake(i, false);
    for (int i = 0; i < ITEMS; i++) check_counts(&items[i]);
  }
  for (int i = 0; i < WHEELS; i++) finish(i);
  for (int i = 0; i < ITEMS; i++) check_counts(&items[i]);
  return 0;
}
