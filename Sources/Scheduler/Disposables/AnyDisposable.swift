// Wraps a cancel closure or a disposable of any type.
// States of `disposed`, invariants, orderings: as in AnonymousDisposable (A1 to A3), with a closure or a disposable.
// Models: swift/disposables/once.swift.

internal import Synchronization

/// A type-erased disposable that wraps a cancel closure or another disposable.
///
/// ```swift
/// let token = AnyDisposable { request.cancel() }  // from a cancel closure
/// let cancel = token.asCancelClosure              // and back
/// ```
///
/// The closure runs once. It and its captures are released before the first ``dispose()`` returns. Creating one costs
/// one allocation, in addition to the closure's own context. ``isDisposed`` describes this disposable, not the wrapped
/// one.
///
/// Unlike Combine's `AnyCancellable`, it does not cancel when it is released, unless it was stored in a set by
/// `store(in:)`. The idea is from ReactiveSwift.
public final class AnyDisposable: DisposalNode {
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let disposed: Atomic<Bool>
  // Accessed by init, by deinit, and by the thread that set `disposed`.
  @exclusivity(unchecked) nonisolated(unsafe) private var action: HeldClosure?
  // Same access rule as `action`. At most one of `action` and `child` is set.
  @exclusivity(unchecked) nonisolated(unsafe) private var child: (any Disposable)?
  private let disposesOnRelease: Bool

  /// Creates a disposable that only records its disposal.
  public init() {
    disposed = Atomic(false)
    disposesOnRelease = false
  }

  /// Creates a disposable that runs `cancel` at its first disposal.
  public init(_ cancel: @escaping @Sendable () -> Void) {
    disposed = Atomic(false)
    disposesOnRelease = false
    action = HeldClosure(cancel)
  }

  /// Creates a disposable that disposes `disposable`.
  public convenience init(_ disposable: any Disposable) { self.init(disposable, disposesOnRelease: false) }

  /// Creates a disposable that disposes `disposable`: at its disposal and, if `disposesOnRelease` is true, when it is
  /// released.
  init(_ disposable: any Disposable, disposesOnRelease: Bool) {
    disposed = Atomic(false)
    self.disposesOnRelease = disposesOnRelease
    child = disposable
  }

  deinit {
    if action != nil { DisposalWalk.outsideOfRelease { action = nil } }  // the captures' deinits may run user code
    guard child != nil else { return }
    let addToWalk = disposesOnRelease ? DisposalWalk.disposeOnRelease : DisposalWalk.release
    addToWalk { walk in  // frees a chain of any length without recursion
      if let child = child.take() { walk.push(child) }
    }
  }

  /// Whether it has been disposed.
  public var isDisposed: Bool {
    // A3: acquire, so the caller sees all that came before the disposal; pairs with detach
    disposed.load(ordering: .acquiring)
  }

  /// Runs the closure, or disposes the wrapped disposable.
  public func dispose() {
    if let child = detach() { DisposalWalk.disposeChild(child) }
  }

  package func detachChildren(into walk: inout DisposalWalk) {
    if let child = detach() { walk.push(child) }
  }

  /// Marks this as disposed. Then runs the closure, or returns the wrapped disposable for the caller to dispose.
  private func detach() -> (any Disposable)? {
    // A1: only one call sees false; A3: release, for isDisposed
    guard !disposed.exchange(true, ordering: .releasing) else { return nil }
    // A2: a local variable, released when this function returns
    guard let action = action.take() else { return child.take() }
    action.call()
    return nil
  }
}

extension Disposable {
  /// A closure that disposes this disposable, for APIs that take a cancel closure.
  public var asCancelClosure: @Sendable () -> Void {
    { self.dispose() }
  }
}

extension AnyDisposable: Hashable {
  /// Returns whether both are the same object. The wrapped disposables are not compared.
  public static func == (left: AnyDisposable, right: AnyDisposable) -> Bool { left === right }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Disposable {
  /// Stores this disposable in `set`, and disposes it when the set releases it.
  ///
  /// If the owner of the set is destroyed, all disposables in the set are disposed.
  ///
  /// ```swift
  /// final class Screen {
  ///   private var pending: Set<AnyDisposable> = []
  ///   func show() { queue.schedule(after: .seconds(1)) { blink() }.store(in: &pending) }
  /// }
  /// ```
  public func store(in set: inout Set<AnyDisposable>) { set.insert(AnyDisposable(self, disposesOnRelease: true)) }
}
