// A thread's lock number, which a lock stores as its owner: it stays the same after fork. Also the messages about
// misuse of locks.
// No atomics: a thread's number is thread-local, and `forked` changes only while a child of fork has one thread.

#include "lock_internal.h"
#include "../base/panic.h"
#include "parking.h"
#include <string.h>

CSCHED_TLS_FAST CSCHED_THREAD_LOCAL uint32_t csched_self_; // `number`, for the inline paths; 0: use the slow paths
// Here it fills a gap of four bytes: a process has room for eight copies of the library's variables of a thread
// (Tests/Integration/Loading/copies.c).
CSCHED_TLS_FAST CSCHED_THREAD_LOCAL unsigned csched_helping_here_;

static const uint32_t RENUMBERED = (uint32_t)1 << 30; // lock.c LK9: added to a number; no system thread number has it

static CSCHED_THREAD_LOCAL uint32_t number; // this thread's lock number; 0: not assigned yet

// In a child of fork: the forking thread's lock number, which it keeps, and its new system thread number `id`. In other
// processes both are 0.
static struct { uint32_t number, id; } forked;

static void lock_owner_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // LK9 of lock.c: keeps the number
  (void)atfork;
  if (phase != CSCHED_ATFORK_IN_CHILD_FIRST) return;
  forked.number = number;
  forked.id = csched_os_thread_id_();
  csched_buckets_forget_(); // sleepers, and owners of buckets' locks, are threads of the parent
  memset(csched_lock_waiter_flags_, 0, sizeof csched_lock_waiter_flags_); // no thread sleeps or spins in the child
}

uint32_t csched_lock_self_(void) { // Returns: this thread's lock number, which the first call assigns
  static csched_atfork atfork;
  if (number == 0) {
    csched_os_atfork_(&atfork, lock_owner_at_fork); // before this thread can own a lock: a child keeps its number
    csched_processors_note_own_();                  // adds this thread's affinity: csched_may_spin_ reads the result
    number = csched_os_thread_id_();
    if (number == forked.number) number |= RENUMBERED; // LK9 of lock.c: the system has reused the number
    if (CSCHED_FAST_PATHS && csched_fences_decide_()) csched_self_ = number; // inline unlocks need the heavy fence
  }
  return number;
}

uint32_t csched_lock_thread_of_(uint32_t lock_number) {
  return lock_number == forked.number ? forked.id : lock_number & ~RENUMBERED;
}

bool csched_lock_is_in_child_(void) { return forked.id != 0; }

// MARK: messages

static void get_thread_name(uint32_t lock_number, char name[16]) {
  csched_os_thread_get_name_(csched_lock_thread_of_(lock_number), name, 16);
}

// The owner's name is printed last: reading it opens a file, and a filter of system calls (seccomp) may end the process
// there.
void csched_lock_panic_not_owner_(const csched_lock *lock, uint32_t owner, const char *function) {
  uint32_t me = csched_lock_self_();
  char name[16];
  get_thread_name(me, name);
  if (owner == 0)
    csched_panic_(function, "thread %u (%s) does not own lock %p: no thread does. Lock it first, and unlock it once.",
                  me, name, (const void *)lock);
  csched_say_(function, "thread %u (%s) does not own lock %p: thread %u does. Unlock on the thread that locked.", me,
              name, (const void *)lock, owner);
  get_thread_name(owner, name);
  csched_panic_(function, "that is thread %u (%s).", owner, name);
}

void csched_lock_panic_owner_(const csched_lock *lock, const char *function, const char *advice) {
  uint32_t me = csched_lock_self_();
  char name[16];
  get_thread_name(me, name);
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
