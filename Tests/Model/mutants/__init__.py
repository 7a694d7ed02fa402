"""Faults to be seeded into the real source, one at a time. Each must be killed by a check.

MUTANTS: (name, file below Sources/CScheduler, where, code, what it becomes). The code is found as the compiler reads it, whatever its comments and lines
(source.py); where it stands more than once, `where` names the invariant of the line, the function, or both. orders.py adds each weakened ordering.
CHECKS: for each file, or for one mutant, the names, as a pattern, of the checks that are to kill what is wrong in it.
EQUIVALENT: mutants that change no observable behaviour, each with the proof.
"""

from . import clock, diagnostics, include, job, loop, pool, queue, sync, targets, time

CHECKS = {
    "a queue's jobs do not count in the loop's budget": "loop",
    "lock": "lock", "lock_owner": "lock", "parking": "lock", "cond": "cond", "semaphore": "semaphore", "latch": "latch", "limit": "limit", "apply": "apply", "group": "group", "cancellation": "cancellation", "rlock": "^rlock", "rwlock": "rwlock", "event": "event", "dump_slots": "dump", "observe": "observe", "trace": "observe", "waiting": "cond|semaphore|latch", "mpsc": "mpsc|queue|loop|thread|pool", "job": "job|task|loop|thread", "job_internal": "job|loop|thread", "task": "task", "task_async": "task", "task_memory": "task", "trampoline": "trampoline",
    "loop": "loop|host|poller|thread|timer", "loop_run": "loop|host|poller|thread|timer", "loop_stop": "loop|host|poller|thread|timer", "loop_binding": "loop|host|poller|thread|timer", "loop_life": "loop|host|poller|thread|timer", "loop_state": "loop|host|poller|thread|timer", "loop_fd": "host|poller", "timer": "timer|loop|thread", "thread": "thread", "serial": "serial|frames|waits", "helping": "serial|limit",
    "frames": "frames|trampoline", "waits": "waits|serial", "virtual": "virtual",
    "pool": "pool", "pool_idle": "pool:|pool monitor|pool spawn: two|pool kept", "pool_worker": "pool:|pool end|pool monitor|pool kept", "pool_pick": "pool local|pool lanes|pool kept|pool:|pool spawn|pool end|pool delivery",
    "pool_internal": "pool", "pool_monitor": "pool:|pool monitor|pool delivery", "fork_join": "pool spawn", "deque": "deque", "deque_internal": "deque", "clock": "clock", "clock_delivery": "clock",
    "delivery": "delivery|pool delivery|clock: a custom target",
    "an unwound run continues": "frames", "a loop with an unwound run outlives its thread": "frames",
    "an unwound trampoline stays open": "frames",
    "a closed loop refuses what continues": "loop: closed to run: a queue", "a closed loop waits for no submitter": "loop: closed to run: a queue", "a loop that has finished accepts more": "loop: closed to run: a queue",
    "a stopped pool refuses what continues": "pool end: stopped to run, against submissions to a", "a pool whose workers leave accepts more": "pool end: stopped to run, against submissions to a", "nobody runs what a finished pool has left": "pool end: stopped to run, against submissions to a",
    "a refused submission drops the queue's other jobs": "pool end: stopped to run, against submissions to a queue|loop: closed to run: a queue", "a refused submission drops the limit's other jobs": "pool end: stopped to run, against submissions to a limit",
    "a job that a limit's permit takes keeps its place": "limit: a bound counts what waits",
    "a closed queue drops what continues": "pool end: stopped to run, against submissions to queues|pool end: stopped to run, against submissions to a limit on a queue",
    "a queue that is over gets no owner": "pool end: stopped to run, against submissions to queues", "a queue is over that has a job": "pool end: stopped to run, against submissions to queues",
    "a thread without frames is taken for one whose job was refused": "pool end: stopped to run, against a submission and a sync",
    "a delivery inside of a delivery is not listed": "limit: of one, on|event: a handler", "jobs that a delivery lists are lost": "limit: of one, on|event: a handler",
    "a job that ends its thread is not ended": "trampoline",
    # One check kills each of these, and gets all of the time.
    "serial.c: describe_serial: load_acquire becomes load_relaxed": "dump", "serial.c: csched_serial_set_name: store_release becomes store_relaxed": "dump",
    "rwlock: the last reader ends before it has locked the bucket": "rwlock: freed", "rwlock: a reader's failed end counts as its end": "rwlock: a writer gives up as",
    "rwlock: the word is read after the writer's unlock": "rwlock: freed by a writer", "rwlock: a writer that gives up stays registered as waiting": "rwlock: a writer gives up", "rwlock: a writer that gives up keeps the writers' lock": "rwlock: a writer gives up",
    "rwlock: a writer that locks again is not noticed": "rwlock: written twice", "rwlock: a writer's wait for its own read is not noticed": "rwlock: written by its", "rwlock: a read unlock without a reader is not noticed": "rwlock: a read unlock",
    "rwlock: a write unlock without the write lock is not noticed": "rwlock: a write unlock", "rwlock: a destroy beside a reader is not noticed": "rwlock: destroyed",
    "loop_fd.c: csched_fds_wake_: load_acquire becomes load_relaxed": "poller: opened while a wake",
    "pool_monitor.c: end_watch: fence_full becomes fence_compiler": "pool: a job ends its thread|pool monitor",
    "an owner whose thread number is reused counts as ended": "lock: unlocked by a thread whose",
    "parking.c: csched_sleeper_wait_: load_acquire 2 becomes load_relaxed": "lock: a signal at the deadline",
    "planted: a hand-off is signalled though another thread has taken the lock": "mixed lock",
    "an inline unlock ignores the flag of a starved sleeper": "lock: a starved", "the lock is not handed to the starved sleeper": "lock: a starved",
    "a lock taken past its sleepers is not counted": "lock: a starved", "a starved sleeper sets no flag": "lock: a starved",
    "a sleeper leaves without a search for the next starved one": "lock: a starved",
    "pool_pick.c: csched_pool_keep_: store_release becomes store_relaxed": "pool kept job: awaited by its submitter, before", "pool_pick.c: csched_pool_claim_kept_: exchange_acquire becomes exchange_relaxed": "pool kept job: awaited by its submitter, before",
    "pool: a queue continues beside a follow-up": "pool kept job: a follow-up, before", "pool: a follow-up runs though another worker has taken it": "pool kept job: a follow-up, whose",
    "pool: no check for kept jobs before a sleep": "pool kept", "pool: two workers take the same kept job": "pool kept", "pool: a kept job is not announced": "pool kept",
    "pool: a search that ends with a queued job does not check for kept jobs": "pool kept job: beside a queued", "pool: a kept job is lost when its worker has other work": "pool kept",
    "pool: a busy worker does not check for kept jobs": "pool kept job: awaited by its submitter, beside",
    "a helper's job does not know what the helper holds": "serial: a helper's job", "a helper's job counts as inside of the helper's targets": "serial: a helper's job",
    "pool: a waiter steals after its spawn is done": "pool spawn: a waiter beside", "pool: a waiter steals from any worker": "pool spawn: a waiter beside",
    "pool: a waiter steals from no worker": "pool spawn: a waiter runs", "pool: a thief does not name itself": "pool spawn: a waiter runs",
    "pool: a waiting thread donates no priority": "pool: a high-priority job", "pool: a priority donation does not end": "pool: a high-priority job",
    "planted: lower priorities wait for ever": "pool: a high-priority job",
    "planted: a pool may free itself before a second joiner": "pool end: stopped from inside",
    "pool: a worker that has left does not look for work": "pool end: (one|two) worker",
    "pool: a surplus worker leaves though the others are blocked": "pool end|pool monitor",
    "pool.c: csched_pool_may_leave_: store_release becomes store_relaxed": "pool end: a queue resumed",
    "pool.c: rest_of_pool: load_acquire becomes load_relaxed": "pool end: a queue resumed",
    "pool: the watch of a stopped pool does not wake the monitor": "pool monitor|pool end: (one|two) worker",
    "planted: a consumer parks with jobs in its own list": "serial",
    "planted: a slot keeps its first wake": "timer|mixed timer", "planted: a cascade opens a slot one tick late": "timer|mixed timer",
    "planted: a close to drop during a close to run is ignored": "mixed loop: closed", "planted: a sync enters a suspended queue": "mixed serial",
    "planted: a resume clears the mark while suspensions remain": "mixed serial", "planted: a finished wait still counts as a wait": "mixed serial",
    "planted: an inner run takes the outer one's stop": "mixed loop", "planted: run_once leaves a stop pending": "mixed loop",
    "loop: a timer overtakes a timer in delivery": "loop: equal deadlines of a queue, one",
    "virtual: a nested sync ends the drive around it": "virtual: a timer of a queue",
    "pool_idle.c: csched_pool_start_failed_: fence_full becomes fence_compiler": "pool monitor: a thread that could not start",
    "job.c: csched_job_end_cancel_: fence_light_ becomes fence_compiler": "task: dropped while another",
    "lock.c: lock_contended: fence_heavy_ becomes fence_compiler": "lock: a timed lock gives up and",
    "loop_fd.c: mark_open: store_release becomes store_relaxed": "poller: opened while a wake",
    # To kill these takes one departure at one certain step: one check gets all of the time.
    "a timer that is inserted after its cancel hides its wake": "timer: beside a cancelled entry",
    "timer: an overdue timer overtakes waiting timers": "loop: equal deadlines that come late, beside",
    "timer: an overdue timer waits behind a timer that has passed": "loop: equal deadlines that come late at the end",
    "delivery: a loop is freed during a delivery": "delivery: a loop",
    "a check takes the mark of a parked queue for a job": "host: its thread",
    "a cancelled entry that a check dequeues is not released": "host: its thread",
    "pool: the check before a sleep is racy": "pool: a batch for a busy worker",
    "pool: a search that ends with a queued job does not check for spawns": "pool spawn: a queued job and a spawn",
    "pool: workers end while jobs are queued": "pool end: two idle workers",
    "delivery: the monitor drops refused jobs": "clock: a refused job", "delivery: the clocks' thread delivers to a custom target": "clock: a custom target",
    "delivery: the monitor drops waiting jobs at its end": "pool delivery: stopped",
    "delivery: the jobs behind a delivery are put back at the end": "pool delivery: three", "delivery: the end of a pool leaves the inbox of deliveries open": "pool delivery: a late",
    "delivery.c: csched_delivery_must_follow_: load_acquire becomes load_relaxed": "clock: a custom target is notified by a worker",
    "delivery.c: csched_delivery_done_: fetch_add_release becomes fetch_add_relaxed": "pool delivery: the second late",
    "pool_internal.h: csched_pool_slots_used_: load_acquire becomes load_relaxed": "pool: a job ends its thread, which is replaced",
    "pool_worker.c: init_slot_locked: store_release becomes store_relaxed": "pool: a job ends its thread, which is replaced",
    "pool: a failed start does not signal": "pool: the system has no second thread",
}

EQUIVALENT = {
    "trace.c: ring_of: cas_release becomes cas_relaxed": "it publishes zeroes, which count as seen by all threads in the checker",
    "trace.c: seen_ring: load_acquire becomes load_relaxed": "pairs with ring_of: only zeroes are published",
    # The table of kinds of jobs, and the list of observers, are static and stay from one run to the next; so do the tables of waits and targets when
    # they have been made. ThreadSanitizer checks them in "statistics beside changes" and "a trace beside changes".
    "observe.c: tables_here: load_acquire becomes load_relaxed": "not in the model",
    "observe.c: begin_figures: store_release becomes store_relaxed": "no figures are used again in the model",
    "observe.c: csched_figures_belong_to_: load_acquire becomes load_relaxed": "the same",
    "observe.c: csched_observers_: load_acquire becomes load_relaxed": "the same",
    "observe.c: acquire_observer: cas_acquire becomes cas_relaxed": "the same",
    "observe.c: make_observer: cas_release becomes cas_relaxed": "the same",
    "observe.c: release_observer: store_release becomes store_relaxed": "the same",
    "observe.c: csched_observe_code_at_: store_release becomes store_relaxed": "the same",
    "observe.c: has_code: load_acquire becomes load_relaxed": "the same",
    "observe.c: csched_observe_code_of_: load_acquire becomes load_relaxed": "the same",
    "observe.c: code_of: load_acquire becomes load_relaxed": "the same",
    "observe.c: csched_observe_begin_: store_release becomes store_relaxed": "the same",
    # Equivalent in the checker, in which no load reads from the future: an owner reuses a slot when it has seen `top` beyond it, so its write follows
    # the thief's read of the slot. A machine may move a read behind a later write: there the two orderings are needed.
    "deque.c: csched_deque_steal_until_: cas_release becomes cas_relaxed": "the slot is written after it was read, unless loads read from the future",
    "deque_internal.h: csched_deque_push_: load_acquire becomes load_relaxed": "the slot is written after it was read, unless loads read from the future",
    # Equivalent in the checker, where the initialisation of a lock in static memory, which is empty, precedes all operations of the lock. On a
    # machine the initialisation could come after another thread's hold of the lock.
    "clock.c: start: store_release becomes store_relaxed": "the lock of the queue, once it exists, publishes the clocks",
    "clock.c: observe: load_acquire becomes load_relaxed": "the lock of the queue, once it exists, publishes the clocks",
    # Likewise: the timers that a timer enters may be made in the middle of the submission (a pool's monitor, the clocks).
    "timer.c: csched_timers_init_: store_release becomes store_relaxed": "the lock of the timers, once it exists, publishes them",
    "timer.c: withdraw_timer: load_acquire becomes load_relaxed": "the lock of the timers, once it exists, publishes them",
    # These order memory for a child of fork (TM4); for threads the central cache's lock orders it. The checker has no forks.
    "task.c: csched_task_cancel: load_acquire becomes load_relaxed": "a repeating task is a timer, whose cancel continues with an acquire or a heavy fence (timer.c, W6, W8); ThreadSanitizer does not know the fence",
    "task_memory.c: add_batch: store_release becomes store_relaxed": "for threads the lock publishes it; the checker has no forks",
    "task_memory.c: add_pages: store_release becomes store_relaxed": "as for add_batch",
    "thread.c: set_phase: store_release becomes store_relaxed": "it orders the thread's reads of its options: the checker does not check this plain memory",
    "thread.c: start_thread: load_acquire becomes load_relaxed": "as for set_phase",
    "task_memory.c: take_batch: store_release becomes store_relaxed": "as for add_batch",
    "task_memory.c: csched_trim: store_release becomes store_relaxed": "as for add_batch",
    # A submitter that skips a wake because enough workers run, though more could (F3), has the monitor watch. Its first check finds the waiting
    # work, and the worker that is counted as blocked.
    "pool_idle.c: csched_pool_count_blocked_: fence_full becomes fence_compiler": "the first check of the monitor wakes the worker",
}

MUTANTS = [mutant for folder in (clock, diagnostics, include, job, loop, pool, queue, sync, targets, time) for mutant in folder.MUTANTS]

# Killed by the C tests, on the real system, because the checker's pollers have no descriptors. SYSTEM: a pattern for the test of each.
SYSTEM = {
    "pending wakes are not collected": "a level is reported again, an edge once",
    "planted: stale events go by the number alone": "reports of the copy of an old descriptor reach no source",
    "the wait for a timer does not check whether its run was unwound": "a job that is left by longjmp has ended",
    "a loop that is being destroyed may be destroyed": "a loop that its own job destroys stops the process",
}
BY_SYSTEM = [
    ("pending wakes are not collected", "loop/loop_fd.c", "", "if (is_open(fds)) poll_sources(fds, false);", ""),
    ("the wait for a timer does not check whether its run was unwound", "time/timer.c", "csched_timer_cancel_and_wait",
     "csched_frames_end_unwound_(CSCHED_CALLER_FRAME());", ""),
    ("a loop that is being destroyed may be destroyed", "loop/loop_life.c", "csched_loop_free_",
     'loop->refusal = "being destroyed. Do not destroy it from what it drops or releases meanwhile.";', ""),
    ("planted: stale events go by the number alone", "loop/loop_fd.c", "FD3",
     "if (source == NULL || source->serial != events[i].tag >> 32) {", "if (source == NULL) {"),
]
