// The pool's workers: choose the next job, run it at its nice value, and start, replace and end the threads.
//
// States
//   life       the state of a slot, under `slots_lock`. VACANT. LIVE: its thread runs. ENDED: its thread has ended, and
//              must be joined
//   kept       of a worker: 0, or the job that it runs next, which its current job has submitted; the class's number is
//   in the lowest bits passed, more, id: see pool_internal.h
// Invariants
//   WK1  Each job is dequeued once, the oldest of its priority first. The thread that holds `pick` is the consumer of
//       the inboxes. The highest priority comes first, but a priority n steps lower is passed over at most 8 << n
//       times. The monitor's deliveries and discards come before all priorities (pool_monitor.c).
//   WK2  A thief (a worker that steals jobs) checks all slots up to `slots_used`. It misses no worker that has spawned
//       or kept a job, because `slots_used` is raised before a thread starts, after its slot was initialised.
//   WK3  Each thread is joined or detached once. A thread that leaves an open pool detaches itself. If the pool is
//       closing, the thread is joined by the next start in its slot, or by the pool's join. A replaced thread (WK6) is
//       joined by its replacement. A slot has one thread at a time.
//   WK4  If a job ends its thread (pthread_exit), a new thread replaces the worker. If the system cannot start a
//       thread, the ending thread itself continues as the worker. Before either, the job and the worker's delivery end
//       (job.c, J7), the worker stops counting as blocked, and the spawned jobs that it stole count as done.
//   WK5  A use of a pool that was orphaned by fork stops the process. A worker whose job forked can run this job to its
//       end in the child, but the job must not return.
//   WK6  A thread raises its nice value only if it can lower the value again at that moment. After one failed change no
//       worker raises its value. If the process gives up this right later, a worker's thread is stuck at its high
//       value. The worker continues while there is work. The thread that wakes this worker next starts a thread that
//       takes over its slot.
//   WK7  Priority donation. A thread that waits for work of a lower priority may donate its own to it
//       (csched_target_lend). Meanwhile, priorities that are not above the donated one pass the lower one over at most
//       once in a row. Jobs of the lower priority start at the nice value of the highest priority. While a thread
//       sleeps for a lock, the lock's owner is lifted to that nice value, until the owner's next job (lock.c).
//   WK8  Kept jobs. While no other work waits, a worker keeps the job that its current job submits to the same
//       priority, and runs the kept job next. So a chain of such jobs stays on one thread. If other work waits by then,
//       the worker queues the kept job behind that work. One exchange claims a kept job, so only one worker gets it. A
//       check after a fence finds each kept job: it is kept before its submitter's fence (F1).
//   WK9  A kept job does not wait for its worker's long job while another worker is free. A searching worker steals the
//       kept job after KEPT_AGE, or at once if workers do not spin. Each busy worker checks the other workers' kept
//       jobs once in CHECK_INTERVAL of its own jobs.
//   WK10  A follow-up is a job that runs on its worker right after the job that submitted it. A serial queue ends its
//       batch for that (serial.c, SQ4). The follow-up is kept without a wake. If the worker blocks, or the job ends its
//       thread, another worker may steal the follow-up.
// Orderings
//   slots_used: release and acquire, carries the initialised slot; for the search, ordered by the thread's start and by
//   the fences of F1 (pool_idle.c) kept: release when a job is stored, pairs with claim_kept's acquire, carries the job
// Assumes: pool_idle.c decides which workers run and sleep; a job that ends its thread has waited for its spawns
//   (pool.h).
// Source: aging by counting, as in schedulers of disks and processes.
// Models: checks/pool.c. Not modelled: WK5, WK6.

#include "pool_internal.h"

#include "../job/frames_internal.h"
#include "../target/target_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { VACANT = 0, LIVE = 1, ENDED = 2 }; // the values of `life`
enum { CHECK_INTERVAL = 64 };             // after so many jobs, a busy worker checks other workers' kept jobs
static const csched_time KEPT_AGE = 3000; // ns until a kept job may be stolen: a job that only submits takes less
enum { PATIENCE = 16 }; // how often the next lower priority may be passed over; twice as often at each further step

CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_pool_worker *csched_pool_worker_here_;

// Does: in a child of fork, the calling thread stops being a worker of `pool`. Returns: whether it was one.
bool csched_pool_leave_in_child_(csched_pool *pool) {
  csched_pool_worker *worker = csched_pool_worker_here_;
  if (worker == NULL || worker->pool != pool) return false;
  csched_pool_orphan_worker_(worker); // csched_pool_after_job_ stops the process if the worker's job returns
  csched_pool_worker_here_ = NULL;    // not a worker any more: thread_ended does nothing
  return true;
}

// MARK: picking a job from the inboxes

bool csched_pool_is_queued_locked_(csched_pool *pool) { // returns: whether any inbox has a job
  for (int i = 0; i < CSCHED_CLASSES; i++)
    if (!csched_mpsc_is_empty(&pool->classes[i].inbox)) return true;
  return false;
}

// Does: dequeues the oldest job of `class`. A timer that must follow another worker's delivery moves to that worker.
// Returns: the job; NULL: none.
static csched_job *pop_locked(csched_pool_worker *worker, csched_pool_class *class) {
  bool is_delivery = class == &worker->pool->classes[CSCHED_DELIVERIES];
  csched_job *job;
  do job = csched_mpsc_pop(&class->inbox);
  while (is_delivery && job != NULL && !csched_pool_begin_delivery_locked_(worker, job));
  csched_store_relaxed(&class->more, (uint32_t)(class->inbox.first != NULL)); // racy write, rechecked under `pick`
  return job;
}

// Returns: the priority of the job that this worker runs; on other threads, the highest.
csched_priority csched_pool_priority_here_(void) {
  const csched_pool_worker *worker = csched_pool_worker_here_;
  if (worker == NULL || worker->class == NULL) return CSCHED_PRIORITY_HIGH;
  return (csched_priority)(worker->class - worker->pool->classes); // a class's index is its priority
}

// Returns: whether a waiting thread donates the priority of `best`, or a higher one, to `class`. (`lent[i]` counts the
// donations of priority `i`.)
static bool is_waited_for(const csched_pool_class *class, const csched_pool_class *best) { // WK7: donation
  for (long i = 0; i < CSCHED_PRIORITIES && i <= best - class->pool->classes; i++)         // 0 is the highest
    if (csched_load_relaxed(&class->lent[i]) != 0) return true;                            // Speed only
  return false;
}

// Returns: the first class with work: the monitor's inboxes, then the highest priority, or a lower one that was passed
// over too often. NULL: none.
static csched_pool_class *choose_locked(csched_pool *pool) { // WK1: highest first, with aging
  csched_pool_class *best = NULL;                            // the first class that has work
  unsigned patience = PATIENCE;                              // how often the next class may be passed over
  for (int i = 0; i < CSCHED_CLASSES; i++) {
    csched_pool_class *class = &pool->classes[(i + CSCHED_PRIORITIES) % CSCHED_CLASSES]; // 4, 5, then 0 to 3
    if (csched_mpsc_is_empty(&class->inbox)) { // without work it is not passed over
      if (class->passed != 0)
        class->passed = 0; // no write otherwise: the cache line stays with the thread that last picked from the class
    } else if (best == NULL) best = class;
    else if (++class->passed > (CSCHED_UNLIKELY(is_waited_for(class, best)) ? 1 : patience)) return class;
    if (best != NULL && best != class) patience *= 2; // each lower class waits twice as long
  }
  return best;
}

// Does: dequeues the next job from the inboxes, and stops counting the worker as searching. Returns: the job, its class
// in `*chosen`; NULL: none.
static csched_job *dequeue(csched_pool_worker *worker, csched_pool_class **chosen) {
  csched_pool *pool = worker->pool;
  if (!csched_pool_may_have_queued_(pool)) return NULL; // a racy check: the worker checks again before it sleeps
  csched_lock_lock(&pool->pick);                        // WK1: the consumer's lock
  csched_pool_class *class;
  csched_job *job = NULL;
  while (job == NULL && (class = choose_locked(pool)) != NULL) job = pop_locked(worker, class);
  bool is_last = false, more = false; // no other worker searches now; the inboxes have more jobs
  if (job != NULL) {
    class->passed = 0; // its wait is over
    is_last = csched_pool_stop_search_(worker);
    more = is_last && csched_pool_is_queued_locked_(pool);
  }
  csched_lock_unlock(&pool->pick);
  if (more || (is_last && (csched_pool_has_spawns_(pool) || csched_pool_is_kept_(pool))))
    csched_pool_wake_(pool, false); // F2: submitters have skipped their wakes, because this worker searched
  *chosen = class;
  return job;
}

// MARK: kept jobs

// A `kept` word: a job's address, and the number of its class in the two lowest bits.
static csched_job *job_of(uintptr_t kept) { return (csched_job *)(kept & ~(uintptr_t)CSCHED_CLASS_BITS); }
static csched_pool_class *class_of(csched_pool *pool, uintptr_t kept) {
  return &pool->classes[kept & CSCHED_CLASS_BITS];
}

// Does: keeps `job` as this worker's next job. Returns: false: not kept, because other work waits, or this is no worker
// that runs a job of `class`.
bool csched_pool_keep_(csched_pool_class *class, csched_job *job) { // WK8: only while no other work waits
  csched_pool_worker *worker = csched_pool_worker_here_;
  if (worker == NULL || worker->class != class) return false; // not a worker, or its job has another priority
  if (csched_load_relaxed(&worker->kept) != 0 || csched_pool_may_have_work_(class->pool))
    return false;                                          // racy read: other threads only clear `kept`: 0 stays 0
  csched_store_relaxed(&worker->keeps, worker->keeps + 1); // Speed only: shows a thief that this is another job
  csched_store_release(&worker->kept,
                       (uintptr_t)job | (uintptr_t)(class - class->pool->classes)); // WK8: pairs with claim_kept
  return true;
}

// Returns: the follow-up state of the current job, if this worker runs a job of `target`; else NULL.
uint32_t *csched_pool_follow_up_(const csched_target *target) { // WK10: a follow-up runs on its worker
  csched_pool_worker *worker = csched_pool_worker_here_;
  bool is_in_job = worker != NULL && worker->class != NULL && &worker->class->target == target;
  return is_in_job ? &worker->follow_up : NULL;
}

bool csched_pool_is_kept_(csched_pool *pool) {   // returns: whether any worker keeps a job
  uint32_t used = csched_pool_slots_used_(pool); // WK2: raised before a thread starts
  for (uint32_t i = 0; i < used; i++)
    if (csched_load_relaxed(&pool->slots[i].kept) != 0) return true; // WK8: the caller's fence makes this exact
  return false;
}

size_t csched_pool_count_kept_(const csched_pool_class *class) { // for dumps: how many jobs of `class` are kept
  csched_pool *pool = class->pool;
  size_t found = 0;
  uint32_t used = csched_pool_slots_used_(pool);
  for (uint32_t i = 0; i < used; i++) {
    uintptr_t kept = csched_load_relaxed(&pool->slots[i].kept); // racy read, for dumps
    found += kept != 0 && class_of(pool, kept) == class;
  }
  return found;
}

// Does: transfers the kept job of `from` to the caller. Returns: the `kept` word; 0: `from` keeps no job, or another
// worker was first.
static uintptr_t claim_kept(csched_pool_worker *from) {
  if (csched_load_relaxed(&from->kept) == 0) return 0;       // racy read, rechecked by the exchange
  return csched_exchange_acquire(&from->kept, (uintptr_t)0); // WK8: pairs with csched_pool_keep_
}

// Returns: this worker's kept job, or NULL. If other work waits or the worker is surplus, queues it and returns NULL,
// unless the inbox is closed.
static csched_job *claim_own_kept(csched_pool_worker *worker, csched_pool_class **chosen) {
  csched_pool *pool = worker->pool;
  uintptr_t kept = claim_kept(worker);
  if (CSCHED_LIKELY(kept == 0)) return NULL;
  *chosen = class_of(pool, kept);
  bool runs_now = !worker->is_surplus && !csched_pool_may_have_work_(pool); // Speed only: else older work is first
  if (runs_now || csched_mpsc_push(&(*chosen)->inbox, job_of(kept)) == CSCHED_PUSH_CLOSED) return job_of(kept);
  csched_pool_announce_(pool, 1); // F1: after the push: this worker may take another job first
  return NULL;
}

// Does: sets `worker->victim` to a worker that keeps a job, or NULL. Returns: whether to steal it now: its age is
// KEPT_AGE, or `now` is 0.
bool csched_pool_find_victim_(csched_pool_worker *worker, csched_time now) { // WK9: limits a kept job's wait
  csched_pool *pool = worker->pool;
  csched_pool_worker *each = worker->victim;
  if (now != 0 && each != NULL && csched_load_relaxed(&each->kept) != 0 &&
      csched_load_relaxed(&each->keeps) == worker->keeps_seen) // still the same job, whose age is known
    return now >= worker->kept_since + KEPT_AGE;               // Speed only: else waits for that job to age
  uint32_t used = csched_pool_slots_used_(pool);               // WK2: raised before a thread starts
  uint32_t from = each != NULL ? each->number : worker->number + worker->job_count / CHECK_INTERVAL;
  worker->victim = NULL; // the search starts behind the previous victim, or at a slot that changes
  for (uint32_t i = 0; i < used && worker->victim == NULL; i++) {
    each = &pool->slots[(from + i) % used];
    if (csched_load_relaxed(&each->kept) != 0) worker->victim = each; // racy read, rechecked by the exchange
  }
  if (worker->victim != NULL) worker->keeps_seen = csched_load_relaxed(&worker->victim->keeps); // Speed only
  worker->kept_since = now;                  // the job's age is counted from here
  return now == 0 && worker->victim != NULL; // 0: a job of any age
}

// Returns: the kept job of `worker->victim`, which csched_pool_find_victim_ has set; NULL: none, or another worker has
// claimed the job.
static csched_job *steal_kept(csched_pool_worker *worker, csched_pool_class **chosen) { // WK9: limits a kept job's wait
  csched_pool *pool = worker->pool;
  uintptr_t kept = worker->victim != NULL ? claim_kept(worker->victim) : 0;
  worker->victim = NULL;
  if (kept == 0) return NULL;
  *chosen = class_of(pool, kept);
  if (csched_pool_stop_search_(worker) && csched_pool_has_work_(pool))
    csched_pool_wake_(pool, false); // F2: submitters have skipped their wakes, because this worker searched
  return job_of(kept);
}

// Returns: the worker's next job: its kept job, a queued job, or a stolen kept job. A surplus worker only moves its own
// kept job to the inbox.
static csched_job *next_job(csched_pool_worker *worker, csched_pool_class **chosen) {
  csched_job *job = NULL;
  if (CSCHED_UNLIKELY(++worker->job_count % CHECK_INTERVAL == 0) && !worker->is_surplus &&
      csched_pool_find_victim_(worker, 0))
    job = steal_kept(worker, chosen); // WK9: a job may be kept behind an endless one, while no worker is free to search
  if (job == NULL) job = claim_own_kept(worker, chosen);
  if (job == NULL && !worker->is_surplus) job = dequeue(worker, chosen);
  if (job == NULL && !worker->is_surplus) job = steal_kept(worker, chosen); // the victim that the search has found
  return job;
}

// MARK: running

// Returns: whether the worker's thread has the nice value `nice`, and no waiter for a lock has lifted it (WK7). At 0, a
// lift changes nothing.
static bool has_nice(const csched_pool_worker *worker, int nice) {
  return worker->nice == nice &&
         (nice == 0 || !csched_os_thread_is_lifted_(csched_load_relaxed(&worker->id))); // racy read: own thread's id
}

// Does: sets the thread's nice value to `base_nice` + `nice`. Raises it only if the thread may lower it again. A
// failure to lower it sets `is_stuck`.
static void set_nice(csched_pool_worker *worker, int nice) { // WK6: no raise after a failure
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
bool csched_pool_keeps_follow_up_(void) { // WK10: the follow-up is kept
  csched_pool_worker *worker = csched_pool_worker_here_;
  if (CSCHED_LIKELY(worker->follow_up != CSCHED_FOLLOW_UP_COMES)) return false;
  worker->follow_up = CSCHED_FOLLOW_UP_KEPT;
  return true;
}

// Does: runs the follow-up of the job that has just ended; drops it if the pool drops its work.
static CSCHED_NOINLINE void perform_follow_up(csched_pool_worker *worker) { // WK10: before any other job
  worker->follow_up = CSCHED_FOLLOW_UP_NONE;
  uintptr_t kept = claim_kept(worker);
  if (kept == 0) return; // WK9: stolen: another worker runs the follow-up
  if (CSCHED_UNLIKELY(csched_pool_is_dropping_(worker->pool))) csched_target_discard(job_of(kept));
  else csched_job_perform_on_(job_of(kept), &class_of(worker->pool, kept)->target);
}

// Does: runs `job`, and then its follow-up, as jobs of `class`, at its nice value; at nice 0 if a waiting thread
// donates a higher priority.
void csched_pool_perform_(csched_pool_worker *worker, csched_pool_class *class, csched_job *job) {
  csched_pool_class *outer = worker->class;
  worker->class = class;
  set_nice(worker, class->nice == 0 || is_waited_for(class, class - 1) ? 0 : class->nice); // WK7: a higher one waits
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
  csched_job *job = next_job(worker, &class);
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
    if ((!worker->is_surplus || csched_load_relaxed(&worker->kept) != 0) &&
        run_one(worker)) { // racy read: a surplus worker only queues its kept job
      csched_pool_after_job_(worker);
    } else if (csched_pool_must_end_(pool)) {
      if (!worker->is_surplus && !csched_pool_may_leave_(pool)) continue; // not ended yet: check for jobs again
      worker->has_left = csched_pool_leave_(worker);
    } else if (worker->is_surplus || !csched_pool_search_(worker)) {
      set_nice(worker, 0); // WK6: a failure sets `is_stuck`, so that the waker replaces this thread
      csched_pool_slept slept = csched_pool_sleep_(worker);
      if (CSCHED_UNLIKELY(slept == CSCHED_SLEPT_REPLACED)) { // WK6: another thread has taken over the slot
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
static void replace_thread(csched_pool_worker *worker) { // WK4: the pool keeps its workers
  csched_frames_end_thread_();                           // WK4: ends the job that has ended this thread
  if (worker->blocking_depth > 0) {                      // ends all nested blocking calls at once
    worker->blocking_depth = 1;
    csched_pool_blocking_end();
  }
  csched_pool_after_job_(worker);            // the worker counts as running again
  worker->class = NULL;                      // no job runs now
  worker->follow_up = CSCHED_FOLLOW_UP_NONE; // WK10: the follow-up is now an ordinary kept job
  if (worker->delivers_for != NULL) csched_pool_end_delivery_(worker);
  csched_pool_end_help_(worker);      // WK4: spawns that it stole count as done
  csched_pool_forget_spawns_(worker); // the worker's own spawns lay in the ended stack frames
  if (csched_pool_start_worker_(worker->pool, worker) != 0)
    csched_os_call_with_cleanup_(worker_loop, thread_ended, worker); // WK4: no new thread: continues here
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
    worker->life = ENDED; // WK3: the pool's join, or the slot's next start, joins the thread
  } else {
    worker->life = VACANT;
    csched_os_thread_detach_(worker->os); // WK3: an open pool may not join the thread for a long time
  }
  csched_lock_unlock(&pool->slots_lock); // this thread's final access: the pool may be freed now
}

static void worker_main(void *context) { csched_os_call_with_cleanup_(run_worker, thread_ended, context); }

// Returns: a slot without a running thread, other than that of `leaving`: a used one, or the first that was never used.
// NULL: none.
static csched_pool_worker *find_slot_locked(csched_pool *pool, const csched_pool_worker *leaving) {
  uint32_t used = csched_pool_slots_used_(pool); // WK2: locked, so it does not change
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
  csched_store_release(&pool->slots_used, used + 1); // WK2: before the thread starts; release: the slot is initialised
}

// Does: starts a thread in the slot of `worker`, in place of `leaving` (may be NULL). Returns: 0 or an errno value.
static int start_locked(csched_pool *pool, csched_pool_worker *worker, const csched_pool_worker *leaving) {
  uint32_t used = csched_pool_slots_used_(pool); // WK2: locked, so only init_slot_locked changes it
  if (worker == &pool->slots[used]) init_slot_locked(pool, used);
  if (worker->life == ENDED) csched_os_thread_join_(worker->os); // WK3: the slot's previous thread
  worker->life = VACANT;
  worker->is_searching = leaving == NULL || leaving->is_searching; // WK4: as `counts` has it: a new worker searches
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
static void take_over_slot(void *context) { // WK6: replaces a stuck thread
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
bool csched_pool_replace_(csched_pool_worker *worker) { // WK6: replaces a stuck thread
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
  uint32_t used = csched_pool_slots_used_(pool);    // WK2: the pool has ended, so it grows no more
  for (uint32_t i = 0; i < used; i++) {
    csched_lock_lock(&pool->slots_lock);
    bool is_used = pool->slots[i].life != VACANT; // ENDED, or LIVE: the thread is about to end
    csched_lock_unlock(&pool->slots_lock);
    if (is_used) csched_os_thread_join_(pool->slots[i].os); // WK3: at the pool's end
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
