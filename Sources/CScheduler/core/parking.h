// Where threads sleep for a lock, a condition, a semaphore or a latch: a queue for each address, oldest first, so that a wake goes to one certain thread.
// Depends on: base.h, platform.h. The idea is WebKit's ParkingLot.
#pragma once

#include <CScheduler/base.h>

#include "../platform/platform.h"

#include "bsd.h"

/// A thread that sleeps, or is about to; it lives on that thread's stack.
typedef struct csched_sleeper {
  TAILQ_ENTRY(csched_sleeper) link;
  const void *address;
  csched_time since; ///< when the thread began to wait
  csched_time look;  ///< when it looks whether the lock's owner lives
  uint32_t signal;   ///< futex: 0 asleep, else what the waker had to say
  uint32_t thread;   ///< its number
  bool queued;
  bool told; ///< of a condition's: a broadcast has meant it, and it waits for its turn
} csched_sleeper;

typedef TAILQ_HEAD(csched_sleepers, csched_sleeper) csched_sleepers;

/// The sleepers of all addresses that share a hash. Its fields may be used between lock and unlock only.
typedef struct csched_bucket {
  CSCHED_CACHE_ALIGNED uint32_t lock;
  csched_sleepers sleepers;
  csched_sleeper *due;     ///< which an unlock is to hand its lock to; NULL: none
  csched_time paced_until; ///< when the next one may become due at the earliest
  csched_time looks_at;    ///< before that it is not worth to look for one; also read without the lock
} csched_bucket;

enum { CSCHED_BUCKETS_ = 512 }; // one for each waiter flag of the locks, and as many for what else is waited for

/// Does: locks bucket `index`. Keep it for a few instructions only. Returns: it.
csched_bucket *csched_bucket_lock_(size_t index);
void csched_bucket_unlock_(csched_bucket *bucket);

csched_time csched_bucket_looks_at_(size_t index); ///< of bucket `index`, which need not be locked

/// Does: queues `sleeper`, in front when it has slept before. Requires: the bucket is locked.
void csched_bucket_insert_locked_(csched_bucket *bucket, csched_sleeper *sleeper, bool in_front);
void csched_bucket_remove_locked_(csched_bucket *bucket, csched_sleeper *sleeper);

/// Returns: the sleeper that has waited longest for `address`, NULL when there is none. Requires: the bucket is locked.
csched_sleeper *csched_bucket_first_locked_(csched_bucket *bucket, const void *address);

/// Does: sleeps until signalled or `deadline`. Returns: the signal, 0 on timeout.
uint32_t csched_sleeper_wait_(csched_sleeper *sleeper, csched_time deadline);

/// Does: wakes `sleeper`, which has been removed. It may be gone when this returns. Requires: no bucket is locked.
void csched_sleeper_signal_(csched_sleeper *sleeper, uint32_t signal);

/// After how many nanoseconds of waiting a thread first looks whether its lock's owner lives; CSCHED_FOREVER: never. For models.
extern csched_time csched_lock_looks_after_;
/// How long a thread must have waited to be handed the lock, and how often another may let go of it past sleepers between two looks. For models.
extern csched_time csched_lock_due_after_;
extern uint8_t csched_lock_passes_;

/// Does: empties all buckets. Requires: no other thread is left, and this one waits for nothing: in a child of fork.
void csched_buckets_forget_(void);
