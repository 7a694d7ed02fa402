// The pool's choice: which job a worker runs next, and where submitted jobs wait: in inboxes, lanes, local queues and
// kept words.
//
// States
//   inbox   of a class: a run queue (mpsc.c). The thread that holds `pick` is its consumer
//   lane    a further inbox of default priority. The thread that holds its `lock` is its consumer
//   local   a worker's local queue: a deque (deque.c) whose owner never pops. Jobs of default priority only
//   kept    of a worker: 0, or the job that it runs next, which its current job has submitted; the class's number is in
//           the lowest bits
//   passed, more, left: see pool_internal.h
// Invariants
//   PP1  Each job is started once. The highest priority comes first, but each worker passes over a priority n steps
//       lower, in the inboxes or its own local queue, at most 8 << n times. The monitor's deliveries and discards come
//       before all priorities (pool_monitor.c). A worker that finds lower priorities only in the inboxes looks at other
//       workers' local queues first. The order of jobs of one priority is not defined: the inbox, the lanes and the
//       local queues each are first in, first out.
//   PP2  Priority donation. A thread that waits for work of a lower priority may donate its own to it
//       (csched_target_lend). Meanwhile, priorities that are not above the donated one pass the lower one over at most
//       once in a row, in the inboxes and local queues. Jobs of the lower priority start at the nice value of the
//       highest priority. While a thread sleeps for a lock, the lock's owner is lifted to that nice value, until the
//       owner's next job (lock.c).
//   PP3  Kept jobs. While no other work waits, a worker keeps the job that its current job submits to the same
//       priority, and runs the kept job next. So a chain of such jobs stays on one thread. If other work waits by then,
//       the worker queues the kept job behind that work. One exchange claims a kept job, so only one worker gets it. A
//       check after a fence finds each kept job: it is kept before its submitter's fence (pool_idle.c, F1).
//   PP4  A job does not wait for its worker's long job while another worker is free. A searching worker steals from
//       local queues at once, and steals a kept job after KEPT_AGE, or at once if workers do not spin. Each busy worker
//       checks other workers once in CHECK_INTERVAL of its looks for a job: for a kept job, which it steals, and in
//       turns for a local queue from which no job has been taken since the previous such check: it steals half of it.
//   PP5  A follow-up is a job that runs on its worker right after the job that submitted it. A serial queue ends its
//       batch for that (serial.c, SQ4). The follow-up is kept without a wake. If the worker blocks, or the job ends its
//       thread, another worker may steal the follow-up.
//   PP6  Local queues. A job of default priority that a worker submits, and does not keep, waits in its local queue.
//       A worker that takes a job from the inbox moves its share of the others to its local queue, where room for
//       shares is reserved. A thief takes half of another worker's local queue. A worker that blocks, is surplus or
//       ends its thread gives its local queue back to the inbox, behind the inbox's oldest job: so a chain of jobs that
//       block does not pass that one over for ever. A job that is being moved is in no queue for a moment. So the mover
//       holds the lock of the inbox or lane meanwhile, or announces the job as a submitter does (pool_idle.c, F1).
//       After LOOK_INTERVAL jobs of its local queue, a worker looks at the inboxes first.
//   PP7  Lanes. In a pool of LANES_FROM workers or more, a thread that adds a job of default priority to no local queue
//       adds it to its lane. A worker moves its share of a lane to its local queue when that is empty, and once in
//       LOOK_INTERVAL looks for a job; each lane comes first in its turn. Lanes are closed together with the inboxes,
//       under `pick` (pool.c, X1).
// Orderings
//   kept: release when a job is stored, pairs with claim_kept's acquire, carries the job · local: as in deque.c
// Assumes: pool_idle.c decides which workers run and sleep.
// Source: aging by counting, as in schedulers of disks and processes. Local queues, shares and the look at the shared
//   inbox from time to time: Go's scheduler and tokio. Lanes: ForkJoinPool's submission queues.
// Models: checks/pool_pick.c, checks/pool_local.c.

#include "pool_internal.h"

#include "../job/frames_internal.h"
#include "../job/mpsc_internal.h"
#include "../job/observed.h"
#include "../sync/lock_internal.h"
#include "../targets/target_internal.h"

enum { CHECK_INTERVAL = 32 };             // after so many jobs, a busy worker checks other workers' jobs
static const csched_time KEPT_AGE = 3000; // ns until a kept job may be stolen: a job that only submits takes less
enum { BATCH = 16 };         // jobs that a worker moves from the inbox to its local queue at a time, at most
enum { LOOK_INTERVAL = 16 }; // after so many jobs of its local queue, a worker looks at the inboxes first
enum { PATIENCE = 16 }; // how often the next lower priority may be passed over; twice as often at each further step

// MARK: inboxes

bool csched_pool_is_queued_locked_(csched_pool *pool) { // returns: whether any inbox has a job
  for (int i = 0; i < CSCHED_CLASSES; i++)
    if (!csched_mpsc_is_empty(&pool->classes[i].inbox)) return true;
  if (csched_pool_may_have_lanes_(pool)) return true;
  for (size_t i = 0; i < pool->lane_count; i++) { // PP7: exact: another worker may be moving jobs
    csched_lock_lock(&pool->lanes[i].lock);
    bool has_job = !csched_mpsc_is_empty(&pool->lanes[i].inbox);
    csched_lock_unlock(&pool->lanes[i].lock);
    if (has_job) return true;
  }
  return false;
}

// Does: records whether the consumer's half of the inbox has jobs. Writes only a change: other workers read the line.
static void note_more(uint32_t *more, const csched_mpsc *inbox) {
  uint32_t has = inbox->first != NULL;
  if (csched_load_relaxed(more) != has) csched_store_relaxed(more, has); // racy write, rechecked under the lock
}

// MARK: lanes

csched_mpsc *csched_pool_inbox_(csched_pool_class *class) { // PP7
  const csched_pool *pool = class->pool;
  if (CSCHED_LIKELY(pool->lane_count == 0) || class != &pool->classes[CSCHED_PRIORITY_DEFAULT]) return &class->inbox;
  uint32_t self = csched_self_ != 0 ? csched_self_ : csched_lock_self_();
  return &pool->lanes[self % pool->lane_count].inbox; // a thread keeps its lane
}

// Does: moves jobs from `lane` to the worker's local queue: its share of them, at most BATCH. Returns: whether it moved
// any.
static bool fetch_from(csched_pool_worker *worker, csched_pool_lane *lane) { // PP7
  const csched_pool *pool = worker->pool;
  if (csched_load_relaxed(&lane->more) == 0 && !csched_mpsc_has_new_jobs(&lane->inbox)) return false; // racy read
  if (!csched_lock_trylock(&lane->lock)) return false; // another worker fetches its share
  csched_mpsc_refill_(&lane->inbox, &lane->left);
  size_t moves = lane->left * pool->lane_count / pool->workers + 1;
  size_t room = CSCHED_DEQUE_SLOTS - csched_deque_count_(&worker->local);
  if (moves > BATCH) moves = BATCH;
  bool has_moved = lane->left > 0 && room > 0;
  for (; moves > 0 && room > 0 && lane->left > 0; moves--, room--, lane->left--)
    csched_deque_push_(&worker->local, csched_mpsc_pop(&lane->inbox));
  note_more(&lane->more, &lane->inbox);
  csched_lock_unlock(&lane->lock);
  return has_moved;
}

// Does: if the local queue is empty, and once in LOOK_INTERVAL calls, moves jobs from a lane to it.
static void fetch(csched_pool_worker *worker) { // PP7
  csched_pool *pool = worker->pool;
  if (worker->job_count % LOOK_INTERVAL != 0 && !csched_deque_is_empty_(&worker->local)) return;
  uint32_t from = worker->number + worker->job_count / CHECK_INTERVAL; // PP7: each lane comes first in its turn
  for (size_t i = 0; i < pool->lane_count; i++)
    if (fetch_from(worker, &pool->lanes[(from + i) % pool->lane_count])) return;
}

// MARK: the inboxes of the classes

// Does: moves jobs of default priority from the inbox to the worker's local queue: the worker's share of them, at least
// `least` and at most BATCH, as far as there are jobs and room.
static void refill_locked(csched_pool_worker *worker, size_t least) { // PP6
  csched_pool *pool = worker->pool;
  csched_pool_class *class = &pool->classes[CSCHED_PRIORITY_DEFAULT];
  csched_mpsc_refill_(&class->inbox, &class->left);
  size_t moves = class->left / pool->workers, room = CSCHED_DEQUE_SLOTS - csched_deque_count_(&worker->local);
  moves = moves < least ? least : moves > BATCH ? BATCH : moves;
  for (; moves > 0 && room > 0 && class->left > 0; moves--, room--, class->left--)
    csched_deque_push_(&worker->local, csched_mpsc_pop(&class->inbox));
  note_more(&class->more, &class->inbox);
}

// Does: as pop_locked, for default priority; also moves further jobs to the local queue.
static csched_job *pop_default_locked(csched_pool_worker *worker, csched_pool_class *class) {
  csched_job *job = NULL;
  if (!csched_deque_is_empty_(&worker->local)) {
    refill_locked(worker, 1);
    job = csched_deque_take_(&worker->local);
  }
  if (job != NULL) return job;
  csched_mpsc_refill_(&class->inbox, &class->left);
  if (class->left == 0) return NULL;
  job = csched_mpsc_pop(&class->inbox);
  class->left--;
  refill_locked(worker, 0);
  return job;
}

// Does: dequeues the oldest job of `class`. A timer that must follow another worker's delivery moves to that worker.
// Returns: the job; NULL: none.
static csched_job *pop_locked(csched_pool_worker *worker, csched_pool_class *class) {
  csched_pool *pool = worker->pool;
  csched_job *job;
  if (class == &pool->classes[CSCHED_PRIORITY_DEFAULT]) return pop_default_locked(worker, class);
  bool is_delivery = class == &pool->classes[CSCHED_DELIVERIES];
  do job = csched_mpsc_pop(&class->inbox);
  while (is_delivery && job != NULL && !csched_pool_begin_delivery_locked_(worker, job));
  note_more(&class->more, &class->inbox);
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
bool csched_pool_is_waited_for_(const csched_pool_class *class, const csched_pool_class *best) { // PP2: donation
  for (long i = 0; i < CSCHED_PRIORITIES && i <= best - class->pool->classes; i++)               // 0 is the highest
    if (csched_load_relaxed(&class->lent[i]) != 0) return true;                                  // Speed only
  return false;
}

// Returns: the first class with work: the monitor's inboxes, then the highest priority, or a lower one that was passed
// over too often. NULL: none.
static csched_pool_class *choose_locked(csched_pool_worker *worker) { // PP1: highest first, with aging
  csched_pool *pool = worker->pool;
  csched_pool_class *best = NULL; // the first class that has work
  unsigned patience = PATIENCE;   // how often the next class may be passed over
  for (int i = 0; i < CSCHED_CLASSES; i++) {
    csched_pool_class *class = &pool->classes[(i + CSCHED_PRIORITIES) % CSCHED_CLASSES]; // 4, 5, then 0 to 3
    bool is_default = class == &pool->classes[CSCHED_PRIORITY_DEFAULT];
    bool is_local = is_default && !csched_deque_is_empty_(&worker->local); // PP6: this worker has jobs of the class
    unsigned *passed = is_local ? &worker->passed : &class->passed;
    if (!is_local && csched_mpsc_is_empty(&class->inbox)) { // without work it is not passed over
      if (*passed != 0)
        *passed = 0; // no write otherwise: the cache line stays with the thread that last picked from the class
    } else if (best == NULL) best = class;
    else if ((*passed += 1 + (is_default ? 0 : worker->local_runs)) >
             (CSCHED_UNLIKELY(csched_pool_is_waited_for_(class, best)) ? 1 : patience))
      return class;
    if (best != NULL && best != class) patience *= 2; // each lower class waits twice as long
  }
  return best;
}

// Does: dequeues the next job from the inboxes, and stops counting the worker as searching. Returns: the job, its class
// in `*chosen`; NULL: none.
static csched_job *dequeue(csched_pool_worker *worker, csched_pool_class **chosen) {
  csched_pool *pool = worker->pool;
  if (!csched_pool_may_have_queued_(pool)) return NULL; // a racy check: the worker checks again before it sleeps
  csched_lock_lock(&pool->pick);                        // PP1: the consumer's lock
  csched_pool_class *class;
  csched_job *job = NULL;
  while (job == NULL && (class = choose_locked(worker)) != NULL) job = pop_locked(worker, class);
  worker->local_runs = 0;
  bool is_last = false, more = false; // no other worker searches now; the inboxes have more jobs
  if (job != NULL) {
    class->passed = 0; // its wait is over
    if (class == &pool->classes[CSCHED_PRIORITY_DEFAULT]) worker->passed = 0;
    else if (!csched_deque_is_empty_(&worker->local)) refill_locked(worker, 1); // PP6: the look serves both
    is_last = csched_pool_stop_search_(worker);
    more = is_last && csched_pool_is_queued_locked_(pool);
  }
  csched_lock_unlock(&pool->pick);
  if (more || (is_last && csched_pool_has_local_(pool)))
    csched_pool_wake_(pool, false); // F2: submitters have skipped their wakes, because this worker searched
  *chosen = class;
  return job;
}

// MARK: local queues

static bool has_other_work(const csched_pool_worker *worker) { // racy
  return !csched_deque_is_empty_(&worker->local) || csched_pool_may_have_queued_(worker->pool);
}

bool csched_pool_add_local_(csched_pool_class *class, csched_job *job) { // PP6
  csched_pool_worker *worker = csched_pool_worker_here_;
  return worker != NULL && worker->pool == class->pool && worker->blocking_depth == 0 &&
         class == &worker->pool->classes[CSCHED_PRIORITY_DEFAULT] &&
         csched_deque_count_(&worker->local) < CSCHED_DEQUE_SLOTS - BATCH && // PP6: room for shares
         csched_deque_push_(&worker->local, job);
}

// Does: moves the local queue of `worker` to the inbox, behind its oldest job, because the worker runs no jobs for a
// while; wakes a worker. Thread: any.
void csched_pool_give_back_(csched_pool_worker *worker) { // PP6
  csched_pool_class *class = &worker->pool->classes[CSCHED_PRIORITY_DEFAULT];
  if (csched_deque_is_empty_(&worker->local)) return;
  csched_job *first = NULL, **last = &first, *job;
  csched_lock_lock(&worker->pool->pick);
  for (size_t most = csched_deque_count_(&worker->local); // the worker may add jobs meanwhile
       most > 0 && (job = csched_deque_take_(&worker->local)) != NULL; most--) {
    *last = job;
    last = &job->next;
    class->left++;
  }
  csched_mpsc_refill_(&class->inbox, &class->left);
  csched_job **place = class->inbox.first != NULL ? &class->inbox.first->next : &class->inbox.first;
  *last = *place; // PP6: behind the oldest
  *place = first;
  note_more(&class->more, &class->inbox);
  csched_lock_unlock(&worker->pool->pick);
  csched_pool_announce_(worker->pool, 1); // F1 in pool_idle.c: the moved jobs are visible again
}

// Does: stops counting `worker` as searching, because it has found a job; wakes another worker if needed. `more`: it
// has also moved jobs to its local queue.
static void found_job(csched_pool_worker *worker, bool more) {
  csched_pool *pool = worker->pool;
  bool is_last = csched_pool_stop_search_(worker);
  if (more) csched_pool_announce_(pool, 1); // F1: the moved jobs are visible again
  else if (is_last && csched_pool_has_work_(pool)) csched_pool_wake_(pool, false); // F2: wakes were skipped
}

// Returns: whether the inboxes come before this worker's local queue: they seem to have a job of a higher priority; or
// one that has waited long enough.
static bool must_look(csched_pool_worker *worker) { // PP1
  csched_pool *pool = worker->pool;
  if (CSCHED_LIKELY(!csched_pool_may_have_queued_(pool))) {
    worker->local_runs = 0;
    return false;
  }
  if (worker->local_runs >= LOOK_INTERVAL) return true;
  for (int i = 0; i < CSCHED_CLASSES; i++) {
    csched_pool_class *class = &pool->classes[i];
    if (i != CSCHED_PRIORITY_DEFAULT && csched_pool_seems_queued_(class) &&
        (i < CSCHED_PRIORITY_DEFAULT || i >= CSCHED_PRIORITIES ||
         csched_pool_is_waited_for_(class, &pool->classes[CSCHED_PRIORITY_DEFAULT])))
      return true;
  }
  return false;
}

// Returns: the oldest job of this worker's local queue, unless the inboxes come first; NULL: none.
static csched_job *take_local(csched_pool_worker *worker, csched_pool_class **chosen) { // PP6
  if (csched_deque_is_empty_(&worker->local) || must_look(worker)) return NULL;
  csched_job *job = csched_deque_take_(&worker->local);
  if (job == NULL) return NULL;
  worker->local_runs++;
  *chosen = &worker->pool->classes[CSCHED_PRIORITY_DEFAULT];
  if (CSCHED_UNLIKELY(worker->is_searching)) found_job(worker, false);
  return job;
}

// Does: takes half of the local queue of `from`. Returns: the oldest job of that half; NULL: none. The others move to
// this worker's local queue.
static csched_job *steal_from(csched_pool_worker *worker, csched_pool_worker *from, csched_pool_class **chosen) {
  enum { MOST = CSCHED_DEQUE_SLOTS / 2 };
  void *jobs[MOST];
  size_t room = CSCHED_DEQUE_SLOTS - csched_deque_count_(&worker->local);
  if (from == worker || csched_deque_is_empty_(&from->local)) return NULL;
  size_t count = csched_deque_take_half_(&from->local, jobs, room < MOST ? room + 1 : MOST);
  if (count == 0) return NULL;
  *chosen = &worker->pool->classes[CSCHED_PRIORITY_DEFAULT];
  if (csched_is_observed_()) csched_observe_hooks_->note(CSCHED_OCCURRED_STEAL, &(*chosen)->target, 0);
  for (size_t i = 1; i < count; i++) csched_deque_push_(&worker->local, jobs[i]); // has room
  worker->local_runs++;
  found_job(worker, count > 1);
  return jobs[0];
}

// Returns: whether other workers' local queues come before the inboxes: those seem to have jobs of lower priorities
// only, or a waiting thread donates a higher priority to the default one.
static bool others_come_first(const csched_pool_worker *worker) { // PP1, PP2
  const csched_pool_class *classes = worker->pool->classes, *usual = &classes[CSCHED_PRIORITY_DEFAULT];
  bool finds = false;
  if (CSCHED_UNLIKELY(csched_pool_is_waited_for_(usual, classes)))
    return worker->local_runs == 0 && !csched_pool_seems_queued_(usual); // PP2: each second job
  for (const csched_pool_class *each = usual + 1; each < classes + CSCHED_PRIORITIES; each++) {
    if (!csched_pool_seems_queued_(each)) continue;
    if (csched_pool_is_waited_for_(each, usual)) return false;
    finds = true;
  }
  return finds && worker->local_runs < LOOK_INTERVAL && !csched_pool_seems_queued_(usual) &&
         !csched_pool_seems_queued_(classes) && !csched_pool_seems_queued_(&classes[CSCHED_DELIVERIES]) &&
         !csched_pool_seems_queued_(&classes[CSCHED_DEFERRED]);
}

// Returns: a job of another worker's local queue; NULL: none found.
static csched_job *steal_local(csched_pool_worker *worker, csched_pool_class **chosen) { // PP6
  uint32_t used = csched_pool_slots_used_(worker->pool);                                 // pool_worker.c WK1
  csched_job *job = NULL;
  for (uint32_t i = 0; i < used && job == NULL; i++)
    job = steal_from(worker, &worker->pool->slots[(worker->looked_at + i) % used], chosen);
  worker->looked_at++;
  return job;
}

// MARK: kept jobs

// Does: keeps `job` as this worker's next job. Returns: false: not kept, because other work waits, or this is no worker
// that runs a job of `class`.
bool csched_pool_keep_(csched_pool_class *class, csched_job *job) { // PP3: only while no other work waits
  csched_pool_worker *worker = csched_pool_worker_here_;
  if (worker == NULL || worker->class != class) return false; // not a worker, or its job has another priority
  if (csched_load_relaxed(&worker->kept) != 0 || has_other_work(worker))
    return false;                                          // racy read: other threads only clear `kept`: 0 stays 0
  csched_store_relaxed(&worker->keeps, worker->keeps + 1); // Speed only: shows a thief that this is another job
  csched_store_release(&worker->kept,
                       (uintptr_t)job | (uintptr_t)(class - class->pool->classes)); // PP3: pairs with claim_kept
  return true;
}

// Returns: the follow-up state of the current job, if this worker runs a job of `target`; else NULL.
uint32_t *csched_pool_follow_up_(const csched_target *target) { // PP5: a follow-up runs on its worker
  csched_pool_worker *worker = csched_pool_worker_here_;
  bool is_in_job = worker != NULL && worker->class != NULL && &worker->class->target == target;
  return is_in_job ? &worker->follow_up : NULL;
}

bool csched_pool_has_local_(csched_pool *pool) {
  uint32_t used = csched_pool_slots_used_(pool); // WK1: raised before a thread starts
  for (uint32_t i = 0; i < used; i++) {
    const csched_pool_worker *each = &pool->slots[i];
    if (csched_load_relaxed(&each->kept) != 0 || !csched_deque_is_empty_(&each->local) ||
        !csched_deque_is_empty_(&each->spawns))
      return true; // PP3, PP6, FJ2 in fork_join.c: the caller's fence makes this exact
  }
  return false;
}

size_t csched_pool_count_local_(const csched_pool_class *class) { // for dumps
  csched_pool *pool = class->pool;
  size_t found = 0;
  uint32_t used = csched_pool_slots_used_(pool);
  for (uint32_t i = 0; i < used; i++) {
    uintptr_t kept = csched_load_relaxed(&pool->slots[i].kept); // racy read, for dumps
    found += kept != 0 && csched_pool_kept_class_(pool, kept) == class;
    if (class == &pool->classes[CSCHED_PRIORITY_DEFAULT]) found += csched_deque_count_(&pool->slots[i].local);
  }
  return found;
}

// Does: transfers the kept job of `from` to the caller. Returns: the `kept` word; 0: `from` keeps no job, or another
// worker was first.
uintptr_t csched_pool_claim_kept_(csched_pool_worker *from) {
  if (csched_load_relaxed(&from->kept) == 0) return 0;       // racy read, rechecked by the exchange
  return csched_exchange_acquire(&from->kept, (uintptr_t)0); // PP3: pairs with csched_pool_keep_
}

// Returns: this worker's kept job, or NULL. If other work waits or the worker is surplus, queues it, in the local queue
// or the inbox, and returns NULL, unless the inbox is closed.
static csched_job *claim_own_kept(csched_pool_worker *worker, csched_pool_class **chosen) {
  csched_pool *pool = worker->pool;
  uintptr_t kept = csched_pool_claim_kept_(worker);
  if (CSCHED_LIKELY(kept == 0)) return NULL;
  *chosen = csched_pool_kept_class_(pool, kept);
  bool runs_now = !worker->is_surplus && !has_other_work(worker); // Speed only: else older work is first
  bool is_added = !runs_now && !worker->is_surplus && csched_pool_add_local_(*chosen, csched_pool_kept_job_(kept));
  if (runs_now ||
      (!is_added && csched_mpsc_push(&(*chosen)->inbox, csched_pool_kept_job_(kept)) == CSCHED_PUSH_CLOSED)) {
    if (CSCHED_UNLIKELY(worker->is_searching)) found_job(worker, false); // a thread that was started in this slot
    return csched_pool_kept_job_(kept);
  }
  csched_pool_announce_(pool, 1); // F1: after the push: this worker may take another job first
  return NULL;
}

// Does: sets `worker->victim` to a worker that keeps a job, or NULL. Returns: whether to steal it now: its age is
// KEPT_AGE, or `now` is 0.
bool csched_pool_find_victim_(csched_pool_worker *worker, csched_time now) { // PP4: limits a kept job's wait
  csched_pool *pool = worker->pool;
  csched_pool_worker *each = worker->victim;
  if (now != 0 && each != NULL && csched_load_relaxed(&each->kept) != 0 &&
      csched_load_relaxed(&each->keeps) == worker->keeps_seen) // still the same job, whose age is known
    return now >= worker->kept_since + KEPT_AGE;               // Speed only: else waits for that job to age
  uint32_t used = csched_pool_slots_used_(pool);               // WK1: raised before a thread starts
  uint32_t from = each != NULL ? each->number : worker->number + worker->job_count / CHECK_INTERVAL / 2;
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
static csched_job *steal_kept(csched_pool_worker *worker, csched_pool_class **chosen) { // PP4: limits a kept job's wait
  csched_pool *pool = worker->pool;
  uintptr_t kept = worker->victim != NULL ? csched_pool_claim_kept_(worker->victim) : 0;
  worker->victim = NULL;
  if (kept == 0) return NULL;
  *chosen = csched_pool_kept_class_(pool, kept);
  found_job(worker, false);
  return csched_pool_kept_job_(kept);
}

// Returns: a job that waits for another worker: one that it keeps, or one of its local queue, if none was taken from
// there since the previous check; NULL: none found.
static csched_job *relieve_other(csched_pool_worker *worker, csched_pool_class **chosen) { // PP4
  uint32_t check = worker->job_count / CHECK_INTERVAL;
  if (check % 2 == 0) return csched_pool_find_victim_(worker, 0) ? steal_kept(worker, chosen) : NULL;
  uint32_t used = csched_pool_slots_used_(worker->pool); // WK1 in pool_worker.c
  csched_pool_worker *suspect = &worker->pool->slots[worker->suspect % used];
  bool is_stuck = csched_load_relaxed(&suspect->local.top) == worker->suspect_top; // racy read: a steal rechecks
  csched_job *job = is_stuck ? steal_from(worker, suspect, chosen) : NULL;
  for (uint32_t i = 0; i < used && job == NULL; i++) { // the next worker that has jobs
    suspect = &worker->pool->slots[++worker->suspect % used];
    if (suspect != worker && !csched_deque_is_empty_(&suspect->local)) break;
  }
  worker->suspect_top = csched_load_relaxed(&suspect->local.top); // racy read: a steal rechecks
  return job;
}

// Returns: the worker's next job: its kept job, a queued job, or a stolen job. A surplus worker only moves its kept job
// to the inbox.
csched_job *csched_pool_next_job_(csched_pool_worker *worker, csched_pool_class **chosen) {
  csched_job *job = NULL;
  if (CSCHED_UNLIKELY(++worker->job_count % CHECK_INTERVAL == 0) && !worker->is_surplus)
    job = relieve_other(worker, chosen); // PP4: jobs may wait behind an endless one, while no worker is free to search
  if (CSCHED_UNLIKELY(worker->pool->lane_count > 0) && job == NULL && !worker->is_surplus) fetch(worker);
  if (job == NULL) job = claim_own_kept(worker, chosen);
  if (CSCHED_UNLIKELY(worker->is_surplus)) return job;
  if (job == NULL) job = take_local(worker, chosen);
  if (job == NULL && CSCHED_UNLIKELY(others_come_first(worker))) job = steal_local(worker, chosen);
  if (job == NULL) job = dequeue(worker, chosen);
  if (job == NULL) job = steal_local(worker, chosen);
  if (job == NULL) job = steal_kept(worker, chosen); // the victim that the search has found
  return job;
}
