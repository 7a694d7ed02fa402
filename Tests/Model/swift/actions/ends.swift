// Waits for an action: ClosureTask.swift (task.c, TK4), ReturningAction.swift (Y5), RepeatingTask.swift (task.c, TK4
// and TK6).

internal import CScheduler
internal import Synchronization

private final class State: @unchecked Sendable {
  let core = HandCore(), other = HandCore()
  let runs = Note(), laterRuns = Note(), gone = Note(), child = Child()
  let runner = Note()
  let isDisposed = Atomic(false)
  var action: (any Disposable)?
}
nonisolated(unsafe) private var state: State!

private func start() -> State {
  state = State()
  return state
}

private func plain() -> State {
  let state = start(), runs = state.runs
  state.action = state.core.submit(capturing(state.gone) { runs.value += 1 }).task
  return state
}

private func returning() -> State {
  let state = start(), runs = state.runs, child = state.child, capture = Capture(state.gone)
  state.action = state.core.submit(returning: {
    withExtendedLifetime(capture) {}
    runs.value += 1
    return child
  })
  return state
}

private func periodic() -> State {
  let state = start(), runs = state.runs
  state.action = state.core.submit(
    capturing(state.gone) { runs.value += 1 }, .every(.nanoseconds(1), pace: .fixedDelay), inside: nil)
  return state
}

/// Waits, and then touches data that otherwise only the action touches.
private func awaitEnd(of state: State) {
  state.action!.disposeAndWait()
  expect(state.gone.value == 1, "captures are gone")
  state.runs.value += 10
}

private func over() {
  expect(state.gone.value == 1, "captures are gone")
  state.core.perform()
  expect(state.runs.value % 10 <= 1, "once at the most, and not later")
  expect(state.child.disposals == 0 || state.runs.value % 10 == 1, "what it returned is disposed")
  state = nil
}

// MARK: against a run

private func runAgainstWait(_ state: State) {
  spawn { state.core.perform(atMost: 1) }
  spawn { awaitEnd(of: state) }
}
private func plainAgainstWait() { runAgainstWait(plain()) }
private func returningAgainstWait() { runAgainstWait(returning()) }
private func periodicAgainstWait() {
  let state = periodic()
  spawn { state.core.perform(atMost: 2) }
  spawn { awaitEnd(of: state) }
}

private func tickedAndOver() {
  expect(state.gone.value == 1, "captures are gone")
  let before = state.runs.value
  state.core.perform()
  expect(state.runs.value == before, "no tick later")
  state = nil
}

// A tick that is dequeued after the disposal does not begin, though the disposal found no queued job to cancel.
private func periodicOnTwo() {
  let state = start(), runs = state.runs, runner = state.runner
  state.action = state.core.submit(
    capturing(state.gone) {
      runs.value += 1
      runner.value = Int(csched_swift_thread_number_())
    }, .every(.nanoseconds(1), pace: .fixedDelay), inside: nil)
  spawn { state.core.perform(atMost: 1) }
  spawn {
    state.action!.dispose()
    state.isDisposed.store(true, ordering: .releasing)
  }
  spawn {
    let isLate = state.isDisposed.load(ordering: .acquiring)
    guard state.core.perform(atMost: 1), isLate else { return }
    expect(state.runner.value != Int(csched_swift_thread_number_()), "no tick begins after the disposal")
  }
}

// MARK: against a drop

private func dropAgainstWait(_ state: State) {
  spawn { state.core.discard() }
  spawn { awaitEnd(of: state) }
}
private func plainDropped() { dropAgainstWait(plain()) }
private func returningDropped() { dropAgainstWait(returning()) }
private func periodicDropped() { dropAgainstWait(periodic()) }

private func disposalAgainstWait(_ state: State) {
  spawn { state.action!.dispose() }
  spawn { awaitEnd(of: state) }
}
private func plainDisposed() { disposalAgainstWait(plain()) }
private func returningDisposed() { disposalAgainstWait(returning()) }
private func periodicDisposed() { disposalAgainstWait(periodic()) }

// MARK: inside

private final class Waiter: @unchecked Sendable {
  // Unchecked: only the check's thread that drops the waiter touches it.
  deinit { state.action!.disposeAndWait() }
}

private func waitInsideDrop() {
  let state = start(), waiter = Waiter()
  state.action = state.core.submit(capturing(state.gone) { withExtendedLifetime(waiter) {} }).task
  spawn { state.action!.dispose() }
}

private func waitInsideTick() {
  let state = start(), runs = state.runs
  state.action = state.core.submit(
    capturing(state.gone) { [unowned state] in
      runs.value += 1
      state.action!.disposeAndWait()
    }, .every(.nanoseconds(1), pace: .fixedDelay), inside: nil)
  spawn { state.core.perform(atMost: 2) }
}

// The last tick releases a capture, whose deinit waits for the action.
private func waitInLastTick() {
  let state = start(), waiter = Waiter()
  state.action = state.core.submit(
    capturing(state.gone) { withExtendedLifetime(waiter) {} }, .every(.nanoseconds(1), pace: .fixedDelay), inside: nil)
  spawn { state.core.perform(atMost: 1) }
  spawn { state.action!.dispose() }
}

// MARK: visible writes

private func runAgainstLook(_ state: State) {
  spawn { state.core.perform(atMost: 1) }
  spawn { if state.action!.isDisposed { expect(state.runs.value == 1 && state.gone.value == 1, "what the run did") } }
}
private func plainLooked() { runAgainstLook(plain()) }
private func returningLooked() { runAgainstLook(returning()) }

private func plainDropLooked() { dropAgainstLook(plain()) }
private func returningDropLooked() { dropAgainstLook(returning()) }

private func dropAgainstLook(_ state: State) {
  spawn { state.core.discard() }
  spawn { if state.action!.isDisposed { expect(state.gone.value == 1, "what it held is gone") } }
}

private func isOver() {
  state.core.discard()  // the job of a disposed action may remain
  expect(state.action!.isDisposed && state.gone.value == 1, "it is over")
  state = nil
}

// MARK: what comes late

private func lateReturn() {
  let state = start(), runs = state.runs, laterRuns = state.laterRuns, other = state.other
  state.action = state.core.submit(returning: {
    runs.value += 1
    return other.submit({ laterRuns.value += 1 }).task
  })
  spawn { state.core.perform(atMost: 1) }
  spawn { state.other.perform(atMost: 1) }
  spawn {
    state.action!.disposeAndWait()
    if state.runs.value == 1 { state.laterRuns.value += 10 }
  }
}

private func waitedForBoth() {
  state.core.perform()
  let before = state.laterRuns.value
  state.other.perform()
  expect(state.runs.value == 0 || state.laterRuns.value == before, "what it returned does not run later")
  state = nil
}

let endChecks = [
  Check("plain action: a wait against a run", plainAgainstWait, over),  // TK4
  Check("plain action: a wait against a drop by its queue", plainDropped, over),  // TK4
  Check("plain action: a wait against a disposal", plainDisposed, over),  // TK4
  Check("plain action: a wait in its drop", waitInsideDrop, isOver),  // TK4
  Check("plain action: the end publishes the action's writes", plainLooked, isOver),  // TK2
  Check("plain action: the end publishes the drop's writes", plainDropLooked, isOver),  // TK2
  Check("action: a wait against a run", returningAgainstWait, over),  // Y5
  Check("action: a wait against a drop by its queue", returningDropped, over),  // TK4
  Check("action: a wait against a disposal", returningDisposed, over),  // TK4
  Check("action: a wait against the action that it returns", lateReturn, waitedForBoth),  // Y5
  Check("action: the end publishes the action's writes and its result", returningLooked, isOver),  // TK2
  Check("action: the end publishes the drop's writes", returningDropLooked, isOver),  // TK2
  Check("periodic action: a wait against ticks", periodicAgainstWait, tickedAndOver),  // TK4
  Check("periodic action: a tick that another thread takes", periodicOnTwo, tickedAndOver),  // TK6
  Check("periodic action: a wait in its tick", waitInsideTick, isOver),  // TK4
  Check("periodic action: a wait in the end of its last tick", waitInLastTick, isOver),  // TK4
  Check("periodic action: a wait against a drop", periodicDropped, tickedAndOver),  // TK4
  Check("periodic action: a wait against a disposal", periodicDisposed, tickedAndOver),  // TK4
]
