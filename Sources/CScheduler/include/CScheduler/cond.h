// A condition: where the owners of a lock wait until what it guards has changed.
// Depends on: lock.h.
//
// All zero is a condition for which nobody waits: static and zeroed memory needs no initialiser, no heap is used. Its waiters are woken in
// the order in which they came. None is woken without a signal, but whoever is woken takes the lock like any other thread, and another may
// have been quicker: look again, in a loop. A broadcast wakes one waiter; each, when it has the lock, wakes the next: so they do not
// all contend for the lock at once. On a thread of a pool another one takes the waiter's place. On a loop's thread the loop is held up
// meanwhile, as by a lock: what ends the wait must run elsewhere. A child of fork has none of the waiters. Not in signal handlers.
#ifndef CSCHED_COND_H
#define CSCHED_COND_H

#include <CScheduler/lock.h>

CSCHED_BEGIN_DECLS

/// The condition. Keep it where it is while any thread uses it. It may be freed as soon as no thread is in a call on it.
typedef struct csched_cond {
  uintptr_t lock; ///< the lock that its waiters have let go of, 0 when nobody waits
} csched_cond;

CSCHED_STATIC_ASSERT(sizeof(csched_cond) == 8, "a condition is 8 bytes");

#define CSCHED_COND_INIT                                                                                               \
  { 0 }

/// Does: lets go of `lock` and waits, which is one step to whoever takes the lock after that; takes it again when it is woken.
/// Requires: the caller owns `lock`, and all that wait at a time do so with the same one; either misuse stops the process.
/// Thread: the lock's owner; it blocks.
void csched_cond_wait(csched_cond *cond, csched_lock *lock);

/// Does: as csched_cond_wait, until `deadline` (of csched_now) at the most; then it takes the lock again, however long that takes. A
/// deadline in the past lets go of the lock once. Returns: whether it was woken by a signal or a broadcast. Requires, thread: the same.
bool csched_cond_wait_until(csched_cond *cond, csched_lock *lock, csched_time deadline);

/// Does: wakes the thread that has waited longest, if any waits. Thread: any, with the lock or without it.
void csched_cond_signal(csched_cond *cond);

/// Does: wakes all that wait now, one after the other. Thread: any, with the lock or without it.
void csched_cond_broadcast(csched_cond *cond);

/// Does: stops the process with a message if a thread waits; otherwise nothing, so that it need not be called. Thread: any.
void csched_cond_destroy(csched_cond *cond);

CSCHED_END_DECLS

#endif
