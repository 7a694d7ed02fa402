// States
//   monitor    the thread that delivers delayed jobs and runs `tick`; it is there as long as the pool
//   watching   0, or 1: `tick` is submitted to the monitor thread, or running there
//   standing   of a worker: RUNNING, jobs or a search; BLOCKED, as it says itself; STALLED, as the monitor has found; IDLE; ORPHANED by fork.
//              The second and the third are counted as BLOCKED in `counts`
//
// Obligations
//   K1  When work waits, enough workers are counted as running, and nobody searches, the monitor watches: whoever skips a wake for
//       that reason (F3) sees to it. It stops when that has ended: watching is cleared, full fence, and a last look.
//       So does whoever fails to start a thread: each tick tries again. That is why the monitor is started with the pool: later the
//       system could have no thread for it either, while the pool's only worker waits for a job that is queued.
//   K2  A worker that has used no processor time for a tick is STALLED, one that has is not. So a job that can be run begins
//       within two ticks, though every worker is blocked, if a thread is to be had. A pool without work is not watched.
//   K3  BLOCKED counts each worker once: standing leaves RUNNING by the worker's exchange or the monitor's compare-and-exchange;
//       whoever makes it leave RUNNING, or come back, changes the count.
//   K4  The monitor ends before the inboxes are closed: what is due by then is delivered. What comes later it refuses.
//   K5  The monitor calls nothing of the user's: workers do that for it (pool_carry.c).
// Orderings
//   watching: →0 ordered by a full fence, →1 acquire, pairs with →0's release: `tick` is free · standing: relaxed, its value is all
// Assumes: a thread's own clock of processor time (platform.h).
// Source: the tick over blocked threads is that of Go's sysmon; it looks at processor time in place of system calls.
// Checked by: "blocked workers are found out without a word", "a worker that says that it blocks is replaced",
//   "a pool comes back when there are threads again",
//   "an idle pool does not wake up", "delayed jobs of a pool run, never early".
// Models: checks/pool.c. Not modelled: K2, which is a bound on time: the checker may hold any thread up for as long as it likes.

#include "pool_internal.h"

#include "loop_internal.h"

enum { RUNNING = 0, BLOCKED = 1, STALLED = 2, IDLE = 3, ORPHANED = 4 };

static const int64_t TICK = 4500000; // ns; two of them, and the start of a thread, are within 10 ms

// MARK: the thread

int csched_pool_start_monitor_(csched_pool *pool) {
  char name[CSCHED_POOL_NAME] = "";
  csched_os_signals before;
  csched_pool_name_(pool, 0, name);
  csched_os_signals_block_(&before); // no handler of the user's runs there
  int error = csched_thread_start(&pool->monitor, &(csched_thread_options){.name = name[0] != 0 ? name : NULL});
  csched_os_signals_restore_(&before);
  if (error == 0) csched_loop_carry_by_(csched_thread_loop(pool->monitor), &pool->courier); // K5
  return error;
}

static csched_target *monitor_target(const csched_pool *pool) {
  return csched_loop_target(csched_thread_loop(pool->monitor));
}

int csched_pool_keep_at_(csched_pool *pool, csched_timer *timer, csched_time deadline, csched_time leeway) {
  csched_target *target = monitor_target(pool);
  return target->type->deliver_at(target, timer, deadline, leeway); // K4: refused, once the monitor is closed
}

void csched_pool_close_monitor_(csched_pool *pool, csched_stop_policy policy) {
  csched_thread_stop(pool->monitor, policy);
}

void csched_pool_join_monitor_(csched_pool *pool) { csched_thread_join(pool->monitor); }

void csched_pool_free_monitor_(csched_pool *pool) { csched_thread_destroy(pool->monitor); }

bool csched_pool_is_monitor_(csched_pool *pool) { return csched_thread_is_current(pool->monitor); }

size_t csched_pool_live_threads_(csched_pool *pool) { return csched_pool_thread_count(pool) + 1; }

// MARK: watching

// Looks at each worker. At the first time it only notes how far they are.
static void look_at(csched_pool *pool, csched_pool_worker *worker) {
  uint32_t id = csched_load_relaxed(&worker->id);             // racy read, rechecked by the next tick
  uint32_t standing = csched_load_relaxed(&worker->standing); // racy read, rechecked by the cas
  if (id == 0 || standing == BLOCKED || standing == IDLE) {
    worker->id_seen = 0;
    return;
  }
  csched_time used = csched_os_thread_processor_time_(id);
  bool has_moved = id != worker->id_seen || used != worker->time_seen;
  worker->time_seen = used;
  worker->id_seen = id;
  if (has_moved == (standing == RUNNING)) return;
  if (!has_moved && csched_os_thread_is_ready_(id))
    return; // it waits for a processor, which another worker would only take
  if (!csched_cas_relaxed(&worker->standing, &standing, (uint32_t)(has_moved ? RUNNING : STALLED))) return; // K3
  if (has_moved) csched_pool_unblocked_(pool);
  else csched_pool_blocked_(pool); // K2: which wakes another
}

static void tick(csched_job *job) {
  csched_pool *pool = job->context;
  uint32_t used = csched_load_relaxed(&pool->slots_used); // racy read, rechecked by the next tick
  bool is_needed = csched_pool_may_grow_(pool) && csched_pool_has_work_(pool);
  for (uint32_t i = 0; i < used; i++) {
    if (!is_needed) pool->slots[i].id_seen = 0;
    else look_at(pool, &pool->slots[i]);
  }
  if (!is_needed) return; // K1: see release
  csched_pool_wake_(pool, false);
  csched_target_submit_at(csched_loop_target(csched_loop_current()), &pool->tick, csched_time_after(csched_now(), TICK),
                          0);
}

static void drop_tick(csched_job *job) { (void)job; }

// Nobody looks at `tick` any more: it can be submitted again.
static void release_tick(csched_job *job) {
  csched_pool *pool = job->context;
  csched_store_release(&pool->watching, 0u); // K1: pairs with watch's acquire
  csched_fence_full();                       // K1: before the last look
  if (csched_pool_may_grow_(pool) && csched_pool_has_work_(pool)) csched_pool_watch_(pool);
}

static const csched_job_type tick_type = {tick, drop_tick, release_tick};

void csched_pool_watch_(csched_pool *pool) {
  uint32_t watching = csched_load_relaxed(&pool->watching); // K1: after the fence of who skips a wake
  if (watching != 0 || csched_pool_is_closing_(pool)) return;
  if (!csched_cas_acquire(&pool->watching, &watching, 1u)) return; // K1: pairs with release_tick's release
  csched_timer_init(&pool->tick, &tick_type, pool);
  csched_target_submit(csched_thread_target(pool->monitor), &pool->tick.job);
}

// MARK: blocking

void csched_pool_settle_(csched_pool_worker *worker) {
  if (CSCHED_UNLIKELY(csched_load_relaxed(&worker->standing) != RUNNING)) { // racy read, rechecked by the exchange
    if (csched_load_relaxed(&worker->standing) == ORPHANED)
      csched_pool_panic_worker_(worker->pool);                                    // racy read: written on this thread
    worker->blocking_depth = 0;                                                   // a job that forgot to say the end
    if (csched_exchange_relaxed(&worker->standing, (uint32_t)RUNNING) != RUNNING) // K3
      worker->is_surplus = csched_pool_unblocked_(worker->pool);
  } else if (CSCHED_UNLIKELY(csched_load_relaxed(&worker->pool->watching) != 0)) { // racy read, rechecked next time
    worker->is_surplus = csched_pool_is_surplus_(worker->pool);                    // one that was STALLED has gone on
  }
}

void csched_pool_stand_(csched_pool_worker *worker, bool is_idle) {
  if (!is_idle) csched_store_relaxed(&worker->standing, (uint32_t)RUNNING); // K3: nobody else changes IDLE
  else if (csched_exchange_relaxed(&worker->standing, (uint32_t)IDLE) == STALLED)
    csched_pool_unblocked_(worker->pool); // K3
}

void csched_pool_orphan_worker_(csched_pool_worker *worker) {
  csched_store_relaxed(&worker->standing, (uint32_t)ORPHANED); // K3: in a child of fork, where nobody counts
}

void csched_pool_blocking_begin(void) {
  csched_pool_worker *worker = csched_pool_current_();
  if (worker == NULL || worker->blocking_depth++ > 0) return;
  if (csched_exchange_relaxed(&worker->standing, (uint32_t)BLOCKED) == RUNNING) // K3
    csched_pool_blocked_(worker->pool);
}

void csched_pool_blocking_end(void) {
  csched_pool_worker *worker = csched_pool_current_();
  if (worker == NULL || worker->blocking_depth == 0 || --worker->blocking_depth > 0) return;
  csched_pool_settle_(worker);
}
