// A condition variable: a lock's owner waits until another thread has changed the guarded state.
// Depends on: lock.h.
//
// All zero is a condition without waiters: static and zeroed memory needs no initialiser, and no heap is used. Waiters
// are woken in the order of their arrival, and only by a signal, a broadcast or the deadline. A woken thread must
// acquire the lock again, and another thread may acquire it first: check the state again, in a loop. A broadcast wakes
// four waiters directly. Each woken thread wakes the next one, at once if the lock is free, else when it owns the lock.
// So a lock that is held is not contended by all of them. While a pool's worker waits, the pool may run another worker
// in its place. On a loop's thread the wait blocks the loop, so another thread must signal. A child of fork has none of
// the waiters. Not for signal handlers.
#ifndef CSCHED_COND_H
#define CSCHED_COND_H

#include <CScheduler/lock.h>

CSCHED_BEGIN_DECLS

/// The condition. Do not move it while any thread uses it. It may be freed as soon as no thread is in a call on it.
typedef struct csched_cond {
  uintptr_t lock; ///< the lock that its waiters have released; 0 without waiters
} csched_cond;

CSCHED_STATIC_ASSERT(sizeof(csched_cond) == 8, "a condition is 8 bytes");

#define CSCHED_COND_INIT                                                                                               \
  { 0 }

/// Does: releases `lock` and waits, as one step for threads that acquire the lock afterwards: their signals wake this
/// wait. When woken, acquires the lock again. Requires: all concurrent waiters use the same lock. Misuse stops the
/// process. Thread: the lock's owner; it blocks.
void csched_cond_wait(csched_cond *cond, csched_lock *lock);

/// Does: as csched_cond_wait, until `deadline` (of csched_now, nanoseconds) at the latest. Then acquires the lock
/// again, even if it must wait for it. A past deadline only releases and acquires it. Returns: whether a signal or
/// broadcast woke it. Requires, thread: as csched_cond_wait.
bool csched_cond_wait_until(csched_cond *cond, csched_lock *lock, csched_time deadline);

/// Does: wakes the thread that has waited longest, if any. Thread: any, with or without the lock.
void csched_cond_signal(csched_cond *cond);

/// Does: wakes all present waiters. Their waits return in no particular order. Thread: any, with or without the lock.
void csched_cond_broadcast(csched_cond *cond);

/// Does: stops the process with a message if a thread waits. Calling it is optional. Thread: any.
void csched_cond_destroy(csched_cond *cond);

CSCHED_END_DECLS

#endif
