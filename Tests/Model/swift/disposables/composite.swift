// CompositeDisposable.swift: CD1 to CD4.

private final class State: @unchecked Sendable {
  let composite = CompositeDisposable()
  let first = Child(), second = Child()
  let gone = Note()
  var key: CompositeDisposable.DisposeKey?
  var taken = 0
}
nonisolated(unsafe) private var state: State!

private func start(holdsFirst: Bool = true) -> State {
  state = State()
  if holdsFirst { state.key = state.composite.insert(state.first) }
  return state
}

private func insertAgainstDisposal() {
  let state = start()
  spawn { state.composite.insert(state.second) }
  spawn { state.composite.dispose() }
}

private func twoInsertsAgainstDisposal() {
  let state = start(holdsFirst: false)
  spawn { state.composite.insert(state.first) }
  spawn { state.composite.insert(state.second) }
  spawn { state.composite.dispose() }
}

private func twoDisposals() {
  let state = start()
  state.composite.insert(state.second)
  spawn { state.composite.dispose() }
  spawn { state.composite.dispose() }
}

private func bothDisposed() {
  expect(state.first.disposals == 1 && state.second.disposals == 1, "each once")
  expect(state.composite.isDisposed && state.composite.count == 0, "nothing is held")
  state = nil
}

private func takeAgainstDisposal() {
  let state = start()
  spawn { if state.composite.take(for: state.key!) != nil { state.taken = 1 } }
  spawn { state.composite.dispose() }
}

private func takenOrDisposed() {
  expect(state.first.disposals + state.taken == 1, "taken, or disposed")
  state = nil
}

private func removesAgainstDisposal() {
  let state = start()
  spawn { state.composite.remove(for: state.key!) }
  spawn { state.composite.remove(for: state.key!) }
  spawn { state.composite.dispose() }
}

private func disposedOnce() {
  expect(state.first.disposals == 1, "once")
  state = nil
}

// What the one disposal gets is gone when it has returned; what comes later, when its insert has.
private func captures() {
  let state = start(holdsFirst: false)
  state.composite.insert(capturing(state.gone))
  spawn { state.composite.insert(state.first) }
  spawn {
    state.composite.dispose()
    expect(state.gone.value == 1, "captures are gone")
  }
}

private func countAgainstInsert() {
  let state = start()
  spawn { state.composite.insert(state.second) }
  spawn { expect(state.composite.count > 0, "one is there") }
}

private func bothHeld() {
  let first = state.first, second = state.second
  expect(state.composite.count == 2, "two are held")
  state = nil
  expect(first.disposals == 0 && second.disposals == 0, "letting go is not disposing")
}

private func published() { publication(CompositeDisposable()) }

let compositeChecks = [
  Check("composite: an insert against a disposal", insertAgainstDisposal, bothDisposed),  // CD1
  Check("composite: two inserts and a disposal", twoInsertsAgainstDisposal, bothDisposed),  // CD1 CD2
  Check("composite: two disposals", twoDisposals, bothDisposed),  // CD1
  Check("composite: a take against a disposal", takeAgainstDisposal, takenOrDisposed),  // CD1
  Check("composite: two removals and a disposal", removesAgainstDisposal, disposedOnce),  // CD1
  Check("composite: captures are gone when the disposal returns", captures, disposedOnce),  // CD3
  Check("composite: a count against an insert", countAgainstInsert, bothHeld),  // CD2
  Check("composite: a disposal publishes the writes before it", published, seen),  // CD4
]
