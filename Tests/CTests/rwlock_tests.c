#include "fork_testing.h"
#include "waiting_testing.h"

// Read-write locks.

typedef struct library {
  csched_rwlock lock;
  int rounds;
  uint64_t seed;
  bool timed;
  atomic_int reading, writing, gave_up, together;
  int64_t guarded[2]; // equal except during a write
} library;

static bool lend(library *library, bool writes, uint64_t *seed) {
  csched_time deadline = csched_now() + chance_below(seed, 200 * US);
  if (library->timed) {
    bool taken = writes ? csched_rwlock_lock_write_until(&library->lock, deadline)
                        : csched_rwlock_lock_read_until(&library->lock, deadline);
    if (!taken) CHECK(csched_now() >= deadline);
    return taken;
  }
  if (chance_below(seed, 4) == 0) {
    if (writes ? csched_rwlock_trylock_write(&library->lock) : csched_rwlock_trylock_read(&library->lock)) return true;
  }
  if (writes) csched_rwlock_lock_write(&library->lock);
  else csched_rwlock_lock_read(&library->lock);
  return true;
}

static void use_library(int index, void *context) {
  library *library = context;
  uint64_t seed = library->seed + (uint64_t)index;
  for (int i = 0; i < library->rounds; i++) {
    bool writes = chance_below(&seed, 4) == 0;
    if (!lend(library, writes, &seed)) {
      atomic_fetch_add(&library->gave_up, 1);
    } else if (writes) {
      CHECK(atomic_fetch_add(&library->writing, 1) == 0 && atomic_load(&library->reading) == 0);
      csched_rwlock_assert_writer(&library->lock);
      library->guarded[0]++;
      if (i % 8 == 0) burn(5 * US);
      library->guarded[1]++;
      atomic_fetch_sub(&library->writing, 1);
      csched_rwlock_unlock_write(&library->lock);
    } else {
      if (atomic_fetch_add(&library->reading, 1) > 0) atomic_fetch_add(&library->together, 1);
      CHECK(atomic_load(&library->writing) == 0);
      CHECK_EQUAL(library->guarded[0], library->guarded[1]);
      if (i % 8 == 0) burn(5 * US);
      atomic_fetch_sub(&library->reading, 1);
      csched_rwlock_unlock_read(&library->lock);
    }
  }
}

static void rwlock_excludes(int threads, int rounds, bool timed, uint64_t seed) {
  library library = {.rounds = rounds, .seed = seed, .timed = timed};
  crew_run(threads, use_library, &library);
  CHECK_EQUAL(library.lock.word, 0);
  CHECK_EQUAL(library.lock.writer.owner, 0);
  CHECK_EQUAL(waiters_of(&library.lock), 0);
  csched_rwlock_destroy(&library.lock);
}

TEST("writers exclude all, readers writers only") { // RW1, RW2, RW4, RW5
  rwlock_excludes(2, times(2000), false, seed());
  rwlock_excludes(8, times(2000), false, seed());
  rwlock_excludes(8, times(2000), true, seed());
}

typedef struct on_one {
  int threads, rounds;
  uint64_t seed;
} on_one;

static void exclude_on_one(void *context) {
  on_one *one = context;
  rwlock_excludes(one->threads, one->rounds, false, one->seed);
}

static void rwlock_on_one_processor(int threads, int rounds, uint64_t seed) {
  on_one one = {threads, rounds, seed};
  ctest_on_one_processor(exclude_on_one, &one);
}

TEST("writers exclude all, on one processor") { rwlock_on_one_processor(4, times(2000), seed()); }

// Each ends its reading when all read.
typedef struct meeting {
  csched_rwlock lock;
  atomic_int here;
  int count;
} meeting;

static void meet(int index, void *context) {
  meeting *meeting = context;
  (void)index;
  csched_rwlock_lock_read(&meeting->lock);
  atomic_fetch_add(&meeting->here, 1);
  WAIT_WHILE(atomic_load(&meeting->here) < meeting->count);
  csched_rwlock_unlock_read(&meeting->lock);
}

static void rwlock_side_by_side(int readers) {
  meeting meeting = {.count = readers};
  crew_run(readers, meet, &meeting);
  // The same with readers that had to wait for a writer.
  meeting.here = 0;
  crew crew;
  csched_rwlock_lock_write(&meeting.lock);
  crew_start(&crew, readers, meet, &meeting);
  nap(5 * MS);
  CHECK_EQUAL(atomic_load(&meeting.here), 0);
  csched_rwlock_unlock_write(&meeting.lock);
  crew_join(&crew);
}

TEST("readers read side by side") { // RW1
  rwlock_side_by_side(8);
  rwlock_side_by_side(16);
}

// Readers that overlap all the time, so that the number of readers never comes to zero by itself.
typedef struct throng {
  csched_rwlock lock;
  atomic_bool is_over;
  atomic_int reads;
} throng;

static void keep_reading(int index, void *context) {
  throng *throng = context;
  (void)index;
  while (!atomic_load(&throng->is_over)) {
    csched_rwlock_lock_read(&throng->lock);
    atomic_fetch_add(&throng->reads, 1);
    nap(200 * US);
    csched_rwlock_unlock_read(&throng->lock);
  }
}

static void rwlock_writer_not_starved(int readers, int writes) {
  throng throng = {.is_over = false};
  crew crew;
  crew_start(&crew, readers, keep_reading, &throng);
  WAIT_WHILE(atomic_load(&throng.reads) < readers);
  for (int i = 0; i < writes; i++) { // a starved one would not come to an end
    csched_rwlock_lock_write(&throng.lock);
    csched_rwlock_unlock_write(&throng.lock);
    int before = atomic_load(&throng.reads); // nor are the readers
    WAIT_WHILE(atomic_load(&throng.reads) == before);
  }
  atomic_store(&throng.is_over, true);
  crew_join(&crew);
}

TEST("a writer is not starved by readers") { // RW2, RW3
  rwlock_writer_not_starved(4, times(50));
  rwlock_writer_not_starved(8, times(50));
}

static void try_all_ways(int index, void *context) {
  csched_rwlock *lock = context;
  static const csched_time waits[] = {0, 50000, 1000000, 20000000};
  bool is_read = csched_rwlock_readers(lock) > 0;
  (void)index;
  CHECK(!csched_rwlock_trylock_write(lock));
  for (int i = 0; i < 4; i++) {
    csched_time deadline = csched_now() + waits[i];
    CHECK(!csched_rwlock_lock_write_until(lock, deadline));
    CHECK(csched_now() >= deadline);
    bool reads = csched_rwlock_lock_read_until(lock, deadline = csched_now() + waits[i]);
    CHECK_EQUAL(reads, is_read); // the writer that has given up blocks no reader
    if (reads) csched_rwlock_unlock_read(lock);
    else CHECK(csched_now() >= deadline);
  }
  CHECK_EQUAL(csched_rwlock_trylock_read(lock), is_read);
  if (is_read) csched_rwlock_unlock_read(lock);
  CHECK_EQUAL(waiters_of(lock), 0);
}

static void rwlock_timed(void) {
  csched_rwlock lock = CSCHED_RWLOCK_INIT;
  csched_rwlock_lock_read(&lock);
  crew_run(1, try_all_ways, &lock);
  CHECK_EQUAL(csched_rwlock_readers(&lock), 1);
  csched_rwlock_unlock_read(&lock);
  CHECK(csched_rwlock_lock_write_until(&lock, 0)); // a deadline in the past is a trylock
  crew_run(1, try_all_ways, &lock);
  csched_rwlock_unlock_write(&lock);
  CHECK(csched_rwlock_lock_write_until(&lock, CSCHED_FOREVER));
  csched_rwlock_unlock_write(&lock);
  CHECK(csched_rwlock_lock_read_until(&lock, 0) && csched_rwlock_readers(&lock) == 1);
  csched_rwlock_unlock_read(&lock);
  csched_rwlock_destroy(&lock);
}

// RW5
TEST("a timed wait for a read-write lock gives up and leaves nothing behind") { rwlock_timed(); }

static void write_and_free(int index, void *context) {
  csched_rwlock *lock = context;
  (void)index;
  csched_rwlock_lock_write(lock);
  csched_rwlock_unlock_write(lock);
  free(lock);
}

static void rwlock_freed_by_writer(int rounds) {
  for (int i = 0; i < rounds; i++) {
    csched_rwlock *lock = calloc(1, sizeof *lock);
    crew crew;
    bool writes = i % 3 == 0;
    if (writes) csched_rwlock_lock_write(lock);
    else csched_rwlock_lock_read(lock);
    crew_start(&crew, 1, write_and_free, lock);
    if (i % 2 == 0 && !writes) WAIT_WHILE(waiters_of(lock) == 0);
    if (writes) csched_rwlock_unlock_write(lock);
    else csched_rwlock_unlock_read(lock);
    crew_join(&crew);
  }
}

// RW6
TEST("a read-write lock may be freed by the last writer") { rwlock_freed_by_writer(times(500)); }

TEST("a read-write lock is eight bytes") { CHECK_EQUAL(sizeof(csched_rwlock), 8); }

// MARK: forks

static struct { csched_rwlock own, read, written; } shelf;

static void unlock_in_child(void *context) {
  (void)context;
  csched_rwlock_unlock_write(&shelf.own);
  csched_rwlock_unlock_read(&shelf.read);
  CHECK_EQUAL(csched_rwlock_readers(&shelf.read), 1); // the orphaned one
  CHECK(csched_rwlock_trylock_read(&shelf.read));
  csched_rwlock_unlock_read(&shelf.read);
  CHECK(!csched_rwlock_lock_write_until(&shelf.read, csched_now() + MS));
  CHECK(!csched_rwlock_trylock_read(&shelf.written));
  csched_rwlock_lock_write(&shelf.own);
  csched_rwlock_unlock_write(&shelf.own);
}

static bool is_written(csched_rwlock *lock) {
  bool is_free = csched_rwlock_trylock_read(lock);
  if (is_free) csched_rwlock_unlock_read(lock);
  return !is_free;
}

static void read_on_shelf(int index, void *context) {
  atomic_bool *is_over = context;
  (void)index;
  csched_rwlock_lock_read(&shelf.read);
  csched_rwlock_lock_write(&shelf.written);
  WAIT_WHILE(!atomic_load(is_over));
  csched_rwlock_unlock_write(&shelf.written);
  csched_rwlock_unlock_read(&shelf.read);
}

static void fork_rwlock(void) {
  memset(&shelf, 0, sizeof shelf);
  atomic_bool is_over = false;
  crew crew;
  crew_start(&crew, 1, read_on_shelf, &is_over);
  CHECK_SOON(csched_rwlock_readers(&shelf.read) == 1 && is_written(&shelf.written));
  csched_rwlock_lock_write(&shelf.own);
  csched_rwlock_lock_read(&shelf.read);
  CHECK_CHILD(unlock_in_child, NULL);
  csched_rwlock_unlock_read(&shelf.read);
  csched_rwlock_unlock_write(&shelf.own);
  atomic_store(&is_over, true);
  crew_join(&crew);
}

TEST_UNLESS(THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND, "tools do not follow a process with threads into its child",
            "after fork a read-write lock is as it was") { // RW8
  fork_rwlock();
}

// MARK: misuse, which ends the process

static void have_for_writing(void) {
  csched_rwlock_lock_write(&shelf.own);
  csched_rwlock_assert_writer(&shelf.own);
}

TEST_STOPS("a read-write lock locked twice for writing stops the process",
           "csched_rwlock_lock_write:", "for writing already") { // RW7
  have_for_writing();
  csched_rwlock_lock_write(&shelf.own);
}

TEST_STOPS("a read-write lock locked twice for writing, the second time with a deadline, stops the process",
           "csched_rwlock_lock_write_until:", "for writing already") {
  have_for_writing();
  csched_rwlock_lock_write_until(&shelf.own, CSCHED_FOREVER);
}

TEST_STOPS("a read-write lock that its writer locks for reading stops the process",
           "csched_rwlock_lock_read:", "for writing already") {
  have_for_writing();
  csched_rwlock_lock_read(&shelf.own);
}

TEST_STOPS("a read-write lock that its reader locks for writing stops the process",
           "csched_rwlock_lock_write:", "would wait for itself") {
  csched_rwlock_lock_read(&shelf.own);
  csched_rwlock_lock_write(&shelf.own);
}

static void wait_as_writer(int index, void *context) {
  (void)index, (void)context;
  csched_rwlock_lock_write(&shelf.own);
}

TEST_STOPS("a read-write lock that its reader locks again while a writer waits stops the process",
           "csched_rwlock_lock_read:", "would wait for itself") {
  static crew crew;
  csched_rwlock_lock_read(&shelf.own);
  crew_start(&crew, 1, wait_as_writer, NULL);
  WAIT_WHILE(waiters_of(&shelf.own) == 0);
  csched_rwlock_lock_read(&shelf.own);
}

TEST_STOPS("unlocking a read-write lock without readers for reading stops the process",
           "csched_rwlock_unlock_read:", "no thread reads", "Unlock once for each lock") {
  csched_rwlock_unlock_read(&shelf.own);
}

TEST_STOPS("a read-write lock that its writer unlocks for reading stops the process",
           "csched_rwlock_unlock_read:", "which a thread has for writing") {
  have_for_writing();
  csched_rwlock_unlock_read(&shelf.own);
}

TEST_STOPS("a read-write lock that its reader unlocks for writing stops the process",
           "csched_rwlock_unlock_write:", "no thread does") {
  csched_rwlock_lock_read(&shelf.own);
  csched_rwlock_unlock_write(&shelf.own);
}

static void unlock_anothers(int index, void *context) {
  (void)index, (void)context;
  pthread_setname_np(pthread_self(), "other");
  csched_rwlock_unlock_write(&shelf.own);
}

TEST_STOPS("a read-write lock that another thread unlocks for writing stops the process",
           "csched_rwlock_unlock_write:", "(other)", "Unlock on the thread that locked") {
  have_for_writing();
  crew_run(1, unlock_anothers, NULL);
}

TEST_STOPS("assert_writer stops the process without a writer", "csched_rwlock_assert_writer:", "no thread does") {
  csched_rwlock_assert_writer(&shelf.own);
}

TEST_STOPS("a read-write lock with too many readers stops the process", "csched_rwlock_lock_read:", "2^31 readers") {
  shelf.own.word = UINT32_MAX - 1;
  csched_rwlock_lock_read(&shelf.own);
}

TEST_STOPS("a read-write lock that is destroyed while it is read stops the process",
           "csched_rwlock_destroy:", "1 read") {
  csched_rwlock_lock_read(&shelf.own);
  csched_rwlock_destroy(&shelf.own);
}

TEST_STOPS("a read-write lock that is destroyed while it is written stops the process",
           "csched_rwlock_destroy:", "0 read", "Destroy it when") {
  have_for_writing();
  csched_rwlock_destroy(&shelf.own);
}
