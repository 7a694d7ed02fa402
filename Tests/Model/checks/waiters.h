// How many threads wait at an address.
#ifndef MODEL_WAITERS_H
#define MODEL_WAITERS_H

#include "../../../Sources/CScheduler/sync/waiting_internal.h"

static int waiters_of(const void *address) {
  csched_bucket *bucket = csched_waiters_lock_(address);
  csched_sleeper *each;
  int count = 0;
  TAILQ_FOREACH(each, &bucket->sleepers, link) count += each->address == address;
  csched_bucket_unlock_(bucket);
  return count;
}

#endif
