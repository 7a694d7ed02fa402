// States of `disposed`
//   false  `action` waits; nobody touches it but init and deinit
//   true   `action` belongs to the one thread that turned the flag, and is nil once that thread's dispose returns
// Obligations
//   A1  Exactly one dispose runs the action.
//   A2  The action and its captures are released after it ran and before that dispose returns.
//   A3  Whoever sees it disposed sees what was before that dispose.
// Orderings: the exchange releases, pairs with `isDisposed`, carries what the disposer wrote. It need not acquire: `action` was
//   written before anybody had the reference.
// Assumes: the reference itself was handed from thread to thread with the ordering that Sendable asks for.
// Checked by: "a closure disposed by 8 threads at once runs once",
//   "a closure and its captures are gone when dispose returns".
// Models: swift/disposables/once.swift.

internal import Synchronization

/// Runs a closure at its first disposal.
package final class AnonymousDisposable: Disposable {
  private let counted = CountedDisposable()
  private let disposed = Atomic(false)
  // Touched by the thread that won `disposed`, and by deinit, alone.
  // Speed only: one owner at a time is what `disposed` decides, so the runtime need not check it (25 of 124 ns
  // for a set and a disposal).
  @exclusivity(unchecked) nonisolated(unsafe) private var action: HeldClosure?

  package init(_ action: @escaping @Sendable () -> Void) {
    self.action = HeldClosure(action)
  }

  package var isDisposed: Bool {
    disposed.load(ordering: .acquiring)  // A3: acquire; pairs with dispose
  }

  package func dispose() {
    guard !disposed.exchange(true, ordering: .releasing) else { return }  // A1, A3: release
    guard let action = action.take() else { return }  // A2: it dies with this frame
    action.call()
  }
}
