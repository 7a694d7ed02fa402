// An unfair lock in 4 bytes.
// Depends on: base.h, atomic.h.
//
// Unlocked is all zero: static and zeroed memory needs no initialiser, nothing needs to be destroyed, no heap is used. Not
// recursive. A thread that finds it taken spins for a moment, then sleeps. Unfair: who finds it free takes it, whoever waits; but the waiter
// that is first in line and has slept for 2 ms is passed by no thread more than 128 times before an unlock hands it the lock (at most one
// such hand-off in 0.4 ms; for a thread that uses other contended locks, too, the 128 count for all of them). The word names its owner, so locking again by
// the owner, or unlocking by another thread, stops the process with a message. So does, in a child of fork, waiting for a lock whose owner
// was orphaned; those of the thread that forked stay its own. A thread that ends must have unlocked: who waits for its lock looks
// after a second whether the owner lives, and later now and then, and stops the process if it has ended. In one process only; not in
// signal handlers.
#ifndef CSCHED_LOCK_H
#define CSCHED_LOCK_H

#include <CScheduler/atomic.h>

CSCHED_BEGIN_DECLS

/// The lock. Keep it where it is while any thread uses it: its address is its identity. It may be freed as soon as no thread
/// is going to use it: an unlock does not look at it again after letting it go.
typedef struct csched_lock {
  uint32_t owner; ///< the system's number of the owning thread, 0 when unlocked
} csched_lock;

CSCHED_STATIC_ASSERT(sizeof(csched_lock) == 4, "a lock is 4 bytes");

#define CSCHED_LOCK_INIT                                                                                               \
  { 0 }

/// This thread's number, for the inline paths, or 0 where it has to take the slow ones (its first lock; a kernel without
/// membarrier; ThreadSanitizer). Private.
extern CSCHED_TLS_FAST CSCHED_THREAD_LOCAL uint32_t csched_self_;

/// The waiter flag that an unlock looks at, by the lock's address: 0 while no thread waits for any lock with that hash. Private.
typedef struct csched_lock_waiter_flag_ {
  CSCHED_CACHE_ALIGNED uintptr_t word;
} csched_lock_waiter_flag_;
enum { CSCHED_LOCK_WAITER_FLAGS_ = 256 };
extern csched_lock_waiter_flag_ csched_lock_waiter_flags_[CSCHED_LOCK_WAITER_FLAGS_];
enum { CSCHED_LOCK_IS_DUE_ = 2 }; ///< of a waiter flag: an unlock is to hand the lock over

CSCHED_INLINE size_t csched_lock_hash_(const csched_lock *lock) {
  uintptr_t address = (uintptr_t)lock;
  return (address >> 4 ^ address >> 12) % CSCHED_LOCK_WAITER_FLAGS_;
}

void csched_lock_lock_slow_(csched_lock *lock);
bool csched_lock_trylock_slow_(csched_lock *lock);
void csched_lock_unlock_slow_(csched_lock *lock);
void csched_lock_wake_slow_(csched_lock *lock);

/// Does: takes the lock, waiting as long as it must. Requires: the caller does not own it. Thread: any.
CSCHED_INLINE void csched_lock_lock(csched_lock *lock) {
  CSCHED_NEEDS_ABI();
  uint32_t free = 0, self = csched_self_;
  if (CSCHED_LIKELY(self != 0 && csched_cas_acquire(&lock->owner, &free, self))) return; // L1
  csched_lock_lock_slow_(lock);
}

/// Does: takes the lock if it is free. Returns: whether it did; false also when the caller owns it already. Thread: any; it
/// never waits.
CSCHED_INLINE bool csched_lock_trylock(csched_lock *lock) {
  CSCHED_NEEDS_ABI();
  uint32_t free = 0, self = csched_self_;
  if (CSCHED_LIKELY(self != 0)) return csched_cas_acquire(&lock->owner, &free, self); // L1
  return csched_lock_trylock_slow_(lock);
}

/// Does: takes the lock, waiting until `deadline` (of csched_now) at the most. A deadline in the past is a trylock.
/// Returns: whether the caller now owns it. Requires: the caller does not own it. Thread: any.
bool csched_lock_lock_until(csched_lock *lock, csched_time deadline);

/// Does: gives the lock back. Requires: the caller owns it. Thread: the owner.
CSCHED_INLINE void csched_lock_unlock(csched_lock *lock) {
  CSCHED_NEEDS_ABI();
  const uintptr_t *flag = &csched_lock_waiter_flags_[csched_lock_hash_(lock)].word;
  uint32_t self = csched_self_;
  if (CSCHED_UNLIKELY(self == 0 || csched_load_relaxed(&lock->owner) != self ||  // L6
                      (csched_load_relaxed(flag) & CSCHED_LOCK_IS_DUE_) != 0)) { // L7
    csched_lock_unlock_slow_(lock);
    return;
  }
  csched_store_release(&lock->owner, 0u); // L1: release; pairs with the next owner's acquire; carries what is guarded
  csched_fence_compiler();                // L2: light side; pairs with the heavy fence before a sleep
  if (CSCHED_UNLIKELY(csched_load_relaxed(flag) != 0)) csched_lock_wake_slow_(lock); // L2
}

/// Does: stops the process with a message unless the caller owns the lock. Thread: any.
void csched_lock_assert_owner(const csched_lock *lock);

/// Does: stops the process with a message if the caller owns the lock. Thread: any.
void csched_lock_assert_not_owner(const csched_lock *lock);

CSCHED_END_DECLS

#endif
