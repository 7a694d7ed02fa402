// A recursive lock: its owner may lock it again.
// Depends on: lock.h.
//
// It is a csched_lock with a count. All rules of lock.h apply, except that the owner may lock it again. Unlocked is all
// zero. The owner must unlock it as often as it has locked it. It cannot be used with a condition (cond.h): a wait
// would also have to undo the locks of outer callers.
#ifndef CSCHED_RLOCK_H
#define CSCHED_RLOCK_H

#include <CScheduler/lock.h>

CSCHED_BEGIN_DECLS

/// The recursive lock. Do not move it while any thread uses it. It may be freed as soon as no thread is going to use
/// it.
typedef struct csched_rlock {
  csched_lock lock;
  uint32_t again; ///< private: how often the owner has locked it, without the first time
} csched_rlock;

CSCHED_STATIC_ASSERT(sizeof(csched_rlock) == 8, "a recursive lock is 8 bytes");

#define CSCHED_RLOCK_INIT                                                                                              \
  { CSCHED_LOCK_INIT, 0 }

/// Does: acquires the lock, waiting as long as necessary; for its owner adds 1 to the count. A count above 2^32 stops
/// the process. Thread: any.
void csched_rlock_lock(csched_rlock *rlock);

/// Does: as csched_rlock_lock if the lock is free or the caller owns it. Returns: whether it was locked. Thread: any;
/// it never waits.
bool csched_rlock_trylock(csched_rlock *rlock);

/// Does: as csched_rlock_lock, but waits until `deadline` (nanoseconds of csched_now) at most. A deadline in the past
/// is a trylock. Returns: whether it was locked. Thread: any; it blocks.
bool csched_rlock_lock_until(csched_rlock *rlock, csched_time deadline);

/// Does: unlocks once; the final unlock releases the lock. Requires: the caller owns the lock; otherwise the process is
/// stopped. Thread: the owner.
void csched_rlock_unlock(csched_rlock *rlock);

/// Does: stops the process with a message unless the caller owns the lock. Thread: any.
void csched_rlock_assert_owner(const csched_rlock *rlock);

/// Does: stops the process with a message if the caller owns the lock. Thread: any.
void csched_rlock_assert_not_owner(const csched_rlock *rlock);

CSCHED_END_DECLS

#endif
