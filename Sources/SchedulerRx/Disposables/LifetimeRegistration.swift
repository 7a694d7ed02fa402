// States of `disposed`: false; true, which is final.
// Obligations, orderings: as in AnonymousDisposable (A3), with a composite to take the observer out of; that the observer is called
//   or revoked, and not both, is the composite's to decide (M1), and so is what a second revocation does: nothing, as a key names one
//   child for ever. It is over when the composite is disposed (M4), too.
// Checked by: "an observer that is revoked while the lifetime ends is called or revoked".
// Models: swift/disposables/lifetime.swift.

internal import Scheduler
internal import Synchronization

/// Takes one observer out of a lifetime, uncalled.
final class LifetimeRegistration: Disposable {
  private let counted = CountedDisposable()
  private let disposed = Atomic(false)
  private let key: CompositeDisposable.DisposeKey
  /// No cycle: a lifetime does not hold its registrations.
  private let observers: CompositeDisposable

  init(key: CompositeDisposable.DisposeKey, in observers: CompositeDisposable) {
    self.key = key
    self.observers = observers
  }

  var isDisposed: Bool {
    disposed.load(ordering: .acquiring) || observers.isDisposed  // A3: acquire; pairs with dispose
  }

  func dispose() {
    disposed.store(true, ordering: .releasing)  // A3: release
    observers.take(for: key)
  }
}
