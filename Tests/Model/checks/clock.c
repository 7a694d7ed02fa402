// clock.c: CL1, CL2, CL4 to CL6, CL8; delivery.c; clock_delivery.c. The targets run jobs on the thread that delivers
// them, or are a loop. A thread that waits for the end of a job ends the clocks' thread, too; a missed wake is a
// deadlock, or comes an age too late.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/clock/clock_internal.h"
#include "../../../Sources/CScheduler/loop/delivery_internal.h"
#include "../../../Sources/CScheduler/job/job_internal.h"
#include "../../../Sources/CScheduler/pool/pool_internal.h"
#include "../../../Sources/CScheduler/platform/platform.h"

#include <errno.h>

enum { TIMERS = 2 };

static const csched_time SOON = 50000, AGE = (csched_time)1 << 40;

static csched_target direct;
static csched_timer timers[TIMERS];
static csched_clock clocks[TIMERS];
static csched_time due[TIMERS];
static csched_time submitted[TIMERS]; // when that had been done, by the monotonic clock
static csched_thread *thread;
static csched_loop *loop;
static uint32_t ran, released, order[TIMERS];
static uint32_t ended;  // how many of the spawned threads have ended
static uint32_t events; // futex: the sum of both
static int dropped, refused, wanted, others;
static bool in_turn;     // the jobs run one after the other, on whatever thread:
static model_cell owned; // so they may share this
static csched_cancel_result cancelled;
static csched_time overdue; // how late one may run

static void run(csched_job *job) {
  int i = (int)((csched_timer *)job - timers);
  model_assert(model_most(clocks[i]) >= due[i]); // never early
  csched_time since = csched_load_acquire(&submitted[i]), late = csched_clock_now(clocks[i]) - due[i];
  model_assert(since == 0 || late < overdue || csched_now() - since < overdue);
  if (in_turn) model_write(&owned, model_read(&owned) + 1);
  order[csched_fetch_add_acq_rel(&ran, 1u)] = (uint32_t)i;
}
static void drop(csched_job *job) {
  (void)job;
  dropped++;
}
static void tell(void) {
  csched_fetch_add_acq_rel(&events, 1u);
  csched_futex_wake_(&events, 1);
}
static void release(csched_job *job) {
  (void)job;
  csched_fetch_add_acq_rel(&released, 1u);
  tell();
}
static const csched_job_type type = {run, drop, release};

static int deliver(csched_target *target, csched_job *job) {
  csched_target_perform(target, job);
  return 0;
}
static int refuse(csched_target *target, csched_job *job) {
  (void)target;
  csched_target_discard(job);
  return ECANCELED;
}
// As if they were the library's: the clocks' thread calls them itself.
static const csched_target_type performing = {.deliver = deliver, .only_enqueues_ = true},
                                refusing = {.deliver = refuse, .only_enqueues_ = true};

// Waits until `wanted` jobs have been released and all spawned threads have ended. Then ends the clocks' thread.
static void wait_and_end(void *unused) {
  (void)unused;
  for (;;) {
    uint32_t seen = csched_load_acquire(&events);
    if (csched_load_acquire(&released) >= (uint32_t)wanted && csched_load_acquire(&ended) == (uint32_t)others) break;
    csched_futex_wait_(&events, seen, CSCHED_FOREVER);
  }
  csched_clocks_end_();
}

typedef struct other {
  void (*body)(void *);
  void *context;
} other;
static other other_bodies[4];
static void be_other(void *context) {
  other *each = context;
  each->body(each->context);
  csched_fetch_add_acq_rel(&ended, 1u);
  tell();
}
static void spawn(void (*body)(void *), void *context) {
  other_bodies[others] = (other){body, context};
  model_spawn(be_other, &other_bodies[others++]);
}

static void reset(int wants, csched_time late) {
  direct = (csched_target){.type = &performing};
  for (int i = 0; i < TIMERS; i++) {
    csched_timer_init(&timers[i], &type, NULL);
    clocks[i] = CSCHED_CLOCK_WALL;
    submitted[i] = 0;
  }
  ran = released = ended = events = 0;
  dropped = refused = others = 0;
  in_turn = false;
  owned = (model_cell){0};
  cancelled = CSCHED_CANCEL_FINISHED;
  wanted = wants;
  overdue = late;
}
static void begin(int wants, csched_time late) {
  reset(wants, late);
  model_spawn(wait_and_end, NULL);
}

static void submit(int i, csched_time span) {
  due[i] = csched_clock_now(clocks[i]) + span;
  if (csched_target_submit_at_clock(&direct, clocks[i], &timers[i], due[i], 0) != 0) refused++;
  csched_store_release(&submitted[i], csched_now());
}
static void submit_soon(void *i) { submit((int)(intptr_t)i, SOON * (csched_time)(1 + (intptr_t)i)); }
static void submit_in_an_age(void *i) { submit((int)(intptr_t)i, AGE); }

// MARK: clocks that are set

static void set_by(void *by) { model_set_clock(CSCHED_CLOCK_WALL, (int64_t)(intptr_t)by); }

static void set_forwards(void) {
  begin(1, CSCHED_FOREVER);
  spawn(submit_in_an_age, (void *)0);
  spawn(set_by, (void *)(intptr_t)(2 * AGE));
}
static void set_back(void) {
  begin(1, AGE);
  spawn(submit_soon, (void *)0);
  spawn(set_by, (void *)(intptr_t)-1000000000);
}
static void set_there_and_back_again(void *unused) {
  (void)unused;
  set_by((void *)(intptr_t)(2 * AGE));
  set_by((void *)(intptr_t)(-2 * (intptr_t)AGE));
}
static void set_twice(void) {
  begin(1, 3 * AGE);
  spawn(submit_soon, (void *)0);
  spawn(set_there_and_back_again, NULL);
}
static void suspend(void *unused) {
  (void)unused;
  model_set_clock(CSCHED_CLOCK_BOOT, 1000000000);
}
static void suspended(void) {
  begin(2, CSCHED_FOREVER);
  clocks[0] = CSCHED_CLOCK_BOOT;
  spawn(submit_in_an_age, (void *)0);
  spawn(submit_soon, (void *)1);
  spawn(suspend, NULL);
}
static void all_ran(void) { model_assert(ran == (unsigned)wanted && dropped == 0); }

// MARK: several at a time

static void against_an_age(void) { // the later one's alarm must not outlast the earlier one's
  begin(1, AGE / 2);
  spawn(submit_soon, (void *)0);
  spawn(submit_in_an_age, (void *)1);
}
static void none_lost(void) { model_assert(ran + (unsigned)dropped == 2 && ran >= 1); } // the end drops far timers
static void submit_both(void *unused) {
  (void)unused;
  due[0] = due[1] = csched_clock_now(CSCHED_CLOCK_WALL) + SOON;
  for (int i = 0; i < TIMERS; i++)
    if (csched_target_submit_at_clock(&direct, CSCHED_CLOCK_WALL, &timers[i], due[i], 0) != 0) refused++;
}
static void equal(void) {
  begin(2, AGE);
  in_turn = true;
  spawn(submit_both, NULL);
}
static void in_order(void) {
  all_ran();
  model_assert(order[0] == 0 && order[1] == 1);
}
static void two_starts(void) {
  begin(2, AGE);
  spawn(submit_soon, (void *)0);
  spawn(submit_soon, (void *)1);
}

// One timer is submitted for the past of its clock again and again. The other timer is on the other clock.
static int again, again_at_other;
static void ask_again(csched_job *job) {
  if (again++ == 100 || again_at_other >= 0) csched_fetch_add_acq_rel(&ran, 1u);
  else csched_target_submit_at_clock(&direct, CSCHED_CLOCK_WALL, (csched_timer *)job, 1, 0);
}
static void note_again(csched_job *job) {
  again_at_other = again;
  run(job);
}
static const csched_job_type asking = {ask_again, drop, NULL}, noting = {note_again, drop, release};
static void flood(void *unused) {
  (void)unused;
  csched_timer_init(&timers[0], &asking, NULL);
  csched_timer_init(&timers[1], &noting, NULL);
  submit(1, 4 * SOON); // it comes due in the middle of the flood
  submit(0, SOON);
}
static void beside_a_flood(void) {
  begin(1, CSCHED_FOREVER);
  clocks[1] = CSCHED_CLOCK_BOOT;
  again = 0;
  again_at_other = -1;
  spawn(flood, NULL);
}
static void not_starved(void) { model_assert(again_at_other >= 0 && again_at_other <= 64); }

// MARK: cancelled, refused

static void cancel(void *unused) {
  (void)unused;
  cancelled = csched_timer_cancel(&timers[0]);
}
static void submit_and_race(void *unused) {
  submit_soon(unused);
  spawn(cancel, NULL); // before it has come to its own end
}
static void cancel_race(void) {
  begin(1, AGE);
  spawn(submit_and_race, NULL);
}
static void once(void) {
  model_assert(ran + (unsigned)dropped == 1 && released == 1);
  model_assert((cancelled == CSCHED_CANCEL_DROPPED) == (dropped == 1));
}
static void submit_and_cancel(void *unused) {
  (void)unused;
  due[0] = CSCHED_FOREVER - 1;
  csched_target_submit_at_clock(&direct, CSCHED_CLOCK_WALL, &timers[0], due[0], 0);
  model_assert(csched_timer_cancel(&timers[0]) == CSCHED_CANCEL_DROPPED && dropped == 1);
  model_assert(csched_load_acquire(&released) == 1); // without waiting
}
static void cancel_far(void) {
  begin(1, AGE);
  spawn(submit_and_cancel, NULL);
}
static void target_refuses(void) {
  begin(1, AGE);
  direct.type = &refusing;
  spawn(submit_soon, (void *)0);
}
static void one_dropped(void) { model_assert(ran == 0 && dropped == 1 && refused == 0); }

static void submit_without_threads(void *unused) {
  (void)unused;
  model_refuse_threads(true);
  due[0] = csched_clock_now(CSCHED_CLOCK_WALL) + SOON;
  model_assert(csched_target_submit_at_clock(&direct, CSCHED_CLOCK_WALL, &timers[0], due[0], 0) == EAGAIN);
  model_assert(dropped == 1 && csched_load_acquire(&released) == 1);
  model_refuse_threads(false);
  submit_soon((void *)1);
}
static void no_thread(void) {
  begin(2, AGE);
  spawn(submit_without_threads, NULL);
}
static void second_ran(void) { model_assert(ran == 1 && order[0] == 1 && dropped == 1); }

// MARK: for a loop

static void stop_after(csched_job *job) {
  run(job);
  csched_thread_stop(thread, CSCHED_STOP_RUN);
}
static const csched_job_type stopping = {stop_after, drop, release};
static void own_a_thread(void *unused) {
  (void)unused;
  model_assert(csched_thread_start(&thread, NULL) == 0);
  csched_timer_init(&timers[0], &stopping, NULL);
  due[0] = csched_clock_now(CSCHED_CLOCK_WALL) + SOON;
  csched_target_submit_at_clock(csched_loop_target(csched_thread_loop(thread)), CSCHED_CLOCK_WALL, &timers[0], due[0],
                                0);
  csched_thread_join(thread);
  csched_thread_destroy(thread); // the clocks' thread may be in the middle of the delivery
}
static void on_a_loop(void) {
  begin(1, AGE);
  spawn(own_a_thread, NULL);
}

// MARK: a target of the user's

// Called by the submitter, or by a worker; never by the thread that keeps the time.
static uint32_t submitter;
static bool is_allowed_here(void) { return csched_pool_worker_here_ != NULL || csched_os_thread_id_() == submitter; }
static int deliver_by_user(csched_target *target, csched_job *job) {
  model_assert(is_allowed_here());
  model_write(&owned, model_read(&owned) + 1); // one at a time
  csched_target_perform(target, job);
  return 0;
}
static void drop_by_user(csched_job *job) {
  model_assert(is_allowed_here());
  drop(job);
}
static void release_by_user(csched_job *job) {
  model_assert(is_allowed_here());
  release(job);
}
static const csched_target_type users = {.deliver = deliver_by_user};
static const csched_job_type of_user = {run, drop_by_user, release_by_user};
static void begin_of_user(int wants, void (*body)(void *), void *context) {
  begin(wants, CSCHED_FOREVER);
  direct.type = &users;
  for (int i = 0; i < TIMERS; i++) csched_timer_init(&timers[i], &of_user, NULL);
  spawn(body, context);
}
// The second comes late, perhaps, while the first is on its way.
static void submit_two_of_user(void *unused) {
  submitter = csched_os_thread_id_();
  submit_both(unused);
}
static void carried(void) { begin_of_user(2, submit_two_of_user, NULL); }
static void submit_without_carriers(void *unused) {
  (void)unused;
  submitter = csched_os_thread_id_();
  submit(0, SOON);
  model_refuse_threads(true); // the clocks' thread is there
  csched_nap_(SOON + 10000);
  model_refuse_threads(false);
}
static void carried_later(void) { begin_of_user(1, submit_without_carriers, NULL); }
static void submit_to_refusing(void *unused) {
  (void)unused;
  submitter = UINT32_MAX; // none
  submit(0, SOON);
}
static void discarded(void) {
  begin_of_user(1, submit_to_refusing, NULL);
  direct.type = &refusing;
}

// MARK: deliveries: a thread that frees the target waits for their ends

static model_cell touched[2]; // by the delivery, after the push
static uint32_t pushed;       // futex

static int push_and_touch(csched_target *target, csched_job *job) {
  csched_target_perform(target, job);
  csched_store_release(&pushed, 1u);
  csched_futex_wake_(&pushed, 2);
  for (int i = 0; i < 2; i++) model_write(&touched[i], 1);
  return 0;
}
static const csched_target_type touching = {.deliver = push_and_touch, .only_enqueues_ = true};

static void make(void *unused) {
  (void)unused;
  csched_job_submitted_(&timers[0].job, "make");
  csched_delivery_deliver_tracked_(csched_clock_delivery_(), &timers[0]);
}
static void wait_and_touch(void *cell) {
  while (csched_load_acquire(&pushed) == 0) csched_futex_wait_(&pushed, 0, CSCHED_FOREVER);
  csched_delivery_await_();
  model_assert(model_read(cell) == 1);
}
static void reset_deliveries(const csched_target_type *kind) {
  reset(1, CSCHED_FOREVER);
  due[0] = 0;
  direct.type = kind;
  timers[0].target = &direct;
  pushed = 0;
  for (int i = 0; i < 2; i++) touched[i] = (model_cell){0};
  model_spawn(make, NULL);
}
static void two_ends(void) {
  reset_deliveries(&touching);
  for (int i = 0; i < 2; i++) model_spawn(wait_and_touch, &touched[i]);
}

static void own_a_loop(void *unused) {
  (void)unused;
  while (csched_load_acquire(&ran) == 0) csched_loop_run_until(loop, csched_time_after(csched_now(), 100000));
  csched_loop_destroy(loop);
}
static void start_loop(void *unused) {
  (void)unused;
  model_assert(csched_loop_create(&loop) == 0);
  timers[0].target = csched_loop_target(loop);
  model_spawn(make, NULL);
  own_a_loop(NULL);
}
static void loop_end(void) {
  reset(1, CSCHED_FOREVER);
  due[0] = 0;
  model_spawn(start_loop, NULL);
}

static csched_pool *pool;
static void own_a_pool(void *unused) {
  (void)unused;
  model_assert(csched_pool_create(&pool, &(csched_pool_options){.workers = 1, .most_threads = 1}) == 0);
  timers[0].target = csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT);
  model_spawn(make, NULL);
  uint32_t seen;
  while ((seen = csched_load_acquire(&events)) == 0) csched_futex_wait_(&events, seen, CSCHED_FOREVER);
  csched_pool_destroy(pool);
}
static void pool_end(void) {
  reset(1, CSCHED_FOREVER);
  due[0] = 0;
  model_spawn(own_a_pool, NULL);
}

const model_check clock_checks[] = {
    {"clock: set past the deadline", set_forwards, all_ran},                               // CL1, CL2
    {"clock: set back before the deadline, or during the check", set_back, all_ran},       // CL1, CL2
    {"clock: set past the deadline and back again", set_twice, all_ran},                   // CL1, CL2
    {"clock: two clocks, and a suspension", suspended, all_ran},                           // CL1, CL2
    {"clock: an earlier instant beside a later one", against_an_age, none_lost},           // CL2
    {"clock: equal instants come in order", equal, in_order},                              // CL6
    {"clock: a flood of one clock does not delay another", beside_a_flood, not_starved},   // CL8
    {"clock: two first submissions start one thread", two_starts, all_ran},                // CL2, CL4
    {"clock: cancelled while it comes due: run or dropped, once", cancel_race, once},      // CL5
    {"clock: cancelled far from its instant: gone at once", cancel_far, one_dropped},      // CL5
    {"clock: the target refuses: dropped", target_refuses, one_dropped},                   // CL5
    {"clock: no thread: dropped, and the next tries again", no_thread, second_ran},        // CL4
    {"clock: a delivery that ends its loop, which is freed", on_a_loop, all_ran},          // CL2, CL5, DV1, DV2
    {"clock: a custom target is notified by a worker, in order", carried, in_order},       // DV3, DV4, CC1, MN6
    {"clock: without a worker a custom target is notified later", carried_later, all_ran}, // CC2
    {"clock: a refused job is dropped by a worker", discarded, one_dropped},               // DV3, CC1
    {"delivery: two threads wait for its end", two_ends, NULL},                            // DV1, DV2
    {"delivery: a loop is freed after it", loop_end, NULL},                                // DV1
    {"delivery: a pool is freed after it", pool_end, NULL},                                // DV1
    {NULL, NULL, NULL},
};
