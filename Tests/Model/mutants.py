"""Faults to be seeded into the real source, one at a time. Each must be killed by a check.

MUTANTS: (name, file below Sources/CScheduler, text, what it becomes). orders.py adds each weakened ordering.
CHECKS: for each file, or for one mutant, the names, as a pattern, of the checks that are to kill what is wrong in it.
EQUIVALENT: mutants that change nothing that anyone could see, each with the proof.
"""

CHECKS = {
    "lock": "lock", "parking": "lock", "mpsc": "queue|loop|thread|pool", "job": "job|loop|thread", "trampoline": "trampoline",
    "loop": "loop|thread", "timer": "timer|loop|thread", "thread": "thread",
    "pool": "pool", "pool_idle": "pool:|pool keeper|pool fork: two", "pool_worker": "pool:|pool end|pool keeper",
    "pool_keeper": "pool:|pool keeper", "fork_join": "pool fork",
    # These take one departure at one certain step: all of the time for the one check.
    "pool: the look before a sleep is a hint": "pool: a batch for a busy worker",
    "pool: workers leave what is queued": "pool end: two idle workers",
    "pool: the keeper is not closed before it is joined": "pool end: a first timer",
}

EQUIVALENT = {
    # F1 on the way into blocking saves time only: whoever skips a wake because enough are running, and others could (F3), has the
    # keeper watch; it finds the work that waits, and the worker that is counted as blocked, at its first look.
    "pool: one that blocks gives its place to nobody": "the keeper does the same at its first look",
    "pool_idle.c: csched_pool_blocked_: fence_full becomes fence_compiler": "the keeper does the same at its first look",
}

MUTANTS = [
    # lock.c and lock.h
    ("no heavy fence before a sleep", "core/lock.c", "  csched_fence_heavy_();             // L2", "  // L2"),
    ("no announcement before a sleep", "core/lock.c", "  set_sleepers(lock, true); // L2: announce\n", ""),
    ("no second look at the owner before a sleep", "core/lock.c",
     "  if (csched_load_relaxed(&lock->owner) == 0) return leave_bucket(lock, sleeper); // L2\n", ""),
    ("AWAKE stays when the lock is taken", "core/lock.c", "  if (awake) stop_being_awake(lock); // L3\n  if (!taken", "  if (!taken"),
    ("AWAKE stays when the waiter sleeps", "core/lock.c", "  if (awake) stop_being_awake(lock); // L3\n  csched_fence", "  csched_fence"),
    ("a waiter that gives up does not pass its wake on", "core/lock.c",
     "    if (csched_load_relaxed(&lock->owner) == 0) csched_lock_wake_slow_(lock); // L5\n", ""),
    ("SLEEPERS stays when the last one leaves", "core/lock.c", "if (TAILQ_EMPTY(&bucket->sleepers)) set_sleepers(lock, false);", ""),
    ("the lock is taken without acquire", "core/lock.c", "csched_cas_acquire(&lock->owner, &free, self); // L1", "csched_cas_relaxed(&lock->owner, &free, self); // L1"),
    ("the lock is taken inline without acquire", "include/CScheduler/lock.h",
     "self != 0 && csched_cas_acquire(", "self != 0 && csched_cas_relaxed("),
    ("unlock without release", "include/CScheduler/lock.h", "csched_store_release(&lock->owner, 0u)", "csched_store_relaxed(&lock->owner, 0u)"),
    ("unlock does not look at the hint", "include/CScheduler/lock.h", "[csched_lock_hash_(lock)].word) != 0)", "[csched_lock_hash_(lock)].word) > 9e30)"),
    ("hint looked at before the owner is let go", "include/CScheduler/lock.h",
     "  csched_store_release(&lock->owner, 0u);", "  bool waits = csched_load_relaxed(&csched_lock_hints_[csched_lock_hash_(lock)].word) != 0;\n  csched_store_release(&lock->owner, 0u); if (!waits) return;"),
    ("a wake looks at the lock's owner without a sleeper that keeps it", "core/lock.c",
     "  if (sleeper != NULL && csched_load_relaxed(&lock->owner) == 0 && // L4", "  if (csched_load_relaxed(&lock->owner) == 0 && sleeper != NULL && // L4"),
    # parking.c
    ("a sleeper is signalled without release", "core/parking.c", "csched_store_release(word, signal)", "csched_store_relaxed(word, signal)"),
    ("a sleeper is signalled without a wake", "core/parking.c", "  csched_futex_wake_(word, 1);\n", ""),
    ("a bucket's sleeper is not woken", "core/parking.c", "    csched_futex_wake_(&bucket->lock, 1);\n", "    ;\n"),
    ("whoever slept on a bucket takes it as if alone", "core/parking.c", "csched_exchange_acquire(&bucket->lock, (uint32_t)SLEPT_ON) != FREE", "csched_exchange_acquire(&bucket->lock, (uint32_t)TAKEN) != FREE"),
    # mpsc.c
    ("a push publishes nothing", "core/mpsc.c", "csched_cas_acq_rel(&queue->head, &head, newest)", "csched_cas_relaxed(&queue->head, &head, newest)"),
    ("a push that unparks owes no wake", "core/mpsc.c", "return head == PARKED ? CSCHED_PUSHED_WAKE : CSCHED_PUSHED;", "return CSCHED_PUSHED;"),
    ("what was pushed is not turned round", "core/mpsc.c", "    job->next = first;\n    first = job;\n    job = older;", "    if (first == NULL) first = job;\n    job = older;"),
    ("a poke only looks", "core/mpsc.c", "  while (!csched_cas_acq_rel(&queue->head, &head, head == PARKED ? NULL : head)) {", "  if (head != PARKED) return false;\n  while (!csched_cas_acq_rel(&queue->head, &head, head == PARKED ? NULL : head)) {"),
    ("a take opens a closed queue", "core/mpsc.c", "has_closed_bit(head) ? CLOSED : NULL)", "NULL)"),
    ("a push does not see that the queue is closed", "core/mpsc.c", "    if (CSCHED_UNLIKELY(has_closed_bit(head))) return CSCHED_PUSH_CLOSED; // Q6\n", ""),
    ("a park orders nothing", "core/mpsc.c", "csched_cas_acq_rel(&queue->head, &head, PARKED)", "csched_cas_relaxed(&queue->head, &head, PARKED)"),
    ("a close that unparks owes no wake", "core/mpsc.c", "// Q3, Q6: pairs with take; carries what the closer wrote\n  return head == PARKED;", "\n  return false;"),
    # job.c
    ("a job runs whatever its state", "core/job.c", "if (CSCHED_LIKELY(csched_cas_relaxed(&job->state, &found, (uint32_t)RUNNING)))", "csched_store_relaxed(&job->state, (uint32_t)RUNNING);\n  if (found == QUEUED)"),
    ("release does not wait for the end of drop", "core/job.c", "  if (found == DROPPING && csched_cas_release(&job->state, &found, (uint32_t)PASSED)) return; // J3: pairs with cancel's acquire\n", ""),
    ("no heavy fence before the wait for a run", "core/job.c", "  csched_fence_heavy_(); ", "  "),
    ("the end of a run wakes nobody", "core/job.c", "  if (CSCHED_UNLIKELY(csched_load_relaxed(&job->flags) & WAITED)) wake_waiters(job); // J6\n  release(job);", "  release(job);"),
    ("the end of a run publishes nothing", "core/job.c", "  csched_store_release(&job->state, (uint32_t)IDLE); // J5: release; pairs", "  csched_store_relaxed(&job->state, (uint32_t)IDLE); // J5: release; pairs"),
    ("a cancelled husk is not released", "core/job.c",
     "// J3: pairs with the passing; the queue has done with the memory csched_store_release(&job->state, (uint32_t)IDLE); // J5: the same release(job);",
     "csched_store_release(&job->state, (uint32_t)IDLE);"),
    # loop.c and thread.c
    ("a loop does not look again after parking", "core/loop.c", "  if (!has_work(loop, activation, 0)) {", "  {"),
    ("the stop of an activation is not announced", "core/loop.c", "  csched_store_release(&activation->stopped, 1u); // P5: pairs with the loop's acquire\n  announce(loop);", "  csched_store_release(&activation->stopped, 1u);"),
    ("an earlier timer is not announced", "core/loop.c", "  if (added == CSCHED_TIMER_ADDED_FIRST) announce(loop); // P1\n  if (added", "  if (added"),
    ("a wake is not written down", "core/loop.c", "  csched_store_relaxed(&loop->wake, 1u);", "  //"),
    ("a refused job is not dropped", "core/loop.c", "  csched_job_discard_(job); // P6\n  return ECANCELED;", "  return ECANCELED;"),
    ("close does not refuse what comes later", "core/loop.c", "  if (csched_mpsc_close(&loop->inbox)) wake(loop);", "  announce(loop);"),
    ("a thread that is ready does not say so", "core/thread.c", "  csched_futex_wake_(&thread->phase, 1);\n", ""),
    ("a thread frees what the handle still owns", "core/thread.c", "  thread->owners = 2;", "  thread->owners = 1;"),
    ("a thread that ends keeps its part", "core/thread.c", "  csched_loop_unbind_(thread->loop);\n  give_up(thread);", "  csched_loop_unbind_(thread->loop);"),
    ("a second join joins again", "core/thread.c", "  thread->is_joined = true;\n", ""),
    ("what a thread leaves is not dropped", "core/thread.c", "  csched_loop_finish_(thread->loop);\n  csched_loop_unbind_", "  csched_loop_unbind_"),
    # pool.c and its parts
    ("pool: the last searcher does not look for more", "core/pool_idle.c", "before the look for more\n  return true;", "\n  return false;"),
    ("pool: no look again before a sleep", "core/pool_idle.c", "  if (must_go_on(pool) && stop_being_idle(worker, SEARCHING - IDLE)) return true;\n", ""),
    ("pool: the look before a sleep is a hint", "core/pool_idle.c", "(running(crowd_of(pool)) < pool->workers && csched_pool_has_work_(pool))", "(running(crowd_of(pool)) < pool->workers && csched_pool_hint_(pool))"),
    ("pool: one who goes to sleep is still counted as searching", "core/pool_idle.c", "worker->is_searching ? IDLE - SEARCHING : IDLE", "IDLE"),
    ("pool: one who is woken is not counted as searching", "core/pool_idle.c", "? SEARCHING - IDLE : SEARCHING + THREADS;", "? 0 - IDLE : SEARCHING + THREADS;"),
    ("pool: a waker does not signal", "core/pool_idle.c", "  if (idle != NULL) signal(idle);", "  if (idle != NULL) ;"),
    ("pool: a signal is not written down", "core/pool_idle.c", "  csched_store_relaxed(&worker->signal, 1u); // F4: it carries nothing\n", ""),
    ("pool: a signal wakes nobody", "core/pool_idle.c", "  csched_futex_wake_(&worker->signal, 1);\n", ""),
    ("pool: an old signal stays", "core/pool_idle.c", "  csched_store_relaxed(&worker->signal, 0u); // F4: before a waker can find it\n", ""),
    ("pool: a worker is taken while it stays in the list", "core/pool_idle.c", "  TAILQ_REMOVE(&pool->idle, worker, link);\n  worker->is_idle = false;\n  return worker;", "  return worker;"),
    ("pool: nobody is woken to end it", "core/pool.c", "  csched_pool_wake_all_(pool); // E2\n}", "}"),
    ("pool: nobody is woken to leave", "core/pool.c", "    csched_lock_unlock(&pool->pick);\n    csched_pool_wake_all_(pool);", "    csched_lock_unlock(&pool->pick);\n"),
    ("pool: the last one leaves without a word", "core/pool_idle.c", "csched_pool_over_(pool); // F7", ";"),
    ("pool: a search that is over while others wait is kept to oneself", "core/pool_worker.c", "  if (more) csched_pool_wake_(pool, false);\n", ""),
    ("pool: a thief does not pass the search on", "core/fork_join.c", "  if (csched_pool_stop_search_(worker) && csched_pool_has_work_(pool)) csched_pool_wake_(pool, false);\n", "  csched_pool_stop_search_(worker);\n"),
    ("pool: one that blocks gives its place to nobody", "core/pool_idle.c", "  if (csched_pool_has_work_(pool)) csched_pool_wake_(pool, false);\n}", "}"),
    ("pool: nobody watches the busy", "core/pool_idle.c", "    if (CSCHED_UNLIKELY(may_grow(pool, crowd))) csched_pool_watch_(pool); // F3\n", ""),
    ("pool: the keeper looks only once", "core/pool_keeper.c", "  csched_loop_submit_at(csched_loop_current(), &pool->tick, csched_time_after(csched_now(), TICK));\n", ""),
    ("pool: a stalled worker is not counted", "core/pool_keeper.c", "  else csched_pool_blocked_(pool); // K2: which wakes another", "  ;"),
    ("pool: a blocked worker is counted for good", "core/pool_keeper.c", "    csched_pool_blocked_(worker->pool);\n}", "    csched_pool_blocked_(worker->pool), csched_pool_blocked_(worker->pool);\n}"),
    ("pool: the keeper ends after the inboxes", "core/pool.c", "    csched_pool_join_keeper_(pool);                     // E1\n", ""),
    ("pool: the keeper is not closed before it is joined", "core/pool.c", "    csched_pool_close_keeper_(pool, csched_pool_is_dropping_(pool) ? CSCHED_STOP_DROP : CSCHED_STOP_RUN);\n", ""),
    ("pool: the inboxes stay open", "core/pool.c", "    for (int i = 0; i < CSCHED_PRIORITIES; i++) csched_mpsc_close(&pool->classes[i].inbox); // E1\n", ""),
    ("pool: workers leave what is queued", "core/pool.c", "ending_of(pool) == 2 && !csched_pool_has_work_(pool);", "ending_of(pool) == 2;"),
    ("pool: a stop refuses nobody", "core/pool.c", "return csched_pool_is_closing_(pool) && !csched_pool_is_keeper_(pool); }", "return false; }"),
    ("pool: a refused job is not dropped", "core/pool.c", "  csched_target_discard(job);\n  return ECANCELED;", "  return ECANCELED;"),
    ("pool: a second join joins again", "core/pool.c", "  pool->is_joined = true;\n", ""),
    ("pool: a thread may join itself", "core/pool.c", "  if (is_own_thread(pool)) return EDEADLK;\n", ""),
    ("pool: what is dropped is run", "core/pool_worker.c", "  if (CSCHED_UNLIKELY(csched_pool_is_dropping_(worker->pool))) csched_target_discard(job);\n  else", "  "),
    ("pool: a batch is announced as one job", "core/pool.c", "  csched_pool_announce_(pool, count);", "  ;"),
    ("pool: a fork is not announced", "core/fork_join.c", "      csched_pool_announce_(worker->pool, 1); // F1\n", ""),
    ("pool: a stolen fork stays in the deque", "core/fork_join.c", "    csched_store_relaxed(&from->top, from->top + 1); // D2\n", ""),
    ("pool: a fork that was taken back stays in the deque", "core/fork_join.c", "    csched_store_relaxed(&worker->bottom, worker->bottom - 1); // D2\n    fork = worker->deque[worker->bottom % CSCHED_DEQUE_SLOTS];", "    fork = worker->deque[(worker->bottom - 1) % CSCHED_DEQUE_SLOTS];"),
    ("pool: the end of a fork wakes nobody", "core/fork_join.c", "    csched_futex_wake_(phase, 1); ", "    ; "),
    ("pool: who waits for a fork does not say so", "core/fork_join.c", "  csched_cas_relaxed(&fork->phase, &phase, (uint32_t)WAITED); // D3\n  while (!is_done(fork)) csched_futex_wait_(&fork->phase, WAITED, CSCHED_FOREVER);", "  while (!is_done(fork)) csched_futex_wait_(&fork->phase, PENDING, CSCHED_FOREVER);"),
    # misuse
    ("relock is not noticed", "core/lock.c",
     "  if (is_owner(lock)) panic_owner(lock, \"csched_lock_lock\", \"The lock is not recursive: unlock it first.\");\n", ""),
    ("a stranger's unlock is not noticed", "core/lock.c", "  if (!is_owner(lock)) panic_not_owner(lock, \"csched_lock_unlock\");\n", ""),
    ("a job may be submitted twice", "core/job.c", "    if (here == NULL)\n", "    if (false)\n"),
    # job.c, the rest
    ("cancel does not drop", "core/job.c", "    job->type->drop(job);                                            // J2\n", ""),
    ("a job submitted again is ended again", "core/job.c", "    here->job = NULL; // J4\n", ""),
    # trampoline.c
    ("a nested frame takes the outer jobs", "core/trampoline.c", "  mine->start = mine->last; // T2\n", ""),
    ("a popped frame keeps its place", "core/trampoline.c", "  mine->start = frame->outer_start;\n", ""),
    ("the last link is forgotten", "core/trampoline.c",
     "    if (trampoline->last == &job->next) trampoline->last = trampoline->start;\n", ""),
    ("a thread's end drops nothing", "core/trampoline.c", "    csched_job_discard_(job);\n", ""),
    ("a thread's end keeps its trampoline", "core/trampoline.c", "  mine = NULL;\n  free(trampoline);", "  mine = NULL;"),
]
