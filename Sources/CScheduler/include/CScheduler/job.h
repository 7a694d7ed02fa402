// The unit of work: an intrusive node that is run or dropped, exactly once.
// Depends on: base.h.
#ifndef CSCHED_JOB_H
#define CSCHED_JOB_H

#include <CScheduler/base.h>

CSCHED_BEGIN_DECLS

typedef struct csched_job csched_job;

/// What a kind of job does. One constant table serves all jobs of a kind.
///
/// Each submission ends in exactly one of `run` and `drop`, and then in exactly one `release`:
///  - `run` does the work, on the thread of whatever it was submitted to.
///  - `drop` (may be NULL) gives up what the job holds, because the work will not be done. It is called by csched_job_cancel on the
///    cancelling thread, or by a scheduler that has been stopped.
///  - `release` (may be NULL) gives back the memory. After a cancel it comes later than `drop`, when the queue has come to the
///    cancelled entry. The thread may be any.
/// A `run` that submits its own job again keeps the memory in use: `release` then follows the last submission only.
///
/// When the memory is the caller's again, to be freed, initialised or submitted anew:
///  - With a `release`: from its call on, and not before, whatever else says that the job has ended.
///  - Without: when csched_job_is_idle says so. Nothing of ours looks at the job after that.
/// That instant comes
///  - after a run: soon after `run` has returned. Not inside of it: what `run` posts or stores as its last act comes too early. Wait for
///    csched_job_is_idle, call csched_job_cancel_and_wait, or post in `release`.
///  - after a cancel: when the queue has come to the cancelled entry, which is linked until then. A timer that still waited for its
///    deadline is taken out: for it, before csched_timer_cancel returns.
///  - after a submission that was refused: before that returns; inside of another job's `drop` or its `release`: after these.
///  - after a run that has submitted its job again: not yet, but after what becomes of that submission.
/// A `run` may be left by an exception of C++, or by longjmp, if whoever called the run of the loop, the sync or the trampoline around it
/// catches that; on a thread of ours nobody does, and the process ends (std::terminate). The job has ended then, and `release` follows;
/// what it ran on goes on. An exception sees to that on its way through C++. After a longjmp, or where the exception passes through C
/// only, the thread does by its next call of csched_target_*, csched_serial_*, csched_trampoline_*, csched_loop_current, _run* or
/// _destroy, csched_job_cancel_and_wait, csched_timer_cancel_and_wait or csched_job_is_idle from the function that goes on there, or from
/// one of its callers; that must be on the thread's own stack, not on a fiber's. `drop` and `release` must not be left, nor must a signal
/// handler leave a function of ours.
typedef struct csched_job_type {
  void (*run)(csched_job *job);
  void (*drop)(csched_job *job);
  void (*release)(csched_job *job);
} csched_job_type;

/// A job. The caller owns the memory and must keep it while it is in use: see above. Initialise it with csched_job_init; `context` is
/// the caller's; the other fields are private.
struct csched_job {
  csched_job *next;
  const csched_job_type *type;
  void *context;
  uint64_t word;
};

CSCHED_STATIC_ASSERT(sizeof(csched_job) == 4 * sizeof(void *), "a job is half a cache line");

/// What csched_job_cancel found.
typedef enum csched_cancel_result {
  CSCHED_CANCEL_DROPPED, ///< it had not begun: `drop` has been called, `run` never will be
  CSCHED_CANCEL_RUNNING, ///< it has begun and runs to its end
  CSCHED_CANCEL_FINISHED, ///< nothing was pending: it had ended, was cancelled before, or was never submitted; what it did is seen
} csched_cancel_result;

/// Why what was submitted will not run.
typedef enum csched_drop_reason {
  CSCHED_DROP_CANCELLED, ///< by somebody
  CSCHED_DROP_STOPPED,   ///< with what it waited in, which was stopped, closed or destroyed
  CSCHED_DROP_REFUSED,   ///< it was submitted to what takes no more
  CSCHED_DROP_NO_MEMORY, ///< there was none to submit it
} csched_drop_reason;

/// Does: makes `job` ready to be submitted; once is enough for any number of times. Requires: it is not in use; `type` outlives it.
/// One that is initialised in the middle of its run, or while it is queued, stops the process when that is found out.
CSCHED_INLINE void csched_job_init(csched_job *job, const csched_job_type *type, void *context) {
  CSCHED_NEEDS_ABI();
  job->next = NULL;
  job->type = type;
  job->context = context;
  job->word = 0;
}

/// Does: cancels `job` if it has not begun: calls its `drop` on this thread, before returning.
/// Requires: the memory stays valid during the call. Returns: what it found; of several threads that cancel at a time one
/// drops, and the others may return FINISHED while it is at that. Thread: any, any number of times.
csched_cancel_result csched_job_cancel(csched_job *job);

/// Does: as csched_job_cancel, and if the job is running on another thread waits until that run has ended. From inside the job
/// itself it does not wait. A run that submits its own job again counts as ended by that: the job is then pending.
/// Requires: the memory stays valid during the call, as long as the last of several that wait. Each of them returns by itself.
/// Returns: what it found at first. After RUNNING, outside of the job and unless it was submitted again, it is idle; after the others
/// csched_job_is_idle tells whether a cancelled entry is still linked. Thread: any; it may block.
csched_cancel_result csched_job_cancel_and_wait(csched_job *job);

/// Returns: whether `job` is not in use: it has never been submitted, or its last submission has ended, and what it did is seen. It can
/// be submitted, and without a `release` in its type the memory is the caller's. Thread: any.
bool csched_job_is_idle(const csched_job *job);

// What a thread is in the middle of. All of this is private.

/// One level of it: a job, a run of a loop, a sync …
typedef struct csched_level {
  uintptr_t frame;              // where on the stack: calls from inside it have lower addresses
  csched_job *volatile job;     // what has ended when the level is left; it may stand for something else than a job
  struct csched_target *target; // the current one
  struct csched_level *outer, *next;
} csched_level;

/// What one call begins; it lives in the caller's frame.
typedef struct csched_scope {
  csched_level *level;
  csched_level spare; // for want of memory
} csched_scope;

/// Does: ends what the call has begun and not ended, because an exception passes.
void csched_scope_end_(csched_scope *scope);

CSCHED_END_DECLS

#endif
