"""Faults to be seeded into the Swift source, one at a time, and each ordering weakened. Each must be killed by a check.

GROUP_OF: for each group of checks, the files that it looks after. MUTANTS: (name, file, text, what it becomes). CHECKS: for each
file, or for one mutant, the names, as a pattern, of the checks that are to kill what is wrong in it. EQUIVALENT: mutants that
change no observable behaviour, each with the proof.
"""

import re

GROUP_OF = {
    "slots": ["SingleAssignmentDisposable", "SerialDisposable", "RefCountDisposable"],
    "disposables": ["CompositeDisposable", "AnonymousDisposable", "AnyDisposable", "BinaryDisposable", "NaryDisposable",
                    "ScopedDisposable", "BooleanDisposable", "LifetimeRegistration"],
    "actions": ["ClosureTask", "RepeatingTask", "ReturningAction", "TargetCore"],
    "virtual": ["InstantTimeline", "VirtualTimeScheduler+Driving", "VirtualTimeScheduler", "Occurrence", "RepeatedCall", "PeriodicAction"],
    "blocking": ["BlockingSink", "RunLoopLock"],
    "groups": ["ActionContext", "GroupMembers", "ResultGroup", "ResultQueue", "ResultToken"],
    "executors": ["TaskJob", "Swift6.3", "LateJobs", "ThreadCore", "SerialCore", "LoopSource"],
}

CHECKS = {
    "action: a drop is not reported to the action": "action: a chain whose",
    "SingleAssignmentDisposable": "single assignment", "SerialDisposable": "serial disposable", "CompositeDisposable": "composite",
    "RefCountDisposable": "reference count", "AnonymousDisposable": "anonymous", "AnyDisposable": "any disposable",
    "BinaryDisposable": "binary", "NaryDisposable": "n-ary", "ScopedDisposable": "scoped", "BooleanDisposable": "boolean",
    "LifetimeRegistration": "lifetime", "ClosureTask": "plain action|delayed action", "ReturningAction": "action",
    "RepeatingTask": "periodic action", "TargetCore": "delayed action|periodic action", "Occurrence": "virtual",
    "InstantTimeline": "virtual", "VirtualTimeScheduler+Driving": "virtual", "VirtualTimeScheduler": "virtual", "RepeatedCall": "virtual", "PeriodicAction": "virtual: suspended", "BlockingSink": "blocking", "RunLoopLock": "run loop lock",
    "TaskJob": "late jobs", "Swift6.3": "jobs|late jobs", "LateJobs": "late jobs", "ThreadCore": "late jobs", "SerialCore": "late jobs", "LoopSource": "source",
    "ActionContext": "context", "GroupMembers": "group", "ResultGroup": "result", "ResultQueue": "result", "ResultToken": "result",
}

EQUIVALENT = {
}

# Two steps in place of one.
EXCHANGED = "disposed.exchange(true, ordering: .releasing)"
SPLIT = "({ let was = disposed.load(ordering: .acquiring); disposed.store(true, ordering: .releasing); return was })()"

MUTANTS = [
    # SingleAssignmentDisposable.swift
    ("single assignment: a second set is not noticed", "SingleAssignmentDisposable", "if old & Self.claimed != 0 {", "if old == .max {"),
    ("single assignment: a set does not check for a disposal in between", "SingleAssignmentDisposable",
     "guard before & Self.disposed != 0 else { return }", "guard before == .max else { return }"),
    ("single assignment: a reader enters after the disposal", "SingleAssignmentDisposable",
     "guard old & (Self.published | Self.disposed) == Self.published else", "guard old & Self.published != 0 else"),
    ("single assignment: a reader enters before the child is set", "SingleAssignmentDisposable",
     "guard old & (Self.published | Self.disposed) == Self.published else", "guard old & (Self.claimed | Self.disposed) == Self.claimed else"),
    ("single assignment: a disposal takes the child from a reader", "SingleAssignmentDisposable",
     "if old < 2 * Self.hold { return child.take() } let found", "if old < .max { return child.take() }; let found"),
    ("single assignment: the last reader does not clear the field", "SingleAssignmentDisposable", "if old < 2 * Self.hold { _ = child.take() }", ""),
    ("single assignment: each reader that leaves clears the field", "SingleAssignmentDisposable", "if old < 2 * Self.hold { _ = child.take() }", "if child.isSet { _ = child.take() }"),
    ("single assignment: a disposal in two steps", "SingleAssignmentDisposable",
     "let (won, seen) = word.weakCompareExchange( expected: old, desired: new, ordering: .acquiringAndReleasing)",
     "let (won, seen) = (true, old); atomicMemoryFence(ordering: .acquiringAndReleasing); word.store(new, ordering: .releasing)"),
    ("single assignment: a set publishes in two steps", "SingleAssignmentDisposable",
     "let before = word.wrappingAdd( Self.published | Self.hold, ordering: .releasing ).oldValue",
     "let before = word.load(ordering: .relaxed); word.store(before + (Self.published | Self.hold), ordering: .releasing)"),
    # SerialDisposable.swift
    ("serial disposable: a swap does not check for a disposal", "SerialDisposable", "guard !disposed.load(ordering: .relaxed) else {", "guard lock.pointer.pointee.owner != .max else {"),
    ("serial disposable: marked after the lock", "SerialDisposable",
     "disposed.store(true, ordering: .releasing) let old = current.take() lock.unlock()",
     "let old = current.take(); lock.unlock(); disposed.store(true, ordering: .releasing)"),
    ("serial disposable: a reader without the lock", "SerialDisposable", "lock.lock() let found = current lock.unlock()", "let found = current"),
    ("serial disposable: the child stays after a disposal", "SerialDisposable",
     "let old = current.take() lock.unlock() return old } }", "let old = current; lock.unlock(); return old } }"),
    ("serial disposable: an older replace overwrites a newer child", "SerialDisposable",
     "let isNewest = numberOfCurrent < number && !disposed.load(ordering: .relaxed)", "let isNewest = !disposed.load(ordering: .relaxed)"),
    ("serial disposable: a replace does not check for a disposal", "SerialDisposable",
     "let isNewest = numberOfCurrent < number && !disposed.load(ordering: .relaxed)", "let isNewest = numberOfCurrent < number"),
    # CompositeDisposable.swift
    ("composite: an insert does not check for a disposal", "CompositeDisposable", "guard !disposed.load(ordering: .relaxed) else {", "guard lock.pointer.pointee.owner != .max else {"),
    ("composite: marked after the lock", "CompositeDisposable",
     "disposed.store(true, ordering: .releasing) let all = children.takeAll() lock.unlock()",
     "let all = children.takeAll(); lock.unlock(); disposed.store(true, ordering: .releasing)"),
    ("composite: a take without the lock", "CompositeDisposable", "lock.lock() let child = children.take(key.id) lock.unlock()", "let child = children.take(key.id)"),
    ("composite: a count without the lock", "CompositeDisposable", "lock.withLock { children.count }", "children.count"),
    ("composite: the children stay after a disposal", "CompositeDisposable", "let all = children.takeAll()", "let all = ChildList()"),
    # RefCountDisposable.swift
    ("reference count: a dependent is added to a final word", "RefCountDisposable", "while old != Self.primary {", "while old != .max {"),
    ("reference count: a new dependent in two steps", "RefCountDisposable",
     "let (won, seen) = word.weakCompareExchange( expected: old, desired: old + Self.dependent, ordering: .relaxed)",
     "let (won, seen) = (true, old); word.store(old + Self.dependent, ordering: .relaxed)"),
    ("reference count: the primary does not wait for dependents", "RefCountDisposable", "return old == 0 ? underlying.take() : nil", "return old & Self.primary == 0 ? underlying.take() : nil"),
    ("reference count: a primary that is disposed again is the last", "RefCountDisposable", "return old == 0 ? underlying.take() : nil", "return old < Self.dependent ? underlying.take() : nil"),
    ("reference count: the last dependent does not wait for the primary", "RefCountDisposable", "return new == Self.primary ? underlying.take() : nil", "return new < Self.dependent ? underlying.take() : nil"),
    ("reference count: the last dependent but one counts as the last", "RefCountDisposable", "return new == Self.primary ? underlying.take() : nil", "return new == Self.primary + Self.dependent ? underlying.take() : nil"),
    ("reference count: a dependent leaves in two steps", "RefCountDisposable", "guard !" + EXCHANGED, "guard !" + SPLIT),
    ("reference count: the primary leaves in two steps", "RefCountDisposable", "let old = word.bitwiseOr(Self.primary, ordering: .acquiringAndReleasing).oldValue",
     "let old = word.load(ordering: .acquiring); word.store(old | Self.primary, ordering: .releasing)"),
    # AnonymousDisposable.swift and others that dispose once
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
    ("plain action: a wait does not wait", "ClosureTask", "csched_task_cancel_and_wait(task)", "csched_task_cancel(task)"),
    ("plain action: a disposal does not cancel", "ClosureTask", "func dispose() { csched_task_cancel(task) }", "func dispose() {}"),
    ("plain action: a running closure stays in its memory", "ClosureTask", "run: { ClosureTask.Held.inPlain($0).move().call() }", "run: { ClosureTask.Held.inPlain($0).pointee.call() }"),
    ("delayed action: a running closure stays in its memory", "ClosureTask", "run: { ClosureTask.Held.inTimed($0).move().call() }", "run: { ClosureTask.Held.inTimed($0).pointee.call() }"),
    ("plain action: a drop is not reported", "ClosureTask", "if DropObservers.areRegistered, reason != CSCHED_DROP_CANCELLED {", "if reason == CSCHED_DROP_CANCELLED {"),
    ("delayed action: an ended action keeps the core", "TargetCore", "core.release()", ""),
    ("delayed action: an ended action keeps its use of the core", "TargetCore", "core._withUnsafeGuaranteedRef { $0.endUse() }", ""),
    # ReturningAction.swift: its links
    ("action: the end does not check for a disposal", "ReturningAction", "let holder = links.end(), late = links.late.take() if isDisposed",
     "let isDisposed = false; let holder = links.end(), late = links.late.take(); if isDisposed"),
    ("action: a late result is not disposed", "ReturningAction", "if isLate { result?.dispose() }", ""),
    ("action: the holder is not pointed to the next action", "ReturningAction", "if isLate { holder.replace(self, by: nil, nil) } else { holder.replace(self, by: next, result) }", "_ = holder"),
    ("action: an ended action gets a holder", "ReturningAction", "if !links.isOver { swap(&links.holder, &holder) }", "swap(&links.holder, &holder)"),
    ("action: a waiting thread does not get a late result", "ReturningAction", "late?.returned = result", "_ = late"),
    ("action: a wait is not announced", "ReturningAction", "if !links.isOver { links.late = late }", ""),
    ("action: a wait does not wait", "ReturningAction", "else { task.disposeAndWait() } return withLinks", "; return withLinks"),
    ("action: a next action that has already run is not skipped", "ReturningAction", "replace(next, by: Self.asAction(further), further)", "_ = further"),
    ("action: the replacement of the next action is not held", "ReturningAction", "if isReplaced, let next { becomeHolder(of: next) }", "_ = isReplaced"),
    ("action: an ended action keeps its holder", "ReturningAction", "isOver = true return holder.take()", "isOver = true; return holder"),
    ("action: an ended action is not marked as over", "ReturningAction", "isOver = true return holder.take()", "return holder.take()"),
    # ReturningAction.swift
    ("action: a dropped action is not over", "ReturningAction", "let holder = withLinks { links, _ in links.end() } _ = consume holder", ""),
    ("action: a drop is not reported to the action", "ClosureTask", "chain?.drop()", ""),
    ("action: a disposal keeps the returned disposable", "ReturningAction", "next.take() ?? other.take()", "next.take() ?? other.child"),
    ("action: a disposal does not cancel", "ReturningAction", "else { task.dispose() } return isHolding", "; return isHolding"),
    # RepeatingTask.swift
    ("periodic action: a tick does not check for a disposal", "RepeatingTask", "if !csched_task_is_unwanted_(job) { content", "do { content"),
    ("periodic action: the last tick keeps its work", "RepeatingTask", "content.deinitialize(count: 1) return }", "return }"),
    ("periodic action: a tick disposed during its submission keeps its work", "RepeatingTask", "if error == CSCHED_TASK_UNWANTED_ { content.deinitialize(count: 1) }", "if error == CSCHED_TASK_UNWANTED_ {}"),
    ("periodic action: a dropped tick keeps its work", "RepeatingTask", "drop: { RepeatingTask.contentOf($0).move().drop() }", "drop: { _ in }"),
    # Occurrence.swift
    ("virtual: an occurrence is not counted", "Occurrence", "count.add(1, ordering: .relaxed)", ""),
    # RepeatedCall.swift
    ("virtual: ticks: a wait does not wait", "RepeatedCall", "guard state.inside != 0, state.inside != csched_swift_thread_number_() else", "guard state.inside == .max else"),
    ("virtual: ticks: a waiting thread is not noted", "RepeatedCall", "state.isAwaited = true return threadLeft.mark", "return threadLeft.mark"),
    ("virtual: ticks: the end of a tick wakes no waiter", "RepeatedCall", "if isAwaited { threadLeft.signal() }", ""),
    ("virtual: ticks: an ended call keeps its action", "RepeatedCall", "if state.isOver, let call = state.call.take() { return (call, nil, false) }", ""),
    # PeriodicAction.swift
    ("virtual: suspended: the drop of its ticks counts as the end", "PeriodicAction", "schedule.seriesNumber += 1 return schedule.series.take()", "return schedule.series.take()"),
    ("virtual: suspended: an action that suspends itself keeps its ticks", "PeriodicAction", "return schedule.suspensions == 0 ? nil : Self.takeSeries(&schedule)", "return nil"),
    ("virtual: suspended: an action is resumed beside its ticks", "PeriodicAction", "guard let timing = decide(&schedule), schedule.series == nil else", "guard let timing = decide(&schedule) else"),
    ("virtual: suspended: a running tick is cancelled", "PeriodicAction", "return isInside ? nil : Self.takeSeries(&schedule)", "return Self.takeSeries(&schedule)"),
    ("virtual: suspended: a disposal does not dispose the ticks", "PeriodicAction", "finish { _ in true }?.dispose()", "_ = finish { _ in true }"),
    ("virtual: suspended: the last tick does not end the action", "PeriodicAction", "_ = finish { $0.seriesNumber == seriesNumber }", ""),
    # InstantTimeline.swift
    ("virtual: an earlier time overwrites a later one", "InstantTimeline", "guard present.version == seen.version else { return false }", ""),
    ("virtual: an advance does not publish its goal", "InstantTimeline", "replace(goal, by: time, tick) return tick", "return tick"),
    # VirtualTimeScheduler.swift
    ("virtual: the end of the scheduler keeps waiting actions", "VirtualTimeScheduler", "deinit { csched_virtual_close(timeline.pointer) }", ""),
    # VirtualTimeScheduler+Driving.swift
    ("virtual: a drive does not publish its arrival", "VirtualTimeScheduler+Driving", "drive(CSCHED_VIRTUAL_ADVANCE, tick, \"advance\") timeline.arrive(at: time, tick)", "drive(CSCHED_VIRTUAL_ADVANCE, tick, \"advance\")"),
    # BlockingSink.swift
    ("blocking: an element is kept after the end", "BlockingSink", "guard state.outcome == nil else { return (false, false) }", ""),
    ("blocking: a second outcome takes the place of the first", "BlockingSink", "guard state.outcome == nil else { return false } state.outcome = outcome", "state.outcome = outcome"),
    ("blocking: the end does not wake the waiting thread", "BlockingSink", "subscription.dispose() lock.stop()", "subscription.dispose()"),
    ("blocking: the end does not dispose", "BlockingSink", "subscription.dispose() lock.stop()", "lock.stop()"),
    ("blocking: waking comes before the disposal of the source", "BlockingSink", "subscription.dispose() lock.stop()", "lock.stop(); subscription.dispose()"),
    ("blocking: an outcome keeps the predicate", "BlockingSink", "swap(&predicate, &state.predicate) return true", "return true"),
    ("blocking: a sufficient element keeps the predicate", "BlockingSink", "swap(&oldPredicate, &state.predicate)", ""),
    # RunLoopLock.swift
    ("run loop lock: a stop before the loop is not checked", "RunLoopLock", "if state.isStopped { csched_activation_end_run(activation) }", ""),
    ("run loop lock: a stop is not recorded", "RunLoopLock", "state.isStopped = true", ""),
    ("run loop lock: a stop does not stop the activation", "RunLoopLock", "if let activation = state.activation { csched_activation_end_run(activation) }", ""),
    ("run loop lock: the end does not close the lock", "RunLoopLock", "state.withLock { $0.isClosed = true }", ""),
    ("run loop lock: the remaining actions are not performed", "RunLoopLock", "while performNext() {}", ""),
    ("run loop lock: the end closes after the remaining actions", "RunLoopLock", "state.withLock { $0.isClosed = true } while performNext() {}", "while performNext() {}; state.withLock { $0.isClosed = true }"),
    ("run loop lock: a dispatch does not wake the loop", "RunLoopLock", "state.add(action, waking: state.loop.map { submitNext(to: $0) })", "state.add(action, waking: nil)"),
    ("run loop lock: the wake stays in the loop", "RunLoopLock", "wake?.dispose()", ""),
    ("run loop lock: actions dispatched before the loop wait for its end", "RunLoopLock", "for _ in 0..<dispatched { perform(on: loop) }", ""),
    ("run loop lock: the loop's address is not cleared", "RunLoopLock", "defer { state.withLock { ($0.loop, $0.activation) = (nil, nil) } }", ""),
    ("run loop lock: a second run is not noticed", "RunLoopLock", "if isSecond {", "if isSecond && timeout == .zero {"),
    ("run loop lock: a stop at the end of the time counts as a timeout", "RunLoopLock", "while performNext() {} return isStopped", "while performNext() {}; return isStopped && isOver"),
    # TaskJob.swift
    ("late jobs: a dropped job of another core is lost", "TaskJob", "held.core.takeUnretainedValue().resubmitTaskJob(held.job, wasRefused: wasRefused)", "_ = wasRefused"),
    # Compilers/Swift6.3.swift
    ("late jobs: a dropped delayed job is lost", "TaskJob", "if !wasRefused { held.scheduler.core.resubmitTaskJob(held, wasRefused: false) }", "_ = (held, wasRefused)"),
    ("late jobs: a refused delayed job is resubmitted twice", "TaskJob", "if !wasRefused { held.scheduler", "if true || wasRefused { held.scheduler"),
    ("late jobs: a refused delayed job is lost", "TaskJob", "{ return core.resubmitTaskJob(self, wasRefused: true) }", "{ return }"),
    ("jobs: a second table replaces the first", "Swift6.3", "guard isFirst else { made.deallocate() return found! }", "_ = (isFirst, found)"),
    ("jobs: the second table is never freed", "Swift6.3", "made.deallocate() return found!", "return found!"),
    ("late jobs: a dropped job is lost", "Swift6.3", "scheduler.core.resubmitTaskJob(self, wasRefused: reason == CSCHED_DROP_REFUSED)", ""),
    ("late jobs: a refused job counts as older", "Swift6.3", "reason == CSCHED_DROP_REFUSED", "reason != CSCHED_DROP_REFUSED"),
    ("late jobs: a job resubmitted elsewhere counts as at home", "Swift6.3", "guard scheduler.core === core, let type", "guard let type"),
    # TaskJob.swift
    ("late jobs: a job that runs elsewhere is not inside of its scheduler", "TaskJob", "core.run { runInsideMarker() }", "runInsideMarker()"),
    ("late jobs: a job that runs elsewhere counts as at home", "TaskJob", "if isOnOwnCore { held.job.runInsideMarker() }", "if isOnOwnCore || true { held.job.runInsideMarker() }"),
    # LateJobs.swift
    ("late jobs: a job that comes after the end waits for it", "LateJobs", "guard !isOver else { return false }", ""),
    ("late jobs: refused jobs precede dropped jobs", "LateJobs", "return dropped + refused", "return refused + dropped"),
    ("late jobs: taken jobs stay in the list", "LateJobs", "defer { (dropped, refused) = ([], []) }", ""),
    ("late jobs: the list closes while jobs wait", "LateJobs", "isOver = dropped.isEmpty && refused.isEmpty", "isOver = true"),
    ("late jobs: a job dropped meanwhile is missed", "LateJobs", "isOver = dropped.isEmpty && refused.isEmpty", "isOver = refused.isEmpty"),
    ("late jobs: a job refused meanwhile is missed", "LateJobs", "isOver = dropped.isEmpty && refused.isEmpty", "isOver = dropped.isEmpty"),
    ("late jobs: the end checks once", "LateJobs", "while let jobs = withLateJobs({ $0.takeOrEnd() }) { submitLate(jobs) }", "if let jobs = withLateJobs({ $0.takeOrEnd() }) { submitLate(jobs) }"),
    ("late jobs: a late job is resubmitted at once", "LateJobs", "if !withLateJobs({ $0.add(job, wasRefused: wasRefused) }) { submitLate([job]) }", "submitLate([job])"),
    ("late jobs: a queue's jobs bypass the queue's base", "LateJobs", "if root !== self { return jobs.forEach { root.resubmitTaskJob($0, wasRefused: true) } }", "_ = root"),
    ("late jobs: one target gets two fallback queues", "LateJobs", "let queue = late.queue ?? made", "let queue = made"),
    ("late jobs: a pool that was shut down gets the jobs again", "LateJobs", "return job.submit(to: PoolCore.shared(pool.priority))", "return job.submit(to: pool)"),
    # ThreadCore.swift, SerialCore.swift
    ("late jobs: a thread's end is not announced", "ThreadCore", "endExclusion() end.finish()", "end.finish()"),
    ("late jobs: a thread's end is announced before its last jobs", "ThreadCore", "endingThread.store(csched_swift_thread_number_(), ordering: .relaxed) run {",
     "endingThread.store(csched_swift_thread_number_(), ordering: .relaxed); endExclusion(); run {"),
    ("late jobs: a thread that ends does not recognise itself", "ThreadCore", "|| endingThread.load(ordering: .relaxed) == csched_swift_thread_number_()", ""),
    ("late jobs: a thread ends with its first user", "ThreadCore", ".newValue == 0 { stop(.runOutstanding) }", ".newValue < 2 { stop(.runOutstanding) }"),
    # ActionContext.swift
    ("context: an action disposed during its submission keeps its captures", "ActionContext", "disposeWhenCancelled() withExtendedLifetime", "withExtendedLifetime"),
    ("context: the scheduled action is not disposed", "ActionContext", "context.scheduled.read()?.dispose()", "_ = context"),
    ("context: an action begins after its disposal", "ActionContext", "if !context.isCancelled { action(context) }", "action(context)"),
    ("context: a wait does not wait", "ActionContext", "each.scheduled.read()?.disposeAndWait()", "_ = each"),
    ("context: a wait does not await the submission", "ActionContext", "each.awaitSubmission()", "_ = each"),
    ("context: a drop does not end the context", "ActionContext", "action = nil context.end()", "action = nil"),
    ("context: an end does not end the cancellation", "ActionContext", "withExtendedLifetime(submitted) { csched_cancellation_end(cancellation) }", "withExtendedLifetime(submitted) {}"),
    ("context: an ended context keeps its scheduled action", "ActionContext", "let submitted = scheduled.exchange(nil)", "let submitted: (any Disposable)? = nil"),
    ("context: a tree does not keep its contexts", "ActionContext", "_ = Unmanaged.passRetained(self)  // the tree's, until it has gone", "_ = Unmanaged.passRetained(self); Unmanaged.passUnretained(self).release()"),
    ("context: a child does not keep its removed parent", "ActionContext", "if !treeRetainsParent { self.parent.write(parent) }", ""),
    ("context: a removed context keeps its parent", "ActionContext", "context.takeUnretainedValue().parent.write(nil)", ""),
    ("context: a handler keeps its closure after its end", "ActionContext", "handler.takeUnretainedValue().body.finish()", ""),
    # GroupMembers.swift
    ("group: an ended member is added", "GroupMembers", "if member.hasEnded { return nil } let added", "let added"),
    ("group: a member leaves twice", "GroupMembers", "member.hasEnded = true", ""),
    ("group: a cancel removes the member that it is to cancel", "GroupMembers", "if memberNumber > number { return cancelable.map { (memberNumber, $0, context) } }", "if memberNumber > number { return cancelable.map { (memberNumber, $0, context) }.map { found in member._withUnsafeGuaranteedRef { _ = unlink($0) }; return found } }"),
    ("group: a cancel ends at the first running member", "GroupMembers", "number = next }", "number = newest }"),
    ("group: a member leaves before its action's captures are released", "GroupMembers", "callOnce() end()", "action!(); end()"),
    ("group: a removed last member stays the last", "GroupMembers", "else { last = previous }", "else {}"),
    ("group: a removed first member stays the first", "GroupMembers", "else { first = next }", "else {}"),
    ("group: a cancel does not say whom", "GroupMembers", "lastCancelled = lastNumber", ""),
    ("group: a cancel does not reach the context of a running member", "GroupMembers", "context?.dispose()", ""),
    ("group: a context does not see that its member is cancelled", "GroupMembers", "if group.members.setContext(context, of: self) { context.dispose() }", "_ = group.members.setContext(context, of: self)"),
    # ResultGroup.swift
    ("result: a drop gives no result", "ResultGroup", "guard action.take() != nil else { return }", "guard action.take() != nil, token.isDisposed else { return }"),
    ("result: the waiter for the last result is not notified", "ResultQueue", "if isLast { changed.broadcast() } else if", "if"),
    ("result: a result is lost", "ResultQueue", "if receiver == nil { state.results.append(ended) }", ""),
    # LoopSource.swift
    ("source: an ended source keeps its handler", "LoopSource", "return (state.handler.take(), state.onDrop.take())", "return (state.handler, state.onDrop.take())"),
    ("source: a run is not counted", "LoopSource", "if state.handler != nil { state.runs += 1 }", ""),
    ("source: the end of a source is not waited for", "LoopSource", "state.ending = csched_swift_thread_number_()", "state.ending = 0"),
    ("source: the waiter is not notified", "LoopSource", "if isAwaited { runEnded.broadcast() }", "_ = isAwaited"),
    ("source: a disposal does not wait", "LoopSource", "state.withLock(on: runEnded, when: { (isOnLoop || $0.runs == 0) && ($0.ending == 0 || $0.ending == thread) }) { _ in }", ""),
    ("source: a source ends twice", "LoopSource", "guard !state.isOver else { return nil }", ""),
    ("source: a source is removed on any thread", "LoopSource", "core.submitInternal { self.removeOnLoop() }", "removeOnLoop()"),
    ("source: the loop does not keep its source", "LoopSource", "_ = Unmanaged.passRetained(self)", ""),
    ("source: the loop keeps its source for ever", "LoopSource", "remove(from: loop) Unmanaged.passUnretained(self).release()", "remove(from: loop)"),
    ("source: the loop keeps an ended source", "LoopSource", "end(error.map(schedulerError)) Unmanaged.passUnretained(self).release()", "end(error.map(schedulerError))"),
    ("source: a handler that disposes its source waits for itself", "LoopSource", "(isOnLoop || $0.runs == 0)", "($0.runs == 0)"),
    ("source: the end of the scheduler is not reported", "LoopSource", "self.end(.stopped)", "_ = self"),
    ("source: a source keeps its scheduler in use", "LoopSource", "endClose() core.endUse()", "endClose()"),
    ("late jobs: a queue's end is not announced", "SerialCore", "$0.endExclusion()", "_ = $0"),
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
