#include "task_testing.h"

#include "../../Sources/CScheduler/targets/task_job.h"

#include <CScheduler/virtual.h>

places make_places(void) {
  places made = {.thread = start_thread("tasks")};
  csched_pool_options options = {.workers = 2};
  CHECK_EQUAL(csched_pool_create(&made.pool, &options), 0);
  CHECK_EQUAL(csched_serial_create(&made.on_thread, csched_thread_target(made.thread)), 0);
  CHECK_EQUAL(csched_serial_create(&made.on_pool, csched_pool_target(made.pool, CSCHED_PRIORITY_DEFAULT)), 0);
  made.targets[0] = csched_thread_target(made.thread);
  made.targets[1] = csched_pool_target(made.pool, CSCHED_PRIORITY_DEFAULT);
  made.targets[2] = csched_serial_target(made.on_thread);
  made.targets[3] = csched_serial_target(made.on_pool);
  return made;
}

void end_places(places *made, csched_stop_policy policy) {
  csched_thread_stop(made->thread, policy);
  csched_thread_join(made->thread);
  csched_pool_stop(made->pool, policy);
  csched_pool_join(made->pool);
  csched_serial_destroy(made->on_thread);
  csched_serial_destroy(made->on_pool);
  csched_thread_destroy(made->thread);
  csched_pool_destroy(made->pool);
}

// MARK: once

static void task_delayed(int rounds) {
  places made = make_places();
  for (int i = 0; i < PLACES * rounds; i++) {
    csched_target *target = made.targets[i % PLACES];
    record soon = {.earliest = csched_now() + MS}, after = {.earliest = soon.earliest}, far = {0}, never = {0},
           wall = {0};
    csched_task tasks[] = {
        submit_at(target, soon.earliest, &soon),
        csched_target_async_after(target, MS, count_run, &after),
        submit_at(target, soon.earliest + 3600000 * MS, &far),
        csched_target_async_after(target, CSCHED_FOREVER, count_run, &never),
        csched_target_async_at_or_drop(target, CSCHED_CLOCK_WALL, csched_clock_now(CSCHED_CLOCK_WALL) + 3600000 * MS,
                                       MS, count_run, count_drop, &wall),
    };
    for (int j = 2; j < 5; j++) {
      CHECK(!csched_task_is_over(tasks[j]));
      CHECK_EQUAL(csched_task_cancel(tasks[j]), CSCHED_CANCEL_DROPPED);
      CHECK(csched_task_is_over(tasks[j]));
      CHECK_EQUAL(csched_task_cancel_and_wait(tasks[j]), CSCHED_CANCEL_FINISHED);
    }
    CHECK(atomic_load(&far.drops) == 1 && atomic_load(&far.reason) == CSCHED_DROP_CANCELLED &&
          atomic_load(&wall.drops) == 1);
    CHECK_SOON(csched_task_is_over(tasks[0]) && csched_task_is_over(tasks[1]));
    CHECK(atomic_load(&soon.runs) == 1 && atomic_load(&after.runs) == 1 && atomic_load(&soon.drops) == 0);
    CHECK(atomic_load(&far.runs) + atomic_load(&never.runs) + atomic_load(&wall.runs) == 0);
  }
  end_places(&made, CSCHED_STOP_RUN);
}

static void task_delayed_dropped(void) {
  places made = make_places();
  record stopped[PLACES] = {{0}}, refused[PLACES] = {{0}};
  csched_task tasks[PLACES];
  for (int i = 0; i < PLACES; i++) tasks[i] = submit_at(made.targets[i], CSCHED_FOREVER, &stopped[i]);
  csched_thread_stop(made.thread, CSCHED_STOP_DROP);
  csched_thread_join(made.thread);
  csched_pool_stop(made.pool, CSCHED_STOP_DROP);
  csched_pool_join(made.pool);
  for (int i = 0; i < PLACES; i++) {
    CHECK_SOON(csched_task_is_over(tasks[i]));
    CHECK(atomic_load(&stopped[i].drops) == 1 && atomic_load(&stopped[i].reason) == CSCHED_DROP_STOPPED);
    csched_task task = submit_at(made.targets[i], csched_now() + MS, &refused[i]);
    CHECK(task.job == NULL && csched_task_is_over(task));
    CHECK(atomic_load(&refused[i].drops) == 1 && atomic_load(&refused[i].reason) == CSCHED_DROP_REFUSED);
    CHECK(csched_task_is_over(csched_target_async_after(made.targets[i], MS, count_run, &refused[i])));
    CHECK_EQUAL(atomic_load(&stopped[i].runs) + atomic_load(&refused[i].runs), 0);
  }
  end_places(&made, CSCHED_STOP_DROP);
}

TEST("a delayed task is cancelled at once, wherever it waits") { // TK2, TK5
  task_delayed(times(8));
  task_delayed_dropped();
}

enum { TASKS = 256 };

typedef struct race {
  record records[TASKS];
  csched_task tasks[TASKS];
  atomic_int won, submitted;
} race;

static void cancel_all(int index, void *context) {
  race *race = context;
  for (int i = index; i < TASKS; i++) {
    WAIT_WHILE(atomic_load_explicit(&race->submitted, memory_order_acquire) <= i);
    csched_cancel_result result =
        index % 2 == 0 ? csched_task_cancel(race->tasks[i]) : csched_task_cancel_and_wait(race->tasks[i]);
    if (result == CSCHED_CANCEL_DROPPED) atomic_fetch_add(&race->won, 1);
    if (index % 2 == 1) CHECK(csched_task_is_over(race->tasks[i]));
  }
}

static void task_delayed_exactly_once(int rounds, uint64_t seed) {
  places made = make_places();
  for (int round = 0; round < rounds; round++) {
    race race = {.won = 0};
    crew crew;
    crew_start(&crew, 2, cancel_all, &race);
    for (int i = 0; i < TASKS; i++) {
      csched_time deadline = race.records[i].earliest = csched_now() + chance_below(&seed, 100 * US);
      race.tasks[i] = submit_at(made.targets[round % PLACES], deadline, &race.records[i]);
      atomic_store_explicit(&race.submitted, i + 1, memory_order_release);
    }
    crew_join(&crew);
    int drops = 0;
    for (int i = 0; i < TASKS; i++) {
      CHECK_SOON(csched_task_is_over(race.tasks[i]));
      drops += atomic_load(&race.records[i].drops);
      CHECK_EQUAL(atomic_load(&race.records[i].runs) + atomic_load(&race.records[i].drops), 1);
    }
    CHECK_EQUAL(atomic_load(&race.won), drops);
  }
  end_places(&made, CSCHED_STOP_RUN);
}

TEST("a delayed task runs or is dropped, once") { task_delayed_exactly_once(times(100), seed()); }

// MARK: again and again

// The example of PeriodicTiming in the Swift module: the tick of 20 came at 45, or came in time and ended at 45.
static void timing_next(void) {
  static const struct {
    csched_pace pace;
    csched_time last, begun, ended, next;
  } table[] = {
      {CSCHED_PACE_COALESCE, 20, 45, 45, 50}, {CSCHED_PACE_COALESCE, 20, 20, 45, 40},
      {CSCHED_PACE_COALESCE, 20, 20, 20, 30}, {CSCHED_PACE_CATCH_UP, 20, 45, 45, 30},
      {CSCHED_PACE_CATCH_UP, 20, 20, 45, 30}, {CSCHED_PACE_SKIP, 20, 45, 45, 50},
      {CSCHED_PACE_SKIP, 20, 20, 45, 50},     {CSCHED_PACE_SKIP, 20, 20, 20, 30},
      {CSCHED_PACE_DELAY, 20, 45, 47, 57},    {CSCHED_PACE_COALESCE, 20, 10, 15, 30},
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    csched_timing timing = {.period = 10, .pace = table[i].pace};
    CHECK_EQUAL(csched_timing_next(&timing, table[i].last, table[i].begun, table[i].ended), table[i].next);
    CHECK_EQUAL(csched_timing_next(&timing, CSCHED_FOREVER, table[i].begun, table[i].ended), CSCHED_FOREVER);
    timing.period = CSCHED_FOREVER;
    CHECK_EQUAL(csched_timing_next(&timing, table[i].last, table[i].begun, table[i].ended), CSCHED_FOREVER);
    timing.period = 0;
    csched_time at_once = table[i].ended > table[i].last ? table[i].ended : table[i].last;
    CHECK_EQUAL(csched_timing_next(&timing, table[i].last, table[i].begun, table[i].ended), at_once);
    CHECK_EQUAL(csched_timing_next(&timing, CSCHED_FOREVER, table[i].begun, table[i].ended), CSCHED_FOREVER);
  }
}

typedef struct ticker {
  record record;
  csched_task task;
  csched_virtual *timeline;
  csched_time at[16];
  csched_time lasts; // how long a tick takes
  int cancels_at;
} ticker;

static void tick(void *context) {
  ticker *ticker = context;
  int count = atomic_fetch_add(&ticker->record.runs, 1);
  if (count < 16) ticker->at[count] = csched_virtual_now(ticker->timeline);
  csched_virtual_skip_to(ticker->timeline, csched_virtual_now(ticker->timeline) + ticker->lasts);
  if (count + 1 != ticker->cancels_at) return;
  CHECK_EQUAL(csched_task_cancel_and_wait(ticker->task), CSCHED_CANCEL_RUNNING);
  CHECK(csched_task_is_cancelled_(ticker->task) && !csched_task_is_over(ticker->task));
  CHECK_EQUAL(atomic_load(&ticker->record.drops), 0);
}

static void drop_ticker(void *context, csched_drop_reason reason) { count_drop(&((ticker *)context)->record, reason); }

static void start_ticker(ticker *ticker, csched_timing timing) {
  CHECK_EQUAL(csched_virtual_create(&ticker->timeline, 0, 1000), 0);
  ticker->task = csched_target_async_every(csched_virtual_target(ticker->timeline), &timing, tick, drop_ticker, ticker);
}

static void task_repeating_in_virtual_time(void) {
  ticker grid = {.lasts = 0}, slow = {.lasts = 25}, once = {.lasts = 0}, inside = {.cancels_at = 3};
  start_ticker(&grid, (csched_timing){.first = 5, .period = 10});
  csched_virtual_run(grid.timeline); // for the first one only
  CHECK(atomic_load(&grid.record.runs) == 1 && csched_virtual_now(grid.timeline) == 5);
  csched_virtual_advance_to(grid.timeline, 45);
  CHECK(atomic_load(&grid.record.runs) == 5 && grid.at[4] == 45 && atomic_load(&grid.record.drops) == 0);
  CHECK_EQUAL(csched_task_cancel(grid.task), CSCHED_CANCEL_DROPPED);
  CHECK(csched_task_is_over(grid.task) && atomic_load(&grid.record.reason) == CSCHED_DROP_CANCELLED);
  csched_virtual_advance(grid.timeline, 100);
  CHECK(atomic_load(&grid.record.runs) == 5 && atomic_load(&grid.record.drops) == 1);
  CHECK_EQUAL(csched_virtual_pending(grid.timeline), 0);

  start_ticker(&slow, (csched_timing){.first = 0, .period = 10, .pace = CSCHED_PACE_DELAY});
  csched_virtual_advance_to(slow.timeline, 70);
  CHECK(slow.at[1] == 35 && slow.at[2] == 70 && atomic_load(&slow.record.runs) == 3);
  csched_virtual_destroy(slow.timeline);
  CHECK(atomic_load(&slow.record.drops) == 1 && atomic_load(&slow.record.reason) == CSCHED_DROP_STOPPED);
  CHECK(csched_task_is_over(slow.task) && csched_task_cancel(slow.task) == CSCHED_CANCEL_FINISHED);

  start_ticker(&once, (csched_timing){.first = 3, .period = 0}); // which does not move time
  csched_virtual_advance(once.timeline, 100);
  CHECK(atomic_load(&once.record.runs) == 1 && !csched_task_is_over(once.task));
  csched_task_cancel(once.task);
  CHECK_EQUAL(atomic_load(&once.record.drops), 1);

  start_ticker(&inside, (csched_timing){.first = 1, .period = 1});
  csched_virtual_advance(inside.timeline, 100);
  CHECK(atomic_load(&inside.record.runs) == 3 && atomic_load(&inside.record.drops) == 1);
  CHECK(csched_task_is_over(inside.task) && atomic_load(&inside.record.reason) == CSCHED_DROP_CANCELLED);
  csched_virtual_destroy(grid.timeline);
  csched_virtual_destroy(once.timeline);
  csched_virtual_destroy(inside.timeline);
}

static void tick_alone(void *context) {
  record *record = context;
  CHECK_EQUAL(atomic_fetch_add(&record->reason, 1), 0); // never two at a time; `reason` is of the drop only afterwards
  count_run(context);
  CHECK_EQUAL(atomic_fetch_sub(&record->reason, 1), 1);
}

static void cancel_ticks(int index, void *context) {
  race *race = context;
  if (index == 0) nap(chance_below(&(uint64_t){csched_now()}, 200 * US));
  csched_task_cancel_and_wait(race->tasks[0]);
  int runs = atomic_load(&race->records[0].runs);
  CHECK(csched_task_is_over(race->tasks[0]) && atomic_load(&race->records[0].drops) == 1);
  if (index == 0) nap(50 * US);
  CHECK_EQUAL(atomic_load(&race->records[0].runs), runs);
}

static void task_repeating_cancelled(int rounds) {
  static const csched_time periods[] = {0, 1, 1000, 20000};
  places made = make_places();
  for (int round = 0; round < PLACES * rounds; round++) {
    race race = {.won = 0};
    csched_timing timing = {
        .first = csched_now(), .period = periods[round / PLACES % 4], .pace = (csched_pace)(round / PLACES % 4)};
    race.tasks[0] =
        csched_target_async_every(made.targets[round % PLACES], &timing, tick_alone, count_drop, &race.records[0]);
    crew_run(2, cancel_ticks, &race);
    CHECK_EQUAL(atomic_load(&race.records[0].reason), CSCHED_DROP_CANCELLED);
  }
  end_places(&made, CSCHED_STOP_RUN);
}

static void task_repeating_stopped(void) {
  places made = make_places();
  record records[PLACES] = {{0}};
  csched_task tasks[PLACES];
  csched_timing timing = {.first = csched_now(), .period = 10 * US};
  for (int i = 0; i < PLACES; i++)
    tasks[i] = csched_target_async_every(made.targets[i], &timing, count_run, count_drop, &records[i]);
  for (int i = 0; i < PLACES; i++) CHECK_SOON(atomic_load(&records[i].runs) >= 3);
  end_places(&made, CSCHED_STOP_DROP);
  for (int i = 0; i < PLACES; i++) {
    CHECK(csched_task_is_over(tasks[i]) && atomic_load(&records[i].drops) == 1);
    CHECK(atomic_load(&records[i].reason) != CSCHED_DROP_CANCELLED);
  }
}

TEST("a repeating task is not called after its cancel, and dropped once") { // TK5, TK6
  task_repeating_cancelled(few(times(200)));
  task_repeating_stopped();
}

// A custom target, which runs its jobs inside of the submission.
static csched_target *timekeeper;
static int perform_at_once(csched_target *target, csched_job *job) {
  csched_target_perform(target, job);
  return 0;
}
static int keep_time(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway) {
  (void)target;
  return timekeeper->type->deliver_at(timekeeper, timer, deadline, leeway);
}

static void task_repeating_at_once(void) {
  static const csched_target_type type = {.deliver = perform_at_once, .deliver_at = keep_time};
  csched_target at_once = {.type = &type};
  places made = make_places();
  record record = {.runs = 0};
  timekeeper = made.targets[1];
  csched_task task =
      csched_target_async_every(&at_once, &(csched_timing){.period = 0}, tick_alone, count_drop, &record);
  CHECK_SOON(atomic_load(&record.runs) >= 10); // tick after tick, not tick inside tick
  csched_task_cancel_and_wait(task);
  CHECK(csched_task_is_over(task) && atomic_load(&record.drops) == 1);
  end_places(&made, CSCHED_STOP_RUN);
}

TEST("a repeating task keeps its pace") {
  timing_next();
  task_repeating_in_virtual_time();
  task_repeating_at_once();
}

// MARK: jitter

typedef struct jittered {
  csched_time at[8];
  atomic_int count;
} jittered;

static void note_tick(void *context) {
  jittered *test = context;
  int count = atomic_load(&test->count);
  if (count < 8) test->at[count] = csched_now();
  atomic_store(&test->count, count + 1);
}

static void task_jitter(void) {
  enum { SHARES = 1000 };
  csched_time least = CSCHED_FOREVER, most = 0;
  for (int i = 0; i < SHARES; i++) { // shares of their own, over all of it
    csched_time due = csched_jittered_(1000, 1 << 20, &(&least)[i % 7]);
    CHECK(due >= 1000 && due <= 1000 + (1 << 20));
    if (due < least) least = due;
    if (due > most) most = due;
  }
  CHECK(least < 1000 + (1 << 17) && most > 1000 + 7 * (1 << 17));
  CHECK_EQUAL(csched_jittered_(5, 0, NULL), 5);
  CHECK(csched_jittered_(CSCHED_FOREVER, 5, NULL) == CSCHED_FOREVER);
  CHECK(csched_jittered_(5, CSCHED_FOREVER, NULL) >= 5); // and the end of time is not passed

  csched_thread *thread = start_thread("jitter");
  jittered test = {.count = 0};
  csched_timing timing = {.first = csched_now() + MS, .period = 3 * MS, .jitter = MS};
  csched_task task = csched_target_async_every(csched_thread_target(thread), &timing, note_tick, NULL, &test);
  CHECK_SOON(atomic_load(&test.count) >= 8);
  csched_task_cancel_and_wait(task);
  for (int i = 0; i < 8; i++) CHECK(test.at[i] >= timing.first + (csched_time)i * timing.period); // the grid stays
  stop_and_join(thread, CSCHED_STOP_RUN);

  csched_virtual *time = NULL; // where time is exact
  CHECK_EQUAL(csched_virtual_create(&time, 0, 0), 0);
  test.count = 0;
  timing.first = 10;
  csched_task ticks = csched_target_async_every(csched_virtual_target(time), &timing, note_tick, NULL, &test);
  csched_virtual_advance_to(time, 10);
  CHECK_EQUAL(atomic_load(&test.count), 1);
  csched_virtual_advance_to(time, 10 + timing.period);
  CHECK_EQUAL(atomic_load(&test.count), 2);
  csched_task_cancel(ticks);
  csched_virtual_destroy(time);
}

TEST("a jitter makes each call later by a share of its own, and leaves the grid") { task_jitter(); }
