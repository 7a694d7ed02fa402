#include "CBench.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

// MARK: the trampoline

static void do_nothing(csched_job *job) { (void)job; }
static const csched_job_type nothing = {do_nothing, do_nothing, NULL};

enum { BATCH = 1024 };

typedef struct batch {
  csched_job outer;
  csched_job inner[BATCH];
} batch;

static void submit_batch(csched_job *job) {
  batch *batch = job->context;
  for (int i = 0; i < BATCH; i++) csched_trampoline_run(&batch->inner[i]);
}
static const csched_job_type batches = {submit_batch, do_nothing, NULL};

double cbench_trampoline_nested(long count) {
  static batch jobs;
  csched_job_init(&jobs.outer, &batches, &jobs);
  for (int i = 0; i < BATCH; i++) csched_job_init(&jobs.inner[i], &nothing, NULL);
  csched_time start = csched_now();
  for (long i = 0; i < count; i += BATCH) csched_trampoline_run(&jobs.outer);
  return (double)(csched_now() - start) * (double)count / (double)((count + BATCH - 1) / BATCH * BATCH);
}

static void hop(csched_job *job) {
  long *left = job->context;
  if (--*left > 0) csched_trampoline_run(job);
}
static const csched_job_type hops = {hop, do_nothing, NULL};

double cbench_trampoline_chain(long count) {
  csched_job job;
  csched_job_init(&job, &hops, &count);
  csched_time start = csched_now();
  csched_trampoline_run(&job);
  return (double)(csched_now() - start);
}

// MARK: the exchange-linked queue, for comparison: a push swings the tail and then links the one before it

typedef struct exchange_queue {
  _Alignas(64) _Atomic(csched_job *) tail;
  _Alignas(64) csched_job *head;
  csched_job stub;
} exchange_queue;

static _Atomic(csched_job *) *next_of(csched_job *job) { return (_Atomic(csched_job *) *)&job->next; }

static void exchange_init(exchange_queue *queue) {
  queue->stub.next = NULL;
  queue->head = &queue->stub;
  atomic_store(&queue->tail, &queue->stub);
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

// MARK: both

static struct {
  _Alignas(64) csched_mpsc treiber;
  _Alignas(64) exchange_queue exchange;
} queues;

static void push(cbench_queue queue, csched_job *job) {
  if (queue == CBENCH_TREIBER) csched_mpsc_push(&queues.treiber, job);
  else exchange_push(&queues.exchange, job);
}

static csched_job *pop(cbench_queue queue) {
  return queue == CBENCH_TREIBER ? csched_mpsc_pop(&queues.treiber) : exchange_pop(&queues.exchange);
}

static void init(void) {
  csched_mpsc_init(&queues.treiber);
  exchange_init(&queues.exchange);
}

// The push alone: the pops in between are not timed.
double cbench_queue_push(cbench_queue queue, long count) {
  static csched_job jobs[BATCH];
  init();
  csched_time took = 0;
  long done = 0;
  for (; done < count; done += BATCH) {
    csched_time start = csched_now();
    for (int i = 0; i < BATCH; i++) push(queue, &jobs[i]);
    took += csched_now() - start;
    while (pop(queue) != NULL) {}
  }
  return (double)took * (double)count / (double)done;
}

typedef struct producer {
  cbench_queue queue;
  csched_job *jobs;
  long count;
} producer;

static void *produce(void *context) {
  producer *producer = context;
  for (long i = 0; i < producer->count; i++) push(producer->queue, &producer->jobs[i]);
  return NULL;
}

double cbench_queue_many(cbench_queue queue, int producers, long count) {
  init();
  long each = count / producers + 1;
  csched_job *jobs = calloc((size_t)(each * producers), sizeof *jobs);
  producer work[16];
  pthread_t ids[16];
  csched_time start = csched_now();
  for (int i = 0; i < producers; i++) {
    work[i] = (producer){queue, jobs + each * i, each};
    pthread_create(&ids[i], NULL, produce, &work[i]);
  }
  for (long taken = 0; taken < each * producers;) {
    if (pop(queue) != NULL) taken++;
    else
      for (int i = 0; i < 8; i++) CSCHED_CPU_RELAX(); // as a loop does between two looks
  }
  double took = (double)(csched_now() - start);
  for (int i = 0; i < producers; i++) pthread_join(ids[i], NULL);
  free(jobs);
  return took * (double)count / (double)(each * producers);
}
