// States
//   forks      of a worker: forked jobs that nobody has begun (deque.c); its thread is the owner
//   phase      of a fork: PENDING, WAITED on: somebody sleeps on it, DONE
//
// Obligations
//   D1  Each forked job is begun once: it is in one deque, and who takes it out of there, the owner or a thief (DQ1), begins it; or it
//       never was in one, and was run at once.
//   D2  A look at the deques after a fence misses none: a job is in one before the forker's fence (DQ4; pool_idle.c, F1), in the slot of a
//       worker that is looked at (pool_worker.c, C2).
//   D3  A wait returns after the job, its release and the last look at the fork; and sees what the job did. The one who sleeps is
//       woken: it leaves PENDING by a compare-and-exchange, and so learns of DONE, or DONE's exchange learns of it.
//   D4  No deadlock: a thread that waits runs forked jobs only, and each was forked later than what it waits for began. So what
//       waits for what follows the order of beginning. A worker that sleeps here counts as blocked.
//   D5  A forked job that ends the thread of another than its forker has ended, and so has the wait for it.
// Orderings
//   slots_used: relaxed, ordered by the thread's start and by F1's fences · phase: →DONE release, pairs with the waiter's
//   acquire, carries what the job did; a job that its own forker runs needs none
// Assumes: forks are waited for by who forked them, before their frame ends (pool.h).
// Source: work stealing is Cilk's; the owner's end last in, first out; the thieves' first in, first out.
// Checked by: "forked jobs compute what plain calls do", "forks nested in forks do not deadlock",
//   "a wait sleeps until the thief has done", "one processor runs everything",
//   "a forked job that ends its thread is waited for no longer".
// Models: checks/pool.c. Not modelled: D4, D5.

#include "pool_internal.h"

#include "job_internal.h"
#include "levels_internal.h"
#include "observe_internal.h"

enum { PENDING = 0, WAITED = 1, DONE = 2 };

// MARK: the deques

bool csched_pool_is_forked_(csched_pool *pool) {
  uint32_t used = csched_load_relaxed(&pool->slots_used); // D2: raised before its worker's thread began
  for (uint32_t i = 0; i < used; i++)
    if (!csched_deque_is_empty_(&pool->slots[i].forks)) return true;
  return false;
}

void csched_pool_forget_forks_(csched_pool_worker *worker) {
  while (csched_deque_pop_(&worker->forks) != NULL) {}
}

// MARK: running

static void be_done(csched_fork *fork) {
  uint32_t *phase = &fork->phase;
  if (csched_exchange_release(phase, (uint32_t)DONE) == WAITED) // D3: pairs with wait's acquire; carries the work
    csched_futex_wake_(phase, 1);                               // the fork may be gone: the address is only a name
}

// Most forks are of the priority that their worker is at: there is nothing to set.
static void perform(csched_pool_worker *worker, const csched_fork *fork) {
  csched_pool_class *class = (csched_pool_class *)fork->target;
  if (CSCHED_LIKELY(worker->class == class && worker->nice == class->nice))
    csched_job_perform_on_(fork->job, fork->target);
  else csched_pool_perform_(worker, class, fork->job);
}

void csched_pool_end_help_(csched_pool_worker *worker) {
  for (unsigned depth = CSCHED_HELPING_MOST + 1; depth-- > 0;) {
    csched_fork *fork = worker->helps_with[depth];
    worker->helps_with[depth] = NULL;
    if (fork != NULL) be_done(fork); // D5: its job has ended
  }
  worker->helping_depth = 0;
}

bool csched_pool_help_(csched_pool_worker *worker) {
  csched_pool *pool = worker->pool;
  uint32_t used = csched_load_relaxed(&pool->slots_used); // racy read, rechecked by the look before a sleep
  csched_fork *fork = NULL;
  csched_pool_worker *from = worker;
  for (uint32_t i = 0; i < used && fork == NULL; i++) {
    from = &pool->slots[(worker->number + i) % used]; // its own last
    if (!csched_deque_is_empty_(&from->forks))
      fork = csched_deque_steal_(&from->forks); // looked at again before a sleep
  }
  if (fork == NULL) return false;
  if (csched_pool_stop_search_(worker) && csched_pool_has_work_(pool)) csched_pool_wake_(pool, false);
  csched_fork **slot = &worker->helps_with[worker->helping_depth];
  if (from != worker && csched_is_observed_()) csched_observe_note_(CSCHED_OCCURRED_STEAL, from, 0);
  if (from != worker) *slot = fork; // D5: its own fork would be gone with the thread's frames
  perform(worker, fork);
  be_done(fork);
  *slot = NULL;
  return true;
}

CSCHED_NOINLINE void csched_pool_fork(csched_fork *fork, csched_job *job) {
  csched_pool_worker *worker = csched_pool_worker_here_;
  *fork = (csched_fork){.job = job, .phase = PENDING};
  if (!csched_job_mark_(job)) csched_job_submitted_(job, "csched_pool_fork");
  bool is_in_a_job = worker != NULL && worker->class != NULL; // not in a drop
  if (is_in_a_job) {
    fork->target = &worker->class->target;
    if (csched_deque_push_(&worker->forks, fork)) {
      csched_pool_announce_(worker->pool, 1); // F1
      return;
    }
  }
  if (is_in_a_job) {
    csched_pool_perform_(worker, worker->class, job);
  } else {
    csched_level_look_(CSCHED_CALLER_FRAME());
    csched_job_perform_(job);
  }
  csched_store_relaxed(&fork->phase, (uint32_t)DONE); // D3: on this thread
}

static bool is_done(const csched_fork *fork) {
  return csched_load_acquire(&fork->phase) == DONE; // D3: pairs with finish's release
}

// In a child of fork there is nobody to run it, nor is this thread a worker.
static void require_worker(const csched_fork *fork) {
  if (CSCHED_UNLIKELY(csched_pool_worker_here_ == NULL))
    csched_pool_panic_worker_(((const csched_pool_class *)fork->target)->pool);
}

void csched_pool_wait(csched_fork *fork) {
  csched_pool_worker *worker = csched_pool_worker_here_;
  csched_fork *own;
  if (is_done(fork)) return;
  require_worker(fork);
  while (!is_done(fork) && (own = csched_deque_pop_(&worker->forks)) != NULL) { // D4
    perform(worker, own);
    csched_store_relaxed(&own->phase, (uint32_t)DONE); // D3: only this thread waits for it
  }
  for (bool helped = true; helped && !is_done(fork) && worker->helping_depth < CSCHED_HELPING_MOST;) {
    require_worker(fork);
    worker->helping_depth++;
    helped = csched_pool_help_(worker); // D4
    worker->helping_depth--;
  }
  if (is_done(fork)) return;
  require_worker(fork);
  csched_wait_is_seen_("csched_pool_wait", fork);
  csched_pool_blocking_begin(); // D4
  uint32_t phase = PENDING;
  csched_cas_relaxed(&fork->phase, &phase, (uint32_t)WAITED); // D3
  while (!is_done(fork)) csched_futex_wait_(&fork->phase, WAITED, CSCHED_FOREVER);
  csched_pool_blocking_end();
  csched_wait_is_over_();
}
