#include "pool_testing.h"

// A stop with CSCHED_STOP_RUN beside submissions: jobs accepted before it run, wherever they wait.

typedef enum nesting {
  QUEUE,
  QUEUE_ON_QUEUE,
  LIMIT_OF_ONE,
  LIMIT_OF_THREE,
  QUEUE_ON_LIMIT,
  LIMIT_ON_QUEUE,
  LIMIT_ON_LIMIT,
  QUEUE_ON_QUEUE_ON_LIMIT,
  NESTINGS
} nesting;

enum { JOBS = 3000, SUBMITTERS = 3 };

typedef struct counted {
  csched_job job;
  struct stopping *test;
  atomic_int runs, drops;
  bool was_accepted, was_before; ///< the submission returned 0; and did so before the stop
} counted;

typedef struct stopping {
  csched_pool *pool; // NULL: `thread`
  csched_thread *thread;
  csched_target *root, *target, *barriers; // `barriers`: NULL: none
  csched_limit *limits[2];
  csched_serial *queues[2];
  csched_stop_policy policy;
  bool feeds; ///< jobs submit themselves again, without an end
  counted jobs[SUBMITTERS][JOBS];
  atomic_int is_stopped, may_stop, submitted, fed;
} stopping;

static void run_counted(csched_job *job) {
  counted *counted = job->context;
  atomic_fetch_add(&counted->runs, 1);
}
static void drop_counted(csched_job *job) { atomic_fetch_add(&((counted *)job->context)->drops, 1); }
static const csched_job_type counted_type = {.run = run_counted, .drop = drop_counted};

// Does: submits a further job from inside of a job, for ever.
static void feed(csched_job *job);
static void free_fed(csched_job *job) { free(job); }
static const csched_job_type fed_type = {.run = feed, .release = free_fed};
static void feed(csched_job *job) {
  stopping *test = job->context;
  csched_job *next = malloc(sizeof *next);
  csched_job_init(next, &fed_type, test);
  atomic_fetch_add(&test->fed, 1);
  csched_target_submit(test->target, next);
}

static void add_limit(stopping *test, int index, int most) {
  CHECK_EQUAL(csched_limit_create(&test->limits[index], test->target, most), 0);
  test->target = csched_limit_target(test->limits[index]);
  test->barriers = csched_limit_barrier_target(test->limits[index]);
}
static void add_queue(stopping *test, int index) {
  CHECK_EQUAL(csched_serial_create(&test->queues[index], test->target), 0);
  test->target = csched_serial_target(test->queues[index]);
  test->barriers = NULL;
}

static void make_nesting(stopping *test, nesting nesting) {
  test->target = test->root;
  switch (nesting) {
  case QUEUE: return add_queue(test, 0);
  case QUEUE_ON_QUEUE: return add_queue(test, 0), add_queue(test, 1);
  case LIMIT_OF_ONE: return add_limit(test, 0, 1);
  case LIMIT_OF_THREE: return add_limit(test, 0, 3);
  case QUEUE_ON_LIMIT: return add_limit(test, 0, 2), add_queue(test, 0);
  case LIMIT_ON_QUEUE: return add_queue(test, 0), add_limit(test, 0, 2);
  case LIMIT_ON_LIMIT: return add_limit(test, 0, 3), add_limit(test, 1, 2);
  case QUEUE_ON_QUEUE_ON_LIMIT: return add_limit(test, 0, 2), add_queue(test, 0), add_queue(test, 1);
  case NESTINGS: break;
  }
}

static void end_nesting(stopping *test) {
  for (int i = 0; i < 2; i++)
    if (test->queues[i] != NULL) csched_serial_destroy(test->queues[i]);
  for (int i = 0; i < 2; i++)
    if (test->limits[i] != NULL) csched_limit_destroy(test->limits[i]);
}

static void do_nothing(void *unused) { (void)unused; }

static void submit_counted(int index, void *context) {
  stopping *test = context;
  bool is_queue = csched_target_current() == NULL && test->queues[0] != NULL;
  for (int i = 0; i < JOBS; i++) {
    counted *each = &test->jobs[index][i];
    bool is_barrier = test->barriers != NULL && i % 7 == 3;
    each->was_accepted = csched_target_submit(is_barrier ? test->barriers : test->target, &each->job) == 0;
    each->was_before = each->was_accepted && !atomic_load(&test->is_stopped);
    atomic_fetch_add(&test->submitted, 1);
    // Inline, if the queue is idle; the jobs that come meanwhile are behind it.
    if (is_queue && index == 1 && i % 16 == 0) csched_serial_sync(test->queues[0], do_nothing, NULL);
    if (!each->was_accepted && atomic_load(&test->is_stopped)) break;
  }
}

static void stop_root(stopping *test) {
  atomic_store(&test->is_stopped, 1);
  if (test->pool != NULL) csched_pool_stop(test->pool, test->policy);
  else csched_thread_stop(test->thread, test->policy);
}

static void count_all(stopping *test, nesting nesting) {
  for (int submitter = 0; submitter < SUBMITTERS; submitter++)
    for (int i = 0; i < JOBS; i++) {
      counted *each = &test->jobs[submitter][i];
      int runs = atomic_load(&each->runs), drops = atomic_load(&each->drops);
      if (each->was_accepted ? runs + drops == 1 : runs == 0) {
        if (!each->was_before || test->policy == CSCHED_STOP_DROP || runs == 1) continue;
      }
      fprintf(stderr, "nesting %d on a %s: job %d of %d: %d runs, %d drops, accepted %d, before the stop %d\n", nesting,
              test->pool != NULL ? "pool" : "thread", i, submitter, runs, drops, each->was_accepted, each->was_before);
      CHECK(!"each accepted job runs");
    }
}

static void stop_beside(nesting nesting, bool on_pool, csched_stop_policy policy, bool feeds, uint64_t *state) {
  stopping *test = calloc(1, sizeof *test);
  test->policy = policy;
  if (on_pool) test->pool = make_pool(&(csched_pool_options){.workers = 2});
  else test->thread = start_thread("rest");
  test->root = on_pool ? csched_pool_target(test->pool, CSCHED_PRIORITY_DEFAULT) : csched_thread_target(test->thread);
  make_nesting(test, nesting);
  for (int submitter = 0; submitter < SUBMITTERS; submitter++)
    for (int i = 0; i < JOBS; i++)
      csched_job_init(&test->jobs[submitter][i].job, &counted_type, &test->jobs[submitter][i]);
  for (int i = 0; feeds && i < 2; i++) {
    csched_job *first = malloc(sizeof *first);
    csched_job_init(first, &fed_type, test);
    csched_target_submit(test->target, first);
  }
  crew crew;
  int stop_at = (int)chance_below(state, SUBMITTERS * JOBS);
  crew_start(&crew, SUBMITTERS, submit_counted, test);
  while (atomic_load(&test->submitted) < stop_at) sched_yield();
  stop_root(test);
  if (on_pool) csched_pool_join(test->pool);
  else csched_thread_join(test->thread);
  crew_join(&crew);
  count_all(test, nesting);
  end_nesting(test);
  if (on_pool) csched_pool_destroy(test->pool);
  else csched_thread_destroy(test->thread);
  free(test);
}

static void stop_all(csched_stop_policy policy, bool feeds, int rounds) {
  uint64_t state = seed();
  for (int round = 0; round < rounds; round++)
    for (int nesting = 0; nesting < NESTINGS; nesting++)
      for (int on_pool = 0; on_pool < 2; on_pool++)
        stop_beside((enum nesting)nesting, on_pool != 0, policy, feeds, &state);
}

TEST("a stop to run runs the jobs that queues and limits accepted before it") { // LM12, LP6, LP14, SQ13, X1, X6
  stop_all(CSCHED_STOP_RUN, false, few(times(20)));
}
// LM12, SQ13, X2, X6
TEST("a stop to run ends, whatever the jobs submit") { stop_all(CSCHED_STOP_RUN, true, few(times(5))); }
TEST("a stop to drop drops each job of queues and limits that has not run") {
  stop_all(CSCHED_STOP_DROP, false, few(times(5)));
}

// MARK: one by one

// Does: lets 1 000 jobs wait in the queue or limit behind a gate on the thread; then stops the thread. All of them run.
static void stop_full(nesting nesting) {
  stopping *test = calloc(1, sizeof *test);
  gate gate;
  test->thread = start_thread("full");
  test->root = csched_thread_target(test->thread);
  gate_close(&gate, test->thread);
  make_nesting(test, nesting);
  for (int i = 0; i < 1000; i++) {
    counted *each = &test->jobs[0][i];
    csched_job_init(&each->job, &counted_type, each);
    CHECK_EQUAL(csched_target_submit(test->target, &each->job), 0);
  }
  csched_thread_stop(test->thread, CSCHED_STOP_RUN);
  gate_open(&gate);
  csched_thread_join(test->thread);
  for (int i = 0; i < 1000; i++) CHECK_EQUAL(atomic_load(&test->jobs[0][i].runs), 1);
  probe late;
  probe_init(&late, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(test->target, job_of(&late)), ECANCELED);
  CHECK_PROBE(&late, 0, 1);
  end_nesting(test);
  csched_thread_destroy(test->thread);
  free(test);
}

TEST("a thread that is stopped to run runs a thousand jobs of each queue and limit") {
  for (int nesting = 0; nesting < NESTINGS; nesting++) stop_full((enum nesting)nesting);
}

// A timer of a queue or limit that is due when the thread is stopped.
static void stop_due(nesting nesting) {
  stopping *test = calloc(1, sizeof *test);
  gate gate;
  probe due, later;
  test->thread = start_thread("due");
  test->root = csched_thread_target(test->thread);
  gate_close(&gate, test->thread);
  make_nesting(test, nesting);
  probe_init(&due, NULL, NULL);
  probe_init(&later, NULL, NULL);
  CHECK_EQUAL(csched_target_submit_at(test->target, &due.timer, csched_now() + MS, 0), 0);
  CHECK_EQUAL(csched_target_submit_at(test->target, &later.timer, csched_now() + 60000 * MS, 0), 0);
  nap(3 * MS);
  csched_thread_stop(test->thread, CSCHED_STOP_RUN);
  gate_open(&gate);
  csched_thread_join(test->thread);
  CHECK_PROBE(&due, 1, 0);
  CHECK_PROBE(&later, 0, 1);
  end_nesting(test);
  csched_thread_destroy(test->thread);
  free(test);
}

TEST("a due timer of a queue or limit runs after a stop to run") { // LP6, LP14
  for (int nesting = 0; nesting < NESTINGS; nesting++) stop_due((enum nesting)nesting);
}
