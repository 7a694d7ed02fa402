// A serial queue: one job at a time, in order, on any target.
// Depends on: target.h.
//
// It has no thread of its own: while there is work, one job of it waits on its base, the target that it was created with
// (a pool's priority, a loop, another serial queue), runs a bounded number of the queue's jobs, and lines up again. So a thousand queues share a few threads.
//
// When a job, or a sync on its caller's thread, ends that thread (pthread_exit, cancellation), or is left by an exception of C++ or by
// longjmp (job.h says how, and when that is noticed), the queue goes on with the next job. In a child of fork a queue is as its base
// is: see pool.h, thread.h and loop.h.
#ifndef CSCHED_SERIAL_H
#define CSCHED_SERIAL_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

typedef struct csched_serial csched_serial;

/// Does: creates a queue on `base`. Returns: 0 or ENOMEM. Requires: `base` outlives the queue and what is submitted to it.
/// Thread: any.
int csched_serial_create(csched_serial **serial, csched_target *base);

/// Does: makes `owner` the owner of the queue's target, and lets the queue keep it while there is work in the queue: by a call of
/// `retain`, then of `release`. So the owner may destroy the queue when nothing else keeps it. Thread: before anything is
/// submitted; of those calls, any, and they must not use the queue.
void csched_serial_own(csched_serial *serial, void (*retain)(void *owner), void (*release)(void *owner), void *owner);

/// Does: has the queue call `closed` with its owner, once, when its base takes no more: all that it had has been dropped by then, nothing of it
/// runs, and what comes later is refused. Thread: before anything is submitted; of the call, any. Private.
void csched_serial_on_closed_(csched_serial *serial, void (*closed)(void *owner));

/// Does: gives up the handle. What has been submitted still runs; a suspended queue is resumed for it. Requires: each timer that was
/// submitted to it has been released, a cancelled one too, which may have been on its way (csched_job_is_idle tells); no thread is in a call
/// on the handle, and none makes one later; jobs of the queue included. Thread: any.
void csched_serial_destroy(csched_serial *serial);

/// Returns: the queue as a target, to submit to (target.h), and to be the base of another queue. Valid as long as the queue. Thread: any.
CSCHED_INLINE csched_target *csched_serial_target(csched_serial *serial) {
  CSCHED_NEEDS_ABI();
  return (csched_target *)serial;
}

/// Does: calls `body(context)` as a job of the queue, and waits until it has returned. When the queue is idle that happens at once, on
/// the calling thread, unless its base is a loop of another thread. While it waits for a queue on a pool, it lends its priority (pool.h).
/// Returns: 0, also when `body` was left on another thread, where it ran; ECANCELED, without a call, when the queue's base has been
/// stopped or closed, the queue idle or not; else EDEADLK, without a call, when waiting could never end: the caller is a job of the queue,
/// or keeps it from going on, by being on the thread of its base, or by a chain of such waits over any number of queues and threads.
/// Thread: any; it blocks.
int csched_serial_sync_(csched_serial *serial, void (*body)(void *context), void *context, csched_scope *scope);
CSCHED_INLINE int csched_serial_sync(csched_serial *serial, void (*body)(void *context), void *context) {
  CSCHED_NEEDS_ABI();
  CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
  scope.level = NULL; // if nothing begins here
  int result = csched_serial_sync_(serial, body, context, &scope);
  scope.level = NULL;
  return result;
}

/// Does: makes the calling thread run the queue, as one job of it, until csched_serial_leave. Returns: false, and changes nothing,
/// when the queue is not idle, or its base is a loop of another thread, or has been stopped. Requires: `inside` stays where it is. Thread: any; it does not
/// wait.
bool csched_serial_try_enter(csched_serial *serial, csched_target_inside *inside);

/// Does: ends that. Thread: the same one, when what it entered since has been left.
void csched_serial_leave(csched_serial *serial, const csched_target_inside *inside);

/// Does: names the queue, for dumps (dump.h); the name is cut at 31 bytes. Thread: whoever made the queue, once.
void csched_serial_set_name(csched_serial *serial, const char *name);

/// Does: keeps the queue from beginning another job, until as many calls of csched_serial_resume. A job that has begun runs to
/// its end. Thread: any.
void csched_serial_suspend(csched_serial *serial);

/// Does: takes one csched_serial_suspend back. Stops the process if there is none. Thread: any.
void csched_serial_resume(csched_serial *serial);

CSCHED_END_DECLS

#endif
