// Queues with one consumer: the harness, and those of this package.
#include "kit.h"

#include "../../../Sources/CScheduler/job/mpsc.h"

#include <stdatomic.h>

typedef struct items {
  csched_job *jobs;
  int producers;
  long each, taken;
} items;

static items make_items(int producers, long each) {
  return (items){touched(sizeof(csched_job) * (size_t)(producers * each)), producers, each, 0};
}

static long all_of(const items *items) { return items->producers * items->each; }

static csched_job *first_of(const items *items, int producer) { return items->jobs + producer * items->each; }

// As a loop does between two looks at an empty queue.
static void look_away(void) {
  for (int i = 0; i < 8; i++) CSCHED_CPU_RELAX();
}

// MARK: ours, bare

typedef struct run_queue {
  _Alignas(64) csched_mpsc queue;
  _Alignas(64) items items;
} run_queue;

static void *run_queue_make(int producers, long each) {
  run_queue *made = touched(sizeof *made);
  csched_mpsc_init(&made->queue);
  made->items = make_items(producers, each);
  return made;
}

static void run_queue_produce(void *context, int producer) {
  run_queue *queue = context;
  csched_job *jobs = first_of(&queue->items, producer);
  for (long i = 0; i < queue->items.each; i++) csched_mpsc_push(&queue->queue, &jobs[i]);
}

static void run_queue_consume(void *context) {
  run_queue *queue = context;
  for (long left = all_of(&queue->items); left > 0;) {
    if (csched_mpsc_pop(&queue->queue) != NULL) left--;
    else look_away();
  }
}

static void run_queue_destroy(void *context) {
  free(((run_queue *)context)->items.jobs);
  free(context);
}

// MARK: ours, with a consumer that sleeps: a loop

typedef struct loop_queue {
  csched_loop *loop;
  items items;
} loop_queue;

static void take(csched_job *job) {
  loop_queue *queue = job->context;
  if (++queue->items.taken == all_of(&queue->items)) csched_loop_end_run(queue->loop);
}
static const csched_job_type takes = {take, do_nothing, NULL};

static void *loop_queue_make(int producers, long each) {
  loop_queue *made = touched(sizeof *made);
  made->items = make_items(producers, each);
  if (csched_loop_create(&made->loop) != 0) abort();
  for (long i = 0; i < producers * each; i++) csched_job_init(&made->items.jobs[i], &takes, made);
  return made;
}

static void loop_queue_produce(void *context, int producer) {
  loop_queue *queue = context;
  csched_job *jobs = first_of(&queue->items, producer);
  for (long i = 0; i < queue->items.each; i++) csched_target_submit(csched_loop_target(queue->loop), &jobs[i]);
}

static void loop_queue_consume(void *context) { csched_loop_run(((loop_queue *)context)->loop); }

static void loop_queue_destroy(void *context) {
  loop_queue *queue = context;
  csched_loop_destroy(queue->loop);
  free(queue->items.jobs);
  free(queue);
}

// MARK: the exchange-linked queue: a push swings the tail and then links the one before it

typedef struct exchange_queue {
  _Alignas(64) _Atomic(csched_job *) tail;
  _Alignas(64) csched_job *head;
  csched_job stub;
  _Alignas(64) items items;
} exchange_queue;

static _Atomic(csched_job *) *next_of(csched_job *job) { return (_Atomic(csched_job *) *)&job->next; }

static void *exchange_make(int producers, long each) {
  exchange_queue *made = touched(sizeof *made);
  made->head = &made->stub;
  atomic_store(&made->tail, &made->stub);
  made->items = make_items(producers, each);
  return made;
}

static void exchange_push(exchange_queue *queue, csched_job *job) {
  atomic_store_explicit(next_of(job), NULL, memory_order_relaxed);
  csched_job *before = atomic_exchange_explicit(&queue->tail, job, memory_order_acq_rel);
  atomic_store_explicit(next_of(before), job, memory_order_release);
}

static csched_job *exchange_pop(exchange_queue *queue) {
  csched_job *head = queue->head, *next = atomic_load_explicit(next_of(head), memory_order_acquire);
  if (head == &queue->stub) {
    if (next == NULL) return NULL;
    queue->head = head = next;
    next = atomic_load_explicit(next_of(head), memory_order_acquire);
  }
  if (next != NULL) {
    queue->head = next;
    return head;
  }
  if (atomic_load_explicit(&queue->tail, memory_order_acquire) != head) return NULL; // a producer is in between
  exchange_push(queue, &queue->stub);
  next = atomic_load_explicit(next_of(head), memory_order_acquire);
  if (next == NULL) return NULL;
  queue->head = next;
  return head;
}

static void exchange_produce(void *context, int producer) {
  exchange_queue *queue = context;
  csched_job *jobs = first_of(&queue->items, producer);
  for (long i = 0; i < queue->items.each; i++) exchange_push(queue, &jobs[i]);
}

static void exchange_consume(void *context) {
  exchange_queue *queue = context;
  for (long left = all_of(&queue->items); left > 0;) {
    if (exchange_pop(queue) != NULL) left--;
    else look_away();
  }
}

static void exchange_destroy(void *context) {
  free(((exchange_queue *)context)->items.jobs);
  free(context);
}

const peer_queue ours_queues[] = {
    {"csched_mpsc", run_queue_make, run_queue_produce, run_queue_consume, run_queue_destroy}, {0}};
const peer_queue ours_sleeping_queues[] = {
    {"csched_loop", loop_queue_make, loop_queue_produce, loop_queue_consume, loop_queue_destroy}, {0}};
const peer_queue plain_queues[] = {
    {"exchange-linked", exchange_make, exchange_produce, exchange_consume, exchange_destroy}, {0}};

// MARK: the harness

double cbench_queue_push(int queue, long count) {
  enum { BATCH = 1024 };
  const peer_queue *kind = contender(CBENCH_QUEUES, queue);
  void *made = kind->make(1, BATCH);
  csched_time took = 0;
  long done = 0;
  for (; done < count; done += BATCH) {
    csched_time start = csched_now();
    kind->produce(made, 0);
    took += csched_now() - start;
    kind->consume(made);
  }
  kind->destroy(made);
  return (double)took * (double)count / (double)done;
}

typedef struct flow {
  const peer_queue *kind;
  void *queue;
  int producers;
  long each;
} flow;

// Index 0 is the consumer.
static void push_or_take(void *context, cbench_crew *crew, int index) {
  flow *flow = context;
  if (index == 0) flow->queue = flow->kind->make(flow->producers, flow->each);
  cbench_crew_start(crew, index);
  if (index == 0) flow->kind->consume(flow->queue);
  else flow->kind->produce(flow->queue, index - 1);
  cbench_crew_end(crew, index);
  cbench_crew_meet(crew); // a producer may still be on its way out of the queue
  if (index == 0) flow->kind->destroy(flow->queue);
}

double cbench_queue_many(cbench_kind kind, int queue, int producers, cbench_placement placement, long count) {
  flow flow = {contender(kind, queue), NULL, producers, count / producers + 1};
  double took = cbench_crew_run(producers + 1, placement, push_or_take, &flow);
  return took * (double)count / (double)(flow.each * producers);
}
