// virtual.c: VT1 to VT6, VT8, with its own timers, and with a queue whose base it is.

#include "../engine/model.h"

#include <errno.h>

static csched_virtual *timeline;
static csched_timer timers[3];
static csched_job plain;
static csched_serial *queue;
static model_cell owned;
static int ran, dropped, released, refused, synced;
static csched_time last;

static csched_target *line(void) { return csched_virtual_target(timeline); }

static void look_at_clock(void) {
  csched_time now = csched_virtual_now(timeline);
  model_assert(now >= last); // it never moves back
  last = now;
}

static void run(csched_job *job) {
  (void)job;
  ran++;
  model_write(&owned, model_read(&owned) + 1); // one at a time: no lock
  look_at_clock();
}
static void run_timer(csched_job *job) {
  run(job);
  model_assert(csched_virtual_now(timeline) >= ((csched_timer *)job)->deadline);
}
static void drop(csched_job *job) {
  (void)job;
  dropped++;
  csched_virtual_now(timeline); // not under its lock
}
static void release(csched_job *job) {
  (void)job;
  released++;
  csched_virtual_now(timeline);
}
static const csched_job_type type = {run, drop, release}, timer_type = {run_timer, drop, release};

static void reset(void) {
  model_assert(csched_virtual_create(&timeline, 0, 0) == 0);
  for (int i = 0; i < 3; i++) csched_timer_init(&timers[i], &timer_type, NULL);
  csched_job_init(&plain, &type, NULL);
  owned = (model_cell){0};
  ran = dropped = released = refused = synced = 0;
  last = 0;
  queue = NULL;
}
static void submit(csched_target *target, int timer, csched_time deadline) {
  if (csched_target_submit_at(target, &timers[timer], deadline, 0) != 0) refused++;
}
static void end(void) {
  if (queue != NULL) csched_serial_destroy(queue);
  csched_virtual_destroy(timeline);
}

// MARK: driving

static void advance(void *time) { csched_virtual_advance_to(timeline, (csched_time)(uintptr_t)time); }
static void submit_and_advance(void *time) {
  submit(line(), 1, 1);
  advance(time);
}
static void stop(void *unused) {
  (void)unused;
  csched_virtual_end_run(timeline);
}
static void skip(void *time) { csched_virtual_skip_to(timeline, (csched_time)(uintptr_t)time); }

static void two_drive(void) {
  reset();
  submit(line(), 0, 1);
  submit(line(), 1, 2);
  model_spawn(advance, (void *)1);
  model_spawn(advance, (void *)2);
}
static void submission_and_drive(void) {
  reset();
  submit(line(), 0, 2);
  model_spawn(advance, (void *)2);
  model_spawn(submit_and_advance, (void *)2);
}
static void all_ran(void) {
  model_assert(ran == 2 && owned.value == 2 && csched_virtual_now(timeline) == 2);
  model_assert(csched_virtual_pending(timeline) == 0 && released == 2);
  end();
}
static void stopped(void) {
  reset();
  submit(line(), 0, 1);
  submit(line(), 1, 2);
  model_spawn(advance, (void *)2);
  model_spawn(stop, NULL);
}
static void ran_later(void) { // a stop leaves nothing that keeps a later drive from its work
  advance((void *)2);
  all_ran();
}
static void skipped(void) {
  reset();
  csched_target_submit(line(), &plain);
  submit(line(), 0, 3);
  model_spawn(skip, (void *)3);
  model_spawn(skip, (void *)5);
  model_spawn(advance, (void *)1);
}
static void is_at_five(void) {
  model_assert(csched_virtual_now(timeline) == 5);
  advance(NULL);
  model_assert(ran == 2 && owned.value == 2);
  end();
}

// MARK: cancelling

static void cancel_and_wait(void *unused) {
  (void)unused;
  csched_cancel_result found = csched_timer_cancel_and_wait(&timers[0]);
  if (found != CSCHED_CANCEL_DROPPED) model_assert(model_read(&owned) >= 1);
}
static void cancel(void *unused) {
  (void)unused;
  csched_timer_cancel(&timers[0]);
  csched_job_cancel(&plain);
}
static void cancelled(void) {
  reset();
  submit(line(), 0, 1);
  model_spawn(advance, (void *)2);
  model_spawn(cancel_and_wait, NULL);
}
static void step(void *unused) {
  (void)unused;
  csched_virtual_step(timeline, 1);
}
static void stepped(void) { // two jobs with a cancel, and one without
  reset();
  csched_target_submit(line(), &plain);
  submit(line(), 0, 0);
  submit(line(), 1, 1);
  model_spawn(step, NULL);
  model_spawn(cancel, NULL);
}
static void one_step(void) {
  model_assert(ran == 1);
  csched_virtual_run(timeline);
  model_assert(ran + dropped == 3 && released == 3);
  end();
}
static void once(void) {
  model_assert(ran + dropped == 1 && csched_virtual_pending(timeline) == 0);
  advance((void *)2);
  model_assert(released == 1 && csched_virtual_now(timeline) == 2);
  end();
}

static void submit_and_look(void *unused) {
  (void)unused;
  submit(line(), 0, 3);
  submit(line(), 1, 2);
}
static void both_ended(void) {
  csched_virtual_run(timeline);
  model_assert(ran + dropped == 2 && released == 2);
  end();
}

// A repeating timer, for which no run continues, and a timer that may be cancelled.
static void repeat(csched_job *job) {
  run(job);
  csched_target_submit_at(line(), (csched_timer *)job, csched_virtual_now(timeline) + 2, CSCHED_FOREVER);
}
static const csched_job_type repeating = {repeat, drop, release};
static void run_all(void *unused) {
  (void)unused;
  csched_virtual_run(timeline);
}
static void run_against_cancel(void) {
  reset();
  csched_timer_init(&timers[1], &repeating, NULL);
  submit(line(), 0, 4);
  submit(line(), 1, 1);
  model_spawn(run_all, NULL);
  model_spawn(cancel, NULL);
}
static void run_ended(void) {
  model_assert(csched_virtual_now(timeline) <= 4 && csched_virtual_pending(timeline) == 1);
  end();
  model_assert(released == 2);
}

// MARK: the end

static void close_it(void *unused) {
  (void)unused;
  csched_virtual_close(timeline);
}
static void submit_both(void *unused) {
  (void)unused;
  submit(line(), 0, 1);
  if (csched_target_submit(line(), &plain) != 0) refused++;
  csched_virtual_run(timeline);
}
static void none_is_lost(void) {
  model_assert(ran + dropped == 2 && released == 2 && refused <= dropped);
  model_assert(csched_virtual_pending(timeline) == 0);
  end();
}

// MARK: queues

static void in_sync(void *unused) {
  (void)unused;
  synced++;
  model_write(&owned, model_read(&owned) + 1);
}
static void sync_and_drive(void *unused) {
  (void)unused;
  int result = csched_serial_sync(queue, in_sync, NULL);
  model_assert(result == 0);
}
static void make_queue(void) {
  reset();
  model_assert(csched_serial_create(&queue, line()) == 0);
}
static void a_sync_beside_a_drive(void) {
  make_queue();
  submit(line(), 0, 1);
  model_spawn(sync_and_drive, NULL);
  model_spawn(advance, (void *)1);
}
static void driven_by_either(void) {
  model_assert(ran == 1 && synced == 1 && owned.value == 2 && csched_virtual_now(timeline) == 1);
  end();
}
static void synced_by_both(void) {
  model_assert(synced == 2 && owned.value == 2);
  end();
}
static void resume(void *unused) {
  (void)unused;
  csched_serial_resume(queue);
}
static void a_sync_beside_a_resume(void) {
  make_queue();
  csched_serial_suspend(queue);
  model_spawn(sync_and_drive, NULL);
  model_spawn(resume, NULL);
}
static void synced_at_last(void) {
  model_assert(synced == 1);
  end();
}
static void stop_in_job(csched_job *job) {
  run(job);
  csched_serial_resume(queue);
  csched_virtual_end_run(timeline);
}
static const csched_job_type stopping = {stop_in_job, drop, release};
static void a_sync_beside_a_stop(void) { // the driver stops
  make_queue();
  csched_serial_suspend(queue);
  csched_timer_init(&timers[0], &stopping, NULL);
  submit(line(), 0, 1);
  model_spawn(sync_and_drive, NULL);
  model_spawn(advance, (void *)1);
}
static void submit_to_queue(void *unused) {
  (void)unused;
  csched_target_submit(csched_serial_target(queue), &plain);
  submit(line(), 2, 1);
  advance((void *)1);
}
static void a_timer_of_a_queue(void) {
  make_queue();
  submit(csched_serial_target(queue), 0, 1);
  submit(line(), 1, 1);
  model_spawn(advance, (void *)1);
  model_spawn(submit_to_queue, NULL);
}
static void all_four(void) {
  model_assert(ran == 4 && owned.value == 4 && released == 4);
  end();
}

const model_check virtual_checks[] = {
    {"virtual: two threads that drive", two_drive, all_ran},                      // VT1 VT2 VT3
    {"virtual: a submission against a drive", submission_and_drive, all_ran},     // VT1 VT2
    {"virtual: a stop against a drive", stopped, ran_later},                      // VT1
    {"virtual: two threads that skip, and one that drives", skipped, is_at_five}, // VT2 VT3
    {"virtual: a cancel that waits against a drive", cancelled, once},            // VT1 VT4
    {"virtual: a step against cancels", stepped, one_step},                       // VT4 VT8
    {"virtual: a submission against its cancel", reset, both_ended, THREADS({submit_and_look}, {cancel})}, // VT4
    {"virtual: a run against a cancel of its last timer", run_against_cancel, run_ended},                  // VT6
    {"virtual: a close against submissions", reset, none_is_lost, THREADS({close_it}, {submit_both})},     // VT5 VT4
    {"virtual: a sync on a queue beside a drive", a_sync_beside_a_drive, driven_by_either},                // VT1
    {"virtual: a sync beside another", make_queue, synced_by_both, THREADS({sync_and_drive}, {sync_and_drive})}, // VT9
    {"virtual: a sync beside a resume", a_sync_beside_a_resume, synced_at_last},                                 // VT9
    {"virtual: a sync beside a drive that is stopped", a_sync_beside_a_stop, synced_at_last},                    // VT9
    {"virtual: a timer of a queue among others", a_timer_of_a_queue, all_four}, // VT1 VT2
    {0},
};
