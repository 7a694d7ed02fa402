// The pool's monitor thread: stores delayed jobs, transfers due ones to workers for delivery, and finds blocked
// workers.
//
// States
//   monitor       the thread that owns the pool's timers and runs `tick`; it ends after the final worker of a stopped
//                 pool has left
//   watching      futex. 0: the workers are not watched. TICKS: `tick`, the job that checks the workers, is submitted
//                 to the monitor thread or runs there. STAYS: the pool was stopped, and the monitor checks the workers
//                 after its loop's end. OVER: the final worker has left
//   state         of a worker. RUNNING: runs jobs, or searches. BLOCKED: the worker has reported that it blocks.
//                 STALLED: the monitor has found that the worker blocks. IDLE: sleeps. ORPHANED: in a child of fork.
//                 BLOCKED and STALLED are counted as BLOCKED in `counts`
//   delivers_for  of a worker: NULL, or the user's target for which it delivers a timer; under `pick`
//   following     of a worker: list of later timers for that target; under `pick`
// Invariants
//   MN1  The monitor watches the workers while work waits, enough workers count as running, and none is searching. A
//       thread that skips a wake for that reason (pool_idle.c F3) starts the watch. When the condition has ended, the
//       monitor clears `watching`, executes a full fence, and checks the condition once more. A failed thread start
//       also starts the watch: each tick tries again. The monitor thread starts with the pool, because later the system
//       might be unable to start a thread while the only worker waits for a queued job.
//   MN2  A worker that has used no processor time during a tick becomes STALLED, unless it is ready to run. A STALLED
//       worker that has used processor time becomes RUNNING. So a queued job starts within two ticks, even if every
//       worker is blocked, provided that the system can start a thread. A pool without work is not watched.
//   MN3  BLOCKED counts each worker once. `state` leaves RUNNING by the worker's exchange or the monitor's
//       compare-and-exchange. The thread that changes `state` from RUNNING, or back to RUNNING, changes the count.
//   MN4  The monitor closes the inboxes at the end of its loop. Timers that are due by then are delivered. The monitor
//        refuses later timers.
//   MN5  The monitor never runs user code. Workers run that code instead.
//   MN6  Each timer that the monitor transfers to the workers is delivered once by a worker, or discarded if the pool
//       drops its work. Until then the timer waits in the inbox of CSCHED_DELIVERIES, or in `following` of a worker
//       that delivers an earlier timer. After the delivery, that worker moves `following` to the front of the inbox.
//   MN7  At any time one worker delivers to a target and to all queues on it. So their timers stay in order.
//   MN8  A delivery that blocks delays the timers of that target only. The delivery may run the job itself.
//   MN9  If every thread is blocked while work waits, and the limit of threads is the default one, each tick adds one
//        thread above it. So jobs that wait for jobs behind them in the same pool end. A burst of jobs that block for a
//        while adds few threads.
//   MN10  The watch goes on until the final worker of a stopped pool has left: MN1, MN2 and MN9 hold until then. After
//        the end of its loop, the monitor thread stays, and watches without `tick`. Until OVER, only the release of
//        `tick` ends TICKS, and only the monitor ends STAYS. `tick` is never handed to another thread to be discarded:
//        that thread might be blocked, or late.
// Orderings
//   watching: 0 is stored by release, before a full fence; TICKS and STAYS by acquire, which pairs with that release:
//     `tick` may be submitted again; OVER relaxed: it carries nothing, and the monitor thread is joined
//   state: relaxed, only the value matters
//   delivers_for, following: `pick` carries the dequeued timers
// Assumes: each thread has a clock of processor time (platform.h); a user's target stays valid until the timer's
//   release (target.h).
// Source: Go's sysmon, whose tick finds blocked threads; here by processor time instead of system calls. MN9: .NET's
//   thread pool, which adds threads slowly while it is starved; Dispatch's pool stands still at its limit. `following`:
//   queues that are sharded by key.
// Models: checks/pool_monitor.c, checks/pool_end.c. Not modelled: MN2 and MN9, which are bounds on time: the checker may hold
//   any thread up for as long as it likes.

#include "pool_internal.h"

#include "../sync/waiting_internal.h"
#include "../base/panic.h"
#include "../job/job_internal.h"
#include "../loop/loop_internal.h"
#include "../targets/target_internal.h"

enum { RUNNING = 0, BLOCKED = 1, STALLED = 2, IDLE = 3, ORPHANED = 4 }; // the values of a worker's `state`
enum { TICKS = 1, STAYS = 2, OVER = 3 };                                // the values of `watching`, beside 0

static const int64_t TICK = 4500000; // ns between checks: two ticks and the start of a thread are within 10 ms

// MARK: the thread

static void watch_to_end(void *context);

int csched_pool_start_monitor_(csched_pool *pool) { // returns: 0 or an errno value
  char name[CSCHED_POOL_NAME] = "";
  csched_pool_name_(pool, 0, name); // 0: the monitor; the workers' numbers begin with 1
  int error = csched_thread_start_internal_(&pool->monitor, name, watch_to_end, pool);
  if (error == 0) csched_loop_set_delivery_(csched_thread_loop(pool->monitor), &pool->delivery); // MN5: workers deliver
  return error;
}

// Returns: the target that runs jobs on the monitor thread and holds the pool's timers.
static csched_target *monitor_target(const csched_pool *pool) {
  return csched_loop_target(csched_thread_loop(pool->monitor));
}

// Does: adds `timer` to the monitor's timers. Returns: 0 or ECANCELED, as `deliver_at` of a target.
int csched_pool_add_timer_(csched_pool *pool, csched_timer *timer, csched_time deadline, csched_time leeway) {
  csched_target *target = monitor_target(pool);
  return target->type->deliver_at(target, timer, deadline, leeway); // MN4: refused once the monitor is closed
}

csched_timers *csched_pool_timers_(const csched_pool *pool) { // returns: NULL: there is no monitor
  return pool->monitor != NULL ? csched_loop_timers_seen_(monitor_target(pool)) : NULL;
}

void csched_pool_close_monitor_(csched_pool *pool, csched_stop_policy policy) {
  csched_thread_stop(pool->monitor, policy);
}

void csched_pool_end_monitor_(csched_pool *pool) {
  csched_store_relaxed(&pool->watching, (uint32_t)OVER); // MN10: nothing ends it
  csched_futex_wake_(&pool->watching, 1);
}

void csched_pool_join_monitor_(csched_pool *pool) { csched_thread_join(pool->monitor); }
void csched_pool_free_monitor_(csched_pool *pool) { csched_thread_destroy(pool->monitor); }
bool csched_pool_is_monitor_(csched_pool *pool) { return csched_thread_is_current(pool->monitor); }
size_t csched_pool_live_threads_(csched_pool *pool) { return csched_pool_thread_count(pool) + 1; } // and the monitor

// MARK: deliveries by workers

// Returns: the pool whose field `delivery` this is.
static csched_pool *pool_of(csched_delivery *delivery) {
  return (csched_pool *)((char *)delivery - offsetof(csched_pool, delivery));
}

// Does: adds `job` to the inbox of `class`, and wakes a worker. Returns: false if the inbox is closed.
static bool add_to_inbox(csched_pool *pool, int class, csched_job *job) {
  bool is_accepted = csched_mpsc_push(&pool->classes[class].inbox, job) != CSCHED_PUSH_CLOSED;
  if (is_accepted) csched_pool_announce_(pool, 1); // F1: after the push
  return is_accepted;
}

// Does: transfers the due `timer` to a worker. Drops it if the inbox is closed: only a submitter of an overdue timer
// finds that, see MN4.
static void enqueue_delivery(csched_delivery *delivery, csched_timer *timer) { // MN6: a worker delivers it
  if (add_to_inbox(pool_of(delivery), CSCHED_DELIVERIES, &timer->job)) return;
  csched_delivery_done_(delivery); // no worker will count this timer as delivered
  csched_target_discard(&timer->job);
}

// Does: transfers `job`, which the monitor would discard, to a worker, except `tick`. Until the monitor's loop has
// ended, the inbox is open (MN4).
static void enqueue_discard(csched_deferred_drops *deferred, csched_job *job) {
  csched_pool *pool = pool_of((csched_delivery *)deferred); // `deferred` is the first field
  if (job != &pool->tick.job) {
    add_to_inbox(pool, CSCHED_DEFERRED, job); // MN5: a worker drops the job
    return;
  }
  csched_job_discard_into_(NULL); // MN10: here, because all workers may be blocked
  csched_target_discard(job);
  csched_job_discard_into_(deferred);
}

void csched_pool_init_delivery_(csched_pool *pool) {
  pool->delivery = (csched_delivery){
      .deferred.take = enqueue_discard, .deliver = enqueue_delivery, .undelivered = &pool->undelivered};
}

csched_delivery *csched_pool_delivery_(csched_pool *pool) { return &pool->delivery; }

// Returns: true: `worker` must deliver the timer `job`; false: the timer now waits behind another worker's delivery.
bool csched_pool_begin_delivery_locked_(csched_pool_worker *worker, csched_job *job) { // MN7: one worker for a target
  csched_pool *pool = worker->pool;
  const csched_target *key = csched_target_find_custom_(((csched_timer *)job)->target); // not NULL: see delivery.c
  uint32_t used = csched_pool_slots_used_(pool); // a worker that delivers has its slot below
  for (uint32_t i = 0; i < used; i++) {
    csched_pool_worker *each = &pool->slots[i];
    if (each->delivers_for != key) continue;
    job->next = NULL;            // the list ends with this timer
    *each->last_following = job; // MN7: appends the timer to that worker's `following`
    each->last_following = &job->next;
    return false;
  }
  worker->delivers_for = key;
  worker->following = NULL;
  worker->last_following = &worker->following;
  return true;
}

// Does: delivers the timer `job` to its target; discards it if the pool drops its work, or the timer was cancelled.
// Ends the delivery.
void csched_pool_deliver_(csched_pool_worker *worker, csched_job *job) {
  csched_target *target = ((csched_timer *)job)->target;
  if (csched_pool_is_dropping_(worker->pool) || csched_job_is_cancelled_(job)) csched_target_discard(job);
  else target->type->deliver(target, job);
  csched_pool_end_delivery_(worker);
}

// Does: lets other workers deliver to this worker's target again: first the timers in `following`, which return to the
// inbox.
void csched_pool_end_delivery_(csched_pool_worker *worker) {
  csched_pool *pool = worker->pool;
  csched_pool_class *class = &pool->classes[CSCHED_DELIVERIES];
  csched_delivery_done_(&pool->delivery); // counts the timer as delivered
  csched_lock_lock(&pool->pick);
  if (worker->following != NULL) { // MN6: to the front of the inbox
    *worker->last_following = class->inbox.first;
    class->inbox.first = worker->following;
    csched_store_relaxed(&class->more, 1u); // racy write: this worker checks the inbox next, so no wake is needed
  }
  worker->delivers_for = NULL;
  csched_lock_unlock(&pool->pick);
}

// MARK: watching

// Does: marks `worker` as STALLED if its thread has used no processor time since the previous tick, else as RUNNING. A
// first tick (`id_seen` 0) only records the time. Skips a worker that is BLOCKED or IDLE, or has no thread.
static void check_worker(csched_pool *pool, csched_pool_worker *worker) {
  uint32_t id = csched_load_relaxed(&worker->id);       // racy read, rechecked by the next tick
  uint32_t state = csched_load_relaxed(&worker->state); // racy read, rechecked by the cas
  if (id == 0 || state == BLOCKED || state == IDLE) {
    worker->id_seen = 0;
    return;
  }
  csched_time used = csched_os_thread_processor_time_(id);
  bool has_used_time = id != worker->id_seen || used != worker->time_seen;
  worker->time_seen = used;
  worker->id_seen = id;
  if (has_used_time == (state == RUNNING)) return;              // `state` is right already
  if (!has_used_time && csched_os_thread_is_ready_(id)) return; // not blocked: waits for a processor
  if (!csched_cas_relaxed(&worker->state, &state, (uint32_t)(has_used_time ? RUNNING : STALLED)))
    return; // MN3: the worker itself has changed `state`, and the count
  if (has_used_time) csched_pool_count_unblocked_(pool);
  else csched_pool_count_blocked_(worker); // MN2: wakes another worker in its place
}

// Does: prints a message, once, when `most_threads` is reached and workers are blocked.
static void report_cap(csched_pool *pool) {
  if (csched_load_relaxed(&pool->may_report_cap) == 0 || !csched_pool_is_stuck_at_cap_(pool))
    return;                                        // racy read: only the monitor clears the flag
  csched_store_relaxed(&pool->may_report_cap, 0u); // racy write: only the monitor clears the flag
  csched_say_(
      "csched_pool",
      "pool %p (%s) has its %zu threads, and work waits while so many of them are blocked that fewer than %zu "
      "run.%s Do not block there: be notified (csched_group_notify; in Swift await waitForAll or perform). Or have "
      "fewer jobs block at a time (csched_limit; ConcurrentScheduler(limit:)), or give the pool more threads "
      "(most_threads; WorkerPool(maxThreads:)). This is said once.",
      (void *)pool, pool->name, pool->most_threads, pool->workers,
      pool->slot_count > pool->most_threads ? " It adds threads slowly from now on." : "");
}

// Does: checks all workers, and adds one where that is needed. Returns: whether the watch goes on.
static bool check_workers(csched_pool *pool) {
  uint32_t used = csched_pool_slots_used_(pool); // a later slot is found by the next tick
  bool is_needed = csched_pool_may_grow_(pool) && csched_pool_has_work_(pool);
  for (uint32_t i = 0; i < used; i++) {
    if (!is_needed) pool->slots[i].id_seen = 0; // the next watch compares with no old time
    else check_worker(pool, &pool->slots[i]);
  }
  if (!is_needed) { // MN1: the watch ends; end_watch checks once more
    csched_pool_drop_spares_(pool);
    return false;
  }
  csched_pool_wake_(pool, false); // MN1: tries again after a failed thread start
  report_cap(pool);
  if (csched_pool_add_spare_(pool)) csched_pool_wake_(pool, false); // MN9: starts that thread
  return true;
}

// Does: permits csched_pool_start_watch_ to start the watch again, and checks once more: see MN1. `watching`: the state
// that ends, TICKS or STAYS.
static void end_watch(csched_pool *pool, uint32_t watching) {
  if (!csched_cas_release(&pool->watching, &watching, 0u)) return; // MN1: pairs with start_watch's acquire; else OVER
  csched_fence_full();                                             // MN1: between clearing `watching` and the check
  if (csched_pool_may_grow_(pool) && csched_pool_has_work_(pool)) csched_pool_start_watch_(pool);
}

// Does: checks all workers, as the monitor's job, and submits the job again while the watch is needed.
static void run_tick(csched_job *job) {
  csched_target *target = csched_loop_target(csched_loop_current());
  csched_pool *pool = job->context;
  if (check_workers(pool)) csched_target_submit_at(target, &pool->tick, csched_time_after(csched_now(), TICK), 0);
}

static void drop_tick(csched_job *job) { (void)job; } // `tick` is a field of the pool: nothing to free

// Called when the monitor's loop no longer uses `tick`.
static void release_tick(csched_job *job) { end_watch(job->context, TICKS); }

static const csched_own_job_type tick_type = CSCHED_OWN_JOB_TYPE(run_tick, drop_tick, release_tick, false);

// Does: submits `tick` to the monitor thread, or, if the pool was stopped, wakes the monitor; unless the workers are
// watched already.
void csched_pool_start_watch_(csched_pool *pool) {
  uint32_t watching = csched_load_relaxed(&pool->watching); // MN1: after the caller's fence, so that a 0 is seen
  if (watching != 0) return;
  uint32_t wanted = csched_pool_is_closing_(pool) ? STAYS : TICKS;
  if (!csched_cas_acquire(&pool->watching, &watching, wanted)) return; // MN1: pairs with end_watch's release
  if (wanted == STAYS) {
    csched_futex_wake_(&pool->watching, 1); // MN10
    return;
  }
  csched_timer_init(&pool->tick, &tick_type.type, pool);
  csched_deferred_drops *before = csched_job_discard_into_(NULL); // MN10: a stopped monitor refuses it: here
  csched_target_submit(csched_thread_target(pool->monitor), &pool->tick.job);
  csched_job_discard_into_(before);
}

// The end of the monitor thread, after its loop. Does: closes the inboxes, and watches the workers until the final one
// has left.
static void watch_to_end(void *context) {
  csched_pool *pool = context;
  csched_pool_close_inboxes_(pool);
  for (csched_time next = 0;;) { // `next`: when the next check is due
    csched_time now = csched_now();
    uint32_t watching = csched_load_relaxed(&pool->watching); // MN10: it carries nothing
    if (watching == OVER) return;
    if (watching == STAYS && now >= next) { // MN2: not sooner after an earlier check
      next = csched_time_after(now, TICK);
      if (!check_workers(pool)) end_watch(pool, STAYS);
    } else {
      csched_time deadline = watching == 0 ? CSCHED_FOREVER : watching == STAYS ? next : csched_time_after(now, TICK);
      csched_futex_wait_(&pool->watching, watching, deadline);
    }
  }
}

// MARK: blocking

// Called after a job or a blocking call. Does: makes the calling worker RUNNING, and surplus if too many run. If it is
// ORPHANED, stops the process.
void csched_pool_after_job_(csched_pool_worker *worker) {
  if (CSCHED_UNLIKELY(csched_load_relaxed(&worker->state) != RUNNING)) { // racy read, rechecked by the exchange
    if (csched_load_relaxed(&worker->state) == ORPHANED)
      csched_pool_panic_worker_(worker->pool); // racy read: written on this thread
    worker->blocking_depth = 0;                // the job may have omitted csched_pool_blocking_end
    if (csched_exchange_relaxed(&worker->state, (uint32_t)RUNNING) != RUNNING) // MN3: it was counted as BLOCKED
      worker->is_surplus = csched_pool_count_unblocked_(worker->pool);
  } else if (CSCHED_UNLIKELY(csched_load_relaxed(&worker->pool->watching) != 0)) { // racy read, rechecked next time
    worker->is_surplus = csched_pool_is_surplus_(worker->pool); // STALLED workers may run again: too many
  }
}

// Does: sets `state` before a sleep (`is_idle`), or after it.
void csched_pool_set_idle_(csched_pool_worker *worker, bool is_idle) {
  if (!is_idle) csched_store_relaxed(&worker->state, (uint32_t)RUNNING); // MN3: no other thread changes IDLE
  else if (csched_exchange_relaxed(&worker->state, (uint32_t)IDLE) == STALLED)
    csched_pool_count_unblocked_(worker->pool); // MN3: a STALLED worker is counted as BLOCKED
}

void csched_pool_orphan_worker_(csched_pool_worker *worker) {
  csched_store_relaxed(&worker->state, (uint32_t)ORPHANED); // MN3: a child of fork needs no counts
}

void csched_pool_blocking_begin(void) {
  csched_pool_worker *worker = csched_pool_worker_here_;
  if (worker == NULL || worker->blocking_depth++ > 0) return; // nested: the outermost call has counted it
  if (csched_exchange_relaxed(&worker->state, (uint32_t)BLOCKED) == RUNNING) // MN3: STALLED: counted already
    csched_pool_count_blocked_(worker);
  else csched_pool_give_back_(worker); // PP6 in pool_pick.c: what it has added since it was STALLED
}

void csched_pool_blocking_end(void) {
  csched_pool_worker *worker = csched_pool_worker_here_;
  if (worker == NULL || worker->blocking_depth == 0 || --worker->blocking_depth > 0) return;
  csched_pool_after_job_(worker); // the worker runs again
}

// Locks, semaphores and the like call these functions before and after a thread waits.
__attribute__((constructor)) static void install(void) {
  csched_waiting_begins_ = csched_pool_blocking_begin;
  csched_waiting_ends_ = csched_pool_blocking_end;
}
