// Holds one disposable at a time, and disposes the old one when a new one is set.
// States: `disposed`, `current` and `numberOfCurrent` change together, under the lock. `disposed` is final. Each swap
//   and replace gets a number when it begins. `numberOfCurrent` is the number of the call that set `current`.
// Invariants
//   SD1  Each disposable that is set is disposed exactly once, or returned by swap, or still held.
//   SD2  A reader gets a reference to the current disposable, or nil.
//   SD3  A thread that reads `isDisposed` as true sees everything that happened before that disposal.
//   SD4  If a swap or replace begins while a replace runs, the disposable of the later call stays, whichever call
//        returns first.
// Orderings: the lock's; the store of `disposed` releases, pairs with `isDisposed`.
// Models: swift/slots/serial.swift.

internal import Synchronization

/// A holder of one disposable, which disposes the old disposable when a new one is set.
///
/// ```swift
/// let latest = SerialDisposable()
/// latest.disposable = search("sch")   // begins a search
/// latest.disposable = search("sche")  // ends it, and begins the next
/// latest.dispose()                    // ends that search, and each one that is set later
/// ```
///
/// Each disposable that is set is disposed exactly once, or returned by ``swap(_:)``, however many threads set, swap
/// and dispose. If two are set at the same time, either may remain. The idea is from Rx.NET and RxSwift.
public final class SerialDisposable: DisposalNode {
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  // A lock: a reader must retain a reference that another thread may release at that moment. Rejected: an atomic, which
  // needs a box per value.
  private let lock = InlineLock()
  private let disposed = Atomic(false)  // written under the lock
  // Accessed under the lock, and in deinit.
  @exclusivity(unchecked) nonisolated(unsafe) private var current: (any Disposable)?
  // the number of the most recent swap or replace
  @exclusivity(unchecked) nonisolated(unsafe) private var lastNumber: UInt64 = 0
  // the number of the swap or replace that set `current`
  @exclusivity(unchecked) nonisolated(unsafe) private var numberOfCurrent: UInt64 = 0

  /// Creates a holder without a disposable.
  public init() {}

  deinit {
    guard current != nil else { return }
    DisposalWalk.release { walk in  // frees a chain of any length without recursion
      if let current = current.take() { walk.push(current) }
    }
  }

  /// Whether it has been disposed.
  public var isDisposed: Bool {
    // SD3: acquire, so the caller sees all that came before the disposal; pairs with detach
    disposed.load(ordering: .acquiring)
  }

  /// The disposable that is held; nil if there is none, and after the disposal.
  ///
  /// Setting it disposes the old disposable after the new one is in place, before the assignment returns. After the
  /// disposal it disposes the new one at once. Setting the disposable that is already held disposes it.
  ///
  /// The new value is evaluated before it is set. If the work runs at once, the evaluation may itself set this
  /// disposable to newer work. This assignment still takes effect last, and disposes that newer work. Use
  /// ``replace(_:)`` in this case.
  public var disposable: (any Disposable)? {
    get {
      lock.lock()
      let found = current
      lock.unlock()
      return found
    }
    set { swap(newValue)?.dispose() }
  }

  /// Replaces the held disposable with the result of `begin`, unless a later call has set another one.
  ///
  /// ```swift
  /// let pending = SerialDisposable()
  /// func poll() {
  ///   pending.replace { scheduler.schedule { if !isReady() { poll() } } }  // holds the newest poll, even if `schedule` runs each poll at once
  /// }
  /// ```
  ///
  /// The old disposable is disposed once the new one is in place. The held disposable remains, and the result of
  /// `begin` is disposed instead, if since this call began:
  /// - `begin` or another thread has set a disposable, or nil;
  /// - a replace that began later has set its result;
  /// - or this holder was disposed.
  ///
  /// - Parameter begin: starts the work, on the caller's thread, before this method returns, and without a lock. If it
  ///   throws, the error is rethrown and nothing is replaced.
  public func replace<Failure: Error>(_ begin: () throws(Failure) -> (any Disposable)?) throws(Failure) {
    lock.lock()
    lastNumber += 1
    let number = lastNumber
    lock.unlock()  // `begin` runs user code, which may call this object
    let replacement = try begin()
    lock.lock()
    // relaxed: ordered by the lock
    // SD4: no later call has set a disposable
    let isNewest = numberOfCurrent < number && !disposed.load(ordering: .relaxed)
    let loser = isNewest ? setCurrent(replacement, number) : replacement  // the disposable that is not held
    lock.unlock()
    loser?.dispose()
  }

  /// Sets `replacement` as the held disposable, and returns the old one undisposed.
  ///
  /// After the disposal it disposes `replacement` at once, and returns nil.
  @discardableResult
  public func swap(_ replacement: (any Disposable)?) -> (any Disposable)? {
    lock.lock()
    // relaxed: ordered by the lock
    guard !disposed.load(ordering: .relaxed) else {
      lock.unlock()
      replacement?.dispose()
      return nil
    }
    lastNumber += 1  // a replace that began earlier will not overwrite this disposable
    let old = setCurrent(replacement, lastNumber)
    lock.unlock()
    return old
  }

  /// Sets `replacement` for the call with `number`. Returns the old disposable, to dispose it outside the lock.
  /// Requires: the lock is held.
  private func setCurrent(_ replacement: (any Disposable)?, _ number: UInt64) -> (any Disposable)? {
    let old = current.take()
    current = replacement
    numberOfCurrent = number
    return old
  }

  /// Disposes the held disposable. A disposable that is set later is disposed at once.
  public func dispose() {
    if let old = detach() { DisposalWalk.disposeChild(old) }
  }

  package func detachChildren(into walk: inout DisposalWalk) {
    if let old = detach() { walk.push(old) }
  }

  /// Marks this as disposed. Returns the held disposable, which the caller must dispose; nil if there is none.
  private func detach() -> (any Disposable)? {
    lock.lock()
    // SD3: release, so a thread that reads true sees earlier writes; pairs with isDisposed
    disposed.store(true, ordering: .releasing)
    let old = current.take()
    lock.unlock()
    return old
  }
}
