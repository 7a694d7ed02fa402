// When the memory of a job is the caller's again, for types without a `release`.

#include "pool_testing.h"

// MARK: accesses after the release

static atomic_int touches;

static void touch(csched_job *job) {
  (void)job;
  atomic_fetch_add(&touches, 1);
}
static const csched_job_type trap = {touch, touch, touch};

// As long as a waiter takes to come to its sleep, or less, or more.
static void note_begin(csched_job *job) {
  int begun = 1 + atomic_fetch_add((atomic_int *)job->context, 1);
  burn(((csched_time)(uintptr_t)job >> 4 ^ csched_now() ^ (csched_time)begun) % 16 * US);
}
static void do_nothing(csched_job *job) { (void)job; }
static const csched_job_type noting = {note_begin, do_nothing, NULL};

static void sleep_in_run(csched_job *job) {
  atomic_store((atomic_int *)job->context, 1);
  nap(MS);
}
static const csched_job_type sleeping = {sleep_in_run, do_nothing, NULL};

static csched_job *make_job(atomic_int *begun) {
  csched_job *job = malloc(sizeof *job);
  csched_job_init(job, &noting, begun);
  return job;
}

static void wait_until_idle(const csched_job *job) { WAIT_WHILE(!csched_job_is_idle(job)); }

// The test owns the job's memory. In every second round it is freed at once, so that a sanitizer finds an access. In
// the others it is filled with a pattern that reveals any access before `passed` returns.
static void take_back(csched_job *job, int round, void (*passed)(void *), void *context) {
  if (round % 2 != 0) {
    memset(job, 0xFF, sizeof *job);
    job->type = &trap;
    csched_job filled = *job;
    passed(context);
    CHECK(memcmp(job, &filled, sizeof filled) == 0);
    CHECK_EQUAL(atomic_load(&touches), 0);
  }
  free(job);
}

static void pass_on_thread(void *thread) { wait_until_run(thread); }
static void pass_on_pool(void *pool) {
  (void)pool;
  nap(20 * US);
}

static void await(const atomic_int *begun) { WAIT_WHILE(!atomic_load(begun)); }

static void job_freed_after_wait(int rounds) {
  csched_thread *thread = start_thread("jobs");
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2});
  for (int i = 0; i < rounds; i++) {
    bool is_on_pool = i % 4 >= 2;
    atomic_int begun = 0;
    csched_job *job = make_job(&begun);
    if (is_on_pool) CHECK_EQUAL(csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), job), 0);
    else CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job), 0);
    await(&begun);
    CHECK(csched_job_cancel_and_wait(job) != CSCHED_CANCEL_DROPPED);
    take_back(job, i, is_on_pool ? pass_on_pool : pass_on_thread, is_on_pool ? (void *)pool : (void *)thread);
  }
  end_pool(pool, CSCHED_STOP_RUN);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

static void wait_and_take_back(void *thread) {
  for (int i = 0; i < 20; i++) {
    atomic_int begun = 0;
    csched_job *job = malloc(sizeof *job);
    csched_job_init(job, &sleeping, &begun);
    CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job), 0);
    WAIT_WHILE(!atomic_load(&begun));
    csched_job_cancel_and_wait(job);
    take_back(job, 1, pass_on_thread, thread);
  }
}

static void take_back_on_one_processor(void *unused) {
  (void)unused;
  csched_thread *thread = start_thread("jobs");
  wait_and_take_back(thread);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// The waiter wakes on the runner's processor and continues at once: it owns the memory before the runner's next
// step.
static void job_freed_by_waiter(void) { ctest_on_one_processor(take_back_on_one_processor, NULL); }

typedef struct shared_job {
  csched_job *job;
  atomic_int done;
} shared_job;

static void wait_and_count(int index, void *context) {
  shared_job *shared = context;
  (void)index;
  csched_job_cancel_and_wait(shared->job);
  if (atomic_fetch_add(&shared->done, 1) < 2) return;
  wait_until_idle(shared->job); // one of the three may have cancelled it
  free(shared->job);
}

static void job_freed_by_the_last_waiter(int rounds) {
  csched_thread *thread = start_thread("jobs");
  for (int i = 0; i < rounds; i++) {
    atomic_int begun = 0;
    shared_job shared = {.job = make_job(&begun)};
    crew crew;
    CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), shared.job), 0);
    crew_start(&crew, 3, wait_and_count, &shared);
    crew_join(&crew);
    wait_until_run(thread);
  }
  stop_and_join(thread, CSCHED_STOP_RUN);
}

TEST("a job is freed after cancel and wait") { // J5, J6, J9
  job_freed_after_wait(times(20000));
  job_freed_by_waiter();
  job_freed_by_the_last_waiter(times(1000));
}

// MARK: idle

static void drop_all_and_wait(void *thread) {
  csched_thread_stop(thread, CSCHED_STOP_DROP);
  CHECK_EQUAL(csched_thread_join(thread), 0);
}

static void free_after_drop(int round) {
  csched_thread *thread = start_thread("dropped");
  atomic_int begun = 0;
  gate gate;
  gate_close(&gate, thread);
  csched_job *job = make_job(&begun);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job), 0);
  csched_thread_stop(thread, CSCHED_STOP_DROP);
  atomic_store(&gate.open, 1);
  wait_until_idle(job);
  take_back(job, round, drop_all_and_wait, thread);
  CHECK_EQUAL(csched_thread_join(thread), 0);
  job = make_job(&begun);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job), ECANCELED);
  CHECK(csched_job_is_idle(job)); // refused: at once
  free(job);
  CHECK_EQUAL(atomic_load(&begun), 0);
  csched_thread_destroy(thread);
}

typedef struct repeated {
  csched_job job;
  csched_thread *thread;
  int left;
} repeated;

static void repeat(csched_job *job) {
  repeated *repeated = (struct repeated *)job;
  if (repeated->left-- > 0) csched_target_submit(csched_thread_target(repeated->thread), job);
}
static const csched_job_type repeating = {repeat, do_nothing, NULL};

static void free_after_repetition(csched_thread *thread) {
  repeated *repeated = malloc(sizeof *repeated);
  csched_job_init(&repeated->job, &repeating, NULL);
  repeated->thread = thread;
  repeated->left = 3;
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), &repeated->job), 0);
  wait_until_idle(&repeated->job);
  CHECK_EQUAL(repeated->left, -1);
  free(repeated);
}

static void job_freed_when_idle(int rounds) {
  csched_thread *thread = start_thread("jobs");
  for (int i = 0; i < rounds; i++) {
    atomic_int begun = 0;
    csched_job *job = make_job(&begun);
    CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job), 0);
    wait_until_idle(job); // it has run
    take_back(job, i, pass_on_thread, thread);
    job = make_job(&begun);
    CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job), 0);
    if (csched_job_cancel(job) == CSCHED_CANCEL_DROPPED) CHECK_EQUAL(csched_job_cancel(job), CSCHED_CANCEL_FINISHED);
    wait_until_idle(job); // the queue has come to the cancelled entry
    take_back(job, i, pass_on_thread, thread);
    free_after_repetition(thread);
    if (i % 16 < 2) free_after_drop(i);
  }
  gate gate;
  gate_close(&gate, thread);
  atomic_int begun = 0;
  csched_job *job = make_job(&begun);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job), 0);
  CHECK_EQUAL(csched_job_cancel_and_wait(job), CSCHED_CANCEL_DROPPED);
  CHECK(!csched_job_is_idle(job)); // linked still
  gate_open(&gate);
  wait_until_idle(job);
  take_back(job, 1, pass_on_thread, thread);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// MARK: used again

// A run posts before the end of its use, so the next use waits for that post.
static void job_used_again_when_idle(int times) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2});
  atomic_int begun = 0;
  csched_job job;
  for (int i = 1; i <= times; i++) {
    csched_job_init(&job, &noting, &begun);
    CHECK_EQUAL(csched_target_submit(csched_pool_target(pool, (csched_priority)(i % 4)), &job), 0);
    WAIT_WHILE(atomic_load(&begun) < i);
    if (i % 3 == 0) csched_job_cancel_and_wait(&job);
    else wait_until_idle(&job);
  }
  CHECK_EQUAL(atomic_load(&begun), times);
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("a job is freed when it is idle") { // J4, J9
  job_freed_when_idle(times(2000));
  job_used_again_when_idle(times(20000));
}

typedef struct endless {
  csched_job job;
  csched_thread *thread;
  atomic_int begun, is_over;
} endless;

static void run_for_long(csched_job *job) {
  atomic_fetch_add(&((endless *)job)->begun, 1);
  nap(2 * MS);
}
static const csched_job_type long_running = {run_for_long, do_nothing, NULL};

static void submit_on_and_on(int index, void *context) {
  endless *endless = context;
  (void)index;
  while (!atomic_load(&endless->is_over))
    if (csched_job_is_idle(&endless->job))
      CHECK_EQUAL(csched_target_submit(csched_thread_target(endless->thread), &endless->job), 0);
  wait_until_idle(&endless->job);
}

// The job is almost never idle: a waiter that only polls for an idle job would wait for ever.
static void job_wait_among_runs(int waits) {
  endless endless = {.thread = start_thread("jobs")};
  csched_job_init(&endless.job, &long_running, NULL);
  crew crew;
  crew_start(&crew, 1, submit_on_and_on, &endless);
  for (int i = 0; i < waits; i++) {
    int begun = atomic_load(&endless.begun);
    WAIT_WHILE(atomic_load(&endless.begun) == begun);
    csched_job_cancel_and_wait(&endless.job); // at the beginning of a run
  }
  atomic_store(&endless.is_over, 1);
  crew_join(&crew);
  stop_and_join(endless.thread, CSCHED_STOP_RUN);
}

// J5, J6
TEST("a waiter is not kept by a job that runs again and again") { job_wait_among_runs(times(500)); }

static const csched_job_type nothing = {do_nothing, do_nothing, NULL};

static void use_again(csched_job *job) {
  csched_job_init(job, &nothing, job->context);
  csched_target_submit(csched_thread_target(*(csched_thread **)job->context), job);
}
static const csched_job_type using_again = {use_again, do_nothing, NULL};

TEST_STOPS("a job that is initialised while it is in use stops the process",
           "csched_job_init:", "was initialised while it was in use") {
  csched_thread *thread = start_thread("jobs");
  csched_job job;
  csched_job_init(&job, &using_again, &thread);
  csched_target_submit(csched_thread_target(thread), &job);
  wait_until_run(thread);
}

TEST_STOPS("a job that is initialised while it is in a queue stops the process",
           "csched_job_init:", "was initialised while it was in use") {
  csched_thread *thread = start_thread("jobs");
  gate gate;
  gate_close(&gate, thread);
  csched_job job;
  csched_job_init(&job, &nothing, NULL);
  csched_target_submit(csched_thread_target(thread), &job);
  csched_job_init(&job, &nothing, NULL);
  gate_open(&gate);
  wait_until_run(thread);
}

// MARK: timers

static void note_slowly(csched_job *job) {
  atomic_store((atomic_int *)job->context, 1);
  burn(20 * US);
  atomic_store((atomic_int *)job->context, 2);
}
static const csched_job_type slow = {note_slowly, do_nothing, NULL};

static csched_timer *make_timer(atomic_int *begun) {
  csched_timer *timer = malloc(sizeof *timer);
  csched_timer_init(timer, &slow, begun);
  return timer;
}

static void timer_freed_after_wait(int rounds, uint64_t seed) {
  csched_thread *thread = start_thread("timers");
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2});
  for (int i = 0; i < rounds; i++) {
    atomic_int begun = 0;
    csched_timer *timer = make_timer(&begun);
    CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), timer, csched_now() + 60000 * MS, 0), 0);
    CHECK_EQUAL(csched_timer_cancel_and_wait(timer), CSCHED_CANCEL_DROPPED);
    CHECK(csched_job_is_idle(&timer->job)); // at once
    free(timer);

    timer = make_timer(&begun);
    csched_time due = csched_now() + chance_below(&seed, 60) * US;
    if (i % 2 == 0) CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), timer, due, 0), 0);
    else CHECK_EQUAL(csched_target_submit_at(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), timer, due, 0), 0);
    if (i % 4 < 2) await(&begun);
    else burn(chance_below(&seed, 60) * US);
    csched_cancel_result result = csched_timer_cancel_and_wait(timer);
    if (result == CSCHED_CANCEL_DROPPED) wait_until_idle(&timer->job); // it may have been on its way
    CHECK_EQUAL(atomic_load(&begun), result == CSCHED_CANCEL_DROPPED ? 0 : 2);
    free(timer);
  }
  end_pool(pool, CSCHED_STOP_RUN);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// W5
TEST("a timer is freed after cancel and wait") { timer_freed_after_wait(times(2000), seed()); }

// The owner of a timer drops it and is freed. Then the timer is used again.

typedef void leave_timer(csched_timer *timer);

static void leave_on_loop(csched_timer *timer) {
  csched_loop *loop = NULL;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), timer, csched_now() + 60000 * MS, 0), 0);
  csched_loop_destroy(loop);
}

static void leave_on_thread(csched_timer *timer) {
  csched_thread *thread = start_thread("left");
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), timer, csched_now() + 60000 * MS, 0), 0);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

static void leave_on_pool(csched_timer *timer) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1});
  CHECK_EQUAL(
      csched_target_submit_at(csched_pool_target(pool, CSCHED_PRIORITY_LOW), timer, csched_now() + 60000 * MS, 0), 0);
  end_pool(pool, CSCHED_STOP_RUN);
}

static void leave_cancelled(csched_timer *timer) {
  csched_loop *loop = NULL;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), timer, CSCHED_FOREVER, 0), 0);
  CHECK_EQUAL(csched_timer_cancel(timer), CSCHED_CANCEL_DROPPED);
  csched_loop_destroy(loop);
}

static void leave_run(csched_timer *timer) {
  csched_loop *loop = NULL;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), timer, csched_now() + MS, 0), 0);
  CHECK(csched_loop_run_once(loop, CSCHED_FOREVER));
  csched_loop_destroy(loop);
}

typedef int submit_timer(csched_loop *loop, csched_timer *timer);

static int submit_far(csched_loop *loop, csched_timer *timer) {
  return csched_target_submit_at(csched_loop_target(loop), timer, csched_now() + 60000 * MS, 0);
}
static int submit_never(csched_loop *loop, csched_timer *timer) {
  return csched_target_submit_at(csched_loop_target(loop), timer, CSCHED_FOREVER, 0);
}
static int submit_late(csched_loop *loop, csched_timer *timer) {
  return csched_target_submit_at(csched_loop_target(loop), timer, csched_now(), 0);
}
static int submit_as_job(csched_loop *loop, csched_timer *timer) {
  return csched_target_submit(csched_loop_target(loop), &timer->job);
}
static int submit_late_by_clock(csched_loop *loop, csched_timer *timer) {
  return csched_target_submit_at_clock(csched_loop_target(loop), CSCHED_CLOCK_BOOT, timer, 0, 0);
}
static int submit_far_by_clock(csched_loop *loop, csched_timer *timer) {
  csched_time due = csched_clock_now(CSCHED_CLOCK_WALL) + 60000 * MS;
  return csched_target_submit_at_clock(csched_loop_target(loop), CSCHED_CLOCK_WALL, timer, due, 0);
}

static void timer_after_its_loop(void) {
  static leave_timer *const leave[] = {leave_on_loop, leave_on_thread, leave_on_pool, leave_cancelled, leave_run};
  static submit_timer *const submit[] = {submit_far,    submit_never,         submit_late,
                                         submit_as_job, submit_late_by_clock, submit_far_by_clock};
  for (size_t i = 0; i < sizeof leave / sizeof *leave; i++)
    for (size_t j = 0; j < sizeof submit / sizeof *submit; j++) {
      csched_loop *loop = NULL;
      probe probe;
      probe_init(&probe, NULL, NULL);
      leave[i](&probe.timer);
      CHECK_EQUAL(atomic_load(&probe.releases), 1);
      CHECK_EQUAL(csched_timer_cancel(&probe.timer), CSCHED_CANCEL_FINISHED); // and does not read the freed owner
      CHECK_EQUAL(csched_loop_create(&loop), 0);
      CHECK(!csched_loop_rearm(loop, &probe.timer, 0));
      CHECK_EQUAL(submit[j](loop, &probe.timer), 0);
      CHECK_EQUAL(csched_timer_cancel(&probe.timer), CSCHED_CANCEL_DROPPED);
      CHECK_EQUAL(csched_timer_cancel_and_wait(&probe.timer), CSCHED_CANCEL_FINISHED);
      csched_loop_run_ready(loop, 10); // dequeues the overdue timer
      CHECK_EQUAL(atomic_load(&probe.releases), 2);
      CHECK(csched_job_is_idle(job_of(&probe)));
      csched_loop_destroy(loop);
    }
}

// W6
TEST("a timer outlives its loop and is cancelled on another") { timer_after_its_loop(); }
