// States: `disposed` and `children` change together, under the lock. `disposed`: final, and `children` stays empty.
// Obligations
//   M1  Each child is disposed exactly once, or handed back by take, or held.
//   M2  The list is touched under the lock alone.
//   M3  What a disposal gets is gone when it returns.
//   M4  Whoever sees it disposed sees what was before that disposal.
// Orderings: the lock's; the store of `disposed` releases, pairs with `isDisposed`.
// Checked by: "each child that races the disposal is disposed exactly once or handed back".
// Models: swift/disposables/composite.swift.

internal import Synchronization

/// Holds any number of disposables that come and go, and disposes them together.
///
/// ```swift
/// let all = CompositeDisposable()
/// let key = all.insert(download)
/// all.insert(upload)
/// if let key { all.remove(for: key) }  // ends the download
/// all.dispose()                        // ends the upload, and each one inserted from now on
/// ```
///
/// The disposal goes in the order of insertion. Each child is disposed exactly once, or handed back by ``take(for:)``,
/// however many threads insert, remove and dispose. Inserting allocates only when the list grows. The idea is that of
/// Rx.NET and RxSwift.
public final class CompositeDisposable: DisposalNode {
  private let counted = CountedDisposable()
  private let lock = InlineLock()
  private let disposed = Atomic(false)  // written under the lock
  // Under the lock, and in init and deinit.
  @exclusivity(unchecked) nonisolated(unsafe) private var children: ChildList

  /// Creates one that holds `disposables`.
  public init(_ disposables: any Disposable...) {
    children = ChildList(disposables)
  }

  /// Creates one that holds `disposables`.
  public init(disposables: [any Disposable]) {
    children = ChildList(disposables)
  }

  deinit {
    guard !children.isEmpty else { return }
    DisposalWalk.release { $0.push(children.takeAll()) }
  }

  /// Tells whether it has been disposed.
  public var isDisposed: Bool {
    disposed.load(ordering: .acquiring)  // M4: acquire; pairs with detachChildren
  }

  /// How many disposables it holds; 0 after the disposal.
  public var count: Int {
    lock.withLock { children.count }
  }

  /// Adds `disposable` and returns its key. After the disposal it disposes it at once, and returns nil.
  @discardableResult
  public func insert(_ disposable: any Disposable) -> CompositeDisposable.DisposeKey? {
    lock.lock()
    // ordered by the lock
    guard !disposed.load(ordering: .relaxed) else {
      lock.unlock()
      disposable.dispose()
      return nil
    }
    let id = children.append(disposable)
    lock.unlock()
    return DisposeKey(owner: ObjectIdentifier(self), id: id)
  }

  /// Removes the child that `key` names, and disposes it. Does nothing if it is gone.
  public func remove(for key: CompositeDisposable.DisposeKey) {
    take(for: key)?.dispose()
  }

  /// Removes the child that `key` names, and returns it undisposed; nil if it is gone.
  @discardableResult
  public func take(for key: CompositeDisposable.DisposeKey) -> (any Disposable)? {
    guard key.owner == ObjectIdentifier(self) else { return nil }
    lock.lock()
    let child = children.take(key.id)
    lock.unlock()
    return child
  }

  /// Disposes all that it holds, in the order of insertion; what is inserted later is disposed then.
  public func dispose() {
    DisposalWalk.dispose(self)
  }

  package func detachChildren(into walk: inout DisposalWalk) {
    lock.lock()
    disposed.store(true, ordering: .releasing)  // M4: release; pairs with isDisposed
    let all = children.takeAll()
    lock.unlock()
    walk.push(consume all)
  }
}

extension CompositeDisposable {
  /// Names one child of one composite: what ``insert(_:)-(Disposable)`` returns.
  ///
  /// A key is never given out twice. To another composite it means nothing.
  public struct DisposeKey: Hashable, Sendable {
    let owner: ObjectIdentifier
    let id: UInt64
  }
}
