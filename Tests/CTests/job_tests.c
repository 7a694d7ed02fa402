#include "testing.h"

// MARK: exactly once

enum { BATCH = 256 };

typedef struct racing {
  probe *probes;
  int jobs;
  uint64_t seed;
  atomic_int won, submitted;
} racing;

static void cancel_all(int index, void *context) {
  racing *test = context;
  uint64_t seed = test->seed + (uint64_t)index;
  bool follows = index % 4 != 3; // close behind the submitter, so that it meets the run; else anywhere
  for (int i = 0; i < test->jobs; i++) {
    int at = follows ? i : (int)chance_below(&seed, (uint64_t)test->jobs);
    for (int looks = 0; follows && atomic_load_explicit(&test->submitted, memory_order_acquire) <= at; looks++)
      if (looks < 1000) CSCHED_CPU_RELAX();
      else nap(50 * US); // where threads take turns, the submitter needs the processor
    csched_job *job = job_of(&test->probes[at]);
    csched_cancel_result result = index % 3 == 2 ? csched_job_cancel_and_wait(job) : csched_job_cancel(job);
    if (result == CSCHED_CANCEL_DROPPED) atomic_fetch_add(&test->won, 1);
  }
}

static void job_exactly_once(int cancellers, int jobs, int rounds, uint64_t seed) {
  csched_thread *thread = start_thread("jobs");
  probe probes[BATCH];
  CHECK(jobs <= BATCH);
  for (int round = 0; round < rounds; round++) {
    racing test = {.probes = probes, .jobs = jobs, .seed = seed + (uint64_t)round * 64};
    for (int i = 0; i < jobs; i++) probe_init(&probes[i], NULL, NULL);
    crew crew;
    crew_start(&crew, cancellers, cancel_all, &test); // some come before the submission, and find nothing
    for (int i = 0; i < jobs; i++) {
      CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&probes[i])), 0);
      atomic_store_explicit(&test.submitted, i + 1, memory_order_release);
    }
    crew_join(&crew);
    wait_until_run(thread);
    int drops = 0;
    for (int i = 0; i < jobs; i++) {
      drops += atomic_load(&probes[i].drops);
      CHECK_PROBE(&probes[i], 1 - atomic_load(&probes[i].drops), atomic_load(&probes[i].drops));
    }
    CHECK_EQUAL(atomic_load(&test.won), drops);
  }
  stop_and_join(thread, CSCHED_STOP_RUN);
}

TEST("a job is run or dropped exactly once") { // J1, J3
  job_exactly_once(1, few(BATCH), times(400), seed());
  job_exactly_once(4, few(BATCH), times(400), seed());
  job_exactly_once(8, few(BATCH), times(400), seed());
  job_exactly_once(16, few(BATCH), times(400), seed());
}

// MARK: cancel

static void job_cancel_drops_first(void) {
  csched_thread *thread = start_thread("jobs");
  gate gate;
  gate_close(&gate, thread);
  probe probe;
  probe_init(&probe, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&probe)), 0);
  CHECK(!csched_job_is_idle(job_of(&probe)));
  CHECK_EQUAL(csched_job_cancel(job_of(&probe)), CSCHED_CANCEL_DROPPED);
  CHECK_EQUAL(atomic_load(&probe.drops), 1);
  CHECK_EQUAL(atomic_load(&probe.releases), 0); // the cancelled entry is in the queue still
  CHECK_EQUAL(csched_job_cancel(job_of(&probe)), CSCHED_CANCEL_FINISHED);
  CHECK_EQUAL(csched_job_cancel_and_wait(job_of(&probe)), CSCHED_CANCEL_FINISHED);
  gate_open(&gate);
  wait_until_run(thread);
  CHECK_PROBE(&probe, 0, 1);
  CHECK(csched_job_is_idle(job_of(&probe)));
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// J2, J3
TEST("cancel drops before it returns") { job_cancel_drops_first(); }

static void count_run(csched_job *job) { atomic_fetch_add((atomic_int *)job->context, 1); }
static const csched_job_type without_drop = {.run = count_run};

static void job_without_drop(void) {
  atomic_int runs = 0;
  csched_thread *thread = start_thread("jobs");
  csched_target *target = csched_thread_target(thread);
  csched_job jobs[3];
  csched_timer timer;
  gate gate;
  for (int i = 0; i < 3; i++) csched_job_init(&jobs[i], &without_drop, &runs);
  csched_timer_init(&timer, &without_drop, &runs);
  CHECK_EQUAL(csched_target_submit_at(target, &timer, csched_now() + 60000 * MS, 0), 0);
  CHECK_EQUAL(csched_timer_cancel(&timer), CSCHED_CANCEL_DROPPED);
  gate_close(&gate, thread);
  CHECK_EQUAL(csched_target_submit(target, &jobs[0]), 0);
  CHECK_EQUAL(csched_target_submit(target, &jobs[1]), 0);
  CHECK_EQUAL(csched_job_cancel(&jobs[0]), CSCHED_CANCEL_DROPPED);
  gate_open(&gate);
  stop_and_join(thread, CSCHED_STOP_RUN);
  CHECK_EQUAL(atomic_load(&runs), 1);
  thread = start_thread("stopped");
  target = csched_thread_target(thread);
  csched_thread_stop(thread, CSCHED_STOP_DROP);
  CHECK_EQUAL(csched_target_submit(target, &jobs[2]), ECANCELED);
  CHECK(csched_job_is_idle(&jobs[2]));
  csched_thread_join(thread);
  csched_thread_destroy(thread);
  CHECK_EQUAL(atomic_load(&runs), 1);
}

TEST("a job without a drop may be cancelled, dropped and refused") { job_without_drop(); }

static void drop_slowly(probe *probe) {
  atomic_store((atomic_int *)probe->context, 1);
  nap(MS);
}

static void open_when_dropping(int index, void *context) {
  gate *gate = ((void **)context)[0];
  atomic_int *is_dropping = ((void **)context)[1];
  (void)index;
  WAIT_WHILE(!atomic_load(is_dropping));
  gate_open(gate); // the queue takes the entry out while its drop runs
}

static void job_release_follows_drop(int rounds) {
  csched_thread *thread = start_thread("jobs");
  for (int i = 0; i < rounds; i++) {
    gate gate;
    atomic_int is_dropping = 0;
    gate_close(&gate, thread);
    probe probe;
    probe_init(&probe, NULL, &is_dropping);
    probe.on_drop = drop_slowly;
    CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&probe)), 0);
    crew crew;
    crew_start(&crew, 1, open_when_dropping, (void *[]){&gate, &is_dropping});
    CHECK_EQUAL(csched_job_cancel(job_of(&probe)), CSCHED_CANCEL_DROPPED);
    crew_join(&crew);
    wait_until_run(thread);
    CHECK_PROBE(&probe, 0, 1); // and the probe's own check: release finds no drop in progress
  }
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// J3
TEST("release waits for the end of drop") { job_release_follows_drop(times(20)); }

// MARK: cancel and wait

typedef struct slow {
  probe probe;
  atomic_int has_begun;
  int done; // not atomic: the wait makes it visible
  csched_cancel_result from_inside;
} slow;

static void run_slowly(probe *probe) {
  slow *slow = probe->context;
  slow->from_inside = csched_job_cancel_and_wait(job_of(probe)); // does not wait for itself
  atomic_store(&slow->has_begun, 1);
  burn(100 * US);
  slow->done = 1;
}

static void job_cancel_and_wait(int rounds) {
  csched_thread *thread = start_thread("jobs");
  for (int i = 0; i < rounds; i++) {
    slow slow = {0};
    probe_init(&slow.probe, run_slowly, &slow);
    CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&slow.probe)), 0);
    WAIT_WHILE(!atomic_load(&slow.has_begun));
    csched_cancel_result result = csched_job_cancel_and_wait(job_of(&slow.probe));
    if (result == CSCHED_CANCEL_RUNNING) CHECK_EQUAL(slow.done, 1);
    CHECK(result != CSCHED_CANCEL_DROPPED);
    wait_until_run(thread);
    CHECK_EQUAL(slow.from_inside, CSCHED_CANCEL_RUNNING);
    CHECK_PROBE(&slow.probe, 1, 0);
  }
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// J5, J6
TEST("cancel and wait returns after the run") { job_cancel_and_wait(times(1000)); }

typedef struct periodic {
  probe probe;
  csched_thread *thread;
  int looks;
  atomic_int is_over, waits;
} periodic;

static void run_again(probe *probe) {
  periodic *periodic = probe->context;
  burn(20 * US);
  if (!atomic_load(&periodic->is_over)) csched_target_submit(csched_thread_target(periodic->thread), job_of(probe));
}

static void wait_repeatedly(int index, void *context) {
  periodic *periodic = context;
  (void)index;
  for (int i = 0; i < periodic->looks; i++) {
    // Only waits: a job that is found queued would be dropped, and the test be over.
    if ((csched_load_relaxed(&job_of(&periodic->probe)->word) & 7) != 2) {
      sched_yield();
      continue;
    }
    csched_job_cancel_and_wait(job_of(&periodic->probe));
    atomic_fetch_add(&periodic->waits, 1);
  }
}

static void job_cancel_and_wait_of_resubmitted(int rounds, int looks) {
  for (int i = 0; i < rounds; i++) {
    csched_thread *thread = start_thread("jobs");
    periodic periodic = {.thread = thread, .looks = looks};
    probe_init(&periodic.probe, run_again, &periodic);
    CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&periodic.probe)), 0);
    crew_run(2, wait_repeatedly, &periodic); // hangs if the wake is lost
    atomic_store(&periodic.is_over, 1);
    CHECK_SOON(atomic_load(&periodic.probe.releases) == 1);
    stop_and_join(thread, CSCHED_STOP_RUN);
  }
}

TEST("cancel and wait returns when the job submits itself again") { // J5, J6
  job_cancel_and_wait_of_resubmitted(times(50), few(200));
}

// MARK: again

typedef struct repeating {
  probe probe;
  csched_thread *thread;
  int left;
} repeating;

static void repeat(probe *probe) {
  repeating *test = probe->context;
  if (test->left-- > 0) CHECK_EQUAL(csched_target_submit(csched_thread_target(test->thread), job_of(probe)), 0);
}

static void job_resubmits_itself(int times) {
  csched_thread *thread = start_thread("jobs");
  repeating test = {.thread = thread, .left = times};
  probe_init(&test.probe, repeat, &test);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&test.probe)), 0);
  CHECK_SOON(atomic_load(&test.probe.releases) > 0);
  wait_until_run(thread);
  CHECK_PROBE(&test.probe, times + 1, 0);
  test.left = 0; // and once more, from outside, when it is idle
  CHECK(csched_job_is_idle(job_of(&test.probe)));
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&test.probe)), 0);
  wait_until_run(thread);
  CHECK_EQUAL(atomic_load(&test.probe.runs), times + 2);
  CHECK_EQUAL(atomic_load(&test.probe.releases), 2);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// J4
TEST("a job may submit itself again") { job_resubmits_itself(times(10000)); }

static void job_cancel_of_idle(void) {
  probe probe;
  probe_init(&probe, NULL, NULL);
  CHECK(csched_job_is_idle(job_of(&probe)));
  CHECK_EQUAL(csched_job_cancel(job_of(&probe)), CSCHED_CANCEL_FINISHED);
  CHECK_EQUAL(csched_job_cancel_and_wait(job_of(&probe)), CSCHED_CANCEL_FINISHED);
  csched_trampoline_run(job_of(&probe)); // a cancel before the submission does nothing to it
  CHECK_PROBE(&probe, 1, 0);
  CHECK_EQUAL(csched_job_cancel(job_of(&probe)), CSCHED_CANCEL_FINISHED);
}

TEST("a cancel of an idle job does nothing") { job_cancel_of_idle(); }

TEST_STOPS("submitting a queued job stops the process", "csched_target_submit:", "is pending already") {
  csched_thread *thread = start_thread("jobs");
  gate gate;
  gate_close(&gate, thread);
  probe probe;
  probe_init(&probe, NULL, NULL);
  csched_target_submit(csched_thread_target(thread), job_of(&probe));
  csched_target_submit(csched_thread_target(thread), job_of(&probe));
}

// MARK: drops that cause drops

typedef struct again {
  csched_target *target;
  long left, dropped, released;
  bool by_release;
  uintptr_t deepest;
} again;

static void submit_again(again *test);
static void never_run(csched_job *job) { (void)job, CHECK(!"it runs"); }
static void drop_again(csched_job *job) {
  again *test = job->context;
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  if (here < test->deepest) test->deepest = here;
  test->dropped++;
  if (!test->by_release) submit_again(test);
}
static void release_again(csched_job *job) {
  again *test = job->context;
  test->released++;
  free(job);
  if (test->by_release) submit_again(test);
}
static void submit_again(again *test) {
  static const csched_job_type type = {never_run, drop_again, release_again};
  if (test->left-- <= 0) return;
  csched_job *job = malloc(sizeof *job);
  csched_job_init(job, &type, test);
  csched_target_submit(test->target, job);
}

static void drop_in_small_stack(int index, void *context) {
  again *test = context;
  (void)index;
  long count = test->left;
  test->deepest = UINTPTR_MAX;
  submit_again(test);
  CHECK_EQUAL(test->dropped, count);
  CHECK_EQUAL(test->released, count);
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  CHECK(here - test->deepest < 64 * 1024);
}

static void drop_flat(csched_target *target, int count) {
  for (int by_release = 0; by_release <= 1; by_release++) {
    again test = {.target = target, .left = count, .by_release = by_release};
    crew_run(1, drop_in_small_stack, &test);
  }
}

static void drops_flat(int count) {
  csched_thread *thread = start_thread("stopped");
  csched_serial *serial, *upper;
  csched_limit *limit;
  csched_target *target = csched_thread_target(thread);
  CHECK_EQUAL(csched_serial_create(&serial, target), 0);
  CHECK_EQUAL(csched_serial_create(&upper, csched_serial_target(serial)), 0);
  CHECK_EQUAL(csched_limit_create(&limit, target, 2), 0);
  csched_thread_stop(thread, CSCHED_STOP_DROP);
  csched_thread_join(thread);
  csched_target *targets[] = {target, csched_serial_target(serial), csched_serial_target(upper),
                              csched_limit_target(limit)};
  for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) drop_flat(targets[i], count);
  csched_limit_destroy(limit);
  csched_serial_destroy(upper);
  csched_serial_destroy(serial);
  csched_thread_destroy(thread);
}

// J11
TEST("drops that cause drops have a constant stack") { drops_flat(times_least(250000, 10000)); }

// Deferred drops run in their order. A job whose drop is deferred can be cancelled by the drop that runs.
typedef struct behind {
  csched_target *target;
  csched_job first, cancelled, last;
  journal journal;
} behind;
static void drop_behind(csched_job *job);
static const csched_job_type behind_type = {never_run, drop_behind, NULL};
static void drop_behind(csched_job *job) {
  behind *test = job->context;
  if (job != &test->first) {
    journal_add(&test->journal, job == &test->last ? 3 : 2);
    return;
  }
  CHECK_EQUAL(csched_target_submit(test->target, &test->cancelled), ECANCELED);
  CHECK_EQUAL(csched_target_submit(test->target, &test->last), ECANCELED);
  journal_add(&test->journal, 1);
  CHECK(!csched_job_is_idle(&test->cancelled));
  CHECK_EQUAL(csched_job_cancel_and_wait(&test->cancelled), CSCHED_CANCEL_DROPPED);
}

TEST("a drop that waits for another one can be cancelled") {
  csched_thread *thread = start_thread("stopped");
  behind test = {.target = csched_thread_target(thread)};
  csched_job *jobs[] = {&test.first, &test.cancelled, &test.last};
  for (int i = 0; i < 3; i++) csched_job_init(jobs[i], &behind_type, &test);
  csched_thread_stop(thread, CSCHED_STOP_DROP);
  csched_thread_join(thread);
  CHECK_EQUAL(csched_target_submit(test.target, &test.first), ECANCELED);
  CHECK_JOURNAL(&test.journal, "1,2,3");
  for (int i = 0; i < 3; i++) CHECK(csched_job_is_idle(jobs[i]));
  csched_thread_destroy(thread);
}

// A thread that ends inside a drop also runs its deferred drops.
static void end_in_drop(int index, void *context) {
  again *test = context;
  (void)index;
  submit_again(test);
}
static again ending;
static void drop_and_end(csched_job *job) {
  (void)job;
  submit_again(&ending);
  submit_again(&ending);
  pthread_exit(NULL);
}
static void drop_ending(int index, void *context) {
  static csched_job job;
  static const csched_job_type type = {never_run, drop_and_end, NULL};
  (void)index;
  csched_job_init(&job, &type, context);
  csched_target_submit(ending.target, &job);
}

TEST_UNLESS(ADDRESS_SANITIZER, "the tool follows no thread that ends in the middle",
            "a thread that ends in a drop discards the jobs that the drop has discarded") {
  csched_thread *thread = start_thread("stopped");
  ending = (again){.target = csched_thread_target(thread), .left = 2, .deepest = UINTPTR_MAX};
  csched_thread_stop(thread, CSCHED_STOP_DROP);
  csched_thread_join(thread);
  crew_run(1, drop_ending, NULL);
  CHECK_EQUAL(ending.dropped, 2);
  CHECK_EQUAL(ending.released, 2);
  ending.left = 2;
  crew_run(1, end_in_drop, &ending);
  CHECK_EQUAL(ending.dropped, 4);
  csched_thread_destroy(thread);
}
