// SingleAssignmentDisposable.swift: SA1 to SA4.

internal import ModelEngine

private final class State: @unchecked Sendable {
  let single = SingleAssignmentDisposable()
  let child = Child()
  let gone = Note(), runs = Note()
}
nonisolated(unsafe) private var state: State!

private func start(isSet: Bool = false) -> State {
  state = State()
  if isSet { state.single.setDisposable(state.child) }
  return state
}

private func setAgainstDisposal() {
  let state = start()
  spawn { state.single.setDisposable(state.child) }
  spawn { state.single.dispose() }
}

private func setAgainstTwoDisposals() {
  setAgainstDisposal()
  let state = state!
  spawn { state.single.dispose() }
}

private func disposedOnce() {
  expect(state.child.disposals == 1, "the child is disposed once")
  expect(state.single.isDisposed && state.single.disposable == nil, "nothing is held")
  state = nil
}

private func read(_ state: State) {
  guard let found = state.single.disposable else { return }
  expect(found as AnyObject === state.child, "what was set")
}

private func readersAgainstDisposal() {
  let state = start(isSet: true)
  spawn { read(state) }
  spawn { read(state) }
  spawn { state.single.dispose() }
}

private func readerAgainstSetAndDisposal() {
  setAgainstDisposal()
  let state = state!
  spawn { read(state) }
}

private func readerAgainstSet() {
  let state = start()
  spawn { state.single.setDisposable(state.child) }
  spawn { read(state) }
}

private func isHeld() {
  expect(state.child.disposals == 0 && state.single.disposable as AnyObject === state.child, "it is held")
  state = nil
}

// At the end the child is released, whichever thread held it in place last.
private func captures() {
  let state = start()
  spawn { state.single.setDisposable(Dying(state.runs, state.gone)) }
  spawn { state.single.dispose() }
  spawn { _ = state.single.disposable }
}

private func areGone() {
  expect(state.runs.value == 1 && state.gone.value == 1, "the child is disposed, and gone")
  state = nil
}

private func releasedUndisposed() {
  let state = start()
  spawn { state.single.setDisposable(state.child) }
  spawn { read(state) }
}

private func isUndisposed() {
  let child = state.child
  state = nil
  expect(child.disposals == 0, "letting go is not disposing")
}

private func secondSet() {
  let state = start()
  model_expect_panic("setDisposable(_:) was called a second time")
  model_allow_leaks()
  spawn { state.single.setDisposable(state.child) }
  spawn { state.single.setDisposable(state.child) }
}

private func secondSetAfterDisposal() {
  secondSet()
  state.single.dispose()
}

private func stopped() {
  expect(model_panics() == 1, "one of the two is the second")
  state = nil
}

private func published() { publication(SingleAssignmentDisposable()) }

let singleChecks = [
  Check("single assignment: a set against a disposal", setAgainstDisposal, disposedOnce),  // SA1 SA3
  Check("single assignment: a set against two disposals", setAgainstTwoDisposals, disposedOnce),  // SA3
  Check("single assignment: two readers against a disposal", readersAgainstDisposal, disposedOnce),  // SA2
  Check("single assignment: a reader against a set", readerAgainstSet, isHeld),  // SA2
  Check("single assignment: a reader, a set and a disposal", readerAgainstSetAndDisposal, disposedOnce),  // SA2 SA3
  Check("single assignment: the child is gone after set and disposal", captures, areGone),  // SA2
  Check("single assignment: released undisposed", releasedUndisposed, isUndisposed),  // SA3
  Check("single assignment: a second set stops the process", secondSet, stopped),  // SA1
  Check("single assignment: a second set after disposal stops the process", secondSetAfterDisposal, stopped),  // SA1
  Check("single assignment: a disposal publishes the writes before it", published, seen),  // SA4
]
