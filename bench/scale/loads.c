// The loads. Each starts its threads, waits until they have ended, and stops what it has started.

#include "scale.h"

#include <CScheduler/lock.h>
#include <CScheduler/pool.h>
#include <CScheduler/rwlock.h>
#include <CScheduler/serial.h>
#include <CScheduler/thread.h>
#include <CScheduler/timer.h>

#include <stdlib.h>

enum { THREADS = 256, WINDOW = 256, LINE = 128 };

static uint64_t ns_of_unit;
static int units_each; // how many units each thread does
// Returns: how often each thread repeats what it does: `most`, or fewer times on many processors.
static int times(int most, int processors) {
  int fewer = most * 8 / processors;
  return scale_repeats * (processors <= 8 ? most : fewer < 40 ? 40 : fewer);
}
static int processors_of_load;
static uint32_t running; // threads or chains of the load that have not ended

static void ended(void) { csched_fetch_add_release(&running, (uint32_t)-1); }
static void ended_job(csched_job *job) { (void)job, ended(); }
static void await_all(void) {
  while (csched_load_acquire(&running) > 0) scale_nap(20000);
  scale_end();
}
static void spawn(int count, void (*body)(void *)) {
  running = (uint32_t)count;
  for (intptr_t i = 0; i < count; i++) scale_spawn(body, (void *)i);
  await_all();
}

static csched_pool *pool;
static csched_target *target;

// The first jobs of a pool: each ends when all have begun, so that all workers have started.
static csched_job first_jobs[THREADS];
static uint32_t first_left;
static void run_first(csched_job *job) {
  (void)job;
  csched_fetch_add_relaxed(&first_left, (uint32_t)-1);
  while (csched_load_relaxed(&first_left) > 0) scale_nap(20000);
}
static const csched_job_type first_type = {.run = run_first, .release = ended_job};
static void make_pool(int workers) {
  if (csched_pool_create(&pool, &(csched_pool_options){.workers = (size_t)workers}) != 0) abort();
  target = csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT);
  running = first_left = (uint32_t)workers;
  for (int i = 0; i < workers; i++) {
    csched_job_init(&first_jobs[i], &first_type, NULL);
    csched_target_submit(target, &first_jobs[i]);
  }
  await_all();
}
static void end_pool(void) {
  csched_pool_stop(pool, CSCHED_STOP_RUN);
  csched_pool_join(pool);
  csched_pool_destroy(pool);
}

// MARK: known limits

enum { ADDS = 4000 };
static _Alignas(LINE) struct { _Alignas(LINE) uint64_t count; } counters[THREADS];

static void add_to_one(void *unused) {
  (void)unused;
  for (int i = 0; i < ADDS * scale_repeats; i++) {
    csched_fetch_add_relaxed(&counters[0].count, 1);
    scale_done();
  }
  ended();
}
static void add_to_own(void *index) {
  for (int i = 0; i < ADDS * scale_repeats; i++) {
    csched_fetch_add_relaxed(&counters[(intptr_t)index].count, 1);
    scale_done();
  }
  ended();
}
static void prepare_shared(int processors, uint64_t ns) { (void)ns, spawn(processors, add_to_one); }
static void prepare_private(int processors, uint64_t ns) { (void)ns, spawn(processors, add_to_own); }

static _Alignas(LINE) uint32_t next_ticket;
static _Alignas(LINE) uint32_t serving;
static void take_tickets(void *unused) {
  (void)unused;
  for (int i = 0; i < units_each; i++) {
    uint32_t mine = csched_fetch_add_relaxed(&next_ticket, 1);
    while (csched_load_acquire(&serving) != mine) CSCHED_CPU_RELAX();
    scale_work(ns_of_unit);
    csched_store_release(&serving, mine + 1);
    scale_done();
  }
  ended();
}
static void prepare_ticket(int processors, uint64_t ns) {
  ns_of_unit = ns;
  units_each = times(400, processors);
  spawn(processors, take_tickets);
}

static uint64_t serial_until; // an ideal exclusive section: no memory, no waiting but for its end
static void work_in_part(void *unused) {
  (void)unused;
  for (int i = 0; i < 400; i++) {
    scale_work(ns_of_unit * 9 / 10);
    uint64_t now = scale_now(), from = now > serial_until ? now : serial_until;
    serial_until = from + ns_of_unit / 10;
    scale_work(serial_until - now);
    scale_done();
  }
  ended();
}
static void prepare_amdahl(int processors, uint64_t ns) {
  ns_of_unit = ns;
  spawn(processors, work_in_part);
}

// MARK: jobs from outside of the pool

typedef struct slot {
  csched_job job;
  _Alignas(LINE) uint32_t is_free;
} slot;
static _Alignas(LINE) slot slots[THREADS / 2][WINDOW];
static int jobs_each;

static void run_slot(csched_job *job) {
  (void)job;
  scale_work(ns_of_unit);
  scale_done();
}
static void free_slot(csched_job *job) { csched_store_release(&((slot *)job)->is_free, 1); }
static const csched_job_type slot_type = {.run = run_slot, .release = free_slot};

static void await_free(slot *slot) {
  for (int i = 0; csched_load_acquire(&slot->is_free) == 0; i++) {
    if (i < 50) CSCHED_CPU_RELAX();
    else scale_nap(5000); // the worker may wait for this processor
  }
}

static void produce(void *index) {
  slot *own = slots[(intptr_t)index];
  for (int i = 0; i < WINDOW; i++) {
    csched_job_init(&own[i].job, &slot_type, NULL);
    own[i].is_free = 1;
  }
  for (int i = 0; i < jobs_each; i++) {
    slot *next = &own[i % WINDOW];
    await_free(next);
    csched_store_relaxed(&next->is_free, 0);
    csched_target_submit(target, &next->job);
  }
  for (int i = 0; i < WINDOW; i++) await_free(&own[i]);
  ended();
}

// A quarter of the processors submits, the others work.
static void prepare_outside(int processors, uint64_t ns) {
  int producers = processors < 4 ? 1 : processors / 4;
  ns_of_unit = ns;
  jobs_each = scale_repeats * (200 + 32000 / producers);
  make_pool(processors > producers ? processors - producers : 1);
  scale_begin();
  scale_expect((uint64_t)jobs_each * (uint64_t)producers);
  spawn(producers, produce);
  end_pool();
}

// One thread's loop takes what all others submit.
static void prepare_inbox(int processors, uint64_t ns) {
  csched_thread *thread;
  int producers = processors > 1 ? processors - 1 : 1;
  ns_of_unit = ns;
  jobs_each = scale_repeats * (100 + 8000 / producers);
  if (csched_thread_start(&thread, NULL) != 0) abort();
  target = csched_thread_target(thread);
  scale_begin();
  spawn(producers > THREADS / 2 ? THREADS / 2 : producers, produce);
  csched_thread_stop(thread, CSCHED_STOP_RUN);
  csched_thread_join(thread);
  csched_thread_destroy(thread);
}

// MARK: jobs from the workers themselves

typedef struct chain {
  _Alignas(LINE) csched_job job;
  csched_target *next; // NULL: the pool
  int left, at;
} chain;
static chain chains[4 * THREADS];
static csched_serial *queues[2 * THREADS];

static void run_chain(csched_job *job) { run_slot(job); }
static void submit_chain(csched_job *job) {
  chain *own = (chain *)job;
  if (--own->left == 0) {
    ended();
    return;
  }
  if (own->next != NULL) own->next = csched_serial_target(queues[own->at = (own->at + 1) % (2 * processors_of_load)]);
  csched_target_submit(own->next != NULL ? own->next : target, job);
}
static const csched_job_type chain_type = {.run = run_chain, .release = submit_chain};

static void run_chains(int count, int steps, bool on_queues) {
  running = (uint32_t)count;
  for (int i = 0; i < count; i++) {
    chains[i] = (chain){.left = steps, .at = i, .next = on_queues ? csched_serial_target(queues[i]) : NULL};
    csched_job_init(&chains[i].job, &chain_type, NULL);
  }
  scale_begin();
  scale_expect((uint64_t)count * (uint64_t)steps);
  for (int i = 0; i < count; i++) csched_target_submit(on_queues ? chains[i].next : target, &chains[i].job);
  await_all();
}
static void prepare_workers(int processors, uint64_t ns) {
  ns_of_unit = ns;
  make_pool(processors);
  run_chains(4 * processors, 500 * scale_repeats, false);
  end_pool();
}
static void prepare_queues(int processors, uint64_t ns) {
  ns_of_unit = ns;
  processors_of_load = processors;
  make_pool(processors);
  for (int i = 0; i < 2 * processors; i++)
    if (csched_serial_create(&queues[i], target) != 0) abort();
  run_chains(2 * processors, times(400, processors), true);
  end_pool();
  for (int i = 0; i < 2 * processors; i++) csched_serial_destroy(queues[i]);
}

// Each job submits two more, to a depth.
enum { NODES = (1 << 13) - 1 };
static struct { _Alignas(LINE) csched_job job; } nodes[NODES];
static void run_node(csched_job *job) {
  size_t index = (size_t)((char *)job - (char *)nodes) / sizeof nodes[0];
  scale_work(ns_of_unit);
  for (size_t child = 2 * index + 1; child <= 2 * index + 2 && child < NODES; child++)
    csched_target_submit(target, &nodes[child].job);
  scale_done();
  ended();
}
static const csched_job_type node_type = {.run = run_node};
static void prepare_tree(int processors, uint64_t ns) {
  ns_of_unit = ns;
  make_pool(processors);
  for (int i = 0; i < NODES; i++) csched_job_init(&nodes[i].job, &node_type, NULL);
  running = NODES;
  scale_begin();
  csched_target_submit(target, &nodes[0].job);
  await_all();
  end_pool();
}

// MARK: locks

static _Alignas(LINE) csched_lock locks[THREADS][LINE / sizeof(csched_lock)];
static _Alignas(LINE) csched_rwlock rwlock;
static int lock_count;

static void use_locks(void *index) {
  uint64_t lot = (uint64_t)(intptr_t)index + 1;
  for (int i = 0; i < units_each; i++) {
    lot = lot * UINT64_C(6364136223846793005) + 1442695040888963407;
    csched_lock *lock = &locks[(lot >> 33) % (uint64_t)lock_count][0];
    csched_lock_lock(lock);
    scale_work(ns_of_unit);
    csched_lock_unlock(lock);
    scale_done();
  }
  ended();
}
static void prepare_lock(int processors, uint64_t ns) {
  ns_of_unit = ns;
  lock_count = 1;
  units_each = times(300, processors);
  spawn(processors, use_locks);
}
static void prepare_locks(int processors, uint64_t ns) {
  ns_of_unit = ns;
  lock_count = processors;
  units_each = times(300, processors);
  spawn(processors, use_locks);
}
static void read_all(void *unused) {
  (void)unused;
  for (int i = 0; i < units_each; i++) {
    csched_rwlock_lock_read(&rwlock);
    scale_work(ns_of_unit);
    csched_rwlock_unlock_read(&rwlock);
    scale_done();
  }
  ended();
}
static void prepare_readers(int processors, uint64_t ns) {
  ns_of_unit = ns;
  rwlock = (csched_rwlock)CSCHED_RWLOCK_INIT;
  units_each = times(300, processors);
  spawn(processors, read_all);
}

// MARK: a time-out armed and cancelled for each request

static const csched_job_type timer_type = {.run = run_slot};
static void use_timeouts(void *index) {
  static struct { _Alignas(LINE) csched_timer timer; } timers[THREADS];
  csched_timer *timer = &timers[(intptr_t)index].timer;
  csched_timer_init(timer, &timer_type, NULL);
  for (int i = 0; i < units_each; i++) {
    scale_work(ns_of_unit);
    csched_target_submit_at(target, timer, csched_now() + 1000000000, 0);
    csched_timer_cancel(timer);
    scale_done();
  }
  ended();
}
static void prepare_timeouts(int processors, uint64_t ns) {
  ns_of_unit = ns;
  make_pool(1);
  units_each = times(300, processors);
  scale_begin();
  spawn(processors, use_timeouts);
  end_pool();
}

const scale_load scale_loads[] = {{"shared", "add to one counter", prepare_shared},
                                  {"private", "add to a counter of its own", prepare_private},
                                  {"ticket", "use of one ticket lock", prepare_ticket},
                                  {"amdahl", "nine parts beside each other, one alone", prepare_amdahl},
                                  {"outside", "job submitted from outside of the pool", prepare_outside},
                                  {"workers", "job submitted by a job", prepare_workers},
                                  {"tree", "job that submits two", prepare_tree},
                                  {"queues", "hop from queue to queue", prepare_queues},
                                  {"inbox", "job submitted to one thread", prepare_inbox},
                                  {"lock", "use of one lock", prepare_lock},
                                  {"locks", "use of one of N locks", prepare_locks},
                                  {"readers", "use of one read lock", prepare_readers},
                                  {"timeouts", "time-out armed and cancelled", prepare_timeouts},
                                  {NULL, NULL, NULL}};
