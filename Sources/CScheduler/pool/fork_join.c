// Spawn and join on a pool's workers: a spawned job waits in its worker's deque, where other workers steal it. A join
// runs spawned jobs or sleeps. csched_pool_fork spawns a job, and csched_pool_wait joins it. In this file and in the
// other files of the pool, "fork" is the fork of a process.
//
// States
//   spawns     a worker's deque of spawned jobs that have not started (deque.c); the worker's thread is the deque's
//              owner
//   phase      of a spawn (a csched_fork: one spawned job). PENDING: not done. WAITED: not done, and the spawner
//              sleeps. DONE: it has ended
// Invariants
//   FJ1  Each spawned job starts once. A job in a deque is started by the one thread that removes it, owner or thief
//       (DQ1). A job for which the deque has no room is run by its spawner at once.
//   FJ2  A check of the deques after a fence misses no spawned job. A job is in a deque before the spawner's fence
//       (DQ4; pool_idle.c, F1), and the check includes that worker's slot (pool_worker.c, WK1).
//   FJ3  A wait returns after the job, its `release` and the final access to the spawn. The waiter sees what the job
//       did. No wake is lost: the waiter's compare-and-exchange from PENDING to WAITED fails because it finds DONE, or
//       the exchange to DONE finds WAITED.
//   FJ4  No deadlock, and no job of a stranger. While a thread waits for a spawned job, it runs that job, newer jobs
//       that the same stack frame has spawned, and spawned jobs that descend from the awaited one. So all jobs above a
//       stack frame descend from that frame's job: its locks, its queue and its waits concern no other job. A chain of
//       waits goes from a job to its descendants, and ends at a thread that runs. Otherwise the thread sleeps, and
//       counts as blocked, so that another worker runs. A worker that runs no job holds nothing: it steals any spawned
//       job.
//   FJ5  If a spawned job ends a thread other than its spawner's, the job has ended, and the wait for it returns.
//   FJ6  A waiter steals from the worker that has stolen its spawn (`thief`), while that spawn is not DONE. A worker's
//       deque is empty when it steals. So until the stolen spawn is DONE, all entries of the thief's deque descend from
//       it. A later entry is pushed after DONE was stored (DQ5).
// Orderings
//   slots_used: as in pool_worker.c
//   phase: DONE is stored by release, pairs with the waiter's acquire, carries what the job did; relaxed if the spawner
//   itself runs the job thief: relaxed, it carries nothing: if the spawner still reads 0, it sleeps
// Assumes: the spawner waits for its spawns before its stack frame ends (pool.h).
// Source: Cilk's work stealing: the owner pops the newest job, thieves steal the oldest. For waits leapfrogging (Wagner
//   and Calder, "Leapfrogging: a portable technique for implementing efficient futures"): the victim of a theft steals
//   from the thief only.
// Models: checks/fork_join.c. Not modelled: FJ5.

#include "pool_internal.h"
#include "../job/job_internal.h"
#include "../job/frames_internal.h"
#include "../job/observed.h"

enum { PENDING = 0, WAITED = 1, DONE = 2 }; // the phases of a spawn

// MARK: the deques

// Does: empties the deque of `worker`, whose thread ends: the spawns lay in its stack frames.
void csched_pool_forget_spawns_(csched_pool_worker *worker) {
  while (csched_deque_pop_(&worker->spawns) != NULL) {}
}

// MARK: running

// Does: marks `spawn` as DONE, and wakes the spawner if it sleeps for it. The spawner may then free the spawn.
static void mark_done(csched_fork *spawn) {
  uint32_t *phase = &spawn->phase;
  if (csched_exchange_release(phase, (uint32_t)DONE) == WAITED) // FJ3: pairs with is_done; carries the job's writes
    csched_futex_wake_(phase, 1);                               // the spawn may be freed: the address is only a key
}

// Does: runs the job of `spawn`, at the priority and the nice value of its spawner. If the worker has both already,
// runs it directly.
static void perform_spawn(csched_pool_worker *worker, const csched_fork *spawn) {
  csched_pool_class *class = (csched_pool_class *)spawn->target;
  if (CSCHED_LIKELY(worker->class == class && worker->nice == class->nice))
    csched_job_perform_on_(spawn->job, spawn->target);
  else csched_pool_perform_(worker, class, spawn->job);
}

// Does: marks the spawns that `worker` has stolen and not ended as DONE, because a job has ended its thread.
void csched_pool_end_help_(csched_pool_worker *worker) {
  for (unsigned depth = CSCHED_HELPING_MOST + 1; depth-- > 0;) {
    csched_fork *spawn = worker->helps_with[depth];
    worker->helps_with[depth] = NULL;
    if (spawn != NULL) mark_done(spawn); // FJ5: the job has ended with its thread
  }
  worker->helping_depth = 0;
}

// Does: runs `spawn`, which `worker` has removed from the deque of `from`, and marks it as DONE.
static void run_removed(csched_pool_worker *worker, csched_fork *spawn, const csched_pool_worker *from) {
  csched_pool *pool = worker->pool;
  if (csched_pool_stop_search_(worker) && csched_pool_has_work_(pool))
    csched_pool_wake_(pool, false); // F2: no worker searches now: wakes the next searcher
  csched_fork **slot = &worker->helps_with[worker->helping_depth];
  if (from != worker) {
    if (csched_is_observed_()) csched_observe_hooks_->note(CSCHED_OCCURRED_STEAL, spawn->target, 0);
    csched_store_relaxed(&spawn->thief, worker->number); // FJ6: from here on the spawner may steal from this worker
    *slot = spawn; // FJ5: stolen: if its job ends this thread, csched_pool_end_help_ marks it DONE
  }
  perform_spawn(worker, spawn);
  mark_done(spawn);
  *slot = NULL;
}

// Does: steals a spawned job, from the worker's own deque last, and runs it. Returns: false: found none. The search may
// miss a job: without a fence, a deque may seem to be empty (DQ4). So an idle worker checks all deques again, after a
// fence, before it sleeps (FJ2).
bool csched_pool_help_(csched_pool_worker *worker) { // FJ4: requires that the worker runs no job
  csched_pool *pool = worker->pool;
  uint32_t used = csched_pool_slots_used_(pool); // a later slot is found by the check before a sleep
  csched_fork *spawn = NULL;
  csched_pool_worker *from = worker;
  for (uint32_t i = 0; i < used && spawn == NULL; i++) {
    from = &pool->slots[(worker->number + i) % used]; // the worker's own deque comes last
    if (!csched_deque_is_empty_(&from->spawns))
      spawn = csched_deque_steal_(&from->spawns); // NULL: other threads have emptied it meanwhile
  }
  if (spawn != NULL) run_removed(worker, spawn, from);
  return spawn != NULL;
}

// Does: for the waiter of `awaited`, runs a job that descends from it: one that the thief of `awaited` has in its
// deque. Returns: false: found none.
static bool help_with(csched_pool_worker *worker, const csched_fork *awaited) { // FJ6: leapfrogging
  uint32_t number = csched_load_relaxed(&awaited->thief); // FJ6: 0: the thief has not stored it yet
  if (number == 0 || worker->helping_depth == CSCHED_HELPING_MOST) return false;
  csched_pool_worker *thief = &worker->pool->slots[number - 1];
  if (csched_deque_is_empty_(&thief->spawns)) return false;
  csched_fork *spawn = csched_deque_steal_until_(&thief->spawns, &awaited->phase, DONE);
  if (spawn == NULL) return false;
  worker->helping_depth++; // bounded, because each help may nest another wait on this stack
  run_removed(worker, spawn, thief);
  worker->helping_depth--;
  return true;
}

// Does: pushes `job` to this worker's deque, where others can steal it. If this thread runs no job of a pool, or the
// deque is full, runs `job` here.
CSCHED_NOINLINE void csched_pool_fork(csched_fork *spawn, csched_job *job) {
  csched_pool_worker *worker = csched_pool_worker_here_;
  *spawn = (csched_fork){.job = job, .phase = PENDING};
  if (!csched_job_mark_(job)) csched_job_submitted_(job, "csched_pool_fork"); // spawns itself while it runs; or misuse
  bool is_in_a_job = worker != NULL && worker->class != NULL; // a worker that discards a job has no class
  if (is_in_a_job) {
    spawn->target = &worker->class->target; // a thief runs the job at this priority
    if (csched_deque_push_(&worker->spawns, spawn)) {
      csched_pool_announce_(worker->pool, 1); // F1: after the push, so that a woken worker finds the spawn
      return;
    }
  }
  if (is_in_a_job) { // the push has failed, because the deque is full: runs the job here
    csched_pool_perform_(worker, worker->class, job);
  } else {                                             // this thread runs no job of a pool: calls the job here
    csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // ends context frames that a longjmp has left
    csched_job_perform_(job);
  }
  csched_store_relaxed(&spawn->phase, (uint32_t)DONE); // FJ3: relaxed: never in a deque, so only this thread reads it
}

static bool is_done(const csched_fork *spawn) {
  return csched_load_acquire(&spawn->phase) == DONE; // FJ3: pairs with mark_done's release
}

// Does: stops the process if this thread, which was a worker when it spawned the job, is none now. Then the thread has
// called the system's fork(), and this process is the child, whose pool has no workers.
static void require_worker(const csched_fork *spawn) {
  if (CSCHED_UNLIKELY(csched_pool_worker_here_ == NULL))
    csched_pool_panic_worker_(((const csched_pool_class *)spawn->target)->pool);
}

void csched_pool_wait(csched_fork *spawn) { // until its job has ended, runs that job, or jobs spawned by it, or sleeps
  csched_pool_worker *worker = csched_pool_worker_here_;
  csched_fork *own; // the newest spawn in this worker's deque
  if (is_done(spawn)) return;
  require_worker(spawn);
  while (!is_done(spawn) &&
         (own = csched_deque_pop_(&worker->spawns)) != NULL) { // FJ4: `spawn`, and newer ones before it
    perform_spawn(worker, own);
    csched_store_relaxed(&own->phase, (uint32_t)DONE); // FJ3: relaxed: only this thread waits for `own`
  }
  while (!is_done(spawn) && help_with(worker, spawn)) require_worker(spawn); // FJ4: stolen: runs its descendants
  if (is_done(spawn)) return;
  require_worker(spawn);
  csched_blocked_begin_("csched_pool_wait", spawn); // for dumps and the watchdog
  csched_pool_blocking_begin();                     // FJ4: counts the worker as blocked, so that another one runs
  uint32_t phase = PENDING;
  csched_cas_relaxed(&spawn->phase, &phase, (uint32_t)WAITED); // FJ3: requests a wake; fails if DONE already
  while (!is_done(spawn)) csched_futex_wait_(&spawn->phase, WAITED, CSCHED_FOREVER);
  csched_pool_blocking_end();
  csched_blocked_end_();
}
