// Holds disposables under keys, and disposes them together.
// States: `disposed` and `children` change together, under the lock. `disposed` is final; `children` then stays empty.
// Invariants
//   CD1  Each child is disposed exactly once, or returned by take, or still held.
//   CD2  The list is accessed under the lock only.
//   CD3  Before a disposal returns, it releases the children that it removed.
//   CD4  A thread that reads `isDisposed` as true sees everything that happened before that disposal.
// Orderings: the lock's; the store of `disposed` releases, pairs with `isDisposed`.
// Models: swift/disposables/composite.swift.

internal import Synchronization

/// A container of disposables that can be inserted and removed at any time, and are disposed together.
///
/// ```swift
/// let all = CompositeDisposable()
/// let key = all.insert(download)
/// all.insert(upload)
/// if let key { all.remove(for: key) }  // ends the download
/// all.dispose()                        // ends the upload, and each disposable inserted later
/// ```
///
/// Children are disposed in insertion order. Each child is disposed exactly once, or returned by ``take(for:)``,
/// however many threads insert, remove and dispose. An insertion allocates only when the list grows. The idea is from
/// Rx.NET and RxSwift.
public final class CompositeDisposable: DisposalNode {
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let lock = InlineLock()
  private let disposed = Atomic(false)  // written under the lock
  // Accessed under the lock, and in init and deinit.
  @exclusivity(unchecked) nonisolated(unsafe) private var children: ChildList

  /// Creates a composite that holds `disposables`.
  public init(_ disposables: any Disposable...) { children = ChildList(disposables) }

  /// Creates a composite that holds `disposables`.
  public init(disposables: [any Disposable]) {
    children = ChildList(disposables)
  }

  deinit {
    guard !children.isEmpty else { return }
    DisposalWalk.release { $0.push(children.takeAll()) }  // frees nested containers without recursion
  }

  /// Whether it has been disposed.
  public var isDisposed: Bool {
    // CD4: acquire, so the caller sees all that came before the disposal; pairs with detach
    disposed.load(ordering: .acquiring)
  }

  /// The number of disposables held; 0 after the disposal.
  public var count: Int { lock.withLock { children.count } }

  /// Adds `disposable` and returns its key. After the disposal, disposes `disposable` at once and returns nil.
  // Speed only: without the attribute the compiler makes this function generic, which boxes its argument again.
  @inline(__always) @discardableResult
  public func insert(_ disposable: any Disposable) -> CompositeDisposable.DisposeKey? {
    lock.lock()
    // relaxed: ordered by the lock
    guard !disposed.load(ordering: .relaxed) else {
      lock.unlock()
      disposable.dispose()
      return nil
    }
    let id = children.append(disposable)
    lock.unlock()
    return DisposeKey(owner: ObjectIdentifier(self), id: id)
  }

  /// Removes the child with `key`, and disposes it. Does nothing if the child was removed before.
  public func remove(for key: CompositeDisposable.DisposeKey) {
    take(for: key)?.dispose()
  }

  /// Removes the child with `key`, and returns it undisposed; returns nil if the child was removed before.
  @discardableResult
  public func take(for key: CompositeDisposable.DisposeKey) -> (any Disposable)? {
    guard key.owner == ObjectIdentifier(self) else { return nil }  // a key of another composite
    lock.lock()
    let child = children.take(key.id)
    lock.unlock()
    return child
  }

  /// Disposes all children in insertion order. A child that is inserted later is disposed at once.
  public func dispose() {
    var all = detach()
    // Speed only: most composites have one child. `disposeChild` starts a walk only for a container.
    if all.count == 1 {
      DisposalWalk.disposeChild(all.takeFirst())
    } else if !all.isEmpty {
      DisposalWalk.dispose { $0.push(all.takeAll()) }
    }
  }

  package func detachChildren(into walk: inout DisposalWalk) { walk.push(detach()) }

  /// Marks this as disposed, and returns the children, which the caller must dispose.
  private func detach() -> ChildList {
    lock.lock()
    // CD4: release, so a thread that reads true sees earlier writes; pairs with isDisposed
    disposed.store(true, ordering: .releasing)
    let all = children.takeAll()
    lock.unlock()
    return all
  }
}

extension CompositeDisposable {
  /// The key of one child of one composite, as returned by ``insert(_:)-(Disposable)``.
  ///
  /// A key is never reused, and other composites do not accept it.
  public struct DisposeKey: Hashable, Sendable {
    let owner: ObjectIdentifier
    let id: UInt64
  }
}

extension CompositeDisposable {
  /// Adds a disposable that runs `dispose` once, and returns its key. After the composite's disposal, runs `dispose` at
  /// once and returns nil.
  @discardableResult
  public func insert(_ dispose: @escaping @Sendable () -> Void) -> CompositeDisposable.DisposeKey? {
    insert(AnonymousDisposable(dispose))
  }
}
