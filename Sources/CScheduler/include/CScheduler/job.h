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
///  - `run` does the work, on a thread of the target that the job was submitted to.
///  - `drop` (may be NULL) frees the job's resources, because the work will not be done. csched_job_cancel calls `drop`
///    on the cancelling thread; a stopped scheduler calls it, too.
///  - `release` (may be NULL) frees the job's memory, on any thread. After a cancel it follows later than `drop`: when
///    the queue removes the job.
/// A `run` that submits its own job again keeps the memory in use: `release` then follows only the final submission.
///
/// When the caller owns the memory again, to free, initialise or submit it:
///  - If the type has a `release`: from the call of `release` on, and not before, even if csched_job_is_idle is true
///    earlier.
///  - If the type has no `release`: as soon as csched_job_is_idle is true. The library does not access the job after
///    that.
/// The job becomes idle, or its `release` is called,
///  - after a run: soon after `run` has returned. A notification that `run` itself sends, even in its final statement,
///    is too early. Wait for csched_job_is_idle, call csched_job_cancel_and_wait, or post in `release`.
///  - after a cancel: when the target's queue removes the cancelled job; until then the queue links it. A timer that
///    still waits for its deadline is removed before csched_timer_cancel returns.
///  - after a refused submission: before the submitting call returns; if that call is inside a `drop` or `release`:
///    after that function has returned.
///  - after a run that has submitted its own job again: when that new submission has ended.
/// A C++ exception or a longjmp may unwind a `run`, if you catch it around the loop run, sync or trampoline that called
/// the `run`. The library's own threads catch nothing: there the process ends (std::terminate). The library ends an
/// unwound job: it calls `release`, and the target continues.
///  - An exception that unwinds C++ frames: at once.
///  - A longjmp, or an exception that unwinds only C frames: in the thread's next call of a function of the library
///    that begins with csched_target_, csched_serial_, csched_trampoline_ or csched_loop_run, or of
///    csched_loop_current, csched_loop_destroy, csched_job_cancel_and_wait, csched_timer_cancel_and_wait or
///    csched_job_is_idle. Make that call in the function that caught the exception or called setjmp, or in one of its
///    callers, on the thread's own stack (not a fiber's).
/// `drop` and `release` must not be unwound. A signal handler must not unwind a function of the library.
typedef struct csched_job_type {
  void (*run)(csched_job *job);
  void (*drop)(csched_job *job);
  void (*release)(csched_job *job);
} csched_job_type;

/// A job. The caller owns the memory, valid while the job is in use: see above. Initialise it with csched_job_init.
/// Private: all but `context`.
struct csched_job {
  csched_job *next; // the next job in the queue that this job waits in
  const csched_job_type *type;
  void *context;
  uint64_t word; // the state: see job_internal.h
};

CSCHED_STATIC_ASSERT(sizeof(csched_job) == 4 * sizeof(void *), "a job is half a cache line");

/// What csched_job_cancel found.
typedef enum csched_cancel_result {
  CSCHED_CANCEL_DROPPED, ///< the job had not started: `drop` was called, `run` never will be
  CSCHED_CANCEL_RUNNING, ///< the job has started and runs to its end
  CSCHED_CANCEL_FINISHED, ///< the job had ended, was cancelled before, or never submitted; writes of its `run` are visible
} csched_cancel_result;

/// Why a submitted job will not run.
typedef enum csched_drop_reason {
  CSCHED_DROP_CANCELLED, ///< the job was cancelled
  CSCHED_DROP_STOPPED,   ///< its target was stopped, closed or destroyed
  CSCHED_DROP_REFUSED,   ///< its target refused it
  CSCHED_DROP_NO_MEMORY, ///< no memory to submit it
} csched_drop_reason;

/// Does: prepares `job` for any number of submissions. Requires: the job is not in use; `type` outlives it. If you
/// initialise a job inside its `run`, or while it is queued, the library stops the process when it detects that.
CSCHED_INLINE void csched_job_init(csched_job *job, const csched_job_type *type, void *context) {
  CSCHED_NEEDS_ABI();
  job->next = NULL;
  job->type = type;
  job->context = context;
  job->word = 0;
}

/// Does: cancels `job` if it has not started: calls its `drop` on this thread, before it returns. Requires: the memory
/// stays valid during the call.
/// Returns: the state in which it found the job. Of several concurrent cancels, one calls `drop`; the others may return
/// FINISHED before `drop` has returned. Thread: any, any number of times.
csched_cancel_result csched_job_cancel(csched_job *job);

/// Does: as csched_job_cancel; if the job runs on another thread, also waits until that run has ended. Inside the job
/// itself it does not wait. If the run submits its own job again, the wait ends there, and the new submission remains
/// pending. Requires: the memory stays valid until all concurrent calls have returned, each independently. Returns: the
/// state in which it found the job. After RUNNING the job is idle, unless this was called inside the job or the job was
/// submitted again. After other results, the target's queue may still link the cancelled job: see csched_job_is_idle.
/// Thread: any; it may block.
csched_cancel_result csched_job_cancel_and_wait(csched_job *job);

/// Returns: whether `job` is not in use: it was never submitted, or its most recent submission has ended, and the
/// writes of its run are visible. An idle job can be submitted. If its type has no `release`, the caller owns the
/// memory. Thread: any.
bool csched_job_is_idle(const csched_job *job);

// A thread has a list of context frames (`csched_frame`), one for each loop run, job and sync that is on its stack. All
// of this is private.

/// One context frame: a job, a run of a loop, a sync … Private.
typedef struct csched_frame {
  uintptr_t address;                 // a stack address; calls inside this context have lower addresses
  csched_job *volatile job;          // the job that ends with this context frame; a placeholder or NULL if it has none
  struct csched_target *target;      // the current target inside this context
  struct csched_frame *outer, *next; // the enclosing context frame; the next list entry (itself: on the stack)
} csched_frame;

/// The context frame that one call of an inline function begins. It is in the caller's stack frame. Private.
typedef struct csched_scope {
  csched_frame *frame; // the context frame that the call has begun; NULL: none, or it has ended
  csched_frame spare;  // `frame` points to it when allocation fails
} csched_scope;

/// Does: cleans up an inline call that an exception unwinds: ends `scope->frame`, and all context frames inside it.
/// `frame` NULL: does nothing.
void csched_scope_end_(csched_scope *scope);

CSCHED_END_DECLS

#endif
