// frames.c: frames unwound by longjmp, by an exception, or by the end of the thread: J7, TP5, LP7, SQ8.

#include "crew.h"

#include <setjmp.h>

enum { JOBS = 3 };

static _Thread_local jmp_buf back;
static _Thread_local bool may_jump; // another thread has no setjmp
static csched_job jobs[JOBS];
static int ran, dropped, released;
static csched_loop *loop;
static csched_serial *serial;
static model_cell owned;

static void run(csched_job *job) {
  (void)job;
  ran++;
}
static void jump(csched_job *job) {
  run(job);
  longjmp(back, 1);
}
static void drop(csched_job *job) {
  (void)job;
  dropped++;
}
static void release(csched_job *job) {
  (void)job;
  released++;
}
static const csched_job_type plain = {run, drop, release}, jumping = {jump, drop, release};

static void reset(void) {
  for (int i = 0; i < JOBS; i++) csched_job_init(&jobs[i], i == 0 ? &jumping : &plain, NULL);
  ran = dropped = released = 0;
  owned = (model_cell){0};
}

// MARK: jobs

static void leave_trampoline(void *unused) {
  (void)unused;
  if (setjmp(back) == 0) csched_trampoline_run(&jobs[0]);
  model_assert(csched_trampoline_is_required());
  csched_trampoline_run(&jobs[1]);
}
static void wait_for_left(void *unused) {
  (void)unused;
  csched_job_cancel_and_wait(&jobs[0]);
}
static void both(void) { model_assert(ran + dropped == 2 && released == 2); }

static void nest(csched_job *job) {
  run(job);
  if (setjmp(back) == 0) csched_loop_run(loop); // unwinds the inner job; no check before this job returns
}
static const csched_job_type nesting = {nest, drop, release};
static void run_nested(void *unused) {
  (void)unused;
  model_assert(csched_loop_create(&loop) == 0);
  csched_job_init(&jobs[1], &nesting, NULL);
  csched_target_submit(csched_loop_target(loop), &jobs[1]);
  csched_target_submit(csched_loop_target(loop), &jobs[0]);
  csched_loop_run_ready(loop, 1);
  model_assert(ran == 2 && released == 2 && csched_loop_current() == NULL);
  csched_target_submit(csched_loop_target(loop), &jobs[2]);
  csched_loop_run_ready(loop, 1);
  csched_loop_destroy(loop);
}
static void three(void) { model_assert(ran == 3 && released == 3); }

// MARK: loops

static void submit(void *job) { csched_target_submit(csched_loop_target(loop), job); }
static void leave_run(void *unused) {
  (void)unused;
  model_assert(csched_loop_create(&loop) == 0);
  model_spawn(submit, &jobs[0]);
  model_spawn(submit, &jobs[1]);
  while (ran < 2)
    if (setjmp(back) == 0) csched_loop_run_once(loop, CSCHED_FOREVER);
  model_assert(csched_target_current() == NULL);
}
static void two(void) {
  csched_loop_destroy(loop);
  model_assert(ran == 2 && released == 2);
}

static void end_after_run(void *unused) {
  (void)unused;
  model_assert(csched_loop_create(&loop) == 0);
  csched_target_submit(csched_loop_target(loop), &jobs[0]);
  model_spawn(submit, &jobs[1]);
  if (setjmp(back) == 0) csched_loop_run(loop);
  if (ran == 1) model_exit();
}
static void closed(void) { // by the end of the thread
  model_assert(ran == 1 && dropped == 1 && released == 2);
  model_assert(csched_target_submit(csched_loop_target(loop), &jobs[2]) == ECANCELED);
  csched_loop_destroy(loop);
}

// The host is notified of jobs that come after an unwound run.
static void leave_run_in_host(void *unused) {
  (void)unused;
  model_assert(csched_loop_create(&loop) == 0);
  int fd = -1;
  model_assert(csched_loop_fd(loop, &fd) == 0);
  model_spawn(submit, &jobs[0]);
  model_spawn(submit, &jobs[1]);
  while (ran < 2) {
    model_poll(fd);
    if (setjmp(back) == 0) csched_loop_run_ready(loop, 1);
    model_assert(csched_loop_current() == NULL);
  }
}

// MARK: queues, on a thread's loop that is run here and there

static void body(void *unused) {
  (void)unused;
  model_write(&owned, model_read(&owned) + 1);
  if (may_jump) longjmp(back, 1);
}

// A base that anybody may run, and nobody helps.
static const csched_target_type base_type = {.deliver = deliver, .enter = may_enter};

static uint32_t users; // and jobs, which are to leave
static void give_up(void) {
  if (csched_fetch_add_acq_rel(&users, UINT32_MAX) == 1) close_crew(false);
}
static void release_user(csched_job *job) {
  release(job);
  give_up();
}
static void run_on_queue(csched_job *job) {
  run(job);
  model_write(&owned, model_read(&owned) + 1);
}
static const csched_job_type on_queue = {run_on_queue, drop, release_user};

static void leave_sync(void *then_syncs) {
  may_jump = true;
  if (setjmp(back) == 0) csched_serial_sync(serial, body, NULL);
  may_jump = false;
  if (then_syncs != NULL) model_assert(csched_serial_sync(serial, body, NULL) == 0);
  else csched_target_submit(csched_serial_target(serial), &jobs[2]);
  give_up();
}
static void submit_to_queue(void *unused) {
  (void)unused;
  csched_target_submit(csched_serial_target(serial), &jobs[1]);
  give_up();
}
static void start(unsigned count) {
  reset();
  crew_start(0);
  crew.target.type = &base_type;
  users = count;
  for (int i = 1; i < JOBS; i++) csched_job_init(&jobs[i], &on_queue, NULL);
  model_assert(csched_serial_create(&serial, &crew.target) == 0);
}
static void three_leave(void) { start(3); }
static void four_leave(void) { start(4); }
static void expect(int jobs, int turns) {
  csched_serial_destroy(serial);
  model_assert(ran == jobs && released == jobs && owned.value == turns);
}
static void two_and_a_sync(void) { expect(2, 3); }
static void one_and_two_syncs(void) { expect(1, 3); }

// What an exception does: it ends the scope in the caller.
static void throw_out_of_sync(void *unused) {
  (void)unused;
  csched_scope scope = {0};
  may_jump = true;
  if (setjmp(back) == 0) csched_serial_sync_(serial, body, NULL, &scope);
  may_jump = false;
  csched_scope_end_(&scope);
  give_up();
  while (ran == 0) csched_nap_(100000); // without a check for unwound frames
}
static void one_and_a_sync(void) { expect(1, 2); }

static void exit_in_body(void *unused) {
  (void)unused;
  model_write(&owned, model_read(&owned) + 1);
  give_up();
  if (may_jump) model_exit();
}
static void exit_in_sync(void *unused) {
  (void)unused;
  may_jump = true;
  csched_serial_sync(serial, exit_in_body, NULL); // which may also run on the worker
}
const model_check frames_checks[] = {
    {"frames: a job unwound by longjmp has ended, and so has the wait for it", reset, both,
     THREADS({leave_trampoline}, {wait_for_left})}, // J7
    {"frames: an unwound nested run is over when the job around it returns", reset, three,
     THREADS({run_nested})},                                                                               // J7, LP7
    {"frames: a loop goes on after a longjmp out of a run", reset, two, THREADS({leave_run})},             // LP7
    {"frames: a host is notified of jobs after an unwound run", reset, two, THREADS({leave_run_in_host})}, // LP7
    {"frames: a loop is closed when its thread ends after a longjmp", reset, closed, THREADS({end_after_run})}, // LP7
    {"frames: a queue goes on after a longjmp out of a sync, by a submission", four_leave, two_and_a_sync,
     THREADS({work}, {leave_sync}, {submit_to_queue})}, // SQ8
    {"frames: a queue goes on after a longjmp out of a sync, by another sync", three_leave, one_and_two_syncs,
     THREADS({work}, {leave_sync, true}, {submit_to_queue})}, // SQ8
    {"frames: a queue goes on after an exception out of a sync", three_leave, one_and_a_sync,
     THREADS({work}, {throw_out_of_sync}, {submit_to_queue})}, // SQ8
    {"frames: a queue goes on after a sync that ends its thread", three_leave, one_and_a_sync,
     THREADS({work}, {exit_in_sync}, {submit_to_queue})}, // SQ8
    {NULL, NULL, NULL},
};
