// States: `disposed`, `current`, and `age`, the number of the swap or replace that put it there, change together, under the lock.
//   `disposed`: final. Numbers are given when a swap or replace begins.
// Obligations
//   V1  Each that is set is disposed exactly once, or handed back by swap, or held.
//   V2  A reader gets a reference to what is there, or nil.
//   V3  Whoever sees it disposed sees what was before that disposal.
//   V4  Of a replace, and of a swap or replace that began after it, the later one's stays, whichever ends first.
// Orderings: the lock's; the store of `disposed` releases, pairs with `isDisposed`.
// Checked by: "each of the disposables that 4 threads set while one disposes is disposed exactly once",
//   "readers that race setters see a disposable that is alive", "what is set inside of a replace wins".
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
  @exclusivity(unchecked) nonisolated(unsafe) private var current: (any Disposable)?
  @exclusivity(unchecked) nonisolated(unsafe) private var last: UInt64 = 0
  @exclusivity(unchecked) nonisolated(unsafe) private var age: UInt64 = 0

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
  ///
  /// The value is made before it is set. If the making sets this very disposable (work that runs at once, and begins the next), this
  /// assignment comes last, and disposes the newer work. ``replace(_:)`` does not.
  public var disposable: (any Disposable)? {
    get {
      lock.lock()
      let found = current
      lock.unlock()
      return found
    }
    set { swap(newValue)?.dispose() }
  }

  /// Puts what `begin` returns in the place of what is held, unless something newer is there by then.
  ///
  /// ```swift
  /// let pending = SerialDisposable()
  /// func poll() {
  ///   pending.replace { scheduler.schedule { if !isReady() { poll() } } }  // the newest poll stays, also where each runs at once
  /// }
  /// ```
  ///
  /// The old one is disposed once the new one is in place. Newer is what `begin` itself, or another thread, has set since this call began, nil
  /// included, and what another replace puts there that began later: that stays, and what `begin` returned is disposed, as it is after a
  /// disposal.
  ///
  /// - Parameter begin: begins the work, on the caller's thread, before this returns; not under a lock. Its error is thrown on, and nothing
  ///   is replaced.
  public func replace<Failure: Error>(_ begin: () throws(Failure) -> (any Disposable)?) throws(Failure) {
    lock.lock()
    last += 1
    let number = last
    lock.unlock()
    let replacement = try begin()
    lock.lock()
    // ordered by the lock
    let isNewest = age < number && !disposed.load(ordering: .relaxed)  // V4
    let old = isNewest ? put(replacement, number) : replacement
    lock.unlock()
    old?.dispose()
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
    last += 1
    let old = put(replacement, last)
    lock.unlock()
    return old
  }

  /// Under the lock: exchanges what is held.
  private func put(_ replacement: (any Disposable)?, _ number: UInt64) -> (any Disposable)? {
    let old = current.take()
    current = replacement
    age = number
    return old
  }

  /// Disposes what is held; what is set later is disposed then.
  public func dispose() {
    if let old = detach() { DisposalWalk.disposeChild(old) }
  }

  package func detachChildren(into walk: inout DisposalWalk) {
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
