// rwlock.c: RW1 to RW7.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/sync/lock_internal.h"
#include "waiters.h"

#include <stdlib.h>
#include <string.h>

enum { SHORT = 20000 }; // ns

static csched_rwlock lock;
static model_cell cell;
static int held, ready, given_up, done;

static void reset(void) {
  lock = (csched_rwlock)CSCHED_RWLOCK_INIT;
  memset(&cell, 0, sizeof cell);
  held = ready = given_up = done = 0;
  csched_processors_seen_ = 1; // no thread spins: fewer steps
}

static csched_time soon(void) { return csched_time_after(csched_now(), SHORT); }

static void read_it(void) {
  (void)model_read(&cell);
  csched_rwlock_unlock_read(&lock);
  done++;
}
static void write_it(void) {
  model_write(&cell, model_read(&cell) + 1);
  csched_rwlock_unlock_write(&lock);
  done++;
}
static void reads(void *unused) {
  (void)unused;
  csched_rwlock_lock_read(&lock);
  read_it();
}
static void writes(void *unused) {
  (void)unused;
  csched_rwlock_lock_write(&lock);
  write_it();
}
static void writes_twice(void *unused) {
  writes(unused);
  writes(unused);
}
static void reads_twice(void *unused) {
  reads(unused);
  reads(unused);
}
static void reads_long(void *unused) {
  (void)unused;
  csched_rwlock_lock_read(&lock);
  csched_nap_(SHORT);
  read_it();
}
static void tries(void *unused) {
  (void)unused;
  if (csched_rwlock_trylock_write(&lock)) write_it();
  if (csched_rwlock_trylock_read(&lock)) read_it();
}
static void writes_in_time(void *unused) {
  (void)unused;
  if (csched_rwlock_lock_write_until(&lock, soon())) write_it();
  else given_up++;
}
static void reads_in_time(void *unused) {
  (void)unused;
  if (csched_rwlock_lock_read_until(&lock, soon())) read_it();
  else given_up++;
}

static void spins(void) {
  reset();
  csched_processors_seen_ = 2;
  model_spawn(reads, NULL);
  model_spawn(writes, NULL);
}
// The reader ends at the instant at which the writer gives up.
static csched_time both_at;
static void reads_until_then(void *unused) {
  (void)unused;
  csched_rwlock_lock_read(&lock);
  csched_time now = csched_now();
  if (now < both_at) csched_nap_(both_at - now);
  read_it();
}
static void writes_until_then(void *unused) {
  (void)unused;
  if (csched_rwlock_lock_write_until(&lock, both_at)) write_it();
  else given_up++;
}
static void meet_at_deadline(void) {
  reset();
  both_at = soon();
  model_spawn(reads_until_then, NULL);
  model_spawn(writes_until_then, NULL);
}
static void is_free(void) {
  model_assert(done + given_up >= 2 && lock.word == 0 && lock.writer.owner == 0 && waiters_of(&lock) == 0);
}

// While the writer waits, no other thread begins to read, however often it tries.
static void holds_until_ready(void *unused) {
  (void)unused;
  csched_rwlock_lock_read(&lock);
  held = 1;
  while (!ready) csched_nap_(SHORT);
  read_it();
}
static void writes_behind(void *unused) {
  while (!held) csched_nap_(SHORT);
  writes(unused);
}
static void comes_late(void *unused) {
  (void)unused;
  while (waiters_of(&lock) == 0) csched_nap_(SHORT);
  model_assert(!csched_rwlock_trylock_read(&lock));
  model_assert(!csched_rwlock_lock_read_until(&lock, soon()));
  ready = 1;
}

// The reader's unlock beside a writer that frees the lock.
static csched_rwlock *heap;
static void reads_own(void *unused) {
  (void)unused;
  csched_rwlock_lock_read(heap);
  ready = 1;
  csched_nap_(SHORT / 2); // so that the writer comes to wait
  csched_rwlock_unlock_read(heap);
}
static void writes_and_frees(void *unused) {
  (void)unused;
  while (!ready) csched_nap_(SHORT / 4);
  csched_rwlock_lock_write(heap);
  csched_rwlock_unlock_write(heap);
  free(heap);
}
static void make_own(void) {
  reset();
  heap = calloc(1, sizeof *heap);
}
static void writes_own(void *unused) {
  (void)unused;
  csched_rwlock_lock_write(heap);
  ready = 1;
  csched_nap_(SHORT / 2);
  csched_rwlock_unlock_write(heap);
}

// MARK: misuse

static void writes_again(void *unused) {
  (void)unused;
  csched_rwlock_lock_write(&lock);
  csched_rwlock_lock_write(&lock);
}
static void reads_what_it_writes(void *unused) {
  (void)unused;
  csched_rwlock_lock_write(&lock);
  csched_rwlock_lock_read(&lock);
}
static void writes_what_it_reads(void *unused) {
  (void)unused;
  csched_rwlock_lock_read(&lock);
  csched_rwlock_lock_write(&lock);
}
static void reads_again(void *unused) {
  (void)unused;
  csched_rwlock_lock_read(&lock);
  held = 1;
  while (waiters_of(&lock) == 0 && given_up == 0) csched_nap_(SHORT);
  csched_rwlock_lock_read(&lock);
}
static void waits_beside(void *unused) {
  (void)unused;
  while (!held) csched_nap_(SHORT);
  model_assert(!csched_rwlock_lock_write_until(&lock, csched_time_after(csched_now(), 4 * SHORT)));
  given_up = 1;
}
static void unlocks_unread(void *unused) {
  (void)unused;
  csched_rwlock_unlock_read(&lock);
}
static void unlocks_unwritten(void *unused) {
  (void)unused;
  csched_rwlock_lock_read(&lock);
  csched_rwlock_unlock_write(&lock);
}
static void ends_read(void *unused) {
  (void)unused;
  csched_rwlock_lock_read(&lock);
  csched_rwlock_destroy(&lock);
}
static void still_read(void) { model_assert(model_panics() == 1 && csched_rwlock_readers(&lock) == 1); }
static void at_most_one_panic(void) { model_assert(model_panics() <= 1); }

const model_check rwlock_checks[] = {
    {"rwlock: a reader and a writer, twice each", reset, is_free,
     THREADS({reads_twice}, {writes_twice})},                                                   // RW1, RW2, RW4
    {"rwlock: two readers and a writer", reset, is_free, THREADS({reads}, {reads}, {writes})},  // RW1, RW2, RW4
    {"rwlock: two writers and a reader", reset, is_free, THREADS({writes}, {writes}, {reads})}, // RW1, RW2, RW4
    {"rwlock: a writer that spins for a reader", spins, is_free},                               // RW2, RW4
    {"rwlock: trylocks beside a reader and a writer", reset, is_free, THREADS({tries}, {writes}, {reads})}, // RW1, RW4
    {"rwlock: a waiting writer admits no reader", reset, is_free,
     THREADS({holds_until_ready}, {writes_behind}, {comes_late})}, // RW3
    {"rwlock: a writer gives up beside two readers", reset, is_free,
     THREADS({reads_long}, {writes_in_time}, {reads})},                          // RW5
    {"rwlock: a writer gives up as the reader ends", meet_at_deadline, is_free}, // RW5
    {"rwlock: a writer and a reader give up beside a reader", reset, is_free,
     THREADS({reads_long}, {writes_in_time}, {reads_in_time})},                                     // RW5
    {"rwlock: freed by the last writer", make_own, NULL, THREADS({reads_own}, {writes_and_frees})}, // RW6
    {"rwlock: freed by a writer after another writer", make_own, NULL,
     THREADS({writes_own}, {writes_and_frees})}, // RW6
    {"rwlock: written twice stops the process", reset, model_one_panic, THREADS({writes_again}),
     "has it for writing already"}, // RW7
    {"rwlock: read by its writer stops the process", reset, model_one_panic, THREADS({reads_what_it_writes}),
     "has it for writing already"}, // RW7
    {"rwlock: written by its reader stops the process", reset, model_one_panic, THREADS({writes_what_it_reads}),
     "would wait for itself"}, // RW7
    {"rwlock: read again beside a writer stops the process", reset, at_most_one_panic,
     THREADS({reads_again}, {waits_beside}), "would wait for itself"}, // RW7
    {"rwlock: a read unlock without a reader stops the process", reset, model_one_panic, THREADS({unlocks_unread}),
     "no thread reads"}, // RW7
    {"rwlock: a write unlock without the write lock stops the process", reset, still_read, THREADS({unlocks_unwritten}),
     "does not own lock"}, // RW7
    {"rwlock: destroyed with a reader stops the process", reset, model_one_panic, THREADS({ends_read}),
     "Destroy it when it has been unlocked"}, // RW7
    {NULL, NULL, NULL},
};
