// BlockingSink.swift: O1 to O4.

private final class State: @unchecked Sendable {
  let lock: RunLoopLock
  let sink: BlockingSink<Int>
  let child = Child()
  var gone = Note()
  var hasGivenUp = false
  var result: (elements: [Int], error: (any Error)?)?

  init(_ wanted: BlockingSink<Int>.Wanted, timeout: Duration?, where predicate: BlockingSink<Int>.Predicate?) {
    lock = RunLoopLock(timeout: timeout)
    sink = BlockingSink(wanted, where: predicate, waking: lock)
  }
}
nonisolated(unsafe) private var state: State!

private func start(
  _ wanted: BlockingSink<Int>.Wanted, timeout: Duration? = nil, where predicate: BlockingSink<Int>.Predicate? = nil
) -> State {
  state = State(wanted, timeout: timeout, where: predicate)
  return state
}

private struct Failure: Error {}

private func elements() -> (elements: [Int], isComplete: Bool) {
  (state.result!.elements, state.result!.error == nil)
}

// MARK: the state alone

private func eventsAgainstTimeout() {
  let state = start(.all)
  state.sink.subscription.setDisposable(state.child)
  spawn {
    state.sink.next(1)
    state.sink.end(nil)
  }
  spawn { state.hasGivenUp = state.sink.giveUp() }
}

private func oneOutcome() {
  state.result = state.sink.takeResult()
  let (elements, isComplete) = elements()
  expect(isComplete != state.hasGivenUp, "the end or the timeout")
  expect(elements == [1] || (state.hasGivenUp && elements.isEmpty), "what came before it")
  expect(state.child.disposals == (state.hasGivenUp ? 0 : 1), "the source is disposed by its end")
  state = nil
}

@inline(never)
private func all(keeping gone: Note) -> BlockingSink<Int>.Predicate {
  let capture = Capture(gone)
  return { _ in
    withExtendedLifetime(capture) {}
    return true
  }
}

private func firstAgainstTimeout() {
  let gone = Note()
  let state = start(.first(1), where: all(keeping: gone))
  state.gone = gone
  state.sink.subscription.setDisposable(state.child)
  spawn { state.sink.next(1) }
  spawn { state.hasGivenUp = state.sink.giveUp() }
}

private func predicateGone() {
  expect(state.gone.value == 1, "the predicate is gone")
  oneOutcome()
}

// MARK: the whole wait

private func wait(_ state: State) {
  _ = state.lock.wait(
    beginningWith: { state.sink.subscription.setDisposable(state.child) }, givesUp: { state.sink.giveUp() })
  state.sink.subscription.dispose()
  expect(state.child.disposals == 1, "the source is disposed when the wait is over")
  state.result = state.sink.takeResult()
}

private func whole(_ wanted: BlockingSink<Int>.Wanted, timeout: Duration? = nil, failing error: (any Error)? = nil) {
  let state = start(wanted, timeout: timeout)
  spawn { wait(state) }
  spawn {
    state.sink.next(1)
    state.sink.next(2)
    state.sink.end(error)
  }
}

private func completed() { whole(.all) }
private func failed() { whole(.all, failing: Failure()) }
private func last() { whole(.last) }
private func first() { whole(.first(1)) }
private func lateOrNot() { whole(.all, timeout: .nanoseconds(1_000_000)) }

private func hasAll() { expectResult([1, 2], true) }
private func hasFailed() { expectResult([1, 2], false) }
private func hasLast() { expectResult([2], true) }
private func hasFirst() { expectResult([1], true) }

private func expectResult(_ wanted: [Int], _ isComplete: Bool) {
  let found = elements()
  expect(found.elements == wanted && found.isComplete == isComplete, "the result")
  expect(state.child.disposals == 1, "the source is disposed once")
  state = nil
}

private func inTimeOrNot() {
  let (elements, isComplete) = elements()
  expect(elements == [1, 2] || (!isComplete && (elements == [1] || elements.isEmpty)), "all, or what came in time")
  expect(state.child.disposals == 1, "the source is disposed once")
  state = nil
}

let sinkChecks = [
  Check("blocking: events against the timeout", eventsAgainstTimeout, oneOutcome),  // O1 O2 O3
  Check("blocking: the predicate is gone at the end", firstAgainstTimeout, predicateGone),  // O2
  Check("blocking: a wait for all", completed, hasAll),  // O3 O4
  Check("blocking: a wait that fails", failed, hasFailed),  // O3 O4
  Check("blocking: a wait for the last", last, hasLast),  // O3 O4
  Check("blocking: a wait for the first", first, hasFirst),  // O2 O3 O4
  Check("blocking: a wait that may be too short", lateOrNot, inTimeOrNot),  // O1 O3 O4
]
