#include "pool_testing.h"

// Delivery of due timers: the threads that keep the time run no user code, so no target can delay them (delivery.c,
// clock_delivery.c, pool_monitor.c).

enum { TIMERS = 8 };
typedef enum place { ON_POOL, ON_QUEUE, INLINE, ON_THREAD, ON_QUEUE_OF_INLINE, PLACES } place;
typedef enum ending { RUNS, CANCELLED, STOPPED, DROPPED, ENDINGS } ending;

typedef struct own {
  csched_target target; // runs its work where it is delivered, or on a thread
  csched_pool *pool;    // which keeps its time
  csched_target *elsewhere;
  journal journal;
} own;

static bool is_timekeeper(void) {
  char name[64];
  ctest_thread_name(name);
  return strcmp(name, "kept-0") == 0 || strcmp(name, "csched-clock") == 0;
}

static int deliver_own(csched_target *target, csched_job *job) {
  own *own = (struct own *)target;
  CHECK(!is_timekeeper());
  if (own->elsewhere != NULL) return own->elsewhere->type->deliver(own->elsewhere, job);
  csched_target_perform(target, job);
  return 0;
}
static int deliver_own_at(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway) {
  csched_target *base = csched_pool_target(((own *)target)->pool, CSCHED_PRIORITY_HIGH);
  return base->type->deliver_at(base, timer, deadline, leeway);
}
static const csched_target_type own_type = {.deliver = deliver_own, .deliver_at = deliver_own_at};

static void check_thread(probe *probe) {
  (void)probe;
  CHECK(!is_timekeeper());
}
static void check_release(csched_job *job) {
  CHECK(!is_timekeeper());
  probe_type.release(job);
}

static void run_place(place place, csched_clock clock, ending ending, uint64_t *seed) {
  csched_job_type type = probe_type;
  type.release = check_release;
  csched_pool *pool = make_pool(&(csched_pool_options){.name = "kept", .workers = 2});
  csched_thread *thread = start_thread("own");
  own own = {.target.type = &own_type, .pool = pool};
  csched_target *base = place <= ON_QUEUE ? csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT) : &own.target;
  csched_serial *queue = NULL;
  if (place == ON_THREAD) own.elsewhere = csched_loop_target(csched_thread_loop(thread));
  if (place == ON_QUEUE || place == ON_QUEUE_OF_INLINE) CHECK_EQUAL(csched_serial_create(&queue, base), 0);
  csched_target *target = queue != NULL ? csched_serial_target(queue) : base;
  probe probes[TIMERS];
  for (int i = 0; i < TIMERS; i++) {
    probe_init(&probes[i], check_thread, NULL);
    probes[i].on_drop = check_thread;
    probes[i].timer.job.type = &type;
    csched_time span = i == 0 ? CSCHED_FOREVER / 4 : chance_below(seed, MS); // the first one is far
    csched_target_submit_at_clock(target, clock, &probes[i].timer, csched_clock_now(clock) + span, 0);
  }
  burn(chance_below(seed, MS));
  for (int i = 0; i < TIMERS && ending == CANCELLED; i++) csched_timer_cancel(&probes[i].timer);
  if (ending >= STOPPED) csched_pool_stop(pool, ending == DROPPED ? CSCHED_STOP_DROP : CSCHED_STOP_RUN);
  for (int i = 1; i < TIMERS; i++) CHECK_SOON(atomic_load(&probes[i].releases) == 1);
  csched_timer_cancel(&probes[0].timer);
  CHECK_SOON(atomic_load(&probes[0].releases) == 1);
  for (int i = 0; i < TIMERS; i++)
    CHECK_PROBE(&probes[i], atomic_load(&probes[i].runs), 1 - atomic_load(&probes[i].runs));
  end_pool(pool, CSCHED_STOP_RUN);
  if (queue != NULL) csched_serial_destroy(queue);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

static void deliver_on_no_timekeeper(int rounds, uint64_t seed) {
  for (int round = 0; round < rounds; round++)
    for (place place = ON_POOL; place < PLACES; place++)
      for (csched_clock clock = CSCHED_CLOCK_MONOTONIC; clock <= CSCHED_CLOCK_WALL; clock++)
        for (ending ending = RUNS; ending < ENDINGS; ending++) run_place(place, clock, ending, &seed);
}

// CC1, DV3, MN5, MN6
TEST("no code of the user's runs on a thread that keeps the time") { deliver_on_no_timekeeper(times(2), seed()); }

// MARK: order

static void note_on_own(probe *probe) { journal_add(&((own *)probe->context)->journal, probe->id); }

static void delivery_keeps_order(csched_clock clock, int rounds) {
  csched_pool *pool = make_pool(&(csched_pool_options){.name = "kept", .workers = 3});
  for (int round = 0; round < rounds; round++) {
    own owns[2] = {{.target.type = &own_type, .pool = pool}, {.target.type = &own_type, .pool = pool}};
    probe probes[2 * TIMERS];
    csched_time deadline = csched_clock_now(clock) + 60 * US;
    for (int i = 0; i < 2 * TIMERS; i++) {
      probe_init(&probes[i], note_on_own, &owns[i % 2]);
      probes[i].id = i / 2;
      CHECK_EQUAL(csched_target_submit_at_clock(&owns[i % 2].target, clock, &probes[i].timer, deadline, 0), 0);
      burn((csched_time)(round % 20) * US / 2);
    }
    for (int i = 0; i < 2 * TIMERS; i++) CHECK_SOON(atomic_load(&probes[i].releases) == 1);
    for (int i = 0; i < 2; i++) CHECK_JOURNAL(&owns[i].journal, "0,1,2,3,4,5,6,7");
  }
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("timers of a target of one's own keep their order") { // DV4, MN6, MN7
  for (csched_clock clock = CSCHED_CLOCK_MONOTONIC; clock <= CSCHED_CLOCK_WALL; clock++)
    delivery_keeps_order(clock, times(500));
}

// MARK: a target that blocks

static atomic_int others_run;

static void block_until_others(probe *probe) {
  (void)probe;
  for (csched_time end = csched_now() + 10000 * MS; atomic_load(&others_run) < 3 && csched_now() < end;)
    nap(20 * MS); // without processor time meanwhile
}
static void count_other(probe *probe) {
  (void)probe;
  atomic_fetch_add(&others_run, 1);
}

static void delivery_is_not_held_up(csched_clock clock, int workers) {
  csched_pool *pool = make_pool(&(csched_pool_options){.name = "kept", .workers = (size_t)workers});
  own slow = {.target.type = &own_type, .pool = pool}, quick = slow;
  probe blocks, behind, others[3];
  csched_time now = csched_clock_now(clock) + 500 * MS; // an overdue timer would run here
  atomic_store(&others_run, 0);
  probe_init(&blocks, block_until_others, NULL);
  probe_init(&behind, NULL, NULL);
  CHECK_EQUAL(csched_target_submit_at_clock(&slow.target, clock, &blocks.timer, now, 0), 0);
  CHECK_EQUAL(csched_target_submit_at_clock(&slow.target, clock, &behind.timer, now + MS, 0), 0);
  CHECK_SOON(atomic_load(&blocks.runs) == 1);
  CHECK(blocks.thread != ctest_thread_id());
  for (int i = 0; i < 3; i++) probe_init(&others[i], count_other, NULL);
  now = csched_clock_now(clock) + 5 * MS;
  CHECK_EQUAL(csched_target_submit_at_clock(&quick.target, clock, &others[0].timer, now, 0), 0);
  CHECK_EQUAL(csched_target_submit_at(csched_pool_target(pool, CSCHED_PRIORITY_LOW), &others[1].timer,
                                      csched_now() + 5 * MS, 0),
              0);
  CHECK_EQUAL(csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_LOW), job_of(&others[2])),
              0); // blocked workers are found out
  CHECK_SOON(atomic_load(&behind.releases) == 1);
  CHECK_EQUAL(atomic_load(&others_run), 3);
  CHECK(behind.ran_at >= others[0].ran_at); // it waited its turn
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("a target that blocks holds up no other's timers") { // CC1, DV3, MN7, MN8
  for (csched_clock clock = CSCHED_CLOCK_MONOTONIC; clock <= CSCHED_CLOCK_WALL; clock++)
    for (int workers = 1; workers <= 2; workers++) delivery_is_not_held_up(clock, workers);
}

// MARK: cancelled

typedef struct racing {
  own own;
  probe probes[16];
  uint64_t seed;
  csched_clock clock;
  atomic_int won;
} racing;

static void submit_or_cancel(int index, void *context) {
  racing *test = context;
  uint64_t seed = test->seed + (uint64_t)index;
  for (int i = 0; i < 16; i++) {
    probe *probe = &test->probes[i];
    csched_time deadline = csched_clock_now(test->clock) + chance_below(&seed, 60 * US);
    if (index == 0) csched_target_submit_at_clock(&test->own.target, test->clock, &probe->timer, deadline, 0);
    else burn(chance_below(&seed, 30 * US));
    if (index > 0 && csched_timer_cancel(&probe->timer) == CSCHED_CANCEL_DROPPED) atomic_fetch_add(&test->won, 1);
  }
}

static void delivery_races_with_cancel(csched_clock clock, int rounds, uint64_t seed) {
  csched_pool *pool = make_pool(&(csched_pool_options){.name = "kept", .workers = 2});
  for (int round = 0; round < rounds; round++) {
    racing test = {
        .own = {.target.type = &own_type, .pool = pool}, .seed = seed + 10 * (uint64_t)round, .clock = clock};
    for (int i = 0; i < 16; i++) probe_init(&test.probes[i], NULL, NULL);
    crew_run(3, submit_or_cancel, &test);
    int drops = 0;
    for (int i = 0; i < 16; i++) {
      CHECK_SOON(atomic_load(&test.probes[i].releases) == 1);
      drops += atomic_load(&test.probes[i].drops);
      CHECK_PROBE(&test.probes[i], 1 - atomic_load(&test.probes[i].drops), atomic_load(&test.probes[i].drops));
    }
    CHECK_EQUAL(atomic_load(&test.won), drops);
  }
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("a timer of a custom target is cancelled or run, once") {
  for (csched_clock clock = CSCHED_CLOCK_MONOTONIC; clock <= CSCHED_CLOCK_WALL; clock++)
    delivery_races_with_cancel(clock, times(500), seed());
}
