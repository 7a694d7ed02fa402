// States
//   writer    a csched_lock: owned by who writes, by a writer that waits for the readers to end, and for a moment by a reader that had to wait
//   word      2n              n read
//             2n | WRITER     n read still, and the owner of `writer` waits for them; nobody else begins to read
//             WRITER          the owner of `writer` writes
//
// Obligations
//   RW1  Exclusion: a writer is alone; WRITER is set and cleared by the owner of `writer` only, and nobody begins to read while it is set.
//   RW2  No lost wake: a writer sleeps only if a reader is left after WRITER was set; the last of these takes it out and wakes it.
//   RW3  Writers are not starved: what a writer waits for, once it owns `writer`, is the readers that were there before; `writer` itself
//        passes nobody by for ever (L7).
//   RW4  What was before an unlock is seen by who has the lock next, of the other kind.
//   RW5  Who gives up at its deadline leaves nothing behind: no WRITER, no entry in a bucket.
//   RW6  Neither the last reader touches the lock after its unlock, except while a writer that it is to wake sleeps; nor a writer but as L8 says.
//   RW7  Misuse is found: locking again by the writer; waiting for one's own reading, if that was taken last; an unlock of what nobody
//        has, or another writes; an end while somebody has it; more readers than can be counted. Each stops the process.
//   RW8  In a child of fork a writer of the parent that only waited is gone, and so is a reader of the parent that had `writer` for a moment:
//        they hold nothing. A writer that waits for readers for long says that they may be orphaned. All else is L9's.
//
// Orderings
//   word: acquire, pairs with the unlocks' release, carries what is guarded; the unlocks of readers are one release sequence · to a
//   writer that waits: what the last reader has acquired, by the lock of the bucket
// Assumes: B1, B3 of parking.c; L1, L2, L6 to L10 of lock.c.
// Source: Courtois, Heymans and Parnas, "Concurrent control with readers and writers", their second problem; Go's sync.RWMutex has its writers take a
//   mutex as here. That readers which must wait do so in the same mutex is ours: so its owner is known to them, and its queue is theirs.
// Checked by: "writers exclude all, readers writers only", "readers read side by side", "a writer is not starved by readers",
//   "a timed wait for a read-write lock gives up and leaves nothing behind", "a read-write lock may be freed by the last writer",
//   "a read-write lock locked twice for writing stops the process", "after fork a read-write lock is as it was",
//   "after fork what its thread holds can be let go and taken, with sleepers of the parent or without".
// Models: checks/rwlock.c. Not modelled: RW8.

#include <CScheduler/rwlock.h>

#include "lock_internal.h"
#include "panic.h"
#include "waiting_internal.h"

enum { WRITER = 1, READER = 2 };
enum { YOURS = 1 }; // the signal to a writer: no reader is left

static const csched_time SPIN_FOR = 25000; // ns; as a lock does

static CSCHED_THREAD_LOCAL const csched_rwlock *reading; // RW7: what this thread took last for reading

// MARK: misuse

static const char NOT_AGAIN[] = "It has it for writing already: unlock it first, or leave out the inner lock.";

static void require_not_writer(const csched_rwlock *rwlock, const char *function) { // RW7
  if (csched_lock_is_owner_(&rwlock->writer)) csched_lock_panic_owner_(&rwlock->writer, function, NOT_AGAIN);
}

static void require_not_reading(const csched_rwlock *rwlock, const char *function) { // RW7
  if (reading == rwlock)
    csched_panic_(
        function,
        "this thread has read-write lock %p for reading, and would wait for itself. Unlock it first: a reader "
        "can neither become the writer nor read again.",
        (const void *)rwlock);
}

static CSCHED_NORETURN CSCHED_NOINLINE void panic_not_read(const csched_rwlock *rwlock, uint32_t seen) {
  csched_panic_("csched_rwlock_unlock_read", // RW7
                "nobody reads read-write lock %p%s. Unlock once for each lock, in the way in which it was taken.",
                (const void *)rwlock, (seen & WRITER) != 0 ? ", which a thread has for writing" : "");
}

static CSCHED_NORETURN CSCHED_NOINLINE void panic_too_many(const csched_rwlock *rwlock) {
  csched_panic_("csched_rwlock_lock_read", "read-write lock %p has 2^31 readers. Unlock it as often as you lock it.",
                (const void *)rwlock);
}

// MARK: forks

// Takes `writer` from a thread of the parent that has not begun to write, and gives it back.
// Requires: each reader that leaves calls this before, so that WRITER without a reader is one that writes.
static CSCHED_NOINLINE void forget_waiting_writer(csched_rwlock *rwlock) { // RW8
  uint32_t owner = csched_lock_owner_seen_(&rwlock->writer);
  if (owner == 0 || csched_os_thread_exists_(csched_lock_thread_of_(owner))) return;
  if (csched_load_relaxed(&rwlock->word) == WRITER) return;                            // RW8: it writes
  if (!csched_cas_acquire(&rwlock->writer.owner, &owner, csched_lock_self_())) return; // RW8: L1 of lock.c
  csched_fetch_and_relaxed(&rwlock->word, ~(uint32_t)WRITER);                          // RW8: as RW5
  csched_lock_unlock(&rwlock->writer);
}

// Returns: whether there may have been some.
static bool look_for_orphans(csched_rwlock *rwlock) {
  bool is_child = CSCHED_UNLIKELY(csched_lock_is_in_child_());
  if (is_child) forget_waiting_writer(rwlock);
  return is_child;
}

// MARK: reading

static bool begin_to_read(csched_rwlock *rwlock) {
  uint32_t seen = csched_load_relaxed(&rwlock->word); // racy read, rechecked by the cas
  while ((seen & WRITER) == 0) {                      // RW1, RW3
    if (CSCHED_UNLIKELY(seen > UINT32_MAX - READER)) panic_too_many(rwlock);
    if (!csched_cas_acquire(&rwlock->word, &seen, seen + READER))
      continue; // RW1, RW4: acquire; pairs with unlock_write
    reading = rwlock;
    return true;
  }
  return false;
}

// While it owns `writer` nobody can set WRITER.
static bool wait_to_read(csched_rwlock *rwlock, csched_time deadline, const char *function) {
  require_not_writer(rwlock, function);
  require_not_reading(rwlock, function);
  look_for_orphans(rwlock);
  if (!csched_lock_lock_until(&rwlock->writer, deadline)) return false; // RW5
  begin_to_read(rwlock);
  csched_lock_unlock(&rwlock->writer);
  return true;
}

void csched_rwlock_lock_read(csched_rwlock *rwlock) {
  if (!begin_to_read(rwlock)) wait_to_read(rwlock, CSCHED_FOREVER, "csched_rwlock_lock_read");
}

bool csched_rwlock_trylock_read(csched_rwlock *rwlock) {
  if (begin_to_read(rwlock)) return true;
  return look_for_orphans(rwlock) && begin_to_read(rwlock);
}

bool csched_rwlock_lock_read_until(csched_rwlock *rwlock, csched_time deadline) {
  return begin_to_read(rwlock) || wait_to_read(rwlock, deadline, "csched_rwlock_lock_read_until");
}

// Ends the reading under the lock of the bucket, where a writer that sleeps keeps the lock valid. Returns: false when readers have come or gone.
static bool end_as_last(csched_rwlock *rwlock, uint32_t seen) {
  csched_sleepers taken = TAILQ_HEAD_INITIALIZER(taken);
  csched_bucket *bucket = csched_waiters_lock_(rwlock);
  bool ended = csched_cas_acquire(&rwlock->word, &seen, (uint32_t)WRITER); // RW2, RW4: acquires the other readers' ends
  csched_sleeper *waiter = ended ? csched_bucket_first_locked_(bucket, rwlock) : NULL;
  if (waiter != NULL) csched_waiter_take_locked_(bucket, waiter, &taken); // RW2
  csched_bucket_unlock_(bucket);
  csched_waiters_signal_(&taken, YOURS); // RW6: from here on the lock may be gone
  return ended;
}

void csched_rwlock_unlock_read(csched_rwlock *rwlock) {
  uint32_t seen = csched_load_relaxed(&rwlock->word); // racy read, rechecked by the cas
  if (reading == rwlock) reading = NULL;
  if (CSCHED_UNLIKELY((seen & WRITER) != 0)) look_for_orphans(rwlock);
  for (;;) {
    if (CSCHED_UNLIKELY(seen < READER)) panic_not_read(rwlock, seen); // RW7
    if (CSCHED_UNLIKELY(seen == (READER | WRITER))) {
      if (end_as_last(rwlock, seen)) return;
      seen = csched_load_relaxed(&rwlock->word); // racy read, rechecked by the cas
    } else if (csched_cas_release(&rwlock->word, &seen,
                                  seen - READER)) { // RW4: release; pairs with the writer's acquire
      return;
    }
  }
}

// MARK: writing

static bool nobody_reads(const csched_rwlock *rwlock) {
  return csched_load_relaxed(&rwlock->word) ==
         WRITER; // RW1, RW4: racy read, or under the lock of the bucket, as the last reader's end is
}

static void spin(const csched_rwlock *rwlock) { // who has seen the end looks again below
  csched_time end = csched_now() + SPIN_FOR;
  while (!nobody_reads(rwlock) && csched_now() < end) CSCHED_CPU_RELAX();
}

static bool sleep_until_read(csched_rwlock *rwlock, csched_time deadline) {
  csched_sleeper waiter = csched_waiter_(rwlock);
  csched_bucket *bucket = csched_waiters_lock_(rwlock);
  bool sleeps = !nobody_reads(rwlock); // RW2
  if (sleeps) csched_bucket_insert_locked_(bucket, &waiter, false);
  csched_bucket_unlock_(bucket);
  return !sleeps || csched_waiter_sleep_(&waiter, deadline) == YOURS; // RW5
}

// A deadline that is not there yet leaves the time to say that those who are waited for may be of the parent of a fork.
static bool wait_until_read(csched_rwlock *rwlock, csched_time deadline) {
  if (csched_may_spin_()) spin(rwlock);
  if (CSCHED_UNLIKELY(csched_lock_is_in_child_())) { // RW8
    csched_time look = csched_now() + csched_lock_looks_after_;
    if (look < deadline) {
      if (sleep_until_read(rwlock, look)) return true;
      csched_say_(
          "csched_rwlock_lock_write",
          "in this child of fork a writer waits for %u that read lock %p. Those of the parent never unlock: take what "
          "the child needs before fork, on the thread that forks.",
          csched_rwlock_readers(rwlock), (const void *)rwlock);
    }
  }
  return sleep_until_read(rwlock, deadline);
}

// Lets no more readers in, and waits for those that are there. Requires: the caller owns `writer`, which it gives back if it gives up.
static bool wait_to_write(csched_rwlock *rwlock, csched_time deadline) {
  uint32_t seen = csched_load_relaxed(&rwlock->word); // racy read, rechecked by the cas
  bool is_set = false;
  while (!is_set)
    is_set = csched_cas_acquire(&rwlock->word, &seen, seen | WRITER); // RW1, RW3, RW4: acquire; pairs with unlock_read
  if (seen == 0 || wait_until_read(rwlock, deadline)) return true;
  csched_fetch_and_relaxed(&rwlock->word,
                           ~(uint32_t)WRITER); // RW5: it carries nothing; the readers' releases go on in it
  csched_lock_unlock(&rwlock->writer);
  return false;
}

void csched_rwlock_lock_write(csched_rwlock *rwlock) {
  require_not_reading(rwlock, "csched_rwlock_lock_write");
  if (!csched_lock_trylock(&rwlock->writer)) {
    require_not_writer(rwlock, "csched_rwlock_lock_write");
    look_for_orphans(rwlock);
    csched_lock_lock(&rwlock->writer);
  }
  wait_to_write(rwlock, CSCHED_FOREVER);
}

bool csched_rwlock_trylock_write(csched_rwlock *rwlock) {
  uint32_t free = 0;
  if (!csched_lock_trylock(&rwlock->writer) && !(look_for_orphans(rwlock) && csched_lock_trylock(&rwlock->writer)))
    return false;
  if (csched_cas_acquire(&rwlock->word, &free, (uint32_t)WRITER)) return true; // RW1, RW4: as wait_to_write's
  csched_lock_unlock(&rwlock->writer);
  return false;
}

bool csched_rwlock_lock_write_until(csched_rwlock *rwlock, csched_time deadline) {
  if (csched_rwlock_trylock_write(rwlock)) return true;
  require_not_writer(rwlock, "csched_rwlock_lock_write_until");
  require_not_reading(rwlock, "csched_rwlock_lock_write_until");
  if (deadline != CSCHED_FOREVER && csched_now() >= deadline) return false;
  look_for_orphans(rwlock);
  return csched_lock_lock_until(&rwlock->writer, deadline) && wait_to_write(rwlock, deadline);
}

void csched_rwlock_unlock_write(csched_rwlock *rwlock) {
  csched_lock_require_owner_(&rwlock->writer, "csched_rwlock_unlock_write"); // RW7
  csched_store_release(&rwlock->word, 0u); // RW1, RW4: release; pairs with begin_to_read's acquire
  csched_lock_unlock(&rwlock->writer);     // RW6
}

// MARK: looks

void csched_rwlock_assert_writer(const csched_rwlock *rwlock) {
  csched_lock_require_owner_(&rwlock->writer, "csched_rwlock_assert_writer");
}

uint32_t csched_rwlock_readers(const csched_rwlock *rwlock) {
  return csched_load_relaxed(&rwlock->word) / READER; // racy read: for diagnostics
}

void csched_rwlock_destroy(csched_rwlock *rwlock) {
  uint32_t readers = csched_rwlock_readers(rwlock);
  uint32_t owner = csched_load_relaxed(&rwlock->writer.owner); // RW7: its value is all
  if (readers == 0 && owner == 0) return;
  csched_panic_("csched_rwlock_destroy",
                "%u read read-write lock %p, and thread %u has it for writing (0: none). Destroy it when it has been "
                "unlocked.",
                readers, (const void *)rwlock, owner);
}
