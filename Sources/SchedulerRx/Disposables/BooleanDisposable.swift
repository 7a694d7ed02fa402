// A flag that a disposal sets.
// States of `disposed`: false; true, which is final.
// Invariants: A3 of AnonymousDisposable: a thread that reads true sees all writes made before the disposal.
// Models: swift/disposables/once.swift.

public import Scheduler
internal import Synchronization

/// A flag that running work can check: it records its disposal, and does nothing else.
///
/// A thread that reads `isDisposed` as true sees all writes made before `dispose()`.
///
/// ```swift
/// let stop = BooleanDisposable()
/// worker.async { while !stop.isDisposed { step() } }
/// stop.dispose()
/// ```
public final class BooleanDisposable: Disposable {
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let disposed: Atomic<Bool>

  /// Creates a flag; `isDisposed` is its initial state.
  public init(isDisposed: Bool = false) {
    disposed = Atomic(isDisposed)
  }

  /// Whether it has been disposed.
  public var isDisposed: Bool {
    disposed.load(ordering: .acquiring)  // A3: acquire; pairs with dispose; shows what the disposer wrote before
  }

  /// Sets `isDisposed` to true.
  public func dispose() {
    disposed.store(true, ordering: .releasing)  // A3: release, to publish earlier writes; pairs with isDisposed
  }
}
