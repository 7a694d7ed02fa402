#include "testing.h"

// A concurrent base: two threads in turn. It is also an example of a custom target.
typedef struct pair {
  csched_target target;
  csched_thread *threads[2];
  atomic_uint next;
} pair;

static csched_target *next_of(csched_target *target) {
  pair *self = (pair *)target;
  return csched_loop_target(csched_thread_loop(self->threads[atomic_fetch_add(&self->next, 1) % 2]));
}
static int pair_deliver(csched_target *target, csched_job *job) {
  csched_target *next = next_of(target);
  return next->type->deliver(next, job);
}
static int pair_deliver_at(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway) {
  csched_target *first = csched_loop_target(csched_thread_loop(((pair *)target)->threads[0]));
  return first->type->deliver_at(first, timer, deadline, leeway);
}
static bool pair_enter(csched_target *target) {
  (void)target;
  return true;
}
static const csched_target_type pair_type = {
    .deliver = pair_deliver, .deliver_at = pair_deliver_at, .enter = pair_enter};

// The bases that each test runs over.
typedef enum base_kind { ON_LOOP, ON_PAIR, ON_SERIAL, BASES } base_kind;

typedef struct base {
  base_kind kind;
  pair pair;
  csched_serial *under;
  csched_serial *serial;
} base;

static void base_begin(base *self, base_kind kind) {
  *self = (base){.kind = kind, .pair.target.type = &pair_type};
  for (int i = 0; i < 2; i++) self->pair.threads[i] = start_thread("serial-base");
  csched_target *target =
      kind == ON_LOOP ? csched_loop_target(csched_thread_loop(self->pair.threads[0])) : &self->pair.target;
  if (kind == ON_SERIAL) {
    CHECK_EQUAL(csched_serial_create(&self->under, target), 0);
    target = csched_serial_target(self->under);
  }
  CHECK_EQUAL(csched_serial_create(&self->serial, target), 0);
}

static void nothing(void *unused) { (void)unused; }

static void base_end(base *self) {
  if (self->serial != NULL) {
    csched_serial_sync(self->serial, nothing, NULL);
    csched_serial_destroy(self->serial);
  }
  if (self->under != NULL) csched_serial_destroy(self->under);
  csched_thread **threads = self->pair.threads;
  for (int i = 0; i < 2; i++) csched_thread_stop(threads[i], CSCHED_STOP_RUN);
  for (int i = 0; i < 2; i++)
    CHECK_EQUAL(csched_thread_join(threads[i]), 0); // each may be in the middle of a wake of the other
  for (int i = 0; i < 2; i++) csched_thread_destroy(threads[i]);
}

// MARK: order

typedef struct turn_check {
  csched_serial *serial;
  int jobs;
  probe *probes;
  long unguarded; // the queue guards it
  atomic_int inside, broken;
  int last[CREW_MOST];
} turn_check;

static void take_turn(probe *probe) {
  turn_check *check = probe->context;
  if (atomic_fetch_add(&check->inside, 1) != 0) atomic_store(&check->broken, 1);
  if (csched_target_current() != csched_serial_target(check->serial)) atomic_store(&check->broken, 2);
  int submitter = probe->id / check->jobs, number = probe->id % check->jobs;
  if (check->last[submitter] != number - 1) atomic_store(&check->broken, 3);
  check->last[submitter] = number;
  check->unguarded++;
  atomic_fetch_sub(&check->inside, 1);
}

static void submit_jobs(int index, void *context) {
  turn_check *check = context;
  for (int i = 0; i < check->jobs; i++)
    csched_target_submit(csched_serial_target(check->serial), job_of(&check->probes[index * check->jobs + i]));
}

static void serial_order(int submitters, int jobs) {
  for (base_kind kind = 0; kind < BASES; kind++) {
    base base;
    base_begin(&base, kind);
    turn_check check = {
        .serial = base.serial, .jobs = jobs, .probes = calloc((size_t)(submitters * jobs), sizeof(probe))};
    for (int i = 0; i < submitters; i++) check.last[i] = -1;
    for (int i = 0; i < submitters * jobs; i++) {
      probe_init(&check.probes[i], take_turn, &check);
      check.probes[i].id = i;
    }
    crew_run(submitters, submit_jobs, &check);
    base_end(&base);
    CHECK_EQUAL(atomic_load(&check.broken), 0);
    CHECK_EQUAL(check.unguarded, submitters * jobs);
    for (int i = 0; i < submitters * jobs; i++) CHECK_PROBE(&check.probes[i], 1, 0);
    free(check.probes);
  }
}

// SQ1, SQ2
TEST("a serial queue runs one at a time, in order") { serial_order(4, times(2000)); }

static void serial_timers(int count) {
  for (base_kind kind = 0; kind < BASES; kind++) {
    base base;
    base_begin(&base, kind);
    turn_check check = {
        .serial = base.serial, .jobs = count, .probes = calloc((size_t)count, sizeof(probe)), .last = {-1}};
    csched_time due = csched_time_after(csched_now(), 5 * (int64_t)MS);
    for (int i = 0; i < count; i++) {
      probe_init(&check.probes[i], take_turn, &check);
      check.probes[i].id = i;
      CHECK_EQUAL(csched_target_submit_at(csched_serial_target(base.serial), &check.probes[i].timer, due, 0), 0);
    }
    CHECK_SOON(atomic_load(&check.probes[count - 1].releases) == 1);
    base_end(&base);
    CHECK_EQUAL(atomic_load(&check.broken), 0); // equal deadlines keep their order
    for (int i = 0; i < count; i++) {
      CHECK_PROBE(&check.probes[i], 1, 0);
      CHECK(check.probes[i].ran_at >= due);
    }
    free(check.probes);
  }
}

// SQ1
TEST("a serial queue on a serial queue keeps the order of equal deadlines") { serial_timers(200); }

// MARK: fairness

static atomic_int long_runs;
static void count_long(probe *probe) {
  (void)probe;
  atomic_fetch_add(&long_runs, 1);
}
static void note_long_runs(probe *probe) { *(int *)probe->context = atomic_load(&long_runs); }

static void serial_fair(int jobs) {
  base base;
  base_begin(&base, ON_LOOP);
  gate gate;
  gate_close(&gate, base.pair.threads[0]);
  atomic_store(&long_runs, 0);
  probe *probes = calloc((size_t)jobs, sizeof *probes), between;
  for (int i = 0; i < jobs; i++) {
    probe_init(&probes[i], count_long, NULL);
    csched_target_submit(csched_serial_target(base.serial), job_of(&probes[i]));
  }
  int seen = -1;
  probe_init(&between, note_long_runs, &seen);
  csched_target_submit(csched_thread_target(base.pair.threads[0]), job_of(&between)); // behind the queue's drain
  gate_open(&gate);
  CHECK_SOON(atomic_load(&between.releases) == 1);
  CHECK(seen >= 0 && seen <= 64);
  base_end(&base);
  free(probes);
}

// SQ4
TEST("a long queue lets others in between") { serial_fair(1000); }

// MARK: suspension

static void serial_suspend(int rounds) {
  for (base_kind kind = 0; kind < BASES; kind++) {
    base base;
    base_begin(&base, kind);
    for (int i = 0; i < rounds; i++) {
      probe probes[2];
      for (int p = 0; p < 2; p++) probe_init(&probes[p], NULL, NULL);
      csched_serial_suspend(base.serial);
      csched_serial_suspend(base.serial);
      csched_target_submit(csched_serial_target(base.serial), job_of(&probes[0]));
      csched_target_submit(csched_serial_target(base.serial), job_of(&probes[1]));
      csched_serial_resume(base.serial);
      nap(50 * US);
      CHECK_EQUAL(atomic_load(&probes[0].runs), 0);
      csched_serial_resume(base.serial);
      CHECK_SOON(atomic_load(&probes[1].releases) == 1);
      CHECK_PROBE(&probes[0], 1, 0);
    }
    base_end(&base);
  }
}

static void suspend_and_resume(int index, void *context) {
  (void)index;
  turn_check *check = context;
  for (int i = 0; i < check->jobs; i++) {
    csched_serial_suspend(check->serial);
    csched_serial_resume(check->serial);
  }
}
static void suspend_or_submit(int index, void *context) {
  if (index == 0) suspend_and_resume(index, context);
  else submit_jobs(index - 1, context);
}

static void serial_suspend_races(int jobs) {
  for (base_kind kind = 0; kind < BASES; kind++) {
    base base;
    base_begin(&base, kind);
    turn_check check = {
        .serial = base.serial, .jobs = jobs, .probes = calloc((size_t)(2 * jobs), sizeof(probe)), .last = {-1, -1}};
    for (int i = 0; i < 2 * jobs; i++) {
      probe_init(&check.probes[i], take_turn, &check);
      check.probes[i].id = i;
    }
    crew_run(3, suspend_or_submit, &check);
    base_end(&base);
    CHECK_EQUAL(atomic_load(&check.broken), 0);
    CHECK_EQUAL(check.unguarded, 2 * jobs);
    free(check.probes);
  }
}

TEST("a suspended queue begins nothing") { // SQ2, SQ3
  serial_suspend(times(50));
  serial_suspend_races(times(2000));
}

// MARK: sync

static void note_thread(void *context) { *(uint32_t *)context = ctest_thread_id(); }

static void serial_sync_inline(void) {
  for (base_kind kind = 0; kind < BASES; kind++) {
    base base;
    base_begin(&base, kind);
    uint32_t thread = 0;
    CHECK_EQUAL(csched_serial_sync(base.serial, note_thread, &thread), 0);
    CHECK((thread == ctest_thread_id()) == (kind != ON_LOOP)); // a loop's work stays on its thread
    CHECK(csched_target_current() == NULL);
    base_end(&base);
  }
}

static void note_turn(csched_job *job) { *(bool *)job->context = true; }
static void not_dropped(csched_job *job) { CHECK(job == NULL); }

static void serial_entered(void) {
  static const csched_job_type type = {.run = note_turn, .drop = not_dropped};
  for (base_kind kind = 0; kind < BASES; kind++) {
    base base;
    base_begin(&base, kind);
    csched_target_inside inside, second;
    bool entered = csched_serial_try_enter(base.serial, &inside), ran = false;
    CHECK(entered == (kind != ON_LOOP)); // a loop's work stays on its thread
    if (entered) {
      csched_job job;
      csched_job_init(&job, &type, &ran);
      CHECK(csched_target_current() == csched_serial_target(base.serial));
      CHECK(!csched_serial_try_enter(base.serial, &second)); // it is busy
      CHECK_EQUAL(csched_serial_sync(base.serial, note_thread, NULL), EDEADLK);
      csched_target_submit(csched_serial_target(base.serial), &job);
      nap(MS);
      CHECK(!ran); // its turn has not come
      csched_serial_leave(base.serial, &inside);
      CHECK(csched_target_current() == NULL);
      uint32_t thread = 0;
      CHECK_EQUAL(csched_serial_sync(base.serial, note_thread, &thread), 0);
      CHECK(ran);
    }
    base_end(&base);
  }
}

TEST("an entered queue runs no job until it is left") { serial_entered(); }

static void count_sync(void *context) { ++*(long *)context; }
typedef struct sync_check {
  csched_serial *serial;
  int rounds;
  long unguarded;
} sync_check;
static void sync_often(int index, void *context) {
  (void)index;
  sync_check *check = context;
  for (int i = 0; i < check->rounds; i++)
    CHECK_EQUAL(csched_serial_sync(check->serial, count_sync, &check->unguarded), 0);
}

static void serial_sync_excludes(int threads, int rounds) {
  for (base_kind kind = 0; kind < BASES; kind++) {
    base base;
    base_begin(&base, kind);
    sync_check check = {base.serial, rounds, 0};
    crew_run(threads, sync_often, &check);
    CHECK_EQUAL(check.unguarded, (long)threads * rounds);
    base_end(&base);
  }
}

TEST("sync runs inline when the queue is idle") { // SQ1
  serial_sync_inline();
  serial_sync_excludes(4, times(2000));
}

static int sync_result;
static void sync_again(void *context) { sync_result = csched_serial_sync(context, nothing, NULL); }
static void sync_from_job(probe *probe) { sync_again(probe->context); }

static void serial_sync_deadlocks(void) {
  for (base_kind kind = 0; kind < BASES; kind++) {
    base base;
    base_begin(&base, kind);
    sync_result = -1;
    CHECK_EQUAL(csched_serial_sync(base.serial, sync_again, base.serial), 0);
    CHECK_EQUAL(sync_result, EDEADLK); // on itself
    if (kind == ON_SERIAL) {
      CHECK_EQUAL(csched_serial_sync(base.serial, sync_again, base.under), 0);
      CHECK_EQUAL(sync_result, EDEADLK); // on its base
      CHECK_EQUAL(csched_serial_sync(base.under, sync_again, base.serial), 0);
      CHECK_EQUAL(sync_result, EDEADLK); // on a queue on it
    }
    if (kind == ON_LOOP) {
      probe job;
      csched_serial_suspend(base.serial); // it cannot be served at once
      probe_init(&job, sync_from_job, base.serial);
      csched_target_submit(csched_thread_target(base.pair.threads[0]), job_of(&job));
      CHECK_SOON(atomic_load(&job.releases) == 1);
      CHECK_EQUAL(sync_result, EDEADLK); // on the thread that would have to serve it
      csched_serial_resume(base.serial);
    }
    base_end(&base);
  }
}

// SQ7
TEST("sync that cannot end is reported") { serial_sync_deadlocks(); }

// MARK: destroy, and a base that ends

// The record of a queue's call to its keeper when it closes.
typedef struct closing {
  probe *probes;
  int jobs, calls, dropped;
} closing;

static void count_closing(void *keeper) {
  closing *closing = keeper;
  closing->calls++;
  for (int i = 0; i < closing->jobs; i++) closing->dropped += atomic_load(&closing->probes[i].drops);
}

static void serial_base_gone(int jobs) {
  base base;
  base_begin(&base, ON_LOOP);
  gate gate;
  gate_close(&gate, base.pair.threads[0]);
  probe *probes = calloc((size_t)jobs, sizeof *probes), late;
  closing closing = {.probes = probes, .jobs = jobs};
  csched_serial_own(base.serial, NULL, NULL, &closing);
  csched_serial_on_closed_(base.serial, count_closing, NULL);
  for (int i = 0; i < jobs; i++) {
    probe_init(&probes[i], NULL, NULL);
    CHECK_EQUAL(csched_target_submit(csched_serial_target(base.serial), job_of(&probes[i])), 0);
  }
  csched_thread_stop(base.pair.threads[0], CSCHED_STOP_DROP);
  gate_open(&gate);
  CHECK_EQUAL(csched_thread_join(base.pair.threads[0]), 0);
  for (int i = 0; i < jobs; i++) CHECK_PROBE(&probes[i], 0, 1);
  probe_init(&late, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(base.serial), job_of(&late)), ECANCELED);
  CHECK_PROBE(&late, 0, 1);
  CHECK_EQUAL(csched_serial_sync(base.serial, nothing, NULL), ECANCELED);
  CHECK_EQUAL(closing.calls, 1);
  CHECK_EQUAL(closing.dropped, jobs); // all, before the call
  base_end(&base);
  free(probes);
}

// SQ6, SQ7
TEST("a serial queue whose base has ended drops all jobs") { serial_base_gone(100); }

static void serial_released(int rounds) {
  base base;
  base_begin(&base, ON_PAIR);
  for (int i = 0; i < rounds; i++) {
    csched_serial *serial = NULL;
    CHECK_EQUAL(csched_serial_create(&serial, &base.pair.target), 0);
    probe probes[3];
    if (i % 2 == 0) csched_serial_suspend(serial);
    for (int p = 0; p < 3; p++) {
      probe_init(&probes[p], NULL, NULL);
      csched_target_submit(csched_serial_target(serial), job_of(&probes[p]));
    }
    csched_serial_destroy(serial);
    for (int p = 0; p < 3; p++) CHECK_SOON(atomic_load(&probes[p].releases) == 1);
  }
  base_end(&base);
}

// SQ5
TEST("a released queue runs its accepted jobs") { serial_released(times(500)); }

TEST_STOPS("resume without suspend stops the process", "csched_serial_resume:", "is not suspended",
           "Resume once for each suspend") {
  base base;
  base_begin(&base, ON_LOOP);
  csched_serial_resume(base.serial);
}
