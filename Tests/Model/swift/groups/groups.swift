// GroupMembers.swift (GM1 to GM6), and ResultGroup.swift over it.

internal import CScheduler

private final class State: @unchecked Sendable {
  let first = HandScheduler(), second = HandScheduler()
  let group = ActionGroup()
  let gone = Note(), otherGone = Note(), runs = Note(), otherRuns = Note()
  let results = ResultGroup<Int>()
  var action: (any Disposable)?
}
nonisolated(unsafe) private var state: State!

private func start() -> State {
  state = State()
  return state
}

private func submitFirst() {
  let runs = state.runs
  state.action = state.group.schedule(on: state.first, capturing(state.gone) { runs.value += 1 })
}

private func submitSecond() {
  let runs = state.otherRuns
  state.group.schedule(on: state.second, capturing(state.otherGone) { runs.value += 1 })
}

private func over() {
  state.first.core.discard()
  state.second.core.discard()
  expect(state.group.isIdle, "all have left")
  expect(state.runs.value <= 1 && state.otherRuns.value <= 1, "each runs once at most")
  expect(state.gone.value == 1, "its captures are gone, once")
  state = nil
}

private func overBoth() {
  state.second.core.discard()
  expect(state.otherGone.value == 1, "those of the other, too")
  over()
}

// MARK: cancelling

private func cancelledBesideRun() {
  let state = start()
  submitFirst()
  spawn { state.first.core.perform() }
  spawn { state.group.cancelAll() }
}

/// After the cancel, no action that was scheduled before it begins.
private func cancelledBefore() {
  let state = start()
  submitFirst()
  submitSecond()
  spawn {
    state.group.cancelAll()
    state.first.core.perform()
    state.second.core.perform()
    expect(state.runs.value == 0 && state.otherRuns.value == 0, "none begins")
  }
}

private func cancelledBesideTwoRuns() {
  let state = start()
  submitFirst()
  submitSecond()
  spawn { state.first.core.perform() }
  spawn { state.second.core.perform() }
  spawn { state.group.cancelAll() }
}

private func cancelledByTwo() {
  cancelledBefore()
  let state = state!
  spawn { state.group.cancelAll() }
}

private func cancelledBesideSubmission() {
  let state = start()
  submitFirst()
  spawn { submitSecond() }
  spawn { state.group.cancelAll() }
  spawn { state.second.core.perform() }
}

private func droppedBesideCancel() {
  let state = start()
  submitFirst()
  submitSecond()
  spawn { state.first.core.discard() }
  spawn { state.second.core.perform() }
  spawn { state.group.cancelAll() }
}

/// Work in the group, on the first scheduler by hand, in the forms that `schedule` has on every scheduler.
private struct FirstInGroup: ImmediateSchedulerType {
  let state: State

  @discardableResult
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    state.group.admit(action) { state.first.schedule($0) }
  }
}

private func submitReporting() {
  let runs = state.runs, drops = state.otherRuns
  FirstInGroup(state: state).schedule(capturing(state.gone) { runs.value += 1 }, onDrop: { _ in drops.value += 1 })
}

/// A cancel is no drop.
private func cancelledWithHandler() {
  let state = start()
  submitReporting()
  spawn { state.group.cancelAll() }
  spawn { state.first.core.perform() }
}

private func cancelledBesideReporting() {
  let state = start()
  spawn {
    submitReporting()
    state.group.cancelAll()
  }
  spawn { state.group.cancelAll() }
}

private func notDropped() {
  expect(state.otherRuns.value == 0, "no drop")
  over()
}

/// What begins is cancelled, and sees that when the cancel has returned.
private func cancelledBesideContext() {
  let state = start(), isCancelled = Protected(false), runs = state.runs
  FirstInGroup(state: state).schedule(
    capturingContext(state.gone) { context in
      runs.value += 1
      if isCancelled.read() { expect(context.isCancelled, "its context is cancelled") }
    })
  spawn { state.first.core.perform() }
  spawn {
    state.group.cancelAll()
    isCancelled.write(true)
  }
}

private func capturingContext(
  _ gone: Note, _ body: @escaping @Sendable (ActionContext) -> Void
) -> @Sendable (ActionContext) -> Void {
  let capture = Capture(gone)
  return { context in withExtendedLifetime(capture) { body(context) } }
}

private func waitedFor() {
  let state = start()
  submitFirst()
  submitSecond()
  spawn { state.first.core.perform() }
  spawn { state.second.core.perform() }
  spawn {
    state.group.wait()
    expect(state.runs.value == 1 && state.otherRuns.value == 1, "what they did is seen")
    expect(state.gone.value == 1 && state.otherGone.value == 1, "and that their captures are gone")
  }
}

// MARK: results

private func scheduleResult(_ hand: HandScheduler, _ value: Int) -> any Disposable {
  let runs = state.runs
  return state.results.schedule(on: hand) {
    if value == 1 { runs.value += 1 }
    return value
  }
}

private func taken() {
  let state = start()
  _ = scheduleResult(state.first, 1)
  _ = scheduleResult(state.second, 2)
  spawn { state.first.core.perform() }
  spawn { state.second.core.perform() }
  spawn {
    var sum = 0
    while let next = state.results.next() { sum += (try? next.get()) ?? 100 }
    expect(sum == 3, "each gives one result")
    expect(state.runs.value == 1, "what it did is seen")
  }
}

/// A result, or a cancellation, never both and never neither.
private func cancelledBesideResult() {
  let state = start()
  let action = scheduleResult(state.first, 1)
  spawn { state.first.core.perform() }
  spawn { action.dispose() }
  spawn {
    switch state.results.next() {
    case .success(1): expect(state.runs.value == 1, "it has run")
    case .failure(let error): expect(error is CancellationError && state.runs.value == 0, "it has not run")
    default: expect(false, "one result")
    }
  }
}

/// One result, and two threads that ask for it: one of them gets none.
private func takenByTwo() {
  let state = start()
  _ = scheduleResult(state.first, 1)
  spawn { state.first.core.perform() }
  for _ in 0..<2 {
    spawn { if case .success? = state.results.next() { state.otherRuns.value += 1 } }
  }
}

private func oneTook() {
  expect(state.otherRuns.value == 1, "one has taken it")
  noneLeft()
}

/// A thread that sees the token over sees the action's writes.
private func overIsSeen() {
  let state = start()
  let action = scheduleResult(state.first, 1)
  spawn { state.first.core.perform() }
  spawn { if action.isDisposed { expect(state.runs.value == 1, "it has run") } }
}

private func oneIsLeft() {
  expect((try? state.results.next()?.get()) == 1, "its result")
  noneLeft()
}

private func droppedResult() {
  let state = start()
  _ = scheduleResult(state.first, 1)
  spawn { state.first.core.discard() }
  spawn {
    guard case .failure(let error)? = state.results.next() else { return expect(false, "one result") }
    expect(error as? SchedulerError == .stopped, "its scheduler has dropped it")
  }
}

private func noneLeft() {
  state.first.core.discard()
  expect(state.results.isEmpty && state.results.pendingCount == 0, "no result is left")
  state = nil
}

let groupChecks = [
  Check("group: cancelled beside a run", cancelledBesideRun, over),  // GM1 GM3
  Check("group: cancelled before all runs", cancelledBefore, overBoth),  // GM2
  Check("group: cancelled beside two runs", cancelledBesideTwoRuns, overBoth),  // GM1 GM3
  Check("group: cancelled by two threads", cancelledByTwo, overBoth),  // GM1 GM2
  Check("group: cancelled beside a submission", cancelledBesideSubmission, overBoth),  // GM1 GM4
  Check("group: dropped beside a cancel", droppedBesideCancel, overBoth),  // GM3
  Check("group: cancelled with a handler of drops", cancelledWithHandler, notDropped),  // GM5
  Check("group: cancelled beside a submission with such a handler", cancelledBesideReporting, notDropped),  // GM5
  Check("group: cancelled beside the start of an action with a context", cancelledBesideContext, over),  // GM6
  Check("group: waited for", waitedFor, overBoth),  // GM3
  Check("result: taken", taken, noneLeft),
  Check("result: cancelled beside its run", cancelledBesideResult, noneLeft),
  Check("result: taken by two threads", takenByTwo, oneTook),
  Check("result: its token is over", overIsSeen, oneIsLeft),  // RT1
  Check("result: dropped", droppedResult, noneLeft),
]
