// Delivery workers of the clock thread: a small pool makes the deliveries that may run user code.
//
// States
//   timers, jobs  lists of timers to deliver, and of jobs to discard, before a worker gets them; only the clock thread
//                 uses the lists
//   workers       NULL, or the pool of delivery workers; written under `workers_lock`, by the clock thread, and when
//                 the clocks end
//   undelivered    the number of timers that are listed or given to a worker, and not delivered yet (delivery.c)
//
// Invariants
//   CC1  Deliveries and discards that may run user code (DV3) run on a worker of a separate pool, which is created at
//        the first use.
//   CC2  No work is lost when the pool cannot be created. The work stays in the lists, in order. The clock thread
//        retries at each alarm, and every 10 ms. csched_clock_end_workers_ drops the listed work.
//   CC3  In a child of fork the lists are empty, and there is no pool of delivery workers.
// Orderings
//   undelivered: here relaxed, because no other thread uses it at that time; see delivery.c
// Assumes: only the clock thread uses these functions (clock.c); it has ended before csched_clock_end_workers_.
// Source: the pool's monitor thread uses its delivery workers in the same way (pool_monitor.c).
// Models: checks/clock.c. Not modelled: CC3. Not tested: CC3.

#include <CScheduler/pool.h>
#include <CScheduler/lock.h>

#include "../job/job_internal.h"
#include "clock_internal.h"

enum { WORKERS = 2, MOST = 16 };       // WORKERS run at a time; MOST threads. 0 would make the pool read system files
static const int64_t RETRY = 10000000; // CC2: ns until the next attempt to create the pool

// Timers to deliver, and jobs to discard: linked by `next`, oldest first. `last`: the final link; not valid in an empty
// list.
static struct work_list { csched_job *first, **last; } timers, jobs;

static csched_lock workers_lock; // guards `workers`
static csched_pool *workers;     // the delivery workers' pool; NULL: none
static uint32_t undelivered;     // timers that are listed or given to a worker, and not delivered yet

static void append_work(struct work_list *list, csched_job *job) {
  if (list->first == NULL) list->last = &list->first;
  job->next = NULL;
  *list->last = job;
  list->last = &job->next;
}

static csched_job *pop_work(struct work_list *list) {
  csched_job *job = list->first;
  if (job != NULL) list->first = job->next;
  return job;
}

// Does: creates the pool of delivery workers, unless it exists. Returns: false if the system has no thread or memory.
static bool ensure_workers(void) { // CC1: created at the first use
  csched_pool *pool = NULL;
  if (workers != NULL) return true; // read without the lock: only this thread, the clock thread, sets it
  if (csched_pool_create(
          &pool, &(csched_pool_options){.name = "csched-deliver", .workers = WORKERS, .most_threads = MOST}) != 0)
    return false;
  csched_pool_delivery_(pool)->undelivered = &undelivered; // one count for a listed timer and for a worker's
  csched_lock_lock(&workers_lock);                         // other threads read `workers`
  workers = pool;
  csched_lock_unlock(&workers_lock);
  return true;
}

csched_time csched_clock_give_to_workers_(void) { // CC2: listed work stays until workers exist
  if (timers.first == NULL && jobs.first == NULL) return CSCHED_FOREVER;
  if (!ensure_workers()) return csched_time_after(csched_now(), RETRY);
  csched_delivery *delivery = csched_pool_delivery_(workers);
  csched_job *job;
  while ((job = pop_work(&timers)) != NULL) delivery->deliver(delivery, (csched_timer *)job);
  while ((job = pop_work(&jobs)) != NULL) delivery->deferred.take(&delivery->deferred, job);
  return CSCHED_FOREVER;
}

// add_timer, add_job: the functions of the clock thread's csched_delivery. They only list the work, which
// csched_clock_give_to_workers_ passes on.
static void add_timer(csched_delivery *unused, csched_timer *timer) {
  (void)unused;
  append_work(&timers, &timer->job);
}

static void add_job(csched_deferred_drops *unused, csched_job *job) {
  (void)unused;
  append_work(&jobs, job);
}

csched_delivery *csched_clock_delivery_(void) {
  static csched_delivery delivery = {.deferred.take = add_job, .deliver = add_timer, .undelivered = &undelivered};
  return &delivery;
}

void csched_clock_end_workers_(void) {
  csched_job *job;
  while ((job = pop_work(&timers)) != NULL) csched_job_discard_(job); // CC2: drops the listed work
  while ((job = pop_work(&jobs)) != NULL) csched_job_discard_(job);
  csched_lock_lock(&workers_lock);
  csched_pool *pool = workers;
  workers = NULL;
  csched_lock_unlock(&workers_lock);
  if (pool != NULL) csched_pool_destroy(pool);
  csched_store_relaxed(&undelivered, 0u); // CC2: no worker remains to count its timers down
}

void csched_clock_orphan_workers_(void) { // CC3: no pool in the child
  workers_lock = (csched_lock)CSCHED_LOCK_INIT;
  workers = NULL; // the parent's pool: its threads do not exist here, and its memory is not freed
  timers.first = jobs.first = NULL;
  csched_store_relaxed(&undelivered, 0u); // CC3: the child has one thread
}

size_t csched_clock_worker_threads_(void) {
  csched_lock_lock(&workers_lock);
  size_t threads = workers != NULL ? csched_pool_live_threads_(workers) : 0;
  csched_lock_unlock(&workers_lock);
  return threads;
}
