#include "fork_testing.h"
#include "task_testing.h"

#include "../../Sources/CScheduler/targets/task_job.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

// Tools have memory of their own for each byte, and do not follow a process with threads into its child.
enum {
  NO_MEMORY = SANITIZERS | VALGRIND | QEMU,
  NO_FORK = THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND | QEMU,
};
static const char *const own_memory = "the tool's own memory grows";
static const char *const no_child = "tools do not follow a process with threads into its child";

void count_run(void *context) {
  record *record = context;
  CHECK(csched_now() >= record->earliest);
  atomic_fetch_add(&record->runs, 1);
}

void count_drop(void *context, csched_drop_reason reason) {
  record *record = context;
  atomic_store(&record->reason, (int)reason);
  atomic_fetch_add(&record->drops, 1);
}

csched_task submit_at(csched_target *target, csched_time deadline, record *record) {
  return csched_target_async_at_or_drop(target, CSCHED_CLOCK_MONOTONIC, deadline, 0, count_run, count_drop, record);
}

static csched_task submit_to(csched_target *target, record *record) {
  return csched_target_async_or_drop(target, count_run, count_drop, record);
}

// MARK: exactly once

enum { TASKS = 256 };

typedef struct race {
  record records[TASKS];
  csched_task tasks[TASKS];
  int count;
  uint64_t seed;
  atomic_int won, submitted;
} race;

static void cancel_some(int index, void *context) {
  race *race = context;
  uint64_t seed = race->seed + (uint64_t)index;
  for (int i = 0; i < race->count; i++) {
    int at = index % 2 == 0 ? i : (int)chance_below(&seed, (uint64_t)race->count);
    if (atomic_load_explicit(&race->submitted, memory_order_acquire) <= at) continue;
    bool waits = index % 3 == 2;
    csched_task task = race->tasks[at];
    csched_cancel_result result = waits ? csched_task_cancel_and_wait(task) : csched_task_cancel(task);
    if (result == CSCHED_CANCEL_DROPPED) atomic_fetch_add(&race->won, 1);
    if (waits) CHECK(csched_task_is_over(task));
  }
}

static void task_exactly_once(int cancellers, int tasks, int rounds, uint64_t seed) {
  csched_thread *thread = start_thread("tasks");
  CHECK(tasks <= TASKS);
  for (int round = 0; round < rounds; round++) {
    race race = {.count = tasks, .seed = seed + (uint64_t)round * 64};
    crew crew;
    crew_start(&crew, cancellers, cancel_some, &race);
    for (int i = 0; i < tasks; i++) {
      race.tasks[i] = submit_to(csched_thread_target(thread), &race.records[i]);
      atomic_store_explicit(&race.submitted, i + 1, memory_order_release);
    }
    crew_join(&crew);
    wait_until_run(thread);
    int drops = 0;
    for (int i = 0; i < tasks; i++) {
      drops += atomic_load(&race.records[i].drops);
      CHECK_EQUAL(atomic_load(&race.records[i].runs) + atomic_load(&race.records[i].drops), 1);
      CHECK(csched_task_is_over(race.tasks[i]));
    }
    CHECK_EQUAL(atomic_load(&race.won), drops);
  }
  stop_and_join(thread, CSCHED_STOP_RUN);
}

TEST("a task runs or is dropped, once") { // TK1, TK4, TK5
  task_exactly_once(1, few(256), times(400), seed());
  task_exactly_once(4, few(256), times(400), seed());
}

// MARK: too late

static void task_cancelled_late(int rounds) {
  csched_thread *thread = start_thread("tasks");
  csched_task old[TASKS] = {{NULL, 0}};
  CHECK(csched_task_is_over(old[0]));
  CHECK_EQUAL(csched_task_cancel_and_wait(old[0]), CSCHED_CANCEL_FINISHED);
  for (int round = 0; round < rounds; round++) {
    record records[TASKS] = {0};
    csched_task tasks[TASKS];
    gate gate;
    gate_close(&gate, thread);
    for (int i = 0; i < TASKS; i++) tasks[i] = submit_to(csched_thread_target(thread), &records[i]);
    for (int i = 0; i < TASKS; i++)
      CHECK_EQUAL(csched_task_cancel(old[i]), CSCHED_CANCEL_FINISHED); // in memory of the new ones
    for (int i = 0; i < TASKS; i++) CHECK(!csched_task_is_over(tasks[i]) && csched_task_is_over(old[i]));
    gate_open(&gate);
    wait_until_run(thread);
    for (int i = 0; i < TASKS; i++) CHECK_EQUAL(atomic_load(&records[i].runs), 1);
    memcpy(old, tasks, sizeof old);
  }
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// TK1, TK2
TEST("a task is cancelled late, and nothing happens") { task_cancelled_late(times(200)); }

// MARK: inside

typedef struct inside {
  csched_task task;
  csched_cancel_result found;
  atomic_int began, may_end, ended;
  bool was_over, was_cancelled;
} inside;

static void look_from_run(void *context) {
  inside *inside = context;
  inside->was_over = csched_task_is_over(inside->task) || csched_task_is_cancelled_(inside->task);
  inside->found = csched_task_cancel_and_wait(inside->task);
  inside->was_cancelled = csched_task_is_cancelled_(inside->task) && !csched_task_is_over(inside->task);
  atomic_store(&inside->ended, 1);
}

static void look_from_drop(void *context, csched_drop_reason reason) {
  (void)reason;
  inside *inside = context;
  atomic_store(&inside->began, 1);
  inside->found = csched_task_cancel_and_wait(inside->task);
  inside->was_over = csched_task_is_over(inside->task);
  WAIT_WHILE(!atomic_load(&inside->may_end));
  atomic_store(&inside->ended, 1);
}

static void task_inside(void) {
  csched_thread *thread = start_thread("tasks");
  inside inside = {.found = CSCHED_CANCEL_DROPPED};
  gate gate;
  gate_close(&gate, thread);
  inside.task = csched_target_async(csched_thread_target(thread), look_from_run, &inside);
  gate_open(&gate);
  wait_until_run(thread);
  CHECK(atomic_load(&inside.ended) && !inside.was_over && inside.was_cancelled);
  CHECK_EQUAL(inside.found, CSCHED_CANCEL_RUNNING);
  CHECK(csched_task_is_over(inside.task) && csched_task_is_cancelled_(inside.task));
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// TK4
TEST("a task's own run and drop do not wait for it") { task_inside(); }

static void cancel_it(int index, void *context) {
  inside *inside = context;
  if (index == 0) {
    CHECK_EQUAL(csched_task_cancel(inside->task), CSCHED_CANCEL_DROPPED);
    return;
  }
  WAIT_WHILE(!atomic_load(&inside->began));
  if (index == 1) nap(10 * MS), atomic_store(&inside->may_end, 1);
  else {
    CHECK_EQUAL(csched_task_cancel_and_wait(inside->task), CSCHED_CANCEL_FINISHED);
    CHECK(atomic_load(&inside->ended));
  }
  CHECK(index == 1 || csched_task_is_over(inside->task));
}

static void task_waits_for_drop(int rounds) {
  csched_loop *loop;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  for (int round = 0; round < rounds; round++) {
    inside inside = {.found = CSCHED_CANCEL_DROPPED};
    inside.task = csched_target_async_or_drop(csched_loop_target(loop), look_from_run, look_from_drop, &inside);
    crew crew;
    crew_start(&crew, 4, cancel_it, &inside);
    WAIT_WHILE(!atomic_load(&inside.began));
    if (round % 2 == 0) csched_loop_run_ready(loop, 1); // the queue passes it while it is dropped; or it comes later
    crew_join(&crew);
    csched_loop_run_ready(loop, 1);
    CHECK(inside.found == CSCHED_CANCEL_FINISHED && !inside.was_over);
  }
  csched_loop_destroy(loop);
}

// TK2, TK4
TEST("to cancel a task and wait returns after the drop of another thread") { task_waits_for_drop(times(20)); }

// MARK: drops inside of drops

// The task's drop cancels another task, whose drop runs inside of it. Later queries in the outer drop concern the outer
// task again.
typedef struct nested {
  csched_task task, other;
  record other_record;
  csched_drop_reason given, queried;
  csched_cancel_result found;
  atomic_int drops;
} nested;

static void cancel_other_and_look(void *context, csched_drop_reason reason) {
  nested *nested = context;
  nested->given = reason;
  CHECK_EQUAL(csched_task_cancel(nested->other), CSCHED_CANCEL_DROPPED);
  nested->queried = csched_task_drop_reason_();
  nested->found = csched_task_cancel_and_wait(nested->task);
  atomic_fetch_add(&nested->drops, 1);
}

static void task_drop_nested(csched_drop_reason reason) {
  csched_thread *thread = start_thread("tasks");
  csched_loop *loop;
  nested nested = {.found = CSCHED_CANCEL_DROPPED, .queried = CSCHED_DROP_NO_MEMORY};
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  nested.other = submit_to(csched_loop_target(loop), &nested.other_record);
  gate gate;
  gate_close(&gate, thread);
  nested.task = csched_target_async_or_drop(csched_thread_target(thread), count_run, cancel_other_and_look, &nested);
  if (reason == CSCHED_DROP_CANCELLED) CHECK_EQUAL(csched_task_cancel(nested.task), CSCHED_CANCEL_DROPPED);
  csched_thread_stop(thread, CSCHED_STOP_DROP);
  gate_open(&gate);
  CHECK_SOON(csched_task_is_over(nested.task));
  CHECK(atomic_load(&nested.drops) == 1 && atomic_load(&nested.other_record.drops) == 1);
  CHECK_EQUAL(nested.given, reason);
  CHECK_EQUAL(nested.queried, reason);
  CHECK_EQUAL(nested.found, CSCHED_CANCEL_FINISHED);
  CHECK_EQUAL(atomic_load(&nested.other_record.reason), CSCHED_DROP_CANCELLED);
  csched_thread_join(thread);
  csched_thread_destroy(thread);
  csched_loop_run_ready(loop, 1);
  csched_loop_destroy(loop);
}

TEST("a drop that has cancelled another task is still the drop of its own") { // TK4, TK5
  task_drop_nested(CSCHED_DROP_CANCELLED);
  task_drop_nested(CSCHED_DROP_STOPPED);
}

// MARK: reasons

static void task_drop_reasons(void) {
  csched_thread *thread = start_thread("tasks");
  record cancelled = {.runs = 0}, stopped = {.runs = 0}, refused = {.runs = 0};
  gate gate;
  gate_close(&gate, thread);
  csched_task_cancel(submit_to(csched_thread_target(thread), &cancelled));
  CHECK(atomic_load(&cancelled.drops) == 1 && atomic_load(&cancelled.reason) == CSCHED_DROP_CANCELLED);
  csched_task task = submit_to(csched_thread_target(thread), &stopped);
  csched_thread_stop(thread, CSCHED_STOP_DROP);
  gate_open(&gate);
  CHECK_SOON(atomic_load(&stopped.drops) == 1 && csched_task_is_over(task));
  CHECK_EQUAL(atomic_load(&stopped.reason), CSCHED_DROP_STOPPED);
  task = submit_to(csched_thread_target(thread), &refused);
  CHECK(task.job == NULL && atomic_load(&refused.drops) == 1 && atomic_load(&refused.reason) == CSCHED_DROP_REFUSED);
  csched_thread_join(thread);
  csched_thread_destroy(thread);
}

// TK5
TEST("a drop of a task has a reason") { task_drop_reasons(); }

// A target of one's own that accepts no more work, but submits another task on the way, to a loop that accepts no more
// work either.
typedef struct refusing {
  csched_target target;
  csched_target *closed;
  bool is_delayed; // the other one
  record other;
} refusing;

static int refuse_two(csched_target *target, csched_job *job) {
  refusing *refusing = (struct refusing *)target;
  csched_task other = refusing->is_delayed ? submit_at(refusing->closed, CSCHED_FOREVER, &refusing->other)
                                           : submit_to(refusing->closed, &refusing->other);
  CHECK(other.job == NULL);
  csched_target_discard(job);
  return ECANCELED;
}

static int refuse_two_at(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway) {
  (void)deadline, (void)leeway;
  return refuse_two(target, &timer->job);
}

static void task_refused_in_submission(void) {
  static const csched_target_type type = {.deliver = refuse_two, .deliver_at = refuse_two_at};
  csched_loop *loop;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_loop_close(loop, CSCHED_STOP_DROP);
  refusing refusing = {.target.type = &type, .closed = csched_loop_target(loop)};
  record own[4] = {{.runs = 0}};
  for (int i = 0; i < 4; i++) {
    refusing.is_delayed = i >= 2;
    if (i % 2 == 0) submit_to(&refusing.target, &own[i]);
    else submit_at(&refusing.target, csched_now(), &own[i]);
  }
  CHECK(atomic_load(&refusing.other.drops) == 4 && atomic_load(&refusing.other.reason) == CSCHED_DROP_REFUSED);
  for (int i = 0; i < 4; i++)
    CHECK(atomic_load(&own[i].drops) == 1 && atomic_load(&own[i].reason) == CSCHED_DROP_REFUSED);
  csched_loop_destroy(loop);
}

// TK5
TEST("a task whose submission causes another task's refusal is refused itself") { task_refused_in_submission(); }

// A target that runs its task at once, and meanwhile makes another task, which may reuse the memory of the first.
typedef struct reusing {
  csched_target target;
  record later;
} reusing;

static int run_and_reuse(csched_target *target, csched_job *job) {
  csched_loop *loop;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_target_perform(target, job);
  csched_task later = submit_to(csched_loop_target(loop), &((reusing *)target)->later);
  CHECK(later.job == job); // what this thread has freed last
  csched_loop_destroy(loop);
  return 0;
}

static void task_dropped_in_submission(void) {
  static const csched_target_type type = {.deliver = run_and_reuse};
  reusing reusing = {.target.type = &type};
  record own = {.runs = 0};
  submit_to(&reusing.target, &own);
  CHECK(atomic_load(&own.runs) == 1 && atomic_load(&own.drops) == 0);
  CHECK(atomic_load(&reusing.later.drops) == 1 && atomic_load(&reusing.later.reason) == CSCHED_DROP_STOPPED);
}

TEST("a task that is dropped in another one's submission, in its memory, was not refused") { // TK5
  task_dropped_in_submission();
}

static void note_no_memory(void *context, csched_drop_reason reason) {
  if (reason == CSCHED_DROP_NO_MEMORY) *(bool *)context = true;
}

static void use_up_memory(void *loop) {
  bool is_refused = false;
  struct rlimit limit = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20}; // less than there is
  setrlimit(RLIMIT_AS, &limit);
  csched_task task = {NULL, 0};
  for (int i = 0; i < 1000000 && !is_refused; i++)
    task = csched_target_async_or_drop(csched_loop_target(loop), count_run, note_no_memory, &is_refused);
  _exit(is_refused && csched_task_is_over(task) ? 0 : 3);
}

static void task_no_memory(void) {
  csched_loop *loop;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  CHECK_CHILD(use_up_memory, loop);
  csched_loop_destroy(loop);
}

TEST_UNLESS(NO_FORK, "the tool needs memory, too", "a drop of a task has a reason, when there is no memory") {
  task_no_memory();
}

// MARK: memory

static csched_task submit_never(csched_target *target, record *record) {
  return submit_at(target, CSCHED_FOREVER, record);
}

// In a child, where no other thread allocates meanwhile.
static void burst(void *context) {
  int count = *(int *)context;
  csched_loop *loop;
  record record = {.runs = 0};
  csched_task *tasks = calloc((size_t)count, sizeof *tasks);
  CHECK(csched_loop_create(&loop) == 0 && tasks != NULL);
  memset(tasks, 1, (size_t)count * sizeof *tasks); // resident
  for (int round = 0; round < 4; round++) {
    csched_task (*submit)(csched_target *, struct record *) = round % 2 == 0 ? submit_to : submit_never;
    csched_trim();
    int64_t before = ctest_resident_bytes();
    atomic_store(&record.drops, 0);
    for (int i = 0; i < count; i++) tasks[i] = submit(csched_loop_target(loop), &record);
    for (int i = 0; i < count; i++) csched_task_cancel(tasks[i]);
    csched_loop_run_ready(loop, (size_t)count);
    CHECK_EQUAL(atomic_load(&record.drops), count);
    csched_trim();
    int64_t grown = ctest_resident_bytes() - before;
    CHECK(grown < 2 << 20);
    before = ctest_resident_bytes();
    for (int i = 0; i < count; i++) CHECK_EQUAL(csched_task_cancel(tasks[i]), CSCHED_CANCEL_FINISHED);
    CHECK(ctest_resident_bytes() - before < 2 << 20 && atomic_load(&record.drops) == count);
  }
  atomic_store(&record.runs, 0);
  csched_task task = submit_to(csched_loop_target(loop), &record); // in memory that was given back
  for (int i = 0; i < count; i++) csched_task_cancel(tasks[i]);
  csched_loop_run_ready(loop, 1);
  CHECK(atomic_load(&record.runs) == 1 && csched_task_is_over(task));
  ctest_end_child();
}

static void task_burst(int count) { CHECK_CHILD(burst, &count); }

TEST_UNLESS(NO_MEMORY, own_memory, "a burst of tasks is given back, and late cancels touch nothing") { // TM1, TM2
  task_burst(1000000);
}

static void use_and_end(int index, void *context) {
  (void)index;
  csched_loop *loop;
  record *record = context;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  for (int i = 0; i < 200; i++) submit_to(csched_loop_target(loop), record);
  csched_loop_run_ready(loop, 200);
  csched_loop_destroy(loop);
}

static void begin_and_end_threads(void *context) {
  int threads = *(int *)context;
  record record = {.runs = 0};
  crew_run(4, use_and_end, &record);
  int64_t before = ctest_resident_bytes();
  for (int i = 0; i < threads / 4; i++) crew_run(4, use_and_end, &record);
  CHECK(ctest_resident_bytes() - before < 4 << 20); // later tasks reuse their memory
  CHECK_EQUAL(atomic_load(&record.runs), 200 * (4 + threads / 4 * 4));
  ctest_end_child();
}

static void task_thread_ends(int threads) { CHECK_CHILD(begin_and_end_threads, &threads); }

TEST_UNLESS(NO_MEMORY, own_memory, "other threads use the memory that an ended thread leaves") { // TM3
  task_thread_ends(times(2000));
}

static void use_in_child(void *context) {
  (void)context;
  record record = {.runs = 0};
  use_and_end(0, &record);
  csched_trim();
  use_and_end(0, &record);
  CHECK_EQUAL(atomic_load(&record.runs), 400);
  ctest_end_child();
}

// A drop that runs on another thread does not end in the child: a wait for it is reported.
static void drop_until_set(void *context, csched_drop_reason reason) {
  (void)reason;
  inside *inside = context;
  atomic_store(&inside->began, 1);
  WAIT_WHILE(!atomic_load(&inside->may_end));
}

static void cancel_in_thread(int index, void *context) {
  (void)index;
  CHECK_EQUAL(csched_task_cancel(((inside *)context)->task), CSCHED_CANCEL_DROPPED);
}

static void wait_in_child(void *context) { csched_task_cancel_and_wait(((inside *)context)->task); }

// `passes`: the queue comes to the task while it is dropped, and has done with it before the fork.
static void task_fork_in_drop(bool passes) {
  csched_loop *loop;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  inside inside = {.may_end = 0};
  inside.task = csched_target_async_or_drop(csched_loop_target(loop), look_from_run, drop_until_set, &inside);
  crew crew;
  crew_start(&crew, 1, cancel_in_thread, &inside);
  WAIT_WHILE(!atomic_load(&inside.began));
  if (passes) csched_loop_run_ready(loop, 1);
  CHECK_CHILD_STOPS(wait_in_child, &inside, "orphaned by fork");
  atomic_store(&inside.may_end, 1);
  crew_join(&crew);
  csched_loop_run_ready(loop, 1);
  csched_loop_destroy(loop);
}

TEST_UNLESS(NO_FORK, no_child, "after fork a wait for a drop of the parent stops the process") { // TM4
  task_fork_in_drop(false);
  task_fork_in_drop(true);
}

// A drop that forks ends in the child as in the parent.
static void fork_here(void *context, csched_drop_reason reason) {
  (void)reason;
  *(pid_t *)context = fork();
}

static void task_drop_forks(void) {
  csched_loop *loop;
  pid_t child = -1;
  int status = -1;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_task task = csched_target_async_or_drop(csched_loop_target(loop), count_run, fork_here, &child);
  CHECK_EQUAL(csched_task_cancel(task), CSCHED_CANCEL_DROPPED);
  CHECK_EQUAL(csched_task_cancel_and_wait(task), CSCHED_CANCEL_FINISHED);
  csched_loop_run_ready(loop, 1); // the queue comes to it later
  csched_loop_destroy(loop);
  if (child == 0) _exit(csched_task_is_over(task) ? 0 : 3);
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

// TM4
TEST_UNLESS(NO_FORK, no_child, "a drop that forks ends in the child, too") { task_drop_forks(); }

static void use_until_set(int index, void *context) {
  record record = {.runs = 0};
  while (!atomic_load((atomic_int *)context)) {
    use_and_end(index, &record);
    if (index % 2 == 0) csched_trim();
  }
}

static void task_fork(int forks) {
  atomic_int is_over = 0;
  crew crew;
  crew_start(&crew, 3, use_until_set, &is_over);
  for (int i = 0; i < forks; i++) CHECK_CHILD(use_in_child, NULL);
  atomic_store(&is_over, 1);
  crew_join(&crew);
}

// TM4
TEST_UNLESS(NO_FORK, no_child, "after fork tasks can be made") { task_fork(times(50)); }
