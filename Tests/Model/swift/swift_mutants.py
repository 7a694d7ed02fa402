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
    "actions": ["ClosureTask", "RepeatingTask", "ReturningAction", "TargetCore"],
    "virtual": ["InstantTimeline", "VirtualTimeScheduler+Driving", "VirtualTimeScheduler", "Occurrence", "RepeatedCall", "PeriodicAction"],
    "blocking": ["BlockingSink", "RunLoopLock"],
    "groups": ["ActionContext", "GroupMembers", "ResultGroup", "ResultToken"],
    "executors": ["TaskJob", "JobWords", "LateJobs", "ThreadCore", "SerialCore", "LoopSource"],
}

CHECKS = {
    "action: it is not told of its drop": "action: a chain whose",
    "SingleAssignmentDisposable": "single assignment", "SerialDisposable": "serial disposable", "CompositeDisposable": "composite",
    "RefCountDisposable": "reference count", "AnonymousDisposable": "anonymous", "AnyDisposable": "any disposable",
    "BinaryDisposable": "binary", "NaryDisposable": "n-ary", "ScopedDisposable": "scoped", "BooleanDisposable": "boolean",
    "LifetimeRegistration": "lifetime", "ClosureTask": "plain action|delayed action", "ReturningAction": "action",
    "RepeatingTask": "periodic action", "TargetCore": "delayed action|periodic action", "Occurrence": "virtual",
    "InstantTimeline": "virtual", "VirtualTimeScheduler+Driving": "virtual", "VirtualTimeScheduler": "virtual", "RepeatedCall": "virtual", "PeriodicAction": "virtual: suspended", "BlockingSink": "blocking", "RunLoopLock": "run loop lock",
    "TaskJob": "late jobs", "JobWords": "jobs|late jobs", "LateJobs": "late jobs", "ThreadCore": "late jobs", "SerialCore": "late jobs", "LoopSource": "source",
    "ActionContext": "context", "GroupMembers": "group", "ResultGroup": "result", "ResultToken": "result",
}

EQUIVALENT = {
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
    ("serial disposable: an older replace puts out what is newer", "SerialDisposable",
     "let isNewest = age < number && !disposed.load(ordering: .relaxed)", "let isNewest = !disposed.load(ordering: .relaxed)"),
    ("serial disposable: a replace does not look whether it is disposed", "SerialDisposable",
     "let isNewest = age < number && !disposed.load(ordering: .relaxed)", "let isNewest = age < number"),
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
    ("scoped: a release does not dispose", "ScopedDisposable", "DisposalWalk.disposeOnRelease { $0.push(held.take()!) }",
     "DisposalWalk.release { $0.push(held.take()!) }"),
    # ClosureTask.swift, TargetCore.swift
    ("plain action: who waits does not wait", "ClosureTask", "csched_task_cancel_and_wait(task)", "csched_task_cancel(task)"),
    ("plain action: a disposal does not cancel", "ClosureTask", "func dispose() { csched_task_cancel(task) }", "func dispose() {}"),
    ("plain action: what runs stays in its memory", "ClosureTask", "run: { ClosureTask.Held.plain($0).move().call() }", "run: { ClosureTask.Held.plain($0).pointee.call() }"),
    ("delayed action: what runs stays in its memory", "ClosureTask", "run: { ClosureTask.Held.timed($0).move().call() }", "run: { ClosureTask.Held.timed($0).pointee.call() }"),
    ("plain action: a drop is not told", "ClosureTask", "if DropObservers.areThere, reason != CSCHED_DROP_CANCELLED {", "if reason == CSCHED_DROP_CANCELLED {"),
    ("delayed action: what is over keeps the core", "TargetCore", "core.release()", ""),
    ("delayed action: what is over keeps its use of the core", "TargetCore", "core._withUnsafeGuaranteedRef { $0.letGo() }", ""),
    # ReturningAction.swift: its links
    ("action: its end does not look whether it is disposed", "ReturningAction", "let holder = links.end(), late = links.late.take() if isDisposed",
     "let isDisposed = false; let holder = links.end(), late = links.late.take(); if isDisposed"),
    ("action: what comes late is not disposed", "ReturningAction", "if isLate { returned?.dispose() }", ""),
    ("action: the holder is not led on", "ReturningAction", "if let holder { holder.replace(self, by: isLate ? nil : returned) } else if", "if holder != nil {} else if"),
    ("action: an action that is over gets a holder", "ReturningAction", "if !links.isOver { swap(&links.holder, &other) }", "swap(&links.holder, &other)"),
    ("action: who waits does not get what comes late", "ReturningAction", "late?.returned = returned", "_ = late"),
    ("action: a wait is not announced", "ReturningAction", "if !links.isOver { links.late = late }", ""),
    ("action: who waits does not wait", "ReturningAction", "else { task.disposeAndWait() } return withLinks", "return withLinks"),
    ("action: one that has run already is not passed over", "ReturningAction", "if isOver { replace(next, by: further) }", ""),
    ("action: what replaces the next is not held", "ReturningAction", "if isReplaced { hold(next) }", ""),
    ("action: who is over keeps its holder", "ReturningAction", "isOver = true return holder.take()", "isOver = true; return holder"),
    ("action: who is over does not say so", "ReturningAction", "isOver = true return holder.take()", "return holder.take()"),
    # ReturningAction.swift
    ("action: what is dropped is not over", "ReturningAction", "let holder = withLinks { links, _ in links.end() } _ = consume holder", ""),
    ("action: it is not told of its drop", "ClosureTask", "action?.drop()", ""),
    ("action: a disposal leaves what was returned", "ReturningAction", "return (!isDisposed, links.returned.take())", "return (!isDisposed, links.returned)"),
    ("action: a disposal does not cancel", "ReturningAction", "else { task.dispose() } return returned", "return returned"),
    # RepeatingTask.swift
    ("periodic action: a tick does not look when it begins", "RepeatingTask", "if !csched_task_is_unwanted_(job) { each", "do { each"),
    ("periodic action: the last tick keeps its work", "RepeatingTask", "each.deinitialize(count: 1) return }", "return }"),
    ("periodic action: a tick that was disposed while it was to be submitted keeps its work", "RepeatingTask", "if error == CSCHED_TASK_UNWANTED_ { each.deinitialize(count: 1) }", "if error == CSCHED_TASK_UNWANTED_ {}"),
    ("periodic action: what is dropped keeps its work", "RepeatingTask", "drop: { RepeatingTask.of($0).move().drop() }", "drop: { _ in }"),
    # Occurrence.swift
    ("virtual: what happens is not counted", "Occurrence", "count.add(1, ordering: .relaxed)", ""),
    # RepeatedCall.swift
    ("virtual: ticks: who waits does not wait", "RepeatedCall", "guard state.inside != 0, state.inside != csched_swift_thread_() else", "guard state.inside == .max else"),
    ("virtual: ticks: who waits is not noted", "RepeatedCall", "state.isAwaited = true return ends.mark", "return ends.mark"),
    ("virtual: ticks: the end of a tick wakes nobody", "RepeatedCall", "if isAwaited { ends.happen() }", ""),
    ("virtual: ticks: one that is over keeps its action", "RepeatedCall", "if state.isOver, let call = state.call.take() { return (call, nil, false) }", ""),
    # PeriodicAction.swift
    ("virtual: suspended: what it drops is taken for the end", "PeriodicAction", "schedule.number += 1 return schedule.ticking.take()", "return schedule.ticking.take()"),
    ("virtual: suspended: one that suspends itself keeps its ticks", "PeriodicAction", "return schedule.suspensions == 0 ? nil : Self.takeTicks(&schedule)", "return nil"),
    ("virtual: suspended: it is resumed beside its ticks", "PeriodicAction", "guard let timing = decide(&schedule), schedule.ticking == nil else", "guard let timing = decide(&schedule) else"),
    ("virtual: suspended: a tick that is under way is cancelled in the middle", "PeriodicAction", "return isInside ? nil : Self.takeTicks(&schedule)", "return Self.takeTicks(&schedule)"),
    ("virtual: suspended: a disposal leaves the ticks", "PeriodicAction", "finish { _ in true }?.dispose()", "_ = finish { _ in true }"),
    ("virtual: suspended: its last tick is not its end", "PeriodicAction", "_ = finish { $0.number == number }", ""),
    # InstantTimeline.swift
    ("virtual: a time takes the place of a later one", "InstantTimeline", "guard present.version == seen.version else { return false }", ""),
    ("virtual: an advance does not say where it goes", "InstantTimeline", "replace(goal, by: time, tick) return tick", "return tick"),
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
    # TaskJob.swift
    ("late jobs: what is dropped of another core is lost", "TaskJob", "held.core.takeUnretainedValue().takeBack(held.job, wasRefused: wasRefused)", "_ = wasRefused"),
    # JobWords.swift
    ("late jobs: a delayed one that is dropped is lost", "TaskJob", "if !wasRefused { held.scheduler.core.takeBack(held, wasRefused: false) }", "_ = (held, wasRefused)"),
    ("late jobs: a delayed one that is refused goes on twice", "TaskJob", "if !wasRefused { held.scheduler", "if true || wasRefused { held.scheduler"),
    ("late jobs: a delayed one that is refused is lost", "TaskJob", "{ return core.takeBack(self, wasRefused: true) }", "{ return }"),
    ("jobs: a second table takes the place of the first", "JobWords", "guard isFirst else { made.deallocate() return found! }", "_ = (isFirst, found)"),
    ("jobs: the second table is never given back", "JobWords", "made.deallocate() return found!", "return found!"),
    ("late jobs: what is dropped is lost", "JobWords", "scheduler.core.takeBack(self, wasRefused: reason == CSCHED_DROP_REFUSED)", ""),
    ("late jobs: what was refused counts as older", "JobWords", "reason == CSCHED_DROP_REFUSED", "reason != CSCHED_DROP_REFUSED"),
    ("late jobs: one that goes on elsewhere is taken for one at home", "JobWords", "guard scheduler.core === core, let type", "guard let type"),
    # TaskJob.swift
    ("late jobs: one that runs elsewhere is not inside of its scheduler", "TaskJob", "core.run { runInTag() }", "runInTag()"),
    ("late jobs: one that runs elsewhere is taken for one at home", "TaskJob", "if isAtHome { held.job.runInTag() }", "if isAtHome || true { held.job.runInTag() }"),
    # LateJobs.swift
    ("late jobs: one that comes after the end waits for it", "LateJobs", "guard !isOver else { return false }", ""),
    ("late jobs: what was refused goes before what was dropped", "LateJobs", "return dropped + refused", "return refused + dropped"),
    ("late jobs: what is taken stays", "LateJobs", "defer { (dropped, refused) = ([], []) }", ""),
    ("late jobs: over while there are some", "LateJobs", "isOver = dropped.isEmpty && refused.isEmpty", "isOver = true"),
    ("late jobs: what is dropped meanwhile is not seen", "LateJobs", "isOver = dropped.isEmpty && refused.isEmpty", "isOver = refused.isEmpty"),
    ("late jobs: what is refused meanwhile is not seen", "LateJobs", "isOver = dropped.isEmpty && refused.isEmpty", "isOver = dropped.isEmpty"),
    ("late jobs: the end looks once", "LateJobs", "while let jobs = withLate({ $0.takeOrEnd() }) { goOn(with: jobs) }", "if let jobs = withLate({ $0.takeOrEnd() }) { goOn(with: jobs) }"),
    ("late jobs: it goes on at once", "LateJobs", "if !withLate({ $0.add(job, wasRefused: wasRefused) }) { goOn(with: [job]) }", "goOn(with: [job])"),
    ("late jobs: a queue's go past what it is on", "LateJobs", "if root !== self { return jobs.forEach { root.takeBack($0, wasRefused: true) } }", "_ = root"),
    ("late jobs: two queues of one target", "LateJobs", "let queue = late.queue ?? made", "let queue = made"),
    ("late jobs: the pool that was shut down takes them again", "LateJobs", "return job.submit(to: PoolCore.shared(pool.priority))", "return job.submit(to: pool)"),
    # ThreadCore.swift, SerialCore.swift
    ("late jobs: a thread's end is not told", "ThreadCore", "endExclusion() end.finish()", "end.finish()"),
    ("late jobs: a thread's end is told before its last jobs", "ThreadCore", "ending.store(csched_swift_thread_(), ordering: .relaxed) run {",
     "ending.store(csched_swift_thread_(), ordering: .relaxed); endExclusion(); run {"),
    ("late jobs: a thread that ends does not know itself", "ThreadCore", "|| ending.load(ordering: .relaxed) == csched_swift_thread_()", ""),
    ("late jobs: a thread ends with its first user", "ThreadCore", ".newValue == 0 { stop(.runOutstanding) }", ".newValue < 2 { stop(.runOutstanding) }"),
    # ActionContext.swift
    ("context: what is disposed while it is submitted keeps its captures", "ActionContext", "disposeWhenCancelled() withExtendedLifetime", "withExtendedLifetime"),
    ("context: what is scheduled is not disposed", "ActionContext", "context.scheduled.read()?.dispose()", "_ = context"),
    ("context: an action begins after its disposal", "ActionContext", "if !running.context.isCancelled { action(running.context) }", "action(running.context)"),
    ("context: who waits does not", "ActionContext", "each.scheduled.read()?.disposeAndWait()", "_ = each"),
    ("context: a drop is no end", "ActionContext", "deinit { context.end() }", "deinit {}"),
    ("context: an end is none", "ActionContext", "withExtendedLifetime(last) { csched_cancellation_end(cancellation) }", "withExtendedLifetime(last) {}"),
    ("context: what has ended keeps what was scheduled", "ActionContext", "let last = scheduled.exchange(nil)", "let last: (any Disposable)? = nil"),
    ("context: a tree does not keep what is in it", "ActionContext", "_ = Unmanaged.passRetained(self)  // the tree's, until it has gone", "_ = Unmanaged.passRetained(self); Unmanaged.passUnretained(self).release()"),
    ("context: one below what has gone does not keep that", "ActionContext", "if !isHeld { self.parent.write(parent) }", ""),
    ("context: what has gone keeps what it was below", "ActionContext", "context.takeUnretainedValue().parent.write(nil)", ""),
    ("context: a handler's closure stays after it", "ActionContext", "handler.takeUnretainedValue().body = nil", ""),
    # GroupMembers.swift
    ("group: one that has ended is added", "GroupMembers", "if member.hasEnded { return } let added", "let added"),
    ("group: it leaves twice", "GroupMembers", "member.hasEnded = true", ""),
    ("group: a cancel takes what it is to cancel", "GroupMembers", "if its > number { return cancelable.map { (its, $0) } }", "if its > number { return cancelable.map { (its, $0) }.map { found in member._withUnsafeGuaranteedRef { _ = takeOut($0) }; return found } }"),
    ("group: a cancel ends at the first that runs", "GroupMembers", "number = next }", "number = last }"),
    ("group: it leaves before what its action holds has gone", "GroupMembers", "callOnce() end()", "action!(); end()"),
    ("group: the last one stays the last", "GroupMembers", "else { last = previous }", "else {}"),
    ("group: the first one stays the first", "GroupMembers", "else { first = next }", "else {}"),
    # ResultGroup.swift
    ("result: a drop gives none", "ResultGroup", "guard action.take() != nil else { return }", "guard action.take() != nil, token.isDisposed else { return }"),
    ("result: who waits for the last is not told", "ResultGroup", "if isLast { changed.broadcast() } else if", "if"),
    ("result: it is lost", "ResultGroup", "if next == nil { state.results.append(result) }", ""),
    # LoopSource.swift
    ("source: its handler stays", "LoopSource", "return (state.handler.take(), state.onDrop.take())", "return (state.handler, state.onDrop.take())"),
    ("source: a run is not counted", "LoopSource", "if state.handler != nil { state.runs += 1 }", ""),
    ("source: its end is not waited for", "LoopSource", "if isRun { state.runs += 1 }", "if isRun && state.runs < 0 { state.runs += 1 }"),
    ("source: who waits is not told", "LoopSource", "if isAwaited { changed.broadcast() }", "_ = isAwaited"),
    ("source: nobody waits", "LoopSource", "state.withLock(on: changed, when: { $0.runs == 0 }) { _ in }", ""),
    ("source: over twice", "LoopSource", "guard !state.isOver else { return nil }", ""),
    ("source: removed on any thread", "LoopSource", "core.submitOwn { self.removeHere() }", "removeHere()"),
    ("source: its loop does not keep it", "LoopSource", "_ = Unmanaged.passRetained(self)", ""),
    ("source: its loop keeps it for ever", "LoopSource", "remove(from: loop) Unmanaged.passUnretained(self).release()", "remove(from: loop)"),
    ("source: its loop keeps what has ended", "LoopSource", "end(error.map(reason)) Unmanaged.passUnretained(self).release()", "end(error.map(reason))"),
    ("source: a handler that disposes its own waits for itself", "LoopSource", "dispose() if csched_loop_is_on_thread(loop) || core.isOrphaned { return }", "dispose()"),
    ("source: a scheduler that has ended is not told of", "LoopSource", "onDrop: { _ in self.end(.stopped) })", "onDrop: { _ in })"),
    ("source: it keeps its scheduler in use", "LoopSource", "core.submitOwn { self.removeHere() } } core.letGo()", "core.submitOwn { self.removeHere() } }"),
    ("late jobs: a queue's end is not told", "SerialCore", "$0.endExclusion()", "_ = $0"),
    ("late jobs: a queue on a thread is its own root", "SerialCore", "base.isExclusive ? base.exclusiveRoot : self", "self"),
]

# Files whose orderings stay. ThreadCore: the model does read-modify-writes of two places in their thread's order, whatever they say.
AS_THEY_ARE = {"ThreadCore"}

# What each ordering may become.
WEAKER = {"acquiring": ["relaxed"], "releasing": ["relaxed"], "acquiringAndReleasing": ["acquiring", "releasing"],
          "sequentiallyConsistent": ["acquiringAndReleasing"]}  # of fences
ORDERING = re.compile(r"ordering: \.(" + "|".join(sorted(WEAKER, key=len, reverse=True)) + r")\b")
FUNCTION = re.compile(r"^ {0,2}(?:[a-z()]+ )*(?:func|var) (\w+)")


def weakenings(stem, file, text):
    """Yields (name, file, mutated text) for each."""
    if stem in AS_THEY_ARE:
        return
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
