// States of `disposed`
//   false  `observers` waits; nobody touches it but init and deinit
//   true   `observers` belongs to the one thread that turned the flag
// Obligations, orderings: as in AnonymousDisposable (A1 to A3); that the observer is called or revoked, and not both, is the
//   composite's to decide (M1).
// Checked by: "an observer that is revoked while the lifetime ends is called or revoked".
// Models: swift/disposables/lifetime.swift.

internal import Synchronization

/// Takes one observer out of a lifetime, uncalled.
final class LifetimeRegistration: Cancelable {
  private let counted = CountedDisposable()
  private let disposed = Atomic(false)
  private let key: DisposeKey
  // Touched by the thread that won `disposed`, and by init and deinit, alone. No cycle: a lifetime does not hold its registrations.
  nonisolated(unsafe) private var observers: CompositeDisposable?

  init(key: DisposeKey, in observers: CompositeDisposable) {
    self.key = key
    self.observers = observers
  }

  var isDisposed: Bool {
    disposed.load(ordering: .acquiring)  // A3: acquire; pairs with dispose
  }

  func dispose() {
    guard !disposed.exchange(true, ordering: .releasing) else { return }  // A1, A3: release
    observers.take()?.take(for: key)
  }
}
