// States of `disposed`: false; true, which is final.
// Obligations: A3 of AnonymousDisposable.
// Checked by: "what was written before dispose is seen after isDisposed".
// Models: swift/disposables/once.swift.

public import Scheduler
internal import Synchronization

/// Remembers that it was disposed, and does nothing else: a flag that running work can look at.
///
/// What was written before `dispose()` is seen by whoever reads `isDisposed` as true.
///
/// ```swift
/// let stop = BooleanDisposable()
/// worker.async { while !stop.isDisposed { step() } }
/// stop.dispose()
/// ```
public final class BooleanDisposable: Disposable {
  private let counted = CountedDisposable()
  private let disposed: Atomic<Bool>

  /// Creates a flag; `isDisposed` tells whether it begins as a disposed one.
  public init(isDisposed: Bool = false) {
    disposed = Atomic(isDisposed)
  }

  /// Tells whether it has been disposed.
  public var isDisposed: Bool {
    disposed.load(ordering: .acquiring)  // A3: acquire; pairs with dispose; carries what the disposer wrote
  }

  /// Turns `isDisposed` true.
  public func dispose() {
    disposed.store(true, ordering: .releasing)  // A3: release; pairs with isDisposed
  }
}
