// A read-write lock in 8 bytes: a csched_lock for the writers, and a word that counts the readers.
//
// States
//   writer    a csched_lock. Its owner writes; or waits for the readers to unlock before it writes; or is about to
//             read, and owns it for a moment.
//   word      2n              n readers
//             2n | WRITER     n readers, and the owner of `writer` waits for them; no new reader begins
//             WRITER          the owner of `writer` writes
//
// Invariants
//   RW1  Exclusion: a writer is alone. Only the owner of `writer` sets and clears WRITER, and no reader begins while
//        WRITER is set.
//   RW2  No lost wake: a writer sleeps only if readers remain after it has set WRITER. The final reader's unlock
//        dequeues and signals the writer.
//   RW3  Writers are not starved: the owner of `writer` waits only for readers that began before it set WRITER. LK7
//        bounds how often other threads pass a thread that waits for `writer`.
//   RW4  A writer sees all that preceded the readers' unlocks; a reader sees all that preceded the writer's unlock.
//   RW5  A thread that gives up at its deadline dequeues its sleeper, and clears WRITER if it has set it.
//   RW6  No reader accesses the lock after its unlock. If a writer waits, the final reader unlocks with the bucket
//        locked, and the writer locks the bucket before it continues: only then may it free the lock. For a writer's
//        unlock LK8 holds.
//   RW7  Misuse stops the process: a lock by the present writer; a wait by a reader of this lock, if it has read no
//        other lock since; an unlock of a lock that is free, or that another thread writes; destroying a locked lock;
//        too many readers to count.
//   RW8  A child of fork has none of the parent's other threads. If such a thread owned `writer` and did not write yet,
//        the child unlocks `writer`.
//        A writer that waits long for readers reports that they may be threads of the parent. LK9 covers all other
//        cases.
//
// Orderings
//   word: acquire, pairs with the unlocks' release, carries the guarded data; the unlocks of readers are one release
//   sequence · a sleeping writer gets the data through the bucket's lock: the final reader has acquired it
// Assumes: PK1, PK3 of parking.c; LK1, LK2, LK6 to LK10 of lock.c.
// Source: Courtois, Heymans and Parnas, "Concurrent control with readers and writers", their second problem. Writers
//   take a mutex, as in Go's sync.RWMutex. Our own idea: readers that must wait also wait for this mutex, so that they
//   know its owner and share its queue.
// Models: checks/rwlock.c. Not modelled: RW8.

#include <CScheduler/rwlock.h>
#include "../base/panic.h"
#include "lock_internal.h"
#include "waiting_internal.h"

enum { WRITER = 1, READER = 2 }; // parts of `word`: the bit, and one reader
enum { YOURS = 1 };              // signal to a writer: no readers remain

static const csched_time SPIN_FOR = 25000; // ns that a writer spins before it sleeps; as in lock.c

static CSCHED_THREAD_LOCAL const csched_rwlock *recent_read; // RW7: lock of this thread's latest read; NULL: read ended

// MARK: misuse

static const char NOT_AGAIN[] = "It has it for writing already: unlock it first, or leave out the inner lock.";

static void require_not_writer(const csched_rwlock *rwlock, const char *function) { // RW7: else it waits for itself
  if (csched_lock_is_owner_(&rwlock->writer)) csched_lock_panic_owner_(&rwlock->writer, function, NOT_AGAIN);
}

static void require_not_reading(const csched_rwlock *rwlock, const char *function) { // RW7: else it waits for itself
  if (recent_read == rwlock)
    csched_panic_(
        function,
        "this thread has read-write lock %p for reading, and would wait for itself. Unlock it first: a reader "
        "can neither become the writer nor read again.",
        (const void *)rwlock);
}

static CSCHED_NORETURN CSCHED_NOINLINE void panic_not_read(const csched_rwlock *rwlock, uint32_t seen) {
  csched_panic_("csched_rwlock_unlock_read", // RW7: there is no read to unlock
                "no thread reads read-write lock %p%s. Unlock once for each lock, in the way in which it was taken.",
                (const void *)rwlock, (seen & WRITER) != 0 ? ", which a thread has for writing" : "");
}

static CSCHED_NORETURN CSCHED_NOINLINE void panic_too_many(const csched_rwlock *rwlock) {
  csched_panic_("csched_rwlock_lock_read", "read-write lock %p has 2^31 readers. Unlock it as often as you lock it.",
                (const void *)rwlock);
}

// MARK: fork

// Does: in a child of fork: if a thread of the parent owns `writer` and does not write yet, makes the caller the owner,
// and unlocks `writer`.
// Requires: a reader that finds WRITER calls this before its unlock. So in the child, WRITER without readers means that
// the owner writes.
static CSCHED_NOINLINE void release_orphaned_writer(csched_rwlock *rwlock) { // RW8: the orphan will never write
  uint32_t owner = csched_lock_owner_seen_(&rwlock->writer);
  if (owner == 0 || csched_os_thread_exists_(csched_lock_thread_of_(owner))) return;
  if (csched_load_relaxed(&rwlock->word) == WRITER) return; // RW8: the orphan writes: the data may be half changed
  // Relaxed: what the orphan wrote came with the fork.
  if (!csched_cas_relaxed(&rwlock->writer.owner, &owner, csched_lock_self_())) return; // RW8: another owner
  csched_fetch_and_relaxed(&rwlock->word, ~(uint32_t)WRITER);                          // RW8: readers may begin again
  csched_lock_unlock(&rwlock->writer);
}

// Does: in a child of fork, unlocks `writer` if a thread of the parent owns it and does not write yet. Returns: whether
// this is a child of fork.
static bool repair_in_child(csched_rwlock *rwlock) {
  bool is_child = CSCHED_UNLIKELY(csched_lock_is_in_child_());
  if (is_child) release_orphaned_writer(rwlock);
  return is_child;
}

// MARK: reading

// Does: counts the caller as a reader. Returns: false: not counted, because a writer writes or waits.
static bool begin_to_read(csched_rwlock *rwlock) {
  uint32_t seen = csched_load_relaxed(&rwlock->word); // racy read, rechecked by the cas
  while ((seen & WRITER) == 0) {                      // RW1, RW3: no new reader after WRITER
    if (CSCHED_UNLIKELY(seen > UINT32_MAX - READER)) panic_too_many(rwlock);
    if (!csched_cas_acquire(&rwlock->word, &seen, seen + READER)) continue; // RW1, RW4: sees what writers wrote
    recent_read = rwlock;
    return true;
  }
  return false;
}

// Does: waits until the caller owns `writer`, and begins to read. This succeeds, because only that owner can set
// WRITER. Returns: false: timeout.
static bool wait_to_read(csched_rwlock *rwlock, csched_time deadline, const char *function) {
  require_not_writer(rwlock, function);
  require_not_reading(rwlock, function);
  repair_in_child(rwlock); // RW8: an orphaned owner of `writer` would never unlock
  if (!csched_lock_lock_until(&rwlock->writer, deadline)) return false; // RW5: timeout: no change
  begin_to_read(rwlock);
  csched_lock_unlock(&rwlock->writer);
  return true;
}

void csched_rwlock_lock_read(csched_rwlock *rwlock) {
  if (!begin_to_read(rwlock)) wait_to_read(rwlock, CSCHED_FOREVER, "csched_rwlock_lock_read");
}

bool csched_rwlock_trylock_read(csched_rwlock *rwlock) {
  if (begin_to_read(rwlock)) return true;
  return repair_in_child(rwlock) && begin_to_read(rwlock); // RW8: tries again without an orphaned writer
}

bool csched_rwlock_lock_read_until(csched_rwlock *rwlock, csched_time deadline) {
  return begin_to_read(rwlock) || wait_to_read(rwlock, deadline, "csched_rwlock_lock_read_until");
}

// Does: ends the final read, and signals the waiting writer. The writer locks the bucket before it continues, so
// `rwlock` is valid until the bucket is unlocked. Returns: false: `word` was no longer `seen`, and the read has not
// ended.
static bool end_final_read(csched_rwlock *rwlock, uint32_t seen) {
  csched_sleepers taken = TAILQ_HEAD_INITIALIZER(taken);
  csched_bucket *bucket = csched_waiters_lock_(rwlock);
  bool ended = csched_cas_acquire(&rwlock->word, &seen, (uint32_t)WRITER); // RW2, RW4: acquires the readers' unlocks
  csched_sleeper *waiter = ended ? csched_bucket_first_locked_(bucket, rwlock) : NULL; // NULL: the writer still spins
  if (waiter != NULL) csched_waiter_take_locked_(bucket, waiter, &taken); // RW2: the writer, which is the only sleeper
  csched_bucket_unlock_(bucket);
  csched_waiters_signal_(&taken, YOURS); // RW6: the lock may have been freed: not accessed
  return ended;
}

void csched_rwlock_unlock_read(csched_rwlock *rwlock) { // the final reader wakes a waiting writer
  uint32_t seen = csched_load_relaxed(&rwlock->word);   // racy read, rechecked by the cas
  if (recent_read == rwlock) recent_read = NULL;        // RW7: ended: require_not_reading must not find it
  if (CSCHED_UNLIKELY((seen & WRITER) != 0)) repair_in_child(rwlock); // RW8: while this thread still counts as a reader
  for (;;) {
    if (CSCHED_UNLIKELY(seen < READER)) panic_not_read(rwlock, seen); // RW7: no read to unlock
    if (CSCHED_UNLIKELY(seen == (READER | WRITER))) {                 // RW2: final reader; a writer waits
      if (end_final_read(rwlock, seen)) return;
      seen = csched_load_relaxed(&rwlock->word);                          // racy read, rechecked by the cas
    } else if (csched_cas_release(&rwlock->word, &seen, seen - READER)) { // RW4: the writer sees this read end
      return;
    }
  }
}

// MARK: writing

// Returns: whether all readers have unlocked. The result is exact while the bucket is locked. Requires: the caller has
// set WRITER.
static bool has_no_readers(const csched_rwlock *rwlock) {
  return csched_load_relaxed(&rwlock->word) == WRITER; // RW1, RW4: racy read in spin, else ordered by the lock
}

static void spin(const csched_rwlock *rwlock) { // Speed only: sleep_for_readers checks for readers again
  csched_time end = csched_now() + SPIN_FOR;
  while (!has_no_readers(rwlock) && csched_now() < end) CSCHED_CPU_RELAX();
}

static bool sleep_for_readers(csched_rwlock *rwlock, csched_time deadline) { // Returns: false: timeout, readers remain
  csched_sleeper waiter = csched_waiter_(rwlock);
  csched_bucket *bucket = csched_waiters_lock_(rwlock);
  bool sleeps = !has_no_readers(rwlock); // RW2: exact: end_final_read needs the bucket's lock
  if (sleeps) csched_bucket_insert_locked_(bucket, &waiter, false); // false: at the end; it is the only sleeper
  csched_bucket_unlock_(bucket);
  return !sleeps || csched_waiter_sleep_(&waiter, deadline) == YOURS; // RW5: else timeout, and dequeued
}

// Does: waits until all readers have unlocked: spins, then sleeps. In a child of fork, prints a message about a long
// wait. Returns: false: timeout.
static bool wait_for_readers(csched_rwlock *rwlock, csched_time deadline) {
  if (csched_may_spin_()) spin(rwlock);
  if (CSCHED_UNLIKELY(csched_lock_is_in_child_())) { // RW8: readers of the parent never unlock here
    csched_time report_at = csched_now() + csched_lock_checks_owner_after_;
    if (report_at < deadline) {
      if (sleep_for_readers(rwlock, report_at)) return true;
      csched_say_(
          "csched_rwlock_lock_write",
          "in this child of fork a writer waits for %u that read lock %p. Those of the parent never unlock: take what "
          "the child needs before fork, on the thread that forks.",
          csched_rwlock_readers(rwlock), (const void *)rwlock);
    }
  }
  return sleep_for_readers(rwlock, deadline);
}

// Does: sets WRITER, and waits for the present readers. Requires: the caller owns `writer`. Returns: false: timeout;
// `writer` is unlocked again.
static bool wait_to_write(csched_rwlock *rwlock, csched_time deadline) {
  uint32_t seen = csched_load_relaxed(&rwlock->word); // racy read, rechecked by the cas
  bool is_set = false;
  while (!is_set)
    is_set = csched_cas_acquire(&rwlock->word, &seen, seen | WRITER); // RW1, RW3: no new reader; RW4: sees the unlocks
  if (seen == 0 || wait_for_readers(rwlock, deadline)) return true;   // `seen` 0: there was no reader
  csched_fetch_and_relaxed(&rwlock->word, ~(uint32_t)WRITER);         // RW5: an RMW keeps the readers' release sequence
  csched_lock_unlock(&rwlock->writer);
  return false;
}

void csched_rwlock_lock_write(csched_rwlock *rwlock) { // locks `writer`, then waits for the readers
  require_not_reading(rwlock, "csched_rwlock_lock_write");
  if (!csched_lock_trylock(&rwlock->writer)) {
    require_not_writer(rwlock, "csched_rwlock_lock_write");
    repair_in_child(rwlock);
    csched_lock_lock(&rwlock->writer);
  }
  wait_to_write(rwlock, CSCHED_FOREVER);
}

bool csched_rwlock_trylock_write(csched_rwlock *rwlock) { // Returns: false: `writer` has an owner, or threads read
  uint32_t free = 0;
  if (!csched_lock_trylock(&rwlock->writer) && !(repair_in_child(rwlock) && csched_lock_trylock(&rwlock->writer)))
    return false; // `writer` has an owner: it writes, waits to write, or is about to read
  if (csched_cas_acquire(&rwlock->word, &free, (uint32_t)WRITER)) return true; // RW1, RW4: fails beside a reader
  csched_lock_unlock(&rwlock->writer);
  return false;
}

bool csched_rwlock_lock_write_until(csched_rwlock *rwlock, csched_time deadline) {
  if (csched_rwlock_trylock_write(rwlock)) return true;
  require_not_writer(rwlock, "csched_rwlock_lock_write_until");
  require_not_reading(rwlock, "csched_rwlock_lock_write_until");
  if (deadline != CSCHED_FOREVER && csched_now() >= deadline) return false;
  repair_in_child(rwlock);
  return csched_lock_lock_until(&rwlock->writer, deadline) && wait_to_write(rwlock, deadline);
}

void csched_rwlock_unlock_write(csched_rwlock *rwlock) {
  csched_lock_require_owner_(&rwlock->writer, "csched_rwlock_unlock_write"); // RW7: only the writer unlocks
  csched_store_release(&rwlock->word, 0u); // RW1, RW4: release: readers see what this writer wrote
  csched_lock_unlock(&rwlock->writer);     // RW6: no access after it: the next owner may free the lock
}

// MARK: queries

void csched_rwlock_assert_writer(const csched_rwlock *rwlock) {
  csched_lock_require_owner_(&rwlock->writer, "csched_rwlock_assert_writer");
}

uint32_t csched_rwlock_readers(const csched_rwlock *rwlock) {
  return csched_load_relaxed(&rwlock->word) / READER; // racy read: for diagnostics
}

void csched_rwlock_destroy(csched_rwlock *rwlock) { // stops the process if a thread reads or writes
  uint32_t readers = csched_rwlock_readers(rwlock);
  uint32_t owner = csched_load_relaxed(&rwlock->writer.owner); // RW7: relaxed: only compared with 0, and printed
  if (readers == 0 && owner == 0) return;
  csched_panic_("csched_rwlock_destroy",
                "%u read read-write lock %p, and thread %u has it for writing (0: none). Destroy it when it has been "
                "unlocked.",
                readers, (const void *)rwlock, owner);
}
