// 300 lines and more: what is picked, at which nice value it runs, and the thread that does it are one life.
// States
//   life       of a slot: VACANT; LIVE, its thread runs; ENDED, its thread is still to be joined; under `slots_lock`
//   passed     of a priority: how often a higher one was picked while it had work; under `pick`
//   kept       of a worker: 0, or a job that one of its own has submitted, with the number of its class in the lowest bits
//   more, id   read racily: whether the consumer's half of an inbox has any; a slot's thread, 0 while that starts
//
// Obligations
//   C1  Each job is picked once, the oldest of its priority: the inboxes' consumer is whoever holds `pick`. The highest priority
//       comes first, but one that is lower by n steps is passed over 8 << n times at the most. What workers do for the monitor comes
//       before all of them (pool_monitor.c).
//   C2  A thief that looks at all slots up to `slots_used` misses none that can have forked: it is raised before the thread starts.
//   C3  Each thread is let go of once: it detaches itself when it leaves an open pool; it is joined by the next one in its slot, or by
//       the pool's join, when that is closing. A slot is taken by one thread at a time.
//   C4  A worker whose job ends the thread (pthread_exit) is replaced; when the system has no thread to give, it goes on
//       working at its end. It leaves all counts. The job has ended (job.c, J7), and forked ones that it
//       ran for others are done.
//   C5  A pool that was orphaned by fork stops whoever uses it. A worker that forked can run its job, but not return from it.
//   C6  A nice value is raised only where that can be taken back at that moment, and by nobody once it could not. A worker that finds
//       that it cannot come back, because the process has given up the right meanwhile, works on while there is work; whoever wakes it
//       next starts a thread that takes its place.
//   C7  Donation: a priority with a queue for which a thread of a higher one waits is passed over once at a time at the most, by what is not
//       above that thread, while it waits, and its jobs begin at the nice value of the highest. Who sleeps for a lock has its owner lifted to
//       that, until it comes to its next job (lock.c).
//   C8  A job that a worker's job submits to its own priority while nothing else waits is kept by that worker, until it comes to its next job: so
//       a chain of jobs, each of which submits the next, stays on one thread. Whoever takes it out, the worker or another, has it alone. A look
//       after a fence misses none (pool_idle.c, F1): it is kept before its submitter's fence. Once anything else waits it is queued behind that.
//   C9  What is kept does not wait for a worker whose job goes on, while another is free: who searches takes it when the same one has been kept
//       for AGE, or at once where nobody spins; and each worker looks at what the others keep once in LOOK jobs.
//   C10  A follow-up is kept without a wake. Its worker runs it behind the job that has submitted it, before any other: a queue ends its batch for
//        that (serial.c, S4). A worker that blocks meanwhile, or whose job ends the thread, leaves it to another, as whatever is kept.
// Orderings
//   slots_used: relaxed, ordered by the thread's start and by F1's fences · kept: →job release, pairs with the acquire of whoever takes it, carries
//   the job
// Assumes: pool_idle.c says who runs and who sleeps; a job that ends its thread has waited for its forks (pool.h).
// Source: aging by counting is that of many schedulers of disks and processes.
// Checked by: "a higher priority runs first", "a lower priority is not starved", "a thread that waits for a queue lends it its priority", "who waits in another way lends by request",
//   "every job runs once, whoever submits", "what a worker keeps for its next job runs though the one that it has goes on",
//   "a follow-up runs on its worker behind its job, outside of its queue", "a follow-up runs though its job does not return",
//   "a follow-up is dropped by a stop that drops",
//   "idle workers leave, all but one", "pthread_exit inside a job does not cost the pool a worker",
//   "a job that ends its thread has ended", "a forked job that ends its thread is waited for no longer", "after fork a pool of the parent
//   stops the process", "a worker's job that forks cannot return in the child", "a pool made as root keeps its nice values when root is given up".
// Models: checks/pool.c. Not modelled: C5, C6.

#include "pool_internal.h"

#include "levels_internal.h"
#include "target_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { VACANT = 0, LIVE = 1, ENDED = 2 };
enum { LOOK = 64 };                  // jobs
static const csched_time AGE = 3000; // ns: longer than jobs need that only submit the next
enum { PATIENCE = 16 };              // how often the next lower priority is passed over, at the most

CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_pool_worker *csched_pool_worker_here_;

bool csched_pool_leave_in_child_(csched_pool *pool) {
  csched_pool_worker *worker = csched_pool_worker_here_;
  if (worker == NULL || worker->pool != pool) return false;
  csched_pool_orphan_worker_(worker); // so that it is seen when its job returns
  csched_pool_worker_here_ = NULL;
  return true;
}

// MARK: picking

bool csched_pool_is_queued_locked_(csched_pool *pool) {
  for (int i = 0; i < CSCHED_CLASSES; i++)
    if (!csched_mpsc_is_empty(&pool->classes[i].inbox)) return true;
  return false;
}

static csched_job *pop_locked(csched_pool_worker *worker, csched_pool_class *class) {
  bool is_carried = class == &worker->pool->classes[CSCHED_CARRIED];
  csched_job *job;
  do job = csched_mpsc_pop(&class->inbox);
  while (is_carried && job != NULL && !csched_pool_begin_carrying_locked_(worker, job));
  csched_store_relaxed(&class->more, (uint32_t)(class->inbox.first != NULL)); // racy write, rechecked under `pick`
  return job;
}

csched_priority csched_pool_priority_here_(void) {
  const csched_pool_worker *worker = csched_pool_worker_here_;
  if (worker == NULL || worker->class == NULL) return CSCHED_PRIORITY_HIGH;
  return (csched_priority)(worker->class - worker->pool->classes);
}

// Whether a thread waits for it that `best` is not above.
static bool is_waited_for(const csched_pool_class *class, const csched_pool_class *best) { // C7
  for (long i = 0; i < CSCHED_PRIORITIES && i <= best - class->pool->classes; i++)
    if (csched_load_relaxed(&class->lent[i]) != 0) return true; // Speed only
  return false;
}

// The highest priority that has work, the monitor's first; a lower one that was passed over often enough comes before.
static csched_pool_class *choose_locked(csched_pool *pool) { // C1
  csched_pool_class *best = NULL;
  unsigned patience = PATIENCE;
  for (int i = 0; i < CSCHED_CLASSES; i++) {
    csched_pool_class *class = &pool->classes[(i + CSCHED_PRIORITIES) % CSCHED_CLASSES];
    if (csched_mpsc_is_empty(&class->inbox)) class->passed = 0;
    else if (best == NULL) best = class;
    else if (++class->passed > (CSCHED_UNLIKELY(is_waited_for(class, best)) ? 1 : patience)) return class;
    if (best != NULL && best != class) patience *= 2;
  }
  return best;
}

static csched_job *pick(csched_pool_worker *worker, csched_pool_class **chosen) {
  csched_pool *pool = worker->pool;
  if (!csched_pool_may_have_work_(pool)) return NULL; // rechecked before a sleep
  csched_lock_lock(&pool->pick);                      // C1
  csched_pool_class *class;
  csched_job *job = NULL;
  while (job == NULL && (class = choose_locked(pool)) != NULL) job = pop_locked(worker, class);
  bool is_last = false, more = false;
  if (job != NULL) {
    class->passed = 0;
    is_last = csched_pool_stop_search_(worker);
    more = is_last && csched_pool_is_queued_locked_(pool);
  }
  csched_lock_unlock(&pool->pick);
  if (more || (is_last && (csched_pool_is_forked_(pool) || csched_pool_is_kept_(pool))))
    csched_pool_wake_(pool, false); // F2
  *chosen = class;
  return job;
}

// MARK: keeping

static csched_job *job_of(uintptr_t kept) { return (csched_job *)(kept & ~(uintptr_t)CSCHED_CLASS_BITS); }
static csched_pool_class *class_of(csched_pool *pool, uintptr_t kept) {
  return &pool->classes[kept & CSCHED_CLASS_BITS];
}

bool csched_pool_keep_(csched_pool_class *class, csched_job *job) {
  csched_pool_worker *worker = csched_pool_worker_here_;
  if (worker == NULL || worker->class != class) return false; // on another thread, or not in a job of it
  if (csched_load_relaxed(&worker->kept) != 0 || csched_pool_may_have_work_(class->pool))
    return false;                                          // racy read: no other thread makes it anything but 0
  csched_store_relaxed(&worker->keeps, worker->keeps + 1); // Speed only
  csched_store_release(&worker->kept,
                       (uintptr_t)job | (uintptr_t)(class - class->pool->classes)); // C8: pairs with take
  return true;
}

uint32_t *csched_pool_follow_up_(const csched_target *target) { // C10
  csched_pool_worker *worker = csched_pool_worker_here_;
  bool is_in_job = worker != NULL && worker->class != NULL && &worker->class->target == target;
  return is_in_job ? &worker->follow_up : NULL;
}

bool csched_pool_is_kept_(csched_pool *pool) {
  uint32_t used = csched_load_relaxed(&pool->slots_used); // C2
  for (uint32_t i = 0; i < used; i++)
    if (csched_load_relaxed(&pool->slots[i].kept) != 0) return true; // C8: after the fence of who must not miss it
  return false;
}

size_t csched_pool_kept_of_(const csched_pool_class *class) {
  csched_pool *pool = class->pool;
  size_t found = 0;
  uint32_t used = csched_load_relaxed(&pool->slots_used); // racy read, for dumps
  for (uint32_t i = 0; i < used; i++) {
    uintptr_t kept = csched_load_relaxed(&pool->slots[i].kept); // racy read, for dumps
    found += kept != 0 && class_of(pool, kept) == class;
  }
  return found;
}

// Returns: what `from` keeps, which nobody else has now; 0: nothing.
static uintptr_t take(csched_pool_worker *from) {
  if (csched_load_relaxed(&from->kept) == 0) return 0;       // racy read, rechecked by the exchange
  return csched_exchange_acquire(&from->kept, (uintptr_t)0); // C8: pairs with keep
}

// What this worker keeps, unless other work waits: then that takes its turn in the inbox.
static csched_job *take_own(csched_pool_worker *worker, csched_pool_class **chosen) {
  csched_pool *pool = worker->pool;
  uintptr_t kept = take(worker);
  if (CSCHED_LIKELY(kept == 0)) return NULL;
  *chosen = class_of(pool, kept);
  bool goes_on = !worker->is_surplus && !csched_pool_may_have_work_(pool); // Speed only
  if (goes_on || csched_mpsc_push(&(*chosen)->inbox, job_of(kept)) == CSCHED_PUSH_CLOSED) return job_of(kept);
  csched_pool_announce_(pool, 1); // F1
  return NULL;
}

bool csched_pool_find_victim_(csched_pool_worker *worker, csched_time now) { // C9
  csched_pool *pool = worker->pool;
  csched_pool_worker *each = worker->victim;
  if (now != 0 && each != NULL && csched_load_relaxed(&each->kept) != 0 &&
      csched_load_relaxed(&each->keeps) == worker->keeps_seen)
    return now >= worker->kept_since + AGE;                                                 // Speed only
  uint32_t used = csched_load_relaxed(&pool->slots_used);                                   // C2
  uint32_t from = each != NULL ? each->number : worker->number + worker->since_look / LOOK; // each in turn
  worker->victim = NULL;
  for (uint32_t i = 0; i < used && worker->victim == NULL; i++) {
    each = &pool->slots[(from + i) % used];
    if (csched_load_relaxed(&each->kept) != 0) worker->victim = each; // racy read, rechecked by the exchange
  }
  if (worker->victim != NULL) worker->keeps_seen = csched_load_relaxed(&worker->victim->keeps); // Speed only
  worker->kept_since = now;
  return now == 0 && worker->victim != NULL;
}

// What another worker has kept for too long.
static csched_job *take_over_kept(csched_pool_worker *worker, csched_pool_class **chosen) { // C9
  csched_pool *pool = worker->pool;
  uintptr_t kept = worker->victim != NULL ? take(worker->victim) : 0;
  worker->victim = NULL;
  if (kept == 0) return NULL;
  *chosen = class_of(pool, kept);
  if (csched_pool_stop_search_(worker) && csched_pool_has_work_(pool)) csched_pool_wake_(pool, false); // F2
  return job_of(kept);
}

// Now and then a busy worker looks, too: or what is kept by one whose job does not end would wait while there is other work. One that is surplus
// only lets go of what it keeps.
static csched_job *next(csched_pool_worker *worker, csched_pool_class **chosen) {
  csched_job *job = NULL;
  if (CSCHED_UNLIKELY(++worker->since_look % LOOK == 0) && !worker->is_surplus && csched_pool_find_victim_(worker, 0))
    job = take_over_kept(worker, chosen); // C9
  if (job == NULL) job = take_own(worker, chosen);
  if (job == NULL && !worker->is_surplus) job = pick(worker, chosen);
  if (job == NULL && !worker->is_surplus) job = take_over_kept(worker, chosen);
  return job;
}

// MARK: running

static bool is_at(const csched_pool_worker *worker, int nice) {
  return worker->nice == nice &&
         (nice == 0 || !csched_os_thread_is_lifted_(csched_load_relaxed(&worker->id))); // C7; racy read: its own
}

static void set_nice(csched_pool_worker *worker, int nice) { // C6
  csched_pool *pool = worker->pool;
  if (CSCHED_LIKELY(is_at(worker, nice))) return;
  if (nice > worker->nice && csched_load_relaxed(&pool->has_nice) == 0) return; // racy read, rechecked by the system
  bool is_set = csched_os_thread_set_nice_(pool->base_nice + nice, pool->base_nice);
  csched_store_relaxed(&worker->is_stuck,
                       (uint32_t)(!is_set && nice < worker->nice)); // racy write: before it comes into `idle`
  if (is_set) worker->nice = nice;
  else csched_store_relaxed(&pool->has_nice, 0u); // racy write: the same value by all
}

bool csched_pool_keeps_follow_up_(void) { // C10
  csched_pool_worker *worker = csched_pool_worker_here_;
  if (CSCHED_LIKELY(worker->follow_up != CSCHED_FOLLOW_UP_COMES)) return false;
  worker->follow_up = CSCHED_FOLLOW_UP_KEPT;
  return true;
}

// It is done before what else the worker may find, because it is a part of the job before.
static CSCHED_NOINLINE void perform_follow_up(csched_pool_worker *worker) { // C10
  worker->follow_up = CSCHED_FOLLOW_UP_NONE;
  uintptr_t kept = take(worker);
  if (kept == 0) return; // C9
  if (CSCHED_UNLIKELY(csched_pool_is_dropping_(worker->pool))) csched_target_discard(job_of(kept));
  else csched_job_perform_on_(job_of(kept), &class_of(worker->pool, kept)->target);
}

void csched_pool_perform_(csched_pool_worker *worker, csched_pool_class *class, csched_job *job) {
  csched_pool_class *outer = worker->class;
  worker->class = class;
  set_nice(worker, class->nice == 0 || is_waited_for(class, class - 1) ? 0 : class->nice); // C7
  csched_job_perform_on_(job, &class->target);
  if (CSCHED_UNLIKELY(worker->follow_up != CSCHED_FOLLOW_UP_NONE)) perform_follow_up(worker);
  worker->class = outer;
  if (outer != NULL) set_nice(worker, outer->nice); // helping in a wait
}

// In whatever the delivery runs at once, jobs can be forked.
static void carry(csched_pool_worker *worker, csched_job *job) {
  worker->class = &worker->pool->classes[CSCHED_PRIORITY_HIGH];
  set_nice(worker, worker->class->nice);
  csched_pool_carry_(worker, job);
  worker->class = NULL;
}

static bool run_one(csched_pool_worker *worker) {
  csched_pool_class *class;
  csched_job *job = next(worker, &class);
  if (job == NULL) return !worker->is_surplus && csched_pool_help_(worker);
  long number = class - worker->pool->classes;
  if (CSCHED_UNLIKELY(number == CSCHED_CARRIED)) carry(worker, job);
  else if (CSCHED_UNLIKELY(number == CSCHED_BINNED || csched_pool_is_dropping_(worker->pool)))
    csched_target_discard(job);
  else csched_pool_perform_(worker, class, job);
  return true;
}

static void work(void *context) {
  csched_pool_worker *worker = context;
  csched_pool *pool = worker->pool;
  while (!worker->has_left) {
    if (csched_pool_must_end_(pool)) worker->is_surplus = false;
    if ((!worker->is_surplus || csched_load_relaxed(&worker->kept) != 0) && run_one(worker)) { // racy read: its own
      csched_pool_settle_(worker);
    } else if (csched_pool_must_end_(pool)) {
      if (!csched_pool_end_(worker)) continue;
      csched_pool_leave_(worker);
      worker->has_left = true;
    } else if (worker->is_surplus || !csched_pool_search_(worker)) {
      set_nice(worker, 0);
      csched_pool_slept slept = csched_pool_sleep_(worker);
      if (CSCHED_UNLIKELY(slept == CSCHED_SLEPT_REPLACED)) { // C6: the worker is another thread now
        csched_pool_worker_here_ = NULL;
        return;
      }
      worker->has_left = slept == CSCHED_SLEPT_LEFT;
    }
  }
}

// MARK: threads

void csched_pool_name_(const csched_pool *pool, unsigned number, char name[CSCHED_POOL_NAME]) {
  char suffix[12] = "";
  if (pool->name[0] != 0) snprintf(suffix, sizeof suffix, "-%u", number);
  size_t most = CSCHED_POOL_NAME - 1 - strlen(suffix), end = strlen(pool->name);
  if (end > most)
    for (end = most; end > 0 && ((unsigned char)pool->name[end] & 0xC0) == 0x80;) end--; // not inside a UTF-8 character
  memcpy(name, pool->name, end);
  memcpy(name + end, suffix, strlen(suffix) + 1);
}

static void body(void *context) {
  csched_pool_worker *worker = context;
  csched_pool_worker_here_ = worker;
  csched_store_relaxed(&worker->id, csched_os_thread_id_()); // racy write: the monitor leaves those without one alone
  char name[CSCHED_POOL_NAME] = "";
  csched_pool_name_(worker->pool, worker->number, name);
  if (name[0] != 0) csched_os_thread_set_name_(name);
  if (worker->pool->had_nice) worker->nice = csched_os_thread_nice_() - worker->pool->base_nice; // its starter's
  work(worker);
}

static void at_end(void *context);

// pthread_exit inside a job. Another thread takes the place; when the system has none, this one goes on.
static void replace(csched_pool_worker *worker) { // C4
  csched_levels_end_thread_();
  if (worker->blocking_depth > 0) {
    worker->blocking_depth = 1;
    csched_pool_blocking_end();
  }
  csched_pool_settle_(worker);
  worker->class = NULL;
  worker->follow_up = CSCHED_FOLLOW_UP_NONE; // C10
  if (worker->carries_for != NULL) csched_pool_end_carrying_(worker);
  csched_pool_end_help_(worker);
  csched_pool_forget_forks_(worker);
  if (csched_pool_start_worker_(worker->pool, worker) != 0) csched_os_finally_(work, at_end, worker);
}

static void at_end(void *context) {
  csched_pool_worker *worker = context;
  if (csched_pool_worker_here_ == NULL) return; // an inner one has done it, or this is a child of fork
  if (!worker->has_left) replace(worker);
  if (csched_pool_worker_here_ == NULL) return;
  csched_pool_worker_here_ = NULL;
  csched_pool_stand_(worker, true); // the monitor leaves it alone from here on
  csched_pool *pool = worker->pool;
  csched_lock_lock(&pool->slots_lock);
  if (csched_pool_is_closing_(pool)) {
    worker->life = ENDED; // to be joined
  } else {
    worker->life = VACANT;
    csched_os_thread_detach_(worker->os); // C3: nobody may come to join it for long
  }
  csched_lock_unlock(&pool->slots_lock); // the last look at the pool
}

static void thread_main(void *context) { csched_os_finally_(body, at_end, context); }

static csched_pool_worker *find_slot_locked(csched_pool *pool, const csched_pool_worker *leaving) {
  for (size_t i = 0; i < pool->most_threads; i++)
    if (pool->slots[i].life != LIVE && &pool->slots[i] != leaving) return &pool->slots[i];
  return NULL;
}

static int start_locked(csched_pool_worker *worker, const csched_pool_worker *leaving) {
  csched_pool *pool = worker->pool;
  if (worker->life == ENDED) csched_os_thread_join_(worker->os); // C3
  worker->life = VACANT;
  worker->is_searching = leaving == NULL || leaving->is_searching; // C4: as it is counted, by its waker or before
  worker->is_surplus = worker->has_left = false;
  worker->blocking_depth = worker->helping_depth = 0;
  worker->nice = 0;
  csched_store_relaxed(&worker->is_stuck, 0u); // racy write: nobody wakes it yet
  csched_pool_stand_(worker, false);
  csched_store_relaxed(&worker->id, 0u);                                              // racy write: the same
  uint32_t used = csched_load_relaxed(&pool->slots_used);                             // C2: under the lock
  if (used < worker->number) csched_store_relaxed(&pool->slots_used, worker->number); // C2: before it can fork
  int error = csched_os_thread_start_(&worker->os, pool->stack_size, thread_main, worker);
  if (error == 0) worker->life = LIVE;
  return error;
}

// On the thread that goes on in the place of one that sleeps.
static void take_over(void *context) { // C6
  csched_pool_worker *worker = context;
  csched_lock_lock(&worker->pool->slots_lock); // its starter has it until all is written down
  csched_os_thread replaced = worker->replaced;
  csched_lock_unlock(&worker->pool->slots_lock);
  csched_pool_signal_(worker, CSCHED_SLEPT_REPLACED);
  csched_os_thread_join_(replaced);
  csched_pool_stand_(worker, false);
  csched_store_relaxed(&worker->is_stuck, 0u); // racy write: nobody wakes it yet
  worker->is_searching = true;                 // as the one who was woken
  body(worker);
}

static void take_over_main(void *context) { csched_os_finally_(take_over, at_end, context); }

bool csched_pool_replace_(csched_pool_worker *worker) { // C6
  csched_pool *pool = worker->pool;
  if (CSCHED_LIKELY(csched_load_relaxed(&worker->is_stuck) == 0))
    return false; // ordered by the lock of `idle`, under which it was taken out
  if (csched_os_thread_nice_() > pool->base_nice) return false;
  csched_lock_lock(&pool->slots_lock);
  worker->replaced = worker->os;
  int error = csched_os_thread_start_(&worker->os, pool->stack_size, take_over_main, worker);
  csched_lock_unlock(&pool->slots_lock);
  return error == 0;
}

void csched_pool_join_workers_(csched_pool *pool) {
  for (size_t i = 0; i < pool->most_threads; i++) {
    csched_lock_lock(&pool->slots_lock);
    bool is_used = pool->slots[i].life != VACANT; // LIVE: about to end
    csched_lock_unlock(&pool->slots_lock);
    if (is_used) csched_os_thread_join_(pool->slots[i].os); // C3
  }
}

int csched_pool_start_worker_(csched_pool *pool, const csched_pool_worker *leaving) {
  for (;;) {
    csched_lock_lock(&pool->slots_lock);
    csched_pool_worker *worker = find_slot_locked(pool, leaving);
    int error = worker != NULL ? start_locked(worker, leaving) : EAGAIN;
    csched_lock_unlock(&pool->slots_lock);
    if (worker != NULL || leaving != NULL) return error;
    csched_nap_(20000); // one has left the count and is about to give up its slot
  }
}
