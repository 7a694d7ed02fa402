// An unfair lock in 4 bytes.
// Depends on: base.h, atomic.h.
//
// All zero is unlocked: static and zeroed memory needs no initialiser, nothing needs to be destroyed, and no heap is
// used. The lock is not recursive. A thread that finds the lock taken spins for a moment, then sleeps. Any thread may
// acquire a free lock, even if other threads wait. Once the first waiter has slept for 2 ms, other threads may overtake
// it 128 times at most. Then an unlock transfers the lock to that waiter; there is at most one such transfer in 0.4 ms.
// Each thread counts its 128 times over all contended locks that it uses.
//
// The lock stores the owner's thread number. So a second lock by the owner, or an unlock by another thread, stops the
// process with a message. In a child of fork, the thread that forked still owns its locks; waiting for a lock of
// another thread of the parent stops the process. A thread must unlock before it ends. A waiter checks after a second,
// and repeatedly later, whether the owner's thread exists, and stops the process if that thread has ended. Use the lock
// in one process only, and not in signal handlers.
#ifndef CSCHED_LOCK_H
#define CSCHED_LOCK_H

#include <CScheduler/atomic.h>

CSCHED_BEGIN_DECLS

/// The lock. Do not move it while any thread uses it: its address identifies it. It may be freed as soon as no thread
/// is going to use it. After an unlock has released the lock, it accesses the lock only while a thread waits for it. So
/// the next owner may free a lock that no thread waits for.
typedef struct csched_lock {
  uint32_t owner; ///< the owner's system thread number; 0: unlocked
} csched_lock;

CSCHED_STATIC_ASSERT(sizeof(csched_lock) == 4, "a lock is 4 bytes");

#define CSCHED_LOCK_INIT                                                                                               \
  { 0 }

/// This thread's number, for the inline functions below. If it is 0, they call the slow functions. It is 0 until the
/// thread's first lock operation, and always on a kernel without membarrier and under ThreadSanitizer. Private.
extern CSCHED_TLS_FAST CSCHED_THREAD_LOCAL uint32_t csched_self_;

/// A waiter flag, for all locks whose address has the same hash. An unlock reads it; 0: no thread sleeps for such a
/// lock. Bit 0 of `word`: a thread sleeps. Bit 1: a waiter is starved: its lock's next unlock makes it the owner. Other
/// bits: the address of a lock that an awake waiter will try to lock (States in lock.c). Private.
typedef struct csched_lock_waiter_flag_ {
  CSCHED_CACHE_ALIGNED uintptr_t word;
} csched_lock_waiter_flag_;
enum { CSCHED_LOCK_WAITER_FLAGS_ = 256 }; ///< the number of flags
extern csched_lock_waiter_flag_ csched_lock_waiter_flags_[CSCHED_LOCK_WAITER_FLAGS_];

/// Returns: the index of the lock's waiter flag. Private.
CSCHED_INLINE size_t csched_lock_hash_(const csched_lock *lock) {
  uintptr_t address = (uintptr_t)lock;
  return (address >> 4 ^ address >> 12) % CSCHED_LOCK_WAITER_FLAGS_;
}

// Private. The first three do the whole operation, when the inline function cannot. csched_lock_wake_slow_ is the end
// of an unlock that has released the lock: it wakes the first sleeper. It reads the lock only if a sleeper is queued
// for it. LK1 and so on: the invariants in lock.c.
void csched_lock_lock_slow_(csched_lock *lock);
bool csched_lock_trylock_slow_(csched_lock *lock);
void csched_lock_unlock_slow_(csched_lock *lock);
void csched_lock_wake_slow_(csched_lock *lock);

/// Does: acquires the lock, and waits as long as necessary. Requires: the caller does not own it. Thread: any.
CSCHED_INLINE void csched_lock_lock(csched_lock *lock) {
  CSCHED_NEEDS_ABI(); // checks the library's layout at link time: base.h
  uint32_t free = 0, self = csched_self_;
  if (CSCHED_LIKELY(self != 0 && csched_cas_acquire(&lock->owner, &free, self))) return; // LK1: pairs with unlock
  csched_lock_lock_slow_(lock);
}

/// Does: acquires the lock if it is free. Returns: whether it did; false also if the caller already owns the lock.
/// Thread: any; it never waits.
CSCHED_INLINE bool csched_lock_trylock(csched_lock *lock) {
  CSCHED_NEEDS_ABI();
  uint32_t free = 0, self = csched_self_;
  if (CSCHED_LIKELY(self != 0)) return csched_cas_acquire(&lock->owner, &free, self); // LK1: pairs with unlock
  return csched_lock_trylock_slow_(lock);
}

/// Does: acquires the lock, and waits until `deadline` (of csched_now, nanoseconds) at the latest. A deadline in the
/// past is a trylock. Returns: whether the caller now owns the lock. Requires: the caller does not own it before the
/// call. Thread: any.
bool csched_lock_lock_until(csched_lock *lock, csched_time deadline);

/// Does: releases the lock. Requires: the caller owns it. Thread: the owner.
CSCHED_INLINE void csched_lock_unlock(csched_lock *lock) {
  CSCHED_NEEDS_ABI();
  const uintptr_t *flag = &csched_lock_waiter_flags_[csched_lock_hash_(lock)].word;
  uint32_t self = csched_self_;
  if (CSCHED_UNLIKELY(self == 0 || csched_load_relaxed(flag) != 0 || // waiters, or LK7: a hand-off is due
                      csched_load_relaxed(&lock->owner) != self)) {  // LK6: the caller is not the owner
    csched_lock_unlock_slow_(lock);
    return;
  }
  csched_store_release(&lock->owner, 0u); // LK1: release; pairs with the next owner's acquire; carries the guarded data
  csched_fence_compiler();                // LK2: light fence; pairs with a sleeper's heavy fence, so no wake is lost
  if (CSCHED_UNLIKELY(csched_load_relaxed(flag) != 0)) csched_lock_wake_slow_(lock); // LK2: wakes a sleeper
}

/// Does: stops the process with a message unless the caller owns the lock. Thread: any.
void csched_lock_assert_owner(const csched_lock *lock);

/// Does: stops the process with a message if the caller owns the lock. Thread: any.
void csched_lock_assert_not_owner(const csched_lock *lock);

CSCHED_END_DECLS

#endif
