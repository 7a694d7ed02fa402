// The number by which a lock stores its owner: a thread's lock number, which stays the same after fork. Also the panics about locks.
// No atomics: a thread's number is thread-local, and `forked` changes only while a child of fork has one thread.

#include "lock_internal.h"

#include "../base/panic.h"
#include "parking.h"

#include <string.h>

CSCHED_TLS_FAST CSCHED_THREAD_LOCAL uint32_t csched_self_; // `number`, for the inline paths; 0: use the slow paths

static const uint32_t RENUMBERED = (uint32_t)1 << 30; // LK9: a bit that no system thread number has

static CSCHED_THREAD_LOCAL uint32_t number; // this thread's lock number; 0: not assigned yet

// In a child of fork: the forking thread's lock number, unchanged, and its system thread number, which is new. Else both are 0.
static struct { uint32_t number, id; } forked;

static void lock_owner_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // LK9 of lock.c: fork
  (void)atfork;
  if (phase != CSCHED_ATFORK_IN_CHILD_FIRST) return;
  forked.number = number;
  forked.id = csched_os_thread_id_();
  csched_buckets_forget_(); // the sleepers, and the threads that locked buckets, are in the parent
  memset(csched_lock_waiter_flags_, 0, sizeof csched_lock_waiter_flags_);
}

uint32_t csched_lock_self_(void) {
  static csched_atfork atfork;
  if (number == 0) {
    csched_os_atfork_(&atfork, lock_owner_at_fork);
    csched_processors_look_();
    number = csched_os_thread_id_();
    if (number == forked.number) number |= RENUMBERED; // LK9 of lock.c: the forking thread's lock number stays unique
    if (CSCHED_FAST_PATHS && csched_settle_fences_()) csched_self_ = number; // only with membarrier
  }
  return number;
}

uint32_t csched_lock_thread_of_(uint32_t of) { return of == forked.number ? forked.id : of & ~RENUMBERED; }

bool csched_lock_is_in_child_(void) { return forked.id != 0; }

// MARK: messages

static void name_of_thread(uint32_t of, char name[16]) {
  csched_os_thread_get_name_(csched_lock_thread_of_(of), name, 16);
}

// The owner's name is printed last. It is read from a file, where a filter of system calls may end the process.
void csched_lock_panic_not_owner_(const csched_lock *lock, uint32_t owner, const char *function) {
  uint32_t me = csched_lock_self_();
  char name[16];
  name_of_thread(me, name);
  if (owner == 0)
    csched_panic_(function, "thread %u (%s) does not own lock %p: no thread does. Lock it first, and unlock it once.",
                  me, name, (const void *)lock);
  csched_say_(function, "thread %u (%s) does not own lock %p: thread %u does. Unlock on the thread that locked.", me,
              name, (const void *)lock, owner);
  name_of_thread(owner, name);
  csched_panic_(function, "that is thread %u (%s).", owner, name);
}

void csched_lock_panic_owner_(const csched_lock *lock, const char *function, const char *advice) {
  uint32_t me = csched_lock_self_();
  char name[16];
  name_of_thread(me, name);
  csched_panic_(function, "thread %u (%s) asks for lock %p, whose owner is thread %u (%s) itself. %s", me, name,
                (const void *)lock, me, name, advice);
}

void csched_lock_panic_orphaned_(const csched_lock *lock, uint32_t owner) {
  csched_panic_(
      "csched_lock_lock",
      "lock %p belongs to thread %u, which was orphaned by fork, in the parent, or has ended without unlocking "
      "it. Take what the child needs before fork, on the thread that forks.",
      (const void *)lock, owner);
}

void csched_lock_panic_ended_(const csched_lock *lock, uint32_t owner) {
  csched_panic_("csched_lock_lock",
                "lock %p belongs to thread %u, which has ended without unlocking it. Unlock it on every way out of the "
                "thread, also by pthread_exit or cancellation.",
                (const void *)lock, owner);
}
