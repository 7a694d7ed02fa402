// timer.c: W1, W4 to W8, by itself and under a loop.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/job/job_internal.h"
#include "../../../Sources/CScheduler/time/timer_internal.h"
#include "../../../Sources/CScheduler/platform/platform.h"

#include <stdlib.h>
#include <string.h>

static csched_timer timer;
static csched_thread *thread;
static model_cell owned;
static int ran, dropped, accepted, refused;

static void run(csched_job *job) {
  (void)job;
  ran++;
  model_write(&owned, model_read(&owned) + 1); // the thread's own: no lock
}
static void drop(csched_job *job) {
  (void)job;
  dropped++;
}
static const csched_job_type type = {run, drop, NULL};

static void reset(void) {
  csched_timer_init(&timer, &type, NULL);
  owned = (model_cell){0};
  ran = dropped = accepted = refused = 0;
}
static void answer(int result) {
  if (result == 0) accepted++;
  else refused++;
}
static void cancel_timer(void *unused) {
  (void)unused;
  csched_timer_cancel(&timer);
}
static void once(void) {
  model_assert(ran + dropped == 1);
  csched_thread_destroy(thread);
}

static bool moved;
static void move_timer(void *unused) {
  (void)unused;
  moved = csched_loop_rearm(csched_thread_loop(thread), &timer, csched_time_after(csched_now(), 20000));
}
static void run_and_stop(csched_job *job) {
  run(job);
  csched_thread_stop(thread, CSCHED_STOP_RUN);
}
static const csched_job_type stopping = {run_and_stop, drop, NULL};
static void own_a_moving_timer(void *first) {
  csched_timer_init(&timer, &stopping, NULL);
  model_assert(csched_thread_start(&thread, NULL) == 0);
  csched_time due = first == NULL ? CSCHED_FOREVER : csched_time_after(csched_now(), 30000);
  answer(csched_target_submit_at(csched_thread_target(thread), &timer, due, 0));
  model_spawn(move_timer, NULL);
  csched_thread_join(thread); // never, if the wake is missed
  model_assert(ran == 1);
}
static void moved_once(void) {
  model_assert(moved);
  once();
}

static void submit_timer_from_outside(void *unused) {
  (void)unused;
  answer(csched_target_submit_at(csched_thread_target(thread), &timer, csched_time_after(csched_now(), 40000), 0));
}
static void own_against_timer(void *unused) {
  (void)unused;
  model_assert(csched_thread_start(&thread, NULL) == 0);
  model_spawn(submit_timer_from_outside, NULL);
  csched_thread_stop(thread, CSCHED_STOP_RUN);
  model_assert(csched_thread_join(thread) == 0);
}

// One timer goes from one owner to another, beside its cancel.
static csched_timers owners[2];
static int released;
static void release(csched_job *job) {
  (void)job;
  released++;
}
static void go_on(csched_job *job) {
  ran++;
  csched_job_submitted_(job, "go_on");
  csched_timers_add_(&owners[1], &timer, 20, 0);
}
static const csched_job_type going = {go_on, drop, release};
static void own_both(void *unused) {
  (void)unused;
  csched_job_submitted_(&timer.job, "own_both");
  csched_timers_add_(&owners[0], &timer, 10, 0);
  csched_timer *due = csched_timers_pop_(&owners[0], 10);
  if (due != NULL) csched_job_perform_(&due->job);
}
static void change_owners(void) {
  reset();
  released = 0;
  csched_timer_init(&timer, &going, NULL);
  for (int i = 0; i < 2; i++) {
    memset(&owners[i], 0, sizeof owners[i]);
    csched_timers_init_(&owners[i]);
  }
  model_spawn(own_both, NULL);
  model_spawn(cancel_timer, NULL);
}
static void left_once(void) {
  model_assert(owners[0].pending == 0 && owners[1].pending <= 1 && ran <= 1 && dropped <= 1);
  csched_timer *left = csched_timers_pop_(&owners[1], 20);
  model_assert((left == NULL) == (owners[1].last_order == 0 || released == 1));
  if (left != NULL) csched_job_discard_(&left->job);
  model_assert(dropped == 1 && released == 1);
}

// Cancelled before or after its insertion: the timer does not stay, though its deadline is far.
static const csched_job_type counted = {run, drop, release};
static int results;
static void submit_far(void *far) {
  csched_job_submitted_(&timer.job, "submit_far");
  results += csched_timers_add_(&owners[0], &timer, far != NULL ? CSCHED_FOREVER : 20, 0) != CSCHED_TIMER_REFUSED;
}
static void cancel_until_dropped(void *unused) {
  (void)unused;
  while (csched_timer_cancel(&timer) != CSCHED_CANCEL_DROPPED) csched_nap_(1000);
}
static void begin(void) {
  reset();
  released = results = 0;
  csched_timer_init(&timer, &counted, NULL);
  memset(&owners[0], 0, sizeof owners[0]);
  csched_timers_init_(&owners[0]);
}
static void submit_again(void *unused) {
  submit_far(unused);
  while (!csched_job_is_idle(&timer.job)) csched_nap_(1000);
  submit_far(unused);
}
static void second_stays(void) {
  model_assert(results == 2 && ran == 0 && dropped == 1 && released == 1 && owners[0].pending == 1);
}
static void gone(void) {
  model_assert(results == 1 && ran == 0 && dropped == 1 && released == 1);
  model_assert(owners[0].pending == 0 && csched_timers_pop_(&owners[0], CSCHED_FOREVER) == NULL);
}

// A cancelled entry has made the wake earlier, and another timer is due between the new and the old wake. The sleeper
// is notified of one of the two.
static csched_timer early_one, far_one;
static void cancel_early(void *unused) {
  (void)unused;
  csched_timer_cancel(&early_one);
}
static csched_time submit_timer(csched_timer *each, csched_time deadline, csched_time until) {
  csched_job_submitted_(&each->job, "submit_timer");
  csched_timer_added added = csched_timers_add_(&owners[0], each, deadline, 0);
  return added == CSCHED_TIMER_ADDED_FIRST ? csched_load_relaxed(&owners[0].wake) : until;
}
static void add_beside_cancelled(void *unused) {
  (void)unused;
  csched_time until = submit_timer(&far_one, 1000, CSCHED_FOREVER);
  until = submit_timer(&early_one, 20, until);
  until = submit_timer(&timer, 40, until);
  model_assert(until <= 40);
}
static void begin_three(void) {
  begin();
  csched_timer_init(&early_one, &counted, NULL);
  csched_timer_init(&far_one, &counted, NULL);
}
static void all_given_back(void) {
  for (csched_timer *left; (left = csched_timers_pop_(&owners[0], CSCHED_FOREVER)) != NULL;)
    csched_job_discard_(&left->job);
  model_assert(ran == 0 && dropped == 3 && released == 3);
}

// The first owner is freed. The timer is submitted anew, and cancelled meanwhile. An overdue timer becomes a plain
// submission.
static csched_timers *make_owner(void) {
  csched_timers *owner = calloc(1, sizeof *owner);
  csched_timers_init_(owner);
  return owner;
}
static void leave_first_owner(bool is_run) {
  csched_timers *first = make_owner();
  csched_job_submitted_(&timer.job, "leave_first_owner");
  csched_timers_add_(first, &timer, 10, 0);
  csched_timer *due = csched_timers_pop_(first, CSCHED_FOREVER); // as a loop does at its end
  if (is_run) csched_job_perform_(&due->job);
  else csched_job_discard_(&due->job);
  free(first);
  released = dropped = ran = 0;
}
static void be_late_elsewhere(void *is_run) {
  leave_first_owner(is_run != NULL);
  model_spawn(cancel_timer, NULL);
  csched_job_submitted_(&timer.job, "be_late_elsewhere");
  csched_job_perform_(&timer.job); // it has been in an inbox
}
static void wait_elsewhere(void *unused) {
  (void)unused;
  leave_first_owner(false);
  model_spawn(cancel_timer, NULL);
  submit_far(NULL);
}
static void run_or_dropped(void) {
  csched_timer *left = csched_timers_pop_(&owners[0], CSCHED_FOREVER);
  if (left != NULL) csched_job_discard_(&left->job);
  model_assert(ran + dropped == 1 && released == 1);
}

// The owner is made in the middle of the timer's submission.
static void submit_to_new(void *unused) {
  (void)unused;
  csched_job_submitted_(&timer.job, "submit_to_new");
  csched_timers *owner = make_owner();
  csched_timers_add_(owner, &timer, 20, 0);
  while (!csched_job_is_idle(&timer.job)) csched_nap_(1000);
  free(owner);
}
static void dropped_once(void) { model_assert(ran == 0 && dropped == 1 && released == 1); }

// The drop frees the timer's owner.
static csched_timers *kept;
static void drop_owner(csched_job *job) {
  drop(job);
  free(kept);
}
static const csched_job_type keeping = {run, drop_owner, release};
static void cancel_the_last(void *unused) {
  (void)unused;
  kept = make_owner();
  csched_job_submitted_(&timer.job, "cancel_the_last");
  csched_timers_add_(kept, &timer, 10, 0);
  model_assert(csched_timer_cancel(&timer) == CSCHED_CANCEL_DROPPED);
}
static void begin_to_keep(void) {
  begin();
  timer.job.type = &keeping;
}

// Moved beside its cancel: it does not stay.
static void move_far(void *unused) {
  (void)unused;
  csched_timers_move_(&owners[0], &timer, 40);
}

// Moved by timers that do not own it: the timer stays with its owner.
static void move_elsewhere(void *unused) {
  submit_far(unused);
  model_assert(csched_timers_move_(&owners[1], &timer, 5) == CSCHED_TIMER_REFUSED);
  model_assert(csched_timer_cancel(&timer) == CSCHED_CANCEL_DROPPED);
}
static void begin_two(void) {
  begin();
  memset(&owners[1], 0, sizeof owners[1]);
  csched_timers_init_(&owners[1]);
}

// Without a `release`, freed after cancel and wait.
static csched_timer *heap;
static const csched_job_type unreleased = {run, drop, NULL};
static void run_what_is_due(void *unused) {
  (void)unused;
  csched_timer *due = csched_timers_pop_(&owners[0], 20);
  if (due != NULL) csched_job_perform_(&due->job);
}
static void wait_and_free(void *unused) {
  (void)unused;
  if (csched_timer_cancel_and_wait(heap) == CSCHED_CANCEL_RUNNING) model_assert(model_read(&owned) == 1);
  else
    while (!csched_job_is_idle(&heap->job)) csched_nap_(1000);
  free(heap);
}
static void submit_heap(void *unused) {
  (void)unused;
  heap = malloc(sizeof *heap);
  csched_timer_init(heap, &unreleased, NULL);
  csched_job_submitted_(&heap->job, "submit_heap");
  model_spawn(wait_and_free, NULL);
  csched_timers_add_(&owners[0], heap, 20, 0);
  run_what_is_due(NULL);
}
static void ended_once(void) { model_assert(ran + dropped == 1 && owners[0].pending == 0); }

const model_check timer_checks[] = {
    {"timer: moved to now from never: one run", reset, moved_once, THREADS({own_a_moving_timer})},   // W4, W5
    {"timer: moved while it comes due: one run", reset, once, THREADS({own_a_moving_timer, true})},  // W1, W5
    {"timer: submitted against a stop: nothing is lost", reset, once, THREADS({own_against_timer})}, // W7
    {"timer: changes its owner beside its cancel: it is removed once", change_owners, left_once},    // W5, W6
    {"timer: cancelled during its insertion: it does not stay", begin, gone,
     THREADS({submit_far}, {cancel_until_dropped})}, // W5, W8
    {"timer: cancelled during its insertion at the end of time: it does not stay", begin, gone,
     THREADS({submit_far, true}, {cancel_until_dropped})}, // W5, W8
    {"timer: cancelled once, submitted again: the second submission stays", begin, second_stays,
     THREADS({submit_again}, {cancel_until_dropped})}, // W5, W8
    {"timer: beside a cancelled entry that came first: its wake is reported", begin_three, all_given_back,
     THREADS({add_beside_cancelled}, {cancel_early})}, // W4, W8
    {"timer: overdue at a second owner, the first one freed, beside its cancel", begin, run_or_dropped,
     THREADS({be_late_elsewhere})}, // W6
    {"timer: overdue at a second owner after a run, the first one freed", begin, run_or_dropped,
     THREADS({be_late_elsewhere, true})}, // W6
    {"timer: inserted at a second owner, the first one freed, beside its cancel", begin, run_or_dropped,
     THREADS({wait_elsewhere})}, // W6, W8
    {"timer: its owner is made during its submission, beside its cancel", begin, dropped_once,
     THREADS({submit_to_new}, {cancel_until_dropped})},                                           // W6, W8
    {"timer: its drop frees its owner", begin_to_keep, dropped_once, THREADS({cancel_the_last})}, // W6
    {"timer: moved beside its cancel: it does not stay", begin, gone,
     THREADS({submit_far}, {move_far}, {cancel_until_dropped})},                                         // W5, W8
    {"timer: moved by timers that do not own it: it stays", begin_two, gone, THREADS({move_elsewhere})}, // W6
    {"timer: freed after cancel and wait", begin, ended_once, THREADS({submit_heap})},                   // W5, W6
    {NULL, NULL, NULL},
};
