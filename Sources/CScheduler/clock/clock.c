// Timers on the boot clock and the wall clock: one thread of the process sleeps until they are due, and delivers them.
//
// States
//   shared     NULL: no clock thread runs; else `memory`: the clock thread and two queues of timers, one for each
//              clock. The thread sleeps until the alarm of a queue fires. `memory` is static, because a timer may be
//              cancelled after a stop
//   alarm      of a queue: fires when the thread must check the queue; if the clock is set, the system moves the alarm
//              with it
//   is_delivering  of a queue: 1 while the thread removes timers and delivers them
//   is_ending  1: the clock thread must return from clock_main
//
// Invariants
//   CL1  A timer is never early by its own clock. After the alarm the thread reads the clock, which may have been set
//        back meanwhile.
//   CL2  No missed wake. A thread that makes a queue's wake earlier sets the alarm afterwards. The clock thread sets
//        the alarm after each check.
//        Both read the wake and set the alarm under one lock. So the most recent setting includes all timers that were
//        added before.
//   CL3  No useless wake. An alarm is set to the wake of its queue, or off if no timer waits. Setting a clock wakes the
//        thread only if a timer becomes due. (A cancelled timer may not move the alarm: one wake too many.)
//   CL4  The first submission that needs the clock thread starts it; at most one exists. If the start fails, the
//        submission closes all that it has opened, and drops the job.
//   CL5  The thread delivers with no lock held, and each timer is removed from its queue once (timer.c, W5). So each
//        timer is run or dropped, once, also at a stop, which closes the queues, ends the thread, and drops the
//        remaining timers. The next submission starts the thread again.
//   CL6  Order: due timers are delivered by deadline, then by submission. So the submitter of a late timer delivers it
//        only while no earlier timer waits or is being delivered. It checks both under the queue's lock. The clock
//        thread sets is_delivering to 1 before the lock under which it removes a timer, and to 0 under the lock after
//        the delivery.
//   CL7  In a child of fork no timer waits: the waiting timers are the parent's, but can be cancelled. The next
//        submission starts a thread.
//   CL8  Neither clock starves the other clock or the stop. After MOST deliveries for one clock, the thread sets that
//        clock's alarm, which fires at once, and polls for the other alarm and the stop.
// Orderings
//   shared: release, pairs with the submission's acquire, carries `memory` · wake: relaxed, ordered by the alarm's lock
//     · first, is_delivering: relaxed, ordered by the queue's lock · is_ending: relaxed, ordered by the poller's wake
// Assumes: timer.c works with any clock, also one that goes back (W1 to W4 do not need one that only advances). The
//   platform layer's alarm fires for an instant that is reached by passing or by setting (platform_clocks.h), and a
//   poller reports each firing (platform.h).
// Source: one thread for the wall clock's timers: Dispatch's manager, Go's network poller. Kernel timers that follow a
//   clock: timerfd_create(2).
// Models: checks/clock.c. Not modelled: CL3, CL7.

#include <CScheduler/clock.h>

#include "../base/panic.h"
#include "../job/job_internal.h"
#include "../job/observed.h"
#include "../loop/delivery_internal.h"
#include "../platform/platform.h"
#include "../platform/platform_clocks.h"
#include "../targets/task_job.h"
#include "../time/timer_internal.h"
#include "clock_internal.h"

#include <errno.h>

enum { CLOCKS = 2, MOST = 64 }; // CLOCKS: BOOT and WALL. MOST: deliveries for one clock in a row (CL8)
_Static_assert((int)CSCHED_CLOCK_BOOT == CSCHED_OS_BOOT, "the port's clocks are ours");
_Static_assert((int)CSCHED_CLOCK_WALL == CSCHED_OS_WALL, "the port's clocks are ours");

typedef struct clock_queue {
  csched_timers timers;
  csched_lock alarm_lock; // CL2: guards the alarm
  csched_alarm alarm;     // its `fd` is -1 after a stop
  uint32_t is_delivering; // CL6: 1 while timers of this queue are delivered
} clock_queue;

typedef struct clocks {
  csched_poller poller;
  csched_os_thread thread;
  uint32_t is_ending;         // 1: `thread` must end
  clock_queue queues[CLOCKS]; // CSCHED_CLOCK_BOOT, CSCHED_CLOCK_WALL
} clocks;

static csched_lock start_lock;       // guards the next two lines; but submissions read `shared` without it (CL4)
static bool has_queues, is_stopping; // the queues are initialised; csched_clocks_stop_ is in progress, so a start fails
static clocks memory, *shared;       // `shared`: NULL, or `memory` while there is a clock thread

static void require_clock(csched_clock clock, const char *function) {
  if (CSCHED_UNLIKELY((unsigned)clock > CSCHED_CLOCK_WALL))
    csched_panic_(function, "%d is no clock. Name one of csched_clock.", (int)clock);
}

csched_time csched_clock_now(csched_clock clock) {
  require_clock(clock, "csched_clock_now");
  return clock == CSCHED_CLOCK_MONOTONIC ? csched_now() : csched_os_clock_now_((int)clock);
}

// MARK: the thread

// Does: sets the alarm to the instant at which the thread must check `queue`. Called after each check, and when the
// wake has become earlier.
static void set_alarm(clock_queue *queue) {
  csched_lock_lock(&queue->alarm_lock);
  csched_time wake = csched_load_relaxed(&queue->timers.wake);      // CL2: read under the alarm's lock
  if (queue->alarm.fd >= 0) csched_alarm_set_(&queue->alarm, wake); // -1: closed
  csched_lock_unlock(&queue->alarm_lock);
}

// Does: delivers the due timers of `queue`, at most MOST, and sets the alarm for the next check.
static void check_queue(clock_queue *queue) {
  csched_timer *timer;
  csched_store_relaxed(&queue->is_delivering, 1u); // CL6: before the pop: a submitter that misses the timer sees 1
  for (int left = MOST; left > 0; left--) {        // CL8: then the other clock gets its turn
    timer = csched_timers_pop_(&queue->timers, csched_os_clock_now_(queue->alarm.clock)); // CL1: the clock may go back
    if (timer == NULL) break;
    csched_delivery_deliver_tracked_(csched_clock_delivery_(), timer); // CL5: no lock is held; a target may lock
  }
  csched_lock_lock(&queue->timers.lock);
  csched_store_relaxed(&queue->is_delivering, 0u); // CL6: under the lock, after the deliveries: no timer overtakes them
  csched_lock_unlock(&queue->timers.lock);
  set_alarm(queue); // CL2: after the check, so that new timers count; CL8: fires at once if due timers remain
}

// The clock thread: checks each queue whose alarm has fired, until the stop.
static void clock_main(void *context) {
  clocks *all = context;
  csched_os_thread_set_name_("csched-clock");
  while (csched_load_relaxed(&all->is_ending) == 0) { // CL4: relaxed: ordered by the poller's wake
    csched_poller_event fired[CLOCKS];
    int count = csched_poller_wait_(&all->poller, fired, CLOCKS, true); // 0: a stop, or a retry (clock_delivery.c CC2)
    for (int i = 0; i < count; i++) check_queue(&all->queues[fired[i].tag]); // `tag`: the queue's index
    csched_poller_set_alarm_(&all->poller, csched_clock_give_to_workers_()); // CC2: to retry if there are no workers
  }
}

// MARK: start and stop

static int start_thread(clocks *all) { return csched_os_thread_start_internal_(&all->thread, clock_main, all); }

// Does: closes the poller and the first `alarms` alarms; the others are not open. A later set_alarm of a stopped queue
// then does nothing.
static void close_all(clocks *all, int alarms) {
  for (int i = 0; i < alarms; i++) {
    csched_lock_lock(&all->queues[i].alarm_lock);
    csched_alarm_close_(&all->queues[i].alarm);
    all->queues[i].alarm.fd = -1;
    csched_lock_unlock(&all->queues[i].alarm_lock);
  }
  csched_poller_close_(&all->poller);
}

static void open_queue(clock_queue *queue) { // a new queue, or one that a stop has closed
  if (!has_queues) csched_timers_init_(&queue->timers);
  csched_lock_lock(&queue->timers.lock);
  queue->timers.is_closed = false;
  csched_lock_unlock(&queue->timers.lock);
}

// Does: opens the poller, the alarms and the queues, and starts the clock thread. Returns: 0; or an errno value, after
// closing the poller and alarms.
static int make_clocks(clocks *all) {
  int alarms = 0, error = csched_poller_open_(&all->poller, "csched_target_submit_at_clock");
  if (error != 0) return error;
  for (; alarms < CLOCKS && error == 0; alarms += error == 0) // `alarms`: how many are open
    error = csched_alarm_open_(&all->queues[alarms].alarm, CSCHED_CLOCK_BOOT + alarms);
  for (int i = 0; i < alarms && error == 0; i++)
    error = csched_poller_set_(&all->poller, all->queues[i].alarm.fd, 0, CSCHED_POLLER_READ | CSCHED_POLLER_EDGE,
                               (uint64_t)i);
  csched_store_relaxed(&all->is_ending, 0u); // CL4: before the start, so that the thread does not end at once
  for (int i = 0; i < alarms && error == 0; i++) open_queue(&all->queues[i]);
  if (error == 0) error = start_thread(all);
  if (error == 0) has_queues = true;
  else close_all(all, alarms); // CL4: the start has failed
  return error;
}

// Does: removes the timers of the parent without running or dropping them. They can still be cancelled.
static void clear_in_child(clock_queue *queue) { // CL7: no timer waits
  while (csched_timers_pop_(&queue->timers, CSCHED_FOREVER) != NULL) {}
  queue->alarm_lock = (csched_lock)CSCHED_LOCK_INIT;
  csched_store_relaxed(&queue->is_delivering, 0u); // CL7: the child has one thread
}

// Atfork handler. It locks `start_lock` first, so that no start is half done. The child closes the parent's
// descriptors, and has no clock thread.
static void clock_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // CL7: no timers in the child
  (void)atfork;
  if (phase == CSCHED_ATFORK_BEFORE) csched_lock_lock(&start_lock);
  for (int i = 0; i < CLOCKS && has_queues; i++) {
    clock_queue *queue = &memory.queues[i];
    csched_timers_atfork_(&queue->timers, phase, true);
    if (phase == CSCHED_ATFORK_IN_CHILD) clear_in_child(queue);
  }
  if (phase == CSCHED_ATFORK_IN_PARENT) csched_lock_unlock(&start_lock);
  if (phase != CSCHED_ATFORK_IN_CHILD) return;
  if (csched_load_relaxed(&shared) != NULL) close_all(&memory, CLOCKS); // CL7: the child has one thread
  csched_store_relaxed(&shared, NULL);                                  // CL7: the child has one thread
  csched_clock_orphan_workers_();
  csched_delivery_reset_in_child_();
  start_lock = (csched_lock)CSCHED_LOCK_INIT;
  is_stopping = false;
}

// Does: starts the clock thread, unless it runs. Returns: 0, and the clocks in `*result`; or an errno value: ECANCELED
// during a stop.
static int start(clocks **result) {
  static csched_atfork atfork;
  csched_os_atfork_(&atfork, clock_at_fork);
  csched_lock_lock(&start_lock);
  clocks *all = csched_load_relaxed(&shared); // CL4: one thread starts it
  int error = is_stopping ? ECANCELED : all == NULL ? make_clocks(&memory) : 0;
  if (error == 0) csched_store_release(&shared, &memory); // CL4: pairs with the submission's acquire
  csched_lock_unlock(&start_lock);
  *result = &memory; // the caller does not use it after an error
  return error;
}

static void drop_all(clock_queue *queue) { // CL5: the timers that wait at a stop
  csched_timer *timer;
  while ((timer = csched_timers_pop_(&queue->timers, CSCHED_FOREVER)) != NULL)
    csched_job_discard_(&timer->job); // CL5: each timer is dropped once
}

void csched_clocks_stop_(void) {
  csched_lock_lock(&start_lock);
  clocks *all = csched_load_relaxed(&shared); // CL4: under `start_lock`
  csched_store_relaxed(&shared, NULL);        // CL4: under `start_lock`
  if (all != NULL) is_stopping = true;        // until the end of this function, `start` fails: it would reuse `memory`
  csched_lock_unlock(&start_lock);
  if (all == NULL) return;
  for (int i = 0; i < CLOCKS; i++) csched_timers_close_(&all->queues[i].timers); // CL5: before drop_all: none is added
  csched_store_relaxed(&all->is_ending, 1u);                                     // CL4: ordered by the poller's wake
  int error = csched_poller_wake_(&all->poller);
  if (CSCHED_UNLIKELY(error != 0)) csched_poller_abort_refused_(&all->poller, error); // stops the process
  csched_os_thread_join_(all->thread);
  for (int i = 0; i < CLOCKS; i++) drop_all(&all->queues[i]);
  csched_clock_end_workers_(); // CL5: waits for their deliveries
  close_all(all, CLOCKS);
  csched_lock_lock(&start_lock);
  is_stopping = false;
  csched_lock_unlock(&start_lock);
}

void csched_clocks_end_(void) {
  csched_clocks_stop_();
  has_queues = false; // the next start initialises the queues
}

size_t csched_clocks_threads_(void) {
  return csched_clock_worker_threads_() + (csched_load_relaxed(&shared) != NULL); // a count of threads
}

// MARK: submitting

// Returns: whether the submitter of a late timer may deliver it: no timer that must precede it waits in `queue`, or is
// still being delivered, by the clock thread or by a worker.
static bool is_next(clock_queue *queue, csched_target *target, csched_time deadline) {
  csched_lock_lock(&queue->timers.lock);
  bool precedes_all = deadline < csched_load_relaxed(&queue->timers.first) && // CL6: no earlier timer waits
                      csched_load_relaxed(&queue->is_delivering) == 0;        // CL6: no popped timer is being delivered
  csched_lock_unlock(&queue->timers.lock);
  return precedes_all && !csched_delivery_must_follow_(csched_clock_delivery_(), target); // CL6: nor by workers
}

// Does: reports the submission to the observer. The reported deadline is CSCHED_FOREVER (unknown), because observers
// use the monotonic clock.
static CSCHED_NOINLINE void observe(csched_target *target, csched_timer *timer) {
  csched_observed_submission submission;
  csched_observe_hooks_->submit(&submission, target, &timer->job, CSCHED_FOREVER);
  csched_observe_hooks_->submitted(&submission);
}

int csched_target_submit_at_clock(csched_target *target, csched_clock clock, csched_timer *timer, csched_time deadline,
                                  csched_time leeway) {
  require_clock(clock, "csched_target_submit_at_clock");
  if (clock == CSCHED_CLOCK_MONOTONIC) return csched_target_submit_at(target, timer, deadline, leeway);
  csched_job_submitted_(&timer->job, "csched_target_submit_at_clock");
  timer->target = target;
  if (csched_is_observed_()) observe(target, timer);
  clocks *all = csched_load_acquire(&shared); // CL4: pairs with start's release
  clock_queue *queue = all != NULL ? &all->queues[clock - CSCHED_CLOCK_BOOT] : NULL;
  if (deadline <= csched_os_clock_now_((int)clock) &&
      (queue == NULL || is_next(queue, target, deadline))) // CL1, CL6: due, and no earlier timer waits
    return target->type->deliver(target, &timer->job);
  int error = all == NULL ? start(&all) : 0;
  if (error != 0) {
    csched_job_discard_(&timer->job); // CL4: there is no clock thread
    return error;
  }
  queue = &all->queues[clock - CSCHED_CLOCK_BOOT];
  csched_timer_added added = csched_timers_add_(&queue->timers, timer, deadline, leeway);
  if (added == CSCHED_TIMER_ADDED_FIRST) set_alarm(queue); // CL2: `wake` has become earlier
  if (added != CSCHED_TIMER_REFUSED) return 0;
  csched_job_discard_(&timer->job); // CL5: the queue is closed
  return ECANCELED;
}

int csched_task_submit_at_clock_(csched_target *target, csched_task task, csched_clock clock, csched_time deadline,
                                 csched_time leeway) {
  csched_job_life outer = csched_job_may_be_refused_;
  csched_job_may_be_refused_ = (csched_job_life){task.job, task.life}; // task.c TK5: a drop meanwhile is a refusal
  int error = csched_target_submit_at_clock(target, clock, csched_task_timer_(task.job), deadline, leeway);
  csched_job_may_be_refused_ = outer;
  return error;
}
