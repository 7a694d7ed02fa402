// An unfair lock in 4 bytes: a waiter spins, then sleeps in a bucket (parking.h). An unlock wakes one sleeper, or makes
// it the owner.
//
// States
//   owner     0               unlocked
//             n               locked by the thread with the lock number n (csched_lock_self_)
//   flag      the waiter flag of a lock: an entry of a static table, selected by a hash of the lock's address. Locks
//             with the same hash share it.
//             0               no thread sleeps for a lock with this hash; waiters may spin
//             SLEEPERS        a thread sleeps in the bucket of this hash; set and cleared under the bucket's lock
//             STARVED         one sleeper of this bucket is starved: the next unlock of its lock makes it the owner;
//                             set and cleared as SLEEPERS
//             address         AWAKE: one waiter of the lock at this address spins, or was just woken, and will read
//                             owner again. Lock addresses are multiples of 4, so the word also has room for the two bits.
//
// Invariants
//   LK1  Mutual exclusion: a free lock gets an owner only by a compare-and-exchange from 0 to the thread's number. Only
//        the owner stores 0 or a sleeper's number. (One exception, in a child of fork: RW8 of rwlock.c.)
//   LK2  No lost wake. A sleeper sets SLEEPERS, executes the heavy fence, and reads owner. An unlock writes 0 to owner,
//        executes the light fence, and reads the flag. So the unlock sees SLEEPERS, or the sleeper sees the free lock.
//   LK3  Skipped wakes: while AWAKE is set for a lock, its unlocks wake no thread. AWAKE is set only for a waiter that
//        is awake or is being woken. That waiter clears AWAKE when it owns the lock, sleeps again or gives up. It then
//        reads owner, or its unlock the flag, as in LK2.
//   LK4  Skipped wakes: an unlock that finds the lock owned again wakes no thread. The new owner's unlock does.
//   LK5  A waiter that gives up at its deadline dequeues its sleeper, and clears SLEEPERS and AWAKE if no other waiter
//        needs them.
//   LK6  Misuse is detected: a second lock by the owner, and an unlock by another thread, stop the process. (owner has
//        a thread's number only while that thread owns the lock.)
//   LK7  Hand-off: no thread passes the first sleeper of a lock more than csched_lock_passes_ + 1 times. A pass is an
//        unlock that does not wake the sleeper. Passes count once the sleeper has waited for
//        csched_lock_starved_after_, and HAND_OFF_INTERVAL has elapsed since another sleeper of the bucket became
//        starved. Each thread counts its passes of all locks together. Mechanism: after csched_lock_passes_ passes, the
//        thread marks the first sleeper of the lock as starved, unless the bucket has a starved sleeper. That lock's
//        next unlock reads STARVED, and stores the sleeper's number in owner: the lock is never free in between.
//        STARVED is set if and only if a sleeper of the bucket is starved. If a starved sleeper gives up, the next
//        sleeper may become starved at once.
//   LK8  After an unlock has released the lock, it reads the lock only while a queued sleeper keeps it valid. Otherwise
//        the next owner may free it.
//   LK9  Fork: in the child, the forking thread keeps its number, and so its locks. No other thread of the child gets
//        that number. A wait in the child for a lock whose owner does not exist there stops the process.
//   LK10  Ended owner: a wait for a lock whose owner has ended without unlocking stops the process. The waiter checks
//        after a second, and again each time its wait has doubled. A check changes no state, and accepts a lock that
//        was released meanwhile or has a new owner.
//   LK11  While no thread sleeps, a spinning waiter writes no flag. So the owner's unlock stays on its inline path.
//
// Orderings
//   owner: acquire, pairs with unlock's release, carries the data that the lock guards · flag: relaxed, the fences of
//   LK2 order it against owner · hand-off: a store of the sleeper's number (by the owner: relaxed; to a free lock:
//   acquire). The signal's release then carries the guarded data
// Assumes: a thread that sees that another thread has ended sees all that this thread did (LK10). csched_fence_heavy_
//   acts as a full fence on every running thread of the process. Without membarrier, no thread has a number for the
//   inline paths. Then every unlock takes the slow path, where the light fence is a full fence.
// Source: unfair spin-then-sleep as in WebKit's WTF::Lock; one awake waiter as in Go's sync.Mutex; the asymmetric
//   fences of Dice, Huang and Yang, "Asymmetric Dekker Synchronization". An occasional hand-off as in WebKit's lock;
//   the trigger by a count is our own idea.
// Models: checks/lock.c. Not modelled: LK9.

#include <CScheduler/lock.h>
#include "../job/observed.h"
#include "lock_internal.h"
#include "parking.h"

enum { SLEEPERS = 1, STARVED = 2, BITS = SLEEPERS | STARVED }; // of a waiter flag; other bits: AWAKE
// Signals to a sleeper. GO_ON: try to lock again. GO_ON_AWAKE: try again; the waker has set AWAKE for this sleeper.
// YOURS: the sleeper owns the lock.
enum { GO_ON = 1, GO_ON_AWAKE = 2, YOURS = 3 };

static const csched_time SPIN_FOR = 25000;           // ns; about one futex wake on a virtual machine (Lock.md)
static const csched_time HAND_OFF_INTERVAL = 400000; // ns; not more often: the lock is idle while its new owner wakes
csched_time csched_lock_starved_after_ = 1000000;    // LK7: ns of waiting; model checks change it
// LK7: passes before a hand-off. A prime: a thread that uses several locks in turn reaches the count at each of them.
// Model checks change it.
uint8_t csched_lock_passes_ = 127;
csched_time csched_lock_checks_owner_after_ = 1000000000; // LK10: ns before a first check; model checks change it
enum { FIRST_GAP = 16, LAST_GAP = 64 }; // of a spin: CPU pauses between two reads of owner; it doubles

csched_lock_waiter_flag_ csched_lock_waiter_flags_[CSCHED_LOCK_WAITER_FLAGS_]; // by hash; the inline unlock reads them

static bool try_acquire(csched_lock *lock, uint32_t self) { // `self`: the new owner's lock number
  uint32_t free = 0;
  return csched_load_relaxed(&lock->owner) == 0 &&      // racy read, rechecked by the cas
         csched_cas_acquire(&lock->owner, &free, self); // LK1: acquire: sees what earlier owners wrote
}

CSCHED_STATIC_ASSERT(2 * (int)CSCHED_LOCK_WAITER_FLAGS_ == (int)CSCHED_BUCKETS_,
                     "a bucket for each waiter flag, and others");

// MARK: the waiter flag

static uintptr_t *flag_of(const csched_lock *lock) { return &csched_lock_waiter_flags_[csched_lock_hash_(lock)].word; }

// Does: sets AWAKE for one waiter of the lock. Returns: false: AWAKE is set already for a lock with this hash. While
// AWAKE names one lock, waiters of another lock with this hash sleep without a spin, and an unlock of that other lock
// may wake more sleepers than necessary.
static bool set_awake(csched_lock *lock) {
  uintptr_t *flag = flag_of(lock), seen = csched_load_relaxed(flag);          // racy read, rechecked by the cas
  while ((seen & ~(uintptr_t)BITS) == 0)                                      // AWAKE is not set
    if (csched_cas_relaxed(flag, &seen, (uintptr_t)lock | seen)) return true; // LK3: both bits stay: unlocks read them
  return false;
}

static void clear_awake(csched_lock *lock) {
  csched_fetch_and_relaxed(flag_of(lock), (uintptr_t)BITS); // LK3: both bits stay; called by the waiter with AWAKE
}

static bool is_waiter_awake(const csched_lock *lock) {
  return (csched_load_relaxed(flag_of(lock)) & ~(uintptr_t)BITS) == (uintptr_t)lock; // LK3: AWAKE names this lock
}

static bool has_sleepers(const csched_lock *lock) {
  return (csched_load_relaxed(flag_of(lock)) & SLEEPERS) != 0; // Speed only: also true for another lock with this hash
}

// MARK: waiting

// Returns: whether the caller acquired the lock. Reads owner at growing intervals, because each read takes the cache
// line away from the owner.
// While a thread sleeps, only the waiter for which AWAKE is set spins. `*awake`: AWAKE is set for the caller; the
// function may set it.
static bool spin(csched_lock *lock, uint32_t self, bool *awake) {
  csched_time end = csched_now() + SPIN_FOR;
  unsigned gap = FIRST_GAP;
  do {
    if (!*awake && has_sleepers(lock) && !(*awake = set_awake(lock))) // LK3, LK11: without sleepers sets no flag
      return false; // AWAKE is set for another waiter, which spins: this one must sleep
    for (unsigned i = 0; i < gap; i++) CSCHED_CPU_RELAX();
    if (try_acquire(lock, self)) return true;
    if (gap < LAST_GAP) gap *= 2;
  } while (csched_now() < end);
  return false;
}

// Does: marks the lock's first sleeper as starved if it has waited long enough, and no sleeper of the bucket is starved
// yet. The lock's next unlock then makes that sleeper the owner. `eligible_at`: when the first sleeper may become
// starved.
static void mark_starved_locked(csched_bucket *bucket, csched_lock *lock, csched_time now) {
  csched_sleeper *first = csched_bucket_first_locked_(bucket, lock);
  if (bucket->starved != NULL || first == NULL) return;
  csched_time eligible_at = first->since + csched_lock_starved_after_;
  if (eligible_at < bucket->paced_until) eligible_at = bucket->paced_until; // HAND_OFF_INTERVAL after the last mark
  if (now >= eligible_at) {
    bucket->starved = first;
    csched_fetch_or_relaxed(flag_of(lock), (uintptr_t)STARVED);  // LK7: the next unlock hands the lock off
    eligible_at = bucket->paced_until = now + HAND_OFF_INTERVAL; // the next mark in this bucket
  }
  csched_store_relaxed(&bucket->looks_for_starved_at, eligible_at); // Speed only: mark_starved_if_due reads it unlocked
}

static void mark_starved(csched_lock *lock, csched_time now) { // as mark_starved_locked, for an unlocked bucket
  csched_bucket *bucket = csched_bucket_lock_(csched_lock_hash_(lock));
  mark_starved_locked(bucket, lock, now);
  csched_bucket_unlock_(bucket);
}

// Does: marks the first sleeper as starved if it is time. Called by a new owner that had AWAKE: if critical sections
// are long, passes are too rare.
static void mark_starved_if_due(csched_lock *lock) {
  if (!has_sleepers(lock)) return;
  csched_time now = csched_now();
  if (now >= csched_bucket_next_starved_at_(csched_lock_hash_(lock))) mark_starved(lock, now); // Speed only
}

// Does: clears SLEEPERS if the bucket is empty, and STARVED if no sleeper of the bucket is starved.
static void clear_flag_locked(const csched_bucket *bucket, csched_lock *lock) {
  uintptr_t stale = (TAILQ_EMPTY(&bucket->sleepers) ? SLEEPERS : 0) | (bucket->starved == NULL ? STARVED : 0);
  if ((csched_load_relaxed(flag_of(lock)) & stale) != 0)
    csched_fetch_and_relaxed(flag_of(lock), ~stale); // LK5, LK7: no sleeper needs these bits; AWAKE stays
}

// Does: dequeues a sleeper that the caller will signal, and clears the flag bits that no other sleeper needs.
static void remove_locked(csched_bucket *bucket, csched_lock *lock, csched_sleeper *sleeper) {
  csched_bucket_remove_locked_(bucket, sleeper);
  if (bucket->starved == sleeper) bucket->starved = NULL;
  clear_flag_locked(bucket, lock);
}

// Does: dequeues the caller's own sleeper, which no thread has dequeued, and clears the flag bits that no other sleeper
// needs.
static void withdraw_locked(csched_bucket *bucket, csched_lock *lock, csched_sleeper *sleeper) {
  csched_bucket_remove_locked_(bucket, sleeper);
  if (bucket->starved == sleeper) { // LK7: no hand-off has happened, so the next sleeper need not wait for the interval
    bucket->starved = NULL;
    bucket->paced_until = 0;
    mark_starved_locked(bucket, lock, csched_now());
  }
  clear_flag_locked(bucket, lock);
}

// Does: ends the caller's sleep. Returns: 0: this call has dequeued `sleeper`; else the signal of the waker that had
// dequeued it before.
static uint32_t withdraw_sleeper(csched_lock *lock, csched_sleeper *sleeper) {
  csched_bucket *bucket = csched_bucket_lock_(csched_lock_hash_(lock));
  bool was_queued = sleeper->queued;
  if (was_queued) withdraw_locked(bucket, lock, sleeper);
  csched_bucket_unlock_(bucket);
  return was_queued ? 0 : csched_sleeper_wait_(sleeper, CSCHED_FOREVER); // parking.c PK3: the waker is about to signal
}

// Returns: whether the thread with number `owner` has ended without unlocking.
static bool is_abandoned_by(const csched_lock *lock, uint32_t owner) {
  return csched_os_thread_has_ended_(csched_lock_thread_of_(owner)) &&
         csched_load_relaxed(&lock->owner) == owner; // LK10: it has not unlocked before its end
}

// Does: stops the process if the owner has ended. Checks twice: during the first check, a new thread may get the
// owner's number, and lock.
static void require_owner_lives(const csched_lock *lock) { // LK10: an ended owner never unlocks
  uint32_t owner = csched_load_relaxed(&lock->owner);      // LK10: relaxed: only the number is used
  if (owner == 0 || !is_abandoned_by(lock, owner) || !is_abandoned_by(lock, owner)) return;
  csched_lock_panic_ended_(lock, owner);
}

static csched_time add_saturating(csched_time start, csched_time span) { // CSCHED_FOREVER on overflow
  return span > INT64_MAX ? CSCHED_FOREVER : csched_time_after(start, (int64_t)span);
}

// Does: sleeps until signalled or `deadline`, and checks at growing intervals that the owner lives. Returns: the
// waker's signal; 0: timeout.
static uint32_t wait_for_signal(csched_lock *lock, csched_sleeper *sleeper, csched_time deadline) {
  for (;;) {
    csched_time until = sleeper->checks_owner_at < deadline ? sleeper->checks_owner_at : deadline;
    uint32_t signal = csched_sleeper_wait_(sleeper, until);
    if (signal != 0 || until == deadline) return signal;
    require_owner_lives(lock);
    // LK10: the next check comes when the wait has lasted twice as long. In a wait of an hour, the thread wakes a dozen
    // times.
    sleeper->checks_owner_at = add_saturating(sleeper->checks_owner_at, sleeper->checks_owner_at - sleeper->since);
  }
}

// Does: inserts `sleeper` into the bucket, in front if it has slept before, and sleeps once. `awake`: AWAKE is set for
// the caller, and is cleared.
// Returns: the waker's signal; 0: no signal, because the lock was free or the deadline has passed.
static uint32_t sleep(csched_lock *lock, csched_sleeper *sleeper, bool has_slept, bool awake, csched_time deadline) {
  sleeper->signal = 0; // clears the signal of an earlier sleep
  csched_bucket *bucket = csched_bucket_lock_(csched_lock_hash_(lock));
  csched_bucket_insert_locked_(bucket, sleeper, has_slept);
  csched_fetch_or_relaxed(flag_of(lock), (uintptr_t)SLEEPERS);                  // LK2: before the read of owner below
  mark_starved_locked(bucket, lock, has_slept ? csched_now() : sleeper->since); // LK7: the first sleeper may be starved
  csched_bucket_unlock_(bucket);
  if (awake) clear_awake(lock); // LK3: while it sleeps, unlocks must wake sleepers again
  csched_fence_heavy_();        // LK2: between SLEEPERS and owner; pairs with unlock's light fence
  uint32_t owner = csched_load_relaxed(&lock->owner);     // LK2: after the fence, so that no unlock is missed
  if (owner == 0) return withdraw_sleeper(lock, sleeper); // LK2: unlocked meanwhile, perhaps without a wake
  csched_os_thread_lift_(csched_lock_thread_of_(owner));  // resets the owner's raised nice value: it unlocks sooner
  uint32_t signal = wait_for_signal(lock, sleeper, deadline);
  return signal != 0 ? signal : withdraw_sleeper(lock, sleeper); // 0: timeout: dequeues it, unless a waker has
}

// Does: in a child of fork, before a sleep: stops the process if the owner is a thread of the parent.
static void require_owner_in_child(const csched_lock *lock) { // LK9: such an owner never unlocks
  uint32_t owner = csched_load_relaxed(&lock->owner);         // LK9: relaxed: only the number is used
  if (owner == 0 || csched_os_thread_exists_(csched_lock_thread_of_(owner))) return;
  if (csched_load_relaxed(&lock->owner) != owner) return; // LK9: the owner unlocked before it ended
  csched_lock_panic_orphaned_(lock, owner);
}

static CSCHED_NOINLINE void report_wait(const csched_lock *lock, csched_time since) { // to observers (observed.h)
  static const csched_time REPORTED_FROM = 1000000; // ns; shorter waits are not reported to observers
  csched_time span = csched_now() - since;
  if (span >= REPORTED_FROM) csched_observe_hooks_->note(CSCHED_OCCURRED_LOCK_WAIT, lock, span);
}

// Does: spins, then sleeps, until it owns the lock or `deadline` has passed. Returns: whether it owns the lock.
static bool lock_contended(csched_lock *lock, uint32_t self, csched_time deadline) {
  csched_sleeper sleeper = {.address = lock, .thread = self}; // `since` is 0 until the first sleep
  bool awake = false, taken;                                  // AWAKE is set for this thread; this thread owns the lock
  for (;;) {
    taken = try_acquire(lock, self) || (csched_may_spin_() && spin(lock, self, &awake));
    if (taken || (deadline != CSCHED_FOREVER && csched_now() >= deadline)) break;

    if (CSCHED_UNLIKELY(csched_lock_is_in_child_())) require_owner_in_child(lock);
    bool has_slept = sleeper.since != 0;
    if (!has_slept) {
      sleeper.since = csched_now();
      sleeper.checks_owner_at = add_saturating(sleeper.since, csched_lock_checks_owner_after_);
    }
    uint32_t signal = sleep(lock, &sleeper, has_slept, awake, deadline);
    awake = signal == GO_ON_AWAKE; // LK3: the waker has set AWAKE for this thread
    taken = signal == YOURS;       // LK7: the waker made this thread the owner
    if (taken) break;
  }
  if (csched_is_observed_() && sleeper.since != 0) report_wait(lock, sleeper.since);
  if (taken && awake) mark_starved_if_due(lock);
  if (awake) clear_awake(lock); // LK3: this thread waits no more, so unlocks must wake sleepers again
  if (!taken && awake) {
    // While AWAKE was set, an unlock may have skipped its wake. So read owner after AWAKE is cleared, and wake a
    // sleeper if the lock is free.
    csched_fence_heavy_(); // LK5: orders clear_awake before the read of owner
    if (csched_load_relaxed(&lock->owner) == 0) csched_lock_wake_slow_(lock); // LK5: makes up for a skipped wake
  }
  return taken;
}

// MARK: waking

// csched_lock_wake_slow_ runs at the end of each slow unlock: its rare cases are tail calls, so that it saves no
// registers.

// Does: wakes the first sleeper, unless the lock has an owner or a waiter is awake. If the sleeper is starved, acquires
// the lock for it.
static CSCHED_NOINLINE void wake_first_sleeper(csched_lock *lock) {
  csched_bucket *bucket = csched_bucket_lock_(csched_lock_hash_(lock));
  csched_sleeper *sleeper = csched_bucket_first_locked_(bucket, lock);
  uint32_t signal = 0;
  if (sleeper != NULL &&
      csched_load_relaxed(&lock->owner) == 0 && // LK4: else the new owner wakes; LK8: the sleeper keeps it valid
      !is_waiter_awake(lock)) {                 // LK3: still no waiter is awake
    if (sleeper == bucket->starved) signal = try_acquire(lock, sleeper->thread) ? YOURS : 0; // LK7: for the sleeper
    else signal = set_awake(lock) ? GO_ON_AWAKE : GO_ON; // LK3: GO_ON: AWAKE names another lock
    if (signal != 0) remove_locked(bucket, lock, sleeper);
  }
  csched_bucket_unlock_(bucket);
  if (signal != 0) csched_sleeper_signal_(sleeper, signal);
}

// LK7: this thread's unlocks while a thread slept, of all locks together.
static CSCHED_TLS_FAST CSCHED_THREAD_LOCAL uint8_t passes;

// Does: ends a round of passes: marks the first sleeper as starved if it is time, and wakes it unless a waiter is
// awake.
static CSCHED_NOINLINE void mark_starved_and_wake(csched_lock *lock) {
  passes = 0;
  mark_starved(lock, csched_now());
  if (!is_waiter_awake(lock)) wake_first_sleeper(lock); // LK3: an awake waiter will read owner
}

// Does: after an unlock, or when a waiter gives up, counts a pass if a thread sleeps, and wakes the first sleeper
// unless a waiter is awake.
void csched_lock_wake_slow_(csched_lock *lock) {
  if ((csched_load_relaxed(flag_of(lock)) & SLEEPERS) == 0) return; // LK2: no thread sleeps; the flag has only AWAKE
  if (CSCHED_UNLIKELY(++passes >= csched_lock_passes_)) mark_starved_and_wake(lock); // LK7: the sleeper may be starved
  else if (!is_waiter_awake(lock)) wake_first_sleeper(lock); // LK3: an awake waiter will read owner
}

// Does: makes the starved sleeper the owner of the lock, and signals it. Returns: false: no sleeper of this lock is
// starved, and the caller still owns the lock. Requires: the caller, `self`, owns it: else stops the process.
static bool hand_over(csched_lock *lock, uint32_t self) {
  uint32_t owner = csched_load_relaxed(&lock->owner); // LK6: only the owner reads its own number
  if (owner != self) csched_lock_panic_not_owner_(lock, owner, "csched_lock_unlock");
  csched_bucket *bucket = csched_bucket_lock_(csched_lock_hash_(lock));
  csched_sleeper *starved = bucket->starved;
  bool is_handed_over = starved != NULL && starved->address == lock;
  if (is_handed_over) {
    remove_locked(bucket, lock, starved);
    csched_store_relaxed(&lock->owner, starved->thread); // LK1, LK7: the signal below releases the guarded data
  }
  csched_bucket_unlock_(bucket);
  if (is_handed_over) csched_sleeper_signal_(starved, YOURS);
  return is_handed_over;
}

// MARK: misuse

uint32_t csched_lock_owner_seen_(const csched_lock *lock) {
  return csched_load_relaxed(&lock->owner); // racy read, for conditions, dumps and in a child of fork
}

static const char NOT_RECURSIVE[] =
    "The lock is not recursive: unlock it first. A signal handler may take no lock, and call "
    "nothing that does: see base.h.";

// MARK: slow paths. In the CSCHED_TSAN_ macros (base.h), the second argument says whether the attempt may fail.

void csched_lock_lock_slow_(csched_lock *lock) {
  if (csched_lock_is_owner_(lock)) csched_lock_panic_owner_(lock, "csched_lock_lock", NOT_RECURSIVE);
  CSCHED_TSAN_WILL_LOCK(lock, false);
  if (!try_acquire(lock, csched_lock_self_())) lock_contended(lock, csched_lock_self_(), CSCHED_FOREVER);
  CSCHED_TSAN_LOCKED(lock, false, true); // also after a hand-off
}

bool csched_lock_trylock_slow_(csched_lock *lock) {
  CSCHED_TSAN_WILL_LOCK(lock, true);
  bool taken = try_acquire(lock, csched_lock_self_());
  CSCHED_TSAN_LOCKED(lock, true, taken);
  return taken;
}

bool csched_lock_lock_until(csched_lock *lock, csched_time deadline) { // Returns: false: the deadline has passed
  if (csched_lock_trylock(lock)) return true;
  if (csched_lock_is_owner_(lock)) csched_lock_panic_owner_(lock, "csched_lock_lock_until", NOT_RECURSIVE);
  if (deadline != CSCHED_FOREVER && csched_now() >= deadline) return false;
  bool may_fail = deadline != CSCHED_FOREVER;
  CSCHED_TSAN_WILL_LOCK(lock, may_fail);
  bool taken = lock_contended(lock, csched_lock_self_(), deadline);
  CSCHED_TSAN_LOCKED(lock, may_fail, taken);
  return taken;
}

void csched_lock_unlock_slow_(csched_lock *lock) { // makes a starved sleeper the owner; else frees the lock, may wake
  uint32_t self = csched_lock_self_(), owner = self;
  if (csched_self_ == 0) csched_lock_require_owner_(lock, "csched_lock_unlock"); // before a report by ThreadSanitizer
  CSCHED_TSAN_WILL_UNLOCK(lock);
  bool is_starved = (csched_load_relaxed(flag_of(lock)) & STARVED) != 0; // LK7: a sleeper of the bucket is starved
  if (!is_starved || !hand_over(lock, self)) {                           // LK7: no sleeper of this lock gets it
    // Checks the owner and releases in one operation. A separate read of owner takes 15 ns on AMD EPYC (Lock.md).
    if (!csched_cas_release(&lock->owner, &owner, 0u)) // LK1, LK6: release; pairs with the next owner's acquire
      csched_lock_panic_not_owner_(lock, owner, "csched_lock_unlock");
    csched_fence_light_();        // LK2: between owner and the flag; pairs with the heavy fence before a sleep
    csched_lock_wake_slow_(lock); // LK2: may wake a sleeper
  }
  CSCHED_TSAN_UNLOCKED(lock); // LK8: the lock may be freed; only its address is used
}

void csched_lock_assert_owner(const csched_lock *lock) { csched_lock_require_owner_(lock, "csched_lock_assert_owner"); }

void csched_lock_assert_not_owner(const csched_lock *lock) {
  if (csched_lock_is_owner_(lock))
    csched_lock_panic_owner_(lock, "csched_lock_assert_not_owner", "Call this without holding it.");
}
