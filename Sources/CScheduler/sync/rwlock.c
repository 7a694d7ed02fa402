// A read-write lock in 8 bytes: a csched_lock for the writers, and a word that counts the readers.
//
// States
//   writer    a csched_lock; its owner writes, or waits to write until the readers have unlocked, or is a reader that had to wait (for a moment)
//   word      2n              n readers
//             2n | WRITER     n readers, and the owner of `writer` waits for them; no new reader begins
//             WRITER          the owner of `writer` writes
//
// Invariants
//   RW1  Exclusion: a writer is alone. Only the owner of `writer` sets and clears WRITER, and no reader begins while it is set.
//   RW2  No lost wake: a writer sleeps only if a reader remains after WRITER was set. The last of these readers takes it out and wakes it.
//   RW3  Writers are not starved: once a writer owns `writer`, it waits only for the readers that were there before. `writer` itself bounds
//        how often a waiter is passed (LK7).
//   RW4  All that precedes an unlock is visible to the next holder of the other kind.
//   RW5  A waiter that gives up at its deadline leaves nothing behind: no WRITER, no entry in a bucket.
//   RW6  The last reader touches the lock after its unlock only while the writer that it will wake sleeps. For a writer's unlock LK8 holds.
//   RW7  Misuse is detected and stops the process: a lock by the present writer; a wait for the caller's own read lock, if it is the last that
//        the caller took; an unlock of a lock that is free, or that another thread writes; destroying a held lock; too many readers to count.
//   RW8  A child of fork has none of the parent's other threads. A writer that only waited, and a reader that had `writer` for a moment, hold
//        nothing there. A writer that waits long for readers reports that they may be orphaned. LK9 covers all other cases.
//
// Orderings
//   word: acquire, pairs with the unlocks' release, carries what is guarded; the unlocks of readers are one release sequence · to a
//   writer that waits: what the last reader has acquired, by the lock of the bucket
// Assumes: PK1, PK3 of parking.c; LK1, LK2, LK6 to LK10 of lock.c.
// Source: Courtois, Heymans and Parnas, "Concurrent control with readers and writers", their second problem. Writers take a mutex, as in Go's
//   sync.RWMutex. Readers that must wait do so in the same mutex; this is our own idea. So they know its owner, and share its queue.
// Checked by: "writers exclude all, readers writers only", "readers read side by side", "a writer is not starved by readers",
//   "a timed wait for a read-write lock gives up and leaves nothing behind", "a read-write lock may be freed by the last writer",
//   "a read-write lock locked twice for writing stops the process", "after fork a read-write lock is as it was",
//   "after fork a lock that its thread holds can be unlocked and taken, with sleepers of the parent or without".
// Models: checks/rwlock.c. Not modelled: RW8.

#include <CScheduler/rwlock.h>

#include "../base/panic.h"
#include "lock_internal.h"
#include "waiting_internal.h"

enum { WRITER = 1, READER = 2 };
enum { YOURS = 1 }; // signal to a writer: no readers remain

static const csched_time SPIN_FOR = 25000; // ns; as in lock.c

static CSCHED_THREAD_LOCAL const csched_rwlock *reading; // RW7: the lock that this thread last took for reading

// MARK: misuse

static const char NOT_AGAIN[] = "It has it for writing already: unlock it first, or leave out the inner lock.";

static void require_not_writer(const csched_rwlock *rwlock, const char *function) { // RW7: misuse
  if (csched_lock_is_owner_(&rwlock->writer)) csched_lock_panic_owner_(&rwlock->writer, function, NOT_AGAIN);
}

static void require_not_reading(const csched_rwlock *rwlock, const char *function) { // RW7: misuse
  if (reading == rwlock)
    csched_panic_(
        function,
        "this thread has read-write lock %p for reading, and would wait for itself. Unlock it first: a reader "
        "can neither become the writer nor read again.",
        (const void *)rwlock);
}

static CSCHED_NORETURN CSCHED_NOINLINE void panic_not_read(const csched_rwlock *rwlock, uint32_t seen) {
  csched_panic_("csched_rwlock_unlock_read", // RW7: misuse
                "no thread reads read-write lock %p%s. Unlock once for each lock, in the way in which it was taken.",
                (const void *)rwlock, (seen & WRITER) != 0 ? ", which a thread has for writing" : "");
}

static CSCHED_NORETURN CSCHED_NOINLINE void panic_too_many(const csched_rwlock *rwlock) {
  csched_panic_("csched_rwlock_lock_read", "read-write lock %p has 2^31 readers. Unlock it as often as you lock it.",
                (const void *)rwlock);
}

// MARK: fork

// Takes `writer` from a thread of the parent that did not write yet, and unlocks it.
// Requires: each reader that finds WRITER calls this before its unlock. So WRITER without readers means that the owner writes.
static CSCHED_NOINLINE void forget_waiting_writer(csched_rwlock *rwlock) { // RW8: fork
  uint32_t owner = csched_lock_owner_seen_(&rwlock->writer);
  if (owner == 0 || csched_os_thread_exists_(csched_lock_thread_of_(owner))) return;
  if (csched_load_relaxed(&rwlock->word) == WRITER) return;                            // RW8: the owner writes
  if (!csched_cas_acquire(&rwlock->writer.owner, &owner, csched_lock_self_())) return; // RW8: LK1 of lock.c
  csched_fetch_and_relaxed(&rwlock->word, ~(uint32_t)WRITER);                          // RW8: as RW5
  csched_lock_unlock(&rwlock->writer);
}

// Returns: whether this is a child of fork.
static bool look_for_orphans(csched_rwlock *rwlock) {
  bool is_child = CSCHED_UNLIKELY(csched_lock_is_in_child_());
  if (is_child) forget_waiting_writer(rwlock);
  return is_child;
}

// MARK: reading

static bool begin_to_read(csched_rwlock *rwlock) {
  uint32_t seen = csched_load_relaxed(&rwlock->word); // racy read, rechecked by the cas
  while ((seen & WRITER) == 0) {                      // RW1, RW3: no new reader after WRITER
    if (CSCHED_UNLIKELY(seen > UINT32_MAX - READER)) panic_too_many(rwlock);
    if (!csched_cas_acquire(&rwlock->word, &seen, seen + READER))
      continue; // RW1, RW4: acquire; pairs with unlock_write
    reading = rwlock;
    return true;
  }
  return false;
}

// begin_to_read succeeds here: no thread can set WRITER while the caller owns `writer`.
static bool wait_to_read(csched_rwlock *rwlock, csched_time deadline, const char *function) {
  require_not_writer(rwlock, function);
  require_not_reading(rwlock, function);
  look_for_orphans(rwlock);
  if (!csched_lock_lock_until(&rwlock->writer, deadline)) return false; // RW5: timeout
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

// Ends the last read under the bucket's lock. The waiting writer also locks the bucket before it continues, and keeps
// `rwlock` valid until then. Returns: false: the word has changed.
static bool end_as_last(csched_rwlock *rwlock, uint32_t seen) {
  csched_sleepers taken = TAILQ_HEAD_INITIALIZER(taken);
  csched_bucket *bucket = csched_waiters_lock_(rwlock);
  bool ended = csched_cas_acquire(&rwlock->word, &seen, (uint32_t)WRITER); // RW2, RW4: acquires the other readers' ends
  csched_sleeper *waiter = ended ? csched_bucket_first_locked_(bucket, rwlock) : NULL;
  if (waiter != NULL) csched_waiter_take_locked_(bucket, waiter, &taken); // RW2: wakes the writer
  csched_bucket_unlock_(bucket);
  csched_waiters_signal_(&taken, YOURS); // RW6: the lock may be freed from here on
  return ended;
}

void csched_rwlock_unlock_read(csched_rwlock *rwlock) {
  uint32_t seen = csched_load_relaxed(&rwlock->word); // racy read, rechecked by the cas
  if (reading == rwlock) reading = NULL;
  if (CSCHED_UNLIKELY((seen & WRITER) != 0)) look_for_orphans(rwlock);
  for (;;) {
    if (CSCHED_UNLIKELY(seen < READER)) panic_not_read(rwlock, seen); // RW7: no readers
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
         WRITER; // RW1, RW4: racy read in spin, elsewhere ordered by the lock of the bucket
}

static void spin(const csched_rwlock *rwlock) { // a hint: sleep_until_read checks again
  csched_time end = csched_now() + SPIN_FOR;
  while (!nobody_reads(rwlock) && csched_now() < end) CSCHED_CPU_RELAX();
}

static bool sleep_until_read(csched_rwlock *rwlock, csched_time deadline) {
  csched_sleeper waiter = csched_waiter_(rwlock);
  csched_bucket *bucket = csched_waiters_lock_(rwlock);
  bool sleeps = !nobody_reads(rwlock); // RW2: checks again under the bucket's lock
  if (sleeps) csched_bucket_insert_locked_(bucket, &waiter, false);
  csched_bucket_unlock_(bucket);
  return !sleeps || csched_waiter_sleep_(&waiter, deadline) == YOURS; // RW5: timeout
}

// In a child of fork, a wait longer than csched_lock_checks_owner_after_ prints that the readers may be threads of the parent.
static bool wait_until_read(csched_rwlock *rwlock, csched_time deadline) {
  if (csched_may_spin_()) spin(rwlock);
  if (CSCHED_UNLIKELY(csched_lock_is_in_child_())) { // RW8: fork
    csched_time look = csched_now() + csched_lock_checks_owner_after_;
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

// Stops new readers and waits for the present ones. Requires: the caller owns `writer`; a failure unlocks it.
static bool wait_to_write(csched_rwlock *rwlock, csched_time deadline) {
  uint32_t seen = csched_load_relaxed(&rwlock->word); // racy read, rechecked by the cas
  bool is_set = false;
  while (!is_set)
    is_set = csched_cas_acquire(&rwlock->word, &seen, seen | WRITER); // RW1, RW3, RW4: acquire; pairs with unlock_read
  if (seen == 0 || wait_until_read(rwlock, deadline)) return true;
  csched_fetch_and_relaxed(&rwlock->word,
                           ~(uint32_t)WRITER); // RW5: publishes nothing; continues the readers' release sequence
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
  csched_lock_require_owner_(&rwlock->writer, "csched_rwlock_unlock_write"); // RW7: misuse
  csched_store_release(&rwlock->word, 0u); // RW1, RW4: release; pairs with begin_to_read's acquire
  csched_lock_unlock(&rwlock->writer);     // RW6: the last access
}

// MARK: queries

void csched_rwlock_assert_writer(const csched_rwlock *rwlock) {
  csched_lock_require_owner_(&rwlock->writer, "csched_rwlock_assert_writer");
}

uint32_t csched_rwlock_readers(const csched_rwlock *rwlock) {
  return csched_load_relaxed(&rwlock->word) / READER; // racy read: for diagnostics
}

void csched_rwlock_destroy(csched_rwlock *rwlock) {
  uint32_t readers = csched_rwlock_readers(rwlock);
  uint32_t owner = csched_load_relaxed(&rwlock->writer.owner); // RW7: only the value matters
  if (readers == 0 && owner == 0) return;
  csched_panic_("csched_rwlock_destroy",
                "%u read read-write lock %p, and thread %u has it for writing (0: none). Destroy it when it has been "
                "unlocked.",
                readers, (const void *)rwlock, owner);
}
