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
///  - `drop` gives up what the job holds, because the work will not be done. It is called by csched_job_cancel on the
///    cancelling thread, or by a scheduler that has been stopped.
///  - `release` (may be NULL) gives back the memory: nothing of ours looks at the job afterwards. After a cancel it comes
///    later than `drop`, when the queue has come past the empty husk. The thread may be any.
/// A `run` that submits its own job again keeps the memory in use: `release` then follows the last submission only.
///
/// A `run` may be left by an exception of C++, or by longjmp, if whoever called the run of the loop, the sync or the trampoline around it
/// catches that; on a thread of ours nobody does, and the process ends (std::terminate). The job has ended then, and `release` follows;
/// what it ran on goes on. An exception sees to that on its way through C++. After a longjmp, or where the exception passes through C
/// only, the thread does by its next call of csched_target_*, csched_serial_*, csched_trampoline_*, csched_loop_current, _run* or
/// _destroy, csched_job_cancel_and_wait or csched_job_is_idle from the function that goes on there, or from one of its callers; that
/// must be on the thread's own stack, not on a fiber's. `drop` and `release` must not be left, nor must a signal handler leave a
/// function of ours.
typedef struct csched_job_type {
  void (*run)(csched_job *job);
  void (*drop)(csched_job *job);
  void (*release)(csched_job *job);
} csched_job_type;

/// A job. The caller owns the memory and must keep it until `release`. Initialise it with csched_job_init; `context` is the
/// caller's; the other fields are private.
struct csched_job {
  csched_job *next;
  const csched_job_type *type;
  void *context;
  uint32_t state;
  uint32_t flags;
};

CSCHED_STATIC_ASSERT(sizeof(csched_job) == 4 * sizeof(void *), "a job is half a cache line");

/// What csched_job_cancel found.
typedef enum csched_cancel_result {
  CSCHED_CANCEL_DROPPED,  ///< it had not begun: `drop` has been called, `run` never will be
  CSCHED_CANCEL_RUNNING,  ///< it has begun and runs to its end
  CSCHED_CANCEL_FINISHED, ///< nothing was pending: it had ended, was cancelled before, or was never submitted
} csched_cancel_result;

/// Does: makes `job` ready to be submitted. Requires: it is not pending anywhere; `type` outlives it.
CSCHED_INLINE void csched_job_init(csched_job *job, const csched_job_type *type, void *context) {
  job->next = NULL;
  job->type = type;
  job->context = context;
  job->state = 0;
  job->flags = 0;
}

/// Does: cancels `job` if it has not begun: calls its `drop` on this thread, before returning.
/// Requires: the memory stays valid during the call. Returns: what it found; of several threads that cancel at a time one
/// drops, and the others may return FINISHED while it is at that. Thread: any, any number of times.
csched_cancel_result csched_job_cancel(csched_job *job);

/// Does: as csched_job_cancel, and if the job is running on another thread waits until it has ended. From inside the job
/// itself it does not wait. A run that submits its own job again counts as ended by that. Returns: what it found at first. Thread: any; it may block.
csched_cancel_result csched_job_cancel_and_wait(csched_job *job);

/// Returns: whether `job` can be submitted, that is, whether it has never been, or its last submission has ended.
/// Thread: the one that would submit it.
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
