#include "fork_testing.h"
#include "output_testing.h"
#include "pool_testing.h"

#include <CScheduler/dump.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static const char *const no_peek = "qemu's process does not read its own memory by a system call";

static const char *dump(output *output) {
  output_empty(output);
  CHECK_EQUAL(csched_dump(output->fd), 0);
  return output_read(output);
}

static const char *name_of(const char *kind, const void *address) {
  static char name[64];
  snprintf(name, sizeof name, "%s 0x%lx", kind, (unsigned long)(uintptr_t)address);
  return name;
}

static void nothing(void *unused) { (void)unused; }

static void dump_lists_all(void) {
  output output = output_open();
  csched_thread *thread = start_thread("dumped");
  csched_target *loop = csched_thread_target(thread);
  csched_pool *pool = NULL;
  csched_serial *queue = NULL, *resting = NULL;
  csched_virtual *timeline = NULL;
  CHECK_EQUAL(csched_pool_create(&pool, &(csched_pool_options){.name = "depth", .workers = 2}), 0);
  CHECK_EQUAL(csched_serial_create(&queue, loop), 0);
  CHECK_EQUAL(csched_serial_create(&resting, csched_pool_target(pool, CSCHED_PRIORITY_LOW)), 0);
  CHECK_EQUAL(csched_virtual_create(&timeline, 7, 0), 0);
  csched_serial_set_name(queue, "images\n\"of cats\" and of a few other animals");
  csched_serial_suspend(resting);
  gate gate;
  gate_close(&gate, thread);
  csched_task later = csched_target_async_after(loop, 3600 * 1000 * MS, nothing, NULL);
  for (int i = 0; i < 3; i++) csched_target_async(csched_serial_target(queue), nothing, NULL);
  for (int i = 0; i < 5; i++) csched_target_async(csched_serial_target(resting), nothing, NULL);
  csched_limit *limit = NULL;
  CHECK_EQUAL(csched_limit_create(&limit, loop, 2), 0);
  for (int i = 0; i < 5; i++) csched_target_async(csched_limit_target(limit), nothing, NULL);
  csched_target_async(csched_limit_barrier_target(limit), nothing, NULL);

  const char *text = dump(&output);
  CHECK(output_says(text, name_of("loop", loop), "\"dumped\""));
  CHECK(output_says(text, name_of("loop", loop), "3 pending, 1 delayed, the next not before 3599."));
  CHECK(output_says(text, name_of("queue", csched_serial_target(queue)), "\"images??of cats? and of a few o\" on 0x"));
  CHECK(output_says(text, name_of("queue", csched_serial_target(queue)), ": waits for its turn, 3 pending"));
  CHECK(output_says(text, name_of("queue", csched_serial_target(resting)), ": suspended 1 times, 5 pending"));
  CHECK(output_says(text, name_of("limit", csched_limit_target(limit)),
                    ": at most 2, 2 on their way or running, 4 pending"));
  char barriers[256];
  csched_target_describe(csched_limit_barrier_target(limit), barriers, sizeof barriers);
  CHECK(output_says(barriers, name_of("barriers", csched_limit_barrier_target(limit)), "of limit 0x"));
  CHECK(output_says(text, "pool 0x", "\"depth\": "));
  CHECK(strstr(text, " run at a time; high 0x") != NULL);
  CHECK(output_says(text, name_of("virtual time", csched_virtual_target(timeline)), ": at tick 7, 0 pending"));
  CHECK(output_says(text, "\"dumped\": runs job", name_of("of", loop))); // the gate
  CHECK(output_says(text, "\"dumped\": runs job", "in a run or a sync of"));
  CHECK(strstr(text, "Scheduler: end of dump\n") != NULL);

  gate_open(&gate);
  csched_serial_resume(resting);
  csched_task_cancel(later);
  wait_until_run(thread);
  csched_serial_destroy(queue);
  csched_serial_destroy(resting);
  csched_limit_destroy(limit);
  csched_pool_destroy(pool);
  csched_virtual_destroy(timeline);
  text = dump(&output);
  CHECK(strstr(text, "\"depth\"") == NULL && strstr(text, "images") == NULL && strstr(text, "virtual time") == NULL);
  stop_and_join(thread, CSCHED_STOP_RUN);
  output_close(&output);
}

TEST_UNLESS(QEMU, no_peek, "a dump lists threads, loops, pools, queues and virtual times") { dump_lists_all(); }

typedef struct waiting {
  csched_serial *queue;
  csched_thread *thread;
} waiting;

static void *sync_with(void *context) {
  CHECK_EQUAL(csched_serial_sync(((waiting *)context)->queue, nothing, NULL), 0);
  return NULL;
}

static void *join(void *context) {
  CHECK_EQUAL(csched_thread_join(((waiting *)context)->thread), 0);
  return NULL;
}

static void dump_waits(void) {
  output output = output_open();
  waiting waiting = {.thread = start_thread("waited for")};
  csched_target *loop = csched_thread_target(waiting.thread);
  CHECK_EQUAL(csched_serial_create(&waiting.queue, loop), 0);
  gate gate;
  gate_close(&gate, waiting.thread);
  pthread_t syncs, joins;
  pthread_create(&syncs, NULL, sync_with, &waiting);
  pthread_create(&joins, NULL, join, &waiting);
  csched_target *queue = csched_serial_target(waiting.queue);
  char expected[128];
  snprintf(expected, sizeof expected, "waits in csched_serial_sync for 0x%lx since ", (unsigned long)(uintptr_t)queue);
  CHECK_SOON(strstr(dump(&output), expected) != NULL);
  snprintf(expected, sizeof expected, "waits in csched_thread_join for 0x%lx since ", (unsigned long)(uintptr_t)loop);
  CHECK_SOON(strstr(dump(&output), expected) != NULL);
  gate_open(&gate);
  pthread_join(syncs, NULL);
  csched_thread_stop(waiting.thread, CSCHED_STOP_RUN);
  pthread_join(joins, NULL);
  CHECK(strstr(dump(&output), "waits in") == NULL);
  csched_serial_destroy(waiting.queue);
  csched_thread_destroy(waiting.thread);
  output_close(&output);
}

// BW1, DP1
TEST("a dump names waiting threads and the objects that they wait for") { dump_waits(); }

static void *take_lock(void *lock) {
  csched_lock_lock(lock);
  csched_lock_unlock(lock);
  return NULL;
}

static void *take_permit(void *semaphore) {
  csched_semaphore_wait(semaphore);
  return NULL;
}

static void dump_locks(void) {
  output output = output_open();
  static csched_lock lock;
  csched_semaphore semaphore;
  csched_semaphore_init(&semaphore, 0);
  csched_lock_lock(&lock);
  pthread_t locks, waits;
  pthread_create(&locks, NULL, take_lock, &lock);
  pthread_create(&waits, NULL, take_permit, &semaphore);
  char owner[64];
  snprintf(owner, sizeof owner, ", which belongs to thread %d ", (int)gettid());
  CHECK_SOON(output_says(dump(&output), name_of("lock", &lock), owner));
  CHECK(output_says(output_read(&output), name_of("lock", &lock), ": waited for by thread "));
  CHECK_SOON(output_says(dump(&output), name_of("group or rwlock", &semaphore), ": waited for by thread "));
  csched_lock_unlock(&lock);
  csched_semaphore_signal(&semaphore, 1);
  pthread_join(locks, NULL);
  pthread_join(waits, NULL);
  CHECK(strstr(dump(&output), "waited for by") == NULL);
  csched_semaphore_destroy(&semaphore);
  output_close(&output);
}

// DP1
TEST_UNLESS(QEMU, no_peek, "a dump names the owner of a lock, and its sleepers") { dump_locks(); }

static void dump_describes(void) {
  char text[512], little[16];
  csched_thread *thread = start_thread("described");
  csched_serial *queue = NULL;
  CHECK_EQUAL(csched_serial_create(&queue, csched_thread_target(thread)), 0);
  const csched_target *target = csched_serial_target(queue);
  size_t length = csched_target_describe(target, text, sizeof text);
  CHECK_EQUAL(length, strlen(text));
  CHECK(strstr(text, ": idle, 0 pending") != NULL);
  gate gate;
  gate_close(&gate, thread);
  csched_target_describe(csched_thread_target(thread), text, sizeof text);
  CHECK(strstr(text, "; thread ") != NULL && strstr(text, "\"described\" runs job 0x") != NULL);
  for (int i = 0; i < 1001; i++) csched_target_async(csched_serial_target(queue), nothing, NULL);
  csched_target_describe(target, text, sizeof text);
  CHECK(strstr(text, ": waits for its turn, at least 1000 pending") != NULL);
  CHECK_EQUAL(csched_target_describe(target, little, sizeof little), sizeof little - 1);
  CHECK_EQUAL(strlen(little), sizeof little - 1);
  gate_open(&gate);
  csched_serial_destroy(queue);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

TEST_UNLESS(QEMU, no_peek, "a scheduler is described") { dump_describes(); }

static const char *described(const csched_target *target) {
  static char text[2048];
  csched_target_describe(target, text, sizeof text);
  return text;
}

static int deliver_nowhere(csched_target *target, csched_job *job) {
  (void)target;
  csched_target_discard(job);
  return ECANCELED;
}

// The pool keeps the time for it, as for a scheduler that is made of a closure.
static csched_pool *delaying;
static int keep_for(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway) {
  csched_target *base = csched_pool_target(delaying, CSCHED_PRIORITY_HIGH);
  (void)target;
  return base->type->deliver_at(base, timer, deadline, leeway);
}
static const csched_target_type own_type = {.deliver = deliver_nowhere, .deliver_at = keep_for};

static void wait_at(void *gate) {
  atomic_fetch_add(&((pool_gate *)gate)->reached, 1);
  WAIT_WHILE(!atomic_load(&((pool_gate *)gate)->open));
}

// Delayed jobs are those of the target, whatever else waits with them.
static void dump_delayed(void) {
  csched_thread *thread = start_thread("delays");
  csched_serial *queue = NULL, *in_virtual = NULL;
  csched_limit *limit = NULL;
  csched_virtual *timeline = NULL;
  csched_target own = {.type = &own_type};
  CHECK_EQUAL(csched_pool_create(&delaying, &(csched_pool_options){.workers = 2}), 0);
  csched_target *pool = csched_pool_target(delaying, CSCHED_PRIORITY_LOW);
  CHECK_EQUAL(csched_serial_create(&queue, csched_thread_target(thread)), 0);
  CHECK_EQUAL(csched_limit_create(&limit, pool, 2), 0);
  CHECK_EQUAL(csched_virtual_create(&timeline, 7, 0), 0);
  CHECK_EQUAL(csched_serial_create(&in_virtual, csched_virtual_target(timeline)), 0);
  csched_target *all[] = {csched_thread_target(thread), csched_serial_target(queue), csched_limit_target(limit), &own};
  enum { COUNT = sizeof all / sizeof *all };
  csched_task tasks[2 * COUNT + 2];
  for (int i = 0; i < COUNT; i++) {
    CHECK(strstr(described(all[i]), ", 0 delayed") != NULL);
    tasks[2 * i] = csched_target_async_after(all[i], 3600 * 1000 * MS, nothing, NULL);
    tasks[2 * i + 1] = csched_target_async_after(all[i], 7200 * 1000 * MS, nothing, NULL);
  }
  tasks[2 * COUNT] = csched_target_async_after(csched_serial_target(in_virtual), 100, nothing, NULL);
  tasks[2 * COUNT + 1] = csched_target_async_after(csched_virtual_target(timeline), 50, nothing, NULL);
  CHECK(strstr(described(all[0]), ", 4 delayed, the next not before 359") != NULL); // and those of its queue
  for (int i = 1; i < COUNT; i++) CHECK(strstr(described(all[i]), ", 2 delayed, the next not before 359") != NULL);
  CHECK(strstr(described(pool), ", 4 delayed, the next not before 359") != NULL);
  CHECK(strstr(described(csched_serial_target(in_virtual)), ", 1 delayed, the next not before tick 107") != NULL);
  CHECK(strstr(described(csched_virtual_target(timeline)), "2 of them delayed, the next not before tick 57") != NULL);
  for (int i = 0; i < 2 * COUNT + 2; i++) csched_task_cancel(tasks[i]);
  CHECK(strstr(described(csched_serial_target(queue)), ", 0 delayed") != NULL);

  pool_gate gate = {.count = 2};
  for (int i = 0; i < 2; i++) csched_target_async(csched_limit_target(limit), wait_at, &gate);
  WAIT_WHILE(atomic_load(&gate.reached) != 2);
  CHECK_EQUAL(output_count(described(csched_limit_target(limit)), "; thread "), 2); // each that is inside
  atomic_store(&gate.open, 1);
  csched_serial_destroy(in_virtual);
  csched_virtual_destroy(timeline);
  csched_limit_destroy(limit);
  csched_pool_destroy(delaying);
  csched_serial_destroy(queue);
  stop_and_join(thread, CSCHED_STOP_DROP);
}

TEST_UNLESS(QEMU, no_peek, "a dump describes delayed jobs, on their target and on its base") { dump_delayed(); }

static void dump_many(int queues) {
  csched_thread *thread = start_thread("many");
  csched_serial **all = calloc((size_t)queues, sizeof *all);
  for (int i = 0; i < queues; i++) CHECK_EQUAL(csched_serial_create(&all[i], csched_thread_target(thread)), 0);
  output output = output_open();
  const char *text = dump(&output);
  int found = 0;
  for (const char *each = text; (each = strstr(each, "\nqueue 0x")) != NULL; each++) found++;
  CHECK(found >= queues);
  for (int i = 0; i < queues; i++) csched_serial_destroy(all[i]);
  free(all);
  output_close(&output);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// DP3
TEST("a dump of many queues") { dump_many(few(times(is_under(SANITIZERS | VALGRIND | QEMU) ? 10000 : 100000))); }

typedef struct changing {
  csched_thread *thread;
  atomic_int left;
} changing;

static void change(int index, void *context) {
  changing *changing = context;
  while (atomic_load(&changing->left) > 0) {
    if (index == 0) {
      int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
      CHECK_EQUAL(csched_dump(fd), 0);
      close(fd);
      atomic_fetch_sub(&changing->left, 1);
      continue;
    }
    csched_serial *queue = NULL;
    CHECK_EQUAL(csched_serial_create(&queue, csched_thread_target(changing->thread)), 0);
    csched_serial_set_name(queue, "changing");
    for (int i = 0; i < 10; i++) csched_target_async(csched_serial_target(queue), nothing, NULL);
    CHECK_EQUAL(csched_serial_sync(queue, nothing, NULL), 0);
    csched_serial_destroy(queue);
  }
}

static void dump_beside_changes(int rounds) {
  changing changing = {.thread = start_thread("changes"), .left = rounds};
  crew_run(4, change, &changing);
  stop_and_join(changing.thread, CSCHED_STOP_RUN);
}

// DP1, DP3
TEST("a dump is written while schedulers come and go") { dump_beside_changes(few(times(200))); }

static void dump_refused(void) {
  CHECK_EQUAL(csched_dump(-1), EBADF);
  int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full >= 0) CHECK_EQUAL(csched_dump(full), ENOSPC);
  if (full >= 0) close(full);
  CHECK_EQUAL(csched_dump_on_signal(SIGKILL, 2), EINVAL);
  CHECK_EQUAL(csched_dump_on_signal(-1, 2), EINVAL);
  CHECK_EQUAL(csched_dump_on_signal(0, 2), 0);
}

TEST("a dump that cannot be written returns an error") { dump_refused(); }

static void dump_signal(int signals) {
  struct sigaction now;
  output output = output_open();
  csched_thread *thread = start_thread("signalled");
  gate gate;
  gate_close(&gate, thread);
  CHECK_EQUAL(csched_dump_on_signal(SIGUSR1, output.fd), 0);
  char expected[64];
  snprintf(expected, sizeof expected, " of 0x%lx", (unsigned long)(uintptr_t)csched_thread_target(thread));
  for (int i = 0; i < signals; i++) {
    errno = E2BIG;
    raise(SIGUSR1);
    CHECK_EQUAL(errno, E2BIG);
    CHECK(output_count(output_read(&output), "Scheduler: threads of process") == i + 1);
    CHECK(output_says(output.text, "thread ", "runs job code 0x"));
    CHECK(strstr(output.text, expected) != NULL);
    CHECK(output_count(output.text, "Scheduler: loops of process") == i + 1);
    CHECK(output_says(output.text, name_of("loop", csched_thread_target(thread)), " of thread "));
    CHECK_SOON(output_count(output_read(&output), "Scheduler: end of dump\n") == i + 1);
  }
  CHECK_EQUAL(csched_dump_on_signal(0, -1), 0);
  sigaction(SIGUSR1, NULL, &now);
  CHECK(now.sa_handler == SIG_DFL);
  gate_open(&gate);
  stop_and_join(thread, CSCHED_STOP_RUN);
  output_close(&output);
}

// DS1, DS2, DT1
TEST_UNLESS(QEMU, no_peek, "a signal writes a table at once, and a whole dump soon") { dump_signal(times(20)); }

static void dump_in_child(void *context) {
  output *output = context;
  dump(output);
  CHECK(strstr(output->text, "orphaned by fork") != NULL);
  CHECK(strstr(output->text, "Scheduler: end of dump\n") != NULL);
  output_empty(output);
  raise(SIGUSR1); // no thread writes the rest of the dump
  CHECK(strstr(output_read(output), "Scheduler: threads of process") != NULL);
  output_empty(output);
  CHECK_EQUAL(csched_dump_on_signal(SIGUSR1, output->fd), 0);
  raise(SIGUSR1);
  CHECK_SOON(strstr(output_read(output), "Scheduler: end of dump\n") != NULL);
  CHECK_EQUAL(csched_dump_on_signal(0, -1), 0);
}

static void dump_fork(void) {
  output output = output_open();
  csched_thread *thread = start_thread("orphaned");
  changing changing = {.thread = start_thread("changes"), .left = 1000000000};
  crew crew;
  crew_start(&crew, 2, change, &changing); // dumps, too
  CHECK_EQUAL(csched_dump_on_signal(SIGUSR1, output.fd), 0);
  for (int i = 0; i < 5; i++) CHECK_CHILD(dump_in_child, &output);
  CHECK_EQUAL(csched_dump_on_signal(0, -1), 0);
  atomic_store(&changing.left, 0);
  crew_join(&crew);
  stop_and_join(changing.thread, CSCHED_STOP_RUN);
  stop_and_join(thread, CSCHED_STOP_RUN);
  output_close(&output);
}

// DS3, DT1
TEST_UNLESS(THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND | QEMU,
            "tools do not follow a process with threads into its child", "after fork a signal writes the table") {
  dump_fork();
}
