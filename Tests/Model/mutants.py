"""Faults to be seeded into the real source, one at a time. Each must be killed by a check.

MUTANTS: (name, file below Sources/CScheduler, text, what it becomes). orders.py adds each weakened ordering.
CHECKS: for each file the names, as a pattern, of the checks that are to kill what is wrong in it.
EQUIVALENT: mutants that change nothing that anyone could see, each with the proof.
"""

CHECKS = {
    "lock": "lock", "parking": "lock", "mpsc": "queue|loop|thread|pool", "job": "job|loop|thread", "trampoline": "trampoline",
    "loop": "loop|host|poller|thread|timer", "loop_fd": "host|poller", "timer": "timer|loop|thread", "thread": "thread", "serial": "serial",
    "pool": "pool", "pool_idle": "pool", "pool_worker": "pool", "pool_keeper": "pool", "fork_join": "pool",
}

EQUIVALENT = {}

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
    ("a push publishes nothing", "core/mpsc.c", "csched_cas_acq_rel(&queue->head, &head, job)", "csched_cas_relaxed(&queue->head, &head, job)"),
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
    ("a moved timer is not announced", "core/loop.c", "  if (added == CSCHED_TIMER_ADDED_FIRST) announce(loop); // P1: as a submission\n", ""),
    ("a wake is not written down", "core/loop.c", "  csched_store_relaxed(&loop->wake, 1u);", "  //"),
    ("a refused job is not dropped", "core/loop.c", "  csched_job_discard_(job); // P6\n  return ECANCELED;", "  return ECANCELED;"),
    ("close does not refuse what comes later", "core/loop.c", "  if (csched_mpsc_close(&loop->inbox)) wake(loop);", "  announce(loop);"),
    ("a wake goes to the futex, whatever the loop sleeps on", "core/loop.c", "  if (csched_fds_wake_(&loop->fds)) return; // P2\n", ""),
    ("a loop is left to its host without a park", "core/loop.c", "fds->is_in_host = csched_mpsc_park(&loop->inbox); // P1", "fds->is_in_host = csched_mpsc_is_empty(&loop->inbox);"),
    ("a loop is left to its host without another look", "core/loop.c", "? !has_work(loop, NULL, 0) :", "? true :"),
    ("a run does not take its park in a host back", "core/loop.c", "  if (loop->fds.is_in_host) csched_mpsc_unpark(&loop->inbox);\n", ""),
    ("a nested run leaves the loop to its host", "core/loop.c", "if (--loop->depth == 0 && loop->fds.has_host)", "if (--loop->depth, loop->fds.has_host)"),
    ("the host is not told of a close", "core/loop.c", ": fds->knows_close && csched", ": csched"),
    # loop_fd.c
    ("a loop left with work does not say so", "core/loop_fd.c", "  else csched_poller_wake_(&fds->poller); // E2\n", ""),
    ("a host is not told when to come", "core/loop_fd.c", "  if (is_idle) csched_poller_arm_(&fds->poller, until); // E2\n  else csched", "  if (!is_idle) csched"),
    ("a sleep on the poller sets no alarm", "core/loop_fd.c", "  csched_poller_arm_(&fds->poller, until); // E2\n  collect(fds, true);", "  collect(fds, true);"),
    ("a loop that gets a host is not parked in it", "core/loop_fd.c", "    csched_loop_run_ready(loop, 0);", "    //"),
    ("wakes that have come are not looked at", "core/loop_fd.c", "  if (is_open(fds)) collect(fds, false);\n", ""),
    ("a thread that is ready does not say so", "core/thread.c", "  csched_futex_wake_(&thread->phase, 1);\n", ""),
    ("a thread frees what the handle still owns", "core/thread.c", "  thread->owners = 2;", "  thread->owners = 1;"),
    ("a thread that ends keeps its part", "core/thread.c", "  if (thread->at_end != NULL) thread->at_end(thread->context);\n  give_up(thread);", ""),
    ("a second join joins again", "core/thread.c", "  thread->is_joined = true;\n", ""),
    ("what a thread leaves is not dropped", "core/thread.c", "  csched_loop_finish_(thread->loop);\n  csched_loop_unbind_", "  csched_loop_unbind_"),
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
    # timer.c
    ("timers that are closed take another", "core/timer.c", "  if (!timers->is_closed) {", "  {"),
    ("a timer is taken from whatever owner", "core/timer.c", "waits && csched_load_relaxed(&timer->owner) != timers;", "false;"),
    ("a cancelled timer stays", "core/timer.c", "    if (is_here) {", "    if (false) {"),
    ("a timer is popped and stays", "core/timer.c", "    leave(timers, timer); // W5\n    settle(timers);\n  } else {", "  } else {"),
    # serial.c
    ("a queue that is let go parks whatever it has", "core/serial.c", "    submit_drain(serial);                  // S2\n", ""),
    ("a suspended queue is let go without a mark", "core/serial.c", "  if (stall(serial)) return;", "  if (is_suspended(serial)) return;"),
    ("a resume does not go on", "core/serial.c", "  if (hold - SUSPENSION == STALLED) let_go(serial);", "  if (false) let_go(serial);"),
    ("a drain does not look whether it is suspended", "core/serial.c", "if (is_suspended(serial) || (job =", "if ((job ="),
    ("a push that finds the queue idle takes no part", "core/serial.c", "    take_part(serial);\n    return submit_drain(serial);", "    return submit_drain(serial);"),
    ("sync enters a busy queue", "core/serial.c", "  if (!csched_mpsc_poke(&serial->inbox)) return false; // S1\n", "  csched_mpsc_poke(&serial->inbox);\n"),
    ("a refused drain drops nothing", "core/serial.c", "(job = csched_mpsc_pop(&serial->inbox)) != NULL;) csched_job_discard_(job);", "(job = csched_mpsc_pop(&serial->inbox)) != NULL;) {}"),
    ("a wait in a circle is begun", "core/serial.c", "    ends = !csched_target_is_inside(&each->target);\n", "    ends = true;\n"),
    ("the end of a sync wakes nobody", "core/serial.c", "  csched_futex_wake_(ended, 1);\n", ""),
]
