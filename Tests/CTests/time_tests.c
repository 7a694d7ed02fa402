#include "testing.h"

#include <CScheduler/cond.h>
#include <CScheduler/group.h>
#include <CScheduler/latch.h>
#include <CScheduler/rlock.h>
#include <CScheduler/rwlock.h>
#include <CScheduler/semaphore.h>

#include <pthread.h>

TEST("time does not run backwards") {
  csched_time last = csched_now();
  for (int i = 0; i < 10000; i++) {
    csched_time now = csched_now();
    CHECK(now >= last);
    last = now;
  }
}

TEST("an instant after another saturates, and a negative span counts as zero") {
  CHECK_EQUAL(csched_time_after(5, 7), 12);
  CHECK_EQUAL(csched_time_after(5, 0), 5);
  CHECK_EQUAL(csched_time_after(5, -7), 5);
  CHECK_EQUAL(csched_time_after(5, INT64_MIN), 5);
  CHECK(csched_time_after(CSCHED_FOREVER - 1, INT64_MAX) == CSCHED_FOREVER);
  CHECK(csched_time_after(CSCHED_FOREVER, 1) == CSCHED_FOREVER);
  CHECK(csched_time_after(0, INT64_MAX) == (csched_time)INT64_MAX);
}

// Each wait with a deadline, on a thread of its own, while the test's thread holds the awaited object.
typedef struct timed_waits {
  csched_time deadline;
  csched_lock lock, guard;
  csched_rlock rlock;
  csched_rwlock rwlock;
  csched_cond cond;
  csched_semaphore semaphore;
  csched_group group;
  csched_latch latch;
  atomic_int ended;
  bool is_set; // guarded by `guard`
} timed_waits;

static timed_waits waits;

static bool wait_for_lock(void) {
  bool is_locked = csched_lock_lock_until(&waits.lock, waits.deadline);
  if (is_locked) csched_lock_unlock(&waits.lock);
  return is_locked;
}
static bool wait_for_rlock(void) {
  bool is_locked = csched_rlock_lock_until(&waits.rlock, waits.deadline);
  if (is_locked) csched_rlock_unlock(&waits.rlock);
  return is_locked;
}
static bool wait_to_read(void) {
  bool is_locked = csched_rwlock_lock_read_until(&waits.rwlock, waits.deadline);
  if (is_locked) csched_rwlock_unlock_read(&waits.rwlock);
  return is_locked;
}
static bool wait_to_write(void) {
  bool is_locked = csched_rwlock_lock_write_until(&waits.rwlock, waits.deadline);
  if (is_locked) csched_rwlock_unlock_write(&waits.rwlock);
  return is_locked;
}
static bool wait_for_cond(void) {
  csched_lock_lock(&waits.guard);
  bool is_signalled = true;
  while (!waits.is_set && is_signalled)
    is_signalled = csched_cond_wait_until(&waits.cond, &waits.guard, waits.deadline);
  csched_lock_unlock(&waits.guard);
  return is_signalled;
}
static bool wait_for_semaphore(void) { return csched_semaphore_wait_until(&waits.semaphore, waits.deadline); }
static bool wait_for_group(void) { return csched_group_wait_until(&waits.group, waits.deadline); }
static bool wait_for_latch(void) { return csched_latch_wait_until(&waits.latch, waits.deadline); }

static bool (*const timed_wait_functions[])(void) = {wait_for_lock, wait_for_rlock,     wait_to_read,   wait_to_write,
                                                     wait_for_cond, wait_for_semaphore, wait_for_group, wait_for_latch};
enum { TIMED_WAITS = sizeof timed_wait_functions / sizeof *timed_wait_functions };

static void *wait_on_thread(void *function) {
  bool has_succeeded = (*(bool (*const *)(void))function)();
  atomic_fetch_add(&waits.ended, 1);
  return (void *)(uintptr_t)has_succeeded;
}

// Returns: how many of the waits have succeeded. `releases`: ends them by their condition, after none has ended by
// itself.
static int count_successes(csched_time deadline, bool releases) {
  pthread_t threads[TIMED_WAITS];
  waits = (timed_waits){.deadline = deadline};
  csched_group_enter(&waits.group, 1);
  csched_latch_init(&waits.latch, 1);
  csched_lock_lock(&waits.lock);
  csched_rlock_lock(&waits.rlock);
  csched_rwlock_lock_write(&waits.rwlock);
  for (int i = 0; i < TIMED_WAITS; i++)
    pthread_create(&threads[i], NULL, wait_on_thread, (void *)&timed_wait_functions[i]);
  if (releases) {
    nap(2 * MS); // for a wait that is too short
    CHECK_EQUAL(atomic_load(&waits.ended), 0);
  } else {
    CHECK_SOON(atomic_load(&waits.ended) == TIMED_WAITS);
  }
  csched_lock_unlock(&waits.lock);
  csched_rlock_unlock(&waits.rlock);
  csched_rwlock_unlock_write(&waits.rwlock);
  csched_lock_lock(&waits.guard);
  waits.is_set = true;
  csched_lock_unlock(&waits.guard);
  csched_cond_broadcast(&waits.cond);
  csched_semaphore_signal(&waits.semaphore, 1);
  csched_group_leave(&waits.group);
  csched_latch_count_down(&waits.latch, 1);
  int successes = 0;
  for (int i = 0; i < TIMED_WAITS; i++) {
    void *has_succeeded;
    pthread_join(threads[i], &has_succeeded);
    successes += has_succeeded != NULL;
  }
  return successes;
}

TEST("a wait until an instant that no clock reaches ends at its signal, and one until the clock's first instants at "
     "once") {
  const csched_time never[] = {CSCHED_FOREVER, CSCHED_FOREVER - 1, INT64_MAX, (csched_time)INT64_MAX + 1,
                               10000000000000000000u};
  for (size_t i = 0; i < sizeof never / sizeof *never; i++) CHECK_EQUAL(count_successes(never[i], true), TIMED_WAITS);
  for (csched_time past = 0; past < 2; past++) CHECK_EQUAL(count_successes(past, false), 0);
}
