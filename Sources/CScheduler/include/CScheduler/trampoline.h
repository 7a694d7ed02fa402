// The calling thread's own queue: the first job runs at once, those submitted while it runs wait their turn.
// Depends on: job.h.
//
// Turns recursion into iteration: however long a chain of jobs that submit the next one, the stack and the memory stay
// flat, and other work gets its turn in between. Each thread has a trampoline of its own; no operation locks or allocates,
// but for a thread's first use.
#ifndef CSCHED_TRAMPOLINE_H
#define CSCHED_TRAMPOLINE_H

#include <CScheduler/job.h>

CSCHED_BEGIN_DECLS

typedef struct csched_trampoline csched_trampoline;

/// One nesting level of a thread's trampoline; the memory is the caller's: see csched_trampoline_push. The fields are private.
typedef struct csched_trampoline_frame {
  csched_job **outer_start;
  bool was_active;
} csched_trampoline_frame;

/// A thread's trampoline that has been set aside; the memory is the caller's. The fields are private.
typedef struct csched_trampoline_aside {
  csched_job **start, **base;
  bool was_active;
} csched_trampoline_aside;

/// This thread's trampoline while it is active, otherwise NULL. Private.
extern CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_trampoline *csched_trampoline_active_;

bool csched_trampoline_is_open_(void);
bool csched_trampoline_queue_(csched_job *job); ///< returns: false, and does nothing, when the trampoline was left
void csched_trampoline_run_outermost_(csched_job *job, csched_scope *scope);
void csched_trampoline_leave_(csched_scope *scope);

/// Returns: whether no trampoline is active on this thread, so that the next job would run at once. Thread: any.
CSCHED_INLINE bool csched_trampoline_is_required(void) {
  CSCHED_NEEDS_ABI();
  return csched_trampoline_active_ == NULL || !csched_trampoline_is_open_();
}

/// Does: runs `job` now, and then all that it and its successors submit, when no trampoline is active on this thread;
/// otherwise queues it behind the others. Requires: the job is idle. Thread: any.
///
/// A job may be left by an exception of C++, or by longjmp (job.h): the jobs that wait then run with the next outermost one.
CSCHED_INLINE void csched_trampoline_run(csched_job *job) {
  CSCHED_NEEDS_ABI();
  if (csched_trampoline_active_ == NULL || !csched_trampoline_queue_(job)) {
    CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
    csched_trampoline_run_outermost_(job, &scope);
    scope.level = NULL;
  }
}

/// Does: opens this thread's trampoline without a job: what is submitted until csched_trampoline_leave waits. Returns: false,
/// and does nothing, when one is active already. Thread: any; what the thread enters since is left before. It is left with the job, sync
/// or run that it is in, not with the function that has called.
bool csched_trampoline_enter(void);

/// Does: runs what was submitted since csched_trampoline_enter, and closes the trampoline. Thread: the one that entered.
CSCHED_INLINE void csched_trampoline_leave(void) {
  CSCHED_NEEDS_ABI();
  CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
  scope.level = NULL; // if nothing is to be run
  csched_trampoline_leave_(&scope);
  scope.level = NULL;
}

/// Does: puts a fresh, empty frame on top, so that a blocking wait inside a job can serve what is submitted meanwhile,
/// without running what waits below. Requires: `frame` stays valid until the pop. Thread: any.
void csched_trampoline_push(csched_trampoline_frame *frame);

/// Does: runs the jobs that wait in the top frame. Returns: how many ran. Thread: any.
size_t csched_trampoline_drain(void);

/// Does: drains the top frame and takes it off. Requires: `frame` is the top. Thread: the one that pushed it.
void csched_trampoline_pop(csched_trampoline_frame *frame);

/// Does: sets this thread's trampoline aside, with all that waits in it, so that a blocking wait inside a job can run other work as it
/// would run outside: the next job runs at once, and what it submits when its turn comes. Nothing that waits below runs meanwhile.
/// Requires: `aside` stays valid until csched_trampoline_put_back. Thread: any.
void csched_trampoline_set_aside(csched_trampoline_aside *aside);

/// Does: takes back what was set aside. Requires: `aside` is the last one, and nothing runs on the trampoline. Thread: the one that set
/// it aside.
void csched_trampoline_put_back(const csched_trampoline_aside *aside);

/// Does: frees this thread's trampoline, unless it is active, and drops what an unwound job has left in it. Thread: any. Private.
void csched_trampoline_end_(void);

CSCHED_END_DECLS

#endif
