// States of `disposed`, obligations, orderings: as in AnonymousDisposable (A1 to A3), with a disposable for the closure. `deinit`
// is alone, and disposes what no dispose has taken.
// Checked by: "a scoped disposable that races its own release disposes once".
// Models: swift/disposables/once.swift.

internal import Synchronization

/// Disposes another disposable when it is itself released, if that has not been done before.
///
/// ```swift
/// final class Screen {
///   private var search: ScopedDisposable?
///   func type(_ text: String) { search = ScopedDisposable(find(text)) }  // ends the search before
/// }  // a screen that dies ends its search
/// ```
///
/// 1. The inner one is disposed once: by the first ``dispose()``, else by the release of the last reference, on that thread.
/// 2. What was disposed is released before that call, or that release, is over.
/// 3. A reference that is kept only to be released, a `let` that nothing reads, may be released by the compiler after its last
///    use. Store it in a property, or hold it with `withExtendedLifetime`.
///
/// A class, and not a noncopyable value, so that it can be stored in collections and be a child of any other disposable. For many
/// see ``DisposeBag``. The idea is that of ReactiveSwift.
public final class ScopedDisposable: DisposalNode {
  private let counted = CountedDisposable()
  private let disposed = Atomic(false)
  // Touched by the thread that won `disposed`, and by init and deinit, alone.
  nonisolated(unsafe) private var inner: (any Disposable)?

  /// Creates one that disposes `disposable`.
  public init(_ disposable: any Disposable) {
    inner = disposable
  }

  deinit {
    guard inner != nil else { return }
    DisposalWalk.disposeOnRelease { detachChildren(into: &$0) }
  }

  /// Tells whether it has been disposed.
  public var isDisposed: Bool {
    disposed.load(ordering: .acquiring)  // A3: acquire; pairs with detach
  }

  /// Disposes the inner one now; the release then does nothing.
  public func dispose() {
    if let inner = detach() { DisposalWalk.disposeChild(inner) }
  }

  func detachChildren(into walk: inout DisposalWalk) {
    if let inner = detach() { walk.push(inner) }
  }

  private func detach() -> (any Disposable)? {
    disposed.exchange(true, ordering: .releasing) ? nil : inner.take()  // A1, A3: release
  }
}

extension Disposable {
  /// Returns a disposable that disposes this one when it is released (ReactiveObjC's `asScopedDisposable`).
  public func scoped() -> ScopedDisposable {
    ScopedDisposable(self)
  }
}
