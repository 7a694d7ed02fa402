// States: `disposed` and `current` change together, under the lock. `disposed`: final.
// Obligations
//   V1  Each that is set is disposed exactly once, or handed back by swap, or held.
//   V2  A reader gets a reference to what is there, or nil.
//   V3  Whoever sees it disposed sees what was before that disposal.
// Orderings: the lock's; the store of `disposed` releases, pairs with `isDisposed`.
// Checked by: "each of the disposables that 4 threads set while one disposes is disposed exactly once",
//   "readers that race setters see a disposable that is alive".
// Models: swift/slots/serial.swift.

internal import Synchronization

/// Holds one disposable at a time, and disposes the old one when a new one comes.
///
/// ```swift
/// let latest = SerialDisposable()
/// latest.disposable = search("sch")   // begins a search
/// latest.disposable = search("sche")  // ends it, and begins the next
/// latest.dispose()                    // ends that one, and each one set from now on
/// ```
///
/// Each disposable that is set is disposed exactly once, or handed back by ``swap(_:)``, however many threads set, swap
/// and dispose. Of two that are set at the same time either may come last. The idea is that of Rx.NET and RxSwift.
public final class SerialDisposable: DisposalNode {
  private let counted = CountedDisposable()
  // A lock, because a reader must take a reference to what another thread may be about to let go: without one that would
  // cost a box for each assignment.
  private let lock = InlineLock()
  private let disposed = Atomic(false)  // written under the lock
  // Under the lock, and in deinit.
  nonisolated(unsafe) private var current: (any Disposable)?

  /// Creates one that holds nothing.
  public init() {}

  deinit {
    guard current != nil else { return }
    DisposalWalk.release { walk in
      if let current = current.take() { walk.push(current) }
    }
  }

  /// Tells whether it has been disposed.
  public var isDisposed: Bool {
    disposed.load(ordering: .acquiring)  // V3: acquire; pairs with detach
  }

  /// The disposable that is held; nil if there is none, and after the disposal.
  ///
  /// Setting it disposes the old one, once the new one is in place and before the assignment is over. After the disposal
  /// it disposes the new one at once. Setting the one that is held already therefore disposes it.
  public var disposable: (any Disposable)? {
    get {
      lock.lock()
      let found = current
      lock.unlock()
      return found
    }
    set { swap(newValue)?.dispose() }
  }

  /// Puts `replacement` in the place of what is held, and returns that undisposed.
  ///
  /// After the disposal it disposes `replacement` at once, and returns nil.
  @discardableResult
  public func swap(_ replacement: (any Disposable)?) -> (any Disposable)? {
    lock.lock()
    // ordered by the lock
    guard !disposed.load(ordering: .relaxed) else {
      lock.unlock()
      replacement?.dispose()
      return nil
    }
    let old = current.take()
    current = replacement
    lock.unlock()
    return old
  }

  /// Disposes what is held; what is set later is disposed then.
  public func dispose() {
    if let old = detach() { DisposalWalk.disposeChild(old) }
  }

  func detachChildren(into walk: inout DisposalWalk) {
    if let old = detach() { walk.push(old) }
  }

  private func detach() -> (any Disposable)? {
    lock.lock()
    disposed.store(true, ordering: .releasing)  // V3: release; pairs with isDisposed
    let old = current.take()
    lock.unlock()
    return old
  }
}
