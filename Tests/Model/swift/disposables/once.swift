// Disposables that dispose or run something once: AnonymousDisposable.swift (A1 to A3), BinaryDisposable.swift (ND1,
// ND2), and similar ones.

internal import CScheduler

private final class State: @unchecked Sendable {
  let first = Note(), second = Note(), gone = Note()
  var disposable: (any Disposable)?
  var around: CompositeDisposable?
}
nonisolated(unsafe) private var state: State!
/// The thread whose dispose ran the closure. A global, so that reading it is no race.
nonisolated(unsafe) private var winner: UInt = 0

private func closure(_ state: State, _ runs: Note) -> @Sendable () -> Void {
  capturing(state.gone) {
    runs.value += 1
    winner = csched_swift_thread_number_()
  }
}

/// Disposes. When this thread's dispose has run the closure, its captures are released.
private func dispose(_ state: State) {
  state.disposable!.dispose()
  if winner == csched_swift_thread_number_() { expect(state.gone.value == 1, "captures are gone when dispose returns") }
}

private func dying(_ state: State) -> Dying {
  Dying(state.first, state.gone) { winner = csched_swift_thread_number_() }
}

private func twice(_ make: (State) -> any Disposable) {
  let new = State()
  state = new
  winner = 0
  new.disposable = make(new)
  spawn { dispose(new) }
  spawn { dispose(new) }
}

/// One thread disposes the disposable, another thread its container.
private func insideAndOutside(_ make: (State) -> any Disposable) {
  let new = State()
  state = new
  new.disposable = make(new)
  winner = 0
  new.around = CompositeDisposable(new.disposable!)
  spawn { dispose(new) }
  spawn { new.around!.dispose() }
}

private func ranOnce() {
  expect(state.first.value == 1, "once")
  expect(state.gone.value == 1, "captures are gone")
  state = nil
}

/// The child is disposed once, and released with its holder.
private func heldOnce() {
  expect(state.first.value == 1, "once")
  state.disposable = nil
  expect(state.gone.value == 1, "the child is gone")
  state = nil
}

private func bothOnce() {
  expect(state.first.value == 1 && state.second.value == 1, "each once")
  state = nil
}

private func anonymous(_ state: State) -> any Disposable { AnonymousDisposable(closure(state, state.first)) }
private func any(_ state: State) -> any Disposable { AnyDisposable(closure(state, state.first)) }
private func anyChild(_ state: State) -> any Disposable { AnyDisposable(dying(state)) }
private func scoped(_ state: State) -> any Disposable { dying(state).scoped() }
// Its child, unlike an AnyDisposable, does not see to it itself that it is disposed once.
private func scopedChild(_ state: State) -> any Disposable { ScopedDisposable(Dying(state.first, state.gone)) }
private func binary(_ state: State) -> any Disposable {
  let second = state.second
  return BinaryDisposable(anonymous(state), AnonymousDisposable { second.value += 1 })
}
private func nary(_ state: State) -> any Disposable {
  let second = state.second
  return NaryDisposable([anonymous(state), AnonymousDisposable { second.value += 1 }])
}

private func anonymousTwice() { twice(anonymous) }
private func anyTwice() { twice(any) }
private func anyChildTwice() { twice(anyChild) }
private func scopedTwice() { twice(scoped) }
private func scopedChildTwice() { twice(scopedChild) }
private func binaryTwice() { twice(binary) }
private func naryTwice() { twice(nary) }
private func anyInside() { insideAndOutside(any) }
private func anyChildInside() { insideAndOutside(anyChild) }
private func scopedInside() { insideAndOutside(scoped) }
private func binaryInside() { insideAndOutside(binary) }
private func naryInside() { insideAndOutside(nary) }

// The last reference goes on either thread, while the other may just have disposed it.
private func scopedRelease() {
  let new = State()
  state = new
  let one = scoped(new)
  spawn { one.dispose() }
  spawn { [inner = Optional(one)] in _ = inner }
}

private func scopedReleases() {
  let new = State()
  state = new
  let one = scoped(new)
  for _ in 0..<2 { spawn { [inner = Optional(one)] in _ = inner } }
}

private func binaryPublishedInside() {
  let binary = BinaryDisposable(Child(), Child())
  publication(binary, by: CompositeDisposable(binary))
}

private func booleanPublished() { publication(BooleanDisposable()) }
private func anonymousPublished() { publication(AnonymousDisposable {}) }
private func anyPublished() { publication(AnyDisposable()) }
private func binaryPublished() { publication(BinaryDisposable(Child(), Child())) }
private func naryPublished() { publication(NaryDisposable([Child()])) }
private func scopedPublished() { publication(ScopedDisposable(Child())) }

let onceChecks = [
  Check("anonymous: two disposals run it once", anonymousTwice, ranOnce),  // A1 A2
  Check("anonymous: a disposal publishes the writes before it", anonymousPublished, seen),  // A3
  Check("any disposable: two disposals of a closure", anyTwice, ranOnce),  // A1 A2
  Check("any disposable: two disposals of a child", anyChildTwice, ranOnce),  // A1 A2
  Check("any disposable: disposed beside its container", anyInside, ranOnce),  // A1
  Check("any disposable: a child disposed beside its container", anyChildInside, ranOnce),  // A1
  Check("any disposable: a disposal publishes the writes before it", anyPublished, seen),  // A3
  Check("scoped: two disposals", scopedTwice, ranOnce),  // A1 A2
  Check("scoped: two disposals, of a child that counts them", scopedChildTwice, heldOnce),  // A1
  Check("scoped: disposed beside its container", scopedInside, ranOnce),  // A1
  Check("scoped: a disposal against the last release", scopedRelease, ranOnce),  // A1 A2
  Check("scoped: two releases, of which the last disposes", scopedReleases, ranOnce),  // A1 A2
  Check("scoped: a disposal publishes the writes before it", scopedPublished, seen),  // A3
  Check("binary: two disposals", binaryTwice, bothOnce),  // ND1
  Check("binary: disposed beside its container", binaryInside, bothOnce),  // ND1
  Check("binary: a disposal publishes the writes before it", binaryPublished, seen),  // ND2
  Check("binary: its container's disposal publishes the writes before it", binaryPublishedInside, seen),  // ND2
  Check("n-ary: two disposals", naryTwice, bothOnce),  // ND1
  Check("n-ary: disposed beside its container", naryInside, bothOnce),  // ND1
  Check("n-ary: a disposal publishes the writes before it", naryPublished, seen),  // ND2
  Check("boolean: a disposal publishes the writes before it", booleanPublished, seen),  // A3
]
