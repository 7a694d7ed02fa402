// Statistics, the watchdog, traces and the recorder observe the same work, and share their test helpers.
#include "fork_testing.h"
#include "trace_testing.h"

#include <CScheduler/dump.h>
#include <CScheduler/statistics.h>
#include <CScheduler/trace.h>
#include <CScheduler/watch.h>

#include "../../Sources/CScheduler/diagnostics/observe_internal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const no_peek = "qemu's process does not read its own memory by a system call";

static void nothing(void *unused) { (void)unused; }
static void note_thread(void *number) { *(uint32_t *)number = ctest_thread_id(); }
static void rest(void *span) { nap(*(csched_time *)span); }

static csched_serial *make_queue(csched_target *base) {
  csched_serial *queue = NULL;
  CHECK_EQUAL(csched_serial_create(&queue, base), 0);
  return queue;
}

static csched_statistics statistics_of(csched_target *target) {
  csched_statistics found;
  csched_target_statistics(target, &found);
  return found;
}

static uint64_t ended(csched_statistics of) { return of.run + of.cancelled + of.dropped; }

// MARK: statistics

static void statistics(void) {
  csched_time span = 20 * MS;
  csched_statistics none;
  uint32_t sleeper = 0;
  csched_thread *thread = start_thread("counted");
  csched_target *loop = csched_thread_target(thread);
  csched_serial *queue = make_queue(loop);
  CHECK(!csched_target_statistics(loop, &none));
  CHECK_EQUAL(none.submitted, 0);
  csched_target_async(loop, note_thread, &sleeper); // not counted yet
  wait_until_run(thread);
  CHECK_EQUAL(csched_statistics_begin(), 0);

  CHECK_RESTS(sleeper);
  gate gate;
  gate_close(&gate, thread);
  csched_statistics at_gate = statistics_of(loop);
  CHECK_EQUAL(at_gate.submitted, 1);
  CHECK_EQUAL(at_gate.wakes, 1);
  CHECK_EQUAL(at_gate.waiting, 0);
  for (int i = 0; i < 10; i++) csched_target_async(loop, nothing, NULL);
  csched_target_async(loop, rest, &span);
  csched_task_cancel(csched_target_async(loop, nothing, NULL));
  csched_task_cancel(csched_target_async_after(loop, 3600 * 1000 * MS, nothing, NULL));
  for (int i = 0; i < 5; i++) csched_target_async(csched_serial_target(queue), nothing, NULL);
  CHECK_EQUAL(statistics_of(loop).waiting, 11);
  nap(span);
  gate_open(&gate);
  csched_target_async_after(loop, MS, nothing, NULL);
  CHECK_SOON(statistics_of(loop).run == 13);
  CHECK_SOON(statistics_of(csched_serial_target(queue)).run == 5);

  csched_statistics found = statistics_of(loop);
  CHECK_EQUAL(found.submitted, 15);
  CHECK_EQUAL(found.cancelled, 2);
  CHECK_EQUAL(found.waiting, 0);
  CHECK(found.run_time.max >= span && found.latency.max >= span);
  CHECK(found.run_time.p50 <= found.run_time.p99 && found.run_time.p99 <= found.run_time.max);
  CHECK(found.latency.p50 >= span && found.latency.p50 <= found.latency.p99); // most waited for the gate
  CHECK_EQUAL(statistics_of(csched_serial_target(queue)).submitted, 5);

  csched_serial_suspend(queue);
  for (int i = 0; i < 3; i++) csched_target_async(csched_serial_target(queue), nothing, NULL);
  CHECK_EQUAL(statistics_of(csched_serial_target(queue)).waiting, 3);
  csched_serial_resume(queue);
  CHECK_EQUAL(csched_serial_sync(queue, nothing, NULL), 0);
  CHECK_EQUAL(statistics_of(csched_serial_target(queue)).waiting, 0);
  stop_and_join(thread, CSCHED_STOP_DROP);
  csched_serial_destroy(queue);
  csched_statistics_end();
}

static void statistics_drops(void) {
  CHECK_EQUAL(csched_statistics_begin(), 0);
  csched_loop *loop = NULL;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_target *target = csched_loop_target(loop);
  for (int i = 0; i < 4; i++) csched_target_async(target, nothing, NULL);
  csched_loop_close(loop, CSCHED_STOP_DROP);
  csched_target_async(target, nothing, NULL); // refused
  csched_loop_run_ready(loop, SIZE_MAX);
  csched_statistics found = statistics_of(target);
  CHECK_EQUAL(found.submitted, 5);
  CHECK_EQUAL(found.dropped, 5);
  CHECK_EQUAL(found.waiting, 0);
  csched_loop_destroy(loop);
  CHECK(!csched_target_statistics(target, &found)); // an address is not enough

  csched_virtual *timeline = NULL;
  CHECK_EQUAL(csched_virtual_create(&timeline, 0, 0), 0);
  csched_target_async_after(csched_virtual_target(timeline), 1000, nothing, NULL);
  csched_virtual_run(timeline);
  found = statistics_of(csched_virtual_target(timeline));
  CHECK_EQUAL(found.run, 1);
  CHECK_EQUAL(found.latency.max, 0);
  csched_virtual_destroy(timeline);
  csched_statistics_end();
}

TEST("statistics count submitted, run, cancelled and dropped jobs") { // OB1, OB4, OB5, ST1
  statistics();
  statistics_drops();
}

static void call_after(void *target) { csched_target_async(target, nothing, NULL); }

// Pools, limits, barriers, virtual time, and queues on them.
static void statistics_kinds(void) {
  csched_pool *pool = NULL;
  csched_limit *limit = NULL;
  csched_virtual *timeline = NULL;
  CHECK_EQUAL(csched_pool_create(&pool, &(csched_pool_options){.workers = 2}), 0);
  csched_target *base = csched_pool_target(pool, CSCHED_PRIORITY_LOW);
  CHECK_EQUAL(csched_limit_create(&limit, base, 2), 0);
  CHECK_EQUAL(csched_virtual_create(&timeline, 0, 0), 0);
  csched_serial *queue = make_queue(base), *on_limit = make_queue(csched_limit_target(limit));
  csched_serial *in_virtual = make_queue(csched_virtual_target(timeline));
  csched_target *all[] = {base,
                          csched_limit_target(limit),
                          csched_limit_barrier_target(limit),
                          csched_serial_target(queue),
                          csched_serial_target(on_limit),
                          csched_virtual_target(timeline),
                          csched_serial_target(in_virtual)};
  CHECK_EQUAL(csched_statistics_begin(), 0);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    for (int j = 0; j < 9; j++) csched_target_async(all[i], nothing, NULL);
    csched_task_cancel(csched_target_async_after(all[i], 3600 * 1000 * MS, nothing, NULL));
    csched_target_async_after(all[i], MS, call_after, all[i]); // and one from inside
    csched_virtual_run(timeline);
    CHECK_SOON(statistics_of(all[i]).run == 11);
    csched_statistics found = statistics_of(all[i]);
    CHECK_EQUAL(found.submitted, 12);
    CHECK_EQUAL(found.cancelled, 1);
    CHECK_EQUAL(found.dropped, 0);
    CHECK_EQUAL(found.waiting, 0);
    CHECK(found.run_time.max > 0 && found.run_time.p50 <= found.run_time.max);
    CHECK((found.latency.max > 0) == (i < 5));
  }
  csched_statistics_end();
  csched_serial_destroy(in_virtual);
  csched_serial_destroy(on_limit);
  csched_serial_destroy(queue);
  csched_virtual_destroy(timeline);
  csched_limit_destroy(limit);
  csched_pool_destroy(pool);
}

TEST("statistics of each kind of target") { statistics_kinds(); }

typedef struct busy {
  csched_pool *pool;
  csched_thread *thread;
  atomic_int left;
} busy;

static void be_busy(int index, void *context) {
  busy *busy = context;
  csched_statistics found;
  while (atomic_fetch_sub(&busy->left, 1) > 0) {
    if (index == 0) csched_statistics_end();
    if (index == 0) CHECK_EQUAL(csched_statistics_begin(), 0);
    csched_serial *queue = make_queue(csched_pool_target(busy->pool, CSCHED_PRIORITY_DEFAULT));
    csched_task last = {NULL, 0};
    for (int i = 0; i < 20; i++) {
      last = csched_target_async(csched_serial_target(queue), nothing, NULL);
      if (i % 3 == 0) csched_task_cancel(last);
      csched_target_async(csched_thread_target(busy->thread), nothing, NULL);
    }
    csched_target_statistics(csched_serial_target(queue), &found);
    CHECK(ended(found) <= found.submitted + 20);
    CHECK_EQUAL(csched_serial_sync(queue, nothing, NULL), 0);
    csched_serial_destroy(queue);
    if (csched_target_statistics(csched_thread_target(busy->thread), &found))
      CHECK(found.waiting <= UINT32_MAX / 2); // not below zero, when a job began to be counted beside its hooks
  }
}

static void statistics_beside_changes(int rounds) {
  busy busy = {.left = rounds, .thread = start_thread("counted")};
  CHECK_EQUAL(csched_pool_create(&busy.pool, &(csched_pool_options){.workers = 2}), 0);
  CHECK_EQUAL(csched_statistics_begin(), 0);
  crew_run(4, be_busy, &busy);
  csched_serial *queue = make_queue(csched_pool_target(busy.pool, CSCHED_PRIORITY_DEFAULT));
  for (int i = 0; i < 1000; i++) csched_target_async(csched_serial_target(queue), nothing, NULL);
  CHECK_SOON(statistics_of(csched_serial_target(queue)).run == 1000);
  CHECK_EQUAL(statistics_of(csched_serial_target(queue)).waiting, 0);
  wait_until_run(busy.thread);
  CHECK_EQUAL(statistics_of(csched_thread_target(busy.thread)).waiting,
              0); // also for the jobs whose hooks ran while counting ended
  csched_serial_destroy(queue);
  csched_pool_destroy(busy.pool);
  stop_and_join(busy.thread, CSCHED_STOP_RUN);
  csched_statistics_end();
}

// OB4, OB5
TEST("statistics beside changes") { statistics_beside_changes(few(times(1000))); }

static csched_time observed_deadline(const csched_timer *timer) {
  csched_seen seen;
  CHECK(csched_observe_find_(&timer->job, &seen));
  return seen.due;
}

static void observe_moved(void) {
  csched_loop *loop;
  probe probe;
  csched_timer *timer = &probe.timer;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  CHECK_EQUAL(csched_statistics_begin(), 0);
  probe_init(&probe, NULL, NULL);
  csched_time now = csched_now(), deadlines[] = {now + 7200000 * MS, now + 3600000 * MS, now + 10800000 * MS};
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), timer, deadlines[0], 0), 0);
  for (int i = 0; i < 3; i++) { // as submitted, then moved to an earlier and to a later time
    if (i > 0) CHECK(csched_loop_rearm(loop, timer, deadlines[i]));
    CHECK_EQUAL(observed_deadline(timer), deadlines[i]);
  }
  CHECK_EQUAL(csched_timer_cancel(timer), CSCHED_CANCEL_DROPPED);
  csched_statistics_end();
  csched_loop_destroy(loop);
}

TEST("observers see the deadline to which a timer was moved, so that it is not reported as overdue") {
  observe_moved();
}

// The calls of the hooks of nested runs, of which an exception has ended the inner ones.
static void observe_unwound(uint32_t levels, uint32_t left) {
  csched_observer observer = {0};
  csched_recorded_run copy;
  csched_observed_run *runs = calloc(levels, sizeof *runs); // the stack grows downwards: the outermost is the last
  for (uint32_t i = 0; i < levels; i++) {
    runs[levels - 1 - i].seen.id = i + 1;
    csched_observer_begin_(&observer, &runs[levels - 1 - i]);
  }
  csched_observed_run *next = &runs[levels - 1 - left]; // a new run in the place of the outermost that was unwound
  next->seen.id = 100;
  csched_observer_begin_(&observer, next);
  CHECK(csched_observer_copy_run_(&observer, left, &copy) && copy.id == 100);
  for (uint32_t i = 0; i < CSCHED_OBSERVED_DEPTH; i++)
    if (i != left) CHECK_EQUAL(csched_observer_copy_run_(&observer, i, &copy), i < left);
  csched_observer_end_(&observer, next);
  CHECK_EQUAL(observer.depth, left);
  free(runs);
}

TEST("a run is recorded after runs that were unwound, however deep they were") {
  for (uint32_t left = 0; left < CSCHED_OBSERVED_DEPTH; left++) {
    observe_unwound(left + 1, left);
    observe_unwound(CSCHED_OBSERVED_DEPTH, left);
    observe_unwound(CSCHED_OBSERVED_DEPTH + 1, left);
    observe_unwound(100, left);
  }
}

// MARK: the watchdog

typedef struct reports {
  pthread_mutex_t mutex;
  const csched_target *target;
  int runs, heads, waits, others;
  uint32_t thread;
  char code[64], function[64];
} reports;

static void note_report(void *context, const csched_watch_report *report) {
  reports *reports = context;
  pthread_mutex_lock(&reports->mutex);
  CHECK(report->span >= 20 * MS);
  CHECK(report->details != NULL);
  if (report->kind == CSCHED_WATCHED_WAIT) {
    reports->waits++;
    snprintf(reports->function, sizeof reports->function, "%s", report->function);
  } else if (report->target != reports->target) {
    reports->others++;
  } else if (report->kind == CSCHED_WATCHED_RUN) {
    reports->runs++;
    reports->thread = report->thread;
    snprintf(reports->code, sizeof reports->code, "%s", report->code_name);
    CHECK(strstr(report->details, ": runs job ") != NULL && strstr(report->details, "\nloop 0x") != NULL);
  } else {
    CHECK(strstr(report->details, "loop 0x") == report->details && strstr(report->details, "pending") != NULL);
    reports->heads++;
    CHECK(report->waiting >= 1); // of two; the thread may have no processor before it submits the second
  }
  pthread_mutex_unlock(&reports->mutex);
}

static int seen(reports *reports, const int *count) {
  pthread_mutex_lock(&reports->mutex);
  int now = *count;
  pthread_mutex_unlock(&reports->mutex);
  return now;
}

static void wait_for_latch(int index, void *latch) {
  (void)index;
  csched_latch_wait(latch);
  __asm__ volatile(""); // no tail call: the function stays in its thread's stack
}

static void watch(void) {
  reports reports = {.mutex = PTHREAD_MUTEX_INITIALIZER};
  csched_thread *thread = start_thread("watched");
  reports.target = csched_thread_target(thread);
  CHECK_EQUAL(csched_watch_begin(0, note_report, &reports), EINVAL);
  CHECK_EQUAL(csched_watch_begin(20 * MS, note_report, &reports), 0);
  gate gate;
  gate_close(&gate, thread);
  for (int i = 0; i < 2; i++) csched_target_async(csched_thread_target(thread), nothing, NULL);
  csched_target_async_after(csched_thread_target(thread), 3600 * 1000 * MS, nothing, NULL); // its time has not come
  csched_latch latch;
  csched_latch_init(&latch, 1);
  crew crew;
  crew_start(&crew, 1, wait_for_latch, &latch);
  CHECK_SOON(seen(&reports, &reports.runs) == 1);
  CHECK_SOON(seen(&reports, &reports.heads) == 1);
  CHECK_SOON(seen(&reports, &reports.waits) >= 1);
  nap(100 * MS); // reported once
  CHECK_EQUAL(seen(&reports, &reports.runs), 1);
  CHECK_EQUAL(seen(&reports, &reports.heads), 1);
  CHECK(reports.thread != 0 && reports.code[0] != 0 && strstr(reports.function, "latch") != NULL);
  csched_latch_count_down(&latch, 1);
  crew_join(&crew);
  gate_open(&gate);
  csched_watch_end();
  csched_watch_end();
  gate_close(&gate, thread);
  nap(60 * MS);
  CHECK_EQUAL(reports.runs, 1);
  gate_open(&gate);
  stop_and_join(thread, CSCHED_STOP_DROP);
}

// WD1, WD2
TEST_UNLESS(QEMU, no_peek, "the watchdog reports a long run, a long wait in a queue, and a wait that blocks") {
  watch();
}

static void end_watch(void *context, const csched_watch_report *report) {
  (void)report;
  atomic_fetch_add((atomic_int *)context, 1);
  csched_watch_end();
}

static void watch_ends_itself(int rounds) {
  csched_thread *thread = start_thread("watched");
  for (int i = 0; i < rounds; i++) {
    atomic_int calls = 0;
    CHECK_EQUAL(csched_watch_begin(2 * MS, end_watch, &calls), 0);
    gate gate;
    gate_close(&gate, thread);
    CHECK_SOON(atomic_load(&calls) == 1);
    gate_open(&gate);
    wait_until_run(thread);
  }
  csched_watch_end();
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// WD2
TEST("a watchdog can be ended by its report") { watch_ends_itself(times(10)); }

// Each of three threads has one thing, and waits for that of the next one.
enum { MEMBERS = 3 };
typedef struct circle {
  csched_lock locks[MEMBERS];
  csched_serial *queue; // NULL, or the thing of the first thread, which is inside a sync of it
  atomic_int ready;
  uint32_t threads[MEMBERS];
} circle;
typedef struct member {
  circle *circle;
  int index;
} member;

static void wait_for_next(void *context) {
  member *member = context;
  circle *circle = member->circle;
  int next = (member->index + 1) % MEMBERS;
  circle->threads[member->index] = ctest_thread_id();
  atomic_fetch_add(&circle->ready, 1);
  CHECK_SOON(atomic_load(&circle->ready) == MEMBERS);
  if (next == 0 && circle->queue != NULL) csched_serial_sync(circle->queue, nothing, NULL);
  else csched_lock_lock(&circle->locks[next]);
}

static void join_circle(int index, void *context) {
  circle *circle = context;
  member member = {circle, index};
  if (index == 0 && circle->queue != NULL) {
    csched_serial_sync(circle->queue, wait_for_next, &member);
    return;
  }
  csched_lock_lock(&circle->locks[index]);
  wait_for_next(&member);
}

typedef struct deadlocks {
  atomic_int count, waits;
  csched_time span;
  uint32_t thread;
  char details[8192];
} deadlocks;

static void note_deadlock(void *context, const csched_watch_report *report) {
  deadlocks *deadlocks = context;
  if (report->kind == CSCHED_WATCHED_WAIT) atomic_fetch_add(&deadlocks->waits, 1);
  if (report->kind != CSCHED_WATCHED_DEADLOCK) return;
  deadlocks->thread = report->thread;
  deadlocks->span = report->span;
  snprintf(deadlocks->details, sizeof deadlocks->details, "%s", report->details);
  atomic_fetch_add(&deadlocks->count, 1);
}

// In a child of fork, because the threads never end.
static void deadlock_in_child(void *has_queue) {
  static circle circle;
  static deadlocks found;
  static crew crew;
  csched_thread *base = start_thread("base");
  if (has_queue != NULL) circle.queue = make_queue(csched_thread_target(base));
  CHECK_EQUAL(csched_watch_begin(20 * MS, note_deadlock, &found), 0);
  crew_start(&crew, MEMBERS, join_circle, &circle);
  CHECK_SOON(atomic_load(&found.count) == 1);
  nap(100 * MS); // reported once
  CHECK_EQUAL(atomic_load(&found.count), 1);
  CHECK(atomic_load(&found.waits) >= MEMBERS); // the first sync may run on the base's thread, and its caller waits, too
  CHECK(found.span >= 20 * MS);
  bool is_member = false;
  for (int i = 0; i < MEMBERS; i++) {
    char name[32];
    snprintf(name, sizeof name, "thread %u ", circle.threads[i]);
    CHECK(strstr(found.details, name) != NULL);
    is_member = is_member || circle.threads[i] == found.thread;
  }
  CHECK(is_member);
  CHECK_EQUAL(output_count(found.details, ", which is held by thread "), MEMBERS);
  csched_watch_end();
}

TEST_UNLESS(QEMU, no_peek, "the watchdog reports a deadlock once") { // WD1, WD4
  static circle any;
  CHECK_CHILD(deadlock_in_child, NULL);
  CHECK_CHILD(deadlock_in_child, &any);
}

typedef struct held {
  csched_lock lock;
  atomic_int is_held, is_over;
} held;

static void hold_or_wait(int index, void *context) {
  held *held = context;
  if (index != 0) CHECK_SOON(atomic_load(&held->is_held) != 0);
  csched_lock_lock(&held->lock);
  atomic_store(&held->is_held, 1);
  if (index == 0) CHECK_SOON(atomic_load(&held->is_over) != 0);
  csched_lock_unlock(&held->lock);
}

TEST_UNLESS(QEMU, no_peek, "threads that wait for a busy one are in no deadlock") { // WD4
  held held = {.lock = CSCHED_LOCK_INIT};
  deadlocks found = {0};
  CHECK_EQUAL(csched_watch_begin(10 * MS, note_deadlock, &found), 0);
  crew crew;
  crew_start(&crew, 3, hold_or_wait, &held);
  CHECK_SOON(atomic_load(&found.waits) == 2);
  nap(50 * MS);
  atomic_store(&held.is_over, 1);
  crew_join(&crew);
  csched_watch_end();
  CHECK_EQUAL(atomic_load(&found.count), 0);
}

typedef struct spinning {
  atomic_int is_over;
} spinning;

static CSCHED_NOINLINE void observe_test_spins(void *context) {
  spinning *spinning = context;
  while (atomic_load(&spinning->is_over) == 0) {}
  nothing(context);
}

typedef struct stacks {
  atomic_int runs, waits;
  bool names_run, names_wait;
} stacks;

static void note_stack(void *context, const csched_watch_report *report) {
  stacks *stacks = context;
  if (report->kind == CSCHED_WATCHED_RUN) {
    stacks->names_run =
        strstr(report->details, "  in ") != NULL && strstr(report->details, "observe_test_spins") != NULL;
    atomic_fetch_add(&stacks->runs, 1);
  }
  if (report->kind == CSCHED_WATCHED_WAIT) {
    stacks->names_wait =
        strstr(report->details, "  called by ") != NULL && strstr(report->details, "wait_for_latch") != NULL;
    atomic_fetch_add(&stacks->waits, 1);
  }
}

// Under ThreadSanitizer a thread in a system call answers only after it.
TEST_UNLESS(QEMU | THREAD_SANITIZER, "signals are late there", "a report has the calls of its thread") { // SK1
  stacks stacks = {0};
  spinning spinning = {0};
  csched_thread *thread = start_thread("spins");
  if (csched_watch_stacks(-1) == ENOTSUP) { // musl: its C library cannot walk a stack
    stop_and_join(thread, CSCHED_STOP_RUN);
    return;
  }
  CHECK_EQUAL(csched_watch_stacks(SIGSEGV), EINVAL);
  CHECK_EQUAL(csched_watch_stacks(-1), EINVAL);
  CHECK_EQUAL(csched_watch_stacks(SIGRTMAX - 3), 0);
  CHECK_EQUAL(csched_watch_begin(20 * MS, note_stack, &stacks), 0);
  csched_target_async(csched_thread_target(thread), observe_test_spins, &spinning);
  CHECK_SOON(atomic_load(&stacks.runs) == 1);
  CHECK(stacks.names_run);
  atomic_store(&spinning.is_over, 1);
  csched_latch latch;
  csched_latch_init(&latch, 1);
  crew crew;
  crew_start(&crew, 1, wait_for_latch, &latch);
  CHECK_SOON(atomic_load(&stacks.waits) >= 1);
  CHECK(stacks.names_wait);
  csched_latch_count_down(&latch, 1);
  crew_join(&crew);
  CHECK_EQUAL(csched_watch_stacks(0), 0);
  CHECK_EQUAL(csched_watch_stacks(SIGRTMAX - 3), 0); // its handler is still there
  CHECK_EQUAL(csched_watch_stacks(0), 0);
  csched_watch_end();
  stop_and_join(thread, CSCHED_STOP_RUN);
}

static void spin_deaf(void *context) { // with the signal blocked; it arrives at the end
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGRTMAX - 3);
  CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, &signals, NULL), 0);
  observe_test_spins(context);
  errno = 77;
  CHECK_EQUAL(pthread_sigmask(SIG_UNBLOCK, &signals, NULL), 0);
  CHECK_EQUAL(errno, 77);
}

TEST_UNLESS(QEMU | THREAD_SANITIZER, "signals are late there",
            "a signal for a stack that a thread had blocked arrives late, and changes nothing") { // SK2, SK3
  stacks stacks = {0};
  spinning spinning = {0};
  csched_thread *thread = start_thread("deaf");
  if (csched_watch_stacks(SIGRTMAX - 3) != ENOTSUP) { // musl: its C library cannot walk a stack
    CHECK_EQUAL(csched_watch_begin(20 * MS, note_stack, &stacks), 0);
    csched_target_async(csched_thread_target(thread), spin_deaf, &spinning);
    CHECK_SOON(atomic_load(&stacks.runs) == 1);
    CHECK(!stacks.names_run);
    csched_watch_end();
    CHECK_EQUAL(csched_watch_stacks(0), 0); // the handler stays: without it the signal would end the process
    atomic_store(&spinning.is_over, 1);
  }
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// Runs at the end of the test program, not of a child of fork, where a watchdog is off.
__attribute__((destructor)) static void run_long_on_request(void) {
  const char *text = getenv("CTESTS_RUN_MS");
  if (text == NULL) return;
  csched_time span = (csched_time)atoi(text) * MS;
  csched_thread *thread = start_thread("slow");
  csched_target_async(csched_thread_target(thread), rest, &span);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// Returns: what this program prints, with SCHEDULER_WATCH=`value`, while a job runs for so long.
static const char *said_with(const char *value, int milliseconds, char *text, size_t size) {
  char command[200];
  snprintf(command, sizeof command, "CTESTS_RUN_MS=%d SCHEDULER_WATCH='%s' exec /proc/%d/exe --list 2>&1 >/dev/null",
           milliseconds, value, (int)getpid());
  FILE *program = popen(command, "r");
  size_t length = fread(text, 1, size - 1, program);
  text[length] = 0;
  CHECK_EQUAL(pclose(program), 0);
  return text;
}

TEST_UNLESS(QEMU | VALGRIND, no_peek, "SCHEDULER_WATCH watches a program that does not call it") {
  char text[8192];
  CHECK(strstr(said_with("10ms", 2000, text, sizeof text), " has run rest of loop 0x") != NULL);
  CHECK(strstr(said_with("0.01s", 2000, text, sizeof text), " has run rest of loop 0x") != NULL);
  CHECK(strstr(said_with("1000s", 1, text, sizeof text), "Scheduler: ") == NULL);
  static const char *const refused[] = {"10", "s", "0s", "-1s", "1 s", "1h", "1e9s", "99999999999s", ".5s"};
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
    CHECK(strstr(said_with(refused[i], 1, text, sizeof text), "is no time such as 1s or 250ms") != NULL);
}

// MARK: traces

static void trace(int jobs) {
  trace_path path = make_path();
  csched_thread *thread = start_thread("tra\"ced");
  csched_serial *queue = make_queue(csched_thread_target(thread));
  csched_serial_set_name(queue, "a \\ and a \"");
  CHECK_EQUAL(csched_trace_begin(path.file), 0);
  CHECK_EQUAL(csched_trace_begin(path.file), EBUSY);
  for (int i = 0; i < jobs; i++) {
    csched_task task =
        csched_target_async(i % 2 != 0 ? csched_serial_target(queue) : csched_thread_target(thread), nothing, NULL);
    if (i % 10 == 0) csched_task_cancel(task);
  }
  uint32_t sleeper = 0;
  csched_target_async(csched_thread_target(thread), note_thread, &sleeper);
  wait_until_run(thread);
  CHECK_EQUAL(csched_serial_sync(queue, nothing, NULL), 0);
  CHECK_RESTS(sleeper); // a run is written down behind its end
  CHECK_EQUAL(csched_trace_end(), 0);
  CHECK_EQUAL(csched_trace_end(), 0);

  char *text = read_trace(path.file);
  traced *traced = look_at_trace(text);
  int runs = traced->runs, lost = lost_in(text);
  CHECK_TRACE(traced, lost == 0);
  CHECK(lost >= 0 && lost < jobs / 2 + 10 && runs + lost >= jobs - jobs / 10 - 1);
  if (lost == 0) CHECK_EQUAL(output_count(text, "\"name\":\"cancel\"") + runs, output_count(text, "{\"ph\":\"s\""));
  CHECK(strstr(text, "tra\\\"ced") != NULL && strstr(text, "\\\"a \\\\ and a ?\\\" on 0x") != NULL);
  CHECK(strcmp(text + strlen(text) - 5, "}}\n]\n") == 0);
  CHECK(is_json(text));
  free(traced), free(text);
  csched_serial_destroy(queue);
  stop_and_join(thread, CSCHED_STOP_RUN);
  remove_path(&path);
}

// TR1, TR3
TEST("each run in a trace has one submission") { trace(few(times(2000))); }

typedef struct submitting {
  csched_target *target;
  int jobs;
} submitting;

static void submit_many(int index, void *context) {
  (void)index;
  for (int i = 0; i < ((submitting *)context)->jobs; i++)
    csched_target_async(((submitting *)context)->target, nothing, NULL);
}

static void trace_overload(int jobs) {
  trace_path path = make_path();
  csched_thread *thread = start_thread("loaded");
  CHECK_EQUAL(csched_trace_begin(path.file), 0);
  submitting submitting = {csched_thread_target(thread), jobs};
  crew_run(3, submit_many, &submitting);
  uint32_t sleeper = 0;
  csched_target_async(csched_thread_target(thread), note_thread, &sleeper);
  wait_until_run(thread);
  CHECK_RESTS(sleeper); // as above
  CHECK_EQUAL(csched_trace_end(), 0);
  char *text = read_trace(path.file);
  const char *lost = strstr(text, "\"lost events\",\"args\":{\"count\":");
  CHECK(lost != NULL);
  int written = output_count(text, "{\"ph\":\"s\"") + output_count(text, "\"cat\":\"run\"");
  if (lost != NULL) CHECK(written + atoi(lost + 30) >= 2 * 3 * jobs);
  traced *traced = look_at_trace(text);
  CHECK_TRACE(traced, false); // also where something was lost
  free(traced), free(text);
  stop_and_join(thread, CSCHED_STOP_RUN);
  remove_path(&path);
}

TEST("a trace beside changes loses nothing that it does not count") { // TR1, TR2
  trace_overload(few(times(is_under(SANITIZERS | VALGRIND | QEMU) ? 2000 : 20000)));
}

static void trace_refused(void) {
  trace_path path = make_path();
  char other[128];
  struct stat found;
  snprintf(other, sizeof other, "%s.other", path.file);
  CHECK_EQUAL(symlink(path.file, other), 0);
  CHECK_EQUAL(csched_trace_begin(other), ELOOP);
  CHECK(stat(path.file, &found) != 0); // it was not made through the link
  unlink(other);
  CHECK_EQUAL(mkfifo(other, 0600), 0);
  CHECK_EQUAL(csched_trace_begin(other), EPERM);
  unlink(other);
  CHECK_EQUAL(csched_trace_begin("/dev/null"), EPERM);
  CHECK_EQUAL(csched_trace_begin(path.folder), EISDIR);
  CHECK_EQUAL(csched_trace_begin("/tmp/there is no such folder/trace"), ENOENT);
  int fd = open(path.file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  CHECK_EQUAL(write(fd, "before", 6), 6);
  close(fd);
  CHECK_EQUAL(link(path.file, other), 0);
  CHECK_EQUAL(csched_trace_begin(path.file), EPERM); // another process may read it by the other name
  CHECK_EQUAL(stat(other, &found), 0);
  CHECK_EQUAL(found.st_size, 6);
  unlink(other);
  CHECK_EQUAL(csched_trace_begin(path.file), 0);
  CHECK_EQUAL(csched_trace_end(), 0);
  CHECK_EQUAL(stat(path.file, &found), 0);
  CHECK_EQUAL(found.st_mode & 0777, 0600);
  char *text = read_trace(path.file);
  CHECK(text[0] == '[' && strstr(text, "before") == NULL);
  free(text);
  remove_path(&path);
}

TEST("a trace refuses links and others' files") { trace_refused(); }

// MARK: forks

static void observe_in_child(void *context) {
  trace_path path = make_path();
  (void)context;
  CHECK_EQUAL(csched_trace_end(), 0); // it is the parent's
  csched_watch_end();
  CHECK_EQUAL(csched_trace_begin(path.file), 0);
  csched_thread *thread = start_thread("child's");
  for (int i = 0; i < 10; i++) csched_target_async(csched_thread_target(thread), nothing, NULL);
  wait_until_run(thread);
  CHECK_SOON(statistics_of(csched_thread_target(thread)).run >= 11); // and the trace has all but the last
  CHECK_EQUAL(csched_trace_end(), 0);
  char *text = read_trace(path.file);
  CHECK(output_count(text, "\"cat\":\"run\"") >= 10);
  CHECK(strstr(text, "\n]\n") != NULL);
  free(text);
  output output = output_open();
  CHECK_EQUAL(csched_recorder_write(output.fd), 0);
  CHECK(strstr(output_read(&output), "\"child's\" has run last") != NULL);
  output_close(&output);
  remove_path(&path);
  stop_and_join(thread, CSCHED_STOP_RUN);
  csched_statistics_end();
}

static void observe_fork(int forks) {
  reports reports = {.mutex = PTHREAD_MUTEX_INITIALIZER};
  trace_path path = make_path();
  busy busy = {.left = 1000000000, .thread = start_thread("counted")};
  CHECK_EQUAL(csched_pool_create(&busy.pool, &(csched_pool_options){.workers = 2}), 0);
  CHECK_EQUAL(csched_trace_begin(path.file), 0);
  CHECK_EQUAL(csched_statistics_begin(), 0);
  CHECK_EQUAL(csched_watch_begin(3600 * 1000 * MS, note_report, &reports), 0);
  crew crew;
  crew_start(&crew, 2, be_busy, &busy);
  for (int i = 0; i < forks; i++) CHECK_CHILD(observe_in_child, NULL);
  atomic_store(&busy.left, 0);
  crew_join(&crew);
  csched_watch_end();
  csched_statistics_end();
  CHECK_EQUAL(csched_trace_end(), 0);
  char *text = read_trace(path.file);
  CHECK_EQUAL(output_count(text, "\n]\n"), 1);
  CHECK_EQUAL(output_count(text, "child's"), 0);
  free(text);
  csched_pool_destroy(busy.pool);
  stop_and_join(busy.thread, CSCHED_STOP_RUN);
  remove_path(&path);
}

TEST_UNLESS(SANITIZERS | VALGRIND | QEMU, "tools do not follow a process with threads into its child",
            "after fork a trace continues in the parent only") { // OB5, TR3, TR4, WD3
  observe_fork(times(5));
}

// MARK: the recorder

static const char *recorded(output *output) {
  output_empty(output);
  CHECK_EQUAL(csched_recorder_write(output->fd), 0);
  return output_read(output);
}

static void run_nothing(csched_job *job) { (void)job; }
static const csched_job_type nothing_type = {run_nothing, run_nothing, NULL};

static void run_jobs(csched_thread *thread, void *context, int count) {
  csched_job job;
  for (int i = 0; i < count; i++) {
    csched_job_init(&job, &nothing_type, context);
    csched_target_submit(csched_thread_target(thread), &job);
    WAIT_WHILE(!csched_job_is_idle(&job));
  }
}

static void ignore(void *unused) { (void)unused; }

static void recorder(void) {
  output output = output_open();
  csched_thread *thread = start_thread("recorded");
  char words[96];
  run_jobs(thread, (void *)0xabc, 20);
  run_jobs(thread, (void *)0xdee, 3);
  const char *text = recorded(&output);
  snprintf(words, sizeof words, "of 0x%lx, context 0xabc, times 20\n",
           (unsigned long)(uintptr_t)csched_thread_target(thread));
  CHECK(strstr(text, "\"recorded\" has run last") != NULL);
  bool is_together = strstr(text, words) != NULL; // else the clock was read between
  CHECK(is_together || output_count(text, "context 0xabc") >= 1);
  CHECK(output_count(text, "context 0xdee") >= 1);
  CHECK(strstr(text, " ago\n") != NULL);
  CHECK_EQUAL(csched_recorder_write(-1), EBADF);
  stop_and_join(thread, CSCHED_STOP_RUN);
  output_close(&output);
}

TEST_UNLESS(QEMU, no_peek, "the recorder has a thread's last runs") { recorder(); }

// In a child of fork the recorders of the parent's threads are gone, and this thread has run nothing.
static void message_once(void) {
  output output = output_open();
  csched_serial *queue = NULL;
  csched_pool *pool = NULL;
  CHECK_EQUAL(csched_pool_create(&pool, NULL), 0);
  CHECK_EQUAL(csched_serial_create(&queue, csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT)), 0);
  csched_serial_sync(queue, ignore, NULL);
  pid_t child = fork();
  if (child == 0) {
    csched_lock lock = CSCHED_LOCK_INIT;
    signal(SIGABRT, SIG_DFL);
    dup2(output.fd, STDERR_FILENO);
    csched_lock_unlock(&lock);
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  CHECK_EQUAL(output_count(output_read(&output), "csched_lock_unlock"), 1);
  csched_serial_destroy(queue);
  csched_pool_destroy(pool);
  output_close(&output);
}

TEST("a message is written once where no thread has run anything") { message_once(); }

// Returns: the number of runs with that context. A line counts one run, or the number in it.
static long runs_of(const char *text, const char *context) {
  long runs = 0;
  for (const char *line = text; (line = strstr(line, context)) != NULL; line++) {
    const char *end = strchr(line, '\n'), *times = strstr(line, ", times ");
    runs += times != NULL && times < end ? atol(times + 8) : 1;
  }
  return runs;
}

// Each thread in the list has its share.
static void recorder_keeps(int jobs) {
  output output = output_open();
  csched_loop *loop = NULL;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_job *many = calloc((size_t)jobs, sizeof *many);
  for (int i = 0; i < jobs; i++) {
    csched_job_init(&many[i], &nothing_type, (void *)(i % 2 == 0 ? 0xabcL : 0xdeeL));
    csched_target_submit(csched_loop_target(loop), &many[i]);
  }
  while (!csched_job_is_idle(&many[jobs - 1])) csched_loop_run_ready(loop, SIZE_MAX);
  const char *text = recorded(&output);
  long share = 9000 / output_count(text, "has run last"), expected = jobs < share ? jobs : share;
  long kept = runs_of(text, "context 0xabc") + runs_of(text, "context 0xdee");
  CHECK(kept >= expected && kept <= 10240);
  free(many);
  csched_loop_destroy(loop);
  output_close(&output);
}

TEST_UNLESS(QEMU, no_peek, "the recorder has a thread's last runs, after ten thousand of them") {
  recorder_keeps(500);
  recorder_keeps(20000);
}

static void log_a(void *unused) { (void)unused; }
static void log_b(void *unused) { (void)unused; }

// Returns: the position of `what` behind `after`; NULL, after a failed check, if there is none.
static const char *next_event(const char *after, const char *what) {
  const char *found = after != NULL ? strstr(after, what) : NULL;
  CHECK(found != NULL);
  return found;
}

TEST_UNLESS(QEMU, no_peek, "the record has the events of all threads in their order") { // RE1
  output output = output_open();
  csched_thread *thread = start_thread("recorded");
  csched_target *target = csched_thread_target(thread);
  CHECK(strstr(recorded(&output), "the last events") == NULL);
  CHECK_EQUAL(csched_events_begin(), 0);
  csched_target_async(target, log_a, NULL);
  wait_until_run(thread);
  gate gate;
  gate_close(&gate, thread);
  csched_task_cancel(csched_target_async(target, log_b, NULL));
  gate_open(&gate);
  wait_until_run(thread);
  for (int i = 0; i < 5000; i++) csched_target_async(target, nothing, NULL); // more than a ring has
  wait_until_run(thread);
  const char *text = next_event(recorded(&output), "Scheduler: the last events of all threads");
  CHECK(text != NULL && output_count(text, "\n") <= 2001 && output_count(text, ": submit ") > 500);
  csched_target_async(target, log_a, NULL);
  wait_until_run(thread);
  text = next_event(recorded(&output), "Scheduler: the last events of all threads");
  text = next_event(next_event(text, ": submit "), ": log_a to loop 0x");
  text = next_event(next_event(text, "\"recorded\": start "), ": log_a of loop 0x");
  next_event(next_event(text, "\"recorded\": end "), ": log_a of loop 0x");
  csched_events_end();
  CHECK(strstr(recorded(&output), "the last events") == NULL);
  stop_and_join(thread, CSCHED_STOP_RUN);
  output_close(&output);
}

typedef struct blocked {
  csched_semaphore begun, end;
} blocked;

static void block(void *context) {
  blocked *blocked = context;
  csched_semaphore_signal(&blocked->begun, 1);
  csched_semaphore_wait(&blocked->end);
}

// A pool's worker has no recorder before its first run.
TEST_UNLESS(QEMU, no_peek, "a thread whose first run is observed has a record") {
  output output = output_open();
  blocked blocked;
  csched_pool *pool = NULL;
  csched_semaphore_init(&blocked.begun, 0);
  csched_semaphore_init(&blocked.end, 0);
  CHECK_EQUAL(csched_statistics_begin(), 0);
  CHECK_EQUAL(csched_pool_create(&pool, &(csched_pool_options){.name = "first", .workers = 1, .most_threads = 1}), 0);
  csched_target_async(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), block, &blocked);
  csched_semaphore_wait(&blocked.begun);
  const char *text = next_event(recorded(&output), "\"first-");
  next_event(next_event(text, " has run last"), "  about ");
  csched_statistics_end();
  csched_semaphore_signal(&blocked.end, 1);
  csched_pool_destroy(pool);
  output_close(&output);
}

typedef struct sleeper {
  csched_latch latch;
  _Atomic uint32_t thread;
} sleeper;

static void sleep_for_latch(int index, void *context) {
  sleeper *sleeper = context;
  (void)index;
  atomic_store(&sleeper->thread, ctest_thread_id());
  csched_latch_wait(&sleeper->latch);
}

TEST_UNLESS(QEMU, no_peek, "the record has cancels, drops, wakes and waits") {
  output output = output_open();
  csched_thread *thread = start_thread("recorded");
  csched_target *target = csched_thread_target(thread);
  sleeper sleeper = {.thread = 0};
  uint32_t runner = 0;
  csched_target_async(target, note_thread, &runner);
  wait_until_run(thread);
  CHECK_RESTS(runner);
  CHECK_EQUAL(csched_events_begin(), 0);
  gate gate;
  gate_close(&gate, thread);
  csched_task_cancel(csched_target_async(target, log_b, NULL));
  csched_target_async_after(target, 3600 * 1000 * MS, log_a, NULL);
  gate_open(&gate);
  csched_latch_init(&sleeper.latch, 1);
  crew crew;
  crew_start(&crew, 1, sleep_for_latch, &sleeper);
  CHECK_SOON(atomic_load(&sleeper.thread) != 0);
  CHECK_RESTS(atomic_load(&sleeper.thread));
  csched_latch_count_down(&sleeper.latch, 1);
  crew_join(&crew);
  stop_and_join(thread, CSCHED_STOP_DROP);
  const char *text = next_event(recorded(&output), "Scheduler: the last events of all threads");
  next_event(text, ": wake for loop 0x");
  next_event(next_event(text, ": cancel "), ": log_b of loop 0x");
  next_event(next_event(next_event(text, ": drop "), ": log_a of loop 0x"), ", stopped\n");
  char expected[64];
  snprintf(expected, sizeof expected, ": wait for %p", (void *)&sleeper.latch);
  next_event(text, expected);
  csched_events_end();
  output_close(&output);
}

static void submit_twice(void *said) {
  dup2(((output *)said)->fd, STDERR_FILENO);
  csched_loop *loop = NULL;
  csched_loop_create(&loop);
  csched_job job;
  for (int i = 0; i < 3; i++) {
    csched_job_init(&job, &nothing_type, (void *)0xabc);
    csched_target_submit(csched_loop_target(loop), &job);
    csched_loop_run_ready(loop, SIZE_MAX);
  }
  csched_loop_end_run(loop);
  csched_job_init(&job, &nothing_type, NULL);
  csched_target_submit(csched_loop_target(loop), &job);
  csched_target_submit(csched_loop_target(loop), &job);
}

TEST_UNLESS(QEMU, no_peek, "a misuse message comes first and last, with the record between") {
  static const char *const message = "csched_target_submit: job 0x";
  output said = output_open();
  CHECK_CHILD_STOPS(submit_twice, &said, "");
  const char *text = output_read(&said);
  CHECK_EQUAL(output_count(text, message), 2);
  CHECK(output_says(text, message, "pending already"));
  const char *first = strstr(text, message), *recorded = strstr(text, "context 0xabc");
  CHECK(first != NULL && recorded != NULL && first < recorded && strstr(recorded, message) != NULL);
  output_close(&said);
}
