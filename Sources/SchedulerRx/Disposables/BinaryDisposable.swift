// States of `disposed`
//   false  the children wait; nobody touches them but init and deinit
//   true   the children belong to the one thread that turned the flag, which moves them out
// Obligations
//   G1  Exactly one dispose or detach gets the children, and it gets both.
//   G2  Whoever sees it disposed sees what was before that dispose.
// Orderings, Assumes: as in AnonymousDisposable.
// Checked by: "two disposables are disposed in order, once, by 8 threads at once".
// Models: swift/disposables/once.swift.

internal import Scheduler
internal import Synchronization

/// Disposes two others, the first one first.
final class BinaryDisposable: DisposalNode {
  private let counted = CountedDisposable()
  private let disposed = Atomic(false)
  // Touched by the thread that won `disposed`, and by deinit, alone.
  // Speed only: one owner at a time is what `disposed` decides, so the runtime need not check it (25 of 124 ns
  // for a set and a disposal).
  @exclusivity(unchecked) nonisolated(unsafe) private var first: (any Disposable)?
  // As `first`.
  @exclusivity(unchecked) nonisolated(unsafe) private var second: (any Disposable)?

  init(_ first: any Disposable, _ second: any Disposable) {
    self.first = first
    self.second = second
  }

  deinit {
    guard first != nil else { return }
    DisposalWalk.release(handOver)
  }

  var isDisposed: Bool {
    disposed.load(ordering: .acquiring)  // G2: acquire; pairs with dispose and detach
  }

  func dispose() {
    guard !disposed.exchange(true, ordering: .releasing) else { return }  // G1, G2: release
    if let first = first.take() { DisposalWalk.disposeChild(first) }
    if let second = second.take() { DisposalWalk.disposeChild(second) }
  }

  func detachChildren(into walk: inout DisposalWalk) {
    guard !disposed.exchange(true, ordering: .releasing) else { return }  // G1, G2: release
    handOver(to: &walk)
  }

  /// Moves both children into `walk`, and keeps no reference of its own to either.
  private func handOver(to walk: inout DisposalWalk) {
    guard let first = first.take(), let second = second.take() else { return }
    walk.push(first, second)
  }
}
