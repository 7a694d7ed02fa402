// job.c: J1 to J6, J9, through a run queue as the way to the runner.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/job/job_internal.h"
#include "../../../Sources/CScheduler/platform/platform.h"

#include <stdlib.h>

static csched_job job;
static model_cell work, held, memory;
static int ran, dropped, released, again;
static bool waits;

static void run(csched_job *unused) {
  (void)unused;
  ran++;
  (void)model_read(&memory);
  model_write(&work, model_read(&work) + 1);
}
static void drop(csched_job *unused) {
  (void)unused;
  dropped++;
  (void)model_read(&memory);
  model_write(&held, 0);
}
static void release(csched_job *unused) {
  (void)unused;
  released++;
  model_write(&memory, 0); // after this the core may not touch the job
}
static const csched_job_type type = {run, drop, release};

static void start(void) {
  csched_job_init(&job, &type, NULL);
  work = held = memory = (model_cell){0};
  model_write(&held, 1);
  model_write(&memory, 1);
  ran = dropped = released = again = 0;
  waits = false;
  csched_job_submitted_(&job, "check");
}
static void start_to_wait(void) {
  start();
  waits = true;
}

// Does what a queue does: unlinks the job, then performs it.
static void perform(void *unused) {
  (void)unused;
  (void)model_read(&memory);
  csched_job_perform_(&job);
}
static void discard(void *unused) {
  (void)unused;
  (void)model_read(&memory);
  csched_job_discard_(&job);
}
static void cancel(void *unused) {
  (void)unused;
  csched_cancel_result result = waits ? csched_job_cancel_and_wait(&job) : csched_job_cancel(&job);
  if (result == CSCHED_CANCEL_DROPPED) model_assert(model_read(&held) == 0); // gone before cancel returned
  if (result == CSCHED_CANCEL_RUNNING && waits) model_assert(model_read(&work) == 1);
}

static void cancel_only(void *unused) {
  (void)unused;
  if (waits) csched_job_cancel_and_wait(&job);
  else csched_job_cancel(&job);
}

// A job that submits itself again from its run, once; its queue is this thread.
static void run_and_resubmit(csched_job *unused) {
  run(unused);
  if (again++ == 0) csched_job_submitted_(&job, "check");
}
static const csched_job_type resubmitting = {run_and_resubmit, drop, release};
static void perform_twice(void *unused) {
  (void)unused;
  csched_job_perform_(&job);
  if (again == 1) csched_job_perform_(&job);
}
static void start_resubmitting(void) {
  start();
  job.type = &resubmitting;
}
static void start_resubmitting_to_wait(void) {
  start_to_wait();
  job.type = &resubmitting;
}
static void ended(void) {
  model_assert(ran + dropped >= 1 && ran + dropped <= 2 && released == 1 && csched_job_is_idle(&job));
}

// The run submits the job again, to a queue that runs nothing. A waiter's wait ends all the same.
static void perform_once(void *unused) {
  (void)unused;
  csched_job_perform_(&job);
}
static void wait_and_see(void *unused) {
  (void)unused;
  if (csched_job_cancel_and_wait(&job) == CSCHED_CANCEL_RUNNING) model_assert(model_read(&work) == 1);
}
static void outstanding(void) {
  if (again == 1 && dropped == 0) csched_job_discard_(&job);
  else if (dropped == 1 && released == 0) csched_job_perform_(&job); // the cancelled entry
  model_assert(released == 1);
}

// A cancel's drop sees the writes before the submission, though no queue orders the two.
static void fill_and_submit(void *unused) {
  (void)unused;
  model_write(&held, 7);
  if (!csched_job_mark_(&job)) csched_job_submitted_(&job, "check");
}
static void drop_held(csched_job *unused) {
  (void)unused;
  dropped++;
  model_assert(model_read(&held) == 7);
}
static const csched_job_type holding = {run, drop_held, release};
static void cancel_until_dropped(void *unused) {
  (void)unused;
  while (csched_job_cancel(&job) != CSCHED_CANCEL_DROPPED) csched_nap_(1000);
}
static void submit_against_cancel(void) {
  start();
  csched_job_init(&job, &holding, NULL);
  model_spawn(fill_and_submit, NULL);
  model_spawn(cancel_until_dropped, NULL);
}
static void dropped_once(void) { model_assert(dropped == 1 && ran == 0); }

// A thread that finds the job idle may use it again: its run, its drop, or the release of its cancelled entry has
// ended.
static const csched_job_type unreleased = {run, drop, NULL};
static void wait_until_idle(void *unused) {
  (void)unused;
  while (!csched_job_is_idle(&job)) csched_nap_(1000);
  model_write(&work, 5);
  model_write(&held, 5);
  model_write(&memory, 5);
}
static void start_unreleased(void) {
  start();
  job.type = &unreleased;
}

// Without a `release` the memory is the caller's when a wait has ended, or when the job is found idle. One job, on the
// heap.
static csched_job *heap;
static uint32_t users;
static void perform_heap(void *unused) {
  (void)unused;
  csched_job_perform_(heap);
}
static void discard_heap(void *unused) {
  (void)unused;
  csched_job_discard_(heap);
}
static void free_when_idle(void *unused) {
  (void)unused;
  while (!csched_job_is_idle(heap)) csched_nap_(1000);
  free(heap);
}
static void wait_and_free(void *unused) {
  csched_cancel_result result = csched_job_cancel_and_wait(heap);
  if (result == CSCHED_CANCEL_DROPPED) free_when_idle(unused); // the cancelled entry is linked still
  else free(heap);                                             // by its runner alone it ends
}
static void wait_and_free_when_idle(void *unused) { // the discarding thread may be inside of `drop`
  csched_job_cancel_and_wait(heap);
  free_when_idle(unused);
}
static void last_of_two_frees(void *unused) {
  csched_job_cancel_and_wait(heap);
  if (csched_fetch_add_acq_rel(&users, 1u) == 1) free_when_idle(unused);
}
static void start_heap(void) {
  start();
  users = 0;
  heap = malloc(sizeof *heap);
  csched_job_init(heap, &unreleased, NULL);
  csched_job_submitted_(heap, "check");
}
static void run_or_dropped(void) { model_assert(ran + dropped == 1); }

// Another thread submits the job as soon as it is idle, again and again. A wait for the job ends all the same.
static uint32_t turns, wait_is_over; // futexes
static void tell(uint32_t *word) {
  csched_fetch_add_acq_rel(word, 1u);
  csched_futex_wake_(word, INT32_MAX);
}
static void run_slowly(csched_job *unused) {
  (void)unused;
  tell(&turns);
  csched_nap_(1000); // so that the waiter finds the job running
}
static const csched_job_type slow = {run_slowly, drop, NULL};
static void perform_on_and_on(void *unused) {
  (void)unused;
  for (;;) {
    csched_job_perform_(&job);
    if (csched_load_acquire(&wait_is_over) != 0) return;
    while (!csched_job_is_idle(&job)) csched_nap_(1000); // its canceller may come last
    if (!csched_job_mark_(&job)) csched_job_submitted_(&job, "check");
  }
}
static void wait_for_one(void *unused) {
  (void)unused;
  for (uint32_t seen; (seen = csched_load_acquire(&turns)) == 0;) csched_futex_wait_(&turns, seen, CSCHED_FOREVER);
  csched_job_cancel_and_wait(&job);
  tell(&wait_is_over);
}
static void run_on_and_on(void) {
  start();
  turns = wait_is_over = 0;
  job.type = &slow;
  model_spawn(perform_on_and_on, NULL);
  model_spawn(wait_for_one, NULL);
}

// The job submits itself again beside a waiter. A second waiter, which comes during the second run, waits for the end
// of that run.
static uint32_t begun;
static void run_twice(csched_job *unused) {
  (void)unused;
  uint32_t before = csched_fetch_add_relaxed(&begun, 1u);
  csched_nap_(1000); // so that they come
  if (before == 0) csched_job_submitted_(&job, "check");
  else model_write(&work, 1);
}
static const csched_job_type twice = {run_twice, drop, NULL};
static void perform_both(void *unused) {
  (void)unused;
  csched_job_perform_(&job);
  if (csched_load_relaxed(&begun) == 1) csched_job_perform_(&job);
}
static void wait_for_second(void *unused) {
  (void)unused;
  bool is_second = csched_load_relaxed(&begun) == 2;
  if (csched_job_cancel_and_wait(&job) == CSCHED_CANCEL_RUNNING && is_second) model_assert(model_read(&work) == 1);
}
static void wait_for_both(void) {
  start();
  begun = 0;
  job.type = &twice;
  model_spawn(perform_both, NULL);
  model_spawn(cancel_only, NULL);
  waits = true;
  model_spawn(wait_for_second, NULL);
}

// A waiter for the first run does not wait for the second run, which waits for the waiter.
static uint64_t first_run;
static void run_and_be_waited_for(csched_job *unused) {
  (void)unused;
  if (csched_fetch_add_relaxed(&begun, 1u) == 0) {
    first_run = csched_load_relaxed(&job.word);
    tell(&turns);
    csched_nap_(1000); // so that he comes
    csched_job_submitted_(&job, "check");
  } else {
    for (uint32_t seen; (seen = csched_load_acquire(&wait_is_over)) == 0;)
      csched_futex_wait_(&wait_is_over, seen, CSCHED_FOREVER);
  }
}
static const csched_job_type waited_for = {run_and_be_waited_for, drop, NULL};
static void wait_for_first(void *unused) {
  (void)unused;
  for (uint32_t seen; (seen = csched_load_acquire(&turns)) == 0;) csched_futex_wait_(&turns, seen, CSCHED_FOREVER);
  csched_job_wait_in_(&job, first_run);
  tell(&wait_is_over);
}
static void second_does_not_keep(void) {
  start();
  begun = turns = wait_is_over = 0;
  job.type = &waited_for;
  model_spawn(perform_both, NULL);
  model_spawn(wait_for_first, NULL);
}

// A job that is initialised in its run stops the process when the run ends, or, if it was submitted again, when its
// turn comes.
static void run_and_reuse(csched_job *unused) {
  (void)unused;
  csched_job_init(&job, &unreleased, NULL);
  csched_job_submitted_(&job, "check");
}
static const csched_job_type reusing = {run_and_reuse, drop, NULL};
static void reused_in_run(void) {
  start();
  job.type = &reusing;
  model_expect_panic("was initialised while it was in use");
  model_spawn(perform_once, NULL);
}
static void begin_idle(void *unused) {
  (void)unused;
  csched_job_init(&job, &unreleased, NULL);
  csched_job_perform_(&job);
}

static void submit_twice(void *unused) {
  (void)unused;
  csched_job_submitted_(&job, "check");
}

static void exactly_one(void) { model_assert(ran + dropped == 1 && released == 1 && csched_job_is_idle(&job)); }

const model_check job_checks[] = {
    {"job: run against two cancels", start, exactly_one, THREADS({perform}, {cancel}, {cancel})},             // J1, J2
    {"job: run against cancel and wait", start_to_wait, exactly_one, THREADS({perform}, {cancel}, {cancel})}, // J5, J6
    {"job: discard against cancel", start, exactly_one, THREADS({discard}, {cancel})},                        // J1, J3
    {"job: a job that submits itself again, against cancel", start_resubmitting, ended,
     THREADS({perform_twice}, {cancel_only})}, // J1, J4
    {"job: a job that submits itself again, against cancel and wait", start_resubmitting_to_wait, ended,
     THREADS({perform_twice}, {cancel_only})}, // J5, J6
    {"job: a job that submits itself again and stays queued ends the wait", start_resubmitting_to_wait, outstanding,
     THREADS({perform_once}, {cancel_only})},                                                  // J6
    {"job: a cancel's drop sees the submitter's writes", submit_against_cancel, dropped_once}, // J2
    {"job: a job found idle after run or cancel may be used again", start_unreleased, NULL,
     THREADS({perform}, {cancel_only}, {wait_until_idle})}, // J3, J5
    {"job: a job found idle after a discard may be used again", start_unreleased, NULL,
     THREADS({discard}, {wait_until_idle})}, // J3
    {"job: submitting a pending job stops the process", start, model_one_panic, THREADS({submit_twice}),
     "pending already"}, // J1
    {"job: a job that submits itself again: a waiter sees its writes", start_resubmitting_to_wait, outstanding,
     THREADS({perform_once}, {wait_and_see})},                                                        // J5
    {"job: submitted anew again and again: a wait ends", run_on_and_on, NULL},                        // J5, J6
    {"job: submitted again beside a waiter: another waits for the second run", wait_for_both, NULL},  // J5
    {"job: submitted again beside a waiter: no delay by the second run", second_does_not_keep, NULL}, // J5
    {"job: freed after cancel and wait", start_heap, run_or_dropped, THREADS({perform_heap}, {wait_and_free})}, // J9
    {"job: freed when it is idle", start_heap, run_or_dropped, THREADS({perform_heap}, {free_when_idle})},      // J9
    {"job: freed after cancel and wait beside a discard", start_heap, run_or_dropped,
     THREADS({discard_heap}, {wait_and_free_when_idle})}, // J9
    {"job: freed by the last of two waiters", start_heap, run_or_dropped,
     THREADS({perform_heap}, {last_of_two_frees}, {last_of_two_frees})},                // J6, J9
    {"job: initialised in its run: the process stops", reused_in_run, model_one_panic}, // J9
    {"job: initialised while it is queued: the process stops", start, model_one_panic, THREADS({begin_idle}),
     "was initialised while it was in use"}, // J9
    {NULL, NULL, NULL},
};
