// What conditions, semaphores and latches share: threads that sleep by the address of what they wait for.
// Depends on: parking.h.
//
// Who waits, and since when, can be read from the buckets: address, thread and time are those of a csched_sleeper.
#pragma once

#include "parking.h"

/// Does: locks the bucket of what is at `address`. Returns: it.
csched_bucket *csched_waiters_lock_(const void *address);

/// Returns: the calling thread as one that waits for `address` from now on. It is to be inserted into that bucket, or not used.
csched_sleeper csched_waiter_(const void *address);

/// Does: sleeps until `waiter`, which is in its bucket, is signalled, or takes itself out at `deadline`. Returns: the signal; 0: it took
/// itself out. Requires: no bucket is locked. On a thread of a pool another one takes its place meanwhile.
uint32_t csched_waiter_sleep_(csched_sleeper *waiter, csched_time deadline);

/// Does: moves `waiter` from `bucket`, which is locked, to the end of `taken`.
void csched_waiter_take_locked_(csched_bucket *bucket, csched_sleeper *waiter, csched_sleepers *taken);

/// Does: signals all that have been taken, after which they may be gone. Requires: no bucket is locked.
void csched_waiters_signal_(csched_sleepers *taken, uint32_t signal);

/// Does: stops the process with a message if a thread waits for `what` at `address`.
void csched_waiters_require_none_(const void *address, const char *function, const char *what);
