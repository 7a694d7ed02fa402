// States of `disposed`, obligations, orderings: as in AnonymousDisposable (A1 to A3), with a closure or a disposable.
// Checked by: "a cancel closure runs once, by 8 threads at once".
// Models: swift/disposables/once.swift.

internal import Synchronization

/// A cancel closure as a disposable, or any disposable under one type.
///
/// ```swift
/// let token = AnyDisposable { request.cancel() }  // from a cancel closure
/// let cancel = token.asCancelClosure              // and back
/// ```
///
/// The closure runs once; it and its captures are released before the winning ``dispose()`` returns. One allocation, beside the
/// closure's own context. ``isDisposed`` tells of this disposable, not of the one that it stands for.
///
/// Unlike Combine's `AnyCancellable` it does not cancel when it is released, unless it was put in a set by `store(in:)`. The idea is that of
/// ReactiveSwift.
public final class AnyDisposable: DisposalNode {
  private let counted = CountedDisposable()
  private let disposed: Atomic<Bool>
  // Touched by the thread that won `disposed`, and by init and deinit, alone.
  @exclusivity(unchecked) nonisolated(unsafe) private var action: HeldClosure?
  // As `action`; at most one of the two is there.
  @exclusivity(unchecked) nonisolated(unsafe) private var child: (any Disposable)?
  private let disposesOnRelease: Bool

  /// Creates one that does nothing but remember that it was disposed.
  public init() {
    disposed = Atomic(false)
    disposesOnRelease = false
  }

  /// Creates one that runs `cancel` at the first disposal.
  public init(_ cancel: @escaping @Sendable () -> Void) {
    disposed = Atomic(false)
    disposesOnRelease = false
    action = HeldClosure(cancel)
  }

  /// Creates one that disposes `disposable`.
  public convenience init(_ disposable: any Disposable) { self.init(disposable, disposesOnRelease: false) }

  /// The same; it disposes `disposable` when it is released, too, if asked to.
  init(_ disposable: any Disposable, disposesOnRelease: Bool) {
    disposed = Atomic(false)
    self.disposesOnRelease = disposesOnRelease
    child = disposable
  }

  deinit {
    if action != nil { DisposalWalk.outsideOfRelease { action = nil } }
    guard child != nil else { return }
    let join = disposesOnRelease ? DisposalWalk.disposeOnRelease : DisposalWalk.release
    join { walk in
      if let child = child.take() { walk.push(child) }
    }
  }

  /// Tells whether it has been disposed.
  public var isDisposed: Bool {
    disposed.load(ordering: .acquiring)  // A3: acquire; pairs with dispose and detachChildren
  }

  /// Runs the closure, or disposes the other disposable.
  public func dispose() {
    if let child = detach() { DisposalWalk.disposeChild(child) }
  }

  package func detachChildren(into walk: inout DisposalWalk) {
    if let child = detach() { walk.push(child) }
  }

  /// Runs the closure, or returns the other disposable.
  private func detach() -> (any Disposable)? {
    guard !disposed.exchange(true, ordering: .releasing) else { return nil }  // A1, A3: release
    guard let action = action.take() else { return child.take() }  // A2: it dies with this frame
    action.call()
    return nil
  }
}

extension Disposable {
  /// This disposable as a closure that disposes it, for what wants to be given a cancel closure.
  public var asCancelClosure: @Sendable () -> Void {
    { self.dispose() }
  }
}
