// Removes one observer from a lifetime, without calling it.
// States of `disposed`: false; true, which is final.
// Invariants, orderings: A3 of AnonymousDisposable (a reader of true sees all writes before the disposal). A disposal
//   removes a child of a composite. The composite's lock decides whether the observer is called or revoked (CD1 of
//   CompositeDisposable). A second revocation does nothing, because a key is never reused. The registration also counts
//   as disposed when the composite is disposed (CD4).
// Models: swift/disposables/lifetime.swift.

internal import Scheduler
internal import Synchronization

final class LifetimeRegistration: Disposable {
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let disposed = Atomic(false)
  private let key: CompositeDisposable.DisposeKey  // the key of the observer in `observers`
  private let observers: CompositeDisposable  // the lifetime's; no retain cycle: it does not retain registrations

  init(key: CompositeDisposable.DisposeKey, in observers: CompositeDisposable) {
    self.key = key
    self.observers = observers
  }

  var isDisposed: Bool {  // also true after the lifetime's end, when there is nothing to revoke
    disposed.load(ordering: .acquiring) || observers.isDisposed  // A3: acquire, to see writes before dispose
  }

  func dispose() {
    disposed.store(true, ordering: .releasing)  // A3: release, to publish earlier writes; pairs with isDisposed
    observers.take(for: key)  // the discarded result is the observer: released here, not disposed
  }
}
