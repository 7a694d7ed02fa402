// Deliveries for the clock thread: a small pool of workers makes those that the thread must not make itself.
//
// States
//   timers, jobs  held by the clock thread: timers to deliver, and jobs to discard, until there is a worker; only that thread uses them
//   carriers      NULL, or the pool of delivery workers; written by the clock thread, and at the end, under `guard`
//   on_its_way    see delivery.c
//
// Invariants
//   CC1  What the clock thread must not do itself (DV3) is done by a worker of a separate pool. That is created at the first use.
//   CC2  Nothing is lost when the system has no thread for that pool. The work is held, in order, and tried again whenever an alarm fires, and
//        every 10 ms. What is held at the end is dropped by the thread that ends the clocks.
//   CC3  In a child of fork nothing is held, and there is no pool of delivery workers.
// Orderings
//   on_its_way: relaxed, because no other thread is left
// Assumes: one thread at a time delivers (clock.c), and has ended before csched_clock_end_workers_.
// Source: as the pool's monitor thread does (pool_monitor.c).
// Checked by: "no code of the user's runs on a thread that keeps the time", "a target that blocks holds up no other's timers", "after fork other clocks are waited for anew".
// Models: checks/clock.c. Not modelled: CC3.

#include <CScheduler/pool.h>

#include <CScheduler/lock.h>

#include "../job/job_internal.h"
#include "clock_internal.h"

enum { WORKERS = 2, MOST = 16 };       // deliveries at a time, threads in all. Given, so that the pool reads no file
static const int64_t RETRY = 10000000; // ns

static struct held { csched_job *first, **last; } timers, jobs;

static csched_lock guard;
static csched_pool *workers;
static uint32_t on_its_way;

static void hold(struct held *held, csched_job *job) {
  if (held->first == NULL) held->last = &held->first;
  job->next = NULL;
  *held->last = job;
  held->last = &job->next;
}

static csched_job *take_held(struct held *held) {
  csched_job *job = held->first;
  if (job != NULL) held->first = job->next;
  return job;
}

static bool has_carriers(void) { // CC1: workers deliver
  csched_pool *pool = NULL;
  if (workers != NULL) return true;
  if (csched_pool_create(
          &pool, &(csched_pool_options){.name = "csched-deliver", .workers = WORKERS, .most_threads = MOST}) != 0)
    return false;
  csched_pool_delivery_(pool)->on_its_way = &on_its_way;
  csched_lock_lock(&guard);
  workers = pool;
  csched_lock_unlock(&guard);
  return true;
}

csched_time csched_clock_hand_on_(void) { // CC2: nothing lost
  if (timers.first == NULL && jobs.first == NULL) return CSCHED_FOREVER;
  if (!has_carriers()) return csched_time_after(csched_now(), RETRY);
  csched_delivery *delivery = csched_pool_delivery_(workers);
  csched_job *job;
  while ((job = take_held(&timers)) != NULL) delivery->deliver(delivery, (csched_timer *)job);
  while ((job = take_held(&jobs)) != NULL) delivery->deferred.take(&delivery->deferred, job);
  return CSCHED_FOREVER;
}

static void hold_timer(csched_delivery *unused, csched_timer *timer) {
  (void)unused;
  hold(&timers, &timer->job);
}

static void deferred(csched_deferred_drops *unused, csched_job *job) {
  (void)unused;
  hold(&jobs, job);
}

csched_delivery *csched_clock_delivery_(void) {
  static csched_delivery delivery = {.deferred.take = deferred, .deliver = hold_timer, .on_its_way = &on_its_way};
  return &delivery;
}

void csched_clock_end_workers_(void) {
  csched_job *job;
  while ((job = take_held(&timers)) != NULL) csched_job_discard_(job); // CC2: at the end
  while ((job = take_held(&jobs)) != NULL) csched_job_discard_(job);
  csched_lock_lock(&guard);
  csched_pool *pool = workers;
  workers = NULL;
  csched_lock_unlock(&guard);
  if (pool != NULL) csched_pool_destroy(pool);
  csched_store_relaxed(&on_its_way, 0u); // CC2: no other thread is left
}

void csched_clock_orphan_workers_(void) { // CC3: fork
  guard = (csched_lock)CSCHED_LOCK_INIT;
  workers = NULL; // the parent's pool; its memory stays
  timers.first = jobs.first = NULL;
  csched_store_relaxed(&on_its_way, 0u); // CC3: this is the only thread
}

size_t csched_clock_worker_threads_(void) {
  csched_lock_lock(&guard);
  size_t threads = workers != NULL ? csched_pool_live_threads_(workers) : 0;
  csched_lock_unlock(&guard);
  return threads;
}
