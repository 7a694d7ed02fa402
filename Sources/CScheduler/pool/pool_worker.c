// The pool's workers: run jobs at their nice values, and start, replace and end the threads.
//
// States
//   life       the state of a slot, under `slots_lock`. VACANT. LIVE: its thread runs. ENDED: its thread has ended, and
//              must be joined
//   id: see pool_internal.h
// Invariants
//   WK1  A thief (a worker that steals jobs) checks all slots up to `slots_used`. It misses no worker that has jobs,
//       because `slots_used` is raised before a thread starts, after its slot was initialised.
//   WK2  Each thread is joined or detached once. A thread that leaves an open pool detaches itself. If the pool is
//       closing, the thread is joined by the next start in its slot, or by the pool's join. A replaced thread (WK5) is
//       joined by its replacement. A slot has one thread at a time.
//   WK3  If a job ends its thread (pthread_exit), a new thread replaces the worker. If the system cannot start a
//       thread, the ending thread itself continues as the worker. Before either, the job and the worker's delivery end
//       (job.c, J7), the worker stops counting as blocked, and the spawned jobs that it stole count as done.
//   WK4  A use of a pool that was orphaned by fork stops the process. A worker whose job forked can run this job to its
//       end in the child, but the job must not return.
//   WK5  A thread raises its nice value only if it can lower the value again at that moment. After one failed change no
//       worker raises its value. If the process gives up this right later, a worker's thread is stuck at its high
//       value. The worker continues while there is work. The thread that wakes this worker next starts a thread that
//       takes over its slot.
// Orderings
//   slots_used: release and acquire, carries the initialised slot; for the search, ordered by the thread's start and by
//   the fences of F1 (pool_idle.c)
// Assumes: pool_idle.c decides which workers run and sleep; a job that ends its thread has waited for its spawns
//   (pool.h); pool_pick.c decides which job runs.
// Source: the usual pool of threads, with a slot for each.
// Models: checks/pool_idle.c, checks/pool_pick.c, checks/pool_local.c. Not modelled: WK4, WK5.

#include "pool_internal.h"

#include "../job/frames_internal.h"
#include "../targets/target_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { VACANT = 0, LIVE = 1, ENDED = 2 }; // the values of `life`

CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_pool_worker *csched_pool_worker_here_;

// Does: in a child of fork, the calling thread stops being a worker of `pool`. Returns: whether it was one.
bool csched_pool_leave_in_child_(csched_pool *pool) {
  csched_pool_worker *worker = csched_pool_worker_here_;
  if (worker == NULL || worker->pool != pool) return false;
  csched_pool_orphan_worker_(worker); // csched_pool_after_job_ stops the process if the worker's job returns
  csched_pool_worker_here_ = NULL;    // not a worker any more: thread_ended does nothing
  return true;
}

// MARK: running

// Returns: whether the worker's thread has the nice value `nice`, and no waiter for a lock has lifted it (pool_pick.c
// PP2). At 0, a lift changes nothing.
static bool has_nice(const csched_pool_worker *worker, int nice) {
  return worker->nice == nice &&
         (nice == 0 || !csched_os_thread_is_lifted_(csched_load_relaxed(&worker->id))); // racy read: own thread's id
}

// Does: sets the thread's nice value to `base_nice` + `nice`. Raises it only if the thread may lower it again. A
// failure to lower it sets `is_stuck`.
static void set_nice(csched_pool_worker *worker, int nice) { // WK5: no raise after a failure
  csched_pool *pool = worker->pool;
  if (CSCHED_LIKELY(has_nice(worker, nice))) return;
  if (nice > worker->nice && csched_load_relaxed(&pool->has_nice) == 0) return; // racy read, rechecked by the system
  bool is_set = csched_os_thread_set_nice_(pool->base_nice + nice, pool->base_nice);
  csched_store_relaxed(&worker->is_stuck,
                       (uint32_t)(!is_set && nice < worker->nice)); // racy write: wakers read it during the sleep
  if (is_set) worker->nice = nice;
  else csched_store_relaxed(&pool->has_nice, 0u); // racy write: from here on no worker raises its value
}

// Called after csched_pool_keep_ has kept a job. Returns: whether that job is submitted as the follow-up (COMES). Then
// marks the follow-up as KEPT.
bool csched_pool_keeps_follow_up_(void) { // PP5: the follow-up is kept
  csched_pool_worker *worker = csched_pool_worker_here_;
  if (CSCHED_LIKELY(worker->follow_up != CSCHED_FOLLOW_UP_COMES)) return false;
  worker->follow_up = CSCHED_FOLLOW_UP_KEPT;
  return true;
}

// Does: runs the follow-up of the job that has just ended; drops it if the pool drops its work.
static CSCHED_NOINLINE void perform_follow_up(csched_pool_worker *worker) { // PP5: before any other job
  worker->follow_up = CSCHED_FOLLOW_UP_NONE;
  uintptr_t kept = csched_pool_claim_kept_(worker);
  if (kept == 0) return; // PP4: stolen: another worker runs the follow-up
  if (CSCHED_UNLIKELY(csched_pool_is_dropping_(worker->pool))) csched_target_discard(csched_pool_kept_job_(kept));
  else csched_job_perform_on_(csched_pool_kept_job_(kept), &csched_pool_kept_class_(worker->pool, kept)->target);
}

// Does: runs `job`, and then its follow-up, as jobs of `class`, at its nice value; at nice 0 if a waiting thread
// donates a higher priority.
void csched_pool_perform_(csched_pool_worker *worker, csched_pool_class *class, csched_job *job) {
  csched_pool_class *outer = worker->class;
  worker->class = class;
  set_nice(worker, class->nice == 0 || csched_pool_is_waited_for_(class, class - 1)
                       ? 0
                       : class->nice); // PP2: a higher one waits
  csched_job_perform_on_(job, &class->target);
  if (CSCHED_UNLIKELY(worker->follow_up != CSCHED_FOLLOW_UP_NONE)) perform_follow_up(worker);
  worker->class = outer;
  if (outer != NULL) set_nice(worker, outer->nice); // the outer job, inside csched_pool_wait, continues
}

// Does: delivers the timer `job` to its target. Sets the worker's class meanwhile: the target may run the job at once,
// and that job may spawn jobs.
static void deliver_timer(csched_pool_worker *worker, csched_job *job) {
  worker->class = &worker->pool->classes[CSCHED_PRIORITY_HIGH];
  set_nice(worker, worker->class->nice);
  csched_pool_deliver_(worker, job);
  worker->class = NULL; // a delivery is never inside another job
}

// Does: runs, delivers or discards one job, or helps with a spawned job. Returns: whether there was one.
static bool run_one(csched_pool_worker *worker) {
  csched_pool_class *class;
  csched_job *job = csched_pool_next_job_(worker, &class);
  if (job == NULL) return !worker->is_surplus && csched_pool_help_(worker);
  long number = class - worker->pool->classes; // 0 to 3: a priority; 4: timers to deliver; 5: jobs to discard
  if (CSCHED_UNLIKELY(number == CSCHED_DELIVERIES)) deliver_timer(worker, job);
  else if (CSCHED_UNLIKELY(number == CSCHED_DEFERRED || csched_pool_is_dropping_(worker->pool)))
    csched_target_discard(job);
  else csched_pool_perform_(worker, class, job);
  return true;
}

// Does: runs jobs, searches and sleeps, until the worker leaves the pool or its thread is replaced.
static void worker_loop(void *context) {
  csched_pool_worker *worker = context;
  csched_pool *pool = worker->pool;
  while (!worker->has_left) {
    if (CSCHED_UNLIKELY(worker->is_surplus)) csched_pool_give_back_(worker);
    if ((!worker->is_surplus || csched_load_relaxed(&worker->kept) != 0) &&
        run_one(worker)) { // racy read: a surplus worker only queues its kept job
      csched_pool_after_job_(worker);
    } else if (csched_pool_must_end_(pool)) {
      if (!worker->is_surplus && !csched_pool_may_leave_(pool)) continue; // not ended yet: check for jobs again
      worker->has_left = csched_pool_leave_(worker);
    } else if (worker->is_surplus || !csched_pool_search_(worker)) {
      set_nice(worker, 0); // WK5: a failure sets `is_stuck`, so that the waker replaces this thread
      csched_pool_slept slept = csched_pool_sleep_(worker);
      if (CSCHED_UNLIKELY(slept == CSCHED_SLEPT_REPLACED)) { // WK5: another thread has taken over the slot
        csched_pool_worker_here_ = NULL;                     // so that thread_ended leaves the slot to that thread
        return;
      }
      worker->has_left = slept == CSCHED_SLEPT_LEFT;
    }
  }
}

// MARK: threads

void csched_pool_name_(const csched_pool *pool, unsigned number, char name[CSCHED_POOL_NAME]) { // such as "pool-3"
  char suffix[12] = "";
  if (pool->name[0] != 0) snprintf(suffix, sizeof suffix, "-%u", number);
  size_t most = CSCHED_POOL_NAME - 1 - strlen(suffix), end = strlen(pool->name);
  if (end > most)
    for (end = most; end > 0 && ((unsigned char)pool->name[end] & 0xC0) == 0x80;) end--; // not inside a UTF-8 character
  memcpy(name, pool->name, end);
  memcpy(name + end, suffix, strlen(suffix) + 1);
}

// Does: runs the calling thread as the worker `context`: stores the thread's id, name and nice value, then enters
// worker_loop.
static void run_worker(void *context) {
  csched_pool_worker *worker = context;
  csched_pool_worker_here_ = worker;
  csched_store_relaxed(&worker->id, csched_os_thread_id_()); // racy write: the monitor skips workers without an id
  char name[CSCHED_POOL_NAME] = "";
  csched_pool_name_(worker->pool, worker->number, name);
  if (name[0] != 0) csched_os_thread_set_name_(name);
  if (worker->pool->had_nice)
    worker->nice = csched_os_thread_nice_() - worker->pool->base_nice; // a thread inherits its starter's nice value
  worker_loop(worker);
}

static void thread_ended(void *context);
// Does: starts another thread for the worker, because a job has ended this thread (pthread_exit). If the start fails,
// this thread continues the loop.
static void replace_thread(csched_pool_worker *worker) { // WK3: the pool keeps its workers
  csched_frames_end_thread_();                           // WK3: ends the job that has ended this thread
  if (worker->blocking_depth > 0) {                      // ends all nested blocking calls at once
    worker->blocking_depth = 1;
    csched_pool_blocking_end();
  }
  csched_pool_after_job_(worker);            // the worker counts as running again
  worker->class = NULL;                      // no job runs now
  worker->follow_up = CSCHED_FOLLOW_UP_NONE; // PP5: the follow-up is now an ordinary kept job
  if (worker->delivers_for != NULL) csched_pool_end_delivery_(worker);
  csched_pool_end_help_(worker);      // WK3: spawns that it stole count as done
  csched_pool_forget_spawns_(worker); // the worker's own spawns lay in the ended stack frames
  csched_pool_give_back_(worker);     // PP6: the successor has another slot
  if (csched_pool_start_worker_(worker->pool, worker) != 0)
    csched_os_call_with_cleanup_(worker_loop, thread_ended, worker); // WK3: no new thread: continues here
}

// Called when a worker's thread ends, by a return or by pthread_exit. Does: replaces the thread if the worker has not
// left the pool; frees the slot.
static void thread_ended(void *context) {
  csched_pool_worker *worker = context;
  if (csched_pool_worker_here_ == NULL) return; // the thread was replaced, is in a fork's child, or ran this before
  if (!worker->has_left) replace_thread(worker);
  if (csched_pool_worker_here_ == NULL) return; // replace_thread has continued the loop, and called this at its end
  csched_pool_worker_here_ = NULL;
  csched_pool_set_idle_(worker, true); // the monitor skips this worker from here on
  csched_pool *pool = worker->pool;
  csched_lock_lock(&pool->slots_lock);
  if (csched_pool_is_closing_(pool)) {
    worker->life = ENDED; // WK2: the pool's join, or the slot's next start, joins the thread
  } else {
    worker->life = VACANT;
    csched_os_thread_detach_(worker->os); // WK2: an open pool may not join the thread for a long time
  }
  csched_lock_unlock(&pool->slots_lock); // this thread's final access: the pool may be freed now
}

static void worker_main(void *context) { csched_os_call_with_cleanup_(run_worker, thread_ended, context); }

// Returns: a slot without a running thread, other than that of `leaving`: a used one, or the first that was never used.
// NULL: none.
static csched_pool_worker *find_slot_locked(csched_pool *pool, const csched_pool_worker *leaving) {
  uint32_t used = csched_pool_slots_used_(pool); // WK1: locked, so it does not change
  for (uint32_t i = 0; i < used; i++)
    if (pool->slots[i].life != LIVE && &pool->slots[i] != leaving) return &pool->slots[i];
  return used < pool->slot_count ? &pool->slots[used] : NULL;
}

// Does: initialises the slot at index `used`, which was never used, and raises `slots_used`.
static void init_slot_locked(csched_pool *pool, uint32_t used) {
  csched_pool_worker *worker = &pool->slots[used];
  memset(worker, 0, sizeof *worker);
  worker->pool = pool;
  worker->number = used + 1;
  csched_store_release(&pool->slots_used, used + 1); // WK1: before the thread starts; release: the slot is initialised
}

// Does: starts a thread in the slot of `worker`, in place of `leaving` (may be NULL). Returns: 0 or an errno value.
static int start_locked(csched_pool *pool, csched_pool_worker *worker, const csched_pool_worker *leaving) {
  uint32_t used = csched_pool_slots_used_(pool); // WK1: locked, so only init_slot_locked changes it
  if (worker == &pool->slots[used]) init_slot_locked(pool, used);
  if (worker->life == ENDED) csched_os_thread_join_(worker->os); // WK2: the slot's previous thread
  worker->life = VACANT;
  worker->is_searching = leaving == NULL || leaving->is_searching; // WK3: as `counts` has it: a new worker searches
  worker->is_surplus = worker->has_left = false;
  worker->blocking_depth = worker->helping_depth = 0;
  worker->nice = 0;                            // run_worker reads the real value
  csched_store_relaxed(&worker->is_stuck, 0u); // racy write: not in `idle`: no waker reads it
  csched_pool_set_idle_(worker, false);
  csched_store_relaxed(&worker->id, 0u); // racy write: the monitor skips 0
  int error = csched_os_thread_start_(&worker->os, pool->stack_size, worker_main, worker);
  if (error == 0) worker->life = LIVE;
  return error;
}

// The body of a thread started by csched_pool_replace_. Does: ends and joins the sleeping thread of the slot, then runs
// as its worker.
static void take_over_slot(void *context) { // WK5: replaces a stuck thread
  csched_pool_worker *worker = context;
  csched_lock_lock(&worker->pool->slots_lock); // csched_pool_replace_ holds the lock until it has written `replaced`
  csched_os_thread replaced = worker->replaced;
  csched_lock_unlock(&worker->pool->slots_lock);
  csched_pool_signal_(worker, CSCHED_SLEPT_REPLACED); // the sleeping thread wakes, and ends
  csched_os_thread_join_(replaced);
  csched_pool_set_idle_(worker, false);
  csched_store_relaxed(&worker->is_stuck, 0u); // racy write: not in `idle`: no waker reads it
  worker->is_searching = true;                 // the caller of csched_pool_replace_ has counted it
  run_worker(worker);
}

static void take_over_main(void *context) { csched_os_call_with_cleanup_(take_over_slot, thread_ended, context); }

// Does: if the thread of `worker`, which sleeps, is stuck at a high nice value, starts another thread in its slot.
// Returns: whether it did.
bool csched_pool_replace_(csched_pool_worker *worker) { // WK5: replaces a stuck thread
  csched_pool *pool = worker->pool;
  if (CSCHED_LIKELY(csched_load_relaxed(&worker->is_stuck) == 0))
    return false; // ordered by the lock of `idle`: written before the worker entered `idle`
  if (csched_os_thread_nice_() > pool->base_nice) return false; // the new thread would inherit this high nice value
  csched_lock_lock(&pool->slots_lock);
  worker->replaced = worker->os;
  int error = csched_os_thread_start_(&worker->os, pool->stack_size, take_over_main, worker);
  csched_lock_unlock(&pool->slots_lock);
  return error == 0;
}

void csched_pool_join_workers_(csched_pool *pool) { // requires: the pool has ended, so no thread starts
  uint32_t used = csched_pool_slots_used_(pool);    // WK1: the pool has ended, so it grows no more
  for (uint32_t i = 0; i < used; i++) {
    csched_lock_lock(&pool->slots_lock);
    bool is_used = pool->slots[i].life != VACANT; // ENDED, or LIVE: the thread is about to end
    csched_lock_unlock(&pool->slots_lock);
    if (is_used) csched_os_thread_join_(pool->slots[i].os); // WK2: at the pool's end
  }
}

// Does: starts a thread in a free slot, in place of the worker `leaving`; if that is NULL, waits for a free slot.
// Returns: 0 or an errno value.
int csched_pool_start_worker_(csched_pool *pool, const csched_pool_worker *leaving) {
  for (;;) {
    csched_lock_lock(&pool->slots_lock);
    csched_pool_worker *worker = find_slot_locked(pool, leaving);
    int error = worker != NULL ? start_locked(pool, worker, leaving) : EAGAIN;
    csched_lock_unlock(&pool->slots_lock);
    if (worker != NULL || leaving != NULL) return error; // a leaving thread does not wait
    csched_nap_(20000); // ns: a worker that has left, and is no longer counted, will soon free its slot
  }
}
