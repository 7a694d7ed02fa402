// A limited target: runs at most a given number of its jobs at a time, on any base target.
// Depends on: target.h.
//
// Jobs start in the order of their submission, if the base runs jobs in order. A blocked job counts as running. So jobs
// of this target that wait for a disk or a server never occupy all threads of a pool. A limited target has no thread
// and, without work, no cost. A limit of 1 makes a serial queue without syncs and suspensions.
//
// A job that is submitted to the second target (csched_limit_barrier_target) is a barrier. It runs alone, after all
// earlier jobs and before all later ones. So jobs may read data in parallel that only barriers change, as with
// dispatch_barrier_async.
//
// A bound for the jobs that wait (csched_limit_bound) slows producers down, or refuses their jobs. It holds for jobs
// that you submit to the two targets at once. Due timers, queues on the target, and jobs of Swift tasks are always
// accepted; they count while they wait.
//
// Each running job holds one permit of the limit. A job that ends its thread, or that an exception or longjmp unwinds
// (job.h), releases its permit. In a child of fork a limited target behaves as its base: see pool.h, thread.h and
// loop.h.
#ifndef CSCHED_LIMIT_H
#define CSCHED_LIMIT_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

typedef struct csched_limit csched_limit;

/// The largest limit. A larger argument counts as this value: no pool has more threads.
#define CSCHED_LIMIT_MOST 16384

/// Does: creates a target that runs at most `most` of its jobs at a time on `base`. Returns: 0; EINVAL when `most` is
/// less than 1; ENOMEM. Requires: `base` outlives the target and its jobs. Thread: any.
int csched_limit_create(csched_limit **limit, csched_target *base, int most);

/// What a submission does that finds as many jobs waiting as the bound.
typedef enum csched_full_policy {
  CSCHED_FULL_REFUSE, ///< it returns EAGAIN, after the job was dropped and released
  CSCHED_FULL_BLOCK, ///< it waits for room. Where such a wait would never end, it returns EAGAIN: see csched_limit_bound
} csched_full_policy;

/// Does: bounds the number of jobs that wait, those without a permit. A submission that finds `waiting` of them does
/// what `policy` says. Places of cancelled jobs are free: for the next submission if `waiting` is at most 256,
/// otherwise after a number of refusals.
///
/// With CSCHED_FULL_BLOCK, a submission continues when a job has left the waiting ones. If the base is a pool, the
/// submitting thread runs jobs of the target meanwhile, as a sync does (serial.h): it must not hold a lock that they
/// take. It returns EAGAIN instead of waiting where the wait might never end: inside a job of the target, inside a
/// `drop`, where a sync on a queue on the target would return EDEADLK, and, if the base is no pool, inside a job of the
/// base's base. In virtual time it does not wait, and accepts the job. Stops the process if `policy` is none of
/// csched_full_policy. Thread: any, before anything is submitted.
void csched_limit_bound(csched_limit *limit, size_t waiting, csched_full_policy policy);

/// Does: makes the target retain `keeper`, the object that the target belongs to, while the target has work: it calls
/// `retain(keeper)` when it gets work, and `release(keeper)` when it has no more. So the keeper may destroy the target
/// when the keeper's own reference count is 0. Thread: any, before anything is submitted. `retain` and `release` are
/// called on any thread, and must not use the target.
void csched_limit_own(csched_limit *limit, void (*retain)(void *keeper), void (*release)(void *keeper), void *keeper);

/// Does: releases the handle. Submitted jobs still run. Requires: each timer that was submitted to the target has been
/// released (check with csched_job_is_idle). No thread, and no job of the target, is in a call on the handle or makes
/// one later. Thread: any.
void csched_limit_destroy(csched_limit *limit);

/// Returns: the limited target, to submit to (target.h) or to be the base of queues; valid as long as `limit`. A
/// submission holds a lock for a few instructions; it is not lock-free. Thread: any.
CSCHED_INLINE csched_target *csched_limit_target(csched_limit *limit) {
  CSCHED_NEEDS_ABI();
  return (csched_target *)limit;
}

/// Returns: the target for barriers, whose base is the limited target. A barrier starts when all earlier jobs of both
/// targets have ended. It runs alone, and later jobs start after its end. A barrier may be a delayed job, and a thread
/// may wait for it. If a queue has this target as its base, each batch of the queue's jobs is a barrier. A cancelled
/// barrier delays other jobs at most until the next submission, or the end of the next job. Valid as long as the
/// limited target. A wait inside a barrier for another job, or inside a job for a barrier, returns EDEADLK. Thread:
/// any.
csched_target *csched_limit_barrier_target(csched_limit *limit);

CSCHED_END_DECLS

#endif
