// Steady state: the producer never has more than a given number of calls outstanding, and the consumers run beside it.
//
// The backlog is a window of four parts. The producer fills a part, and goes on to the next when the calls of the round
// before have run there. So it waits, and is woken, at most once for a quarter of the backlog.
#include "dispatch.h"
#include "kit.h"

#include <semaphore.h>
#include <stdatomic.h>

enum { PARTS = 4 };

typedef struct part {
  _Alignas(64) atomic_long left; // calls that have not run
  sem_t free;                    // has a unit when none is left
} part;

static part parts[PARTS];

static void run(void *context) {
  part *part = context;
  if (atomic_fetch_sub_explicit(&part->left, 1, memory_order_acq_rel) == 1) sem_post(&part->free);
}

static void await(sem_t *semaphore) {
  while (sem_wait(semaphore) != 0) {}
}

typedef void (*spawn_function)(void (*work)(void *context), void *context);

static double steady(spawn_function spawn, long backlog, long count) {
  long each = backlog / PARTS, rounds = (count + each - 1) / each;
  for (int i = 0; i < PARTS; i++) sem_init(&parts[i].free, 0, 1);
  csched_time start = csched_now();
  for (long round = 0; round < rounds; round++) {
    part *part = &parts[round % PARTS];
    await(&part->free);
    atomic_store_explicit(&part->left, each, memory_order_relaxed); // spawn publishes it
    for (long i = 0; i < each; i++) spawn(run, part);
  }
  for (int i = 0; i < PARTS; i++) await(&parts[i].free);
  return since(start) * (double)count / (double)(rounds * each);
}

static void spawn_on_thread(void (*work)(void *), void *context) {
  static csched_target *target;
  if (target == NULL) {
    csched_thread *thread;
    if (csched_thread_start(&thread, NULL) != 0) abort();
    target = csched_thread_target(thread);
  }
  csched_target_async(target, work, context);
}

static void spawn_on_queue(void (*work)(void *), void *context) {
  static dispatch_queue_t queue;
  if (queue == NULL) queue = dispatch_queue_create("bench.steady", NULL);
  dispatch_async_f(queue, context, work);
}

double cbench_thread_steady(bool ours, long backlog, long count) {
  return steady(ours ? spawn_on_thread : spawn_on_queue, backlog, count);
}

bool cbench_pool_can_spawn(int pool) { return ((const peer_pool *)contender(CBENCH_POOLS, pool))->spawn != NULL; }

double cbench_pool_steady(int pool, long backlog, long count) {
  return steady(((const peer_pool *)contender(CBENCH_POOLS, pool))->spawn, backlog, count);
}
