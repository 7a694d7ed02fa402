// A trampoline: each thread's own queue, which runs the first job at once, and then the jobs that were submitted
// meanwhile.
// Depends on: job.h.
//
// It turns recursion into iteration. In a chain of jobs that each submit the next one, stack and memory stay constant,
// and other work runs in between. Each thread has its own trampoline. No operation locks or allocates, but a thread's
// first use allocates; without memory the process stops.
#ifndef CSCHED_TRAMPOLINE_H
#define CSCHED_TRAMPOLINE_H

#include <CScheduler/job.h>

CSCHED_BEGIN_DECLS

typedef struct csched_trampoline csched_trampoline;

/// The state of one csched_trampoline_push, which opens a nested queue; it is in the caller's memory. The fields are
/// private.
typedef struct csched_trampoline_frame {
  csched_job **outer_start; // where the enclosing frame's jobs start
  bool was_active;          // whether the trampoline was active before the push
} csched_trampoline_frame;

/// The state of one csched_trampoline_set_aside; it is in the caller's memory. The fields are private.
typedef struct csched_trampoline_aside {
  csched_job **start, **base; // of the trampoline, for csched_trampoline_put_back
  bool was_active;            // false: nothing was set aside
} csched_trampoline_aside;

/// This thread's trampoline while it is active, otherwise NULL. Private.
extern CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_trampoline *csched_trampoline_active_;

bool csched_trampoline_is_open_(void);          ///< returns: whether no unwind has closed the active trampoline
bool csched_trampoline_queue_(csched_job *job); ///< returns: false if not enqueued: an unwind closed the trampoline
void csched_trampoline_run_outermost_(csched_job *job, csched_scope *scope); ///< runs `job` now, then the queued jobs
void csched_trampoline_leave_(csched_scope *scope);

/// Returns: whether no trampoline is active on this thread, so that the next job would run at once. Thread: any.
CSCHED_INLINE bool csched_trampoline_is_required(void) {
  CSCHED_NEEDS_ABI();
  return csched_trampoline_active_ == NULL || !csched_trampoline_is_open_();
}

/// Does: if no trampoline is active on this thread, runs `job` now, and then all jobs that these jobs submit with this
/// function. Otherwise appends `job` to the trampoline's queue. Requires: the job is idle. Thread: any.
///
/// A C++ exception or longjmp may unwind a job (job.h). The jobs that still wait then run after the next job that this
/// function starts at once.
CSCHED_INLINE void csched_trampoline_run(csched_job *job) {
  CSCHED_NEEDS_ABI();
  if (csched_trampoline_active_ == NULL || !csched_trampoline_queue_(job)) {
    CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
    csched_trampoline_run_outermost_(job, &scope);
    scope.frame = NULL; // no exception: the clean-up has nothing to end
  }
}

/// Does: opens this thread's trampoline without a job: submitted jobs wait until csched_trampoline_leave. Returns:
/// true; false, with no effect, when a trampoline is active already. Thread: any. Before csched_trampoline_leave, the
/// thread must leave everything else that it entered after this call. An unwind of the surrounding job, sync or run
/// closes the trampoline; an unwind of only the calling function does not.
bool csched_trampoline_enter(void);

/// Does: runs the jobs submitted since csched_trampoline_enter, and closes the trampoline. Thread: the thread that
/// entered.
CSCHED_INLINE void csched_trampoline_leave(void) {
  CSCHED_NEEDS_ABI();
  CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
  scope.frame = NULL; // the clean-up has nothing to end if no job runs
  csched_trampoline_leave_(&scope);
  scope.frame = NULL;
}

/// Does: pushes a frame, an empty nested queue, on this thread's trampoline. A blocking wait inside a job can then run
/// the jobs that are submitted during the wait (csched_trampoline_drain), but no earlier jobs. Requires: `frame` stays
/// valid until the pop. Thread: any.
void csched_trampoline_push(csched_trampoline_frame *frame);

/// Does: runs the jobs that wait in the top frame. Returns: how many ran. Thread: any.
size_t csched_trampoline_drain(void);

/// Does: drains the top frame and removes it. Requires: `frame` is the top frame. Thread: the thread that pushed it.
void csched_trampoline_pop(csched_trampoline_frame *frame);

/// Does: sets this thread's trampoline aside, with all jobs that wait in it. A blocking wait inside a job can then run
/// other work as if outside any job: the next job runs at once, and the jobs that it submits run after it. The jobs set
/// aside do not run until csched_trampoline_put_back.
/// Requires: `aside` stays valid until then. Thread: any.
void csched_trampoline_set_aside(csched_trampoline_aside *aside);

/// Does: restores a trampoline that was set aside. Requires: `aside` is the most recent one not yet restored, and no
/// job runs on the current trampoline. Thread: the thread that set it aside.
void csched_trampoline_put_back(const csched_trampoline_aside *aside);

/// Does: unless this thread's trampoline is active, frees it, and drops jobs that still wait in it after an unwind.
/// Thread: any. Private.
void csched_trampoline_end_(void);

CSCHED_END_DECLS

#endif
