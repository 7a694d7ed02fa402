// RefCountDisposable.swift: RF1 to RF4.

/// Is to be disposed when the primary and all dependents have been, and sees what their disposers did before.
private final class Underlying: Disposable, @unchecked Sendable {
  let primary = Note(), one = Note(), other = Note()
  var disposals = 0
  var isDisposed: Bool { disposals > 0 }
  func dispose() {
    disposals += 1
    expect(primary.value == 1 && one.value == 1 && other.value == 1, "all of them first")
  }
}

private final class State: @unchecked Sendable {
  let underlying = Underlying()
  let counted: RefCountDisposable
  var one: (any Disposable)?, other: (any Disposable)?
  init() { counted = RefCountDisposable(disposable: underlying) }
}
nonisolated(unsafe) private var state: State!

private func start(dependents: Int) -> State {
  state = State()
  state.underlying.one.value = dependents > 0 ? 0 : 1
  state.underlying.other.value = dependents > 1 ? 0 : 1
  if dependents > 0 { state.one = state.counted.retain() }
  if dependents > 1 { state.other = state.counted.retain() }
  return state
}

private func disposePrimary(_ state: State) {
  state.underlying.primary.value = 1
  state.counted.dispose()
}

private func disposeOne(_ state: State) {
  state.underlying.one.value = 1
  state.one!.dispose()
}

private func primaryAgainstDependent() {
  let state = start(dependents: 1)
  spawn { disposePrimary(state) }
  spawn { disposeOne(state) }
}

private func primaryAgainstTwo() {
  let state = start(dependents: 2)
  spawn { disposePrimary(state) }
  spawn { disposeOne(state) }
  spawn {
    state.underlying.other.value = 1
    state.other!.dispose()
  }
}

private func disposedOnce() {
  expect(state.underlying.disposals == 1, "the underlying is disposed once")
  expect(state.counted.isDisposed && state.counted.retain().isDisposed, "a later dependent is disposed already")
  state = nil
}

// A dependent that comes while the primary goes holds the underlying up, or is disposed already.
private func retainAgainstPrimary() {
  let state = start(dependents: 0)
  spawn { disposePrimary(state) }
  spawn {
    let one = state.counted.retain()
    let isLate = one.isDisposed
    if !isLate { expect(!state.counted.isDisposed, "the underlying is held up") }
    one.dispose()
    one.dispose()
  }
}

// All disposals of a dependent count once.
private func twiceDisposed() {
  let state = start(dependents: 2)
  state.underlying.primary.value = 1
  spawn { state.one!.dispose() }
  spawn { state.one!.dispose() }
  spawn { state.counted.dispose() }
}

private func isHeldUp() {
  expect(state.underlying.disposals == 0 && !state.counted.isDisposed, "one dependent is left")
  state.underlying.one.value = 1
  state.underlying.other.value = 1
  state.other!.dispose()
  disposedOnce()
}

private func twoPrimaries() {
  let state = start(dependents: 0)
  state.underlying.primary.value = 1
  spawn { state.counted.dispose() }
  spawn { state.counted.dispose() }
}

private func releasedDependent() {
  let state = start(dependents: 1)
  spawn { disposePrimary(state) }
  spawn { state.one = nil }
}

private func neverDisposed() {
  let underlying = state.underlying
  state = nil
  expect(underlying.disposals == 0, "a dependent that is merely released is not disposed")
}

private func published() { publication(RefCountDisposable(disposable: Child())) }
private func dependentPublished() { publication(RefCountDisposable(disposable: Child()).retain()) }

let refCountChecks = [
  Check("reference count: primary against dependent", primaryAgainstDependent, disposedOnce),  // RF1
  Check("reference count: primary against two dependents", primaryAgainstTwo, disposedOnce),  // RF1
  Check("reference count: a new dependent against the primary", retainAgainstPrimary, disposedOnce),  // RF2
  Check("reference count: a dependent disposed twice counts once", twiceDisposed, isHeldUp),  // RF3
  Check("reference count: the primary disposed twice", twoPrimaries, disposedOnce),  // RF1
  Check("reference count: a dependent that is only released", releasedDependent, neverDisposed),  // RF3
  Check("reference count: a disposal publishes the writes before it", published, seen),  // RF4
  Check("reference count: a dependent's disposal publishes the writes before it", dependentPublished, seen),  // RF4
]
