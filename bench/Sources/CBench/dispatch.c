// Dispatch's functions as contenders of the rows in C.
#include "dispatch.h"
#include "kit.h"
#include "lock_loop.h"

#include <stdatomic.h>

// MARK: a serial queue as a lock

static dispatch_queue_t lock_queue;

typedef struct section {
  peer_task *task;
  long before;
  uint64_t start;
} section;

static void run_section(void *context) {
  section *section = context;
  peer_task *task = section->task;
  if (task->looks) {
    uint64_t took = task->now() - section->start;
    long passed = *task->guarded - section->before;
    if (took > task->longest) task->longest = took;
    if (passed > task->passed) task->passed = passed;
  }
  *task->guarded += 1;
  if (task->inside > 0) task->work(task->inside);
}

// lock_loop.h's, with the section as a function.
static void use_sync(peer_task *task) {
  section section = {task, 0, 0};
  long done = 0;
  while (task->over == NULL ? done < task->count : !__atomic_load_n(task->over, __ATOMIC_RELAXED)) {
    if (task->looks) {
      section.before = __atomic_load_n(task->guarded, __ATOMIC_RELAXED);
      section.start = task->now();
    }
    dispatch_sync_f(lock_queue, &section, run_section);
    if (task->outside > 0) task->work(task->outside);
    done++;
  }
  task->done = done;
}

__attribute__((constructor)) static void make_queue(void) { lock_queue = dispatch_queue_create("bench.lock", NULL); }

static const peer_lock locks[] = {{"dispatch_sync_f", use_sync}, {0}};

// MARK: a serial queue as a consumer that sleeps

typedef struct feed {
  dispatch_queue_t queue;
  dispatch_semaphore_t done;
  long each, left;
} feed;

static void *feed_make(int producers, long each) {
  feed *made = touched(sizeof *made);
  *made = (feed){dispatch_queue_create("bench.feed", NULL), dispatch_semaphore_create(0), each, producers * each};
  return made;
}

static void take(void *context) {
  feed *feed = context;
  if (--feed->left == 0) dispatch_semaphore_signal(feed->done);
}

static void feed_produce(void *context, int producer) {
  feed *feed = context;
  (void)producer;
  for (long i = 0; i < feed->each; i++) dispatch_async_f(feed->queue, feed, take);
}

static void feed_consume(void *context) { dispatch_semaphore_wait(((feed *)context)->done, DISPATCH_TIME_FOREVER); }

static void nothing(void *context) { (void)context; }

static void feed_destroy(void *context) {
  feed *feed = context;
  dispatch_sync_f(feed->queue, NULL, nothing);
  dispatch_release(feed->queue);
  dispatch_release(feed->done);
  free(feed);
}

static const peer_queue sleeping_queues[] = {{"dispatch_async_f", feed_make, feed_produce, feed_consume, feed_destroy},
                                             {0}};

// MARK: the global queue as a pool

static atomic_long left;
static dispatch_semaphore_t all_done;

static void count_down(void *context) {
  (void)context;
  if (atomic_fetch_sub_explicit(&left, 1, memory_order_acq_rel) == 1) dispatch_semaphore_signal(all_done);
}

static void run_async(long count) {
  dispatch_queue_t queue = dispatch_get_global_queue(0, 0);
  if (all_done == NULL) all_done = dispatch_semaphore_create(0);
  atomic_store(&left, count);
  for (long i = 0; i < count; i++) dispatch_async_f(queue, NULL, count_down);
  dispatch_semaphore_wait(all_done, DISPATCH_TIME_FOREVER);
}

// The group counts by itself.
static void run_group(long count) {
  dispatch_queue_t queue = dispatch_get_global_queue(0, 0);
  dispatch_group_t group = dispatch_group_create();
  for (long i = 0; i < count; i++) dispatch_group_async_f(group, queue, NULL, nothing);
  dispatch_group_wait(group, DISPATCH_TIME_FOREVER);
  dispatch_release(group);
}

static void spawn_async(void (*work)(void *), void *context) {
  dispatch_async_f(dispatch_get_global_queue(0, 0), context, work);
}

static const peer_pool pools[] = {
    {"dispatch_async_f", NULL, run_async, NULL, spawn_async}, {"dispatch_group", NULL, run_group, NULL, NULL}, {0}};

// MARK: round trips

typedef struct pair {
  dispatch_queue_t queue;
  dispatch_semaphore_t answer;
} pair;

static void answer(void *semaphore) { dispatch_semaphore_signal(semaphore); }

static void pair_trip(void *context) {
  pair *pair = context;
  dispatch_async_f(pair->queue, pair->answer, answer);
  dispatch_semaphore_wait(pair->answer, DISPATCH_TIME_FOREVER);
}

static void *pair_open(void) {
  pair *made = touched(sizeof *made);
  *made = (pair){dispatch_queue_create("bench.trip", NULL), dispatch_semaphore_create(0)};
  pair_trip(made); // its worker is made now, where the caller is
  return made;
}

static void pair_close(void *context) {
  pair *pair = context;
  dispatch_sync_f(pair->queue, NULL, nothing);
  dispatch_release(pair->queue);
  dispatch_release(pair->answer);
  free(pair);
}

static const peer_trip trips[] = {{"dispatch_async_f", pair_open, pair_trip, pair_close}, {0}};

const peer_library dispatch_library = {
    .locks = locks, .sleeping_queues = sleeping_queues, .pools = pools, .trips = trips};

// MARK: a serial queue

double cbench_dispatch_sync(long count) {
  csched_time start = csched_now();
  for (long i = 0; i < count; i++) dispatch_sync_f(lock_queue, NULL, nothing);
  return since(start);
}

static dispatch_queue_t chain_queues[2];
static dispatch_semaphore_t chain_done;

static void hop(void *context) {
  intptr_t hops_left = (intptr_t)context;
  if (hops_left == 0) dispatch_semaphore_signal(chain_done);
  else dispatch_async_f(chain_queues[hops_left & 1], (void *)(hops_left - 1), hop);
}

double cbench_dispatch_chain(long count) {
  if (chain_done == NULL) chain_done = dispatch_semaphore_create(0);
  if (chain_queues[0] == NULL) {
    for (int i = 0; i < 2; i++) chain_queues[i] = dispatch_queue_create("bench.chain", NULL);
  }
  csched_time start = csched_now();
  hop((void *)(intptr_t)count);
  dispatch_semaphore_wait(chain_done, DISPATCH_TIME_FOREVER);
  return since(start);
}

// MARK: a serial queue that is given work by its own

enum { BATCH = 1024 };

static void submit_batch(void *queue) {
  for (int i = 0; i < BATCH; i++) dispatch_async_f(queue, NULL, nothing);
}

static dispatch_queue_t self_queue(void) {
  static dispatch_queue_t queue;
  if (queue == NULL) queue = dispatch_queue_create("bench.self", NULL);
  return queue;
}

double cbench_dispatch_nested(long count) {
  dispatch_queue_t queue = self_queue();
  csched_time start = csched_now();
  for (long i = 0; i < count; i += BATCH) {
    dispatch_sync_f(queue, queue, submit_batch);
    dispatch_sync_f(queue, NULL, nothing); // all have run
  }
  return since(start) * (double)count / (double)((count + BATCH - 1) / BATCH * BATCH);
}

static void self_hop(void *context) {
  intptr_t hops_left = (intptr_t)context;
  if (hops_left == 0) dispatch_semaphore_signal(chain_done);
  else dispatch_async_f(self_queue(), (void *)(hops_left - 1), self_hop);
}

double cbench_dispatch_self_chain(long count) {
  if (chain_done == NULL) chain_done = dispatch_semaphore_create(0);
  csched_time start = csched_now();
  self_hop((void *)(intptr_t)count);
  dispatch_semaphore_wait(chain_done, DISPATCH_TIME_FOREVER);
  return since(start);
}

// MARK: memory of what waits

static void hold_for_ever(void *semaphore) { dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER); }

void cbench_dispatch_wait_jobs(long count) {
  static dispatch_queue_t queue;
  if (queue == NULL) {
    queue = dispatch_queue_create("bench.waiting", NULL);
    dispatch_async_f(queue, dispatch_semaphore_create(0), hold_for_ever);
  }
  for (long i = 0; i < count; i++) dispatch_async_f(queue, NULL, nothing);
}
