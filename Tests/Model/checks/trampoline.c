// trampoline.c: TP1 to TP4, with cancels from other threads.

#include "../engine/model.h"

enum { JOBS = 4 };

static csched_job jobs[JOBS];
static int order[JOBS], ran, dropped[JOBS], released;
static csched_trampoline_frame frame;

static int index_of(const csched_job *job) { return (int)(job - jobs); }

static void note(csched_job *job) { order[ran++] = index_of(job); }
static void drop(csched_job *job) { dropped[index_of(job)]++; }
static void release(csched_job *job) {
  (void)job;
  released++;
}
static const csched_job_type plain = {note, drop, release};

static void reset(void) {
  for (int i = 0; i < JOBS; i++) csched_job_init(&jobs[i], &plain, NULL);
  for (int i = 0; i < JOBS; i++) order[i] = dropped[i] = 0;
  ran = released = 0;
}

// Job 0 submits 1, then in a frame of its own 2, then 3.
static void nest(csched_job *job) {
  note(job);
  csched_trampoline_run(&jobs[1]);
  csched_trampoline_push(&frame);
  csched_trampoline_run(&jobs[2]);
  csched_trampoline_pop(&frame);
  csched_trampoline_run(&jobs[3]);
}
static const csched_job_type nesting = {nest, drop, release};

static void run_nested(void *unused) {
  (void)unused;
  jobs[0].type = &nesting;
  csched_trampoline_run(&jobs[0]);
  model_assert(csched_trampoline_is_required());
}
static void cancel_second(void *unused) { // before its submission this finds an idle job, and does nothing
  (void)unused;
  csched_job_cancel(&jobs[1]);
}
static void nested_order(void) {
  model_assert(ran == 4 && order[0] == 0 && order[1] == 2 && order[2] == 1 && order[3] == 3 && released == 4);
}
static void run_or_dropped(void) {
  model_assert(ran + dropped[1] == 4 && released == 4 && order[0] == 0 && order[1] == 2);
}

// Job 0 submits 1, then 2 with the trampoline set aside, which submits 3.
static csched_trampoline_aside aside;
static void submit_last(csched_job *job) {
  note(job);
  csched_trampoline_run(&jobs[3]);
  model_assert(ran == 2);
}
static const csched_job_type submitting = {submit_last, drop, release};
static void run_beside(csched_job *job) {
  note(job);
  csched_trampoline_run(&jobs[1]);
  csched_trampoline_set_aside(&aside);
  model_assert(csched_trampoline_is_required());
  csched_trampoline_run(&jobs[2]);
  model_assert(ran == 3 && csched_trampoline_is_required());
  csched_trampoline_put_back(&aside);
  model_assert(!csched_trampoline_is_required());
}
static const csched_job_type besides = {run_beside, drop, release};
static void run_aside_once(void *unused) {
  (void)unused;
  jobs[0].type = &besides;
  jobs[2].type = &submitting;
  csched_trampoline_run(&jobs[0]);
}
static void beside_first(void) {
  model_assert(ran == 4 && order[0] == 0 && order[1] == 2 && order[2] == 3 && order[3] == 1 && released == 4);
}
static void beside_and_dropped(void) {
  model_assert(ran + dropped[1] == 4 && released == 4 && order[0] == 0 && order[1] == 2 && order[2] == 3);
}

static void leave_thread(csched_job *job) {
  note(job);
  csched_trampoline_run(&jobs[1]);
  csched_trampoline_run(&jobs[2]);
  model_exit();
}
static const csched_job_type leaving = {leave_thread, drop, release};
static void run_and_leave(void *unused) {
  (void)unused;
  jobs[0].type = &leaving;
  csched_trampoline_run(&jobs[0]);
}
static void rest_dropped(void) { model_assert(ran == 1 && dropped[1] == 1 && dropped[2] == 1 && released == 3); }

const model_check trampoline_checks[] = {
    {"trampoline: a nested frame runs its own jobs first", reset, nested_order, THREADS({run_nested})},
    {"trampoline: a nested frame, and a cancel from outside", reset, run_or_dropped,
     THREADS({run_nested}, {cancel_second})},
    {"trampoline: beside a trampoline set aside, jobs run at once", reset, beside_first, THREADS({run_aside_once})},
    {"trampoline: a trampoline set aside, and a cancel from outside", reset, beside_and_dropped,
     THREADS({run_aside_once}, {cancel_second})},
    {"trampoline: a thread that ends inside an action drops the waiting jobs", reset, rest_dropped,
     THREADS({run_and_leave}, {cancel_second})}, // J7
    {NULL, NULL, NULL},
};
