// serial.c: SQ1 to SQ7, SQ10, SQ11, on a base of two threads, and on a base that refuses.

#include "crew.h"

enum { JOBS = 4 };

static csched_serial *serial, *other;
static csched_job jobs[JOBS];
static model_cell owned;
static int ran, dropped, order[2 * JOBS];
static uint32_t left; // how many users of the handle and jobs are to leave

// The last one to leave lets the base end.
static void leave(void) {
  if (csched_fetch_add_acq_rel(&left, UINT32_MAX) != 1) return;
  csched_serial_destroy(serial);
  if (other != NULL) csched_serial_destroy(other);
  close_crew(false);
}

static void run(csched_job *job) {
  model_assert(csched_target_current() == csched_serial_target(serial));
  model_write(&owned, model_read(&owned) + 1);
  order[ran++] = (int)(intptr_t)job->context;
}
static void drop(csched_job *job) {
  (void)job;
  dropped++;
}
static void release(csched_job *job) {
  (void)job;
  leave();
}
static const csched_job_type type = {run, drop, release};

static void start(unsigned users) {
  crew_start(0);
  crew.target.type = &entered_type;
  for (intptr_t i = 0; i < JOBS; i++) csched_job_init(&jobs[i], &type, (void *)i);
  owned = (model_cell){0};
  ran = dropped = 0;
  other = NULL;
  left = users;
  model_assert(csched_serial_create(&serial, &crew.target) == 0);
}
static void three_leave(void) { start(3); }
static void four_leave(void) { start(4); }
static void six_leave(void) { start(6); }

static void submit_two(void *context) {
  int first = (int)(intptr_t)context;
  csched_target_submit(csched_serial_target(serial), &jobs[first]);
  csched_target_submit(csched_serial_target(serial), &jobs[first + 1]);
  leave();
}
static int place(int job) {
  for (int i = 0; i < ran; i++)
    if (order[i] == job) return i;
  return -1;
}
static void all_in_order(void) {
  model_assert(ran == JOBS && owned.value == JOBS && place(0) < place(1) && place(2) < place(3));
}

static int results[2];
static void nothing(void *unused) { (void)unused; }

static void suspend_and_resume(void *unused) {
  (void)unused;
  csched_serial_suspend(serial);
  csched_serial_resume(serial);
  leave();
}
static void both(void) { model_assert(ran == 2 && owned.value == 2 && place(0) < place(1)); }

static void nothing_begins(void *unused) {
  (void)unused;
  csched_serial_suspend(serial);
  csched_target_submit(csched_serial_target(serial), &jobs[0]);
  csched_target_submit(csched_serial_target(serial), &jobs[1]);
  csched_nap_(100000);
  model_assert(ran == 0);
  csched_serial_resume(serial);
  leave();
}

static void by_sync(void *unused) {
  (void)unused;
  model_write(&owned, model_read(&owned) + 1);
  model_assert(csched_serial_sync(serial, by_sync, NULL) == EDEADLK);
}
static void sync_once(void *unused) {
  (void)unused;
  model_assert(csched_serial_sync(serial, by_sync, NULL) == 0);
  leave();
}
static void submit_one(void *unused) {
  (void)unused;
  csched_target_submit(csched_serial_target(serial), &jobs[0]);
  leave();
}
static void three_ran(void) { model_assert(ran == 1 && owned.value == 3); }

// As above, but no thread of the base runs anything before both syncs have returned.
static void leave_and_work(void) {
  leave();
  if (crew.ended) work(NULL); // drain jobs that helpers have left behind
}
static void sync_alone(void *unused) {
  (void)unused;
  model_assert(csched_serial_sync(serial, by_sync, NULL) == 0);
  leave_and_work();
}
static void submit_and_sync(void *unused) {
  csched_target_submit(csched_serial_target(serial), &jobs[0]);
  sync_alone(unused);
}
// A sync of a queue on the queue: the helper runs the drain job of the upper one.
static void sync_upper(void *unused) {
  (void)unused;
  csched_target_submit(csched_serial_target(serial), &jobs[0]);
  model_assert(csched_serial_sync(other, nothing, NULL) == 0);
  leave_and_work();
}
static void sync_alone_upper(void *unused) {
  (void)unused;
  model_assert(csched_serial_sync(other, nothing, NULL) == 0);
  leave_and_work();
}
static void start_two_queues(void) {
  start(3);
  model_assert(csched_serial_create(&other, csched_serial_target(serial)) == 0);
}
static void one_ran(void) { model_assert(ran == 1); }

// A helper's job that asks for what the helper is inside of.
static void ask_for_other(csched_job *unused) {
  (void)unused;
  model_assert(!csched_target_is_inside(csched_serial_target(other)));
  results[0] = csched_serial_sync(other, nothing, NULL);
}
static const csched_job_type asking_type = {ask_for_other, NULL, release};
static void help_inside(void *unused) {
  (void)unused;
  results[1] = csched_serial_sync(serial, nothing, NULL);
}
static void sync_both(void *unused) {
  (void)unused;
  csched_target_submit(csched_serial_target(serial), &jobs[0]);
  model_assert(csched_serial_sync(other, help_inside, NULL) == 0);
  leave_and_work();
}
static void asked(void) {
  start(2);
  results[0] = results[1] = -1;
  csched_job_init(&jobs[0], &asking_type, NULL);
  model_assert(csched_serial_create(&other, &crew.target) == 0);
  model_spawn(sync_both, NULL);
}
static void asker_refused(void) { model_assert(results[0] == EDEADLK && results[1] == 0); }

// Two queues whose jobs wait for each other. There is one thread more than waiters, as in a pool that replaces blocked
// workers.
static void wait_for_other(void *unused) {
  (void)unused;
  results[0] = csched_serial_sync(other, nothing, NULL);
}
static void wait_for_first(void *unused) {
  (void)unused;
  results[1] = csched_serial_sync(serial, nothing, NULL);
}
static void sync_first(void *unused) {
  (void)unused;
  model_assert(csched_serial_sync(serial, wait_for_other, NULL) == 0);
  leave();
}
static void sync_other(void *unused) {
  (void)unused;
  model_assert(csched_serial_sync(other, wait_for_first, NULL) == 0);
  leave();
}
static void start_beside_another(void) {
  start(2);
  results[0] = results[1] = -1;
  model_assert(csched_serial_create(&other, &crew.target) == 0);
}
static void one_reported(void) {
  for (int i = 0; i < 2; i++) model_assert(results[i] == 0 || results[i] == EDEADLK);
  model_assert(results[0] == 0 || results[1] == 0);
}

static void refuse(void *unused) {
  (void)unused;
  close_crew(true);
  leave();
}
static void run_or_dropped(void) { model_assert(ran + dropped == 2); }

static void resume_only(void *unused) {
  (void)unused;
  csched_serial_resume(serial);
}
static void one_leaves(void) { start(1); }
static void stopped(void) {
  model_assert(model_panics() == 1);
  csched_serial_destroy(serial);
}

const model_check serial_checks[] = {
    {"serial: two submitters, two threads: one at a time, in order", six_leave, all_in_order,
     THREADS({work}, {work}, {submit_two, 0}, {submit_two, 2})}, // SQ1, SQ2, SQ5
    {"serial: suspend and resume against submissions", four_leave, both,
     THREADS({work}, {submit_two}, {suspend_and_resume})},                                              // SQ3
    {"serial: a suspended queue begins nothing", three_leave, both, THREADS({work}, {nothing_begins})}, // SQ3
    {"serial: sync, inline or in line, is one of the queue's jobs", four_leave, three_ran,
     THREADS({work}, {sync_once}, {sync_once}, {submit_one})}, // SQ1, SQ7
    {"serial: queues that wait for each other get an error", start_beside_another, one_reported,
     THREADS({work}, {work}, {work}, {sync_first}, {sync_other})}, // SQ7
    {"serial: syncs need no thread of the base", three_leave, three_ran,
     THREADS({sync_alone}, {submit_and_sync})}, // SQ10, SQ11, HL1
    {"serial: syncs of a queue on the queue need no thread of the base", start_two_queues, one_ran,
     THREADS({sync_upper}, {sync_alone_upper})},                                 // SQ10
    {"serial: a helper's job cannot wait for the helper", asked, asker_refused}, // SQ7, SQ10, HL2
    {"serial: a base that refuses", four_leave, run_or_dropped, THREADS({work}, {submit_two}, {refuse})}, // SQ6
    {"serial: resume without suspend stops the process", one_leaves, stopped, THREADS({resume_only}),
     "is not suspended"}, // SQ3
    {NULL, NULL, NULL},
};
