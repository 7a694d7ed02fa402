// Combined operations: a hand-off with a fresh competitor, nested suspensions with syncs, stops of different kinds,
// timers that share a slot. They find faults that the checks of single operations did not find.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/job/job_internal.h"
#include "../../../Sources/CScheduler/sync/parking.h"
#include "../../../Sources/CScheduler/time/timer_internal.h"
#include "../../../Sources/CScheduler/platform/platform.h"

#include <string.h>

static model_cell guarded;
static int ran, dropped;
static uint32_t may_begin, users;
static uint32_t first_round_over;
static int results[2];

static void drop(csched_job *job) {
  (void)job;
  dropped++;
}
static void count(csched_job *job) {
  (void)job;
  ran++;
}
static const csched_job_type counted = {count, drop, NULL};

static void reset(void) {
  guarded = (model_cell){0};
  ran = dropped = may_begin = first_round_over = 0;
  results[0] = results[1] = -1;
}

// MARK: a hand-off, and a thread that comes at that moment

static csched_lock lock;
static csched_time let_go_at;

static void use(void) { model_write(&guarded, model_read(&guarded) + 1); }

static void hold_until_handed_over(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  use();
  while (csched_now() < let_go_at) csched_nap_(let_go_at - csched_now());
  csched_lock_unlock(&lock);
}
static void wait_long(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  use();
  csched_lock_unlock(&lock);
}
static void come_late(void *unused) {
  (void)unused;
  while (csched_now() < let_go_at) csched_nap_(let_go_at - csched_now());
  for (int i = 0; i < 3; i++) {
    if (!csched_lock_trylock(&lock)) continue;
    use();
    csched_lock_unlock(&lock);
  }
}
static void competitor_at_hand_off(void) {
  reset();
  lock = (csched_lock)CSCHED_LOCK_INIT;
  let_go_at = csched_now() + 2500000;
  csched_lock_starved_after_ = 0;
  model_spawn(hold_until_handed_over, NULL);
  model_spawn(wait_long, NULL);
  model_spawn(come_late, NULL);
}
static void nobody_has_it(void) { model_assert(lock.owner == 0 && guarded.value >= 2 && guarded.value <= 5); }

// MARK: timers of one slot

static csched_timers timers;
static csched_timer near_one, slow, quick;
static const csched_time TICK = UINT64_C(1) << 22;

static void add(csched_timer *timer, csched_time deadline, csched_time leeway) {
  csched_timer_init(timer, &counted, NULL);
  csched_job_submitted_(&timer->job, "add");
  model_assert(csched_timers_add_(&timers, timer, deadline, leeway) != CSCHED_TIMER_REFUSED);
}
static csched_timer *pop(csched_time now) {
  csched_timer *timer = csched_timers_pop_(&timers, now);
  if (timer != NULL) csched_job_discard_(&timer->job);
  return timer;
}
static void start_timers(void) {
  reset();
  memset(&timers, 0, sizeof timers);
  csched_timers_init_(&timers);
}
static void share_a_slot(void *unused) {
  (void)unused;
  add(&near_one, 10, 0);
  add(&slow, 5 * TICK, 1000 * TICK);
  add(&quick, 5 * TICK + 1, 0);
  model_assert(pop(10) == &near_one && pop(10) == NULL); // finds the wake anew
  model_assert(csched_load_relaxed(&timers.wake) <= 5 * TICK + 1);
  model_assert(pop(5 * TICK + 1) == &slow && pop(5 * TICK + 1) == &quick);
}
static void all_three(void) { model_assert(dropped == 3 && timers.pending == 0); }

static void begin_a_slot(void *unused) {
  (void)unused;
  add(&near_one, 5 * TICK, 0);
  add(&quick, (UINT64_C(1) << 6) * TICK, 0);
  model_assert(pop(5 * TICK) == &near_one);
  model_assert(pop((UINT64_C(1) << 6) * TICK) == &quick);
}
static void both_at_their_time(void) { model_assert(dropped == 2 && timers.pending == 0); }

// MARK: suspensions, and a sync

static csched_loop *loop;
static csched_serial *serial;
static csched_job jobs[3];

static void count_of_queue(csched_job *job) {
  model_assert(csched_fetch_add_relaxed(&may_begin, 0u) == 1); // the newest value
  count(job);
}
static const csched_job_type of_queue = {count_of_queue, drop, NULL};

// Counts a thread that has made its last call to the queue or the loop: then these may be destroyed.
static void one_is_done(void) { csched_fetch_add_release(&users, UINT32_MAX); }
static void wait_for_users(void) {
  while (csched_load_acquire(&users) != 0) csched_nap_(1000);
}
static void in_sync(void *unused) {
  (void)unused;
  model_assert(csched_fetch_add_relaxed(&may_begin, 0u) == 1); // the newest value
  ran++;
}
static void sync_with_suspended(void *unused) {
  (void)unused;
  model_assert(csched_serial_sync(serial, in_sync, NULL) == 0);
  one_is_done();
}
static void resume_twice(void *unused) {
  (void)unused;
  csched_nap_(50000);
  csched_serial_resume(serial);
  csched_nap_(50000);
  csched_store_relaxed(&may_begin, 1u);
  csched_serial_resume(serial);
  one_is_done();
}
// Suspended twice by itself, and once more by another job's submission beside it.
static void own_suspended_queue(void *syncs) {
  model_assert(csched_loop_create(&loop) == 0);
  model_assert(csched_serial_create(&serial, csched_loop_target(loop)) == 0);
  csched_serial_suspend(serial);
  csched_serial_suspend(serial);
  users = syncs != NULL ? 2 : 1;
  if (syncs != NULL) model_spawn(sync_with_suspended, NULL);
  for (int i = 0; i < 2; i++) {
    csched_job_init(&jobs[i], &of_queue, NULL);
    csched_target_submit(csched_serial_target(serial), &jobs[i]);
  }
  model_spawn(resume_twice, NULL);
  while (ran < (syncs != NULL ? 3 : 2))
    csched_loop_run_once(loop, CSCHED_FOREVER); // for ever, if the queue was forgotten
  wait_for_users();
  csched_serial_destroy(serial);
  csched_loop_destroy(loop);
}
static void two_ran(void) { model_assert(ran == 2 && dropped == 0); }
static void three_ran(void) { model_assert(ran == 3 && dropped == 0); }

// An idle queue on a loop of this thread's, which a sync could run inline: not while it is suspended.
static void resume_later(void *unused) {
  (void)unused;
  csched_nap_(50000);
  csched_store_relaxed(&may_begin, 1u);
  csched_serial_resume(serial);
  one_is_done();
}
static bool take_nothing(csched_target *unused) {
  (void)unused;
  return true;
}
static int run_at_once(csched_target *target, csched_job *job) {
  csched_target_perform(target, job);
  return 0;
}
static const csched_target_type inline_type = {.deliver = run_at_once, .enter = take_nothing};
static csched_target inline_target = {.type = &inline_type};

static void sync_while_suspended(void *unused) {
  (void)unused;
  model_assert(csched_serial_create(&serial, &inline_target) == 0);
  csched_serial_suspend(serial);
  users = 1;
  model_spawn(resume_later, NULL);
  model_assert(csched_serial_sync(serial, in_sync, NULL) == 0);
  wait_for_users();
  csched_serial_destroy(serial);
}
static void one_ran(void) { model_assert(ran == 1); }

// MARK: waits that are over

static csched_serial *first, *second;
static csched_thread *threads[2];

static void nothing(void *unused) { (void)unused; }
static void second_waits(csched_job *job) {
  (void)job;
  while (csched_load_acquire(&first_round_over) == 0) csched_nap_(1000);
  results[1] = csched_serial_sync(first, nothing, NULL);
}
static void busy(csched_job *job) {
  (void)job;
  csched_nap_(20000);
}
static void first_waits(csched_job *job) {
  (void)job;
  results[0] = csched_serial_sync(second, nothing, NULL); // in line: the second one is busy
  csched_store_release(&first_round_over, 1u);
}
static const csched_job_type busy_type = {busy, drop, NULL}, first_type = {first_waits, drop, NULL},
                             second_type = {second_waits, drop, NULL};
static void wait_one_after_the_other(void *unused) {
  (void)unused;
  for (int i = 0; i < 2; i++) model_assert(csched_thread_start(&threads[i], NULL) == 0);
  model_assert(csched_serial_create(&first, csched_loop_target(csched_thread_loop(threads[0]))) == 0);
  model_assert(csched_serial_create(&second, csched_loop_target(csched_thread_loop(threads[1]))) == 0);
  csched_job_init(&jobs[0], &busy_type, NULL);
  csched_job_init(&jobs[1], &first_type, NULL);
  csched_job_init(&jobs[2], &second_type, NULL);
  csched_target_submit(csched_serial_target(second), &jobs[0]);
  csched_target_submit(csched_serial_target(first), &jobs[1]);
  while (csched_load_acquire(&first_round_over) == 0) csched_nap_(1000);
  csched_target_submit(csched_serial_target(second), &jobs[2]);
  for (int i = 0; i < 2; i++) csched_thread_stop(threads[1 - i], CSCHED_STOP_RUN);
  model_assert(csched_thread_join(threads[1]) == 0 && csched_thread_join(threads[0]) == 0);
  csched_serial_destroy(first);
  csched_serial_destroy(second);
  for (int i = 0; i < 2; i++) csched_thread_destroy(threads[i]);
}
static void neither_deadlocks(void) { model_assert(results[0] == 0 && results[1] != 35); }

// MARK: stops of different kinds

static void close_by_drop(csched_job *job) {
  count(job);
  csched_loop_close(loop, CSCHED_STOP_DROP);
}
static const csched_job_type closing = {close_by_drop, drop, NULL};

static void drop_after_run(void *unused) {
  (void)unused;
  model_assert(csched_loop_create(&loop) == 0);
  for (int i = 0; i < 3; i++) {
    csched_job_init(&jobs[i], i == 0 ? &closing : &counted, NULL);
    csched_target_submit(csched_loop_target(loop), &jobs[i]);
  }
  csched_loop_close(loop, CSCHED_STOP_RUN);
  model_assert(csched_loop_run(loop) == CSCHED_RUN_CLOSED);
  csched_loop_destroy(loop);
}
static void first_ran(void) { model_assert(ran == 1 && dropped == 2); }

static csched_activation activation;
static void stop_activation(void *unused) {
  (void)unused;
  csched_activation_end_run(&activation);
  csched_loop_end_run(loop);
  one_is_done();
}
static void two_stops(void *unused) {
  (void)unused;
  model_assert(csched_loop_create(&loop) == 0);
  csched_activation_init(&activation, loop);
  users = 1;
  model_spawn(stop_activation, NULL);
  model_assert(csched_loop_run_activation(loop, &activation, CSCHED_FOREVER) == CSCHED_RUN_ENDED);
  model_assert(csched_loop_run(loop) == CSCHED_RUN_ENDED); // for ever, if the first run took the other's stop
  wait_for_users();
  csched_loop_destroy(loop);
}

static void stop_run_once(void *unused) {
  (void)unused;
  model_assert(csched_loop_create(&loop) == 0);
  csched_loop_end_run(loop);
  model_assert(!csched_loop_run_once(loop, CSCHED_FOREVER));
  model_assert(csched_loop_run_until(loop, csched_now() + 1000) == CSCHED_RUN_TIMED_OUT);
  csched_loop_destroy(loop);
}

const model_check mixed_checks[] = {
    {"mixed lock: a hand-off beside a fresh competitor", competitor_at_hand_off, nobody_has_it}, // LK1, LK7
    {"mixed timer: two of one slot, the later with less leeway", start_timers, all_three,
     THREADS({share_a_slot})},                                                                                    // W4
    {"mixed timer: due at the beginning of its slot", start_timers, both_at_their_time, THREADS({begin_a_slot})}, // W1
    {"mixed serial: suspended twice, submitted to, resumed twice", reset, two_ran,
     THREADS({own_suspended_queue})}, // SQ2, SQ3
    {"mixed serial: suspended twice, submitted to, waited for, resumed", reset, three_ran,
     THREADS({own_suspended_queue, true})}, // SQ2, SQ3
    {"mixed serial: a sync with an idle queue that is suspended", reset, one_ran,
     THREADS({sync_while_suspended})}, // SQ3
    {"mixed serial: a finished wait closes no circle", reset, neither_deadlocks,
     THREADS({wait_one_after_the_other})},                                                                        // SQ7
    {"mixed loop: closed to run, then to drop, by a job", reset, first_ran, THREADS({drop_after_run})},           // LP6
    {"mixed loop: an activation is stopped, and then the loop: two runs end", reset, NULL, THREADS({two_stops})}, // LP5
    {"mixed loop: a stop that has ended run_once is over", reset, NULL, THREADS({stop_run_once})},                // LP5
    {NULL, NULL, NULL},
};
