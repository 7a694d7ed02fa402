"""Faults that Tools/fuzz --self-test plants, one at a time: the corpus of the target must kill each.

(name, target, file in Sources/CScheduler, what is replaced: a regular expression that matches once, by what)
"""

FAULTS = [
    ("a slot keeps its first wake", "wheel", "time/timer.c", r"LIST_EMPTY\(&slot->timers\) \|\| wake < slot->wake", "LIST_EMPTY(&slot->timers)"),
    ("a slot opens one tick late", "wheel", "time/timer.c", r"if \(begin > tick\)", "if (begin >= tick)"),
    ("a timer at the end of time is not dropped", "wheel", "time/timer.c", r"if \(timer == NULL && now == CSCHED_FOREVER\) timer = TAILQ_FIRST\(&timers->never\);", ""),
    ("a moved timer keeps its old order", "wheel", "time/timer.c", r"  timer->order = \+\+timers->last_order;", "  if (timer->order == 0) timer->order = ++timers->last_order;"),
    ("a removed first timer hides the wake of the next", "wheel", "time/timer.c", r"timers->is_wake_low = true;", "csched_store_relaxed(&timers->wake, CSCHED_FOREVER);"),
    ("a close to drop during a close to run is ignored", "loops", "loop/loop_stop.c", r"while \(!csched_loop_is_dropping_\(loop\) && \((.*)\)\n", r"for (bool drops = csched_loop_is_dropping_(loop); !drops && (\1;)\n"),
    ("a nested run takes the stop of the outer run", "loops", "loop/loop.c", r"if \(activation == NULL \|\| csched_load_relaxed\(&activation->ended\) == 0\) \{", "{"),
    ("run_once leaves a stop pending", "loops", "loop/loop_run.c", r"csched_store_relaxed\(&loop->ending, 0u\);", ""),
    ("a sync enters a suspended queue", "loops", "queue/serial.c", r"!is_suspended\(serial\) && csched_target_enter_inline_", "csched_target_enter_inline_"),
    ("a resume clears the mark while suspensions remain", "loops", "queue/serial.c", r"hold - SUSPENSION == STALLED \? 0 : hold - SUSPENSION;", "(hold - SUSPENSION) & ~(uint32_t)STALLED;"),
    ("a close does not wake a thread that sleeps on the poller", "host", "loop/loop_stop.c", r"if \(csched_mpsc_close\(&loop->inbox\)\) csched_loop_wake_\(loop\);", "(void)csched_mpsc_close(&loop->inbox);"),
    ("stale events go by the number alone", "host", "loop/loop_fd.c", r"source == NULL \|\| source->serial != events\[i\]\.tag >> 32", "source == NULL"),
    ("a stale event brings back an alarm that has rung", "host", "platform/linux/linux_poller.c", r"poller->armed != CSCHED_FOREVER \? EPOLLIN \| EPOLLET : EPOLLET", "EPOLLIN | EPOLLET"),
    ("a nested frame runs the outer jobs", "trampoline", "targets/trampoline.c", r"  my_trampoline->start = my_trampoline->last; // TP2[^\n]*\n", ""),
    ("the clocks' thread does not set the alarm again", "clocks", "clock/clock.c", r"\n  set_alarm\(queue\);([^\n]*\n\})", r"\n\1"),
    ("a broadcast is not passed on", "waits", "sync/cond.c", r"bool must_wake = signal == WAKE_NEXT;", "(void)signal; bool must_wake = false;"),
    ("a waiter that gives up returns false though a broadcast marked it", "waits", "sync/cond.c", r"return signal != 0 \|\| waiter\.is_marked;", "return signal != 0;"),
    ("a waiter that gives up stays in the bucket", "waits", "sync/waiting.c", r"if \(was_queued\) csched_bucket_remove_locked_\(bucket, waiter\);", ""),
    ("an unlock forgets the recursion count", "waits", "sync/rlock.c", r"if \(rlock->again > 0\) rlock->again--;[^\n]*\n  else ", "rlock->again = 0;\n  "),
    ("units beyond those for waiters are lost", "waits", "sync/semaphore.c", r"units \* UNIT\); +// SM2", "0u); // SM2"),
    ("a latch that opens wakes one", "waits", "sync/latch.c", r"while \(opens && ", "if (opens && "),
    ("a group that ends wakes one", "waits", "queue/group.c", r"while \(empties && ", "if (empties && "),
    ("a group calls the last notice first", "waits", "queue/group.c", r"csched_group_notice \*each = first, \*next; each", "csched_group_notice *each = newest, *next; each"),
    ("a writer that gives up blocks the readers", "waits", "sync/rwlock.c", r"~\(uint32_t\)WRITER\); +// RW5", "~(uint32_t)0); // RW5"),
    ("a value merged inside a handler is not reported", "waits", "queue/event.c", r"if \(\(seen & VALUE\) != 0\) \{", "if (false) {"),
]
