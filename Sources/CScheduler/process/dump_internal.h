// Parts of a dump for the watchdog: sleeping threads, and single lines.
// Depends on: platform.h, text.h.
#pragma once

#include "../base/text.h"
#include "../platform/platform.h"

struct csched_target;

/// A thread that sleeps for a lock or another blocking object.
typedef struct csched_sleeping {
  const char *kind;
  const void *address;
  csched_time since;
  uint32_t thread, owner; ///< system's numbers; `owner`: 0 unless `address` is an owned lock
} csched_sleeping;
/// Does: copies at most `most` sleepers of bucket number `bucket` (parking.h) to `found`. Returns: how many.
int csched_sleepers_look_(int bucket, csched_sleeping *found, int most);

/// Does: adds the line of a dump for `thread`; nothing if the thread has run and waited in nothing of this library. Requires: the caller holds no lock.
void csched_dump_thread_(csched_text *text, uint32_t thread);
/// Does: adds the line of a dump for `target`; nothing if it was destroyed. Requires: the caller holds no lock.
void csched_dump_target_(csched_text *text, const struct csched_target *target);
