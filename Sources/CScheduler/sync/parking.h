// Buckets in which threads sleep for a lock, a condition or another wait. Each sleeper has its own futex, so a wake
// reaches one chosen thread.
// Depends on: base.h, platform.h. The idea is from WebKit's ParkingLot.
#pragma once

#include <CScheduler/base.h>
#include "../platform/platform.h"
#include "../base/bsd.h"

/// An entry for a thread that sleeps or is about to sleep; on that thread's stack.
typedef struct csched_sleeper {
  TAILQ_ENTRY(csched_sleeper) link; ///< in its bucket, or in the waker's list of dequeued sleepers
  const void *address;              ///< of the lock, condition or other object that the thread waits for
  csched_time since;                ///< when the thread began to wait; lock.c: 0 before the first sleep
  csched_time checks_owner_at;      ///< for a lock: when the thread next checks that the owner lives
  uint32_t signal;                  ///< futex word: 0 until woken, then a value that lock.c, cond.c … define
  uint32_t thread;                  ///< the thread's lock number (csched_lock_self_)
  bool queued;                      ///< in its bucket; guarded by the bucket's lock
  bool is_marked;                   ///< for a condition: a broadcast has included it, and will wake it
} csched_sleeper;

typedef TAILQ_HEAD(csched_sleepers, csched_sleeper) csched_sleepers;

/// The sleepers of all addresses with the same hash, oldest first. Use the fields only while the bucket is locked.
typedef struct csched_bucket {
  CSCHED_CACHE_ALIGNED uint32_t lock; ///< 0 free, 1 locked, 2 locked and slept on
  csched_sleepers sleepers;
  csched_sleeper *starved;          ///< for locks: the next unlock of its lock makes this sleeper the owner; NULL: none
  csched_time paced_until;          ///< no other sleeper becomes `starved` before this time
  csched_time looks_for_starved_at; ///< no sleeper can become `starved` before this time; also read without the lock
} csched_bucket;

enum { CSCHED_BUCKETS_ = 512 }; // 256 for locks, one for each waiter flag; 256 for all other waits

/// Does: locks bucket `index`. Returns: the bucket. Unlock it after a few instructions, without an allocation or user
/// code in between.
csched_bucket *csched_bucket_lock_(size_t index);
/// Does: unlocks `bucket`, and wakes one thread that sleeps on its lock.
void csched_bucket_unlock_(csched_bucket *bucket);

/// Returns: `looks_for_starved_at` of bucket `index`, which need not be locked.
csched_time csched_bucket_next_starved_at_(size_t index);

/// Does: inserts `sleeper` at the end; `in_front`: in front, because it has slept before. Requires: the bucket is
/// locked.
void csched_bucket_insert_locked_(csched_bucket *bucket, csched_sleeper *sleeper, bool in_front);
void csched_bucket_remove_locked_(csched_bucket *bucket, csched_sleeper *sleeper); ///< Requires: `sleeper` is queued

/// Returns: the sleeper that has waited longest for `address`; NULL: none. Requires: the bucket is locked.
csched_sleeper *csched_bucket_first_locked_(csched_bucket *bucket, const void *address);

/// Does: sleeps until `sleeper`, the caller's own, is signalled or `deadline`. Returns: the signal; 0: timeout.
uint32_t csched_sleeper_wait_(csched_sleeper *sleeper, csched_time deadline);

/// Does: wakes `sleeper`, which may be freed before this returns. Requires: `signal` is not 0; `sleeper` is dequeued;
/// the caller locks no bucket.
void csched_sleeper_signal_(csched_sleeper *sleeper, uint32_t signal);

/// Nanoseconds of waiting until a thread first checks that its lock's owner lives; CSCHED_FOREVER: never. Model checks
/// change it.
extern csched_time csched_lock_checks_owner_after_;
/// Nanoseconds that a sleeper waits before it can become `starved`; how often a thread unlocks past sleepers before
/// that. Model checks change both.
extern csched_time csched_lock_starved_after_;
extern uint8_t csched_lock_passes_;
extern uint32_t csched_cond_woken_at_once_; ///< how many waiters a broadcast wakes at once; model checks change it

/// Does: empties and unlocks all buckets. Requires: the caller is the only thread of a child of fork.
void csched_buckets_forget_(void);
