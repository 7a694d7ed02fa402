#include "CBench.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

static double since(csched_time start) { return (double)(csched_now() - start); }

static void do_nothing(csched_job *job) { (void)job; }
static const csched_job_type nothing = {do_nothing, do_nothing, NULL};

static void post(csched_job *job) { sem_post(job->context); }
static const csched_job_type posts = {post, do_nothing, NULL};

// One for all rows, as a program has one.
static csched_pool *the_pool(void) {
  static csched_pool *pool;
  if (pool == NULL && csched_pool_create(&pool, NULL) != 0) abort();
  return pool;
}

// MARK: empty jobs

double cbench_pool_submit(long batch, long count) {
  enum { MOST = 1000000 };
  static csched_job *jobs;
  static csched_job **list;
  if (jobs == NULL) {
    jobs = calloc(MOST, sizeof *jobs);
    list = calloc(MOST, sizeof *list);
    for (long i = 0; i < MOST; i++) list[i] = &jobs[i];
  }
  csched_pool *pool = the_pool();
  sem_t last;
  sem_init(&last, 0, 0);
  double took = 0;
  for (long left = count; left > 0;) {
    long some = left < MOST ? left : MOST;
    left -= some;
    for (long i = 0; i < some; i++) csched_job_init(&jobs[i], i == some - 1 ? &posts : &nothing, &last);
    csched_time start = csched_now();
    for (long i = 0; i < some; i += batch) {
      long size = some - i < batch ? some - i : batch;
      if (batch == 1) csched_pool_submit(pool, CSCHED_PRIORITY_DEFAULT, &jobs[i]);
      else csched_pool_submit_batch(pool, CSCHED_PRIORITY_DEFAULT, list + i, (size_t)size);
    }
    while (sem_wait(&last) != 0) {}
    took += since(start);
    // The last has run; another worker may still be at one of those before it.
    for (long i = 0; i < some; i++)
      while (!csched_job_is_idle(&jobs[i])) CSCHED_CPU_RELAX();
  }
  sem_destroy(&last);
  return took;
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
  long from, to; // fib: n is `to`
  long result;
} part;

static long fib(long n);
static long sum(long from, long to);

static void run_fib(csched_job *job) {
  part *part = job->context;
  part->result = fib(part->to);
}
static const csched_job_type fibs = {run_fib, do_nothing, NULL};

static void run_sum(csched_job *job) {
  part *part = job->context;
  part->result = sum(part->from, part->to);
}
static const csched_job_type sums = {run_sum, do_nothing, NULL};

static long fib(long n) {
  if (n <= CBENCH_FIB_LEAF) return cbench_fib(n);
  part other = {.to = n - 1};
  csched_job_init(&other.job, &fibs, &other);
  csched_fork fork;
  csched_pool_fork(&fork, &other.job);
  long mine = fib(n - 2);
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
  sem_t done;
} whole;

static void run_whole(csched_job *job) {
  whole *whole = job->context;
  part *part = &whole->part;
  part->result = part->from < 0 ? fib(part->to) : sum(part->from, part->to);
}
static void end_whole(csched_job *job) { sem_post(&((whole *)job->context)->done); }
static const csched_job_type wholes = {run_whole, do_nothing, end_whole};

static long on_pool(long from, long to) {
  whole whole = {.part = {.from = from, .to = to}};
  sem_init(&whole.done, 0, 0);
  csched_job_init(&whole.part.job, &wholes, &whole);
  csched_pool_submit(the_pool(), CSCHED_PRIORITY_DEFAULT, &whole.part.job);
  while (sem_wait(&whole.done) != 0) {}
  return whole.part.result;
}

long cbench_fib_forked(long n) { return on_pool(-1, n); }
long cbench_sum_forked(long to) { return on_pool(0, to); }

static void *fib_alone(void *context) {
  *(long *)context = cbench_fib(*(long *)context);
  return NULL;
}

double cbench_threads(int threads, long n) {
  pthread_t ids[64];
  long values[64];
  csched_time start = csched_now();
  for (int i = 0; i < threads; i++) {
    values[i] = n;
    pthread_create(&ids[i], NULL, fib_alone, &values[i]);
  }
  for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
  return since(start);
}

// MARK: a serial queue

static void call_nothing(void *context) { (void)context; }

double cbench_serial_sync(long count) {
  static csched_serial *serial;
  if (serial == NULL && csched_serial_create(&serial, csched_pool_target(the_pool(), CSCHED_PRIORITY_DEFAULT)) != 0)
    abort();
  csched_time start = csched_now();
  for (long i = 0; i < count; i++) csched_serial_sync(serial, call_nothing, NULL);
  return since(start);
}
