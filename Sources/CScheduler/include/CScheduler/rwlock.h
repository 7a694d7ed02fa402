// A read-write lock in 8 bytes: one writer, or several readers.
// Depends on: lock.h.
//
// Unlocked is all zero: static and zeroed memory needs no initialiser, and no heap is used. A waiting writer lets no new reader in, so writers do not
// starve. Readers that arrive meanwhile wait until that writer has unlocked. Then they compete with other writers as for a csched_lock, with its
// bound on overtaking. The lock is not recursive, also not for readers: a reader that locks again while a writer waits would wait forever.
//
// Checks: the lock knows its writer. When the writer locks again, in either way, or another thread unlocks for writing, the process stops with a
// message. Readers are only counted. An unlock without readers stops the process. A thread that waits for its own read lock stops it, too, if that
// was the last read-write lock that it took. The lock does not detect an unlock by a thread that is not a reader, while others read. Unlock on the
// thread that locked.
//
// In a child of fork, the locks of the thread that forked stay its own. Other readers never unlock there. Waiting for an orphaned writer stops the
// process. Use it in one process only, and not in signal handlers.
#ifndef CSCHED_RWLOCK_H
#define CSCHED_RWLOCK_H

#include <CScheduler/lock.h>

CSCHED_BEGIN_DECLS

/// The lock. Do not move it while any thread uses it. A writer may free it once it has unlocked it and no thread is going to use it. A reader may
/// free it only when no call on it is in progress.
typedef struct csched_rwlock {
  csched_lock writer; ///< private
  uint32_t word;      ///< private
} csched_rwlock;

CSCHED_STATIC_ASSERT(sizeof(csched_rwlock) == 8, "a read-write lock is 8 bytes");

#define CSCHED_RWLOCK_INIT                                                                                             \
  { {0}, 0 }

/// Does: takes the lock for reading, together with other readers. Waits as long as necessary. Requires: the caller does not hold it in either way.
/// Thread: any; it blocks.
void csched_rwlock_lock_read(csched_rwlock *rwlock);

/// Does: takes the lock for reading unless a writer holds it or waits. Returns: whether it took it. Thread: any; it never waits.
bool csched_rwlock_trylock_read(csched_rwlock *rwlock);

/// Does: takes the lock for reading, waiting until `deadline` (nanoseconds of csched_now) at most. A deadline in the past is a trylock. Returns:
/// whether it took it. Requires: as csched_rwlock_lock_read. Thread: any; it blocks.
bool csched_rwlock_lock_read_until(csched_rwlock *rwlock, csched_time deadline);

/// Does: releases the caller's read lock. Thread: the one that took it.
void csched_rwlock_unlock_read(csched_rwlock *rwlock);

/// Does: takes the lock for writing, exclusively. Waits as long as necessary. Requires: the caller does not hold it in either way. Thread: any; it
/// blocks.
void csched_rwlock_lock_write(csched_rwlock *rwlock);

/// Does: takes the lock for writing if no thread holds it or is about to take it. Returns: whether it took it. Thread: any; it never waits.
bool csched_rwlock_trylock_write(csched_rwlock *rwlock);

/// Does: takes the lock for writing, waiting until `deadline` (nanoseconds of csched_now) at most. On a timeout the readers that it has delayed
/// continue. A deadline in the past is a trylock. Returns: whether it took it. Requires: as csched_rwlock_lock_write. Thread: any; it blocks.
bool csched_rwlock_lock_write_until(csched_rwlock *rwlock, csched_time deadline);

/// Does: releases the caller's write lock. Thread: the one that took it.
void csched_rwlock_unlock_write(csched_rwlock *rwlock);

/// Does: stops the process with a message unless the caller holds the lock for writing. Thread: any.
void csched_rwlock_assert_writer(const csched_rwlock *rwlock);

/// Returns: how many readers hold the lock now. For tests and diagnostics. Thread: any.
uint32_t csched_rwlock_readers(const csched_rwlock *rwlock);

/// Does: stops the process with a message if a thread holds the lock. Calling it is optional. Thread: any.
void csched_rwlock_destroy(csched_rwlock *rwlock);

CSCHED_END_DECLS

#endif
