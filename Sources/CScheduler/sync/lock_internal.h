// Internals of the lock: thread numbers, checks of the owner, and panics about misuse.
// Depends on: lock.h.
#pragma once

#include <CScheduler/lock.h>

/// Returns: the calling thread's lock number, which a lock that it owns stores. A thread's first call also enables its inline paths (csched_self_).
uint32_t csched_lock_self_(void);

/// Returns: whether the calling thread owns `lock`. The `require` form stops the process with a message unless the caller owns it.
bool csched_lock_is_owner_(const csched_lock *lock);
void csched_lock_require_owner_(const csched_lock *lock, const char *function);

/// Returns: the number of the owner of `lock`; 0: the lock is free. The result may be outdated at once. Requires: the lock is valid.
uint32_t csched_lock_owner_seen_(const csched_lock *lock);

/// Returns: the system thread number of the thread with the lock number `number`; they differ only after fork.
uint32_t csched_lock_thread_of_(uint32_t number);

/// Returns: whether this is a child of fork in which threads of the parent may own locks.
bool csched_lock_is_in_child_(void);

/// Does: stops the process with a message about `lock`: the caller is not its owner; is its owner; its owner is in the parent; its owner has ended.
void csched_lock_panic_not_owner_(const csched_lock *lock, uint32_t owner, const char *function) CSCHED_NORETURN;
void csched_lock_panic_owner_(const csched_lock *lock, const char *function, const char *advice) CSCHED_NORETURN;
void csched_lock_panic_orphaned_(const csched_lock *lock, uint32_t owner) CSCHED_NORETURN;
void csched_lock_panic_ended_(const csched_lock *lock, uint32_t owner) CSCHED_NORETURN;
