// Parts of a dump, for the watchdog: the sleeping threads, and the line of one thread or target.
// Depends on: platform.h, text.h.
#pragma once

#include "../base/text.h"
#include "../platform/platform.h"

struct csched_target;

/// A thread that sleeps for a lock or another blocking object.
typedef struct csched_sleeping {
  const char *kind;       ///< of the object, for messages
  const void *address;    ///< of the object
  csched_time since;      ///< csched_now at the start of the sleep
  uint32_t thread, owner; ///< system's numbers: the sleeper; the lock's owner, 0 unless `address` is an owned lock
} csched_sleeping;
/// Does: copies at most `most` sleepers of the bucket number `bucket` (parking.h) to `found`. Returns: the number of
/// copies. Thread: any.
int csched_sleepers_copy_(int bucket, csched_sleeping *found, int most);

/// Does: adds the line of a dump for `thread`; nothing if the thread has no list of context frames. Requires: the
/// caller holds no lock.
void csched_dump_thread_(csched_text *text, uint32_t thread);
/// Does: adds the line of a dump for `target`; nothing if the target was destroyed. Requires: the caller holds no lock.
void csched_dump_target_(csched_text *text, const struct csched_target *target);
