// job.c: J1 to J6, through a run queue as the way to the runner.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/core/job_internal.h"

static csched_job job;
static model_cell work, held, memory;
static uint32_t submitted;
static int ran, dropped, released, again;
static bool waits;

static void run(csched_job *unused) {
  (void)unused;
  ran++;
  model_write(&work, model_read(&work) + 1);
}
static void drop(csched_job *unused) {
  (void)unused;
  dropped++;
  model_write(&held, 0);
}
static void release(csched_job *unused) {
  (void)unused;
  released++;
  model_write(&memory, 0); // after this nobody of ours may touch it
}
static const csched_job_type type = {run, drop, release};

static void start(bool with_wait) {
  csched_job_init(&job, &type, NULL);
  work = held = memory = (model_cell){0};
  model_write(&held, 1);
  model_write(&memory, 1);
  ran = dropped = released = again = 0;
  submitted = 0;
  waits = with_wait;
  csched_job_submitted_(&job, "check");
}

static void perform(void *unused) {
  (void)unused;
  csched_job_perform_(&job);
}
static void discard(void *unused) {
  (void)unused;
  csched_job_discard_(&job);
}
static void cancel(void *unused) {
  (void)unused;
  csched_cancel_result result = waits ? csched_job_cancel_and_wait(&job) : csched_job_cancel(&job);
  if (result == CSCHED_CANCEL_DROPPED) model_assert(model_read(&held) == 0); // gone before cancel returned
  if (result == CSCHED_CANCEL_RUNNING && waits) model_assert(model_read(&work) == 1);
}

static void run_against_cancel(void) {
  start(false);
  model_spawn(perform, NULL);
  model_spawn(cancel, NULL);
}
static void run_against_two(void) {
  start(false);
  model_spawn(perform, NULL);
  model_spawn(cancel, NULL);
  model_spawn(cancel, NULL);
}
static void run_against_wait(void) {
  start(true);
  model_spawn(perform, NULL);
  model_spawn(cancel, NULL);
  model_spawn(cancel, NULL);
}
static void discard_against_cancel(void) {
  start(false);
  model_spawn(discard, NULL);
  model_spawn(cancel, NULL);
}
static void exactly_one(void) { model_assert(ran + dropped == 1 && released == 1 && csched_job_is_idle(&job)); }

const model_check job_checks[] = {
    {"job: run against cancel: exactly one, and one release after it", run_against_cancel, exactly_one},
    {"job: run against two cancels", run_against_two, exactly_one},
    {"job: run against cancel and wait", run_against_wait, exactly_one},
    {"job: discard against cancel", discard_against_cancel, exactly_one},
    {NULL, NULL, NULL},
};
