// SerialDisposable.swift: SD1 to SD4.

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

private func replaceAgainstAssignment() {
  let state = start()
  spawn { state.serial.replace { state.second } }
  spawn { state.serial.disposable = state.third }
}

private func newerInside() {
  let state = start()
  spawn {
    state.serial.replace {
      state.serial.disposable = state.third
      return state.second
    }
  }
  spawn {
    let found = state.serial.disposable as AnyObject
    expect(found === state.first || found === state.third, "never what is older")
  }
}

private func replaceAgainstDisposal() {
  let state = start()
  spawn { state.serial.replace { state.second } }
  spawn { state.serial.dispose() }
  state.third.dispose()
}

/// One of them began later: that is held, and by the state's end it is not disposed.
private func twoReplaces() {
  let state = start()
  spawn { state.serial.replace { state.second } }
  spawn { state.serial.replace { state.third } }
}

private func newerIsHeld() {
  expect(state.serial.disposable as AnyObject === state.third && state.third.disposals == 0, "the newer one is held")
  expect(state.first.disposals == 1 && state.second.disposals == 1, "the others are disposed")
  state = nil
}

private func published() { publication(SerialDisposable()) }

let serialChecks = [
  Check("serial disposable: two assignments", twoAssignments, oneIsHeld),  // SD1
  Check("serial disposable: two assignments and a disposal", assignmentsAgainstDisposal, allDisposed),  // SD1
  Check("serial disposable: a swap against a disposal", swapAgainstDisposal, handedOrDisposed),  // SD1
  Check("serial disposable: a reader against an assignment", readerAgainstAssignment, secondIsHeld),  // SD2
  Check("serial disposable: a replace against an assignment", replaceAgainstAssignment, oneIsHeld),  // SD1
  Check("serial disposable: a replace against a disposal", replaceAgainstDisposal, allDisposed),  // SD1
  Check("serial disposable: two replaces", twoReplaces, oneIsHeld),  // SD1, SD4
  Check("serial disposable: a child that is set inside of a replace", newerInside, newerIsHeld),  // SD4
  Check("serial disposable: a disposal publishes the writes before it", published, seen),  // SD3
]
