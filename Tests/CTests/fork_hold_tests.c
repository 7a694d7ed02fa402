#include "fork_testing.h"
#include "waiting_testing.h"

#include <CScheduler/rlock.h>

// A thread forks while it holds something, and other threads sleep until they get it. In the child, the thread gives it
// back, takes it again, and shares it with new threads.

static struct {
  csched_lock lock;
  csched_rlock rlock;
  csched_rwlock rwlock;
  csched_semaphore semaphore;
  csched_latch latch;
  csched_group group;
  csched_cond cond;
  csched_loop *loop;
  csched_serial *queue;
  csched_target_inside inside;
  atomic_int sleeping, passed;
} shelf;

typedef struct hold {
  const char *name;
  void (*take)(void);
  void (*give)(void);
  void (*sleep)(void);   // until `give`, and then for ever or not at all
  void (*proceed)(void); // what sleepers that are woken do last; may be NULL
  bool is_once;          // it cannot be taken again
} hold;

static void take_lock(void) { csched_lock_lock(&shelf.lock); }
static void give_lock(void) { csched_lock_unlock(&shelf.lock); }

static void take_rlock(void) {
  csched_rlock_lock(&shelf.rlock);
  csched_rlock_lock(&shelf.rlock);
}
static void give_rlock(void) {
  csched_rlock_unlock(&shelf.rlock);
  csched_rlock_unlock(&shelf.rlock);
}

static void take_read(void) { csched_rwlock_lock_read(&shelf.rwlock); }
static void give_read(void) { csched_rwlock_unlock_read(&shelf.rwlock); }
static void take_write(void) { csched_rwlock_lock_write(&shelf.rwlock); }
static void give_write(void) { csched_rwlock_unlock_write(&shelf.rwlock); }

static void take_unit(void) { csched_semaphore_wait(&shelf.semaphore); }
static void give_unit(void) { csched_semaphore_signal(&shelf.semaphore, 1); }

static void nothing(void) {}
static void count_down(void) { csched_latch_count_down(&shelf.latch, 1); }
static void wait_for_latch(void) { csched_latch_wait(&shelf.latch); }

static void enter_group(void) { csched_group_enter(&shelf.group, 1); }
static void leave_group(void) { csched_group_leave(&shelf.group); }
static void wait_for_group(void) { csched_group_wait(&shelf.group); }

static void wait_for_condition(void) {
  csched_lock_lock(&shelf.lock);
  csched_cond_wait(&shelf.cond, &shelf.lock);
  csched_lock_unlock(&shelf.lock);
}
static void give_condition(void) {
  csched_cond_broadcast(&shelf.cond);
  csched_lock_unlock(&shelf.lock);
}

static void enter_queue(void) {
  if (shelf.loop == NULL) {
    CHECK_EQUAL(csched_loop_create(&shelf.loop), 0);
    CHECK_EQUAL(csched_serial_create(&shelf.queue, csched_loop_target(shelf.loop)), 0);
  }
  CHECK(csched_serial_try_enter(shelf.queue, &shelf.inside));
}
static void leave_queue(void) { csched_serial_leave(shelf.queue, &shelf.inside); }
static void in_queue(void *context) { (void)context; }
static void sync_with_queue(void) { CHECK_EQUAL(csched_serial_sync(shelf.queue, in_queue, NULL), 0); }

static const hold holds[] = {
    {.name = "a lock", .take = take_lock, .give = give_lock, .sleep = take_lock, .proceed = give_lock},
    {.name = "a recursive lock", .take = take_rlock, .give = give_rlock, .sleep = take_rlock, .proceed = give_rlock},
    {.name = "a read lock", .take = take_read, .give = give_read, .sleep = take_write, .proceed = give_write},
    {.name = "a write lock, for readers",
     .take = take_write,
     .give = give_write,
     .sleep = take_read,
     .proceed = give_read},
    {.name = "a write lock", .take = take_write, .give = give_write, .sleep = take_write, .proceed = give_write},
    {.name = "a unit of a semaphore", .take = take_unit, .give = give_unit, .sleep = take_unit, .proceed = give_unit},
    {.name = "a latch", .take = nothing, .give = count_down, .sleep = wait_for_latch, .is_once = true},
    {.name = "a group", .take = enter_group, .give = leave_group, .sleep = wait_for_group},
    {.name = "a condition", .take = take_lock, .give = give_condition, .sleep = wait_for_condition},
    {.name = "a queue", .take = enter_queue, .give = leave_queue, .sleep = sync_with_queue},
};

static bool is_queue(const hold *hold) { return hold->take == enter_queue; }

static void reset_shelf(void) {
  memset(&shelf, 0, sizeof shelf);
  csched_semaphore_init(&shelf.semaphore, 1);
  csched_latch_init(&shelf.latch, 1);
  csched_group_init(&shelf.group);
}

static void sleep_for(int index, void *context) {
  const hold *hold = context;
  (void)index;
  atomic_fetch_add(&shelf.sleeping, 1);
  hold->sleep();
  if (hold->proceed != NULL) hold->proceed();
  atomic_fetch_add(&shelf.passed, 1);
}

static void take_and_give(int index, void *context) {
  const hold *hold = context;
  (void)index;
  for (int i = 0; i < 20; i++) {
    hold->take();
    hold->give();
  }
}

static void give_it(void *context) { ((const hold *)context)->give(); }

// The caller has it.
static void use_hold(void *context) {
  const hold *hold = context;
  hold->give();
  if (hold->is_once) return hold->sleep(); // which passes
  hold->take();
  hold->give();
  if (is_queue(hold)) {
    while (csched_loop_run_once(shelf.loop, 0) > 0) {}
    sync_with_queue();
  } else {
    crew_run(2, take_and_give, context); // on threads that may have the stacks of the parent's
  }
  CHECK_EQUAL(atomic_load(&shelf.passed), 0); // the parent's sleepers are not here
  hold->take();
  CHECK_CHILD(give_it, context);
  hold->give();
}

static void fork_with_hold(int index, void *context) {
  const hold *hold = context;
  (void)index;
  reset_shelf();
  for (int sleepers = 0; sleepers <= 2; sleepers += 2) {
    atomic_store(&shelf.sleeping, 0);
    atomic_store(&shelf.passed, 0);
    if (hold->is_once) csched_latch_init(&shelf.latch, 1);
    crew crew;
    bool waits_with_lock = hold->sleep == wait_for_condition; // they need the lock to begin
    if (!waits_with_lock) hold->take();
    if (sleepers > 0) crew_start(&crew, sleepers, sleep_for, context);
    CHECK_SOON(atomic_load(&shelf.sleeping) == sleepers);
    if (waits_with_lock) {
      CHECK_SOON(waiters_of(&shelf.cond) == sleepers);
      hold->take();
    }
    nap(5 * MS); // they come to sleep
    CHECK_CHILD(use_hold, context);
    hold->give();
    while (is_queue(hold) && atomic_load(&shelf.passed) < sleepers) csched_loop_run_once(shelf.loop, csched_now() + MS);
    if (sleepers > 0) crew_join(&crew);
    CHECK_EQUAL(atomic_load(&shelf.passed), sleepers);
  }
  if (!is_queue(hold)) return;
  csched_serial_destroy(shelf.queue);
  csched_loop_destroy(shelf.loop);
}

static void fork_in_job(probe *probe) { fork_with_hold(0, probe->context); }

static void fork_holds(void) {
  for (size_t i = 0; i < sizeof holds / sizeof holds[0]; i++) {
    void *each = (void *)&holds[i];
    fork_with_hold(0, each);
    crew_run(1, fork_with_hold, each);
    csched_thread *thread = start_thread("forks");
    probe probe;
    probe_init(&probe, fork_in_job, each);
    CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&probe)), 0);
    stop_and_join(thread, CSCHED_STOP_RUN);
    CHECK_PROBE(&probe, 1, 0);
  }
}

// RW8, SQ9
TEST_UNLESS(
    THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND | QEMU, "tools do not follow a process with threads into its child",
    "after fork a lock that its thread holds can be unlocked and taken, with sleepers of the parent or without") {
  fork_holds();
}

// MARK: objects that do not belong to the child

static csched_rwlock rwlock;

static void read_and_wait(probe *probe) {
  (void)probe;
  csched_rwlock_lock_read(&rwlock);
  nap(500 * MS);
  csched_rwlock_unlock_read(&rwlock);
}

static void write_behind_reader(void *context) {
  (void)context;
  CHECK_EQUAL(csched_rwlock_readers(&rwlock), 1);
  CHECK(!csched_rwlock_lock_write_until(&rwlock, csched_now() + MS)); // the reader is of the parent, and stays
  csched_rwlock_lock_read(&rwlock);
  csched_rwlock_unlock_read(&rwlock);
}

static void write_once(int index, void *context) {
  (void)index, (void)context;
  csched_rwlock_lock_write(&rwlock);
  csched_rwlock_unlock_write(&rwlock);
}

static void write_it(void *context) { csched_rwlock_lock_write(context); }

static void write_and_wait(probe *probe) {
  (void)probe;
  csched_rwlock_lock_write(&rwlock);
  nap(500 * MS);
  csched_rwlock_unlock_write(&rwlock);
}

static void fork_beside_others(void) {
  csched_thread *thread = start_thread("holder");
  probe holder;
  probe_init(&holder, read_and_wait, NULL);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&holder)), 0);
  CHECK_SOON(csched_rwlock_readers(&rwlock) == 1);
  CHECK_CHILD(write_behind_reader, NULL);
  crew crew;
  crew_start(&crew, 1, write_once, NULL);
  CHECK_SOON(waiters_of(&rwlock) == 1); // behind the reader
  CHECK_CHILD(write_behind_reader, NULL);
  crew_join(&crew);
  probe writer;
  probe_init(&writer, write_and_wait, NULL);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&writer)), 0);
  CHECK_SOON(csched_load_relaxed(&rwlock.word) == 1); // WRITER
  CHECK_CHILD_STOPS(write_it, &rwlock, "orphaned by fork");
  stop_and_join(thread, CSCHED_STOP_RUN);
}

TEST_UNLESS(THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND | QEMU,
            "tools do not follow a process with threads into its child",
            "after fork a lock that another thread of the parent owns stays locked") {
  fork_beside_others();
}
