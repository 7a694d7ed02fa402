// States of `disposed`, obligations, orderings: as in AnonymousDisposable (A1, A3), with a disposable for the closure, which stays. `deinit`
// is alone, disposes where no dispose has been, and lets go of it.
// Checked by: "a scoped disposable that races its own release disposes once".
// Models: swift/disposables/once.swift.

public import Scheduler
internal import Synchronization

/// Disposes another disposable when it is itself released, if that has not been done before.
///
/// ```swift
/// final class Screen {
///   private var search: ScopedDisposable<AnyDisposable>?
///   func type(_ text: String) { search = find(text).scoped() }  // ends the search before
/// }  // a screen that dies ends its search
/// ```
///
/// 1. The inner one is disposed once: by the first ``dispose()``, else by the release of the last reference, on that thread.
/// 2. It is released before the release of this one is over, and stays until then: what it held itself is gone with its disposal.
/// 3. A reference that is kept only to be released, a `let` that nothing reads, may be released by the compiler after its last
///    use. Store it in a property, or hold it with `withExtendedLifetime`.
///
/// A class, and not a noncopyable value, so that it can be stored in collections and be a child of any other disposable. For many
/// see `DisposeBag`. The idea is that of ReactiveSwift.
public final class ScopedDisposable<Inner: Disposable>: DisposalNode {
  private let counted = CountedDisposable()
  private let disposed = Atomic(false)
  // Constant until deinit, which takes it out to dispose it, so that no depth of nesting costs stack. What is disposed holds no others.
  @exclusivity(unchecked) nonisolated(unsafe) private var held: Inner?

  /// Creates one that disposes `disposable`.
  public init(_ disposable: Inner) {
    held = disposable
  }

  deinit {
    if isDisposed {
      DisposalWalk.outsideOfRelease { held = nil }
    } else {
      DisposalWalk.disposeOnRelease { $0.push(held.take()!) }
    }
  }

  /// What it disposes.
  public var inner: Inner { held! }

  /// Tells whether it has been disposed.
  public var isDisposed: Bool {
    disposed.load(ordering: .acquiring)  // A3: acquire; pairs with detach
  }

  /// Disposes the inner one now; the release then does nothing.
  public func dispose() {
    if let inner = detach() { DisposalWalk.disposeChild(inner) }
  }

  package func detachChildren(into walk: inout DisposalWalk) {
    if let inner = detach() { walk.push(inner) }
  }

  private func detach() -> Inner? {
    disposed.exchange(true, ordering: .releasing) ? nil : inner  // A1, A3: release
  }
}

extension ScopedDisposable where Inner == AnyDisposable {
  /// Creates one that disposes `disposable`, of whatever type.
  // Disfavoured, so that the type is kept where it is known.
  @_disfavoredOverload
  public convenience init(_ disposable: any Disposable) { self.init(AnyDisposable(disposable)) }
}

extension Disposable {
  /// Returns a disposable that disposes this one when it is released (ReactiveObjC's `asScopedDisposable`).
  public func scoped() -> ScopedDisposable<AnyDisposable> { ScopedDisposable(AnyDisposable(self)) }
}
