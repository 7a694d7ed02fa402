// An unfair lock in 4 bytes: a waiter spins, then sleeps in a bucket (parking.h); an unlock wakes one sleeper or hands it the lock.
//
// States
//   owner     0               unlocked
//             n               locked by the thread with number n (csched_lock_self_)
//   flag      0               no thread sleeps for a lock with this hash; waiters may spin. (The waiter flags are a static table; a
//                             hash of the lock's address selects one.)
//             SLEEPERS        a thread sleeps in the bucket of this hash; set and cleared under the bucket's lock
//             STARVED             a sleeper of the bucket of this hash is starved; set and cleared under the bucket's lock
//             address         one waiter of the lock at that address is AWAKE: it spins, or was just woken, and will read owner
//                             again. Lock addresses are multiples of 4, so all three fit into one word.
//
// Invariants
//   LK1  Mutual exclusion: only a compare-and-exchange changes owner from 0 to a thread's number. Only the owner's store changes it to 0 or to
//       a sleeper's number. (One exception, in a child of fork: RW8 of rwlock.c.)
//   LK2  No lost wake: a thread sleeps only if the owner that it read after its announcement will see that announcement.
//       Sleeper: set SLEEPERS (the announcement), heavy fence, read owner. Unlock: store 0 to owner, light fence, read the flag.
//   LK3  Skipped wakes: AWAKE is set only for a thread that is awake or is being woken. When that thread owns the lock, sleeps again or
//       gives up, it clears AWAKE and then does its part of LK2.
//   LK4  Skipped wakes: an unlock that finds the lock owned again leaves the wake to that owner's unlock.
//   LK5  A waiter that gives up at its deadline leaves nothing behind: no entry in a bucket, no SLEEPERS, no AWAKE.
//   LK6  Misuse is detected: a second lock by the owner, and an unlock by another thread, stop the process. (Only an owner sees its own number.)
//   LK7  Hand-off: no thread passes the first sleeper of a lock more than csched_lock_passes_ + 1 times. This holds once the sleeper has waited
//       for csched_lock_starved_after_, and DUE_APART has passed since another sleeper of its bucket became starved. A thread that passes sleepers of
//       several locks has one count for all of them. How: after csched_lock_passes_ unlocks past sleepers, a thread looks for the first
//       sleeper. It makes that sleeper starved, or finds a starved one. Its next unlock finds STARVED and stores the starved sleeper's number in owner: the lock is
//       never free in between. STARVED is set if and only if a sleeper of the bucket is starved. If that leaves without the lock, the next has its turn.
//   LK8  After an unlock has released the lock, it touches the lock only while a sleeper keeps it valid: the next owner may free it.
//   LK9  Fork: the thread that forks keeps its number in the child, and so its locks. No other thread of the child gets that number. A wait
//       there for a lock whose owner does not exist in the child stops the process.
//   LK10  A wait for a lock whose owner has ended without unlocking stops the process. The waiter checks after a second, and again each time
//       its wait has doubled. A check changes nothing, and accepts a lock that was released meanwhile or has a new owner.
//   LK11  A waiter that spins while no thread sleeps writes no flag. So the owner's unlock has no thread to wake and stays on its inline path.
//
// Orderings
//   owner: acquire, pairs with unlock's release, carries what the lock guards · flag: relaxed, the fences of LK2 order it against owner ·
//   hand-off: the owner's relaxed store, or an acquire for the sleeper; then the signal's release carries the guarded data to the new owner
// Assumes: a thread that sees that another thread has ended sees all that this thread did (LK10). csched_fence_heavy_ acts as a full fence on
//   every running thread of the process. Without membarrier, no thread has a number for the inline paths. Then every unlock takes the slow
//   path, where the light fence is a full fence.
// Source: unfair spin-then-sleep as in WebKit's WTF::Lock; one awake waiter as in Go's sync.Mutex; the asymmetric fences of
//   Dice, Huang and Yang, "Asymmetric Dekker Synchronization". An occasional hand-off as in WebKit's; to trigger it by a count is our own idea.
// Checked by: "the lock excludes", "no wake is lost", "a timed lock gives up and leaves nothing behind", "relock stops the
//   process", "a stranger's unlock stops the process", "a lock may be freed by the owner after the last unlock",
//   "locks that share a bucket do not take each other's wakes", "a thread that waits long is handed the lock",
//   "a waiter that has slept for 2 ms is passed by a thread 128 times at the most", "a waiter that gives up passes its wake on",
//   "after fork a lock keeps its owner", "after fork a lock of an orphaned thread stops the process",
//   "a fork beside threads that sleep for locks leaves locks that can be unlocked", "a lock whose owner has ended stops its waiters".
// Models: checks/lock.c. Not modelled: LK9.

#include <CScheduler/lock.h>

#include "../job/observed.h"
#include "lock_internal.h"
#include "parking.h"

enum { SLEEPERS = 1, STARVED = CSCHED_LOCK_IS_DUE_, BITS = SLEEPERS | STARVED }; // bits of a waiter flag
enum { GO_ON = 1, GO_ON_AWAKE = 2, YOURS = 3 };                                  // signals to a sleeper

static const csched_time SPIN_FOR =
    25000; // ns; about one futex wake on a virtual machine: see Documentation/Internals/Lock.md
// Least time between two hand-offs: during the wake of a hand-off no thread uses the lock.
static const csched_time DUE_APART = 400000;      // ns, per bucket
csched_time csched_lock_starved_after_ = 1000000; // ns of waiting; model checks change it
uint8_t csched_lock_passes_ = 127; // LK7: prime, so locks used in rotation all get their turn; model checks change it
csched_time csched_lock_checks_owner_after_ = 1000000000; // ns; model checks change it
enum { FIRST_GAP = 4, LAST_GAP = 64 };                    // pauses between two reads of owner, doubling

csched_lock_waiter_flag_ csched_lock_waiter_flags_[CSCHED_LOCK_WAITER_FLAGS_];

static bool take_lock(csched_lock *lock, uint32_t self) {
  uint32_t free = 0;
  return csched_load_relaxed(&lock->owner) == 0 &&      // racy read, rechecked by the cas
         csched_cas_acquire(&lock->owner, &free, self); // LK1: acquire; pairs with unlock's release
}

CSCHED_STATIC_ASSERT(2 * (int)CSCHED_LOCK_WAITER_FLAGS_ == (int)CSCHED_BUCKETS_,
                     "a bucket for each waiter flag, and others");

// MARK: the waiter flag

static uintptr_t *flag_of(const csched_lock *lock) { return &csched_lock_waiter_flags_[csched_lock_hash_(lock)].word; }

// Only one lock of a hash can have an awake waiter at a time. Waiters of the other locks then sleep at once, and their
// unlocks wake more often than necessary.
static bool become_awake(csched_lock *lock) {
  uintptr_t *flag = flag_of(lock), seen = csched_load_relaxed(flag); // racy read, rechecked by the cas
  while ((seen & ~(uintptr_t)BITS) == 0)
    if (csched_cas_relaxed(flag, &seen, (uintptr_t)lock | seen)) return true; // LK3: sets AWAKE
  return false;
}

static void stop_being_awake(csched_lock *lock) {
  csched_fetch_and_relaxed(flag_of(lock), (uintptr_t)BITS); // LK3: clears AWAKE
}

static bool is_waiter_awake(const csched_lock *lock) {
  return (csched_load_relaxed(flag_of(lock)) & ~(uintptr_t)BITS) == (uintptr_t)lock; // LK3: skipped wakes
}

static bool has_sleepers(const csched_lock *lock) {
  return (csched_load_relaxed(flag_of(lock)) & SLEEPERS) != 0; // Speed only
}

// MARK: waiting

// Reads owner at growing intervals, because each read takes the cache line away from the owner. While a thread sleeps,
// only the awake waiter spins.
static bool spin(csched_lock *lock, uint32_t self, bool *awake) {
  csched_time end = csched_now() + SPIN_FOR;
  unsigned gap = FIRST_GAP;
  do {
    if (!*awake && has_sleepers(lock) && !(*awake = become_awake(lock))) // LK3, LK11: announced if one sleeps
      return false;
    for (unsigned i = 0; i < gap; i++) CSCHED_CPU_RELAX();
    if (take_lock(lock, self)) return true;
    if (gap < LAST_GAP) gap *= 2;
  } while (csched_now() < end);
  return false;
}

// Makes the first sleeper of the lock starved if it has waited long enough and no other sleeper of the bucket is starved.
// The next unlock then hands it the lock.
static void look_for_starved_locked(csched_bucket *bucket, csched_lock *lock, csched_time now) {
  csched_sleeper *first = csched_bucket_first_locked_(bucket, lock);
  if (bucket->starved != NULL || first == NULL) return;
  csched_time at = first->since + csched_lock_starved_after_;
  if (at < bucket->paced_until) at = bucket->paced_until;
  if (now >= at) {
    bucket->starved = first;
    csched_fetch_or_relaxed(flag_of(lock), (uintptr_t)STARVED); // LK7: the next unlock sees it
    at = bucket->paced_until = now + DUE_APART;
  }
  csched_store_relaxed(&bucket->looks_for_starved_at, at); // Speed only
}

static void look_for_starved(csched_lock *lock, csched_time now) {
  csched_bucket *bucket = csched_bucket_lock_(csched_lock_hash_(lock));
  look_for_starved_locked(bucket, lock, now);
  csched_bucket_unlock_(bucket);
}

// Long critical sections make unlocks too rare to count. So the awake waiter looks too, when it has taken the lock.
static void sometimes_look_for_starved(csched_lock *lock) {
  if (!has_sleepers(lock)) return;
  csched_time now = csched_now();
  if (now >= csched_bucket_looks_for_starved_at_(csched_lock_hash_(lock))) look_for_starved(lock, now); // Speed only
}

static void clear_flag_locked(const csched_bucket *bucket, csched_lock *lock) {
  uintptr_t over = (TAILQ_EMPTY(&bucket->sleepers) ? SLEEPERS : 0) | (bucket->starved == NULL ? STARVED : 0);
  if ((csched_load_relaxed(flag_of(lock)) & over) != 0)
    csched_fetch_and_relaxed(flag_of(lock), ~over); // LK5: timeout; LK7: hand-off
}

static void remove_locked(csched_bucket *bucket, csched_lock *lock, csched_sleeper *sleeper) {
  csched_bucket_remove_locked_(bucket, sleeper);
  if (bucket->starved == sleeper) bucket->starved = NULL;
  clear_flag_locked(bucket, lock);
}

static void leave_locked(csched_bucket *bucket, csched_lock *lock, csched_sleeper *sleeper) {
  csched_bucket_remove_locked_(bucket, sleeper);
  if (bucket->starved == sleeper) { // LK7: its turn passes to the next
    bucket->starved = NULL;
    bucket->paced_until = 0;
    look_for_starved_locked(bucket, lock, csched_now());
  }
  clear_flag_locked(bucket, lock);
}

// Takes the sleeper out of its bucket. Returns: its waker's signal; 0: no thread woke it.
static uint32_t leave_bucket(csched_lock *lock, csched_sleeper *sleeper) {
  csched_bucket *bucket = csched_bucket_lock_(csched_lock_hash_(lock));
  bool was_queued = sleeper->queued;
  if (was_queued) leave_locked(bucket, lock, sleeper);
  csched_bucket_unlock_(bucket);
  return was_queued ? 0 : csched_sleeper_wait_(sleeper, CSCHED_FOREVER); // the waker has removed it and will signal
}

static bool is_left_by(const csched_lock *lock, uint32_t owner) {
  return csched_os_thread_has_ended_(csched_lock_thread_of_(owner)) &&
         csched_load_relaxed(&lock->owner) == owner; // LK10: only the value matters
}

// Checks twice: between the two reads of the first check, a new thread may have got the number and then the lock.
static void require_owner_lives(const csched_lock *lock) { // LK10: ended owner
  uint32_t owner = csched_load_relaxed(&lock->owner);      // LK10: only the value matters
  if (owner == 0 || !is_left_by(lock, owner) || !is_left_by(lock, owner)) return;
  csched_lock_panic_ended_(lock, owner);
}

static csched_time later(csched_time start, csched_time span) {
  return span > INT64_MAX ? CSCHED_FOREVER : csched_time_after(start, (int64_t)span);
}

// Sleeps until signalled or `deadline`. Checks now and then that the owner lives. Returns: the signal; 0: none.
static uint32_t wait(csched_lock *lock, csched_sleeper *sleeper, csched_time deadline) {
  for (;;) {
    csched_time until = sleeper->checks_owner_at < deadline ? sleeper->checks_owner_at : deadline;
    uint32_t signal = csched_sleeper_wait_(sleeper, until);
    if (signal != 0 || until == deadline) return signal;
    require_owner_lives(lock);
    sleeper->checks_owner_at =
        later(sleeper->checks_owner_at,
              sleeper->checks_owner_at - sleeper->since); // LK10: an hour's wait wakes a dozen times
  }
}

// Sleeps once. Returns: the signal that ended the sleep; 0: none, the lock was free or the deadline has passed.
static uint32_t sleep(csched_lock *lock, csched_sleeper *sleeper, bool has_slept, bool awake, csched_time deadline) {
  sleeper->signal = 0;
  csched_bucket *bucket = csched_bucket_lock_(csched_lock_hash_(lock));
  csched_bucket_insert_locked_(bucket, sleeper, has_slept);
  csched_fetch_or_relaxed(flag_of(lock), (uintptr_t)SLEEPERS);                      // LK2: announce
  look_for_starved_locked(bucket, lock, has_slept ? csched_now() : sleeper->since); // LK7: may become starved
  csched_bucket_unlock_(bucket);
  if (awake) stop_being_awake(lock);                     // LK3: sleeps again
  csched_fence_heavy_();                                 // LK2: heavy side; pairs with unlock's light fence
  uint32_t owner = csched_load_relaxed(&lock->owner);    // LK2: after the fence
  if (owner == 0) return leave_bucket(lock, sleeper);    // LK2: released meanwhile, do not sleep
  csched_os_thread_lift_(csched_lock_thread_of_(owner)); // WK7 of pool_worker.c: may raise the owner's priority
  uint32_t signal = wait(lock, sleeper, deadline);
  return signal != 0 ? signal : leave_bucket(lock, sleeper);
}

// Called before a sleep in a child of fork.
static void require_owner_here(const csched_lock *lock) { // LK9: fork
  uint32_t owner = csched_load_relaxed(&lock->owner);     // LK9: only the value matters
  if (owner == 0 || csched_os_thread_exists_(csched_lock_thread_of_(owner))) return;
  if (csched_load_relaxed(&lock->owner) != owner) return; // LK9: the owner unlocked before it ended
  csched_lock_panic_orphaned_(lock, owner);
}

static CSCHED_NOINLINE void observe(const csched_lock *lock, csched_time since) {
  static const csched_time REPORTED_FROM = 1000000;
  csched_time span = csched_now() - since;
  if (span >= REPORTED_FROM) csched_observe_hooks_->note(CSCHED_OCCURRED_LOCK_WAIT, lock, span);
}

static bool lock_contended(csched_lock *lock, uint32_t self, csched_time deadline) {
  csched_sleeper sleeper = {.address = lock, .thread = self};
  bool awake = false, taken;
  for (;;) {
    taken = take_lock(lock, self) || (csched_may_spin_() && spin(lock, self, &awake));
    if (taken || (deadline != CSCHED_FOREVER && csched_now() >= deadline)) break;

    if (CSCHED_UNLIKELY(csched_lock_is_in_child_())) require_owner_here(lock);
    bool has_slept = sleeper.since != 0;
    if (!has_slept) {
      sleeper.since = csched_now();
      sleeper.checks_owner_at = later(sleeper.since, csched_lock_checks_owner_after_);
    }
    uint32_t signal = sleep(lock, &sleeper, has_slept, awake, deadline);
    awake = signal == GO_ON_AWAKE; // LK3: the waker has set AWAKE for this thread
    taken = signal == YOURS;       // LK7: the unlocking thread took the lock for this one
    if (taken) break;
  }
  if (csched_is_observed_() && sleeper.since != 0) observe(lock, sleeper.since);
  if (taken && awake) sometimes_look_for_starved(lock);
  if (awake) stop_being_awake(lock); // LK3: no longer tries for the lock
  if (!taken && awake) {
    csched_fence_heavy_(); // LK5: AWAKE is cleared before the owner is read; an unlock may have skipped its wake because of AWAKE
    if (csched_load_relaxed(&lock->owner) == 0) csched_lock_wake_slow_(lock); // LK5: passes the wake on
  }
  return taken;
}

// Counts unlocks that leave sleepers waiting. After csched_lock_passes_ of them it looks for a starved one.
static void count_pass(csched_lock *lock) { // LK7: hand-off
  static CSCHED_THREAD_LOCAL uint8_t passes;
  if (++passes < csched_lock_passes_) return;
  passes = 0;
  look_for_starved(lock, csched_now());
}

// Wakes the oldest sleeper of the lock, unless a waiter is awake already. A starved sleeper also gets the lock.
void csched_lock_wake_slow_(csched_lock *lock) {
  if ((csched_load_relaxed(flag_of(lock)) & SLEEPERS) == 0) return; // LK2: no thread sleeps
  count_pass(lock);
  if (is_waiter_awake(lock)) return; // LK3: skips the wake
  csched_bucket *bucket = csched_bucket_lock_(csched_lock_hash_(lock));
  csched_sleeper *sleeper = csched_bucket_first_locked_(bucket, lock);
  uint32_t signal = 0;
  if (sleeper != NULL &&
      csched_load_relaxed(&lock->owner) == 0 && // LK4; LK8: the sleeper has not returned, so the lock is valid
      !is_waiter_awake(lock)) {                 // LK3: still none awake
    if (sleeper == bucket->starved) signal = take_lock(lock, sleeper->thread) ? YOURS : 0; // LK7: for the sleeper
    else signal = become_awake(lock) ? GO_ON_AWAKE : GO_ON;                                // LK3: for the sleeper
    if (signal != 0) remove_locked(bucket, lock, sleeper);
  }
  csched_bucket_unlock_(bucket);
  if (signal != 0) csched_sleeper_signal_(sleeper, signal);
}

// Hands the lock to its starved sleeper; the lock is never free in between. Returns: false: no sleeper of it is starved.
static bool hand_over(csched_lock *lock) {
  csched_bucket *bucket = csched_bucket_lock_(csched_lock_hash_(lock));
  csched_sleeper *starved = bucket->starved;
  bool has = starved != NULL && starved->address == lock;
  if (has) {
    remove_locked(bucket, lock, starved);
    csched_store_relaxed(&lock->owner, starved->thread); // LK1, LK7: the signal carries what is guarded
  }
  csched_bucket_unlock_(bucket);
  if (has) csched_sleeper_signal_(starved, YOURS);
  return has;
}

// MARK: misuse

uint32_t csched_lock_owner_seen_(const csched_lock *lock) {
  return csched_load_relaxed(&lock->owner); // racy read, for dumps
}

bool csched_lock_is_owner_(const csched_lock *lock) {
  return csched_load_relaxed(&lock->owner) == csched_lock_self_(); // LK6: misuse
}

void csched_lock_require_owner_(const csched_lock *lock, const char *function) { // LK6: misuse
  if (csched_lock_is_owner_(lock)) return;
  csched_lock_panic_not_owner_(lock, csched_load_relaxed(&lock->owner), function); // racy read: for the message
}

static const char NOT_RECURSIVE[] =
    "The lock is not recursive: unlock it first. A signal handler may take no lock, and call "
    "nothing that does: see base.h.";

// MARK: slow paths

void csched_lock_lock_slow_(csched_lock *lock) {
  if (csched_lock_is_owner_(lock)) csched_lock_panic_owner_(lock, "csched_lock_lock", NOT_RECURSIVE);
  CSCHED_TSAN_WILL_LOCK(lock, false);
  if (!take_lock(lock, csched_lock_self_())) lock_contended(lock, csched_lock_self_(), CSCHED_FOREVER);
  CSCHED_TSAN_LOCKED(lock, false, true); // also if an unlock took it for this thread
}

bool csched_lock_trylock_slow_(csched_lock *lock) {
  CSCHED_TSAN_WILL_LOCK(lock, true);
  bool taken = take_lock(lock, csched_lock_self_());
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
  if ((csched_load_relaxed(flag_of(lock)) & STARVED) == 0 || !hand_over(lock)) { // LK7: or no hand-off
    csched_store_release(&lock->owner,
                         0u); // LK1: release; pairs with the next owner's acquire; carries what is guarded
    csched_fence_light_();    // LK2: light side; pairs with the heavy fence before a sleep
    if (csched_load_relaxed(flag_of(lock)) != 0) csched_lock_wake_slow_(lock); // LK2: a thread may sleep
  }
  CSCHED_TSAN_UNLOCKED(lock); // LK8: uses only the address; the lock may be freed
}

void csched_lock_assert_owner(const csched_lock *lock) { csched_lock_require_owner_(lock, "csched_lock_assert_owner"); }

void csched_lock_assert_not_owner(const csched_lock *lock) {
  if (csched_lock_is_owner_(lock))
    csched_lock_panic_owner_(lock, "csched_lock_assert_not_owner", "Call this without holding it.");
}
