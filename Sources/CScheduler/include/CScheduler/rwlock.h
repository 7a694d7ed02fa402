// A read-write lock in 8 bytes: one writer, or several readers.
// Depends on: lock.h.
//
// Unlocked is all zero: static and zeroed memory needs no initialiser, and no heap is used. While a writer waits, no
// new reader acquires the lock, so writers do not starve. Readers that arrive meanwhile wait until that writer has
// unlocked. Then they compete with other writers as for a csched_lock, with its bound on overtaking (lock.h). The lock
// is not recursive, not even for readers: a reader that locks again while a writer waits blocks forever.
//
// Checks: the lock stores which thread writes. If the writer locks again, for reading or writing, or another thread
// unlocks for writing, the process stops with a message. Readers are only counted: an unlock without readers stops the
// process. A thread that waits for its own read lock also stops the process, if it has read-locked no other lock since.
// The lock does not detect an unlock by a thread that does not read, while other threads read. Unlock on the thread
// that locked.
//
// In a child of fork, the thread that forked still holds its locks. Read locks of other threads are never unlocked
// there. Waiting for a writer that is another thread of the parent stops the process. Use the lock in one process only,
// and not in signal handlers.
#ifndef CSCHED_RWLOCK_H
#define CSCHED_RWLOCK_H

#include <CScheduler/lock.h>

CSCHED_BEGIN_DECLS

/// The lock. Do not move it while any thread uses it. A writer may free the lock after its unlock, if no thread is
/// going to use the lock. A reader may free it only when no call on it is in progress.
typedef struct csched_rwlock {
  csched_lock writer; ///< private: held by a writer
  uint32_t word;      ///< private: the count of readers, and whether a writer writes or waits for them
} csched_rwlock;

CSCHED_STATIC_ASSERT(sizeof(csched_rwlock) == 8, "a read-write lock is 8 bytes");

#define CSCHED_RWLOCK_INIT                                                                                             \
  { {0}, 0 }

/// Does: acquires the lock for reading, together with other readers. Waits as long as necessary. Requires: the caller
/// holds it neither for reading nor for writing. Thread: any; it blocks.
void csched_rwlock_lock_read(csched_rwlock *rwlock);

/// Does: acquires the lock for reading, unless a writer holds it or waits. Returns: whether the caller now holds it.
/// Thread: any; it never waits.
bool csched_rwlock_trylock_read(csched_rwlock *rwlock);

/// Does: as csched_rwlock_lock_read, but waits until `deadline` (nanoseconds of csched_now) at most. A deadline in the
/// past is a trylock. Returns: whether the caller now holds the lock. Requires: as csched_rwlock_lock_read. Thread:
/// any; it blocks.
bool csched_rwlock_lock_read_until(csched_rwlock *rwlock, csched_time deadline);

/// Does: releases the caller's read lock. Thread: the thread that locked.
void csched_rwlock_unlock_read(csched_rwlock *rwlock);

/// Does: acquires the lock for writing, exclusively. Waits as long as necessary. Requires: as csched_rwlock_lock_read.
/// Thread: any; it blocks.
void csched_rwlock_lock_write(csched_rwlock *rwlock);

/// Does: acquires the lock for writing, if it is free and no thread is acquiring it. Returns: whether the caller holds
/// it. Thread: any; never waits.
bool csched_rwlock_trylock_write(csched_rwlock *rwlock);

/// Does: as csched_rwlock_lock_write, but waits until `deadline` (nanoseconds of csched_now) at most. On a timeout, the
/// readers that this wait has delayed continue. A deadline in the past is a trylock. Returns: whether the caller now
/// holds the lock. Requires: as csched_rwlock_lock_write.
/// Thread: any; it blocks.
bool csched_rwlock_lock_write_until(csched_rwlock *rwlock, csched_time deadline);

/// Does: releases the caller's write lock. Thread: the thread that locked.
void csched_rwlock_unlock_write(csched_rwlock *rwlock);

/// Does: stops the process with a message unless the caller holds the lock for writing. Thread: any.
void csched_rwlock_assert_writer(const csched_rwlock *rwlock);

/// Returns: how many readers hold the lock now. For tests and diagnostics. Thread: any.
uint32_t csched_rwlock_readers(const csched_rwlock *rwlock);

/// Does: stops the process with a message if a thread holds the lock. Calling it is optional. Thread: any.
void csched_rwlock_destroy(csched_rwlock *rwlock);

CSCHED_END_DECLS

#endif
