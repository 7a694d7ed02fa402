// A job: an intrusive unit of work that is run or dropped, exactly once.
// Depends on: base.h.
#ifndef CSCHED_JOB_H
#define CSCHED_JOB_H

#include <CScheduler/base.h>

CSCHED_BEGIN_DECLS

typedef struct csched_job csched_job;

/// The functions of a kind of job. One constant table serves all jobs of the kind.
///
/// Each submission ends in exactly one of `run` and `drop`, and then in exactly one `release`:
///  - `run` does the work, on a thread of the target that it was submitted to.
///  - `drop` (may be NULL) frees what the job holds, because the work will not be done. csched_job_cancel calls it on the cancelling thread; a
///    stopped scheduler calls it, too.
///  - `release` (may be NULL) frees the memory, on any thread. After a cancel it comes later than `drop`, when the cancelled entry is dequeued.
/// A `run` that submits its own job again keeps the memory in use: `release` then follows only the last submission.
///
/// When the caller owns the memory again, to free, initialise or submit it:
///  - With a `release`: from its call on, and not before, even if csched_job_is_idle is true earlier.
///  - Without: when csched_job_is_idle is true. The library does not access the job after that.
/// That happens
///  - after a run: soon after `run` has returned. A notification that `run` itself posts or stores, even as its last act, comes too early. Wait for
///    csched_job_is_idle, call csched_job_cancel_and_wait, or post in `release`.
///  - after a cancel: when the cancelled entry is dequeued; until then the job is linked. A timer that still waits for its deadline is removed before
///    csched_timer_cancel returns.
///  - after a refused submission: before that submission returns; inside another job's `drop` or `release`: after that function has returned.
///  - after a run that has submitted its job again: after the end of that submission.
/// A C++ exception or a longjmp may unwind a `run`, if you catch it around the loop run, sync or trampoline that called the `run`. The library's own
/// threads catch nothing: there the process ends (std::terminate). The library ends an unwound job: it calls `release`, and the target continues.
///  - An exception that unwinds C++ frames: at once.
///  - A longjmp, or an exception that unwinds only C frames: in the thread's next call of a function of the library that begins with csched_target_,
///    csched_serial_, csched_trampoline_ or csched_loop_run, or of csched_loop_current, csched_loop_destroy, csched_job_cancel_and_wait,
///    csched_timer_cancel_and_wait or csched_job_is_idle. Make that call in the function that has caught it, or in one of its callers, on the
///    thread's own stack (not a fiber's).
/// `drop` and `release` must not be unwound. A signal handler must not unwind a function of the library.
typedef struct csched_job_type {
  void (*run)(csched_job *job);
  void (*drop)(csched_job *job);
  void (*release)(csched_job *job);
} csched_job_type;

/// A job. The caller owns the memory and must keep it while it is in use: see above. Initialise it with csched_job_init. `context` is the caller's;
/// all other fields are private.
struct csched_job {
  csched_job *next;
  const csched_job_type *type;
  void *context;
  uint64_t word;
};

CSCHED_STATIC_ASSERT(sizeof(csched_job) == 4 * sizeof(void *), "a job is half a cache line");

/// What csched_job_cancel found.
typedef enum csched_cancel_result {
  CSCHED_CANCEL_DROPPED, ///< it had not started: `drop` was called, `run` never will be
  CSCHED_CANCEL_RUNNING, ///< it has started and runs to its end
  CSCHED_CANCEL_FINISHED, ///< nothing was pending: ended, cancelled before, or never submitted; what its `run` wrote is visible
} csched_cancel_result;

/// Why a submitted job will not run.
typedef enum csched_drop_reason {
  CSCHED_DROP_CANCELLED, ///< it was cancelled
  CSCHED_DROP_STOPPED,   ///< its target was stopped, closed or destroyed
  CSCHED_DROP_REFUSED,   ///< its target refused it
  CSCHED_DROP_NO_MEMORY, ///< no memory to submit it
} csched_drop_reason;

/// Does: prepares `job` for any number of submissions. Requires: it is not in use; `type` outlives it. If it is initialised inside its run, or while
/// it is queued, the process stops when that is detected.
CSCHED_INLINE void csched_job_init(csched_job *job, const csched_job_type *type, void *context) {
  CSCHED_NEEDS_ABI();
  job->next = NULL;
  job->type = type;
  job->context = context;
  job->word = 0;
}

/// Does: cancels `job` if it has not started: calls its `drop` on this thread, before returning. Requires: the memory stays valid during the call.
/// Returns: what it found. Of several concurrent cancels one drops; the others may return FINISHED before `drop` has returned. Thread: any, any
/// number of times.
csched_cancel_result csched_job_cancel(csched_job *job);

/// Does: as csched_job_cancel; if the job runs on another thread, also waits until that run has ended. Inside the job itself it does not wait. If
/// the run submits its own job again, the wait ends there, and the new submission stays pending. Requires: the memory stays valid until the last of several concurrent
/// calls has returned. Each call returns independently of the others. Returns: what it found at first. After RUNNING the job is idle, unless this was
/// called inside it or it was submitted again. After the other results csched_job_is_idle tells whether the target's queue still links the
/// cancelled job. Thread: any; it may block.
csched_cancel_result csched_job_cancel_and_wait(csched_job *job);

/// Returns: whether `job` is not in use: it was never submitted, or its last submission has ended, and its effects are visible. It can then be
/// submitted. Without a `release` in its type, the caller owns the memory. Thread: any.
bool csched_job_is_idle(const csched_job *job);

// The context frames of a thread (`csched_frame`): the runs, jobs and syncs that it is inside of. All of this is private.

/// One context frame: a job, a run of a loop, a sync … Private.
typedef struct csched_frame {
  uintptr_t address;            // a stack address: calls inside the frame have lower ones
  csched_job *volatile job;     // ends when the frame is popped or unwound; it may be a placeholder
  struct csched_target *target; // the current one
  struct csched_frame *outer, *next;
} csched_frame;

/// The context frame that one call pushes; it lives in the caller's stack frame. Private.
typedef struct csched_scope {
  csched_frame *frame;
  csched_frame spare; // used when allocation fails
} csched_scope;

/// Does: ends the context frames that the call has pushed and not popped, because an exception unwinds it.
void csched_scope_end_(csched_scope *scope);

CSCHED_END_DECLS

#endif
