// Tasks (csched_task): handles that name a job and one generation of the job. A handle can cancel the job or wait for
// it at any time.
//
// States of a task: the states of its job (job.c), in the handle's generation (`life`). The job's word has one more
// flag:
//   UNWANTED   the task was cancelled while it was queued, ran or was being dropped
// A task is over when its job is CANCELLED, or in a later generation than the handle's.
//
// Invariants
//   TK1  A task is cancelled in its own generation only: state and generation are one word, changed by one
//        compare-and-exchange.
//   TK2  A task that is over stays over. A thread that sees that the task is over also sees the writes of the run, or
//        of the drop.
//   TK3  A thread that sees UNWANTED sees the writes before the cancel.
//   TK4  Cancel-and-wait returns after the end of the run or drop, on any thread. Inside the task's own run or drop it
//        returns at once.
//   TK5  A drop is reported once, with its reason: CANCELLED; REFUSED if the submitting thread drops the task inside
//        its submission; else STOPPED.
//   TK6  The user's function of a repeating task is not called after its cancel. If the run is about to submit the task
//        again, the submission keeps UNWANTED. The submitter checks UNWANTED after the submission. The next run, which
//        may start before that check on another thread, also checks UNWANTED. The generation shows whether the task is
//        over.
// Orderings
//   word: see job.c · →UNWANTED: release, pairs with the acquire of csched_task_is_cancelled_, carries the writes
//   before the cancel. A thread gets the handle after the first submission, and need not acquire that submission. After
//   its cas, a cancel acquires the resubmissions by the run
// Assumes: the word stays mapped, and its generation only rises (task_memory.c, TM1) and does not wrap: 2^56 uses of 16
//   ns each are 36 years.
// Source: a handle with a generation, as in slot maps. A generation of 31 bits, beside a 32-bit state, wraps after 20 s
//   of a busy loop.
// Models: checks/task.c.

#include "task_internal.h"
#include "../base/panic.h"
#include "../job/job_internal.h"
#include "../job/frames_internal.h"
#include "../time/timer_internal.h"
#include "target_internal.h"

int csched_task_submit_(csched_target *target, csched_task task) {
  csched_job_life outer = csched_job_may_be_refused_;                  // of a submission around this one
  csched_job_may_be_refused_ = (csched_job_life){task.job, task.life}; // TK5: if this thread now drops it: REFUSED
  int error = csched_target_submit(target, task.job);
  csched_job_may_be_refused_ = outer;
  return error;
}

int csched_task_submit_always_(csched_target *target, csched_task task) {
  csched_job_life outer = csched_job_may_be_refused_;                  // of a submission around this one
  csched_job_may_be_refused_ = (csched_job_life){task.job, task.life}; // TK5: if this thread now drops it: REFUSED
  int error = csched_target_submit_always_(target, task.job);
  csched_job_may_be_refused_ = outer;
  return error;
}

int csched_task_submit_at_(csched_target *target, csched_task task, csched_time deadline, csched_time leeway) {
  csched_job_life outer = csched_job_may_be_refused_;                  // of a submission around this one
  csched_job_may_be_refused_ = (csched_job_life){task.job, task.life}; // TK5: if this thread now drops it: REFUSED
  int error = csched_target_submit_at(target, csched_task_timer_(task.job), deadline, leeway);
  csched_job_may_be_refused_ = outer;
  return error;
}

csched_drop_reason csched_task_drop_reason_(void) { return csched_job_drop_reason_(); }

// Returns: the number of the job's generation, called `life` in the code. The next generation begins when the job has
// ended (end_job, job.c).
static uint64_t life_of(uint64_t word) { return word / CSCHED_JOB_LIFE; }

// Returns: whether `word`, the word of the task's job, shows that the task is over: it has run or was dropped.
static bool is_over(uint64_t word, csched_task task) {
  return life_of(word) != task.life || csched_job_state_(word) == CSCHED_JOB_CANCELLED;
}

bool csched_task_is_unwanted_(const csched_job *job) {
  return (csched_load_relaxed(&job->word) & CSCHED_JOB_UNWANTED) != 0; // TK6: no resubmission clears it
}

int csched_task_submit_again_(csched_job *job, csched_time deadline, csched_time leeway) {
  csched_task task = {job, life_of(csched_load_relaxed(&job->word))}; // TK6: only the end of this run changes `life`
  if (csched_task_is_unwanted_(job)) return CSCHED_TASK_UNWANTED_;    // TK6: cancelled in this run, so no next run
  int error = csched_task_submit_at_(csched_task_target_(job), task, deadline, leeway);
  if (csched_task_is_unwanted_(job)) csched_task_cancel(task); // TK6: a later cancel saw a run, and dropped nothing
  return error;
}

bool csched_task_is_over(csched_task task) {
  return task.job == NULL || is_over(csched_load_acquire(&task.job->word), task); // TK2: sees the writes of the run
}

// Returns: whether the task was cancelled, also during its run, or is over. After that, no run calls the user's
// function (TK6).
bool csched_task_is_cancelled_(csched_task task) {
  if (task.job == NULL) return true;
  uint64_t word = csched_load_acquire(&task.job->word); // TK2, TK3: sees what preceded the end, or the cancel
  return is_over(word, task) || (word & CSCHED_JOB_UNWANTED) != 0;
}

csched_cancel_result csched_task_cancel(csched_task task) { // drops a queued task; marks one that runs UNWANTED
  if (task.job == NULL) return CSCHED_CANCEL_FINISHED;
  uint64_t word = csched_load_relaxed(&task.job->word); // racy read, rechecked by the cas
  while (!is_over(word, task)) {
    unsigned state = csched_job_state_(word);
    bool drops = state == CSCHED_JOB_QUEUED; // true: this call drops the job; false: it only sets UNWANTED
    uint64_t unwanted = (drops ? csched_job_in_state_(word, CSCHED_JOB_DROPPING) : word) | CSCHED_JOB_UNWANTED;
    // The cas fails if the task has ended: the word contains the generation. Its release publishes the writes before
    // the cancel.
    if (unwanted != word && !csched_cas_release(&task.job->word, &word, unwanted)) continue; // TK1, TK3: as above
    if (drops) {
      (void)csched_load_acquire(&task.job->word); // TK6: acquires a resubmission; pairs with submit_again (job.c)
      // false: the job is still linked, so the queue releases it
      if (csched_task_size_(task.job) == CSCHED_TASK_PLAIN) csched_job_end_cancel_(task.job, false);
      else csched_timer_end_cancel_(csched_task_timer_(task.job));
      return CSCHED_CANCEL_DROPPED;
    }
    if (state == CSCHED_JOB_RUNNING || state == CSCHED_JOB_ORPHANED) return CSCHED_CANCEL_RUNNING;
    break; // its drop has begun: too late for a cancel, as after the end
  }
  (void)csched_load_acquire(&task.job->word); // TK2: the caller sees the run or drop; pairs with end_job (job.c)
  return CSCHED_CANCEL_FINISHED;
}

// Returns: whether this thread is inside the run or the drop of `job`.
static bool is_inside(const csched_job *job) {
  return csched_job_is_dropped_here_(job) || csched_job_is_running_here_(job);
}

// Does: as csched_task_cancel, and waits until the task's run or drop has ended, unless this thread is inside that run
// or drop.
CSCHED_NOINLINE csched_cancel_result csched_task_cancel_and_wait(csched_task task) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // job.c, J7: ends an unwound run, which needs no wait
  csched_cancel_result result = csched_task_cancel(task);
  if (result == CSCHED_CANCEL_DROPPED || task.job == NULL) return result;             // it will not run: no wait
  for (uint64_t word; !is_over(word = csched_load_acquire(&task.job->word), task);) { // TK2, TK4: until it is over
    if (is_inside(task.job)) break; // TK4: inside its own run or drop: does not wait for itself
    if (csched_job_state_(word) == CSCHED_JOB_ORPHANED)
      csched_panic_("csched_task_cancel_and_wait",
                    "the task was orphaned by fork: it runs, or is dropped, on a thread that lives in the parent. Do "
                    "not wait for it here.");
    if (csched_job_state_(word) == CSCHED_JOB_QUEUED) csched_task_cancel(task); // TK6: its run has resubmitted it
    else csched_job_wait_in_(task.job, word);
  }
  return result;
}
