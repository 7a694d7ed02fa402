// A lock that one thread has for writing, or several have for reading, in 8 bytes.
// Depends on: lock.h.
//
// Unlocked is all zero: static and zeroed memory needs no initialiser, no heap is used. A writer that waits lets no new reader in: so writers
// are not starved, and readers that come meanwhile wait until it is through; then they and other writers take it as they take a
// csched_lock, with its bound on how often one is passed. Not recursive, for readers neither: a reader that asks again while a writer waits
// would wait for ever. The writer is known: locking again, in whichever way, and unlocking what is not the caller's, stop the process with a
// message. Readers are counted: an unlock when nobody reads stops the process, and so does a thread that waits for its own reading, if this was
// the last such lock that it took; that a stranger unlocks for a reader is not found. Unlock on the thread that locked. In a child of fork
// those of the thread that forked stay its own; orphaned readers never unlock, and to wait for an orphaned writer stops the process. In one
// process only; not in signal handlers.
#ifndef CSCHED_RWLOCK_H
#define CSCHED_RWLOCK_H

#include <CScheduler/lock.h>

CSCHED_BEGIN_DECLS

/// The lock. Keep it where it is while any thread uses it. A writer may free it once it has unlocked it and no thread is going to use it;
/// a reader only when no call on it is under way.
typedef struct csched_rwlock {
  csched_lock writer; ///< private
  uint32_t word;      ///< private
} csched_rwlock;

CSCHED_STATIC_ASSERT(sizeof(csched_rwlock) == 8, "a read-write lock is 8 bytes");

#define CSCHED_RWLOCK_INIT                                                                                             \
  { {0}, 0 }

/// Does: takes it for reading, beside other readers, waiting as long as it must. Requires: the caller has it in neither way.
/// Thread: any; it blocks.
void csched_rwlock_lock_read(csched_rwlock *rwlock);

/// Does: takes it for reading unless a writer has it or waits. Returns: whether it did. Thread: any; it never waits.
bool csched_rwlock_trylock_read(csched_rwlock *rwlock);

/// Does: takes it for reading, waiting until `deadline` (of csched_now) at the most. A deadline in the past is a trylock.
/// Returns: whether it did. Requires: as csched_rwlock_lock_read. Thread: any; it blocks.
bool csched_rwlock_lock_read_until(csched_rwlock *rwlock, csched_time deadline);

/// Does: gives back what the caller took for reading. Thread: the one that took it.
void csched_rwlock_unlock_read(csched_rwlock *rwlock);

/// Does: takes it for writing, alone, waiting as long as it must. Requires: the caller has it in neither way. Thread: any; it blocks.
void csched_rwlock_lock_write(csched_rwlock *rwlock);

/// Does: takes it for writing if nobody has it or is about to. Returns: whether it did. Thread: any; it never waits.
bool csched_rwlock_trylock_write(csched_rwlock *rwlock);

/// Does: takes it for writing, waiting until `deadline` (of csched_now) at the most; if that comes first, the readers that it held up go on. A
/// deadline in the past is a trylock. Returns: whether it did. Requires: as csched_rwlock_lock_write. Thread: any; it blocks.
bool csched_rwlock_lock_write_until(csched_rwlock *rwlock, csched_time deadline);

/// Does: gives back what the caller took for writing. Thread: the one that took it.
void csched_rwlock_unlock_write(csched_rwlock *rwlock);

/// Does: stops the process with a message unless the calling thread has it for writing. Thread: any.
void csched_rwlock_assert_writer(const csched_rwlock *rwlock);

/// Returns: how many read now. For tests and diagnostics. Thread: any.
uint32_t csched_rwlock_readers(const csched_rwlock *rwlock);

/// Does: stops the process with a message if a thread has it; otherwise nothing, so that it need not be called. Thread: any.
void csched_rwlock_destroy(csched_rwlock *rwlock);

CSCHED_END_DECLS

#endif
