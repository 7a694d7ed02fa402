// Internals of the lock: thread numbers, checks of the owner, and panics about misuse.
// Depends on: lock.h.
#pragma once

#include <CScheduler/lock.h>

/// How many helpers (queue/helping_internal.h) run other work on this thread at present.
extern CSCHED_HIDDEN CSCHED_TLS_FAST CSCHED_THREAD_LOCAL unsigned csched_helping_here_;

/// Returns: the calling thread's lock number, which its locks store as their owner. A thread's first call also enables
/// its inline paths.
uint32_t csched_lock_self_(void);

/// Returns: the lock number of the owner of `lock`; 0: the lock is free. The result may be outdated at once. Requires:
/// the lock is valid.
uint32_t csched_lock_owner_seen_(const csched_lock *lock);

/// Returns: the system thread number of the thread with the lock number `number`. The two numbers differ only in a
/// child of fork.
uint32_t csched_lock_thread_of_(uint32_t number);

/// Returns: whether this process is a child of fork, in which a lock's owner may be a thread of the parent that does
/// not exist here.
bool csched_lock_is_in_child_(void);

/// Does: stops the process, because the caller does not own `lock`. `owner`: the lock number of its owner; 0: none.
void csched_lock_panic_not_owner_(const csched_lock *lock, uint32_t owner, const char *function) CSCHED_NORETURN;
/// Does: stops the process, because the caller owns `lock` already. `advice`: the end of the message.
void csched_lock_panic_owner_(const csched_lock *lock, const char *function, const char *advice) CSCHED_NORETURN;
/// Does: stops the process, because in this child of fork the thread `owner` does not exist, and so never unlocks.
void csched_lock_panic_orphaned_(const csched_lock *lock, uint32_t owner) CSCHED_NORETURN;
/// Does: stops the process, because the thread `owner` has ended without unlocking.
void csched_lock_panic_ended_(const csched_lock *lock, uint32_t owner) CSCHED_NORETURN;

/// Returns: whether the calling thread owns `lock`.
static inline bool csched_lock_is_owner_(const csched_lock *lock) {
  uint32_t self = csched_self_; // 0: this thread uses no inline paths
  if (CSCHED_UNLIKELY(self == 0)) self = csched_lock_self_();
  return csched_load_relaxed(&lock->owner) == self; // lock.c LK6: true only for the owner
}

/// Does: stops the process, with a message about `function`, unless the calling thread owns `lock`.
static inline void csched_lock_require_owner_(const csched_lock *lock, const char *function) {
  if (CSCHED_UNLIKELY(!csched_lock_is_owner_(lock)))
    csched_lock_panic_not_owner_(lock, csched_lock_owner_seen_(lock), function); // the owner is for the message only
}
