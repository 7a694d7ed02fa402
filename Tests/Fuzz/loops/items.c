// Jobs and timers: their operations, and the model's checks when they run, are dropped and are released.

#include "loops.h"

#include <errno.h>
#include <string.h>

item items[ITEMS];
static uint64_t last_order;

// MARK: the state of one item

static bool is_pending(const item *item) { return item->state == WAITS || item->state == DROPPED; }

static loop *loop_of(const item *item) { return &loops[places[item->place].loop]; }

bool item_is_among_timers(const item *item) {
  if (!is_pending(item) || !item->is_timed || item->was_late) return false;
  return !place_is_queue(item->place) || item->deadline > fuzz_now; // a due timer may be in its queue already
}

csched_time item_latest(const item *item) {
  csched_time latest = fuzz_add(item->deadline, item->leeway);
  return latest < item->due_by ? item->due_by : latest;
}

bool item_may_run(const item *item) {
  if (!is_pending(item)) return false;
  if (item->is_timed && item->due_by > fuzz_now) return false;
  return !place_is_queue(item->place) || (!place_is_suspended(item->place) && !place_is_held(item->place));
}

void item_check(const item *item) {
  REQUIRE(csched_job_is_idle(&item->timer.job) == (item->state == IDLE), "item %d in %d", item_number(item),
          item->state);
  bool is_in_queue = item->state == WAITS && !item->is_timed && place_is_queue(item->place);
  if (is_in_queue && !place_is_held(item->place)) // a thread inside of a queue keeps it
    REQUIRE(places[item->place].kept > 0, "queue %d has item %d, and does not keep its owner", item->place,
            item_number(item));
}

void item_check_end(const item *item) {
  REQUIRE(item->state == IDLE, "item %d ends in %d", item_number(item), item->state);
  REQUIRE(item->submitted == item->ran + item->dropped && item->submitted == item->released,
          "item %d: %u submitted, %u ran, %u dropped, %u released", item_number(item), item->submitted, item->ran,
          item->dropped, item->released);
}

// MARK: order

// Whether `other`, which waits, should have come before `item`, which begins.
static bool is_overtaken(const item *other, const item *item) {
  if (other->state != WAITS || other->place != item->place || other->is_timed != item->is_timed) return false;
  if (!item->is_timed) return other->order < item->order;
  if (!item->is_in_order || !other->is_in_order) return false; // an overdue timer may be anywhere among the due timers
  if (other->deadline != item->deadline) return other->deadline < item->deadline;
  return other->order < item->order;
}

static void check_beginning(const item *item) {
  const place *place = &places[item->place];
  REQUIRE(item->state == WAITS, "item %d runs in %d", item_number(item), item->state);
  REQUIRE(!item->is_timed || item->deadline <= fuzz_now, "item %d is early", item_number(item));
  REQUIRE(csched_target_current() == place->target, "item %d runs, and place %d is not current", item_number(item),
          item->place);
  REQUIRE(csched_loop_current() == loop_of(item)->loop, "item %d runs, and its loop is not current", item_number(item));
  for (int i = 0; i < ITEMS; i++)
    REQUIRE(!is_overtaken(&items[i], item), "item %d overtakes %d in place %d", item_number(item), i, item->place);
  if (place_is_queue(item->place)) {
    REQUIRE(place->suspensions == 0, "item %d runs, and queue %d is suspended", item_number(item), item->place);
    REQUIRE(!place_is_held(item->place), "item %d runs, and queue %d is busy", item_number(item), item->place);
  } else {
    REQUIRE(loop_of(item)->closing != 1 + CSCHED_STOP_DROP, "item %d runs, and its loop drops", item_number(item));
  }
}

// MARK: run, drop, release

static void run(csched_job *job) {
  item *item = (struct item *)job;
  place *place = &places[item->place];
  TRACE("%d runs in %d", item_number(item), item->place);
  check_beginning(item);
  loop_of(item)->is_quiet = false; // its run may have delivered timers to queues
  uint64_t order = item->order;
  item->state = RUNS;
  item->ran++;
  place->inside++;
  act_some(3);
  place->inside--;
  if (item->state == RUNS && item->order == order) item->state = ENDS; // else it was submitted again
}

static void drop(csched_job *job) {
  item *item = (struct item *)job;
  REQUIRE(item->state == WAITS, "item %d is dropped in %d", item_number(item), item->state);
  TRACE("%d is dropped", item_number(item));
  item->state = DROPS;
  item->dropped++;
  act_lightly();
  REQUIRE(item->state == DROPS, "item %d is in %d after its drop", item_number(item), item->state);
  item->state = DROPPED;
}

static void release(csched_job *job) {
  item *item = (struct item *)job;
  REQUIRE(item->state == ENDS || item->state == DROPPED, "item %d is released in %d", item_number(item), item->state);
  REQUIRE(csched_job_is_idle(job), "item %d is released, and not idle", item_number(item));
  item->state = IDLE;
  item->released++;
  act_lightly();
}

static const csched_job_type type = {run, drop, release};

void items_begin(void) {
  last_order = 0;
  memset(items, 0, sizeof items);
  for (int i = 0; i < ITEMS; i++) csched_timer_init(&items[i].timer, &type, NULL);
}

// MARK: submitting

// A batch takes the timers that waited when it began. An overdue timer, which may come during or after a batch of this
// nanosecond, may have to wait for a later batch.
static void set_deadline(item *item, csched_time deadline) {
  const loop *loop = loop_of(item);
  item->deadline = item->due_by = deadline;
  item->was_late = deadline <= fuzz_now;
  item->is_in_order = !item->was_late;
  if (item->was_late && (loop->runs > 0 || loop->ran_at == fuzz_now)) item->due_by = fuzz_now + 1;
}

static int submit_now(item *item, int at) {
  csched_job *job = &item->timer.job;
  if (fuzz_below(4) == 0) return csched_target_submit(places[at].target, job);
  if (place_is_queue(at)) return csched_target_submit(csched_serial_target(places[at].queue), job);
  return csched_target_submit(csched_loop_target(loop_of(item)->loop), job);
}

static int submit_at(item *item, int at) {
  csched_time deadline = item->deadline, leeway = item->leeway;
  csched_timer *timer = &item->timer;
  if (fuzz_below(4) == 0) return csched_target_submit_at(places[at].target, timer, deadline, leeway);
  if (place_is_queue(at))
    return csched_target_submit_at(csched_serial_target(places[at].queue), timer, deadline, leeway);
  if (leeway == 0) return csched_target_submit_at(csched_loop_target(loop_of(item)->loop), timer, deadline, 0);
  return csched_target_submit_at(csched_loop_target(loop_of(item)->loop), timer, deadline, leeway);
}

static void check_answer(const item *item, int at, uint64_t order, int answer) {
  bool is_closing = loops[places[at].loop].closing != 0;
  REQUIRE(answer == 0 || answer == ECANCELED, "submission of %d says %d", item_number(item), answer);
  if (!place_is_queue(at) || !is_closing) // a queue may accept a job that it drops later
    REQUIRE((answer != 0) == is_closing, "submission of %d to %d says %d", item_number(item), at, answer);
  if (answer != 0 && item->order == order) // else it was submitted again by its own release
    REQUIRE(item->state == IDLE, "item %d was refused, and is in %d", item_number(item), item->state);
}

void item_submit(item *item, int at, bool is_timed) {
  if ((item->state != IDLE && item->state != RUNS) || at == NOWHERE) return;
  if (item->state == RUNS) item->released++; // J4: this run has no release of its own
  if (item->state == IDLE && fuzz_below(8) == 0) csched_timer_init(&item->timer, &type, NULL);
  item->state = WAITS;
  item->place = at;
  uint64_t order = item->order = ++last_order;
  item->submitted++;
  item->is_timed = is_timed;
  set_deadline(item, is_timed ? fuzz_instant(fuzz_now) : 0);
  item->leeway = is_timed && fuzz_below(3) == 0 ? fuzz_span() : 0;
  if (place_is_queue(at)) loop_of(item)->is_quiet = false;
  if (is_timed)
    TRACE("submit %d to %d at %llu + %llu", item_number(item), at, (unsigned long long)item->deadline,
          (unsigned long long)item->leeway);
  else TRACE("submit %d to %d", item_number(item), at);
  int answer = is_timed ? submit_at(item, at) : submit_now(item, at);
  check_answer(item, at, order, answer);
}

void item_rearm(item *item, int at) {
  csched_time deadline = fuzz_instant(fuzz_now);
  bool may_be_here =
      is_pending(item) || item->state == DROPS; // a cancelled one waits on, if only its job was cancelled
  bool is_here = may_be_here && item->is_timed && places[item->place].loop == at;
  bool is_sure = is_here && item->state == WAITS && item_is_among_timers(item);
  bool is_moved = csched_loop_rearm(loops[at].loop, &item->timer, deadline);
  TRACE("rearm %d in loop %d to %llu: %d", item_number(item), at, (unsigned long long)deadline, is_moved);
  REQUIRE(is_moved ? is_here : !is_sure, "rearm of %d in loop %d says %d", item_number(item), at, is_moved);
  if (!is_moved) return;
  if (place_is_queue(item->place)) loop_of(item)->is_quiet = false; // it may have come to its queue
  set_deadline(item, deadline);
  item->order = ++last_order;
}

// MARK: cancelling

static csched_cancel_result call_cancel(item *item, bool as_timer, bool waits) {
  if (as_timer) return csched_timer_cancel(&item->timer);
  return waits ? csched_job_cancel_and_wait(&item->timer.job) : csched_job_cancel(&item->timer.job);
}

void item_cancel(item *item, bool as_timer, bool waits) {
  item_state before = item->state;
  if (item_number(item) >= TIMERS) as_timer = false;
  // csched_job_cancel leaves a timer where it waits, until its deadline, and a queue must not be destroyed before that.
  if (item->is_timed && place_is_queue(item->place)) as_timer = true;
  bool leaves = as_timer && before == WAITS && item_is_among_timers(item);
  uint64_t order = item->order;
  csched_cancel_result result = call_cancel(item, as_timer, waits);
  TRACE("cancel %d in %d: %d", item_number(item), before, (int)result);
  csched_cancel_result expected = before == WAITS  ? CSCHED_CANCEL_DROPPED
                                  : before == RUNS ? CSCHED_CANCEL_RUNNING
                                                   : CSCHED_CANCEL_FINISHED;
  REQUIRE(result == expected, "cancel of %d in %d says %d", item_number(item), before, (int)result);
  if (leaves && item->order == order)
    REQUIRE(item->state == IDLE, "timer %d was cancelled, and is not released", item_number(item));
}
