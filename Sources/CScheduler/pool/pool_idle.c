// The pool's idle protocol: submitters wake workers, and workers search, sleep and leave, without a lost wake.
//
// States
//   counts     four counts of workers. SEARCHING: workers that search for work, or are about to. IDLE: workers in
//              `idle`, asleep or about to sleep. THREADS: all workers, including those about to start. BLOCKED: see
//              pool_monitor.c. THREADS - IDLE - BLOCKED workers are running; `pool->workers` running workers are enough
//   idle       list of idle workers, the most recently idle first; changed together with IDLE, under `idle_lock`
//   signal     a worker's futex. 0: no signal yet. WOKEN: a waker has removed the worker from `idle`, and counted it as
//              searching. REPLACED: the waker has also started another thread in the worker's slot, and has counted
//              that thread instead
// Invariants
//   F1  No lost wake. A thread that adds work publishes the work, executes a full fence, and reads `counts`. It wakes a
//       worker unless F2 or F3 holds. A worker that stops searching or running (sleeps, blocks) changes `counts`,
//       executes a full fence, and checks for work. If there is work, it continues or wakes a worker. So the submitter
//       sees the worker's change, or the worker sees the submitter's work.
//   F2  A submitter skips the wake while a worker is searching. When the only searching worker stops searching, it
//       checks for jobs in all queues, even if it has found a job. If there are more jobs, that worker wakes
//       the next worker or continues itself. So no skipped wake loses a job, and at most one wake is in flight.
//   F3  A submitter skips the wake if enough workers are running, or if no worker is idle and no thread may be started.
//       Each running worker checks for work when it stops running. The monitor finds workers that block without a
//       report (pool_monitor.c).
//   F4  A worker is removed from `idle` once for each sleep. Its waker counts it as searching, and signals it once. Or
//       the worker removes itself.
//   F5  A sleeping worker has checked for work and for the pool's end after it entered `idle`. The thread that ends the
//       pool stores the end first, and then wakes all workers in `idle`. `idle_lock` orders the two.
//   F6  One worker stays, asleep without a deadline. The other workers leave after `idle_exit` without work.
//   F7  The final worker that leaves wakes the joiners, and ends the monitor. After that, no thread is started. A
//       worker that leaves an ending pool before that checks for work once more, and continues if there is work for it:
//       the jobs that still run may have added it.
// Orderings
//   counts: relaxed, ordered by the fences or by `idle_lock` · signal: relaxed, it carries nothing; the inbox and the
//   deque carry the work
// Assumes: the check for work is exact: under the locks of the inboxes and lanes (pool_pick.c), on the deques' two ends
//   (fork_join.c).
// Source: Go's scheduler: workers spin, and the last spinning one wakes another (proc.go, "Worker thread
//   parking/unparking"). Rejected: light and heavy fences, because a worker that leaves SEARCHING would need the heavy
//   one for each job that it finds by spinning.
// Models: checks/pool_idle.c, checks/pool_end.c.

#include "pool_internal.h"
#include "../job/observed.h"
#include "../job/recorder_internal.h"

// KEPT_CHECK_ROUNDS: a search checks for kept jobs once in so many rounds only, because the check reads cache lines
// that other workers write. SEARCH_MOST: while workers keep jobs, a search lasts up to so many times `spin_for`:
// otherwise each kept job would wake a sleeping worker.
// LOOKS: how many workers' jobs each round looks for.
enum { KEPT_CHECK_ROUNDS = 8, SEARCH_MOST = 8, LOOKS = 4 };
// The units of the four counts in `counts`, 16 bits each: adding a unit counts one worker more; adding its negative,
// modulo 2^64, one worker fewer.
static const uint64_t SEARCHING = 1, IDLE = (uint64_t)1 << 16, THREADS = (uint64_t)1 << 32, BLOCKED = (uint64_t)1 << 48;
// Returns: how many workers `counts` counts in `unit`.
static unsigned count_of(uint64_t counts, uint64_t unit) { return (unsigned)(counts / unit & 0xFFFF); }

static size_t running(uint64_t counts) { // returns: how many workers are running
  return count_of(counts, THREADS) - count_of(counts, IDLE) - count_of(counts, BLOCKED);
}

static uint64_t counts_of(const csched_pool *pool) {
  return csched_load_relaxed(&pool->counts); // F1: ordered by the caller's fence; else a racy read
}

// Does: adds `units`, a sum of units such as SEARCHING - IDLE, to `counts`. Returns: the counts before.
static uint64_t add_to_counts(csched_pool *pool, uint64_t units) {
  return csched_fetch_add_relaxed(&pool->counts, units); // F1: ordered by the caller's next fence, or by `idle_lock`
}

size_t csched_pool_thread_count(const csched_pool *pool) { return count_of(counts_of(pool), THREADS); }
bool csched_pool_is_surplus_(const csched_pool *pool) { return running(counts_of(pool)) > pool->workers; }

int csched_pool_start_first_(csched_pool *pool) {
  pool->counts = THREADS + SEARCHING; // one worker, which searches; a plain store, because there is no thread yet
  return csched_pool_start_worker_(pool, NULL);
}

// MARK: checking for work

bool csched_pool_may_have_queued_(csched_pool *pool) {
  for (int i = 0; i < CSCHED_CLASSES; i++)
    if (csched_pool_seems_queued_(&pool->classes[i])) return true;
  return false;
}

bool csched_pool_may_have_lanes_(csched_pool *pool) {
  for (size_t i = 0; i < pool->lane_count; i++) {
    const csched_pool_lane *lane = &pool->lanes[i];
    if (csched_load_relaxed(&lane->more) != 0 || csched_mpsc_has_new_jobs(&lane->inbox))
      return true; // racy read, rechecked under `lock`
  }
  return false;
}

// Returns: whether a job seems to be queued, or to wait for a worker among the next few. It locks nothing, and may miss
// a job that is being moved.
bool csched_pool_may_have_work_(csched_pool_worker *worker) {
  csched_pool *pool = worker->pool;
  if (csched_pool_may_have_queued_(pool) || csched_pool_may_have_lanes_(pool)) return true;
  uint32_t used = csched_pool_slots_used_(pool); // a later slot is found by the check before a sleep
  for (uint32_t i = 0; i < used && i < LOOKS; i++) {
    if (worker->looked_at >= used) worker->looked_at = 0;
    const csched_pool_worker *each = &pool->slots[worker->looked_at];
    if (!csched_deque_is_empty_(&each->local) || !csched_deque_is_empty_(&each->spawns)) return true;
    worker->looked_at++;
  }
  return false;
}

// Returns: whether a job is queued, spawned, kept or in a local queue; exact after a fence of the caller.
bool csched_pool_has_work_(csched_pool *pool) {
  if (csched_pool_may_have_queued_(pool)) return true;
  csched_lock_lock(&pool->pick); // F1: else it could miss jobs that a consumer is moving to `inbox.first`
  bool queued = csched_pool_is_queued_locked_(pool);
  csched_lock_unlock(&pool->pick);
  return queued || csched_pool_has_local_(pool);
}

// MARK: waking

// Does: ends the sleep of `worker`, which is not in `idle`: csched_pool_sleep_ returns `what`.
void csched_pool_signal_(csched_pool_worker *worker, csched_pool_slept what) {
  if (csched_is_observed_()) csched_observe_hooks_->note(CSCHED_OCCURRED_WAKE, worker->pool, 0);
  csched_store_relaxed(&worker->signal, (uint32_t)what); // F4: one signal for each sleep
  csched_futex_wake_(&worker->signal, 1);
}

static void signal_woken(csched_pool_worker *worker) { csched_pool_signal_(worker, CSCHED_SLEPT_WOKEN); }

// Does: removes the most recently idle worker from `idle`. Returns: the worker; NULL: none. The caller changes `counts`
// and signals the worker.
static csched_pool_worker *pop_idle_locked(csched_pool *pool) {
  csched_pool_worker *worker = TAILQ_FIRST(&pool->idle);
  if (worker == NULL) return NULL;
  TAILQ_REMOVE(&pool->idle, worker, link);
  worker->is_idle = false;
  return worker;
}

// Returns: whether the pool has its largest number of workers, and none is idle. So there is no worker to wake, and
// none may be started (pool_monitor.c MN9).
static inline bool is_at_cap(const csched_pool *pool, uint64_t counts) {
  return count_of(counts, IDLE) == 0 &&
         count_of(counts, THREADS) >= pool->most_threads + csched_load_relaxed(&pool->spares); // racy read: MN9
}

// Returns: whether no further worker may run: enough are running, or there is none to wake or start.
static inline bool is_saturated(const csched_pool *pool, uint64_t counts) {
  return running(counts) >= pool->workers || is_at_cap(pool, counts);
}

// Returns: whether a wake is superfluous now. `beside_others`: wake a worker even while another searches, because each
// job of a batch needs one.
static inline bool needs_no_wake(const csched_pool *pool, uint64_t counts, bool beside_others) {
  return (!beside_others && count_of(counts, SEARCHING) > 0) || // F2: a worker is searching
         is_saturated(pool, counts) ||                          // F3: enough workers run, or at the cap
         count_of(counts, THREADS) == 0;                        // F7: the pool has ended
}

// Returns: whether queued work may depend on blocked workers, and the monitor can start a thread, or can print the
// message about `most_threads`.
static inline bool may_grow(const csched_pool *pool, uint64_t counts) {
  return count_of(counts, SEARCHING) == 0 && count_of(counts, THREADS) > 0 &&
         (count_of(counts, IDLE) > 0 || count_of(counts, THREADS) < pool->slot_count ||
          csched_load_relaxed(&pool->may_report_cap) != 0); // racy read: cleared once
}

// Returns: whether fewer than `workers` are running, because others are blocked, and no thread may be started.
bool csched_pool_is_stuck_at_cap_(csched_pool *pool) {
  uint64_t counts = counts_of(pool);
  return running(counts) < pool->workers && count_of(counts, SEARCHING) == 0 && is_at_cap(pool, counts);
}

bool csched_pool_add_spare_(csched_pool *pool) { // MN9
  uint64_t counts = counts_of(pool);
  size_t threads = count_of(counts, THREADS);
  if (running(counts) > 0 || !is_at_cap(pool, counts) || threads >= pool->slot_count) return false;
  csched_store_relaxed(&pool->spares, (uint32_t)(threads + 1 - pool->most_threads)); // MN9: only the monitor writes it
  return true;
}

void csched_pool_drop_spares_(csched_pool *pool) {
  csched_store_relaxed(&pool->spares, 0u); // MN9: only the monitor writes it
}

bool csched_pool_may_grow_(csched_pool *pool) { return may_grow(pool, counts_of(pool)); }

// Returns: whether to skip the wake. If the work then depends on workers that may be blocked, starts the monitor's
// watch.
static inline bool skip_wake(csched_pool *pool, uint64_t counts, bool beside_others) {
  if (!needs_no_wake(pool, counts, beside_others)) return false;
  if (CSCHED_UNLIKELY(may_grow(pool, counts)))
    csched_pool_start_watch_(pool); // F3: the monitor looks for blocked workers
  return true;
}

// Does: counts one more worker as searching, and wakes an idle worker or starts one. Returns: false: no wake is needed,
// by a check under the lock.
static CSCHED_NOINLINE bool wake_one(csched_pool *pool, uint64_t counts, bool beside_others) {
  csched_pool_worker *idle = NULL;
  uint64_t claim; // added to `counts`: an idle worker becomes searching, or a new searching thread is counted
  csched_lock_lock(&pool->idle_lock);
  do {
    if (needs_no_wake(pool, counts, beside_others)) {
      csched_lock_unlock(&pool->idle_lock);
      return false;
    }
    claim = count_of(counts, IDLE) > 0 ? SEARCHING - IDLE : SEARCHING + THREADS;
  } while (!csched_cas_relaxed(&pool->counts, &counts, counts + claim)); // F2, F4: locked, so `idle` matches IDLE
  if (claim == SEARCHING - IDLE) idle = pop_idle_locked(pool);
  csched_lock_unlock(&pool->idle_lock);
  if (idle != NULL) {
    if (!csched_pool_replace_(idle)) signal_woken(idle); // pool_worker.c WK5: a new thread signals it
  } else if (csched_pool_start_worker_(pool, NULL) != 0) {
    csched_pool_start_failed_(pool); // undoes the claim, and wakes another worker if one is idle now
  }
  return true;
}

bool csched_pool_wake_(csched_pool *pool, bool beside_others) { // returns: false: no wake was needed
  uint64_t counts = counts_of(pool);
  return !skip_wake(pool, counts, beside_others) && wake_one(pool, counts, beside_others);
}

// Called after `count` jobs were published. Does: wakes a worker if that is needed; for a batch, one for each job, at
// most `workers`.
void csched_pool_announce_(csched_pool *pool, size_t count) {
  csched_fence_full(); // F1: between publishing the work and reading `counts`
  uint64_t counts = counts_of(pool);
  if (CSCHED_LIKELY(skip_wake(pool, counts, false)) || !wake_one(pool, counts, false) || count == 1) return;
  for (size_t left = (count < pool->workers ? count : pool->workers) - 1; left > 0 && csched_pool_wake_(pool, true);)
    left--; // one wake for each further job of the batch
}

void csched_pool_wake_all_(csched_pool *pool) { // wakes all workers that are in `idle`
  for (csched_pool_worker *worker;;) {          // each idle worker becomes a searching one
    csched_lock_lock(&pool->idle_lock);
    worker = pop_idle_locked(pool);
    if (worker != NULL) add_to_counts(pool, SEARCHING - IDLE);
    csched_lock_unlock(&pool->idle_lock);
    if (worker == NULL) return;
    signal_woken(worker); // F4: one signal each
  }
}

// MARK: searching

// Does: stops counting `worker` as searching. Returns: whether no worker searches now. Then the caller must check for
// work, and wake a worker if any.
bool csched_pool_stop_search_(csched_pool_worker *worker) {
  if (!worker->is_searching) return false; // the worker was running, so it is not counted in SEARCHING
  worker->is_searching = false;
  if (count_of(add_to_counts(worker->pool, -SEARCHING), SEARCHING) > 1) return false; // F2: another worker searches
  csched_fence_full(); // F1: between leaving SEARCHING and the caller's check for more work
  return true;
}

// Does: counts `worker` as searching, and spins until there is work or the time is over. Returns: whether there seems
// to be work, or a job to steal.
bool csched_pool_search_(csched_pool_worker *worker) {
  csched_pool *pool = worker->pool;
  if (!worker->is_searching) add_to_counts(pool, SEARCHING);
  worker->is_searching = true;
  worker->victim = NULL;
  if (pool->spin_for == 0)
    return csched_pool_may_have_work_(worker) || csched_pool_find_victim_(worker, 0); // 0: any age
  csched_time begun = csched_now(), now = begun, seen = begun; // `seen`: when a kept job was most recently found
  for (unsigned round = 0; now < seen + pool->spin_for && now < begun + SEARCH_MOST * pool->spin_for; round++) {
    if (csched_pool_may_have_work_(worker)) return true;
    if (round % KEPT_CHECK_ROUNDS == 0 && csched_pool_find_victim_(worker, now)) return true;
    if (csched_pool_must_end_(pool)) return false;
    if (worker->victim != NULL) seen = now;          // a kept job that is not old enough: the search lasts longer
    for (int i = 0; i < 16; i++) CSCHED_CPU_RELAX(); // a pause between two checks
    now = csched_now();
  }
  return false;
}

// MARK: sleeping and leaving

// Does: removes the calling worker from `idle`, and adds `claim` to `counts`: -IDLE - THREADS to leave the pool, or
// SEARCHING - IDLE to continue.
// Returns: false, and does nothing, if a waker has already removed the worker, or the worker wants to leave but is the
// one that must stay (F6).
static bool stop_being_idle(csched_pool_worker *worker, uint64_t claim) {
  csched_pool *pool = worker->pool;
  csched_lock_lock(&pool->idle_lock);
  uint64_t counts = counts_of(pool); // F6: searching workers are not relied on: their threads may fail to start
  bool removes = worker->is_idle && (claim != -IDLE - THREADS ||
                                     count_of(counts, THREADS) > 1 + count_of(counts, SEARCHING)); // F6: another stays
  if (removes) {
    TAILQ_REMOVE(&pool->idle, worker, link);
    worker->is_idle = false;
    add_to_counts(pool, claim);
  }
  csched_lock_unlock(&pool->idle_lock);
  return removes;
}

// Returns: whether a worker that has just entered `idle` must continue: the pool ends, or there is work and too few
// workers run.
static bool must_stay_awake(csched_pool *pool) { // F5: the check follows the entry in `idle`
  return csched_pool_must_end_(pool) || (running(counts_of(pool)) < pool->workers && csched_pool_has_work_(pool));
}

// Does: enters `idle`; sleeps until a waker removes the worker, or the worker leaves the pool after `idle_exit`.
// Returns: how the sleep ended.
static csched_pool_slept sleep_in_idle(csched_pool_worker *worker) {
  csched_pool *pool = worker->pool;
  csched_pool_set_idle_(worker, true); // first: else the monitor would count the sleeping worker as blocked
  csched_lock_lock(&pool->idle_lock);
  csched_store_relaxed(&worker->signal, 0u); // F4: cleared before a waker finds the worker in `idle`
  TAILQ_INSERT_HEAD(&pool->idle, worker, link);
  worker->is_idle = true;
  add_to_counts(pool, worker->is_searching ? IDLE - SEARCHING : IDLE);
  csched_lock_unlock(&pool->idle_lock);
  worker->is_searching = worker->is_surplus = false; // the worker is counted in IDLE instead
  csched_fence_full();                               // F1: between entering `idle` and the check for work
  if (must_stay_awake(pool) && stop_being_idle(worker, SEARCHING - IDLE)) return CSCHED_SLEPT_WOKEN;
  csched_time deadline = csched_time_after(csched_now(), (int64_t)pool->idle_exit);
  uint32_t signalled;
  while ((signalled = csched_load_relaxed(&worker->signal)) == 0) { // F4: a waker stores the signal
    if (csched_futex_wait_(&worker->signal, 0, deadline) != CSCHED_FUTEX_TIMED_OUT) continue;
    if (stop_being_idle(worker, -IDLE - THREADS)) return CSCHED_SLEPT_LEFT; // F6: another worker stays
    bool is_last = count_of(counts_of(pool), THREADS) <= 1; // F6: the only worker sleeps without a deadline
    deadline = is_last ? CSCHED_FOREVER : csched_time_after(csched_now(), (int64_t)pool->idle_exit);
  }
  return (csched_pool_slept)signalled; // what the waker, which has removed the worker from `idle`, has stored
}

// Does: sleeps as an idle worker. Returns: how the sleep ended. After WOKEN, the worker is counted as searching.
csched_pool_slept csched_pool_sleep_(csched_pool_worker *worker) {
  csched_pool_slept slept = sleep_in_idle(worker);
  csched_recorder_slept_(); // the flight recorder reads the clock at the next job
  if (slept != CSCHED_SLEPT_WOKEN) return slept;
  csched_pool_set_idle_(worker, false);
  worker->is_searching = true; // the waker, or stop_being_idle, has counted the worker in SEARCHING
  return slept;
}

// Does: subtracts `units` (THREADS, and IDLE or SEARCHING) from `counts`, for a worker that leaves. The final worker
// wakes the joiners.
static void leave_locked(csched_pool *pool, uint64_t units) {
  if (count_of(add_to_counts(pool, -units), THREADS) == 1 && csched_pool_is_closing_(pool))
    csched_pool_wake_joiners_(pool); // F7: the final worker has left
}

// Does: counts `worker`, which has left an ending pool, again, as searching, if too few workers run, and another one is
// still counted; else has the monitor watch those that run (F3). Returns: whether the worker is counted again.
// Requires: there is work.
static bool come_back(csched_pool_worker *worker) {
  csched_pool *pool = worker->pool;
  csched_lock_lock(&pool->idle_lock);
  uint64_t counts = counts_of(pool);
  worker->is_searching =
      count_of(counts, THREADS) > 0 && running(counts) < pool->workers; // F7: not after the final one
  if (worker->is_searching) add_to_counts(pool, SEARCHING + THREADS);
  csched_lock_unlock(&pool->idle_lock);
  if (!worker->is_searching && may_grow(pool, counts)) csched_pool_start_watch_(pool);
  return worker->is_searching;
}

bool csched_pool_leave_(csched_pool_worker *worker) {
  csched_pool *pool = worker->pool;
  csched_lock_lock(&pool->idle_lock); // F6: else two workers might both leave, each because the other seems to stay
  bool leaves = !worker->is_surplus || running(counts_of(pool)) > pool->workers;
  if (leaves) leave_locked(pool, worker->is_searching ? THREADS + SEARCHING : THREADS);
  csched_lock_unlock(&pool->idle_lock);
  worker->is_surplus = false;
  if (!leaves) return false;
  worker->is_searching = false;
  csched_fence_full(); // F1: between leaving `counts` and the check for work
  return !csched_pool_has_work_(pool) || !come_back(worker);
}

// Does: stops counting a thread that the system did not start. Submitters may have skipped wakes, because it counted as
// searching. So wakes an idle worker to search instead. If none is idle, each running worker checks for work before it
// sleeps, and the monitor tries again.
void csched_pool_start_failed_(csched_pool *pool) {
  csched_lock_lock(&pool->idle_lock);
  csched_pool_worker *worker = pop_idle_locked(pool);
  leave_locked(pool, worker != NULL ? THREADS + IDLE : THREADS + SEARCHING); // F2: the idle one takes over SEARCHING
  csched_lock_unlock(&pool->idle_lock);
  if (worker != NULL) {
    signal_woken(worker); // F4: one signal; the worker searches in place of the thread
    return;
  }
  csched_fence_full();            // MN1: `counts` changes before `watching` is read; pairs with end_watch's fence
  csched_pool_start_watch_(pool); // F3: the monitor tries again to start a thread
}

// MARK: blocking

// Does: counts `worker` as blocked, gives its local queue to others, and wakes another one if there is work.
void csched_pool_count_blocked_(csched_pool_worker *worker) {
  csched_pool *pool = worker->pool;
  add_to_counts(pool, BLOCKED);
  csched_pool_give_back_(worker); // PP6 in pool_pick.c: other workers run these jobs meanwhile
  csched_fence_full();            // F1: between the change of `counts` and the check for work
  if (csched_pool_has_work_(pool)) csched_pool_wake_(pool, false);
}

// Does: counts one blocked worker fewer. Returns: whether more than `workers` run now: before the subtraction, at least
// `workers` were running.
bool csched_pool_count_unblocked_(csched_pool *pool) { return running(add_to_counts(pool, -BLOCKED)) >= pool->workers; }
