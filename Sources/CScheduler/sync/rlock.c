// A recursive lock: a csched_lock, and `again`: how often the owner has locked again. No atomics here: only the owner
// uses `again`.
// Models: checks/waiting.c.

#include <CScheduler/rlock.h>
#include "../base/panic.h"
#include "lock_internal.h"

// Does: if the caller owns the lock already, counts one more lock. Returns: whether the caller owned it.
static bool lock_again(csched_rlock *rlock, const char *function) {
  if (!csched_lock_is_owner_(&rlock->lock)) return false;
  if (rlock->again == UINT32_MAX)
    csched_panic_(function, "lock %p has been taken 2^32 times. Unlock it as often as you lock it.", (void *)rlock);
  rlock->again++;
  return true;
}

void csched_rlock_lock(csched_rlock *rlock) {
  if (!lock_again(rlock, "csched_rlock_lock")) csched_lock_lock(&rlock->lock);
}

bool csched_rlock_trylock(csched_rlock *rlock) {
  return lock_again(rlock, "csched_rlock_trylock") || csched_lock_trylock(&rlock->lock);
}

bool csched_rlock_lock_until(csched_rlock *rlock, csched_time deadline) {
  return lock_again(rlock, "csched_rlock_lock_until") || csched_lock_lock_until(&rlock->lock, deadline);
}

void csched_rlock_unlock(csched_rlock *rlock) {
  csched_lock_require_owner_(&rlock->lock, "csched_rlock_unlock");
  if (rlock->again > 0) rlock->again--; // the caller still owns the lock
  else csched_lock_unlock(&rlock->lock);
}

void csched_rlock_assert_owner(const csched_rlock *rlock) {
  csched_lock_require_owner_(&rlock->lock, "csched_rlock_assert_owner");
}

void csched_rlock_assert_not_owner(const csched_rlock *rlock) {
  if (csched_lock_is_owner_(&rlock->lock))
    csched_lock_panic_owner_(&rlock->lock, "csched_rlock_assert_not_owner", "Call this without holding it.");
}
