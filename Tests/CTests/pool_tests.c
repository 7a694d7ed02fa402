#include "pool_testing.h"

csched_pool *make_pool(const csched_pool_options *options) {
  csched_pool *pool = NULL;
  if (csched_pool_create(&pool, options) != 0) abort();
  return pool;
}

void end_pool(csched_pool *pool, csched_stop_policy policy) {
  csched_pool_stop(pool, policy);
  CHECK_EQUAL(csched_pool_join(pool), 0);
  csched_pool_destroy(pool);
}

void post(csched_pool *pool, csched_priority priority, probe *probe) {
  CHECK_EQUAL(csched_target_submit(csched_pool_target(pool, priority), job_of(probe)), 0);
}

static void stand(probe *probe) {
  pool_gate *gate = probe->context;
  atomic_fetch_add(&gate->reached, 1);
  while (!atomic_load(&gate->open)) nap(20 * US);
}

void pool_gate_close(pool_gate *gate, csched_pool *pool, int workers) {
  memset(gate, 0, sizeof *gate);
  gate->count = workers;
  for (int i = 0; i < workers; i++) {
    probe_init(&gate->probes[i], stand, gate);
    post(pool, CSCHED_PRIORITY_HIGH, &gate->probes[i]);
  }
  CHECK_SOON(atomic_load(&gate->reached) == workers);
}

void pool_gate_open(pool_gate *gate) {
  atomic_store(&gate->open, 1);
  for (int i = 0; i < gate->count; i++) CHECK_SOON(atomic_load(&gate->probes[i].releases) == 1);
}

// MARK: every job once

typedef struct storm {
  csched_pool *pool;
  probe *probes;
  int jobs;
} storm;

static void check_target(probe *probe) {
  csched_pool *pool = probe->context;
  CHECK(csched_target_current() == csched_pool_target(pool, (csched_priority)(probe->id % 4)));
}

static void submit_many(int index, void *context) {
  storm *test = context;
  for (int i = 0; i < test->jobs; i++) {
    probe *each = &test->probes[index * test->jobs + i];
    probe_init(each, check_target, test->pool);
    each->id = i;
    post(test->pool, (csched_priority)(i % 4), each);
    if (i % 64 == 0) nap(10 * US); // so that the workers go to sleep now and then
  }
}

static void pool_once(int submitters, int jobs, int workers) {
  storm test = {make_pool(&(csched_pool_options){.workers = (size_t)workers}), NULL, jobs};
  test.probes = calloc((size_t)(submitters * jobs), sizeof *test.probes);
  crew_run(submitters, submit_many, &test);
  end_pool(test.pool, CSCHED_STOP_RUN);
  for (int i = 0; i < submitters * jobs; i++) CHECK_PROBE(&test.probes[i], 1, 0);
  free(test.probes);
}

TEST("every job runs once, from any submitter") { // F4, F5, PP1
  static const int workers[] = {0, 1, 5};         // 0: as many as there are processors
  for (int i = 0; i < 3; i++) pool_once(4, times(10000), workers[i]);
}

// One job at a time, each waited for: a wake that is lost is a hang.
static void pool_wakes(int rounds, uint64_t seed) {
  csched_pool *pool = make_pool(NULL);
  for (int i = 0; i < rounds; i++) {
    probe probe;
    probe_init(&probe, NULL, NULL);
    burn(chance_below(&seed, 60) * US); // about as long as a worker searches
    post(pool, (csched_priority)(i % 4), &probe);
    WAIT_WHILE(atomic_load(&probe.releases) == 0);
  }
  end_pool(pool, CSCHED_STOP_RUN);
}

// F1, F2
TEST("a submission wakes a sleeping worker") { pool_wakes(times(10000), seed()); }

static void run_all(void *jobs) { pool_once(3, *(int *)jobs, 0); }

static void pool_on_one_processor(int jobs) { ctest_on_one_processor(run_all, &jobs); }

TEST("one processor runs everything") { pool_on_one_processor(few(2000)); }

static void pool_batch(int batches) {
  enum { SIZE = 50 };
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1, .most_threads = 1});
  probe probes[SIZE];
  csched_job *jobs[SIZE];
  for (int round = 0; round < batches; round++) {
    journal journal = {0};
    for (int i = 0; i < SIZE; i++) {
      probe_init(&probes[i], note, &journal);
      probes[i].id = i;
      jobs[i] = job_of(&probes[i]);
    }
    CHECK_EQUAL(csched_pool_submit_batch(pool, CSCHED_PRIORITY_LOW, jobs, (size_t)(1 + round % SIZE)), 0);
    for (int i = 0; i <= round % SIZE; i++) CHECK_SOON(atomic_load(&probes[i].releases) == 1);
    for (int i = 0; i <= round % SIZE; i++) CHECK_EQUAL(journal.ids[i], i); // one worker: in order
  }
  CHECK_EQUAL(csched_pool_submit_batch(pool, CSCHED_PRIORITY_LOW, NULL, 0), 0);
  csched_pool_stop(pool, CSCHED_STOP_RUN);
  for (int i = 0; i < SIZE; i++) probe_init(&probes[i], NULL, NULL);
  CHECK_EQUAL(csched_pool_submit_batch(pool, CSCHED_PRIORITY_LOW, jobs, SIZE), ECANCELED);
  for (int i = 0; i < SIZE; i++) CHECK_PROBE(&probes[i], 0, 1);
  csched_pool_destroy(pool);
}

TEST("a batch is taken whole and in order, or not at all") { pool_batch(times(200)); }

// MARK: priorities

static void pool_priorities(void) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1, .most_threads = 1});
  pool_gate gate;
  pool_gate_close(&gate, pool, 1);
  journal journal = {0};
  probe probes[8];
  for (int i = 7; i >= 0; i--) {
    probe_init(&probes[i], note, &journal);
    probes[i].id = i;
    post(pool, (csched_priority)(i / 2), &probes[i]);
  }
  pool_gate_open(&gate);
  end_pool(pool, CSCHED_STOP_RUN);
  CHECK_JOURNAL(&journal, "1,0,3,2,5,4,7,6");
}

// PP1
TEST("a higher priority runs first") { pool_priorities(); }

typedef struct flood {
  csched_pool *pool;
  probe high[2], low[3];
  atomic_int rounds, is_over;
  int passed[3];
} flood;

static void again(probe *probe) {
  flood *test = probe->context;
  atomic_fetch_add(&test->rounds, 1);
  if (!atomic_load(&test->is_over))
    csched_target_submit(csched_pool_target(test->pool, CSCHED_PRIORITY_HIGH), job_of(probe));
}

static void note_rounds(probe *probe) {
  flood *test = probe->context;
  test->passed[probe->id] = atomic_load(&test->rounds);
}

// A high-priority job is always ready. The other jobs run all the same, lower priorities later.
static void pool_aging(void) {
  flood test = {.pool = make_pool(&(csched_pool_options){.workers = 1, .most_threads = 1})};
  pool_gate gate;
  pool_gate_close(&gate, test.pool, 1);
  for (int i = 0; i < 3; i++) {
    probe_init(&test.low[i], note_rounds, &test);
    test.low[i].id = i;
    post(test.pool, (csched_priority)(1 + i), &test.low[i]);
  }
  for (int i = 0; i < 2; i++) {
    probe_init(&test.high[i], again, &test);
    post(test.pool, CSCHED_PRIORITY_HIGH, &test.high[i]);
  }
  pool_gate_open(&gate);
  for (int i = 0; i < 3; i++) CHECK_SOON(atomic_load(&test.low[i].releases) == 1);
  atomic_store(&test.is_over, 1);
  end_pool(test.pool, CSCHED_STOP_RUN);
  CHECK(test.passed[0] >= 10 && test.passed[0] <= 20);
  CHECK(test.passed[1] > test.passed[0] && test.passed[1] <= 40);
  CHECK(test.passed[2] > test.passed[1] && test.passed[2] <= 80);
}

// PP1
TEST("a lower priority is not starved") { pool_aging(); }

// One worker, a flood of middle work that is there already, and behind it a queue of low priority, for which a thread
// waits.
typedef struct lending {
  csched_serial *queue;
  atomic_int passed, thread;
  int before; // how many of the flood ran while the thread waited
  int nice;   // nice value of the awaited job
} lending;

static void pass_by(probe *probe) { atomic_fetch_add(&((lending *)probe->context)->passed, 1); }
static void note_passed(void *context) {
  lending *test = context;
  test->before = atomic_load(&test->passed);
  test->nice = getpriority(PRIO_PROCESS, ctest_thread_id());
}
static void note_passed_as_job(probe *probe) { note_passed(probe->context); }
static void wait_for_queue(int index, void *context) {
  lending *test = context;
  (void)index;
  atomic_store(&test->thread, (int)ctest_thread_id());
  CHECK_EQUAL(csched_serial_sync(test->queue, note_passed, test), 0);
}
static void wait_as_job(probe *probe) { wait_for_queue(0, probe->context); }

static void pool_is_helped(csched_priority waiter) {
  enum { FLOOD = 64 };
  static probe flood[FLOOD], first, waits;
  lending test = {.before = -1};
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1, .most_threads = 1});
  csched_pool *others = make_pool(&(csched_pool_options){.workers = 1});
  pool_gate gate;
  pool_gate_close(&gate, pool, 1);
  CHECK_EQUAL(csched_serial_create(&test.queue, csched_pool_target(pool, CSCHED_PRIORITY_LOW)), 0);
  for (int i = 0; i < FLOOD; i++) {
    probe_init(&flood[i], pass_by, &test);
    post(pool, CSCHED_PRIORITY_DEFAULT, &flood[i]);
  }
  probe_init(&first, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(test.queue), job_of(&first)), 0); // the queue is not idle
  probe_init(&waits, wait_as_job, &test);
  post(others, waiter, &waits);
  CHECK_SOON(atomic_load(&waits.releases) == 1); // though the pool's one thread is at the gate
  CHECK(atomic_load(&first.releases) == 1);
  CHECK_EQUAL(test.before, 0);
  pool_gate_open(&gate);
  CHECK_SOON(atomic_load(&test.passed) == FLOOD);
  int base = getpriority(PRIO_PROCESS, ctest_thread_id());
  CHECK_EQUAL(test.nice - base, waiter != CSCHED_PRIORITY_LOW || !csched_pool_has_nice(others) ? 0 : 5);
  csched_serial_destroy(test.queue);
  end_pool(others, CSCHED_STOP_RUN);
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("a thread that waits for a queue runs it at its own priority") {
  pool_is_helped(CSCHED_PRIORITY_HIGH);
  pool_is_helped(CSCHED_PRIORITY_DEFAULT);
  pool_is_helped(CSCHED_PRIORITY_LOW);
}

// As above, for a thread that waits in another way, and donates its priority by request.
static void pool_lends_at_request(csched_priority waiter, bool lends) {
  enum { FLOOD = 64 };
  static probe flood[FLOOD], first;
  lending test = {.before = -1};
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1, .most_threads = 1});
  pool_gate gate;
  pool_gate_close(&gate, pool, 1);
  CHECK_EQUAL(csched_serial_create(&test.queue, csched_pool_target(pool, CSCHED_PRIORITY_LOW)), 0);
  for (int i = 0; i < FLOOD; i++) {
    probe_init(&flood[i], pass_by, &test);
    post(pool, CSCHED_PRIORITY_DEFAULT, &flood[i]);
  }
  probe_init(&first, note_passed_as_job, &test);
  csched_target *queue = csched_serial_target(test.queue);
  CHECK_EQUAL(csched_target_submit(queue, job_of(&first)), 0);
  CHECK(csched_target_lend(queue, waiter) == lends);
  pool_gate_open(&gate);
  CHECK_SOON(atomic_load(&first.releases) == 1);
  if (lends) csched_target_take_back(queue, waiter);
  CHECK_SOON(atomic_load(&test.passed) == FLOOD);
  if (lends) CHECK(test.before <= 1);
  else CHECK(test.before >= 16); // aging alone
  int base = getpriority(PRIO_PROCESS, ctest_thread_id());
  CHECK_EQUAL(test.nice - base, lends || !csched_pool_has_nice(pool) ? 0 : 5);
  csched_serial_destroy(test.queue);
  csched_loop *loop = NULL;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  CHECK(!csched_target_lend(csched_loop_target(loop), CSCHED_PRIORITY_HIGH)); // on no pool
  csched_loop_destroy(loop);
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("a thread that waits in another way donates its priority by request") { // PP1, PP2
  pool_lends_at_request(CSCHED_PRIORITY_DEFAULT, true);
  pool_lends_at_request(CSCHED_PRIORITY_LOW, false);
}

static void read_nice(probe *probe) { probe->id = getpriority(PRIO_PROCESS, ctest_thread_id()); }

static void pool_nice(void) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1, .most_threads = 1});
  int base = getpriority(PRIO_PROCESS, ctest_thread_id());
  static const int above[] = {0, 0, 5, 10, 0};
  for (int i = 0; i < 5; i++) {
    probe probe;
    probe_init(&probe, read_nice, NULL);
    post(pool, (csched_priority)(i % 4), &probe);
    CHECK_SOON(atomic_load(&probe.releases) == 1);
    int nice = csched_pool_has_nice(pool) ? base + above[i] : base;
    CHECK_EQUAL(probe.id, nice < 19 ? nice : 19); // 19: the highest value
  }
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("low priorities run at a higher nice value, where that can be undone") { pool_nice(); }

// A job of low priority that has a lock, for which another thread sleeps.
typedef struct lifting {
  csched_lock lock;
  atomic_int thread, is_over;
} lifting;

static void keep_lock(probe *probe) {
  lifting *test = probe->context;
  csched_lock_lock(&test->lock);
  atomic_store(&test->thread, (int)ctest_thread_id());
  WAIT_WHILE(!atomic_load(&test->is_over));
  csched_lock_unlock(&test->lock);
}
static void want_lock(int index, void *context) {
  (void)index;
  csched_lock_lock(context);
  csched_lock_unlock(context);
}

static void pool_lifts_owner(void) {
  lifting test = {.thread = 0};
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1, .most_threads = 1});
  int base = getpriority(PRIO_PROCESS, ctest_thread_id());
  int above = csched_pool_has_nice(pool) ? 5 : 0;
  for (int round = 0; round < 3; round++) {
    probe keeps, next;
    crew crew;
    atomic_store(&test.is_over, 0);
    atomic_store(&test.thread, 0);
    probe_init(&keeps, keep_lock, &test);
    post(pool, CSCHED_PRIORITY_LOW, &keeps);
    CHECK_SOON(atomic_load(&test.thread) != 0);
    CHECK_EQUAL(getpriority(PRIO_PROCESS, (id_t)atomic_load(&test.thread)) - base, above);
    crew_start(&crew, 1, want_lock, &test.lock);
    CHECK_SOON(getpriority(PRIO_PROCESS, (id_t)atomic_load(&test.thread)) == base);
    atomic_store(&test.is_over, 1);
    crew_join(&crew);
    probe_init(&next, read_nice, NULL);
    post(pool, CSCHED_PRIORITY_LOW, &next);
    CHECK_SOON(atomic_load(&next.releases) == 1);
    CHECK_EQUAL(next.id - base, above); // its own again
  }
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("a sleeper for a lock raises its owner's nice value") { pool_lifts_owner(); }

// MARK: timers

static void pool_timers(int count, uint64_t seed) {
  csched_pool *pool = make_pool(NULL);
  probe *probes = calloc((size_t)count, sizeof *probes), far;
  csched_time *due = calloc((size_t)count, sizeof *due);
  for (int i = 0; i < count; i++) {
    probe_init(&probes[i], check_target, pool);
    probes[i].id = i;
    due[i] = csched_now() + chance_below(&seed, 30000) * US;
    CHECK_EQUAL(csched_target_submit_at(csched_pool_target(pool, (csched_priority)(i % 4)), &probes[i].timer, due[i],
                                        chance_below(&seed, 2) * MS),
                0);
    if (i % 8 == 7) csched_timer_cancel(&probes[i].timer);
  }
  probe_init(&far, NULL, NULL);
  CHECK_EQUAL(
      csched_target_submit_at(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), &far.timer, csched_now() + 60000 * MS, 0),
      0);
  for (int i = 0; i < count; i++) CHECK_SOON(atomic_load(&probes[i].releases) == 1);
  end_pool(pool, CSCHED_STOP_RUN);
  for (int i = 0; i < count; i++) {
    int drops = atomic_load(&probes[i].drops);
    CHECK_PROBE(&probes[i], 1 - drops, drops);
    CHECK(drops == (i % 8 == 7) || due[i] < csched_now() - 30 * MS); // a cancel may come too late
    CHECK(drops == 1 || probes[i].ran_at >= due[i]);
  }
  CHECK_PROBE(&far, 0, 1);
  free(due);
  free(probes);
}

// MN6
TEST("delayed jobs of a pool run, never early") { pool_timers(400, seed()); }
