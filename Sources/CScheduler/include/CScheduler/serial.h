// A serial queue: runs jobs one at a time, in order, on the threads of its base target.
// Depends on: target.h.
//
// The base is the target that the queue was created on: a pool's priority, a loop, another serial queue. The queue has
// no thread of its own. While the queue has work, it has one drain job on the base. The drain job runs a batch, at most
// 64 of the queue's jobs, and is then submitted to the base again. So a thousand queues share a few threads.
//
// A job, or the body of a sync, may end its thread (pthread_exit, cancellation), or be unwound by a C++ exception or
// longjmp. The queue then continues with the next job. job.h says which unwinds are allowed, and when the library
// notices them. In a child of fork a queue is in the state of its base: see pool.h, thread.h and loop.h.
#ifndef CSCHED_SERIAL_H
#define CSCHED_SERIAL_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

typedef struct csched_serial csched_serial;

/// Does: creates a queue on `base`. Returns: 0 or ENOMEM. Requires: `base` outlives the queue and the work that is
/// submitted to it. Thread: any.
int csched_serial_create(csched_serial **serial, csched_target *base);

/// Does: makes the queue retain `keeper`, the object that the queue belongs to, while the queue has work: it calls
/// `retain(keeper)` when it gets work, and `release(keeper)` when it has no more. So the keeper may destroy the queue
/// when the keeper's own reference count is 0. Thread: any, before anything is submitted. `retain` and `release` are
/// called on any thread, and must not use the queue.
void csched_serial_own(csched_serial *serial, void (*retain)(void *keeper), void (*release)(void *keeper),
                       void *keeper);

/// Does: registers `closed`. The queue calls it once, with the keeper of csched_serial_own, when the queue's base
/// accepts no more work. By then all its jobs have run or were dropped; later submissions are refused. Work of queues
/// and limits on the queue that they have accepted before the stop is submitted to the target that
/// `continued_on(keeper)` returns then; NULL: it runs on the queue. Thread: any, before submissions; both functions are
/// called on any thread. Private.
void csched_serial_on_closed_(csched_serial *serial, void (*closed)(void *keeper),
                              csched_target *(*continued_on)(void *keeper));

/// Does: releases the handle. Submitted jobs still run; a suspended queue is resumed for them. Requires: each timer
/// that was submitted to the queue has been released, even a cancelled one, whose delivery may be in progress (check
/// with csched_job_is_idle). No thread, and no job of the queue, is in a call on the handle or makes one later. Thread:
/// any.
void csched_serial_destroy(csched_serial *serial);

/// Returns: the queue as a target, to submit to (target.h) and to be the base of another queue. Valid as long as the
/// queue. Thread: any.
CSCHED_INLINE csched_target *csched_serial_target(csched_serial *serial) {
  CSCHED_NEEDS_ABI();
  return (csched_target *)serial;
}

/// Does: calls `body(context)` as a job of the queue, and waits until `body` has returned. If the queue is idle, `body`
/// runs at once on the calling thread, unless the queue's base is a loop of another thread. On a pool, a sync needs no
/// thread but its caller's: while the caller waits, it runs the jobs before `body` itself, unless another thread runs
/// them. Such a job is on the caller's thread and stack, at its priority; inside of it, csched_target_is_inside does
/// not see what the caller is inside of. The job must not end by an exception, longjmp or thread exit there, nor may
/// `body` if the queue's base is another queue that is busy: that stops the process. Returns: 0, also when `body` was
/// unwound on another thread that ran it. ECANCELED, without a call, when the queue's base was stopped or closed.
/// EDEADLK, without a call, when the wait would never end: the caller is a job of the queue, is on the loop thread that
/// runs the queue, or its wait would close a cycle of waits of threads for queues. Thread: any; it blocks.
int csched_serial_sync_(csched_serial *serial, void (*body)(void *context), void *context, csched_scope *scope);
CSCHED_INLINE int csched_serial_sync(csched_serial *serial, void (*body)(void *context), void *context) {
  CSCHED_NEEDS_ABI();
  CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
  scope.frame = NULL; // the clean-up has nothing to end if `body` does not start here
  int result = csched_serial_sync_(serial, body, context, &scope);
  scope.frame = NULL;
  return result;
}

/// Does: enters the queue if it is idle: until csched_serial_leave, the caller counts as the queue's running job.
/// Returns: true; false, with no effect, if the queue is not idle, or its base was stopped or is another thread's loop.
/// Requires: `inside` stays at its address. Thread: any; it does not wait.
bool csched_serial_try_enter(csched_serial *serial, csched_target_inside *inside);

/// Does: ends a csched_serial_try_enter that returned true. Thread: the thread that entered, after it has left
/// everything that it entered later.
void csched_serial_leave(csched_serial *serial, const csched_target_inside *inside);

/// Does: names the queue for dumps (dump.h). The name is cut at 31 bytes. Thread: the queue's creator, once.
void csched_serial_set_name(csched_serial *serial, const char *name);

/// Does: suspends the queue: it starts no job until one csched_serial_resume for each suspend. A started job runs to
/// its end. Thread: any.
void csched_serial_suspend(csched_serial *serial);

/// Does: undoes one csched_serial_suspend. Without a suspend it stops the process. Thread: any.
void csched_serial_resume(csched_serial *serial);

CSCHED_END_DECLS

#endif
