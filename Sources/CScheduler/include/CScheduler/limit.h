// A limited target: no more than so many of its jobs at a time, on any target.
// Depends on: target.h.
//
// Jobs begin in the order of their submission, as far as the base keeps one. One that blocks counts, so a few that wait for a disk or a
// server never take all threads of a pool. It has no thread of its own, and without work it costs nothing. A limit of 1 is a serial queue
// without syncs and suspensions.
//
// What is submitted to its second target is a barrier: it runs alone, after all that came before it, and before what comes later. So many may read
// what one changes at a time, as by dispatch_barrier_async.
//
// A job that ends its thread, or is left by an exception or longjmp (job.h), gives its place up. In a child of fork a limited target is as
// its base is: see pool.h, thread.h and loop.h.
#ifndef CSCHED_LIMIT_H
#define CSCHED_LIMIT_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

typedef struct csched_limit csched_limit;

/// More than these are taken for these: a pool has no more threads.
#define CSCHED_LIMIT_MOST 16384

/// Does: creates a target that has `base` run at most `most` of its jobs at a time. Returns: 0; EINVAL when `most` is less than 1; ENOMEM.
/// Requires: `base` outlives it and what is submitted to it. Thread: any.
int csched_limit_create(csched_limit **limit, csched_target *base, int most);

/// Does: makes `owner` the owner of the target, and lets the target keep it while there is work: by calls of `retain`, each followed
/// by one of `release`. So the owner may destroy the target when nothing else keeps it. Thread: before anything is submitted; of those
/// calls, any, and they must not use the target.
void csched_limit_own(csched_limit *limit, void (*retain)(void *owner), void (*release)(void *owner), void *owner);

/// Does: gives up the handle. What has been submitted still runs. Requires: each timer that was submitted to it has been released
/// (csched_job_is_idle tells); no thread is in a call on the handle, and none makes one later; its jobs included. Thread: any.
void csched_limit_destroy(csched_limit *limit);

/// Returns: it as a target, to submit to (target.h), and to be the base of queues. Valid as long as it. A submission takes a lock for
/// some instructions, and is not lock-free. Thread: any.
CSCHED_INLINE csched_target *csched_limit_target(csched_limit *limit) {
  CSCHED_NEEDS_ABI();
  return (csched_target *)limit;
}

/// Returns: the target of its barriers, whose base it is. What is submitted there is a barrier: it begins when all that was submitted before,
/// to either target, has ended, runs alone, and what comes after it begins after its end. It may be delayed, be waited for, and be the base of a
/// queue: each batch of that is a barrier. A barrier that was cancelled holds up nothing from the next job on that comes or ends. Valid as long
/// as the limited target. To wait inside of a barrier for another job, or inside of any job for a barrier, is EDEADLK (serial.h). Thread: any.
csched_target *csched_limit_barrier_target(csched_limit *limit);

CSCHED_END_DECLS

#endif
