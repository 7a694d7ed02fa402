"""Faults that Tools/fuzz --self-test plants, one at a time: the corpus of the target must kill each.

(name, target, file in Sources/CScheduler, what is replaced: a regular expression that matches once, by what)
"""

FAULTS = [
    ("a slot keeps its first wake", "wheel", "core/timer.c", r"LIST_EMPTY\(&slot->timers\) \|\| wake < slot->wake", "LIST_EMPTY(&slot->timers)"),
    ("a slot opens one tick late", "wheel", "core/timer.c", r"if \(begin > tick\)", "if (begin >= tick)"),
    ("what never comes is not dropped", "wheel", "core/timer.c", r"if \(timer == NULL && now == CSCHED_FOREVER\) timer = TAILQ_FIRST\(&timers->never\);", ""),
    ("a move forgets its new order", "wheel", "core/timer.c", r"  timer->order = \+\+timers->last_order;", "  if (timer->order == 0) timer->order = ++timers->last_order;"),
    ("a timer that leaves first hides the wake of the next", "wheel", "core/timer.c", r"timers->is_wake_low = true;", "csched_store_relaxed(&timers->wake, CSCHED_FOREVER);"),
    ("DROP after RUN is not heard", "loops", "core/loop.c", r"while \(!is_dropping\(loop\) && \((.*)\)\n", r"for (bool drops = is_dropping(loop); !drops && (\1;)\n"),
    ("a run takes the stop that another reason spared", "loops", "core/loop.c", r"if \(activation == NULL \|\| csched_load_relaxed\(&activation->ended\) == 0\)\n", "\n"),
    ("run_once leaves a stop pending", "loops", "core/loop.c", r"csched_store_relaxed\(&loop->ending, 0u\);([^\n]*\n\s*break;\n\s*\}\n\s*wait_for_work\(loop, NULL)", r"\1"),
    ("a sync enters a suspended queue", "loops", "core/serial.c", r"!is_suspended\(serial\) && csched_target_enter_inline_", "csched_target_enter_inline_"),
    ("a resume forgets the mark of those left", "loops", "core/serial.c", r"hold - SUSPENSION == STALLED \? 0 : hold - SUSPENSION;", "(hold - SUSPENSION) & ~(uint32_t)STALLED;"),
    ("a close wakes nobody who sleeps on the poller", "host", "core/loop.c", r"if \(csched_mpsc_close\(&loop->inbox\)\) wake\(loop\);", "(void)csched_mpsc_close(&loop->inbox);"),
    ("stale events go by the number alone", "host", "core/loop_fd.c", r"source == NULL \|\| source->serial != events\[i\]\.tag >> 32", "source == NULL"),
    ("a stale event brings back an alarm that has rung", "host", "platform/linux/linux_poller.c", r"poller->armed != CSCHED_FOREVER \? EPOLLIN \| EPOLLET : EPOLLET", "EPOLLIN | EPOLLET"),
    ("a nested level runs the jobs below", "trampoline", "core/trampoline.c", r"(frame->outer_start = mine->start;\n)  mine->start = mine->last;", r"\1"),
    ("the clocks' thread leaves the alarm as it was", "clocks", "core/clock.c", r"\n  set_alarm\(queue\);([^\n]*\n\})", r"\n\1"),
]
