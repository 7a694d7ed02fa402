// SerialDisposable.swift: V1 to V3.

private final class State: @unchecked Sendable {
  let serial = SerialDisposable()
  let first = Child(), second = Child(), third = Child()
  var handed = 0
}
nonisolated(unsafe) private var state: State!

private func start() -> State {
  state = State()
  state.serial.disposable = state.first
  return state
}

private func twoAssignments() {
  let state = start()
  spawn { state.serial.disposable = state.second }
  spawn { state.serial.disposable = state.third }
}

private func oneIsHeld() {
  let held = state.serial.disposable as AnyObject
  expect(held === state.second || held === state.third, "the last one is held")
  expect(state.first.disposals == 1 && state.second.disposals + state.third.disposals == 1, "the others are disposed")
  expect((held as? Child)?.disposals == 0, "and it is not")
  state = nil
}

private func assignmentsAgainstDisposal() {
  twoAssignments()
  let state = state!
  spawn { state.serial.dispose() }
}

private func allDisposed() {
  expect(state.first.disposals == 1 && state.second.disposals == 1 && state.third.disposals == 1, "each once")
  expect(state.serial.isDisposed && state.serial.disposable == nil, "nothing is held")
  state = nil
}

private func swapAgainstDisposal() {
  let state = start()
  spawn {
    let old = state.serial.swap(state.second)
    if old != nil { state.handed = 1 }
    expect(old == nil || (old as AnyObject === state.first && state.first.disposals == 0), "undisposed")
  }
  spawn { state.serial.dispose() }
}

private func handedOrDisposed() {
  expect(state.first.disposals + state.handed == 1 && state.second.disposals == 1, "handed back, or disposed")
  state = nil
}

private func readerAgainstAssignment() {
  let state = start()
  spawn {
    let found = state.serial.disposable as AnyObject
    expect(found === state.first || found === state.second, "what was set")
  }
  spawn { state.serial.disposable = state.second }
}

private func secondIsHeld() {
  expect(state.first.disposals == 1 && state.second.disposals == 0, "the old one is disposed")
  let second = state.second
  state = nil
  expect(second.disposals == 0, "letting go is not disposing")
}

private func published() { publication(SerialDisposable()) }

let serialChecks = [
  Check("serial disposable: two assignments", twoAssignments, oneIsHeld),  // V1
  Check("serial disposable: two assignments and a disposal", assignmentsAgainstDisposal, allDisposed),  // V1
  Check("serial disposable: a swap against a disposal", swapAgainstDisposal, handedOrDisposed),  // V1
  Check("serial disposable: a reader against an assignment", readerAgainstAssignment, secondIsHeld),  // V2
  Check("serial disposable: who sees it disposed sees what was before", published, seen),  // V3
]
