#include "fork_testing.h"
#include "pool_testing.h"

#include <limits.h>

static csched_limit *make_limit(csched_target *base, int most) {
  csched_limit *limit = NULL;
  CHECK_EQUAL(csched_limit_create(&limit, base, most), 0);
  return limit;
}

static int submit_to(csched_limit *limit, probe *probe) {
  return csched_target_submit(csched_limit_target(limit), job_of(probe));
}

static int submit_barrier(csched_limit *limit, probe *probe) {
  return csched_target_submit(csched_limit_barrier_target(limit), job_of(probe));
}

// MARK: how many at a time

typedef struct visits {
  csched_limit *limit;
  int jobs, most;
  probe *probes;
  atomic_int inside, most_inside, reached, open, is_foreign;
} visits;

static void be_inside(probe *probe) {
  visits *visits = probe->context;
  int inside = atomic_fetch_add(&visits->inside, 1) + 1, most = atomic_load(&visits->most_inside);
  while (inside > most && !atomic_compare_exchange_weak(&visits->most_inside, &most, inside)) {}
  if (csched_target_current() != csched_limit_target(visits->limit)) atomic_store(&visits->is_foreign, 1);
  if (probe->id < visits->most) { // the first jobs block, and still count
    atomic_fetch_add(&visits->reached, 1);
    while (!atomic_load(&visits->open)) nap(30 * MS); // no processor time meanwhile
  }
  atomic_fetch_sub(&visits->inside, 1);
}

static void submit_many(int index, void *context) {
  visits *visits = context;
  for (int i = 0; i < visits->jobs; i++) submit_to(visits->limit, &visits->probes[index * visits->jobs + i]);
}

static void limit_most(int most, int workers, int submitters, int jobs) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = (size_t)workers, .most_threads = 16});
  int count = submitters * jobs;
  visits visits = {.limit = make_limit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), most),
                   .jobs = jobs,
                   .most = most,
                   .probes = calloc((size_t)count, sizeof(probe))};
  for (int i = 0; i < count; i++) {
    probe_init(&visits.probes[i], be_inside, &visits);
    visits.probes[i].id = i;
  }
  for (int i = 0; i < most; i++) submit_to(visits.limit, &visits.probes[i]);
  CHECK_SOON(atomic_load(&visits.reached) == most); // also more jobs than workers: blocked workers are replaced
  probe beside, *behind = &visits.probes[most];
  probe_init(&beside, NULL, NULL);
  submit_to(visits.limit, behind);
  post(pool, CSCHED_PRIORITY_DEFAULT, &beside);
  CHECK_SOON(atomic_load(&beside.releases) == 1); // a job beside the limit runs
  CHECK_EQUAL(atomic_load(&behind->runs), 0);
  atomic_store(&visits.open, 1);
  CHECK_SOON(atomic_load(&behind->releases) == 1);
  for (int i = 0; i <= most; i++) {
    CHECK_SOON(atomic_load(&visits.probes[i].releases) == 1);
    CHECK_PROBE(&visits.probes[i], 1, 0);
    probe_init(&visits.probes[i], be_inside, &visits);
    visits.probes[i].id = count;
  }
  crew_run(submitters, submit_many, &visits);
  for (int i = 0; i < count; i++) CHECK_SOON(atomic_load(&visits.probes[i].releases) == 1);
  CHECK_EQUAL(atomic_load(&visits.most_inside), most);
  CHECK_EQUAL(atomic_load(&visits.is_foreign), 0);
  csched_limit_destroy(visits.limit);
  end_pool(pool, CSCHED_STOP_RUN);
  for (int i = 0; i < count; i++) CHECK_PROBE(&visits.probes[i], 1, 0);
  free(visits.probes);
}

TEST("a limited target runs so many at a time, and no more") { // LM1, LM2
  limit_most(1, 2, 4, times(1000));
  limit_most(3, 2, 4, times(1000)); // more than there are workers
  limit_most(2, 1, 2, times(1000));
}

static void limit_order(int most) {
  journal journal = {0};
  csched_loop *loop;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_limit *limit = make_limit(csched_loop_target(loop), most);
  probe probes[8];
  csched_time due = csched_time_after(csched_now(), MS);
  for (int i = 0; i < 8; i++) {
    probe_init(&probes[i], note, &journal);
    probes[i].id = i;
    if (i < 4) submit_to(limit, &probes[i]);
    else CHECK_EQUAL(csched_target_submit_at(csched_limit_target(limit), &probes[i].timer, due, 0), 0);
  }
  CHECK_EQUAL(csched_job_cancel(job_of(&probes[2])), CSCHED_CANCEL_DROPPED); // it is passed over
  while (atomic_load(&probes[7].releases) == 0) csched_loop_run_once(loop, csched_now() + 5000 * MS);
  CHECK_JOURNAL(&journal, "0,1,3,4,5,6,7");
  csched_limit_destroy(limit);
  csched_loop_destroy(loop);
}

TEST("a limited target keeps the order of its base") { // LM3
  limit_order(1);
  limit_order(3);
}

// MARK: a bound for the waiting jobs

static csched_limit *make_full(csched_target *base, int most, size_t waiting, csched_full_policy policy) {
  csched_limit *limit = make_limit(base, most);
  csched_limit_bound(limit, waiting, policy);
  return limit;
}

// The base is a loop that is not run at first, so each job waits. `barriers`: submits to the target for barriers.
static void limit_refuses(int most, int waiting, bool barriers) {
  csched_loop *loop;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_limit *limit = make_full(csched_loop_target(loop), most, (size_t)waiting, CSCHED_FULL_REFUSE);
  csched_target *target = barriers ? csched_limit_barrier_target(limit) : csched_limit_target(limit);
  int places = waiting + (barriers ? 1 : most), count = 0;
  probe *probes = calloc((size_t)(4 * places + 4), sizeof *probes);
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < places; i++) {
      probe_init(&probes[count], NULL, NULL);
      CHECK_EQUAL(csched_target_submit(target, job_of(&probes[count++])), 0);
    }
    probe_init(&probes[count], NULL, NULL);
    CHECK_EQUAL(csched_target_submit(target, job_of(&probes[count])), EAGAIN);
    CHECK_PROBE(&probes[count++], 0, 1);
    for (int i = 0; i < waiting; i++) { // the place of a cancelled job is free
      probe *cancelled = &probes[count - 1 - waiting + i];
      if (round == 1 || i == 0) CHECK_EQUAL(csched_job_cancel(job_of(cancelled)), CSCHED_CANCEL_DROPPED);
      else continue;
      probe_init(&probes[count], NULL, NULL);
      CHECK_EQUAL(csched_target_submit(target, job_of(&probes[count])), 0);
      CHECK_PROBE(cancelled, 0, 1); // it was released, too
      count++;
      break;
    }
    probe_init(&probes[count], NULL, NULL);
    CHECK_EQUAL(csched_target_submit_at(target, &probes[count].timer, csched_time_after(csched_now(), MS), 0), 0);
    int timer = count++; // it is accepted, also when it is due
    while (atomic_load(&probes[timer].releases) == 0) csched_loop_run_once(loop, csched_now() + 5000 * MS);
    CHECK_PROBE(&probes[timer], 1, 0);
  }
  csched_limit_destroy(limit);
  csched_loop_destroy(loop);
  free(probes);
}

TEST("a limited target with a bound refuses a job if too many wait") { // LM13
  limit_refuses(1, 0, false);
  limit_refuses(2, 3, false);
  limit_refuses(3, 256, false);
  limit_refuses(2, 0, true);
  limit_refuses(2, 4, true);
}

typedef struct flood {
  csched_target *target;
  int jobs, room;
  probe *probes;
  atomic_int accepted, started, refused, most_open;
} flood;

static void start_in_flood(probe *probe) { atomic_fetch_add(&((flood *)probe->context)->started, 1); }

static void wait_for_flood(probe *probe) { // until `refused` is set
  flood *flood = probe->context;
  atomic_fetch_add(&flood->started, 1);
  while (!atomic_load(&flood->refused)) nap(MS);
}

static void submit_flood(flood *flood, int from, int to) {
  for (int i = from; i < to; i++) {
    if (csched_target_submit(flood->target, job_of(&flood->probes[i])) != 0) {
      atomic_fetch_add(&flood->refused, 1);
      continue;
    }
    int open = atomic_fetch_add(&flood->accepted, 1) + 1 - atomic_load(&flood->started);
    int most = atomic_load(&flood->most_open);
    while (open > most && !atomic_compare_exchange_weak(&flood->most_open, &most, open)) {}
  }
}

static void submit_part(int index, void *context) {
  flood *flood = context;
  submit_flood(flood, index * flood->jobs, (index + 1) * flood->jobs);
}

static flood *make_flood(csched_limit *limit, int threads, int jobs, void (*body)(probe *)) {
  flood *made = calloc(1, sizeof *made);
  *made = (flood){.target = csched_limit_target(limit), .jobs = jobs};
  made->probes = calloc((size_t)(threads * jobs), sizeof(probe));
  for (int i = 0; i < threads * jobs; i++) probe_init(&made->probes[i], body, made);
  return made;
}

static void end_flood(flood *flood, int count) {
  for (int i = 0; i < count; i++) CHECK_SOON(atomic_load(&flood->probes[i].releases) == 1);
  free(flood->probes);
  free(flood);
}

static void limit_blocks(int most, int waiting, int workers, int submitters, int jobs) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = (size_t)workers});
  csched_limit *limit =
      make_full(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), most, (size_t)waiting, CSCHED_FULL_BLOCK);
  flood *flood = make_flood(limit, submitters, jobs, start_in_flood);
  crew_run(submitters, submit_part, flood);
  CHECK_EQUAL(atomic_load(&flood->refused), 0);
  CHECK(atomic_load(&flood->most_open) <= most + waiting + submitters); // each submitter may not have counted one yet
  for (int i = 0; i < submitters * jobs; i++) CHECK_SOON(atomic_load(&flood->probes[i].releases) == 1);
  for (int i = 0; i < submitters * jobs; i++) CHECK_PROBE(&flood->probes[i], 1, 0);
  end_flood(flood, submitters * jobs);
  csched_limit_destroy(limit);
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("a submission to a full limited target waits for room") { // LM13, LM14
  limit_blocks(1, 0, 1, 2, times(500));
  limit_blocks(2, 3, 2, 4, times(500));
  limit_blocks(1, 300, 2, 1, times(2000));
}

static void submit_all(probe *probe) {
  flood *flood = probe->context;
  submit_flood(flood, 0, flood->jobs);
}

static void submit_all_of_second(probe *probe) {
  flood *flood = probe->context;
  submit_flood(flood, flood->jobs, 2 * flood->jobs);
}

// The only thread of the pool submits more than may wait: it runs the waiting jobs.
TEST("a job of a pool that waits for room in a limited target needs no further thread") { // LM14
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1, .most_threads = 1});
  csched_limit *limit = make_full(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), 2, 3, CSCHED_FULL_BLOCK);
  flood *flood = make_flood(limit, 1, times(200), start_in_flood);
  probe producer;
  probe_init(&producer, submit_all, flood);
  post(pool, CSCHED_PRIORITY_DEFAULT, &producer);
  CHECK_SOON(atomic_load(&producer.releases) == 1);
  CHECK_EQUAL(atomic_load(&flood->refused), 0);
  CHECK(atomic_load(&flood->most_open) <= 5);
  end_flood(flood, times(200));
  csched_limit_destroy(limit);
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("a submission that waits for room that can never come is refused") { // LM14
  csched_loop *loop;                                                      // its thread is this one
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_limit *limit = make_full(csched_loop_target(loop), 2, 1, CSCHED_FULL_BLOCK);
  flood *flood = make_flood(limit, 1, 8, start_in_flood);
  submit_flood(flood, 0, 8);
  CHECK_EQUAL(atomic_load(&flood->refused), 5);
  while (csched_loop_run_ready(loop, 64) > 0) {}
  end_flood(flood, 8);
  csched_limit_destroy(limit);
  csched_loop_destroy(loop);
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2});
  limit = make_full(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), 1, 1, CSCHED_FULL_BLOCK);
  flood = make_flood(limit, 1, 4, start_in_flood);
  probe inside; // a job of the limit itself
  probe_init(&inside, submit_all, flood);
  CHECK_EQUAL(submit_to(limit, &inside), 0);
  CHECK_SOON(atomic_load(&inside.releases) == 1);
  CHECK_EQUAL(atomic_load(&flood->refused), 3);
  end_flood(flood, 4);
  csched_limit_destroy(limit);
  end_pool(pool, CSCHED_STOP_RUN);
}

// A `drop` submits to the limit that drops: its thread may hold the permit.
typedef struct dropping {
  csched_job job;
  csched_limit *limit;
  probe *next;
} dropping;

static void submit_next(csched_job *job) {
  dropping *own = (dropping *)job;
  submit_to(own->limit, own->next); // refused, or accepted and dropped
}
static void run_never(csched_job *job) { CHECK(job == NULL); }
static const csched_job_type dropping_type = {run_never, submit_next, NULL};

static void limit_drop_submits(bool is_stopped_first) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1, .most_threads = 1});
  size_t waiting = is_stopped_first ? 0 : 2;
  csched_limit *limit = make_full(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), 1, waiting, CSCHED_FULL_BLOCK);
  probe next, more[2], blocker;
  dropping own = {.limit = limit, .next = &next};
  probe_init(&next, NULL, NULL);
  csched_job_init(&own.job, &dropping_type, NULL);
  flood gate = {.jobs = 0};
  probe_init(&blocker, wait_for_flood, &gate);
  post(pool, CSCHED_PRIORITY_DEFAULT, &blocker);
  CHECK_SOON(atomic_load(&gate.started) == 1);
  if (is_stopped_first) csched_pool_stop(pool, CSCHED_STOP_DROP);
  int error = csched_target_submit(csched_limit_target(limit), &own.job);
  CHECK_EQUAL(error, is_stopped_first ? ECANCELED : 0);
  for (int i = 0; i < 2 && !is_stopped_first; i++) {
    probe_init(&more[i], NULL, NULL);
    CHECK_EQUAL(submit_to(limit, &more[i]), 0);
  }
  csched_pool_stop(pool, CSCHED_STOP_DROP);
  atomic_store(&gate.refused, 1); // opens the gate
  CHECK_EQUAL(csched_pool_join(pool), 0);
  CHECK_SOON(atomic_load(&next.releases) == 1);
  CHECK_PROBE(&next, 0, 1);
  csched_limit_destroy(limit);
  csched_pool_destroy(pool);
}

TEST("a drop that submits to its own full limited target does not wait") { // LM14
  limit_drop_submits(false);
  limit_drop_submits(true);
}

// Jobs of a limit submit to a full limit on it: its jobs have the permits that they need.
TEST("a job does not wait for room in a limited target on its own one") { // LM14
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2});
  csched_limit *below = make_limit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), 2);
  csched_limit *above = make_full(csched_limit_target(below), 1, 1, CSCHED_FULL_BLOCK);
  flood *flood = make_flood(above, 2, 20, start_in_flood);
  probe producers[2];
  for (int i = 0; i < 2; i++) {
    probe_init(&producers[i], i == 0 ? submit_all : submit_all_of_second, flood);
    CHECK_EQUAL(submit_to(below, &producers[i]), 0);
  }
  for (int i = 0; i < 2; i++) CHECK_SOON(atomic_load(&producers[i].releases) == 1);
  CHECK_EQUAL(atomic_load(&flood->accepted) + atomic_load(&flood->refused), 40);
  end_flood(flood, 40);
  csched_limit_destroy(above);
  csched_limit_destroy(below);
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("in virtual time a submission to a full limited target does not wait") { // LM14
  csched_virtual *timeline = NULL;
  CHECK_EQUAL(csched_virtual_create(&timeline, 0, 0), 0);
  csched_limit *limit = make_full(csched_virtual_target(timeline), 1, 1, CSCHED_FULL_BLOCK);
  flood *flood = make_flood(limit, 1, 10, start_in_flood);
  submit_flood(flood, 0, 10);
  CHECK_EQUAL(atomic_load(&flood->refused), 0);
  csched_virtual_run(timeline);
  CHECK_EQUAL(atomic_load(&flood->started), 10);
  end_flood(flood, 10);
  csched_limit_destroy(limit);
  csched_virtual_destroy(timeline);
}

static void count_value(csched_event *event, uint64_t value) {
  atomic_fetch_add((atomic_int *)event->context, (int)value);
}

TEST("events, notices and timers are accepted by a full limited target") { // LM13
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1});
  csched_limit *limit = make_full(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), 1, 0, CSCHED_FULL_REFUSE);
  flood gate = {.jobs = 0};
  probe blocker, notified, refused;
  probe_init(&blocker, wait_for_flood, &gate);
  CHECK_EQUAL(submit_to(limit, &blocker), 0);
  CHECK_SOON(atomic_load(&gate.started) == 1);
  probe_init(&refused, NULL, NULL);
  CHECK_EQUAL(submit_to(limit, &refused), EAGAIN);
  atomic_int sum = 0;
  csched_event event;
  csched_event_init(&event, csched_limit_target(limit), CSCHED_MERGE_ADD, count_value, &sum);
  CHECK_EQUAL(csched_event_merge(&event, 3), 0);
  csched_group group = {0};
  csched_group_notice notice;
  csched_group_enter(&group, 1);
  probe_init(&notified, NULL, NULL);
  csched_group_notify(&group, &notice, csched_limit_target(limit), job_of(&notified));
  csched_group_leave(&group);
  atomic_store(&gate.refused, 1); // opens the gate
  CHECK_SOON(atomic_load(&notified.releases) == 1);
  CHECK_SOON(atomic_load(&sum) == 3);
  CHECK_PROBE(&notified, 1, 0);
  end_pool(pool, CSCHED_STOP_RUN);
  csched_limit_destroy(limit);
}

static void limit_blocks_at_end(csched_stop_policy policy) {
  csched_thread *thread = start_thread("limited");
  csched_limit *limit = make_full(csched_thread_target(thread), 1, 2, CSCHED_FULL_BLOCK);
  gate gate;
  gate_close(&gate, thread);
  enum { SUBMITTERS = 3 };
  flood *flood = make_flood(limit, SUBMITTERS, 4, start_in_flood);
  crew crew;
  crew_start(&crew, SUBMITTERS, submit_part, flood);
  CHECK_SOON(atomic_load(&flood->accepted) == 3);
  csched_thread_stop(thread, policy);
  gate_open(&gate);
  crew_join(&crew);
  CHECK_EQUAL(csched_thread_join(thread), 0);
  int ran = 0;
  for (int i = 0; i < SUBMITTERS * 4; i++) ran += atomic_load(&flood->probes[i].runs);
  CHECK_EQUAL(ran, policy == CSCHED_STOP_DROP ? 0 : 3); // the limit's accepted jobs
  CHECK(atomic_load(&flood->refused) >= SUBMITTERS * 4 - 3);
  end_flood(flood, SUBMITTERS * 4);
  csched_limit_destroy(limit);
  csched_thread_destroy(thread);
}

TEST("a wait for room ends when the base is stopped") { // LM12, LM14
  limit_blocks_at_end(CSCHED_STOP_DROP);
  limit_blocks_at_end(CSCHED_STOP_RUN);
}

TEST_STOPS("a bound for a limited target with an invalid policy stops the process",
           "csched_limit_bound: 7 is no policy", "Name one of csched_full_policy") {
  csched_limit_bound(make_limit(csched_loop_target(csched_main_loop()), 1), 1, (csched_full_policy)7);
}

// MARK: its end

static void limit_base_gone(int jobs) {
  csched_thread *thread = start_thread("limited");
  csched_limit *limit = make_limit(csched_thread_target(thread), 3);
  gate gate;
  gate_close(&gate, thread);
  probe *probes = calloc((size_t)jobs, sizeof *probes), late;
  for (int i = 0; i < jobs; i++) {
    probe_init(&probes[i], NULL, NULL);
    CHECK_EQUAL(submit_to(limit, &probes[i]), 0);
  }
  csched_thread_stop(thread, CSCHED_STOP_DROP);
  gate_open(&gate);
  CHECK_EQUAL(csched_thread_join(thread), 0);
  for (int i = 0; i < jobs; i++) CHECK_PROBE(&probes[i], 0, 1);
  for (int i = 0; i < 2; i++) {
    probe_init(&late, NULL, NULL);
    CHECK_EQUAL(submit_to(limit, &late), ECANCELED);
    CHECK_PROBE(&late, 0, 1);
  }
  csched_limit_destroy(limit);
  limit = make_limit(csched_thread_target(thread), 3); // it finds out by its first permit
  probe_init(&late, NULL, NULL);
  CHECK_EQUAL(submit_to(limit, &late), ECANCELED);
  CHECK_PROBE(&late, 0, 1);
  csched_limit_destroy(limit);
  csched_thread_destroy(thread);
  free(probes);
}

TEST("a limited target whose base has ended drops all jobs") { // LM4
  limit_base_gone(20);
  limit_base_gone(100);
}

static void count_up(void *keeper) { atomic_fetch_add((atomic_int *)keeper, 1); }
static void count_back(void *keeper) { atomic_fetch_sub((atomic_int *)keeper, 1); }

static void limit_released(int rounds) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2});
  for (int i = 0; i < rounds; i++) {
    atomic_int kept = 0;
    csched_limit *limit = make_limit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), 1 + i % 3);
    csched_limit_own(limit, count_up, count_back, &kept);
    probe probes[5];
    for (int p = 0; p < 5; p++) {
      probe_init(&probes[p], NULL, NULL);
      submit_to(limit, &probes[p]);
    }
    csched_limit_destroy(limit);
    for (int p = 0; p < 5; p++) CHECK_SOON(atomic_load(&probes[p].releases) == 1);
    CHECK_SOON(atomic_load(&kept) == 0);
  }
  end_pool(pool, CSCHED_STOP_RUN);
}

// LM2, LM5
TEST("a released limited target runs its accepted jobs") { limit_released(times(500)); }

static void limit_invalid(void) {
  csched_loop *loop;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_limit *limit = NULL;
  CHECK_EQUAL(csched_limit_create(&limit, csched_loop_target(loop), 0), EINVAL);
  CHECK_EQUAL(csched_limit_create(&limit, csched_loop_target(loop), -1), EINVAL);
  CHECK_EQUAL(csched_limit_create(&limit, csched_loop_target(loop), INT_MIN), EINVAL);
  csched_limit_destroy(make_limit(csched_loop_target(loop), INT_MAX)); // more than there are threads
  csched_loop_destroy(loop);
}

TEST("a limit below one is an error") { limit_invalid(); }

static void end_thread(probe *probe) {
  (void)probe;
  pthread_exit(NULL);
}

static void limit_ends_thread(bool in_barrier) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1});
  csched_limit *limit = make_limit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), 1);
  probe ending, next;
  probe_init(&ending, end_thread, NULL);
  probe_init(&next, NULL, NULL);
  if (in_barrier) submit_barrier(limit, &ending);
  else submit_to(limit, &ending);
  submit_to(limit, &next);
  CHECK_SOON(atomic_load(&next.releases) == 1);
  CHECK_PROBE(&ending, 1, 0);
  CHECK_PROBE(&next, 1, 0);
  csched_limit_destroy(limit);
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("a limited target continues when a job ends its thread") { // LM6
  limit_ends_thread(false);
  limit_ends_thread(true);
}

// MARK: waits

typedef struct inner_wait {
  csched_serial *queue;
  int result;
} inner_wait;

static void do_nothing(void *unused) { (void)unused; }
static void wait_inside(probe *probe) {
  inner_wait *wait = probe->context;
  wait->result = csched_serial_sync(wait->queue, do_nothing, NULL);
}

static void limit_waits(void) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2});
  for (int most = 1; most <= 2; most++) {
    csched_limit *limit = make_limit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), most);
    inner_wait wait = {.result = -1};
    CHECK_EQUAL(csched_serial_create(&wait.queue, csched_limit_target(limit)), 0);
    probe probe;
    probe_init(&probe, wait_inside, &wait);
    submit_to(limit, &probe);
    CHECK_SOON(atomic_load(&probe.releases) == 1);
    CHECK_EQUAL(wait.result, most == 1 ? EDEADLK : 0);
    CHECK_EQUAL(csched_serial_sync(wait.queue, do_nothing, NULL), 0); // the permit is free again
    csched_serial_destroy(wait.queue);
    end_pool(pool, CSCHED_STOP_RUN);
    csched_limit_destroy(limit);
    if (most == 1) pool = make_pool(&(csched_pool_options){.workers = 2});
  }
}

// LM7
TEST("a wait inside of a limited target is refused at a limit of one only") { limit_waits(); }

static void limit_barrier_waits(int most) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2});
  csched_limit *limit = make_limit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), most);
  csched_target *both[] = {csched_limit_target(limit), csched_limit_barrier_target(limit)};
  for (int from = 0; from < 2; from++)
    for (int to = from == 0 ? 1 : 0; to < 2; to++) {
      inner_wait wait = {.result = -1};
      CHECK_EQUAL(csched_serial_create(&wait.queue, both[to]), 0);
      probe probe;
      probe_init(&probe, wait_inside, &wait);
      csched_target_submit(both[from], job_of(&probe));
      CHECK_SOON(atomic_load(&probe.releases) == 1);
      CHECK_EQUAL(wait.result, EDEADLK);
      CHECK_EQUAL(csched_serial_sync(wait.queue, do_nothing, NULL), 0);
      csched_serial_destroy(wait.queue);
    }
  csched_pool_stop(pool, CSCHED_STOP_RUN);
  CHECK_EQUAL(csched_pool_join(pool), 0);
  csched_limit_destroy(limit);
  csched_pool_destroy(pool);
}

TEST("a wait that a barrier keeps from its end is refused") { // LM7
  limit_barrier_waits(1);
  limit_barrier_waits(3);
}

// MARK: barriers

typedef struct readers {
  csched_limit *limit;
  int jobs;
  probe *probes;
  int64_t value; // what barriers write and others read: not atomic
  atomic_int inside, barriers_inside, errors;
} readers;

static void read_value(probe *probe) {
  readers *readers = probe->context;
  atomic_fetch_add(&readers->inside, 1);
  int64_t before = readers->value;
  if (atomic_load(&readers->barriers_inside) != 0) atomic_fetch_add(&readers->errors, 1);
  if (probe->id % 5 == 0) sched_yield();
  if (readers->value != before || csched_target_current() != csched_limit_target(readers->limit))
    atomic_fetch_add(&readers->errors, 1);
  atomic_fetch_sub(&readers->inside, 1);
}

static void write_value(probe *probe) {
  readers *readers = probe->context;
  if (atomic_fetch_add(&readers->barriers_inside, 1) != 0 || atomic_load(&readers->inside) != 0 ||
      csched_target_current() != csched_limit_barrier_target(readers->limit) ||
      !csched_target_is_inside(csched_limit_target(readers->limit)))
    atomic_fetch_add(&readers->errors, 1);
  readers->value++;
  if (probe->id % 3 == 0) sched_yield();
  atomic_fetch_sub(&readers->barriers_inside, 1);
}

static void read_and_write(int index, void *context) {
  readers *readers = context;
  for (int i = 0; i < readers->jobs; i++) {
    probe *each = &readers->probes[index * readers->jobs + i];
    probe_init(each, i % 4 == 3 ? write_value : read_value, readers);
    each->id = i;
    if (i % 4 == 3) submit_barrier(readers->limit, each);
    else submit_to(readers->limit, each);
  }
}

static void limit_barriers(int most, int submitters, int jobs) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 3});
  int count = submitters * jobs;
  readers readers = {.limit = make_limit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), most),
                     .jobs = jobs,
                     .probes = calloc((size_t)count, sizeof(probe))};
  crew_run(submitters, read_and_write, &readers);
  for (int i = 0; i < count; i++) CHECK_SOON(atomic_load(&readers.probes[i].releases) == 1);
  csched_limit_destroy(readers.limit);
  end_pool(pool, CSCHED_STOP_RUN);
  for (int i = 0; i < count; i++) CHECK_PROBE(&readers.probes[i], 1, 0);
  CHECK_EQUAL(atomic_load(&readers.errors), 0);
  CHECK_EQUAL(readers.value, submitters * (jobs / 4));
  free(readers.probes);
}

TEST("barriers of many threads are each alone") { // LM2, LM9
  limit_barriers(1, 3, times(1000));
  limit_barriers(4, 3, times(1000));
}

typedef struct inner_barrier {
  csched_limit *limit;
  journal *journal;
  probe barrier, after;
  atomic_int reached, open;
} inner_barrier;

static void submit_inside(probe *probe) { // and does not wait
  inner_barrier *inner = probe->context;
  submit_barrier(inner->limit, &inner->barrier);
  submit_to(inner->limit, &inner->after);
  atomic_store(&inner->reached, 1);
  while (!atomic_load(&inner->open)) nap(MS);
  journal_add(inner->journal, probe->id);
}

static void limit_barrier_order(int most) {
  journal journal = {0};
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2});
  inner_barrier inner = {.limit = make_limit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), most),
                         .journal = &journal};
  probe outer, beside;
  probe_init(&outer, submit_inside, &inner);
  probe_init(&inner.barrier, note, &journal);
  probe_init(&inner.after, note, &journal);
  probe_init(&beside, NULL, NULL);
  inner.barrier.id = 1, inner.after.id = 2;
  submit_to(inner.limit, &outer);
  CHECK_SOON(atomic_load(&inner.reached) == 1);
  post(pool, CSCHED_PRIORITY_DEFAULT, &beside);
  CHECK_SOON(atomic_load(&beside.releases) == 1); // the pool continues
  nap(5 * MS);
  CHECK_EQUAL(atomic_load(&journal.count), 0); // though permits are free
  atomic_store(&inner.open, 1);
  CHECK_SOON(atomic_load(&inner.after.releases) == 1);
  CHECK_JOURNAL(&journal, "0,1,2");
  csched_limit_destroy(inner.limit);
  end_pool(pool, CSCHED_STOP_RUN);

  csched_loop *loop;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_limit *limit = make_limit(csched_loop_target(loop), most);
  atomic_store(&journal.count, 0);
  probe probes[8];
  csched_time due = csched_time_after(csched_now(), MS);
  for (int i = 0; i < 8; i++) {
    csched_target *target = i % 3 == 1 ? csched_limit_barrier_target(limit) : csched_limit_target(limit);
    probe_init(&probes[i], note, &journal);
    probes[i].id = i;
    if (i < 5) CHECK_EQUAL(csched_target_submit(target, job_of(&probes[i])), 0);
    else CHECK_EQUAL(csched_target_submit_at(target, &probes[i].timer, due, 0), 0);
  }
  while (atomic_load(&probes[7].releases) == 0) csched_loop_run_once(loop, csched_now() + 5000 * MS);
  CHECK_JOURNAL(&journal, "0,1,2,3,4,5,6,7");
  csched_limit_destroy(limit);
  csched_loop_destroy(loop);
}

TEST("a barrier runs alone, after the jobs submitted before it") { // LM3, LM9
  limit_barrier_order(1);
  limit_barrier_order(4);
}

static void stand(probe *probe) {
  gate *gate = probe->context;
  atomic_store(&gate->reached, 1);
  while (!atomic_load(&gate->open)) nap(MS);
}

static void limit_barrier_cancelled(void) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2});
  csched_limit *limit = make_limit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), 2);
  gate gate = {0};
  probe barrier, behind, next;
  probe_init(&gate.probe, stand, &gate);
  probe_init(&barrier, NULL, NULL);
  probe_init(&behind, NULL, NULL);
  probe_init(&next, NULL, NULL);
  submit_to(limit, &gate.probe);
  CHECK_SOON(atomic_load(&gate.reached) == 1);
  submit_barrier(limit, &barrier);
  submit_to(limit, &behind);
  nap(2 * MS);
  CHECK_EQUAL(atomic_load(&behind.runs), 0);
  CHECK_EQUAL(csched_job_cancel(job_of(&barrier)), CSCHED_CANCEL_DROPPED);
  submit_to(limit, &next);
  CHECK_SOON(atomic_load(&next.releases) == 1); // while the first one runs
  CHECK_SOON(atomic_load(&behind.releases) == 1);
  CHECK_PROBE(&barrier, 0, 1);
  gate_open(&gate);
  CHECK_SOON(atomic_load(&gate.probe.releases) == 1);
  csched_limit_destroy(limit);
  end_pool(pool, CSCHED_STOP_RUN);
}

// LM9
TEST("a barrier that was cancelled holds nothing up") { limit_barrier_cancelled(); }

static void limit_barrier_dropped(void) {
  csched_thread *thread = start_thread("limited");
  csched_limit *limit = make_limit(csched_thread_target(thread), 2);
  probe probes[6], late;
  gate gate;
  gate_close(&gate, thread);
  for (int i = 0; i < 6; i++) {
    probe_init(&probes[i], NULL, NULL);
    CHECK_EQUAL(i % 2 == 0 ? submit_barrier(limit, &probes[i]) : submit_to(limit, &probes[i]), 0);
  }
  csched_thread_stop(thread, CSCHED_STOP_DROP);
  gate_open(&gate);
  CHECK_EQUAL(csched_thread_join(thread), 0);
  for (int i = 0; i < 6; i++) CHECK_PROBE(&probes[i], 0, 1);
  for (int i = 0; i < 3; i++) { // a refused barrier does not stay alone
    probe_init(&late, NULL, NULL);
    CHECK_EQUAL(i < 2 ? submit_barrier(limit, &late) : submit_to(limit, &late), ECANCELED);
    CHECK_PROBE(&late, 0, 1);
  }
  csched_limit_destroy(limit);
  csched_thread_destroy(thread);
}

// LM4, LM9
TEST("a barrier is dropped with its target") { limit_barrier_dropped(); }

// MARK: fork

static csched_limit *parents;

static void submit_to_parents(void *probe) { submit_to(parents, probe); }
static void submit_barrier_to_parents(void *probe) { submit_barrier(parents, probe); }
static void give_up_parents(void *unused) {
  (void)unused;
  csched_limit_destroy(parents);
}

// A loop's target, which holds other threads up; at the permit's second time only, where it is to have run once.
typedef struct gated_loop {
  csched_target target;
  csched_loop *loop;
  probe others, more;
  atomic_int is_there, is_open;
} gated_loop;

static csched_target *under(const csched_target *target) {
  return csched_loop_target(((const gated_loop *)target)->loop);
}
static int deliver_behind(csched_target *target, csched_job *job) {
  gated_loop *gated = (gated_loop *)target;
  if (!csched_loop_is_on_thread(gated->loop)) {
    atomic_store(&gated->is_there, 1);
    while (!atomic_load(&gated->is_open)) nap(50 * US);
  }
  return under(target)->type->deliver(under(target), job);
}
static bool has_behind(const csched_target *target, const csched_job *job) {
  return under(target)->type->has(under(target), job);
}
static const csched_target_type gated_type = {.deliver = deliver_behind, .base = under, .has = has_behind};

static void submit_others(int index, void *context) {
  (void)index;
  CHECK_EQUAL(submit_to(parents, &((gated_loop *)context)->others), 0);
}

static void continue_in_child(void *context) {
  gated_loop *gated = context;
  probe mine;
  probe_init(&mine, NULL, NULL);
  CHECK_EQUAL(submit_to(parents, &mine), 0);
  for (csched_time end = csched_now() + 5000 * MS; atomic_load(&mine.releases) == 0 && csched_now() < end;)
    csched_loop_run_once(gated->loop, csched_now() + MS);
  CHECK_PROBE(&gated->others, 1, 0); // the permit in delivery had this job
  CHECK_PROBE(&gated->more, 1, 0);
  CHECK_PROBE(&mine, 1, 0);
  csched_limit_destroy(parents);
}

static void fork_with_lane_out(int most, bool with_barrier) {
  static gated_loop gated;
  gated = (gated_loop){.target = {.type = &gated_type}};
  probe_init(&gated.others, NULL, NULL);
  probe_init(&gated.more, NULL, NULL);
  CHECK_EQUAL(csched_loop_create(&gated.loop), 0);
  parents = make_limit(&gated.target, most);
  crew crew;
  crew_start(&crew, 1, submit_others, &gated);
  CHECK_SOON(atomic_load(&gated.is_there) == 1);
  CHECK_EQUAL((with_barrier ? submit_barrier : submit_to)(parents, &gated.more), 0); // waits for the permit
  CHECK_CHILD(continue_in_child, &gated);
  atomic_store(&gated.is_open, 1);
  crew_join(&crew);
  while (atomic_load(&gated.more.releases) == 0) csched_loop_run_once(gated.loop, csched_now() + 5000 * MS);
  CHECK_PROBE(&gated.others, 1, 0);
  CHECK_PROBE(&gated.more, 1, 0);
  csched_limit_destroy(parents);
  csched_loop_destroy(gated.loop);
}

static void limit_fork(void) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2});
  parents = make_limit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), 2);
  probe probe;
  probe_init(&probe, NULL, NULL);
  CHECK_CHILD_STOPS(submit_to_parents, &probe, "was orphaned by fork");
  CHECK_CHILD_STOPS(submit_barrier_to_parents, &probe, "was orphaned by fork");
  CHECK_CHILD(give_up_parents, NULL);
  csched_limit_destroy(parents);
  end_pool(pool, CSCHED_STOP_RUN);
  fork_with_lane_out(1, false);
  fork_with_lane_out(2, true);
}

TEST_UNLESS(THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND, "tools do not follow a process with threads into its child",
            "after fork a limited target continues, or stops the process") { // LM8
  limit_fork();
}

// MARK: the end of a base

typedef struct last_job {
  csched_job job;
  csched_pool *pool;
  csched_limit *limit;
} last_job;

static void end_at_once(void *context) { (void)context; }

// The `release` of a refused job. Does: ends the limit and its base, which nothing needs then, and has a thread look
// for work that queues and limits on it hold.
static void end_limit_and_base(csched_job *job) {
  last_job *last = job->context;
  csched_thread *thread = start_thread("other");
  csched_limit_destroy(last->limit);
  csched_pool_destroy(last->pool);
  csched_thread_stop(thread, CSCHED_STOP_RUN);
  CHECK_EQUAL(csched_thread_join(thread), 0);
  csched_thread_destroy(thread);
  FILE *null = fopen("/dev/null", "w");
  CHECK_EQUAL(csched_dump(fileno(null)), 0);
  fclose(null);
  CHECK_CHILD(end_at_once, NULL);
}
static const csched_job_type last_job_type = {.release = end_limit_and_base};

TEST_UNLESS(THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND, "tools do not follow a process with threads into its child",
            "a limit and its base may be destroyed when the last job is released, beside a stop, a dump and a fork") {
  last_job last = {.pool = make_pool(&(csched_pool_options){.workers = 1})};
  last.limit = make_limit(csched_pool_target(last.pool, CSCHED_PRIORITY_DEFAULT), 2);
  csched_pool_stop(last.pool, CSCHED_STOP_DROP);
  CHECK_EQUAL(csched_pool_join(last.pool), 0);
  csched_job_init(&last.job, &last_job_type, &last);
  CHECK_EQUAL(csched_target_submit(csched_limit_target(last.limit), &last.job), ECANCELED);
}
