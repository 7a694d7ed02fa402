// A recursive lock: its owner may take it again.
// Depends on: lock.h.
//
// It is a csched_lock with a count. All rules of lock.h apply, except that the owner may lock it again. Unlocked is all zero. The owner must unlock
// it as often as it has locked it. It cannot be used with a condition (cond.h): the wait would have to release what the outer callers have locked,
// too.
#ifndef CSCHED_RLOCK_H
#define CSCHED_RLOCK_H

#include <CScheduler/lock.h>

CSCHED_BEGIN_DECLS

/// The recursive lock. Do not move it while any thread uses it. It may be freed when a csched_lock may be.
typedef struct csched_rlock {
  csched_lock lock;
  uint32_t again; ///< how often its owner has locked it again
} csched_rlock;

CSCHED_STATIC_ASSERT(sizeof(csched_rlock) == 8, "a recursive lock is 8 bytes");

#define CSCHED_RLOCK_INIT                                                                                              \
  { CSCHED_LOCK_INIT, 0 }

/// Does: takes the lock, or adds one to the count when the caller owns it. Waits as long as necessary. A count above 2^32 stops the process. Thread:
/// any.
void csched_rlock_lock(csched_rlock *rlock);

/// Does: takes the lock if it is free or the caller owns it. Returns: whether it took it. Thread: any; it never waits.
bool csched_rlock_trylock(csched_rlock *rlock);

/// Does: takes the lock, waiting until `deadline` (nanoseconds of csched_now) at most. A deadline in the past is a trylock. Returns: whether it took
/// it. Thread: any; it blocks.
bool csched_rlock_lock_until(csched_rlock *rlock, csched_time deadline);

/// Does: unlocks once. Requires: the caller owns the lock; otherwise the process is stopped. Thread: the owner.
void csched_rlock_unlock(csched_rlock *rlock);

/// Does: stops the process with a message unless the caller owns the lock. Thread: any.
void csched_rlock_assert_owner(const csched_rlock *rlock);

/// Does: stops the process with a message if the caller owns the lock. Thread: any.
void csched_rlock_assert_not_owner(const csched_rlock *rlock);

CSCHED_END_DECLS

#endif
