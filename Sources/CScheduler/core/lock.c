// 300 lines and more: taking, sleeping, waking and handing over turn on two words, and are read together.
// States
//   owner     0               unlocked
//             n               locked by the system's thread n
//   flag      0               nobody sleeps for a lock of this hash (the waiter flags are a table, hashed by the lock's address); a waiter
//                             may spin
//             SLEEPERS        somebody sleeps in a bucket of this hash (parking.h); set and cleared under the bucket's lock
//             DUE             one sleeper of a bucket of this hash is due; set and cleared under the bucket's lock
//             address         one waiter of the lock at that address is AWAKE: it spins, or was just woken, and will look
//                             at the lock again. Lock addresses are multiples of 4, so all fit into one word.
//
// Obligations
//   L1  Mutual exclusion: owner goes from 0 to a thread by compare-and-exchange only, and to 0, or to a sleeper, by its owner's store only.
//   L2  No lost wake: a thread sleeps only if the owner that it saw after its announcement will see the announcement.
//       Announce (set SLEEPERS), heavy fence, look at the owner; against: store owner 0, light fence, look at the flag.
//   L3  Skip the wake: AWAKE is set only for a thread that is awake or being woken; and that thread, when it stops looking
//       (it owns the lock, sleeps again, gives up), clears it and then does what L2 asks of it.
//   L4  Skip the wake: an unlock that finds the lock owned again leaves the wake to that owner's unlock.
//   L5  A waiter that gives up at its deadline leaves nothing behind: no entry in a bucket, no SLEEPERS, no AWAKE.
//   L6  Misuse is found: relock, and unlock by a stranger, stop the process. (A thread reads its own number in the owner
//       only if it is the owner.)
//   L7  Hand-off: the sleeper that is the first of its lock, and has waited for csched_lock_due_after_, is passed by no thread more than
//       csched_lock_passes_ + 1 times, once DUE_APART is over since another of its bucket became due. For a thread that passes sleepers
//       of several locks all of that counts together. How: a thread that has let go past sleepers csched_lock_passes_ times looks for the
//       first, and makes it due, or finds one that is; its next unlock finds DUE, and gives the lock to the sleeper that is due without
//       letting it go. DUE is set if and only if a sleeper of the bucket is due; one that leaves without the lock passes its turn on.
//   L8  An unlock does not touch the lock's memory after letting it go, unless a sleeper keeps it valid: the next owner may
//       free it.
//   L9  Across fork: the thread that forks keeps its number in the child, and so its locks; no other thread of the child gets that
//       number. Nobody waits there for a lock whose owner the child does not have: that stops the process.
//   L10  A wait for a lock whose owner has ended without unlocking stops the process, at the first look: after a second, and each time
//       that the wait has lasted twice as long. A look changes nothing, and takes no lock that has been let go meanwhile, or has another
//       owner, for one of these.
//   L11  A waiter that spins while nobody sleeps writes no flag: the owner's unlock has nobody to wake, and takes its inline path.
//
// Orderings
//   owner: acquire, pairs with unlock's release, carries what the lock guards · flag: relaxed, ordered against the owner by
//   the fences of L2 · hand-off: the owner's relaxed store, or acquire on the sleeper's behalf, then the signal's release to the new owner
// Assumes: whoever sees that a thread has ended sees what it did (L10). csched_fence_heavy_ orders like a full fence on every running thread of the process. Without membarrier no thread
//   has a number for the inline paths, so that every unlock comes here, where the light fence is a full one.
// Source: unfair spin-then-sleep as in WebKit's WTF::Lock; one awake waiter as in Go's sync.Mutex; the asymmetric fences of
//   Dice, Huang and Yang, "Asymmetric Dekker Synchronization". A hand-off now and then as in WebKit's; that a count brings it about is ours.
// Checked by: "the lock excludes", "no wake is lost", "a timed lock gives up and leaves nothing behind", "relock stops the
//   process", "a stranger's unlock stops the process", "a lock may be freed by the owner after the last unlock",
//   "locks that share a bucket do not take each other's wakes", "a thread that waits long is handed the lock",
//   "a waiter that has slept for 2 ms is passed by a thread 128 times at the most", "a waiter that gives up passes its wake on",
//   "after fork a lock keeps its owner", "after fork a lock of an orphaned thread stops the process",
//   "a fork beside threads that sleep for locks leaves locks that can be let go", "a lock whose owner has ended stops who waits for it".
// Models: checks/lock.c. Not modelled: L9.

#include <CScheduler/lock.h>

#include "lock_internal.h"
#include "observe_internal.h"
#include "parking.h"

enum { SLEEPERS = 1, DUE = CSCHED_LOCK_IS_DUE_, BITS = SLEEPERS | DUE }; // of a waiter flag
enum { GO_ON = 1, GO_ON_AWAKE = 2, YOURS = 3 };                          // signals to a sleeper

static const csched_time SPIN_FOR =
    25000; // ns; about one futex wake on a virtual machine: see Documentation/Internals/Lock.md
// A hand-off costs a wake, during which nobody has the lock.
static const csched_time DUE_APART = 400000;  // ns, in a bucket
csched_time csched_lock_due_after_ = 1000000; // ns of waiting; a model changes it
uint8_t csched_lock_passes_ = 127; // L7: a prime: of locks used by turns each is looked at; a model changes it
csched_time csched_lock_looks_after_ = 1000000000; // ns; a model changes it
enum { FIRST_GAP = 4, LAST_GAP = 64 };             // pauses between two looks at the owner, doubling

csched_lock_waiter_flag_ csched_lock_waiter_flags_[CSCHED_LOCK_WAITER_FLAGS_];

static bool take(csched_lock *lock, uint32_t self) {
  uint32_t free = 0;
  return csched_load_relaxed(&lock->owner) == 0 &&      // racy read, rechecked by the cas
         csched_cas_acquire(&lock->owner, &free, self); // L1: acquire; pairs with unlock's release
}

CSCHED_STATIC_ASSERT(2 * (int)CSCHED_LOCK_WAITER_FLAGS_ == (int)CSCHED_BUCKETS_,
                     "a bucket for each waiter flag, and others");

// MARK: the waiter flag

static uintptr_t *flag_of(const csched_lock *lock) { return &csched_lock_waiter_flags_[csched_lock_hash_(lock)].word; }

// One lock of a hash at a time can have an awake waiter; another lock's waiters then sleep at once, and its unlocks wake
// more often than they need.
static bool become_awake(csched_lock *lock) {
  uintptr_t *flag = flag_of(lock), seen = csched_load_relaxed(flag); // racy read, rechecked by the cas
  while ((seen & ~(uintptr_t)BITS) == 0)
    if (csched_cas_relaxed(flag, &seen, (uintptr_t)lock | seen)) return true; // L3
  return false;
}

static void stop_being_awake(csched_lock *lock) {
  csched_fetch_and_relaxed(flag_of(lock), (uintptr_t)BITS); // L3
}

static bool someone_is_awake(const csched_lock *lock) {
  return (csched_load_relaxed(flag_of(lock)) & ~(uintptr_t)BITS) == (uintptr_t)lock; // L3
}

static bool somebody_sleeps(const csched_lock *lock) {
  return (csched_load_relaxed(flag_of(lock)) & SLEEPERS) != 0; // Speed only
}

// MARK: waiting

// Looks at the owner in growing gaps, because each look takes the cache line away from the owner. While somebody sleeps, one may spin.
static bool spin(csched_lock *lock, uint32_t self, bool *awake) {
  csched_time end = csched_now() + SPIN_FOR;
  unsigned gap = FIRST_GAP;
  do {
    if (!*awake && somebody_sleeps(lock) && !(*awake = become_awake(lock))) return false; // L3, L11
    for (unsigned i = 0; i < gap; i++) CSCHED_CPU_RELAX();
    if (take(lock, self)) return true;
    if (gap < LAST_GAP) gap *= 2;
  } while (csched_now() < end);
  return false;
}

// Makes the sleeper that has waited longest for the lock due, if it is time. Then the next unlock hands the lock over.
static void look_for_due_locked(csched_bucket *bucket, csched_lock *lock, csched_time now) {
  csched_sleeper *first = csched_bucket_first_locked_(bucket, lock);
  if (bucket->due != NULL || first == NULL) return;
  csched_time at = first->since + csched_lock_due_after_;
  if (at < bucket->paced_until) at = bucket->paced_until;
  if (now >= at) {
    bucket->due = first;
    csched_fetch_or_relaxed(flag_of(lock), (uintptr_t)DUE); // L7
    at = bucket->paced_until = now + DUE_APART;
  }
  csched_store_relaxed(&bucket->looks_at, at); // Speed only
}

static void look_for_due(csched_lock *lock, csched_time now) {
  csched_bucket *bucket = csched_bucket_lock_(csched_lock_hash_(lock));
  look_for_due_locked(bucket, lock, now);
  csched_bucket_unlock_(bucket);
}

// Where sections are long, unlocks do not come often enough to count them.
static void look_sometimes(csched_lock *lock) {
  if (!somebody_sleeps(lock)) return;
  csched_time now = csched_now();
  if (now >= csched_bucket_looks_at_(csched_lock_hash_(lock))) look_for_due(lock, now); // Speed only
}

static void clear_flag_locked(const csched_bucket *bucket, csched_lock *lock) {
  uintptr_t over = (TAILQ_EMPTY(&bucket->sleepers) ? SLEEPERS : 0) | (bucket->due == NULL ? DUE : 0);
  if ((csched_load_relaxed(flag_of(lock)) & over) != 0) csched_fetch_and_relaxed(flag_of(lock), ~over); // L5, L7
}

static void remove_locked(csched_bucket *bucket, csched_lock *lock, csched_sleeper *sleeper) {
  csched_bucket_remove_locked_(bucket, sleeper);
  if (bucket->due == sleeper) bucket->due = NULL;
  clear_flag_locked(bucket, lock);
}

static void leave_locked(csched_bucket *bucket, csched_lock *lock, csched_sleeper *sleeper) {
  csched_bucket_remove_locked_(bucket, sleeper);
  if (bucket->due == sleeper) { // L7: whose turn passes to the next
    bucket->due = NULL;
    bucket->paced_until = 0;
    look_for_due_locked(bucket, lock, csched_now());
  }
  clear_flag_locked(bucket, lock);
}

// Takes the sleeper out. Returns what its waker had to say, 0 if there was none.
static uint32_t leave_bucket(csched_lock *lock, csched_sleeper *sleeper) {
  csched_bucket *bucket = csched_bucket_lock_(csched_lock_hash_(lock));
  bool was_queued = sleeper->queued;
  if (was_queued) leave_locked(bucket, lock, sleeper);
  csched_bucket_unlock_(bucket);
  return was_queued ? 0 : csched_sleeper_wait_(sleeper, CSCHED_FOREVER); // its waker is between removing and signalling
}

static bool is_left_by(const csched_lock *lock, uint32_t owner) {
  return csched_os_thread_has_ended_(csched_lock_thread_of_(owner)) &&
         csched_load_relaxed(&lock->owner) == owner; // L10: its value is all
}

// Twice, because a new thread may have got the number, and the lock, since the first look at the threads.
static void require_owner_lives(const csched_lock *lock) { // L10
  uint32_t owner = csched_load_relaxed(&lock->owner);      // L10: its value is all
  if (owner == 0 || !is_left_by(lock, owner) || !is_left_by(lock, owner)) return;
  csched_lock_panic_ended_(lock, owner);
}

static csched_time later(csched_time start, csched_time span) {
  return span > INT64_MAX ? CSCHED_FOREVER : csched_time_after(start, (int64_t)span);
}

// Sleeps until signalled or `deadline`, and looks at the owner now and then. Returns: the signal, 0: none.
static uint32_t wait(csched_lock *lock, csched_sleeper *sleeper, csched_time deadline) {
  for (;;) {
    csched_time until = sleeper->look < deadline ? sleeper->look : deadline;
    uint32_t signal = csched_sleeper_wait_(sleeper, until);
    if (signal != 0 || until == deadline) return signal;
    require_owner_lives(lock);
    sleeper->look = later(sleeper->look, sleeper->look - sleeper->since); // L10: so an hour's wait wakes a dozen times
  }
}

// One sleep. Returns the signal that ended it; 0: none, the lock was seen free or the deadline has come.
static uint32_t sleep(csched_lock *lock, csched_sleeper *sleeper, bool again, bool awake, csched_time deadline) {
  sleeper->signal = 0;
  csched_bucket *bucket = csched_bucket_lock_(csched_lock_hash_(lock));
  csched_bucket_insert_locked_(bucket, sleeper, again);
  csched_fetch_or_relaxed(flag_of(lock), (uintptr_t)SLEEPERS);              // L2: announce
  look_for_due_locked(bucket, lock, again ? csched_now() : sleeper->since); // L7
  csched_bucket_unlock_(bucket);
  if (awake) stop_being_awake(lock);                     // L3
  csched_fence_heavy_();                                 // L2: heavy side; pairs with unlock's light fence
  uint32_t owner = csched_load_relaxed(&lock->owner);    // L2
  if (owner == 0) return leave_bucket(lock, sleeper);    // L2
  csched_os_thread_lift_(csched_lock_thread_of_(owner)); // C7, of pool_worker.c
  uint32_t signal = wait(lock, sleeper, deadline);
  return signal != 0 ? signal : leave_bucket(lock, sleeper);
}

// Before a sleep in a child of fork.
static void require_owner_here(const csched_lock *lock) { // L9
  uint32_t owner = csched_load_relaxed(&lock->owner);     // L9: its value is all
  if (owner == 0 || csched_os_thread_exists_(csched_lock_thread_of_(owner))) return;
  if (csched_load_relaxed(&lock->owner) != owner) return; // L9: it let go, and then ended
  csched_lock_panic_orphaned_(lock, owner);
}

static CSCHED_NOINLINE void observe(const csched_lock *lock, csched_time since) {
  static const csched_time LONG = 1000000;
  csched_time span = csched_now() - since;
  if (span >= LONG) csched_observe_note_(CSCHED_OCCURRED_LOCK_WAIT, lock, span);
}

static bool lock_contended(csched_lock *lock, uint32_t self, csched_time deadline) {
  csched_sleeper sleeper = {.address = lock, .thread = self};
  bool awake = false, taken;
  for (;;) {
    taken = take(lock, self) || (csched_may_spin_() && spin(lock, self, &awake));
    if (taken || (deadline != CSCHED_FOREVER && csched_now() >= deadline)) break;

    if (CSCHED_UNLIKELY(csched_lock_is_in_child_())) require_owner_here(lock);
    bool again = sleeper.since != 0;
    if (!again) {
      sleeper.since = csched_now();
      sleeper.look = later(sleeper.since, csched_lock_looks_after_);
    }
    uint32_t signal = sleep(lock, &sleeper, again, awake, deadline);
    awake = signal == GO_ON_AWAKE; // L3: the waker has set AWAKE for this thread
    taken = signal == YOURS;       // L7: the giver took the lock for this thread
    if (taken) break;
  }
  if (csched_is_observed_() && sleeper.since != 0) observe(lock, sleeper.since);
  if (taken && awake) look_sometimes(lock);
  if (awake) stop_being_awake(lock); // L3
  if (!taken && awake) {
    csched_fence_heavy_(); // L5: as before a sleep: an unlock may have relied on this thread's being awake
    if (csched_load_relaxed(&lock->owner) == 0) csched_lock_wake_slow_(lock); // L5
  }
  return taken;
}

// Of each csched_lock_passes_ times that a thread lets go of a lock past sleepers, it looks once.
static void count_pass(csched_lock *lock) { // L7
  static CSCHED_THREAD_LOCAL uint8_t passes;
  if (++passes < csched_lock_passes_) return;
  passes = 0;
  look_for_due(lock, csched_now());
}

// Wakes the oldest sleeper, unless somebody is on its way already.
void csched_lock_wake_slow_(csched_lock *lock) {
  if ((csched_load_relaxed(flag_of(lock)) & SLEEPERS) == 0) return; // L2
  count_pass(lock);
  if (someone_is_awake(lock)) return; // L3
  csched_bucket *bucket = csched_bucket_lock_(csched_lock_hash_(lock));
  csched_sleeper *sleeper = csched_bucket_first_locked_(bucket, lock);
  uint32_t signal = 0;
  if (sleeper != NULL && csched_load_relaxed(&lock->owner) == 0 && // L4; L8: the sleeper keeps the lock valid
      !someone_is_awake(lock)) {                                   // L3
    if (sleeper == bucket->due) signal = take(lock, sleeper->thread) ? YOURS : 0; // L7: on its behalf
    else signal = become_awake(lock) ? GO_ON_AWAKE : GO_ON;                       // L3: for the sleeper
    if (signal != 0) remove_locked(bucket, lock, sleeper);
  }
  csched_bucket_unlock_(bucket);
  if (signal != 0) csched_sleeper_signal_(sleeper, signal);
}

// Lets go of the lock and gives it to the sleeper that is due. Returns: whether there was one.
static bool hand_over(csched_lock *lock) {
  csched_bucket *bucket = csched_bucket_lock_(csched_lock_hash_(lock));
  csched_sleeper *due = bucket->due;
  bool has = due != NULL && due->address == lock;
  if (has) {
    remove_locked(bucket, lock, due);
    csched_store_relaxed(&lock->owner, due->thread); // L1, L7: what is guarded is carried by the signal
  }
  csched_bucket_unlock_(bucket);
  if (has) csched_sleeper_signal_(due, YOURS);
  return has;
}

// MARK: misuse

uint32_t csched_lock_owner_seen_(const csched_lock *lock) {
  return csched_load_relaxed(&lock->owner); // racy read, for dumps
}

bool csched_lock_is_owner_(const csched_lock *lock) {
  return csched_load_relaxed(&lock->owner) == csched_lock_self_(); // L6
}

void csched_lock_require_owner_(const csched_lock *lock, const char *function) { // L6
  if (csched_lock_is_owner_(lock)) return;
  csched_lock_panic_not_owner_(lock, csched_load_relaxed(&lock->owner), function); // racy read: for the message
}

static const char NOT_RECURSIVE[] =
    "The lock is not recursive: unlock it first. A signal handler may take no lock, and call "
    "nothing that does: see base.h.";

// MARK: the slow twins

void csched_lock_lock_slow_(csched_lock *lock) {
  if (csched_lock_is_owner_(lock)) csched_lock_panic_owner_(lock, "csched_lock_lock", NOT_RECURSIVE);
  CSCHED_TSAN_WILL_LOCK(lock, false);
  if (!take(lock, csched_lock_self_())) lock_contended(lock, csched_lock_self_(), CSCHED_FOREVER);
  CSCHED_TSAN_LOCKED(lock, false, true); // also when an unlock took it on this thread's behalf
}

bool csched_lock_trylock_slow_(csched_lock *lock) {
  CSCHED_TSAN_WILL_LOCK(lock, true);
  bool taken = take(lock, csched_lock_self_());
  CSCHED_TSAN_LOCKED(lock, true, taken);
  return taken;
}

bool csched_lock_lock_until(csched_lock *lock, csched_time deadline) {
  if (csched_lock_trylock(lock)) return true;
  if (csched_lock_is_owner_(lock)) csched_lock_panic_owner_(lock, "csched_lock_lock_until", NOT_RECURSIVE);
  if (deadline != CSCHED_FOREVER && csched_now() >= deadline) return false;
  bool may_fail = deadline != CSCHED_FOREVER;
  CSCHED_TSAN_WILL_LOCK(lock, may_fail);
  bool taken = lock_contended(lock, csched_lock_self_(), deadline);
  CSCHED_TSAN_LOCKED(lock, may_fail, taken);
  return taken;
}

void csched_lock_unlock_slow_(csched_lock *lock) {
  csched_lock_require_owner_(lock, "csched_lock_unlock");
  CSCHED_TSAN_WILL_UNLOCK(lock);
  if ((csched_load_relaxed(flag_of(lock)) & DUE) == 0 || !hand_over(lock)) { // L7
    csched_store_release(&lock->owner, 0u); // L1: release; pairs with the next owner's acquire; carries what is guarded
    csched_fence_light_();                  // L2: light side; pairs with the heavy fence before a sleep
    if (csched_load_relaxed(flag_of(lock)) != 0) csched_lock_wake_slow_(lock); // L2
  }
  CSCHED_TSAN_UNLOCKED(lock); // L8: a name; the lock may be gone
}

void csched_lock_assert_owner(const csched_lock *lock) { csched_lock_require_owner_(lock, "csched_lock_assert_owner"); }

void csched_lock_assert_not_owner(const csched_lock *lock) {
  if (csched_lock_is_owner_(lock))
    csched_lock_panic_owner_(lock, "csched_lock_assert_not_owner", "Call this without holding it.");
}
