// Tasks: handles of a job in one of its generations. A handle can cancel the job or wait for it at any time.
//
// States of a task: the states of its job (job.c), in the handle's generation (`life`). There is one more flag:
//   UNWANTED   the task was cancelled while it was queued, ran or was being dropped
// A task is over when its job is CANCELLED, or in a later generation.
//
// Invariants
//   TK1  A task is cancelled in its own generation only: state and generation are one word, changed by one compare-and-exchange.
//   TK2  The end is final: a thread that sees the end also sees the writes of the run, or of the drop.
//   TK3  A thread that sees the cancel sees the writes before the cancel.
//   TK4  Cancel-and-wait returns after the run, or the drop, on any thread. Inside the task's own run or drop it returns at once.
//   TK5  A drop is reported once, with its reason: CANCELLED; REFUSED inside the task's submission, by that thread; otherwise STOPPED.
//   TK6  A repeating task is not called after its cancel. If its run is about to submit it again, the submission keeps UNWANTED. The submitter checks
//        UNWANTED afterwards. So does the next run, which may start earlier, on another thread. The generation shows whether the task is over.
// Orderings
//   word: see job.c · →UNWANTED: release, pairs with the acquire of csched_task_is_cancelled_, carries the writes before the cancel. A thread gets
//   the handle after the first submission, and need not acquire that one. Submissions by the run are acquired after the cancel's cas
// Assumes: the word stays mapped, and its generation only rises (task_memory.c, TM1). It does not wrap: 2^56 uses of one job in a row, each of 16 ns,
//   are 36 years.
// Source: a handle with a generation, as in slot maps. 31 bits of it, beside a 32-bit state, wrap after 20 s of a busy loop.
// Checked by: "a task runs or is dropped, once", "a task is cancelled late, and nothing happens", "a drop of a task says why", "a drop that has
//   cancelled another task is still the drop of its own", "a task whose submission has another one refused is refused itself", "a task that is
//   dropped in another one's submission, in its memory, was not refused", "to cancel a task and wait returns after the drop of another thread", "a
//   task's own run and drop do not wait for it", "a delayed task is cancelled at once, wherever it waits", "a repeating task is not called after its
//   cancel, and dropped once".
// Models: checks/task.c.

#include "task_internal.h"

#include "../base/panic.h"
#include "../job/job_internal.h"
#include "../job/frames_internal.h"
#include "../time/timer_internal.h"

int csched_task_submit_(csched_target *target, csched_task task) {
  csched_job_life outer = csched_job_may_be_refused_;
  csched_job_may_be_refused_ =
      (csched_job_life){task.job, task.life}; // TK5: if the target drops this task meanwhile, it has refused it
  int error = csched_target_submit(target, task.job);
  csched_job_may_be_refused_ = outer;
  return error;
}

int csched_task_submit_at_(csched_target *target, csched_task task, csched_time deadline, csched_time leeway) {
  csched_job_life outer = csched_job_may_be_refused_;
  csched_job_may_be_refused_ =
      (csched_job_life){task.job, task.life}; // TK5: if the target drops this task meanwhile, it has refused it
  int error = csched_target_submit_at(target, csched_task_timer_(task.job), deadline, leeway);
  csched_job_may_be_refused_ = outer;
  return error;
}

csched_drop_reason csched_task_drop_reason_(void) { return csched_job_drop_reason_(); }

static uint64_t life_of(uint64_t word) { return word / CSCHED_JOB_LIFE; }

static bool is_over(uint64_t word, csched_task task) {
  return life_of(word) != task.life || csched_job_state_(word) == CSCHED_JOB_CANCELLED;
}

bool csched_task_is_unwanted_(const csched_job *job) {
  return (csched_load_relaxed(&job->word) & CSCHED_JOB_UNWANTED) !=
         0; // TK6: in one word with the state, so they change together
}

int csched_task_submit_again_(csched_job *job, csched_time deadline, csched_time leeway) {
  csched_task task = {
      job, life_of(csched_load_relaxed(&job->word))}; // TK6: inside the task's run the generation does not change
  if (csched_task_is_unwanted_(job)) return CSCHED_TASK_UNWANTED_;
  int error = csched_task_submit_at_(csched_task_target_(job), task, deadline, leeway);
  if (csched_task_is_unwanted_(job))
    csched_task_cancel(task); // TK6: a cancel between the two checks; only this generation
  return error;
}

bool csched_task_is_over(csched_task task) {
  return task.job == NULL ||
         is_over(csched_load_acquire(&task.job->word), task); // TK2: pairs with the release that ends the task
}

bool csched_task_is_cancelled_(csched_task task) {
  if (task.job == NULL) return true;
  uint64_t word = csched_load_acquire(&task.job->word); // TK2, TK3: pairs with the releases of the end and of cancel
  return is_over(word, task) || (word & CSCHED_JOB_UNWANTED) != 0;
}

csched_cancel_result csched_task_cancel(csched_task task) {
  if (task.job == NULL) return CSCHED_CANCEL_FINISHED;
  uint64_t word = csched_load_relaxed(&task.job->word); // racy read, rechecked by the cas
  while (!is_over(word, task)) {
    unsigned state = csched_job_state_(word);
    bool drops = state == CSCHED_JOB_QUEUED;
    uint64_t unwanted = (drops ? csched_job_in_state_(word, CSCHED_JOB_DROPPING) : word) | CSCHED_JOB_UNWANTED;
    if (unwanted != word && !csched_cas_release(&task.job->word, &word, unwanted)) continue; // TK1, TK3: one cas
    if (drops) {
      (void)csched_load_acquire(&task.job->word); // TK6: pairs with a resubmission by the run
      if (csched_task_size_(task.job) == CSCHED_TASK_PLAIN) csched_job_end_cancel_(task.job, false);
      else csched_timer_end_cancel_(csched_task_timer_(task.job));
      return CSCHED_CANCEL_DROPPED;
    }
    if (state == CSCHED_JOB_RUNNING || state == CSCHED_JOB_ORPHANED) return CSCHED_CANCEL_RUNNING;
    break;
  }
  (void)csched_load_acquire(&task.job->word); // TK2: pairs with the release that ends the task
  return CSCHED_CANCEL_FINISHED;
}

// Returns: whether this thread is inside the run or the drop of `job`.
static bool is_inside(const csched_job *job) {
  return csched_job_is_dropped_here_(job) || csched_job_is_running_here_(job);
}

CSCHED_NOINLINE csched_cancel_result csched_task_cancel_and_wait(csched_task task) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  csched_cancel_result result = csched_task_cancel(task);
  if (result == CSCHED_CANCEL_DROPPED || task.job == NULL) return result;
  for (uint64_t word; !is_over(word = csched_load_acquire(&task.job->word), task);) { // TK2, TK4: the end
    if (is_inside(task.job)) break;
    if (csched_job_state_(word) == CSCHED_JOB_ORPHANED)
      csched_panic_("csched_task_cancel_and_wait",
                    "the task was orphaned by fork: it runs, or is dropped, on a thread that lives in the parent. Do "
                    "not wait for it here.");
    if (csched_job_state_(word) == CSCHED_JOB_QUEUED) csched_task_cancel(task); // TK6: resubmitted by its run
    else csched_job_wait_in_(task.job, word);
  }
  return result;
}
