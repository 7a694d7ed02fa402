// Removes one observer from a lifetime, without calling it.
// States of `disposed`: false; true, which is final.
// Invariants, orderings: A3 of AnonymousDisposable; a disposal removes a child of a composite instead of running a closure. The composite decides
//   whether the observer is called or revoked (CD1). A second revocation does nothing, because a key is never reused. The registration also counts
//   as disposed when the composite is (CD4).
// Checked by: "an observer that is revoked while the lifetime ends is called or revoked".
// Models: swift/disposables/lifetime.swift.

internal import Scheduler
internal import Synchronization

final class LifetimeRegistration: Disposable {
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let disposed = Atomic(false)
  private let key: CompositeDisposable.DisposeKey  // of the observer in `observers`
  private let observers: CompositeDisposable  // the lifetime's; no retain cycle, as it does not retain this object

  init(key: CompositeDisposable.DisposeKey, in observers: CompositeDisposable) {
    self.key = key
    self.observers = observers
  }

  var isDisposed: Bool {
    disposed.load(ordering: .acquiring) || observers.isDisposed  // A3: acquire; pairs with dispose
  }

  func dispose() {
    disposed.store(true, ordering: .releasing)  // A3: release; pairs with isDisposed
    observers.take(for: key)  // result discarded: releases the observer undisposed
  }
}
