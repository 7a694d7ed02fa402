// Pools of threads: the harness, ours, and the queues on it.
#include "kit.h"

#include <semaphore.h>
#include <stdatomic.h>

static const csched_job_type nothing = {do_nothing, do_nothing, NULL};

static void await(sem_t *semaphore) {
  while (sem_wait(semaphore) != 0) {}
}

static void await_idle(const csched_job *job) {
  while (!csched_job_is_idle(job)) CSCHED_CPU_RELAX();
}

// One for all rows, as a program has one.
static csched_pool *the_pool(void) {
  static csched_pool *pool;
  if (pool == NULL && csched_pool_create(&pool, NULL) != 0) abort();
  return pool;
}

// MARK: jobs from outside

static csched_job *jobs;
static csched_job **list;
static long made;
static atomic_long left;
static sem_t all_done;

static void count_down(csched_job *job) {
  (void)job;
  if (atomic_fetch_sub_explicit(&left, 1, memory_order_acq_rel) == 1) sem_post(&all_done);
}
static const csched_job_type counted = {count_down, do_nothing, NULL};

static void ours_prepare(long count) {
  the_pool();
  for (long i = 0; i < made; i++) await_idle(&jobs[i]); // what ran last time has also ended
  if (count > made) {
    free(jobs);
    free(list);
    jobs = touched(sizeof *jobs * (size_t)count);
    list = touched(sizeof *list * (size_t)count);
    made = count;
    for (long i = 0; i < count; i++) list[i] = &jobs[i];
  }
  for (long i = 0; i < count; i++) csched_job_init(&jobs[i], &counted, NULL);
  sem_init(&all_done, 0, 0);
  atomic_store(&left, count);
}

static void ours_run(long count) {
  csched_pool *pool = the_pool();
  for (long i = 0; i < count; i++) csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), &jobs[i]);
  await(&all_done);
}

double cbench_pool_batch(long batch, long count) {
  csched_pool *pool = the_pool();
  ours_prepare(count);
  csched_time start = csched_now();
  for (long i = 0; i < count; i += batch) {
    size_t size = (size_t)(count - i < batch ? count - i : batch);
    csched_pool_submit_batch(pool, CSCHED_PRIORITY_DEFAULT, list + i, size);
  }
  await(&all_done);
  return since(start);
}

// MARK: fork and join

long cbench_fib(long n) { return n < 2 ? n : cbench_fib(n - 1) + cbench_fib(n - 2); }

long cbench_sum(long from, long to) {
  uint64_t sum = 0;
  for (long i = from; i < to; i++) {
    uint64_t value = (uint64_t)i;
    sum += cbench_random(&value);
  }
  return (long)sum;
}

typedef struct part {
  csched_job job;
  long from, to; // fib: n is `to`, the leaf `from`
  long result;
} part;

static long fib(long n, long leaf);
static long sum(long from, long to);

static void run_fib(csched_job *job) {
  part *part = job->context;
  part->result = fib(part->to, part->from);
}
static const csched_job_type fibs = {run_fib, do_nothing, NULL};

static void run_sum(csched_job *job) {
  part *part = job->context;
  part->result = sum(part->from, part->to);
}
static const csched_job_type sums = {run_sum, do_nothing, NULL};

static long fib(long n, long leaf) {
  if (n <= leaf) return cbench_fib(n);
  part other = {.from = leaf, .to = n - 1};
  csched_job_init(&other.job, &fibs, &other);
  csched_fork fork;
  csched_pool_fork(&fork, &other.job);
  long mine = fib(n - 2, leaf);
  csched_pool_wait(&fork);
  return mine + other.result;
}

static long sum(long from, long to) {
  if (to - from <= CBENCH_SUM_LEAF) return cbench_sum(from, to);
  long middle = from + (to - from) / 2;
  part other = {.from = middle, .to = to};
  csched_job_init(&other.job, &sums, &other);
  csched_fork fork;
  csched_pool_fork(&fork, &other.job);
  long mine = sum(from, middle);
  csched_pool_wait(&fork);
  return (long)((uint64_t)mine + (uint64_t)other.result);
}

typedef struct whole {
  part part;
  bool is_sum;
  sem_t done;
} whole;

static void run_whole(csched_job *job) {
  whole *whole = job->context;
  part *part = &whole->part;
  part->result = whole->is_sum ? sum(part->from, part->to) : fib(part->to, part->from);
}
static void end_whole(csched_job *job) { sem_post(&((whole *)job->context)->done); }
static const csched_job_type wholes = {run_whole, do_nothing, end_whole};

static long on_pool(long from, long to, bool is_sum) {
  whole whole = {.part = {.from = from, .to = to}, .is_sum = is_sum};
  sem_init(&whole.done, 0, 0);
  csched_job_init(&whole.part.job, &wholes, &whole);
  csched_target_submit(csched_pool_target(the_pool(), CSCHED_PRIORITY_DEFAULT), &whole.part.job);
  await(&whole.done);
  return whole.part.result;
}

static long ours_fib(int n, int leaf) { return on_pool(leaf, n, false); }
long cbench_sum_forked(long to) { return on_pool(0, to, true); }

static void ours_spawn(void (*work)(void *), void *context) {
  csched_target_async(csched_pool_target(the_pool(), CSCHED_PRIORITY_DEFAULT), work, context);
}

const peer_pool ours_pools[] = {{"csched_pool", ours_prepare, ours_run, ours_fib, ours_spawn}, {0}};

// MARK: the harness

bool cbench_pool_can_run(int pool) { return ((const peer_pool *)contender(CBENCH_POOLS, pool))->run != NULL; }
bool cbench_pool_can_fork(int pool) { return ((const peer_pool *)contender(CBENCH_POOLS, pool))->fib != NULL; }

double cbench_pool_run(int pool, long count) {
  const peer_pool *kind = contender(CBENCH_POOLS, pool);
  if (kind->prepare != NULL) kind->prepare(count);
  csched_time start = csched_now();
  kind->run(count);
  return since(start);
}

double cbench_pool_fib(int pool, int n, int leaf) {
  const peer_pool *kind = contender(CBENCH_POOLS, pool);
  static long expected[64];
  if (expected[n] == 0) expected[n] = cbench_fib(n);
  kind->fib(18, leaf); // the workers are there, and awake
  csched_time start = csched_now();
  long value = kind->fib(n, leaf);
  double took = since(start);
  if (value != expected[n]) abort();
  return took;
}

// MARK: serial queues

static void call_nothing(void *context) { (void)context; }

static csched_serial *new_serial(void) {
  csched_serial *serial;
  if (csched_serial_create(&serial, csched_pool_target(the_pool(), CSCHED_PRIORITY_DEFAULT)) != 0) abort();
  return serial;
}

double cbench_serial_sync(long count) {
  static csched_serial *serial;
  if (serial == NULL) serial = new_serial();
  csched_time start = csched_now();
  for (long i = 0; i < count; i++) csched_serial_sync(serial, call_nothing, NULL);
  return since(start);
}

enum { LINKS = 64 };

typedef struct chain {
  csched_job jobs[LINKS];
  csched_serial *queues[2];
  long left;
  sem_t done;
} chain;

static void hop(csched_job *job) {
  chain *chain = job->context;
  long next = --chain->left;
  if (next <= 0) {
    sem_post(&chain->done);
    return;
  }
  csched_job *link = &chain->jobs[next % LINKS];
  await_idle(link); // its last run has long returned, but its worker may have been stopped on the way out
  csched_target_submit(csched_serial_target(chain->queues[next & 1]), link);
}
static const csched_job_type hops = {hop, do_nothing, NULL};

double cbench_serial_chain(long count) {
  static chain chain;
  if (chain.queues[0] == NULL)
    for (int i = 0; i < 2; i++) chain.queues[i] = new_serial();
  for (int i = 0; i < LINKS; i++) csched_job_init(&chain.jobs[i], &hops, &chain);
  sem_init(&chain.done, 0, 0);
  chain.left = count;
  csched_time start = csched_now();
  csched_target_submit(csched_serial_target(chain.queues[count & 1]), &chain.jobs[count % LINKS]);
  await(&chain.done);
  double took = since(start);
  for (int i = 0; i < LINKS; i++) await_idle(&chain.jobs[i]);
  return took;
}

// MARK: memory of what waits

static void keep(csched_job *job) { (void)job; }
static const csched_job_type kept = {keep, do_nothing, NULL};

static void hold_for_ever(csched_job *job) { await(job->context); }
static const csched_job_type holds = {hold_for_ever, do_nothing, NULL};

static csched_thread *waiting_thread(void) {
  static csched_thread *thread;
  if (thread == NULL && csched_thread_start(&thread, NULL) != 0) abort();
  return thread;
}

void cbench_wait_jobs(long count) {
  static csched_job first;
  static sem_t never;
  csched_thread *thread = waiting_thread();
  csched_job *all = malloc(sizeof *all * (size_t)count);
  sem_init(&never, 0, 0);
  csched_job_init(&first, &holds, &never);
  csched_target_submit(csched_thread_target(thread), &first);
  for (long i = 0; i < count; i++) {
    csched_job_init(&all[i], &kept, NULL);
    csched_target_submit(csched_thread_target(thread), &all[i]);
  }
}
