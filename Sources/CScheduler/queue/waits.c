// Detects a wait that would never end, because threads would wait for each other in a cycle.
//
// A waiting thread holds the serial queues, and other exclusive targets, of the jobs that it is inside of (its context frames, `csched_frame`),
// and the exclusive bases of these. It also holds its own loops, whether it runs them or not. Each held target has in `waits_for` the target
// for which the thread waits.
//
// A wait never ends if the waiting thread itself holds the target or one of its bases. It also never ends if their holder waits, directly or
// through other threads, for a target that the waiting thread holds. csched_deadlock_check_begin_ checks and records all waits under one lock, and
// refuses the one that would close such a cycle. Each step of the check leads to one target: the holder of a target also holds its bases.
// No atomics: the lock is the order.
// Models: checks/waits.c, checks/serial.c.

#include <CScheduler/lock.h>

#include "../job/frames_internal.h"
#include "../loop/loop_internal.h"
#include "../platform/platform.h"
#include "../target/target_internal.h"

static csched_lock lock; // guards all `waits_for`

static void waits_at_fork(csched_atfork *atfork, csched_atfork_phase phase) {
  (void)atfork;
  if (phase == CSCHED_ATFORK_IN_CHILD_FIRST) lock = (csched_lock)CSCHED_LOCK_INIT;
}

static void set_waits_for(csched_target *target) {
  for (const csched_frame *each = csched_frame_here_(); each != NULL; each = each->outer)
    for (csched_target *under = each->target; under != NULL; under = csched_target_base_(under))
      if (csched_target_is_exclusive_(under)) under->waits_for = target;
  csched_loops_set_waits_for_(target);
}

// Returns: the target for which the holder of `target`, or of one of its bases, waits; NULL: no holder waits.
static csched_target *next_waited(const csched_target *target) {
  while (target != NULL && target->waits_for == NULL) target = csched_target_base_(target);
  return target != NULL ? target->waits_for : NULL;
}

bool csched_deadlock_check_begin_(csched_target *target) {
  static csched_atfork atfork;
  csched_os_atfork_(&atfork, waits_at_fork);
  bool ends = true;
  csched_lock_lock(&lock);
  for (const csched_target *each = target; each != NULL && ends; each = next_waited(each))
    ends = !csched_target_is_held_here_(each);
  if (ends) set_waits_for(target);
  csched_lock_unlock(&lock);
  return ends;
}

void csched_deadlock_check_end_(void) {
  csched_lock_lock(&lock);
  set_waits_for(NULL);
  csched_lock_unlock(&lock);
}
