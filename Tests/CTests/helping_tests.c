#include "output_testing.h"
#include "pool_testing.h"

#include <CScheduler/dump.h>

// Waits for queues on a pool whose threads are all in such waits, or in others.

/// The base of a test's queue: a pool, a queue, a limit, or a limit's barriers.
typedef enum base_kind { ON_POOL, ON_SERIAL, ON_LIMIT_OF_ONE, ON_LIMIT_OF_TWO, ON_BARRIERS, BASES } base_kind;

typedef struct waits {
  csched_pool *pool;
  csched_serial *under, *queue;
  csched_limit *limit;
  long unguarded; // the queue guards it
  atomic_int refused;
} waits;

static void waits_begin(waits *self, base_kind kind, size_t threads) {
  *self = (waits){.pool = make_pool(&(csched_pool_options){.workers = threads, .most_threads = threads})};
  csched_target *base = csched_pool_target(self->pool, CSCHED_PRIORITY_DEFAULT);
  if (kind == ON_SERIAL) {
    CHECK_EQUAL(csched_serial_create(&self->under, base), 0);
    base = csched_serial_target(self->under);
  } else if (kind != ON_POOL) {
    CHECK_EQUAL(csched_limit_create(&self->limit, base, kind == ON_LIMIT_OF_ONE ? 1 : 2), 0);
    base = kind == ON_BARRIERS ? csched_limit_barrier_target(self->limit) : csched_limit_target(self->limit);
  }
  CHECK_EQUAL(csched_serial_create(&self->queue, base), 0);
}

static void waits_end(waits *self) {
  csched_serial_destroy(self->queue);
  if (self->under != NULL) csched_serial_destroy(self->under);
  if (self->limit != NULL) csched_limit_destroy(self->limit);
  end_pool(self->pool, CSCHED_STOP_RUN);
}

static void add_one(void *context) { ((waits *)context)->unguarded++; }
static void add_one_as_job(probe *probe) { add_one(probe->context); }
static void sync_in_job(probe *probe) {
  waits *test = probe->context;
  if (csched_serial_sync(test->queue, add_one, test) != 0) atomic_fetch_add(&test->refused, 1);
}

// Many jobs of the pool sync with one queue, which has jobs of its own between.
static void all_jobs_sync(base_kind kind, size_t threads, int jobs) {
  waits test;
  waits_begin(&test, kind, threads);
  probe *syncing = calloc((size_t)jobs, sizeof *syncing), *between = calloc((size_t)jobs, sizeof *between);
  for (int i = 0; i < jobs; i++) {
    probe_init(&syncing[i], sync_in_job, &test);
    probe_init(&between[i], add_one_as_job, &test);
    if (i % 3 == 0) CHECK_EQUAL(csched_target_submit(csched_serial_target(test.queue), job_of(&between[i])), 0);
    post(test.pool, (csched_priority)(i % 4), &syncing[i]);
    if (i % 3 == 1) CHECK_EQUAL(csched_target_submit(csched_serial_target(test.queue), job_of(&between[i])), 0);
  }
  for (int i = 0; i < jobs; i++) {
    CHECK_SOON(atomic_load(&syncing[i].releases) == 1);
    if (i % 3 != 2) CHECK_SOON(atomic_load(&between[i].releases) == 1);
  }
  CHECK_EQUAL(atomic_load(&test.refused), 0);
  CHECK_EQUAL(test.unguarded, jobs + (jobs + 2) / 3 + (jobs + 1) / 3);
  waits_end(&test);
  free(syncing);
  free(between);
}

static void all_bases(void *unused) {
  (void)unused;
  for (int kind = 0; kind < BASES; kind++)
    for (size_t threads = 1; threads <= 3; threads++) all_jobs_sync((base_kind)kind, threads, times(300));
}

// HL1, LM10, SQ1, SQ10, SQ11
TEST("jobs of a pool that sync with one queue need no further thread") { all_bases(NULL); }
TEST("jobs of a pool that sync with one queue need no further thread, on one processor") {
  ctest_on_one_processor(all_bases, NULL);
}

// All threads of the pool wait for something else. Jobs submitted to the queue before run on the thread that waits
// for it.
static void wait_beside_blocked(base_kind kind) {
  waits test;
  pool_gate gate;
  probe before[100];
  waits_begin(&test, kind, 2);
  pool_gate_close(&gate, test.pool, 2);
  for (int i = 0; i < 100; i++) {
    probe_init(&before[i], add_one_as_job, &test);
    CHECK_EQUAL(csched_target_submit(csched_serial_target(test.queue), job_of(&before[i])), 0);
  }
  CHECK_EQUAL(csched_serial_sync(test.queue, add_one, &test), 0);
  CHECK_EQUAL(test.unguarded, 101);
  pool_gate_open(&gate);
  waits_end(&test);
}

TEST("a sync needs no thread of a pool whose threads are blocked") { // HL1, SQ10
  for (int kind = 0; kind < BASES; kind++) wait_beside_blocked((base_kind)kind);
}

// MARK: a limit

typedef struct meeting {
  waits waits;
  atomic_int arrived;
} meeting;
static void sync_together(probe *probe) {
  meeting *test = probe->context;
  atomic_fetch_add(&test->arrived, 1);
  WAIT_WHILE(atomic_load(&test->arrived) < 2); // both permits are in use
  CHECK_EQUAL(csched_serial_sync(test->waits.queue, add_one, &test->waits), 0);
}

TEST("waits inside of all permits of a limit, for a queue on the limit, end") { // LM10
  for (int i = 0; i < times(100); i++) {
    meeting test = {.arrived = 0};
    probe jobs[2];
    waits_begin(&test.waits, ON_LIMIT_OF_TWO, 2);
    for (int each = 0; each < 2; each++) {
      probe_init(&jobs[each], sync_together, &test);
      CHECK_EQUAL(csched_target_submit(csched_limit_target(test.waits.limit), job_of(&jobs[each])), 0);
    }
    for (int each = 0; each < 2; each++) CHECK_SOON(atomic_load(&jobs[each].releases) == 1);
    CHECK_EQUAL(test.waits.unguarded, 2);
    waits_end(&test.waits);
  }
}

// A job of a limit waits for a queue on the limit, behind a barrier, which waits for the job.
typedef struct behind {
  csched_limit *limit, *inner; // the queue is on `inner`, if there is one
  csched_serial *queue;
  probe job, before, barrier;
  int next, first, second, third; // the numbers of the three
} behind;
static void note_first(probe *probe) {
  behind *test = probe->context;
  test->first = ++test->next;
}
static void note_second(void *context) {
  behind *test = context;
  test->second = ++test->next;
}
static void note_third(probe *probe) {
  behind *test = probe->context;
  test->third = ++test->next;
}
static void sync_behind(probe *probe) {
  behind *test = probe->context;
  CHECK_EQUAL(csched_target_submit(csched_limit_barrier_target(test->limit), job_of(&test->barrier)), 0);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(test->queue), job_of(&test->before)), 0);
  CHECK_EQUAL(csched_serial_sync(test->queue, note_second, test), 0);
}

static void wait_behind_barrier(size_t threads, int most, bool has_inner) {
  behind test = {.next = 0};
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = threads, .most_threads = threads});
  CHECK_EQUAL(csched_limit_create(&test.limit, csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), most), 0);
  csched_target *base = csched_limit_target(test.limit);
  if (has_inner) CHECK_EQUAL(csched_limit_create(&test.inner, base, 2), 0);
  CHECK_EQUAL(csched_serial_create(&test.queue, has_inner ? csched_limit_target(test.inner) : base), 0);
  probe_init(&test.job, sync_behind, &test);
  probe_init(&test.before, note_first, &test);
  probe_init(&test.barrier, note_third, &test);
  CHECK_EQUAL(csched_target_submit(base, job_of(&test.job)), 0);
  CHECK_SOON(atomic_load(&test.job.releases) == 1 && atomic_load(&test.barrier.releases) == 1);
  CHECK(test.first == 1 && test.second == 2 && test.third == 3);
  csched_serial_destroy(test.queue);
  if (has_inner) csched_limit_destroy(test.inner);
  csched_limit_destroy(test.limit);
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("a wait inside of a limit, for a queue on the limit, ends before a barrier that came between") {
  for (int i = 0; i < times(50); i++)
    for (size_t threads = 1; threads <= 2; threads++) {
      wait_behind_barrier(threads, 2, false);
      wait_behind_barrier(threads, 3, true);
    }
}

// MARK: a wait around other waits

typedef struct around {
  waits waits;
  csched_serial *own, *busy; // the helper is inside of `own`; the main thread holds `busy`
  probe job, first;
} around;
static void do_nothing(void *unused) { (void)unused; }
static void
wait_and_suspend(probe *probe) { // a job that the helper runs: it waits itself, then lets the helper's wait continue
  around *test = probe->context;
  CHECK_EQUAL(csched_serial_sync(test->busy, do_nothing, NULL), 0);
  csched_serial_suspend(test->waits.queue);
}
static void wait_inside(void *context) {
  around *test = context;
  CHECK_EQUAL(csched_target_submit(csched_serial_target(test->waits.queue), job_of(&test->first)), 0);
  CHECK_EQUAL(csched_serial_sync(test->waits.queue, do_nothing, NULL), 0);
}
static void wait_in_own(probe *probe) {
  CHECK_EQUAL(csched_serial_sync(((around *)probe->context)->own, wait_inside, probe->context), 0);
}

// Returns: whether a thread that is inside of `own` is recorded as waiting for `other`, for the detection of deadlocks
// and for dumps.
static bool is_recorded(const around *test, const csched_serial *other, output *output) {
  char expected[64];
  const csched_target *target = csched_serial_target((csched_serial *)(uintptr_t)other);
  snprintf(expected, sizeof expected, "waits in csched_serial_sync for %p", (const void *)target);
  output_empty(output);
  CHECK_EQUAL(csched_dump(output->fd), 0);
  return csched_serial_target(test->own)->waits_for == target && output_count(output_read(output), expected) == 1;
}

TEST_UNLESS(THREAD_SANITIZER, "it reads what a thread records for itself",
            "a wait is recorded again after a wait of a job that its thread ran meanwhile") {
  around test;
  output output = output_open();
  csched_target_inside inside;
  waits_begin(&test.waits, ON_POOL, 1);
  CHECK_EQUAL(csched_serial_create(&test.own, csched_pool_target(test.waits.pool, CSCHED_PRIORITY_DEFAULT)), 0);
  CHECK_EQUAL(csched_serial_create(&test.busy, csched_pool_target(test.waits.pool, CSCHED_PRIORITY_DEFAULT)), 0);
  CHECK(csched_serial_try_enter(test.busy, &inside));
  probe_init(&test.job, wait_in_own, &test);
  probe_init(&test.first, wait_and_suspend, &test);
  post(test.waits.pool, CSCHED_PRIORITY_DEFAULT, &test.job);
  CHECK_SOON(is_recorded(&test, test.busy, &output));
  csched_serial_leave(test.busy, &inside);
  CHECK_SOON(is_recorded(&test, test.waits.queue, &output));
  csched_serial_resume(test.waits.queue);
  CHECK_SOON(atomic_load(&test.job.releases) == 1);
  CHECK(csched_serial_target(test.own)->waits_for == NULL);
  csched_serial_destroy(test.own);
  csched_serial_destroy(test.busy);
  waits_end(&test.waits);
  output_close(&output);
}

// MARK: the contexts of a helper's job

typedef struct helper {
  waits waits;
  csched_serial *own; // the helper is inside of it
  csched_loop *loop;  // the helper's
  probe job;
  int inside, at_own, at_loop;
} helper;
static void nothing(void *unused) { (void)unused; }
static void look_around(probe *probe) {
  helper *test = probe->context;
  test->inside = csched_target_is_inside(csched_serial_target(test->own)) +
                 csched_target_is_inside(csched_loop_target(test->loop));
  CHECK(csched_target_current() == csched_serial_target(test->waits.queue));
  test->at_own = csched_serial_sync(test->own, nothing, NULL);
  csched_serial *on_loop;
  CHECK_EQUAL(csched_serial_create(&on_loop, csched_loop_target(test->loop)), 0);
  test->at_loop = csched_serial_sync(on_loop, nothing, NULL);
  csched_serial_destroy(on_loop);
}
static void look_from_sync(void *context) {
  helper *test = context; // the body of the helper's own sync is inside of the helper's contexts
  CHECK(csched_target_is_inside(csched_serial_target(test->own)) &&
        csched_target_is_inside(csched_loop_target(test->loop)));
}
static void help_inside(void *context) {
  helper *test = context;
  CHECK_EQUAL(csched_target_submit(csched_serial_target(test->waits.queue), job_of(&test->job)), 0);
  CHECK_EQUAL(csched_serial_sync(test->waits.queue, look_from_sync, test), 0);
  csched_loop_end_run(test->loop);
}
static void help_in_loop(probe *probe) {
  CHECK_EQUAL(csched_serial_sync(((helper *)probe->context)->own, help_inside, probe->context), 0);
}

TEST("a job that a helper runs is not inside of the helper's contexts, and cannot wait for them") { // HL2
  for (int kind = 0; kind < BASES; kind++) {
    helper test = {.inside = -1};
    pool_gate gate;
    probe first;
    waits_begin(&test.waits, (base_kind)kind, 1);
    pool_gate_close(&gate, test.waits.pool, 1);
    CHECK_EQUAL(csched_loop_create(&test.loop), 0);
    csched_pool *other = make_pool(NULL);
    CHECK_EQUAL(csched_serial_create(&test.own, csched_pool_target(other, CSCHED_PRIORITY_DEFAULT)), 0);
    probe_init(&test.job, look_around, &test);
    probe_init(&first, help_in_loop, &test);
    CHECK_EQUAL(csched_target_submit(csched_loop_target(test.loop), job_of(&first)), 0);
    csched_loop_run(test.loop);
    CHECK_EQUAL(test.inside, 0);
    CHECK_EQUAL(test.at_own, EDEADLK);
    CHECK_EQUAL(test.at_loop, EDEADLK);
    pool_gate_open(&gate);
    csched_serial_destroy(test.own);
    csched_loop_destroy(test.loop);
    waits_end(&test.waits);
    end_pool(other, CSCHED_STOP_RUN);
  }
}

static void end_thread(probe *unused) {
  (void)unused;
  pthread_exit(NULL);
}

TEST_STOPS("a job that ends the thread of a helper stops the process",
           "csched_serial_sync: a job that ran while this thread waited for its queue ended by") { // HL3
  static waits test; // static: the end of this thread leaves its stack, which others have used
  static pool_gate gate;
  static probe leaving;
  waits_begin(&test, ON_POOL, 1);
  pool_gate_close(&gate, test.pool, 1);
  probe_init(&leaving, end_thread, NULL);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(test.queue), job_of(&leaving)), 0);
  csched_serial_sync(test.queue, add_one, &test);
}

static void nap_as_job(probe *probe) {
  nap(1 * MS); // a cancellation point
  add_one_as_job(probe);
}
static void *sync_though_cancelled(void *context) {
  waits *test = context;
  pthread_cancel(pthread_self());
  CHECK_EQUAL(csched_serial_sync(test->queue, add_one, test), 0);
  CHECK_EQUAL(test->unguarded, 2);
  pthread_testcancel();
  return NULL;
}

TEST("a helper's thread that is cancelled ends after its sync") { // HL3
  for (int kind = 0; kind < BASES; kind++) {
    waits test;
    pool_gate gate;
    probe before;
    pthread_t thread;
    void *result = NULL;
    waits_begin(&test, (base_kind)kind, 1);
    pool_gate_close(&gate, test.pool, 1);
    probe_init(&before, nap_as_job, &test);
    CHECK_EQUAL(csched_target_submit(csched_serial_target(test.queue), job_of(&before)), 0);
    CHECK_EQUAL(pthread_create(&thread, NULL, sync_though_cancelled, &test), 0);
    pthread_join(thread, &result);
    CHECK(result == PTHREAD_CANCELED);
    pool_gate_open(&gate);
    waits_end(&test);
  }
}

// MARK: stop, suspension

static void stop_pool(int index, void *context) {
  (void)index;
  csched_pool_stop(((waits *)context)->pool, CSCHED_STOP_DROP);
}
static void sync_until_refused(int index, void *context) {
  waits *test = context;
  if (index == 0) {
    nap(1 * MS);
    stop_pool(index, context);
  } else {
    while (csched_serial_sync(test->queue, add_one, test) == 0) {}
    atomic_fetch_add(&test->refused, 1);
  }
}

static void sync_in_worker(probe *probe) {
  while (csched_serial_sync(((waits *)probe->context)->queue, add_one, probe->context) == 0) {}
}

TEST("syncs during a stop of the pool end, or are refused") { // SQ6, SQ7, SQ10
  for (int i = 0; i < times(50); i++)
    for (int kind = 0; kind < BASES; kind++) {
      waits test;
      probe worker;
      waits_begin(&test, (base_kind)kind, 1);
      probe_init(&worker, sync_in_worker, &test);
      post(test.pool, CSCHED_PRIORITY_DEFAULT, &worker);
      crew_run(4, sync_until_refused, &test);
      CHECK_EQUAL(atomic_load(&test.refused), 3);
      CHECK_SOON(atomic_load(&worker.releases) == 1);
      waits_end(&test);
    }
}

static void resume_or_sync(int index, void *context) {
  waits *test = context;
  for (int i = 0; i < 200; i++) {
    if (index > 0) {
      CHECK_EQUAL(csched_serial_sync(test->queue, add_one, test), 0);
      continue;
    }
    csched_serial_suspend(test->queue);
    if (i % 3 == 0) sched_yield();
    csched_serial_resume(test->queue);
  }
}

TEST("syncs during suspensions end") { // SQ3, SQ10
  for (int i = 0; i < times(20); i++)
    for (int kind = 0; kind < BASES; kind++) {
      waits test;
      waits_begin(&test, (base_kind)kind, 2);
      crew_run(4, resume_or_sync, &test);
      CHECK_EQUAL(test.unguarded, 600);
      waits_end(&test);
    }
}
