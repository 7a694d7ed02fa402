"""Faults to be seeded into the real source, one at a time. Each must be killed by a check.

(name, file below Sources/CScheduler, text, what it becomes, part of the names of the checks that are to kill it)
"""

MUTANTS = [
    # lock.c and lock.h
    ("no heavy fence before a sleep", "core/lock.c", "  csched_fence_heavy_();             // L2", "  // L2", "lock"),
    ("no announcement before a sleep", "core/lock.c", "  set_sleepers(lock, true); // L2: announce\n", "", "lock"),
    ("no second look at the owner before a sleep", "core/lock.c",
     "  if (csched_load_relaxed(&lock->owner) == 0) return leave_bucket(lock, sleeper); // L2\n", "", "lock"),
    ("AWAKE stays when the lock is taken", "core/lock.c", "  if (awake) stop_being_awake(lock); // L3\n  if (!taken", "  if (!taken", "lock"),
    ("AWAKE stays when the waiter sleeps", "core/lock.c", "  if (awake) stop_being_awake(lock); // L3\n  csched_fence", "  csched_fence", "lock"),
    ("a waiter that gives up does not pass its wake on", "core/lock.c",
     "    if (csched_load_relaxed(&lock->owner) == 0) csched_lock_wake_slow_(lock); // L5\n", "", "lock"),
    ("SLEEPERS stays when the last one leaves", "core/lock.c", "if (TAILQ_EMPTY(&bucket->sleepers)) set_sleepers(lock, false);", "", "lock"),
    ("the lock is taken without acquire", "core/lock.c", "csched_cas_acquire(&lock->owner, &free, self); // L1", "csched_cas_relaxed(&lock->owner, &free, self); // L1", "lock"),
    ("the lock is taken inline without acquire", "include/CScheduler/lock.h",
     "self != 0 && csched_cas_acquire(", "self != 0 && csched_cas_relaxed(", "lock"),
    ("unlock without release", "include/CScheduler/lock.h", "csched_store_release(&lock->owner, 0u)", "csched_store_relaxed(&lock->owner, 0u)", "lock"),
    ("unlock does not look at the hint", "include/CScheduler/lock.h", "[csched_lock_hash_(lock)].word) != 0)", "[csched_lock_hash_(lock)].word) > 9e30)", "lock"),
    ("hint looked at before the owner is let go", "include/CScheduler/lock.h",
     "  csched_store_release(&lock->owner, 0u);", "  bool waits = csched_load_relaxed(&csched_lock_hints_[csched_lock_hash_(lock)].word) != 0;\n  csched_store_release(&lock->owner, 0u); if (!waits) return;", "lock"),
    # parking.c
    ("a sleeper is signalled without release", "core/parking.c", "csched_store_release(word, signal)", "csched_store_relaxed(word, signal)", "lock"),
    ("a sleeper is signalled without a wake", "core/parking.c", "  csched_futex_wake_(word, 1);\n", "", "lock"),
    ("a bucket's sleeper is not woken", "core/parking.c", "    csched_futex_wake_(&bucket->lock, 1);\n", "    ;\n", "lock"),
    ("whoever slept on a bucket takes it as if alone", "core/parking.c", "csched_exchange_acquire(&bucket->lock, (uint32_t)SLEPT_ON) != FREE", "csched_exchange_acquire(&bucket->lock, (uint32_t)TAKEN) != FREE", "lock"),
    # mpsc.c
    ("a push publishes nothing", "core/mpsc.c", "csched_cas_acq_rel(&queue->head, &head, job)", "csched_cas_relaxed(&queue->head, &head, job)", "queue"),
    ("a push that unparks owes no wake", "core/mpsc.c", "return head == PARKED ? CSCHED_PUSHED_WAKE : CSCHED_PUSHED;", "return CSCHED_PUSHED;", "queue"),
    ("what was pushed is not turned round", "core/mpsc.c", "    job->next = first;\n    first = job;\n    job = older;", "    if (first == NULL) first = job;\n    job = older;", "queue"),
    ("a poke only looks", "core/mpsc.c", "  while (!csched_cas_acq_rel(&queue->head, &head, head == PARKED ? NULL : head)) {", "  if (head != PARKED) return false;\n  while (!csched_cas_acq_rel(&queue->head, &head, head == PARKED ? NULL : head)) {", "queue|loop|thread"),
    ("a take opens a closed queue", "core/mpsc.c", "has_closed_bit(head) ? CLOSED : NULL)", "NULL)", "queue|thread"),
    ("a push does not see that the queue is closed", "core/mpsc.c", "    if (CSCHED_UNLIKELY(has_closed_bit(head))) return CSCHED_PUSH_CLOSED; // Q6\n", "", "queue|thread"),
    ("a park orders nothing", "core/mpsc.c", "csched_cas_acq_rel(&queue->head, &head, PARKED)", "csched_cas_relaxed(&queue->head, &head, PARKED)", "queue|loop|thread"),
    ("a close that unparks owes no wake", "core/mpsc.c", "// Q3, Q6: pairs with take; carries what the closer wrote\n  return head == PARKED;", "\n  return false;", "queue|thread"),
    # job.c
    ("a job runs whatever its state", "core/job.c", "if (CSCHED_LIKELY(csched_cas_acquire(&job->state, &found, (uint32_t)RUNNING)))", "csched_store_relaxed(&job->state, (uint32_t)RUNNING);\n  if (found == QUEUED)", "job"),
    ("release does not wait for the end of drop", "core/job.c", "  if (found == DROPPING && csched_cas_acq_rel(&job->state, &found, (uint32_t)PASSED)) return; // J3\n", "", "job"),
    ("no heavy fence before the wait for a run", "core/job.c", "  csched_fence_heavy_(); ", "  ", "job"),
    ("the end of a run wakes nobody", "core/job.c", "  if (CSCHED_UNLIKELY(csched_load_relaxed(&job->flags) & WAITED)) wake_waiters(job); // J6\n  release(job);", "  release(job);", "job"),
    ("the end of a run publishes nothing", "core/job.c", "  csched_store_release(&job->state, (uint32_t)IDLE); // J5: release; pairs", "  csched_store_relaxed(&job->state, (uint32_t)IDLE); // J5: release; pairs", "job"),
    ("a cancelled husk is not released", "core/job.c", "      csched_store_release(&job->state, (uint32_t)IDLE);\n      release(job);", "      csched_store_release(&job->state, (uint32_t)IDLE);", "job"),
    # loop.c
    ("a loop does not look again after parking", "core/loop.c", "  if (!has_work(loop, activation, 0)) {", "  {", "loop|thread"),
    ("the stop of an activation is not announced", "core/loop.c", "  csched_store_release(&activation->stopped, 1u); // P5: pairs with the loop's acquire\n  announce(loop);", "  csched_store_release(&activation->stopped, 1u);", "loop"),
    ("an earlier timer is not announced", "core/loop.c", "  if (added == CSCHED_TIMER_ADDED_FIRST) announce(loop); // P1\n", "", "timer|thread"),
    ("a moved timer is not announced", "core/loop.c", "  if (added == CSCHED_TIMER_ADDED_FIRST) announce(loop); // P1: as a submission\n", "", "timer"),
    ("a wake is not written down", "core/loop.c", "  csched_store_release(&loop->wake, 1u);", "  //", "thread|loop"),
    ("a refused job is not dropped", "core/loop.c", "  csched_job_discard_(job); // P6\n  return ECANCELED;", "  return ECANCELED;", "thread"),
    ("close does not refuse what comes later", "core/loop.c", "  if (csched_mpsc_close(&loop->inbox)) wake(loop);", "  announce(loop);", "thread"),
    # timer.c
    ("timers that are closed take another", "core/timer.c", "  if (!timers->is_closed) {", "  {", "timer"),
    ("a place is published without release", "core/timer.c", "csched_store_release(&timer->node.place, place)", "csched_store_relaxed(&timer->node.place, place)", "timer"),
    ("a place is read without acquire", "core/timer.c", "csched_load_acquire(&timer->node.place)", "csched_load_relaxed(&timer->node.place)", "timer"),
    ("a timer is taken from whatever owner", "core/timer.c", "waits && csched_load_relaxed(&timer->owner) != timers;", "false;", "timer"),
    ("a cancelled timer stays", "core/timer.c", "    if (is_here) {", "    if (false) {", "timer"),
    ("a timer is popped and stays", "core/timer.c", "    leave(timers, timer); // W5\n    settle(timers);\n  } else {", "  } else {", "timer"),
    # thread.c
    ("a thread that is ready does not say so", "core/thread.c", "  csched_futex_wake_(&thread->phase, 1);\n", "", "thread"),
]
