// Deliveries for the clock thread: a small pool of workers makes those that the thread must not make itself.
//
// States
//   timers, jobs  held by the clock thread: timers to deliver, and jobs to discard, until there is a worker; only that thread uses them
//   carriers      NULL, or the pool of delivery workers; written by the clock thread, and at the end, under `guard`
//   on_its_way    see delivery.c
//
// Obligations
//   CC1  What the clock thread must not do itself (DV3) is done by a worker of a separate pool. That is created at the first use.
//   CC2  Nothing is lost when the system has no thread for that pool. The work is held, in order, and tried again whenever an alarm fires, and
//        every 10 ms. What is held at the end is dropped by the thread that ends the clocks.
//   CC3  In a child of fork nothing is held, and there is no pool of delivery workers.
// Orderings
//   on_its_way: relaxed, because no other thread is left
// Assumes: one thread at a time delivers (clock.c), and has ended before csched_clock_end_carriers_.
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
static csched_pool *carriers;
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

static bool has_carriers(void) { // CC1
  csched_pool *pool = NULL;
  if (carriers != NULL) return true;
  if (csched_pool_create(&pool,
                         &(csched_pool_options){.name = "csched-carry", .workers = WORKERS, .most_threads = MOST}) != 0)
    return false;
  csched_pool_courier_(pool)->on_its_way = &on_its_way;
  csched_lock_lock(&guard);
  carriers = pool;
  csched_lock_unlock(&guard);
  return true;
}

csched_time csched_clock_hand_on_(void) { // CC2
  if (timers.first == NULL && jobs.first == NULL) return CSCHED_FOREVER;
  if (!has_carriers()) return csched_time_after(csched_now(), RETRY);
  csched_courier *courier = csched_pool_courier_(carriers);
  csched_job *job;
  while ((job = take_held(&timers)) != NULL) courier->carry(courier, (csched_timer *)job);
  while ((job = take_held(&jobs)) != NULL) courier->bin.take(&courier->bin, job);
  return CSCHED_FOREVER;
}

static void carry(csched_courier *unused, csched_timer *timer) {
  (void)unused;
  hold(&timers, &timer->job);
}

static void bin(csched_bin *unused, csched_job *job) {
  (void)unused;
  hold(&jobs, job);
}

csched_courier *csched_clock_courier_(void) {
  static csched_courier courier = {.bin.take = bin, .carry = carry, .on_its_way = &on_its_way};
  return &courier;
}

void csched_clock_end_carriers_(void) {
  csched_job *job;
  while ((job = take_held(&timers)) != NULL) csched_job_discard_(job); // CC2: at the end
  while ((job = take_held(&jobs)) != NULL) csched_job_discard_(job);
  csched_lock_lock(&guard);
  csched_pool *pool = carriers;
  carriers = NULL;
  csched_lock_unlock(&guard);
  if (pool != NULL) csched_pool_destroy(pool);
  csched_store_relaxed(&on_its_way, 0u); // CC2: no other thread is left
}

void csched_clock_orphan_carriers_(void) { // CC3
  guard = (csched_lock)CSCHED_LOCK_INIT;
  carriers = NULL; // the parent's pool; its memory stays
  timers.first = jobs.first = NULL;
  csched_store_relaxed(&on_its_way, 0u); // CC3: this is the only thread
}

size_t csched_clock_carrier_threads_(void) {
  csched_lock_lock(&guard);
  size_t threads = carriers != NULL ? csched_pool_live_threads_(carriers) : 0;
  csched_lock_unlock(&guard);
  return threads;
}
