// Sleeping in the bucket of an address: shared by conditions, semaphores, latches, groups and read-write locks.
// Dumps read the buckets: which threads wait, for which address, and since when.
// Depends on: parking.h.
#pragma once

#include "parking.h"

/// Hooks called before and after each sleep, so that a pool can replace a waiting worker; NULL: none. pool_monitor.c
/// sets them at load.
extern CSCHED_HIDDEN void (*csched_waiting_begins_)(void), (*csched_waiting_ends_)(void);

/// Does: locks the bucket of `address`. Returns: the bucket.
csched_bucket *csched_waiters_lock_(const void *address);

/// Returns: a sleeper for the calling thread, whose wait for `address` starts now. Insert it into the bucket of
/// `address`, or discard it.
csched_sleeper csched_waiter_(const void *address);

/// Does: sleeps until `waiter` is signalled; at `deadline` dequeues `waiter`. If the caller is a worker, its pool
/// replaces it meanwhile.
/// Returns: the waker's signal; 0: timeout. Requires: `waiter` is in its bucket; the caller has no bucket locked.
uint32_t csched_waiter_sleep_(csched_sleeper *waiter, csched_time deadline);

/// Does: moves `waiter` from `bucket` to the end of `taken`, a list of the caller. Requires: `bucket` is locked.
void csched_waiter_take_locked_(csched_bucket *bucket, csched_sleeper *waiter, csched_sleepers *taken);

/// Does: wakes all sleepers in `taken`, each by `signal`. A woken sleeper may be freed. Requires: `signal` is not 0;
/// the caller has no bucket locked.
void csched_waiters_signal_(csched_sleepers *taken, uint32_t signal);

/// Does: stops the process with a message if a thread waits for `address`. `what`: the kind of object, for the message.
void csched_waiters_require_none_(const void *address, const char *function, const char *what);
