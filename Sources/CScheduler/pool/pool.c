// A pool of worker threads: accepts jobs at four priorities, and ends in two phases after a stop.
//
// States
//   closing    0: open; 1 + the strictest policy of all stops; ORPHANED: in a child of fork. The value only grows
//   is_closed  whether the monitor has closed the inboxes
//   over       futex: 0; 1 when the final worker has left
// Invariants
//   X1  After stop has returned, no submission is accepted. An accepted job is run or dropped. The monitor may deliver
//       until its loop has ended; then it closes the inboxes. A push then fails, or a worker dequeues the job before
//       the final worker leaves.
//   X2  A stopped pool ends. The monitor closes the inboxes after its last delivery, and wakes all workers. A worker
//       leaves when the inboxes are closed, and no job waits in any queue of the pool.
//   X3  join returns when all threads of the pool have ended. Its caller sees what the stopper wrote, even if it began
//       to wait before the stop. Each thread is joined once, however many callers wait.
//   X4  A create that fails leaves no thread and no memory behind.
//   X5  In a child of fork, the pool accepts no job and no wait: either stops the process. A stop or a destroy does
//       nothing.
//   X6  A pool that was stopped to run its work accepts the jobs of queues and limits that continue with accepted work:
//       from its own workers, which check for work again before they leave; from other threads until the first worker
//       leaves (`is_done`). Later, such a thread runs the job.
// Orderings
//   closing: release, pairs with the acquire of workers and submitters, carries the stopper's writes is_done: release,
//   pairs with the acquire of a thread that then runs the job, carries what the pool's workers did is_closed: relaxed;
//   stored under `pick`, which carries the pushes to workers that then check for work over: release, pairs with join's
//   acquire, carries everything that the final worker has seen, including the stopper's writes
// Assumes: pool_idle.c for sleeping and waking; the caller keeps the pool valid during the call.
// Source: the usual shutdown of a thread pool in two phases: first the producers inside the pool end, then the queues.
// Models: checks/pool_end.c. Not modelled: X5.

#include "pool_internal.h"

#include "../base/dump_slots.h"
#include "../base/panic.h"
#include "../job/job_internal.h"
#include "../job/frames_internal.h"
#include "../job/mpsc_internal.h"
#include "../job/observed.h"
#include "../loop/loop_internal.h"
#include "../targets/target_internal.h"
#include "../time/timer_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t ORPHANED = UINT32_MAX;
enum { SPARE_THREADS = 64, MOST_THREADS = 16384 }; // default of extra threads, to replace blocked workers; maximum

enum { LANES_FROM = 4, WORKERS_OF_LANE = 2, MOST_LANES = 16 }; // a pool of fewer than 4 workers has no lanes

// MARK: submitting

// Does: drops `job`, which the pool does not accept. Returns: ECANCELED.
static int refuse(csched_mpsc *inbox, csched_job *job) {
  (void)csched_mpsc_is_closed(inbox); // X1: acquires the stopper's writes, if the inbox is closed
  csched_target_discard(job);
  return ECANCELED;
}

bool csched_pool_is_closing_(const csched_pool *pool) {
  return csched_load_acquire(&pool->closing) != 0; // X1: pairs with stop's release; carries the stopper's writes
}
bool csched_pool_is_dropping_(const csched_pool *pool) {
  return csched_load_acquire(&pool->closing) == 1 + CSCHED_STOP_DROP; // X1: pairs with stop's release: 1 + policy
}
bool csched_pool_is_orphaned(const csched_pool *pool) {
  return csched_load_relaxed(&pool->closing) == ORPHANED; // X5: pool_at_fork has stored it before fork returned
}

static void require_not_orphaned(const csched_pool *pool, const char *function) {
  if (CSCHED_UNLIKELY(csched_pool_is_orphaned(pool))) csched_target_panic_orphaned_(&pool->classes[0].target, function);
}

// Returns: whether the pool refuses a submission from this thread. A stopped pool accepts jobs from its monitor only,
// whose loop delivers until it ends.
static bool is_refusing(csched_pool *pool) {
  return CSCHED_UNLIKELY(csched_pool_is_closing_(pool)) && !csched_pool_is_monitor_(pool);
}

// Does: after the stop, accepts `job`, which continues with accepted work. Returns: false: this thread is not the
// pool's, and the pool's workers leave.
static CSCHED_NOINLINE bool accept_late(csched_pool_class *class, csched_job *job) {
  csched_pool *pool = class->pool;
  (void)csched_mpsc_is_closed(&class->inbox); // X1: acquires the stopper's writes, if the inbox is closed
  if (csched_load_acquire(&pool->closing) != 1 + CSCHED_STOP_RUN) return false; // X1: pairs with stop
  bool is_own = csched_pool_worker_here_ != NULL && csched_pool_worker_here_->pool == pool;
  csched_lock_lock(&pool->pick);
  bool accepts =
      is_own || csched_load_relaxed(&pool->is_done) == 0; // X6: this worker, or one that has not left, runs it
  if (accepts && csched_mpsc_push(&class->inbox, job) == CSCHED_PUSH_CLOSED) csched_mpsc_push_late(&class->inbox, job);
  csched_lock_unlock(&pool->pick);
  if (accepts) csched_pool_announce_(pool, 1);
  return accepts;
}

// Does: keeps `job` for this worker's next run, or adds it to a local queue, a lane or its priority's inbox; wakes a
// worker. Returns: 0; ECANCELED after dropping the job.
static int deliver_to_pool(csched_target *target, csched_job *job) {
  csched_pool_class *class = (csched_pool_class *)target;
  csched_pool *pool = class->pool;
  if (CSCHED_UNLIKELY(is_refusing(pool)))
    return csched_job_continues_(job) && accept_late(class, job) ? 0 : refuse(&class->inbox, job);
  if (csched_pool_keep_(class, job)) {                             // pool_pick.c PP3: this worker runs it next
    if (CSCHED_UNLIKELY(csched_pool_keeps_follow_up_())) return 0; // PP5: runs here, without a wake
  } else if (!csched_pool_add_local_(class, job)) {                // PP6: this worker or a thief runs the job
    csched_mpsc *inbox = csched_pool_inbox_(class);                // PP7
    if (CSCHED_UNLIKELY(csched_mpsc_push(inbox, job) == CSCHED_PUSH_CLOSED)) // X1: the inbox is closed
      return csched_job_continues_(job) && accept_late(class, job) ? 0 : refuse(inbox, job);
  }
  csched_pool_announce_(pool, 1); // pool_idle.c F1: also for a kept job, which an idle worker may steal
  return 0;
}

// Does: gives `timer` to the monitor. Returns: 0; ECANCELED after dropping the timer. A stopped pool refuses timers
// even from its monitor.
static int deliver_to_pool_at(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway) {
  csched_pool_class *class = (csched_pool_class *)target;
  if (CSCHED_UNLIKELY(csched_pool_is_closing_(class->pool))) return refuse(&class->inbox, &timer->job);
  return csched_pool_add_timer_(class->pool, timer, deadline, leeway);
}

static bool is_pool_closed(const csched_target *target) { // X1: a stopped pool accepts no submission
  return csched_pool_is_closing_(((const csched_pool_class *)target)->pool);
}
// The `enter` of a pool. Returns: whether the calling thread may run the pool's work inline: always if the pool is
// open.
static bool may_run_anywhere(csched_target *target) { return !is_pool_closed(target); }
// Does: begins (`change` 1) or ends (-1) a donation of `priority` to the class of `target`. Returns: false, without a
// donation, so that none must be ended, if the class has this priority or a higher one (a lower number). Requires: the
// pool stays valid until the donation has ended.
static bool donate(csched_target *target, int priority, int change) { // PP2: priority donation
  csched_pool_class *class = (csched_pool_class *)target;
  if (priority >= class - class->pool->classes) return false;         // a class's index is its priority
  csched_fetch_add_relaxed(&class->lent[priority], (uint32_t)change); // Speed only: a late value costs only time
  return true;
}

// The `may_help_` of a pool. Returns: whether a thread that waits for a queue on the pool may run work that the pool
// has accepted.
static bool may_be_helped(const csched_target *target) {
  uint32_t closing = csched_load_acquire(&((const csched_pool_class *)target)->pool->closing); // X1: pairs with stop
  return closing != 1 + CSCHED_STOP_DROP && closing != ORPHANED;
}

// The `rest_` of a pool. Returns: CSCHED_REST_RUNS: the workers leave, and this thread, which is not one of them, may
// run the remaining work.
static unsigned rest_of_pool(const csched_target *target) {
  const csched_pool *pool = ((const csched_pool_class *)target)->pool;
  bool is_own = csched_pool_worker_here_ != NULL && csched_pool_worker_here_->pool == pool;
  return csched_load_relaxed(&pool->closing) == 1 + CSCHED_STOP_RUN && // X1: `is_done` carries the stopper's writes
                 !is_own && csched_load_acquire(&pool->is_done) != 0   // X6: pairs with csched_pool_may_leave_
             ? CSCHED_REST_RUNS
             : 0;
}

static void add_seen(csched_mpsc_seen *seen, csched_mpsc_seen lane) {
  seen->pending += lane.pending;
  seen->is_exact &= lane.is_exact;
  if (seen->first_job == NULL) seen->first_job = lane.first_job;
}

static void describe_pool(const csched_target *target, csched_text *text) { // adds the pool's line of a dump
  static const char *const names[CSCHED_PRIORITIES] = {"high", "default", "low", "background"};
  const csched_pool *pool = ((const csched_pool_class *)target)->pool;
  csched_text_target_(text, "pool", pool, pool->name);
  if (text->is_name_only) return;
  csched_text_add_(text, csched_pool_is_closing_(pool) ? ": stopped, " : ": ");
  csched_text_number_(text, csched_pool_thread_count(pool));
  csched_text_add_(text, " threads, ");
  csched_text_number_(text, pool->workers);
  csched_text_add_(text, " run at a time");
  for (int i = 0; i < CSCHED_PRIORITIES; i++) {
    const csched_pool_class *class = &pool->classes[i];
    csched_text_add_(text, "; ");
    csched_text_target_(text, names[i], class, "");
    csched_mpsc_seen seen = csched_mpsc_inspect_(&class->inbox, CSCHED_DUMP_PENDING);
    for (size_t lane = 0; i == CSCHED_PRIORITY_DEFAULT && lane < pool->lane_count; lane++)
      add_seen(&seen, csched_mpsc_inspect_(&pool->lanes[lane].inbox, CSCHED_DUMP_PENDING));
    seen.pending += csched_pool_count_local_(class); // in no inbox
    csched_text_pending_(text, ": ", seen);
  }
  csched_timers *timers = csched_pool_timers_(pool); // the delayed jobs of all priorities
  if (timers == NULL) return;
  csched_time first = csched_load_relaxed(&timers->first); // racy read, for dumps
  csched_text_delayed_(text, csched_timers_count_(timers, true), first, csched_now());
}

static const csched_target_type pool_type = {.deliver = deliver_to_pool,
                                             .deliver_at = deliver_to_pool_at,
                                             .enter = may_run_anywhere,
                                             .donate_ = donate,
                                             .follow_up_ = csched_pool_follow_up_,
                                             .is_closed = is_pool_closed,
                                             .describe_ = describe_pool,
                                             .may_help_ = may_be_helped,
                                             .rest_ = rest_of_pool,
                                             .only_enqueues_ = true};

static CSCHED_NOINLINE CSCHED_NORETURN void panic_priority(csched_priority priority, const char *function) {
  csched_panic_(function, "%d is no priority. Name one of csched_priority.", (int)priority);
}

// Returns: the class of `priority`. Stops the process, with a message that names `function`, if there is no such
// priority.
static csched_pool_class *class_of(csched_pool *pool, csched_priority priority, const char *function) {
  if (CSCHED_UNLIKELY((unsigned)priority >= CSCHED_PRIORITIES)) panic_priority(priority, function);
  return &pool->classes[priority];
}

csched_target *csched_pool_target(csched_pool *pool, csched_priority priority) {
  return &class_of(pool, priority, "csched_pool_target")->target;
}

// Does: as donate, to the root of the chain of bases of `target`, if the root is a pool's target. Returns: as donate;
// false for other roots.
static bool donate_at_root(csched_target *target, csched_priority priority, int change) {
  csched_target *root = csched_target_root_(target);
  return root->type->donate_ != NULL && root->type->donate_(root, (int)priority, change);
}

// The public functions that begin (lend) and end (take_back) a donation. If lend has returned false, take_back must not
// be called.
bool csched_target_lend(csched_target *target, csched_priority priority) {
  if (CSCHED_UNLIKELY((unsigned)priority >= CSCHED_PRIORITIES)) panic_priority(priority, "csched_target_lend");
  return donate_at_root(target, priority, 1);
}
void csched_target_take_back(csched_target *target, csched_priority priority) { donate_at_root(target, priority, -1); }

// Does: submits `jobs` to one priority, all or none, the first as the oldest. Returns: 0; ECANCELED after dropping all.
int csched_pool_submit_batch(csched_pool *pool, csched_priority priority, csched_job *const *jobs, size_t count) {
  csched_mpsc *inbox = &class_of(pool, priority, "csched_pool_submit_batch")->inbox;
  require_not_orphaned(pool, "csched_pool_submit_batch");
  if (count == 0) return 0;
  for (size_t i = 0; i < count; i++) csched_job_submitted_(jobs[i], "csched_pool_submit_batch");
  for (size_t i = 1; i < count; i++) jobs[i]->next = jobs[i - 1]; // csched_mpsc_push_list requires links to older jobs
  if (is_refusing(pool) ||
      csched_mpsc_push_list(inbox, jobs[count - 1], jobs[0]) == CSCHED_PUSH_CLOSED) { // X1: refuses the batch
    for (size_t i = 0; i < count; i++) refuse(inbox, jobs[i]);
    return ECANCELED;
  }
  csched_pool_announce_(pool, count);
  return 0;
}

// MARK: stop, join, destroy

void csched_pool_stop(csched_pool *pool, csched_stop_policy policy) {
  // `closing`: 0: open; 1: CSCHED_STOP_RUN; 2: CSCHED_STOP_DROP; ORPHANED. It only grows: DROP replaces RUN.
  csched_require_policy_(policy, "csched_pool_stop");
  if (csched_pool_is_orphaned(pool)) return; // X5: the pool's threads are the parent's
  uint32_t wanted = 1 + (uint32_t)policy, seen = csched_load_relaxed(&pool->closing); // racy read, rechecked by the cas
  while (seen < wanted && !csched_cas_release(&pool->closing, &seen, wanted)) {} // X1: csched_pool_is_closing_ acquires
  csched_pool_close_monitor_(pool, policy); // X1, X2: the monitor accepts no timer from here on, and closes the inboxes
}

bool csched_pool_must_end_(csched_pool *pool) {
  return CSCHED_UNLIKELY(csched_pool_is_closing_(pool)) &&
         csched_load_relaxed(&pool->is_closed) != 0; // X2: the caller checks for work under `pick`
}

void csched_pool_close_inboxes_(csched_pool *pool) {
  csched_lock_lock(&pool->pick);
  for (int i = 0; i < CSCHED_CLASSES; i++) csched_mpsc_close(&pool->classes[i].inbox); // X1: later pushes fail
  for (size_t i = 0; i < pool->lane_count; i++) csched_mpsc_close(&pool->lanes[i].inbox);
  csched_store_relaxed(&pool->is_closed, 1u); // X2: a reader of 1 locks `pick` next, and so sees all pushes
  csched_lock_unlock(&pool->pick);
  csched_pool_wake_all_(pool); // X2: the woken workers run or drop the queued jobs, and leave
}

bool csched_pool_may_leave_(csched_pool *pool) {
  csched_lock_lock(&pool->pick);
  bool is_done =
      !csched_pool_is_queued_locked_(pool) && !csched_pool_has_local_(pool); // X1, X2: the inboxes are closed
  if (is_done)
    csched_store_release(&pool->is_done, 1u); // X6: from here on only workers that still run jobs add to them
  csched_lock_unlock(&pool->pick);
  return is_done;
}

void csched_pool_wake_joiners_(csched_pool *pool) {
  csched_pool_end_monitor_(pool);
  csched_store_release(&pool->over, 1u); // X3: pairs with csched_pool_join; carries the stopper's writes
  csched_futex_wake_(&pool->over, INT32_MAX);
}

// Returns: whether the calling thread is a worker or the monitor of `pool`, so that a join would never return.
static bool is_own_thread(csched_pool *pool) {
  csched_pool_worker *worker = csched_pool_worker_here_;
  return (worker != NULL && worker->pool == pool) || csched_pool_is_monitor_(pool);
}

int csched_pool_join(csched_pool *pool) { // returns: 0; EDEADLK: on a thread of the pool, which cannot wait for itself
  require_not_orphaned(pool, "csched_pool_join");
  if (is_own_thread(pool)) return EDEADLK;
  csched_blocked_begin_("csched_pool_join", &pool->classes[0].target); // for dumps and the watchdog
  while (csched_load_acquire(&pool->over) == 0)                        // X3: pairs with csched_pool_wake_joiners_
    csched_futex_wait_(&pool->over, 0, CSCHED_FOREVER);
  csched_lock_lock(&pool->join_lock); // X3: one caller joins the threads; other callers wait for it here
  if (!pool->is_joined) {
    csched_pool_join_workers_(pool);
    csched_pool_join_monitor_(pool);
  }
  pool->is_joined = true;
  csched_lock_unlock(&pool->join_lock);
  csched_blocked_end_();
  return 0;
}

void csched_pool_destroy(csched_pool *pool) { // stops the pool, waits for its threads, and frees it
  if (csched_pool_is_orphaned(pool)) return;  // X5: not freed: the copy may be inconsistent
  if (is_own_thread(pool))
    csched_panic_("csched_pool_destroy",
                  "pool %p cannot be destroyed by a thread of its own. Stop it here, destroy it elsewhere.",
                  (void *)pool);
  csched_pool_stop(pool, CSCHED_STOP_RUN);
  csched_pool_join(pool);
  csched_os_atfork_end_(&pool->atfork); // before the monitor is freed: dumps read its timers
  csched_pool_free_monitor_(pool);      // waits for a delivery in progress, whose target may be this pool
  for (int i = 0; i < CSCHED_CLASSES; i++) csched_observe_gone_(&pool->classes[i].target);
  free(pool);
}

// MARK: atfork

void csched_pool_panic_worker_(const csched_pool *pool) {
  csched_panic_("fork",
                "a job of pool %p forked, and returns in the child, which has no workers. End the child inside of the "
                "job: by _exit, or by exec.",
                (const void *)pool);
}

// The atfork handler: orphans the pool in the child, where the pool has no threads. A worker that forked stops being a
// worker, but its job can run to its end. The handler locks nothing: a thread of the parent may have held the lock.
static void pool_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // X5: orphaned in the child
  csched_pool *pool = (csched_pool *)((char *)atfork - offsetof(csched_pool, atfork));
  if (phase != CSCHED_ATFORK_IN_CHILD) return;
  csched_pool_leave_in_child_(pool);              // ends this thread's role as a worker, if it was one
  csched_store_relaxed(&pool->closing, ORPHANED); // X5: relaxed, the child has one thread
  for (int i = 0; i < CSCHED_CLASSES; i++) {
    csched_mpsc_close(&pool->classes[i].inbox);              // a push that has passed the check fails
    pool->classes[i].target.type = &csched_target_orphaned_; // a submission stops the process
  }
  for (size_t i = 0; i < pool->lane_count; i++) csched_mpsc_close(&pool->lanes[i].inbox);
}

csched_timers *csched_pool_timers_seen_(const csched_target *target) { // returns: NULL: not a pool's target
  return target->type == &pool_type ? csched_pool_timers_(((const csched_pool_class *)target)->pool) : NULL;
}

const csched_target *csched_pool_of_atfork_(const csched_atfork *atfork) { // returns: NULL: not a pool's entry
  return atfork->handler == pool_at_fork
             ? &((const csched_pool *)((const char *)atfork - offsetof(csched_pool, atfork)))->classes[0].target
             : NULL;
}

// MARK: create

// Does: initialises `pool`, but not its slots: so a pool takes no memory for threads that it never starts. `workers`:
// how many run at once; `most`: the number of threads. `slots`: the number of slots, at least `most`. `lanes`: the
// number of lanes (pool_pick.c, PP7).
static void init_pool(csched_pool *pool, const csched_pool_options *options, size_t workers, size_t most, size_t slots,
                      size_t lanes) {
  static const int nice_of[CSCHED_CLASSES] = {0, 0, 5, 10, 0, 0}; // four priorities, deliveries, discards
  memset(pool, 0, sizeof *pool);
  pool->workers = workers;
  pool->most_threads = most;
  pool->slot_count = slots;
  pool->stack_size = options->stack_size;
  pool->idle_exit = options->idle_exit != 0 ? options->idle_exit : 10000000000; // 10 s
  if (pool->idle_exit > INT64_MAX) pool->idle_exit = INT64_MAX;                 // csched_time_after takes an int64_t
  pool->spin_for = csched_may_spin_() && (options->workers != 0 || workers > 1) ? 25000 : 0; // ns; 0: no spins
  pool->had_nice = csched_os_thread_has_nice_(&pool->base_nice);
  pool->has_nice = pool->had_nice;
  pool->may_report_cap = most > workers; // else the cap was chosen: no message
  if (options->name != NULL) strncat(pool->name, options->name, sizeof pool->name - 1); // may cut a UTF-8 character
  TAILQ_INIT(&pool->idle);
  csched_pool_init_delivery_(pool);
  for (int i = 0; i < CSCHED_CLASSES; i++) {
    csched_pool_class *class = &pool->classes[i];
    class->target.type = &pool_type;
    class->pool = pool;
    class->nice = nice_of[i];
    csched_mpsc_init(&class->inbox);
  }
  pool->lanes = (csched_pool_lane *)&pool->slots[slots];
  pool->lane_count = lanes;
  for (size_t i = 0; i < lanes; i++) pool->lanes[i] = (csched_pool_lane){0};
}

int csched_pool_create(csched_pool **result, const csched_pool_options *options) { // returns: 0 or an errno value
  static const csched_pool_options none;
  if (options == NULL) options = &none;
  size_t workers = options->workers != 0 ? options->workers : csched_cpu_count_();
  if (workers > MOST_THREADS) workers = MOST_THREADS;
  size_t most = options->most_threads != 0 ? options->most_threads : workers + SPARE_THREADS;
  if (most > MOST_THREADS) most = MOST_THREADS;
  if (workers > most) workers = most;
  size_t slots = options->most_threads != 0 ? most : MOST_THREADS;     // pool_monitor.c MN9: a standstill lifts it
  size_t lanes = workers < LANES_FROM ? 0 : workers / WORKERS_OF_LANE; // PP7
  if (lanes > MOST_LANES) lanes = MOST_LANES;
  csched_pool *pool = aligned_alloc(_Alignof(csched_pool), sizeof *pool + slots * sizeof(csched_pool_worker) +
                                                               lanes * sizeof(csched_pool_lane));
  if (pool == NULL) return ENOMEM;
  init_pool(pool, options, workers, most, slots, lanes);
  int error = csched_pool_start_monitor_(pool);
  if (error == 0 && (error = csched_pool_start_first_(pool)) == 0) {
    csched_os_atfork_(&pool->atfork, pool_at_fork); // from here on dumps list the pool, and a fork orphans it
    *result = pool;
    return 0;
  }
  if (pool->monitor != NULL) { // X4: a failed create leaves no thread
    csched_pool_close_monitor_(pool, CSCHED_STOP_DROP);
    csched_pool_end_monitor_(pool);
    csched_pool_join_monitor_(pool);
    csched_pool_free_monitor_(pool);
  }
  free(pool); // X4: nor memory
  return error;
}

size_t csched_pool_worker_count(const csched_pool *pool) { return pool->workers; }

bool csched_pool_has_nice(const csched_pool *pool) {
  return csched_load_relaxed(&pool->has_nice) != 0; // racy read: the value orders nothing
}
