// Buckets in which threads sleep for a lock, a condition or another wait: oldest first by address, so a wake reaches one known thread.
// Depends on: base.h, platform.h. The idea is from WebKit's ParkingLot.
#pragma once

#include <CScheduler/base.h>

#include "../platform/platform.h"

#include "../base/bsd.h"

/// A thread that sleeps or is about to. It is on that thread's stack.
typedef struct csched_sleeper {
  TAILQ_ENTRY(csched_sleeper) link;
  const void *address;
  csched_time since;           ///< when the thread began to wait
  csched_time checks_owner_at; ///< when it checks that the lock's owner lives
  uint32_t signal;             ///< futex: 0 asleep, else the waker's signal
  uint32_t thread;             ///< its number (csched_lock_self_)
  bool queued;
  bool is_marked; ///< for a condition: a broadcast has marked it; it will be woken in its turn
} csched_sleeper;

typedef TAILQ_HEAD(csched_sleepers, csched_sleeper) csched_sleepers;

/// The sleepers of all addresses with the same hash. Use its fields only between lock and unlock.
typedef struct csched_bucket {
  CSCHED_CACHE_ALIGNED uint32_t lock;
  csched_sleepers sleepers;
  csched_sleeper *starved; ///< the sleeper to which the next unlock hands its lock; NULL: none
  csched_time paced_until; ///< no other sleeper becomes starved before this time
  csched_time
      looks_for_starved_at; ///< do not look for a sleeper to make starved before this time; also read without the lock
} csched_bucket;

enum { CSCHED_BUCKETS_ = 512 }; // one for each waiter flag of the locks, and as many for all other waits

/// Does: locks bucket `index`. Keep it locked for a few instructions only. Returns: the bucket.
csched_bucket *csched_bucket_lock_(size_t index);
void csched_bucket_unlock_(csched_bucket *bucket);

csched_time csched_bucket_looks_for_starved_at_(
    size_t index); ///< `looks_for_starved_at` of bucket `index`, which need not be locked

/// Does: appends `sleeper`, or inserts it in front if it has slept before. Requires: the bucket is locked.
void csched_bucket_insert_locked_(csched_bucket *bucket, csched_sleeper *sleeper, bool in_front);
void csched_bucket_remove_locked_(csched_bucket *bucket, csched_sleeper *sleeper);

/// Returns: the sleeper that has waited longest for `address`; NULL: none. Requires: the bucket is locked.
csched_sleeper *csched_bucket_first_locked_(csched_bucket *bucket, const void *address);

/// Does: sleeps until signalled or `deadline`. Returns: the signal, 0 on timeout.
uint32_t csched_sleeper_wait_(csched_sleeper *sleeper, csched_time deadline);

/// Does: wakes `sleeper`. It may be freed before this returns. Requires: it has been removed; the caller has no bucket locked.
void csched_sleeper_signal_(csched_sleeper *sleeper, uint32_t signal);

/// Nanoseconds of waiting until a thread first checks that its lock's owner lives; CSCHED_FOREVER: never. Model checks change it.
extern csched_time csched_lock_checks_owner_after_;
/// Nanoseconds of waiting until a sleeper can become starved; a thread's unlocks past sleepers until it looks for one. Model checks change both.
extern csched_time csched_lock_starved_after_;
extern uint8_t csched_lock_passes_;

/// Does: empties all buckets. Requires: the caller is the only thread, in a child of fork, and waits for nothing.
void csched_buckets_forget_(void);
