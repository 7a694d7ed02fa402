"""Faults to be seeded into the Swift source, one at a time, and each ordering weakened. Each must be killed by a check.

GROUP_OF: for each group of checks, the files that it looks after. MUTANTS: (name, file, text, what it becomes). CHECKS: for each
file, or for one mutant, the names, as a pattern, of the checks that are to kill what is wrong in it. EQUIVALENT: mutants that
change nothing that anyone could see, each with the proof.
"""

import re

GROUP_OF = {
    "slots": ["SingleAssignmentDisposable", "SerialDisposable", "RefCountDisposable"],
    "disposables": ["CompositeDisposable", "AnonymousDisposable", "AnyDisposable", "BinaryDisposable", "NaryDisposable",
                    "ScopedDisposable", "BooleanDisposable", "LifetimeRegistration"],
    "actions": ["ClosureTask", "ScheduledAction", "PeriodicAction", "ActionEnd", "DropReport"],
    "virtual": ["ConvertedTimeline", "VirtualTimeScheduler+Driving", "VirtualTimeScheduler", "Occurrence", "SchedulerType+Periodic"],
    "blocking": ["BlockingSink", "RunLoopLock"],
}

CHECKS = {
    "periodic action: nobody holds it while it looks again": "periodic action: disposed and let go of",
    "SingleAssignmentDisposable": "single assignment", "SerialDisposable": "serial disposable", "CompositeDisposable": "composite",
    "RefCountDisposable": "reference count", "AnonymousDisposable": "anonymous", "AnyDisposable": "any disposable",
    "BinaryDisposable": "binary", "NaryDisposable": "n-ary", "ScopedDisposable": "scoped", "BooleanDisposable": "boolean",
    "LifetimeRegistration": "lifetime", "ClosureTask": "plain action", "ScheduledAction": "action",
    "PeriodicAction": "periodic action", "ActionEnd": "end of an action", "DropReport": "drop", "Occurrence": "virtual",
    "ConvertedTimeline": "virtual", "VirtualTimeScheduler+Driving": "virtual", "VirtualTimeScheduler": "virtual", "SchedulerType+Periodic": "virtual", "BlockingSink": "blocking", "RunLoopLock": "run loop lock",
}

EQUIVALENT = {
    # To the checker, in which no run of Swift ends its thread. One that returns has said so before the core's wait ends.
    "end of an action: who waits does not look at an end in between": "the core's wait carries a run that returns",
}

# Two steps in place of one.
EXCHANGED = "disposed.exchange(true, ordering: .releasing)"
SPLIT = "({ let was = disposed.load(ordering: .acquiring); disposed.store(true, ordering: .releasing); return was })()"

MUTANTS = [
    # SingleAssignmentDisposable.swift
    ("single assignment: a second set is not noticed", "SingleAssignmentDisposable", "if old & Self.claimed != 0 {", "if old == .max {"),
    ("single assignment: a set does not look whether it was disposed in between", "SingleAssignmentDisposable",
     "guard before & Self.disposed != 0 else { return }", "guard before == .max else { return }"),
    ("single assignment: a reader comes in after the disposal", "SingleAssignmentDisposable",
     "guard old & (Self.published | Self.disposed) == Self.published else", "guard old & Self.published != 0 else"),
    ("single assignment: a reader comes in before the child", "SingleAssignmentDisposable",
     "guard old & (Self.published | Self.disposed) == Self.published else", "guard old & (Self.claimed | Self.disposed) == Self.claimed else"),
    ("single assignment: a disposal takes the child from a reader", "SingleAssignmentDisposable",
     "if old < 2 * Self.hold { return child.take() } let found", "if old < .max { return child.take() }; let found"),
    ("single assignment: the last one leaves the field as it is", "SingleAssignmentDisposable", "if old < 2 * Self.hold { child = nil }", ""),
    ("single assignment: everyone who leaves empties the field", "SingleAssignmentDisposable", "if old < 2 * Self.hold { child = nil }", "child = nil"),
    ("single assignment: a disposal in two steps", "SingleAssignmentDisposable",
     "let (won, seen) = word.weakCompareExchange( expected: old, desired: new, ordering: .acquiringAndReleasing)",
     "let (won, seen) = (true, old); atomicMemoryFence(ordering: .acquiringAndReleasing); word.store(new, ordering: .releasing)"),
    ("single assignment: a set publishes in two steps", "SingleAssignmentDisposable",
     "let before = word.wrappingAdd( Self.published | Self.hold, ordering: .releasing ).oldValue",
     "let before = word.load(ordering: .relaxed); word.store(before + (Self.published | Self.hold), ordering: .releasing)"),
    # SerialDisposable.swift
    ("serial disposable: a swap does not look whether it is disposed", "SerialDisposable", "guard !disposed.load(ordering: .relaxed) else {", "guard lock.pointer.pointee.owner != .max else {"),
    ("serial disposable: marked after the lock", "SerialDisposable",
     "disposed.store(true, ordering: .releasing) let old = current.take() lock.unlock()",
     "let old = current.take(); lock.unlock(); disposed.store(true, ordering: .releasing)"),
    ("serial disposable: a reader without the lock", "SerialDisposable", "lock.lock() let found = current lock.unlock()", "let found = current"),
    ("serial disposable: what is held stays after a disposal", "SerialDisposable",
     "let old = current.take() lock.unlock() return old } }", "let old = current; lock.unlock(); return old } }"),
    # CompositeDisposable.swift
    ("composite: an insert does not look whether it is disposed", "CompositeDisposable", "guard !disposed.load(ordering: .relaxed) else {", "guard lock.pointer.pointee.owner != .max else {"),
    ("composite: marked after the lock", "CompositeDisposable",
     "disposed.store(true, ordering: .releasing) let all = children.takeAll() lock.unlock()",
     "let all = children.takeAll(); lock.unlock(); disposed.store(true, ordering: .releasing)"),
    ("composite: a take without the lock", "CompositeDisposable", "lock.lock() let child = children.take(key.id) lock.unlock()", "let child = children.take(key.id)"),
    ("composite: a count without the lock", "CompositeDisposable", "lock.withLock { children.count }", "children.count"),
    ("composite: the children stay after a disposal", "CompositeDisposable", "let all = children.takeAll()", "let all = children"),
    # RefCountDisposable.swift
    ("reference count: a dependent comes to a final word", "RefCountDisposable", "while old != Self.primary {", "while old != .max {"),
    ("reference count: a new dependent in two steps", "RefCountDisposable",
     "let (won, seen) = word.weakCompareExchange( expected: old, desired: old + Self.dependent, ordering: .relaxed)",
     "let (won, seen) = (true, old); word.store(old + Self.dependent, ordering: .relaxed)"),
    ("reference count: the primary does not wait for dependents", "RefCountDisposable", "return old == 0 ? underlying.take() : nil", "return old & Self.primary == 0 ? underlying.take() : nil"),
    ("reference count: a primary that is disposed again is the last", "RefCountDisposable", "return old == 0 ? underlying.take() : nil", "return old < Self.dependent ? underlying.take() : nil"),
    ("reference count: the last dependent does not wait for the primary", "RefCountDisposable", "return new == Self.primary ? underlying.take() : nil", "return new < Self.dependent ? underlying.take() : nil"),
    ("reference count: the last but one is the last", "RefCountDisposable", "return new == Self.primary ? underlying.take() : nil", "return new == Self.primary + Self.dependent ? underlying.take() : nil"),
    ("reference count: a dependent leaves in two steps", "RefCountDisposable", "guard !" + EXCHANGED, "guard !" + SPLIT),
    ("reference count: the primary leaves in two steps", "RefCountDisposable", "let old = word.bitwiseOr(Self.primary, ordering: .acquiringAndReleasing).oldValue",
     "let old = word.load(ordering: .acquiring); word.store(old | Self.primary, ordering: .releasing)"),
    # those that do it once
    ("anonymous: disposed in two steps", "AnonymousDisposable", EXCHANGED, SPLIT),
    ("anonymous: the closure stays", "AnonymousDisposable", "action.call()", "action.call(); self.action = consume action"),
    ("any disposable: disposed in two steps", "AnyDisposable", EXCHANGED, SPLIT),
    ("any disposable: the closure stays", "AnyDisposable", "action.call() return nil", "action.call(); self.action = consume action; return nil"),
    ("any disposable: the child stays", "AnyDisposable", "else { return child.take() }", "else { return child }"),
    ("binary: disposed in two steps", "BinaryDisposable", "func dispose() { guard !" + EXCHANGED, "func dispose() { guard !" + SPLIT),
    ("binary: handed over in two steps", "BinaryDisposable", "(into walk: inout DisposalWalk) { guard !" + EXCHANGED, "(into walk: inout DisposalWalk) { guard !" + SPLIT),
    ("binary: handed over without the first", "BinaryDisposable", "walk.push(first, second)", "walk.push(second)"),
    ("n-ary: disposed in two steps", "NaryDisposable", EXCHANGED, SPLIT),
    ("scoped: disposed in two steps", "ScopedDisposable", EXCHANGED, SPLIT),
    ("scoped: a release does not dispose", "ScopedDisposable", "DisposalWalk.disposeOnRelease { detachChildren(into: &$0) }",
     "DisposalWalk.release { detachChildren(into: &$0) }"),
    # ClosureTask.swift, DropReport.swift
    ("drop: told by who drops and by who submits", "DropReport", "return !isLeft", "return true"),
    ("drop: told by nobody", "DropReport", "== Self.dropped }", "> Self.dropped }"),
    ("plain action: who waits does not wait", "ClosureTask", "csched_task_cancel_and_wait(task)", "csched_task_cancel(task)"),
    ("plain action: a disposal does not cancel", "ClosureTask", "func dispose() { csched_task_cancel(task) }", "func dispose() {}"),
    ("plain action: what runs stays in its memory", "ClosureTask", "let held = Held.of(job).move() if", "let held = csched_job_is_idle(job!) ? Held.of(job).move() : Held(work: HeldClosure(Held.of(job).pointee.work.call), origin: ActionOrigin(nil, tag: nil)); if"),
    # ScheduledAction.swift: its links
    ("action: its end does not look whether it is disposed", "ScheduledAction", "let holder = links.end(), late = links.late.take() if isDisposed",
     "let isDisposed = false; let holder = links.end(), late = links.late.take(); if isDisposed"),
    ("action: what comes late is not disposed", "ScheduledAction", "if isLate { returned?.dispose() }", ""),
    ("action: the holder is not led on", "ScheduledAction", "if let holder { holder.replace(self, by: isLate ? nil : returned) } else if", "if holder != nil {} else if"),
    ("action: an action that is over gets a holder", "ScheduledAction", "if !links.isOver { swap(&links.holder, &other) }", "swap(&links.holder, &other)"),
    ("action: who waits does not get what comes late", "ScheduledAction", "late?.returned = returned", "_ = late"),
    ("action: a wait is not announced", "ScheduledAction", "if !links.isOver { links.late = late }", ""),
    ("action: who waits does not wait", "ScheduledAction", "ending.wait(for: storage.job) return withLinks", "return withLinks"),
    ("action: one that has run already is not passed over", "ScheduledAction", "if isOver { replace(next, by: further) }", ""),
    ("action: what replaces the next is not held", "ScheduledAction", "if isReplaced { hold(next) }", ""),
    ("action: who is over keeps its holder", "ScheduledAction", "isOver = true return holder.take()", "isOver = true; return holder"),
    ("action: who is over does not say so", "ScheduledAction", "isOver = true return holder.take()", "return holder.take()"),
    ("action: whoever is disposed disposes what it led to, again", "ActionChain",
     "guard links.returned as AnyObject? === old else { return false }", "guard links.returned as AnyObject? === old else { next?.dispose(); return false }"),
    # ScheduledAction.swift
    ("action: what is dropped is not over", "ScheduledAction", "let holder = withLinks { links, _ in links.end() } _ = consume holder", ""),
    ("action: what is dropped keeps its work", "ScheduledAction", "ending.within { body = nil", "ending.within {"),
    ("action: a disposal leaves what was returned", "ScheduledAction", "return (!isDisposed, links.returned.take())", "return (!isDisposed, links.returned)"),
    ("action: a disposal does not cancel", "ScheduledAction", "if core == nil { csched_job_cancel(storage.job) }", "if core == nil {}"),
    # PeriodicAction.swift
    ("periodic action: a tick does not look again after it is submitted", "PeriodicAction", "if disposed.load(ordering: .relaxed) { csched_timer_cancel(storage.timer) }", ""),
    ("periodic action: nobody holds it while it looks again", "PeriodicAction",
     "let held = Unmanaged.passRetained(self) defer { held.release() }", ""),
    ("periodic action: a disposal only marks", "PeriodicAction", 
     "atomicMemoryFence(ordering: .sequentiallyConsistent) csched_timer_cancel(storage.timer)", "atomicMemoryFence(ordering: .sequentiallyConsistent)"),
    ("periodic action: a disposal cancels before it marks", "PeriodicAction",
     "disposed.store(true, ordering: .releasing) atomicMemoryFence(ordering: .sequentiallyConsistent) csched_timer_cancel(storage.timer)",
     "csched_timer_cancel(storage.timer); atomicMemoryFence(ordering: .sequentiallyConsistent); disposed.store(true, ordering: .releasing)"),
    ("periodic action: what is dropped keeps its work", "PeriodicAction", "ending.within { work = nil }", ""),
    ("periodic action: a tick does not look when it begins", "PeriodicAction", "if !disposed.load(ordering: .relaxed) { ending.within", "do { ending.within"),
    ("periodic action: the last tick does not end it", "PeriodicAction", "self.work = consume work finish() return", "return"),
    ("periodic action: who waits does not wait", "PeriodicAction", "dispose() ending.wait()", "dispose()"),
    # ActionEnd.swift
    ("end of an action: a drop wakes nobody", "ActionEnd", "if old & Self.awaited != 0 { wake(word) }", ""),
    ("end of an action: a thread that is inside waits for itself", "ActionEnd", "while !isOver, inside.load(ordering: .relaxed) != csched_swift_thread_() {", "while !isOver {"),
    ("end of an action: nobody is inside", "ActionEnd", "inside.store(csched_swift_thread_(), ordering: .relaxed)", ""),
    ("end of an action: who waits does not look at a drop", "ActionEnd", "else { return wait() }", "else { return }"),
    ("end of an action: who waits does not wait for the run", "ActionEnd", "let found = csched_job_cancel_and_wait(job)", "let found = CSCHED_CANCEL_RUNNING"),
    ("end of an action: who waits does not look at an end in between", "ActionEnd", "if found != CSCHED_CANCEL_RUNNING { wait() }", ""),
    ("end of an action: it is never over", "ActionEnd", "word.exchange(Self.over, ordering: .releasing)", "word.load(ordering: .relaxed)"),
    ("periodic action: what is over keeps the scheduler", "PeriodicAction", "func letGo() { core.letGo()", "func letGo() {"),
    # Occurrence.swift
    ("virtual: what happens is not counted", "Occurrence", "count.add(1, ordering: .relaxed)", ""),
    # SchedulerType+Periodic.swift
    ("virtual: ticks: who waits does not wait", "SchedulerType+Periodic", "guard state.inside != 0, state.inside != csched_swift_thread_() else", "guard state.inside == .max else"),
    ("virtual: ticks: who waits is not noted", "SchedulerType+Periodic", "state.isAwaited = true return ends.mark", "return ends.mark"),
    ("virtual: ticks: the end of a tick wakes nobody", "SchedulerType+Periodic", "isAwaited ? ends.happen() : ()", "()"),
    ("virtual: ticks: one that is over keeps its action", "SchedulerType+Periodic", "if state.isOver, let action = state.action.take() { return (action, false) }", ""),
    # ConvertedTimeline.swift
    ("virtual: a time takes the place of a later one", "ConvertedTimeline", "guard present.version == seen.version else { return false }", ""),
    ("virtual: an advance does not say where it goes", "ConvertedTimeline", "replace(goal, by: time, tick) return tick", "return tick"),
    # VirtualTimeScheduler.swift
    ("virtual: the end keeps what waits", "VirtualTimeScheduler", "deinit { csched_virtual_close(timeline.pointer) }", ""),
    # VirtualTimeScheduler+Driving.swift
    ("virtual: who has driven does not say when it is", "VirtualTimeScheduler+Driving", "drive(CSCHED_VIRTUAL_ADVANCE, tick, \"advance\") timeline.arrive(at: time, tick)", "drive(CSCHED_VIRTUAL_ADVANCE, tick, \"advance\")"),
    # BlockingSink.swift
    ("blocking: an element is kept after the end", "BlockingSink", "guard state.outcome == nil else { return (false, false) }", ""),
    ("blocking: a second outcome takes the place of the first", "BlockingSink", "guard state.outcome == nil else { return false } state.outcome = outcome", "state.outcome = outcome"),
    ("blocking: the end wakes nobody", "BlockingSink", "subscription.dispose() lock.stop()", "subscription.dispose()"),
    ("blocking: the end does not dispose", "BlockingSink", "subscription.dispose() lock.stop()", "lock.stop()"),
    ("blocking: waking comes before the disposal of the source", "BlockingSink", "subscription.dispose() lock.stop()", "lock.stop(); subscription.dispose()"),
    ("blocking: an outcome keeps the predicate", "BlockingSink", "swap(&predicate, &state.predicate) return true", "return true"),
    ("blocking: enough keeps the predicate", "BlockingSink", "swap(&over, &state.predicate)", ""),
    # RunLoopLock.swift
    ("run loop lock: a stop before the loop is not looked at", "RunLoopLock", "if state.isStopped { csched_activation_end_run(activation) }", ""),
    ("run loop lock: a stop is not written down", "RunLoopLock", "state.isStopped = true", ""),
    ("run loop lock: a stop does not stop the activation", "RunLoopLock", "if let activation = state.activation { csched_activation_end_run(activation) }", ""),
    ("run loop lock: the end is not closed", "RunLoopLock", "state.withLock { $0.isClosed = true }", ""),
    ("run loop lock: what is left is not performed", "RunLoopLock", "while performNext() {}", ""),
    ("run loop lock: closed after what is left", "RunLoopLock", "state.withLock { $0.isClosed = true } while performNext() {}", "while performNext() {}; state.withLock { $0.isClosed = true }"),
    ("run loop lock: a dispatch wakes nobody", "RunLoopLock", "state.add(action, waking: state.loop.map { submitNext(to: $0) })", "state.add(action, waking: nil)"),
    ("run loop lock: what woke the loop stays there", "RunLoopLock", "wake?.dispose()", ""),
    ("run loop lock: what was dispatched before the loop waits for its end", "RunLoopLock", "for _ in 0..<dispatched { perform(on: loop) }", ""),
    ("run loop lock: the loop's address stays", "RunLoopLock", "defer { state.withLock { ($0.loop, $0.activation) = (nil, nil) } }", ""),
    ("run loop lock: a second run is not noticed", "RunLoopLock", "if isSecond {", "if isSecond && timeout == .zero {"),
    ("run loop lock: a stop in the end of the time is a timeout", "RunLoopLock", "while performNext() {} return isStopped", "while performNext() {}; return isStopped && isOver"),
]

# What each ordering may become.
WEAKER = {"acquiring": ["relaxed"], "releasing": ["relaxed"], "acquiringAndReleasing": ["acquiring", "releasing"],
          "sequentiallyConsistent": ["acquiringAndReleasing"]}  # of fences
ORDERING = re.compile(r"ordering: \.(" + "|".join(sorted(WEAKER, key=len, reverse=True)) + r")\b")
FUNCTION = re.compile(r"^ {0,2}(?:[a-z()]+ )*(?:func|var) (\w+)")


def weakenings(stem, file, text):
    """Yields (name, file, mutated text) for each."""
    position, function, counts = 0, "", {}
    for line in text.split("\n"):
        found = FUNCTION.match(line)
        if found:
            function, counts = found[1], {}
        for match in ORDERING.finditer(line.split("//")[0]):
            ordering = match[1]
            counts[ordering] = counts.get(ordering, 0) + 1
            number = f" {counts[ordering]}" if counts[ordering] > 1 else ""
            at = position + match.start(1)
            for weaker in WEAKER[ordering]:
                yield f"{stem}: {function}: {ordering}{number} becomes {weaker}", file, text[:at] + weaker + text[at + len(ordering):]
        position += len(line) + 1
