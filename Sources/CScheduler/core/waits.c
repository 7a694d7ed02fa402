// Who waits for whom. A thread that waits holds the serial queues of the jobs that it is inside of, and their bases; also the
// loops that belong to it, whether it runs them or not. Each of these bears the target that the thread waits for.
//
// A wait for a target never ends if the target, or one of its bases, is held by the waiting thread itself, or by one that waits, over
// however many others, for such a target. Of the threads that would close a circle the last one to come is refused: all are looked at,
// and written down, under one lock. One step leads to one target, because who holds a target holds its bases.
// No atomics: the lock is the order.
// Models: checks/waits.c, checks/serial.c.

#include <CScheduler/lock.h>

#include "../platform/platform.h"
#include "levels_internal.h"
#include "loop_internal.h"
#include "target_internal.h"

static csched_lock lock; // of all `waits_for`

static void told_of_fork(csched_atfork *atfork, csched_atfork_phase phase) {
  (void)atfork;
  if (phase == CSCHED_ATFORK_IN_CHILD_FIRST) lock = (csched_lock)CSCHED_LOCK_INIT;
}

static void set_waits_for(csched_target *target) {
  for (const csched_level *each = csched_level_here_(); each != NULL; each = each->outer)
    for (csched_target *under = each->target; under != NULL; under = csched_target_base_(under))
      if (csched_target_is_exclusive_(under)) under->waits_for = target;
  csched_loops_set_waits_for_(target);
}

// Returns: what is waited for by the thread that holds `target`, or one of its bases; NULL when none does.
static csched_target *next(const csched_target *target) {
  while (target != NULL && target->waits_for == NULL) target = csched_target_base_(target);
  return target != NULL ? target->waits_for : NULL;
}

bool csched_wait_begin_(csched_target *target) {
  static csched_atfork atfork;
  csched_os_atfork_(&atfork, told_of_fork);
  bool ends = true;
  csched_lock_lock(&lock);
  for (const csched_target *each = target; each != NULL && ends; each = next(each))
    ends = !csched_target_is_held_here_(each);
  if (ends) set_waits_for(target);
  csched_lock_unlock(&lock);
  return ends;
}

void csched_wait_end_(void) {
  csched_lock_lock(&lock);
  set_waits_for(NULL);
  csched_lock_unlock(&lock);
}
