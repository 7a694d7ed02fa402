// A lock that its owner may take again.
// Depends on: lock.h.
//
// A csched_lock and a count, so that all that is said there holds here, but for the message to an owner that locks again. Unlocked is all
// zero. Its owner unlocks it as often as it has locked it. No condition can be waited for with it, because a wait would have to let go of
// all that callers further out have taken.
#ifndef CSCHED_RLOCK_H
#define CSCHED_RLOCK_H

#include <CScheduler/lock.h>

CSCHED_BEGIN_DECLS

/// The recursive lock. Keep it where it is while any thread uses it; free it as a csched_lock.
typedef struct csched_rlock {
  csched_lock lock;
  uint32_t again; ///< how often its owner has taken it beyond the first time
} csched_rlock;

CSCHED_STATIC_ASSERT(sizeof(csched_rlock) == 8, "a recursive lock is 8 bytes");

#define CSCHED_RLOCK_INIT                                                                                              \
  { CSCHED_LOCK_INIT, 0 }

/// Does: takes the lock, once more where the caller owns it, waiting as long as it must. More than 2^32 times stop the process. Thread: any.
void csched_rlock_lock(csched_rlock *rlock);

/// Does: takes the lock if it is free or the caller's. Returns: whether it did. Thread: any; it never waits.
bool csched_rlock_trylock(csched_rlock *rlock);

/// Does: takes the lock, waiting until `deadline` (of csched_now) at the most. A deadline in the past is a trylock.
/// Returns: whether it did. Thread: any.
bool csched_rlock_lock_until(csched_rlock *rlock, csched_time deadline);

/// Does: gives the lock back once. Requires: the caller owns it; otherwise the process is stopped. Thread: the owner.
void csched_rlock_unlock(csched_rlock *rlock);

/// Does: stops the process with a message unless the caller owns the lock. Thread: any.
void csched_rlock_assert_owner(const csched_rlock *rlock);

/// Does: stops the process with a message if the caller owns the lock. Thread: any.
void csched_rlock_assert_not_owner(const csched_rlock *rlock);

CSCHED_END_DECLS

#endif
