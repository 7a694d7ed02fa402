// Detects a wait that would never end, because threads would wait for each other in a cycle.
//
// A thread holds the exclusive targets (serial queues …) of the jobs that it is inside (its context frames,
// `csched_frame`), and the exclusive bases of these targets. A thread also holds its own loops, whether it runs them or
// not. `waits_for` of a held target is the target for which the holding thread waits.
//
// A wait for a target never ends if the waiting thread itself holds the target or one of its bases. The wait also never
// ends if the thread that holds them waits, directly or through other threads, for a target that the waiting thread
// holds. csched_deadlock_check_begin_ records all waits under one lock, and refuses a wait that would close such a
// cycle. A target has one holder, which also holds its bases: so each step has one successor. A thread that can hold no
// target takes no lock: most waits outside of queues are such.
// No atomics: the lock orders all accesses.
// Models: checks/waits.c, checks/serial.c.

#include <CScheduler/lock.h>
#include "../job/frames_internal.h"
#include "../loop/loop_internal.h"
#include "../platform/platform.h"
#include "../targets/target_internal.h"

static csched_lock lock; // guards all `waits_for`

static void waits_at_fork(csched_atfork *atfork, csched_atfork_phase phase) {
  (void)atfork;
  if (phase != CSCHED_ATFORK_IN_CHILD_FIRST) return;
  lock = (csched_lock)CSCHED_LOCK_INIT; // its owner may be in the parent
  csched_loops_at_fork_();              // so may be that of the lock that csched_loops_set_waits_for_ takes
}

// Does: in all exclusive targets and loops that this thread holds, records that this thread waits for `target`; NULL:
// that it waits no more.
static void set_waits_for(csched_target *target) {
  for (const csched_frame *each = csched_frame_here_(); each != NULL; each = each->outer)
    for (csched_target *under = each->target; under != NULL; under = csched_target_base_(under))
      if (csched_target_is_exclusive_(under)) under->waits_for = target;
  csched_loops_set_waits_for_(target);
}

// Returns: whether this thread may hold a target that another one may wait for: it is inside of a queue, limit, loop or
// virtual time, or has had a loop. Else (outside of jobs, or in a job of a pool itself) its wait closes no cycle, and
// needs no record. No lock: the context frames and the bases are this thread's.
static bool may_close_cycle(void) {
  for (const csched_frame *each = csched_frame_here_(); each != NULL; each = each->outer)
    if (each->target != NULL && (each->target->type->base != NULL || each->target->type->is_bound_here != NULL))
      return true;
  return csched_thread_had_loops_();
}

// Returns: the target for which the holder of `target` (or of one of its bases) waits; NULL: no thread holds them, or
// the holder does not wait.
static csched_target *next_waited(const csched_target *target) {
  while (target != NULL && target->waits_for == NULL) target = csched_target_base_(target);
  return target != NULL ? target->waits_for : NULL;
}

bool csched_deadlock_check_begin_(csched_target *target) { // Returns: false: the wait would never end
  static csched_atfork atfork;
  if (!may_close_cycle()) return true;
  csched_os_atfork_(&atfork, waits_at_fork);
  bool can_end = true; // this thread holds no target in the chain of waits that begins at `target`
  csched_lock_lock(&lock);
  for (const csched_target *each = target; each != NULL && can_end; each = next_waited(each))
    can_end = !csched_target_would_wait_forever_(each);
  if (can_end) set_waits_for(target);
  csched_lock_unlock(&lock);
  return can_end;
}

void csched_deadlock_check_end_(void) {
  if (!may_close_cycle()) return;
  csched_lock_lock(&lock);
  set_waits_for(NULL);
  csched_lock_unlock(&lock);
}
