// Sleeping threads, as dumps and the watchdog read them.
// Depends on: platform.h.
#pragma once

#include "../platform/platform.h"

/// A thread that sleeps for a lock or another blocking object.
typedef struct csched_sleeping {
  const char *kind;
  const void *address;
  csched_time since;
  uint32_t thread, owner; ///< `owner`: for csched_lock_thread_of_; 0 unless `address` is an owned lock
} csched_sleeping;
/// Does: copies at most `most` sleepers of bucket number `bucket` (parking.h) to `found`. Returns: how many.
int csched_sleepers_look_(int bucket, csched_sleeping *found, int most);
