// Disposes a fixed list of disposables, in order, once.
// States of `disposed`, invariants, orderings: as in BinaryDisposable (ND1, ND2), with a list instead of two children.
// Models: swift/disposables/once.swift.

internal import Scheduler
internal import Synchronization

final class NaryDisposable: DisposalNode {
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let disposed = Atomic(false)  // set once; see BinaryDisposable
  // Only init, deinit and the thread that set `disposed` access `children`.
  @exclusivity(unchecked) nonisolated(unsafe) private var children: ChildList

  init(_ children: [any Disposable]) {
    self.children = ChildList(children)
  }

  deinit {
    guard !children.isEmpty else { return }  // empty: the disposal took the children, or there were none
    DisposalWalk.release { $0.push(children.takeAll()) }  // frees nested containers without recursion
  }

  var isDisposed: Bool {
    disposed.load(ordering: .acquiring)  // ND2: acquire, to see writes before the disposal; pairs with detachChildren
  }

  func dispose() {
    DisposalWalk.dispose(self)  // calls detachChildren
  }

  /// Marks this as disposed, and moves all children into `walk`, which disposes them. Only the first call gets children
  /// (ND1); others do nothing.
  func detachChildren(into walk: inout DisposalWalk) {
    guard !disposed.exchange(true, ordering: .releasing) else { return }  // ND1: one winner; ND2: release
    walk.push(children.takeAll())
  }
}
