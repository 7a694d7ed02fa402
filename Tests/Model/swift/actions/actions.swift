// ClosureTask.swift over the core's tasks, and ReturningAction.swift (Y1 to Y4).

internal import CScheduler

private final class State: @unchecked Sendable {
  let core = HandCore(), other = HandCore()
  let child = Child(), gone = Note(), runs = Note(), laterRuns = Note()
  var action: (any Disposable)?, later: ReturningAction?
  var traces: [Trace] = []
}
nonisolated(unsafe) private var state: State!

private func start() -> State {
  state = State()
  return state
}

// MARK: plain

private func plainAgainstDisposal() {
  let state = start()
  let runs = state.runs, gone = state.gone
  state.action = state.core.submit(capturing(gone) { runs.value += 1 }).task
  spawn { state.core.perform() }
  spawn { state.action!.dispose() }
}

private func plainAgainstTwo() {
  plainAgainstDisposal()
  let state = state!
  spawn { state.action!.dispose() }
}

private func ranOrDropped() {
  expect(state.runs.value <= 1 && state.gone.value == 1, "it ran or not, and its captures are gone")
  state = nil
}

private func disposedBefore() {
  let state = start()
  let runs = state.runs, gone = state.gone
  state.action = state.core.submit(capturing(gone) { runs.value += 1 }).task
  spawn {
    state.action!.dispose()
    expect(state.gone.value == 1, "captures are gone when dispose returns")
  }
}

private func neverRan() {
  state.core.perform()
  expect(state.runs.value == 0, "what had not begun never begins")
  state = nil
}

private func plainPublished() {
  let state = start()
  publication(state.core.submit({}).task)
}

// MARK: the returned disposable

private func returning(_ state: State) -> ReturningAction {
  state.core.submit(returning: returningBody(state.gone, state.runs, state.child))
}

@inline(never)
private func returningBody(_ gone: Note, _ runs: Note, _ child: Child) -> @Sendable () -> any Disposable {
  let capture = Capture(gone)
  return {
    withExtendedLifetime(capture) {}
    runs.value += 1
    return child
  }
}

private func unbegunDisposed() {
  let state = start()
  state.action = returning(state)
  spawn {
    state.action!.dispose()
    expect(state.gone.value == 1, "captures are gone when dispose returns")
  }
}

private func runAgainstDisposal() {
  let state = start()
  state.action = returning(state)
  spawn { state.core.perform() }
  spawn { state.action!.dispose() }
}

private func runAgainstTwo() {
  runAgainstDisposal()
  let state = state!
  spawn { state.action!.dispose() }
}

private func childDisposed() {
  expect(state.child.disposals == state.runs.value, "what it returned is disposed once")
  expect(state.gone.value == 1, "captures are gone")
  state = nil
}

private func runAgainstRelease() {
  let state = start()
  state.action = returning(state)
  spawn { state.core.perform() }
  spawn { state.action = nil }
}

private func childUndisposed() {
  expect(state.runs.value == 1 && state.child.disposals == 0 && state.gone.value == 1, "letting go is not disposing")
  state = nil
}

// MARK: chains

// The first action returns the second one, which is on another queue. Each notes the release of its captures.
private func twoInChain(dropsTheLater: Bool = false, keepsTheLater: Bool = false) -> State {
  let state = start()
  let laterRuns = state.laterRuns, child = state.child
  let later = state.other.submit(returning: {
    laterRuns.value += 1
    return child
  })
  let runs = state.runs
  let first = state.core.submit(returning: {
    runs.value += 1
    return later
  })
  state.traces = [Trace(first), Trace(later)]
  state.action = first
  if keepsTheLater { state.later = later }
  spawn { state.core.perform() }
  spawn { if dropsTheLater { state.other.discard() } else { state.other.perform() } }
  return state
}

private func chain() { _ = twoInChain() }

private func droppedChain() { _ = twoInChain(dropsTheLater: true) }

private func leadsToTheLast() {
  expect(state.runs.value == 1 && state.laterRuns.value == 1 && state.child.disposals == 0, "both ran")
  expect(state.traces[1].isGone, "the one between is gone")
  state.action!.dispose()
  expect(state.child.disposals == 1, "the first leads to what the last returned")
  state = nil
}

// A reference to the later action does not keep the first one.
private func keptChain() { _ = twoInChain(keepsTheLater: true) }

private func keepsNobody() {
  state.action = nil
  expect(state.traces[0].isGone, "the first is gone")
  state.later!.dispose()
  expect(state.child.disposals == 1, "the later one leads to what it returned")
  state = nil
}

private func isDropped() {
  expect(state.runs.value == 1 && state.laterRuns.value == 0, "the first ran")
  state = nil
}

private func chainAgainstDisposal() {
  let state = twoInChain()
  spawn { state.action!.dispose() }
}

private func chainDisposed() {
  let isReached = state.runs.value == 1
  expect(state.child.disposals == (isReached ? state.laterRuns.value : 0), "what was reached is disposed once")
  expect(isReached || state.laterRuns.value == 1, "what was not reached has run")
  state = nil
}

private func chainAgainstRelease() {
  let state = twoInChain()
  spawn { state.action = nil }
}

private func bothRan() {
  expect(state.runs.value == 1 && state.laterRuns.value == 1 && state.child.disposals == 0, "both ran")
  state = nil
}

// Each one schedules the next: so the runner goes through all three, while the first is disposed.
private func scheduleNext(_ state: State, _ left: Int) -> ReturningAction {
  let runs = state.runs, child = state.child
  let action = state.core.submit(returning: { [unowned state] in
    runs.value += 1
    return left == 0 ? child : scheduleNext(state, left - 1)
  })
  state.traces.append(Trace(action))
  return action
}

private func recursionAgainstDisposal() {
  let state = start()
  state.action = scheduleNext(state, 2)
  spawn { state.core.perform() }
  spawn { state.action!.dispose() }
}

private func recursion() {
  let state = start()
  state.action = scheduleNext(state, 2)
  spawn { state.core.perform() }
}

private func onlyTheFirst() {
  expect(state.runs.value == 3 && state.traces.map(\.isGone) == [false, true, true], "all but the first are gone")
  state.action!.dispose()
  expect(state.child.disposals == 1, "which leads to what the last returned")
  state = nil
}

private func recursionDisposed() {
  expect(state.child.disposals == (state.runs.value == 3 ? 1 : 0), "what the last one returned is disposed once")
  state = nil
}

private func disposedAfterItRan() {
  let state = start()
  let runs = state.runs, gone = state.gone
  state.action = state.core.submit(returning: { Dying(runs, gone) })
  state.core.perform()
  spawn {
    state.action!.dispose()
    expect(runs.value == 1 && gone.value == 1, "what was returned is disposed, and gone, when dispose returns")
  }
}

private func over() { state = nil }

// MARK: drops

nonisolated(unsafe) private var observer: (any Disposable)?

private func dropAgainstSubmission(_ submit: @escaping (State) -> Void) {
  let state = start()
  let runs = state.runs
  observer = DropObservers.add { _, _ in runs.value += 1 }
  spawn { submit(state) }
  spawn { state.core.discard() }
}

private func plainDropAgainstSubmission() {
  dropAgainstSubmission { $0.action = $0.core.submit(capturing($0.gone) {}).task }
}

private func returningDropAgainstSubmission() {
  dropAgainstSubmission { $0.action = $0.core.submit(returning: returningBody($0.gone, $0.laterRuns, $0.child)) }
}

private func delayedDropAgainstSubmission() {
  dropAgainstSubmission { $0.action = $0.core.submit(capturing($0.gone) {}, at: 1, inside: nil) }
}

// MARK: delayed

private func delayed() -> State {
  let state = start()
  let runs = state.runs, gone = state.gone
  state.action = state.core.submit(capturing(gone) { runs.value += 1 }, at: 1, inside: nil)
  return state
}

private func delayedAgainstDisposal() {
  let state = delayed()
  spawn { state.core.perform() }
  spawn { state.action!.dispose() }
}

private func delayedAgainstTwo() {
  delayedAgainstDisposal()
  let state = state!
  spawn { state.action!.dispose() }
}

private func delayedAgainstWait() {
  let state = delayed()
  spawn { state.core.perform() }
  spawn {
    state.action!.disposeAndWait()
    expect(state.gone.value == 1, "its captures are gone")
  }
}

private func letGo() {
  state.core.discard()  // the job of a disposed action may remain
  expect(state.runs.value <= 1 && state.gone.value == 1, "it ran or not, and its captures are gone")
  expect(state.core.uses == 1 && state.core.ends == 1, "the core is let go of")
  let core = Trace(state.core)
  state = nil
  expect(core.isGone, "and gone")
}

private func isReported() {
  state.core.discard()
  expect(state.runs.value == 1 && state.gone.value == 1, "it is told once")
  observer?.dispose()
  observer = nil
  state = nil
}

private func published() {
  let state = start()
  publication(returning(state))
}

private func isSeen() {
  seen()
  state.core.discard()
  state = nil
}

let actionChecks = [
  Check("plain action: a run against a disposal", plainAgainstDisposal, ranOrDropped),  // TK1
  Check("plain action: a run against two disposals", plainAgainstTwo, ranOrDropped),  // TK1
  Check("plain action: disposed before its turn", disposedBefore, neverRan),  // TK1
  Check("plain action: a disposal publishes the writes before it", plainPublished, isSeen),  // TK3
  Check("action: disposed before its turn", unbegunDisposed, neverRan),  // Y1
  Check("action: a run against a disposal", runAgainstDisposal, childDisposed),  // Y1
  Check("action: a run against two disposals", runAgainstTwo, childDisposed),  // Y1
  Check("action: a run against a release", runAgainstRelease, childUndisposed),  // Y1
  Check("action: a chain leads to its end", chain, leadsToTheLast),  // Y2
  Check("action: a chain whose end is dropped", droppedChain, isDropped),  // Y3
  Check("action: a chain whose later action is kept", keptChain, keepsNobody),  // Y2 Y3
  Check("action: a chain against a disposal", chainAgainstDisposal, chainDisposed),  // Y1 Y2
  Check("action: a chain against a release", chainAgainstRelease, bothRan),  // Y2 Y3
  Check("action: a recursion keeps only its first action", recursion, onlyTheFirst),  // Y2 Y3
  Check("action: a recursion against a disposal", recursionAgainstDisposal, recursionDisposed),  // Y1 Y2
  Check("action: a disposal releases the returned disposable", disposedAfterItRan, over),  // Y1
  Check("action: a disposal publishes the writes before it", published, isSeen),  // Y4
  Check("delayed action: a run against a disposal", delayedAgainstDisposal, letGo),  // TK1
  Check("delayed action: a run against two disposals", delayedAgainstTwo, letGo),  // TK1
  Check("delayed action: a wait against a run", delayedAgainstWait, letGo),  // TK4
  Check("plain action: its drop against its submission", plainDropAgainstSubmission, isReported),  // TK5
  Check("action: its drop against its submission", returningDropAgainstSubmission, isReported),  // TK5
  Check("delayed action: its drop against its submission", delayedDropAgainstSubmission, isReported),  // TK5
]
