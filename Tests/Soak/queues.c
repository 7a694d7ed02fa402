// Serial queues, first many and then by the thousand, on a pool and on one another: created, used in each of their ways,
// destroyed with work in them.

#include "soak.h"

#include <stdlib.h>

enum { BATCH = 1000, JOBS = 3 };

typedef struct queue {
  csched_serial *serial;
  unsigned inside, ran; // the queue's own
  soak_job jobs[JOBS];
} queue;

static void be_alone(queue *queue) {
  CHECK(++queue->inside == 1, "two jobs of one queue run");
  queue->ran++;
  queue->inside--;
}

static void run(soak_job *job) { be_alone(job->context); }
static void sync_body(void *context) { be_alone(context); }

static bool is_base(int i) { return i % 4 == 2; } // of the next one, if there is one

static void use(queue *queue, bool is_base, uint64_t *seed) {
  uint64_t how = soak_below(seed, 16);
  if (how & 1) csched_serial_suspend(queue->serial);
  for (int i = 0; i < JOBS; i++) soak_submit(&queue->jobs[i], csched_serial_target(queue->serial));
  if (how & 2) csched_job_cancel(&queue->jobs[soak_below(seed, JOBS)].timer.job);
  if ((how & 1) && ((how & 4) || is_base)) csched_serial_resume(queue->serial); // if not, the end does it
  if (how == 8) CHECK(csched_serial_sync(queue->serial, sync_body, queue) == 0, "a sync is refused");
}

static queue *begin(int count, csched_pool *pool, soak_figures *figures) {
  queue *queues = malloc((size_t)count * sizeof *queues);
  CHECK(queues != NULL, "no memory for %d queues", count);
  for (int i = 0; i < count; i++) {
    bool is_on_queue = i > 0 && is_base(i - 1);
    csched_target *base = is_on_queue ? csched_serial_target(queues[i - 1].serial)
                                      : csched_pool_target(pool, (csched_priority)(i / 4 % 4));
    CHECK(csched_serial_create(&queues[i].serial, base) == 0, "no memory");
    for (int j = 0; j < JOBS; j++) {
      soak_job_init(&queues[i].jobs[j], &figures->tally);
      queues[i].jobs[j].body = run;
      queues[i].jobs[j].context = &queues[i];
    }
    queues[i].inside = queues[i].ran = 0;
  }
  return queues;
}

static void destroy(queue *queues, int count, soak_tally *tally) {
  for (int i = 0; i < count; i++)
    if (!is_base(i)) csched_serial_destroy(queues[i].serial);
  soak_settle(tally); // a base must outlive the queues on it, and their jobs
  for (int i = 0; i < count; i++)
    if (is_base(i)) csched_serial_destroy(queues[i].serial);
  free(queues);
}

static void live(int count, csched_pool *pool, uint64_t *seed, soak_figures *figures) {
  queue *queues = begin(count, pool, figures);
  for (int i = 0; i < count; i++) use(&queues[i], is_base(i), seed);
  destroy(queues, count, &figures->tally);
  figures->count += (uint64_t)count;
}

void soak_queues(const soak_slice *slice, soak_figures *figures) {
  csched_pool *pool;
  CHECK(csched_pool_create(&pool, &(csched_pool_options){.name = "soak"}) == 0, "no pool");
  live((int)slice->goal, pool, slice->seed, figures);
  while (!soak_is_over(slice->end)) live(BATCH, pool, slice->seed, figures);
  csched_pool_destroy(pool);
}
