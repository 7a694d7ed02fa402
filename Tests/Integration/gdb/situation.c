// A known situation for Tests/Integration/gdb/test: threads that run, wait and sleep, work that waits behind them, a
// lock with an owner and two sleepers. Then a trap stops it for gdb. With an argument it makes so many queues, and jobs
// on the busy loop, besides.
#define _GNU_SOURCE
#include <CScheduler/CScheduler.h>

#include "../../../Sources/CScheduler/job/node.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
  do                                                                                                                   \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                  \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  while (0)

csched_lock guard;
csched_semaphore never_given;
csched_thread *busy, *quick;
csched_pool *pool;
csched_serial *queue, *suspended;
csched_limit *limit;
csched_virtual *timeline;

static csched_semaphore done;

// MARK: jobs

static void nothing(csched_job *job) { (void)job; }

static void runs_for_ever(csched_job *job) {
  (void)job;
  csched_semaphore_signal(&done, 1);
  for (;;) pause();
}
static void waits_behind(csched_job *job) { (void)job; }
static void comes_late(csched_job *job) { (void)job; }
static void blocks_in_the_pool(csched_job *job) {
  (void)job;
  csched_semaphore_signal(&done, 1);
  csched_semaphore_wait(&never_given);
}
static void happens_first(csched_job *job) { (void)job; }
static void happens_often(csched_job *job) { (void)job; }
static void happens_last(csched_job *job) {
  (void)job;
  csched_semaphore_signal(&done, 1);
}
static void runs_as_a_node(csched_node *node) { (void)node; }
static void stays_in_a_node(csched_node *node) {
  (void)node;
  csched_semaphore_signal(&done, 1);
  for (;;) pause();
}
static void node_is_dropped(csched_node *node, csched_drop_reason reason) {
  (void)node;
  (void)reason;
}
static void runs_in_a_sync(void *context) { (void)context; }
static void called_by_a_task(void *context) { (void)context; }

static csched_job *submit(csched_target *target, void (*run)(csched_job *job)) {
  csched_job_type *type = calloc(1, sizeof *type);
  csched_job *job = calloc(1, sizeof *job);
  CHECK(type != NULL && job != NULL);
  *type = (csched_job_type){run, nothing, NULL};
  csched_job_init(job, type, NULL);
  CHECK(csched_target_submit(target, job) == 0);
  return job;
}

static void submit_late(csched_target *target, void (*run)(csched_job *job), csched_time deadline, csched_time leeway) {
  csched_job_type *type = calloc(1, sizeof *type);
  csched_timer *timer = calloc(1, sizeof *timer);
  CHECK(type != NULL && timer != NULL);
  *type = (csched_job_type){run, nothing, NULL};
  csched_timer_init(timer, type, NULL);
  CHECK(csched_target_submit_at(target, timer, deadline, leeway) == 0);
}

// MARK: threads of the program's own

static void *owns_the_guard(void *unused) {
  (void)unused;
  csched_lock_lock(&guard);
  csched_semaphore_signal(&done, 1);
  while (pause() != 0) {}
  return NULL;
}

static void *wants_the_guard(void *unused) {
  (void)unused;
  csched_lock_lock(&guard);
  return NULL;
}

static void *waits_for_the_queue(void *unused) {
  (void)unused;
  csched_serial_sync(queue, runs_in_a_sync, NULL);
  return NULL;
}

static void start(const char *name, void *(*body)(void *)) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, body, NULL) == 0);
  CHECK(pthread_setname_np(thread, name) == 0);
}

// Waits until a dump says it so often.
static void await_in_dump(const char *text, int times) {
  static char dump[1 << 20];
  for (int found = -1, i = 0; found < times; i++) {
    int fd = memfd_create("dump", 0);
    CHECK(i < 10000 && fd >= 0 && csched_dump(fd) == 0);
    ssize_t size = pread(fd, dump, sizeof dump - 1, 0);
    CHECK(size >= 0);
    dump[size] = 0;
    found = 0;
    for (const char *at = dump; (at = strstr(at, text)) != NULL; at++) found++;
    close(fd);
    usleep(1000);
  }
}

// MARK: the situation

static void make_busy_thread(void) {
  CHECK(csched_thread_start(&busy, &(csched_thread_options){.name = "busy"}) == 0);
  csched_target *target = csched_loop_target(csched_thread_loop(busy));
  submit(target, runs_for_ever);
  csched_semaphore_wait(&done);
  for (int i = 0; i < 3; i++) submit(target, waits_behind);
  csched_target_async(target, called_by_a_task, NULL);
  submit_late(target, comes_late, csched_now() + 3600000000000, 5000000);
  submit_late(target, comes_late, CSCHED_FOREVER, 0);
  CHECK(csched_serial_create(&queue, target) == 0);
  csched_serial_set_name(queue, "orders");
  for (int i = 0; i < 2; i++) submit(csched_serial_target(queue), waits_behind);
}

// A thread's first run is not recorded when it is a node's.
static void make_thread_in_a_node(void) {
  static const csched_node_type type = {stays_in_a_node, node_is_dropped, CSCHED_NODE};
  static csched_node node = {.type = &type};
  csched_thread *thread;
  CHECK(csched_thread_start(&thread, &(csched_thread_options){.name = "in-node"}) == 0);
  submit(csched_loop_target(csched_thread_loop(thread)), happens_first);
  CHECK(csched_target_submit_node(csched_loop_target(csched_thread_loop(thread)), &node) == 0);
  csched_semaphore_wait(&done);
}

static void make_record(void) {
  CHECK(csched_thread_start(&quick, &(csched_thread_options){.name = "quick"}) == 0);
  csched_target *target = csched_loop_target(csched_thread_loop(quick));
  submit(target, happens_first);
  for (int i = 0; i < 100; i++) submit(target, happens_often);
  submit(target, happens_last);
  csched_semaphore_wait(&done);
}

static void make_pool(void) {
  CHECK(csched_pool_create(&pool, &(csched_pool_options){.name = "workers", .workers = 1, .most_threads = 1}) == 0);
  csched_target *target = csched_pool_target(pool, CSCHED_PRIORITY_LOW);
  submit(target, blocks_in_the_pool);
  csched_semaphore_wait(&done);
  submit(target, waits_behind);
}

static void make_targets(unsigned long queues) {
  csched_target *target = csched_loop_target(csched_thread_loop(busy));
  CHECK(csched_serial_create(&suspended, target) == 0);
  csched_serial_set_name(suspended, "put off");
  csched_serial_suspend(suspended);
  submit(csched_serial_target(suspended), waits_behind);
  static const csched_node_type type = {runs_as_a_node, node_is_dropped, CSCHED_NODE};
  static csched_node node = {.type = &type};
  CHECK(csched_target_submit_node(csched_serial_target(suspended), &node) == 0);
  CHECK(csched_limit_create(&limit, target, 2) == 0);
  for (int i = 0; i < 5; i++) submit(csched_limit_target(limit), waits_behind);
  CHECK(csched_virtual_create(&timeline, 100, 0) == 0);
  for (csched_time tick = 1000; tick <= 3000; tick += 1000)
    submit_late(csched_virtual_target(timeline), comes_late, tick, 0);
  submit(csched_virtual_target(timeline), waits_behind);
  for (csched_serial *each; queues > 0; queues--) {
    CHECK(csched_serial_create(&each, target) == 0);
    submit(target, waits_behind);
  }
}

int main(int count, char **arguments) {
  CHECK(csched_events_begin() == 0);
  csched_semaphore_init(&done, 0);
  csched_semaphore_init(&never_given, 0);
  make_thread_in_a_node();
  make_busy_thread();
  make_record();
  make_pool();
  start("owner", owns_the_guard);
  csched_semaphore_wait(&done);
  start("sleeper-1", wants_the_guard);
  await_in_dump(", which belongs to thread", 1);
  start("sleeper-2", wants_the_guard);
  await_in_dump(", which belongs to thread", 2);
  start("waiter", waits_for_the_queue);
  await_in_dump("waits in csched_serial_sync", 1);
  await_in_dump(": asleep", 2); // the loop of `quick`, and that of the pool's monitor
  make_targets(count > 1 ? strtoul(arguments[1], NULL, 10) : 0);
  raise(SIGTRAP); // gdb reads the process here
  return 0;
}
