// Disposes its inner disposable at the first disposal, or when it is itself released.
// States of `disposed`, invariants, orderings: as in AnonymousDisposable (A1, A3), with the inner disposable instead of
// the closure. A disposal does not release the inner disposable. `deinit` has exclusive access: it disposes the inner
// disposable if no disposal did, and releases it.
// Models: swift/disposables/once.swift.

public import Scheduler
internal import Synchronization

/// Disposes its inner disposable when this object is released, unless ``dispose()`` has done so before.
///
/// ```swift
/// final class Screen {
///   private var search: ScopedDisposable<AnyDisposable>?
///   func type(_ text: String) { search = find(text).scoped() }  // ends the previous search
/// }  // the release of the screen ends its search
/// ```
///
/// 1. The inner disposable is disposed once: by the first ``dispose()``, otherwise by the release of the last
///    reference, on that thread.
/// 2. This object retains the inner disposable until its own deinit. The contents of the inner disposable are released
///    when it is disposed.
/// 3. The compiler may release a `let` that nothing reads right after its last use. Store the object in a property, or
///    keep it with `withExtendedLifetime`.
///
/// It is a class so that collections and other disposables can hold it. For several disposables see `DisposeBag`. The
/// idea comes from ReactiveSwift.
public final class ScopedDisposable<Inner: Disposable>: DisposalNode {
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let disposed = Atomic(false)  // final once true
  // Constant until deinit, which moves `held` into the walk, so that the release of nested objects needs no recursion.
  @exclusivity(unchecked) nonisolated(unsafe) private var held: Inner?

  /// Creates a disposable that disposes `disposable` on its release.
  public init(_ disposable: Inner) {
    held = disposable
  }

  deinit {
    if isDisposed {
      DisposalWalk.outsideOfRelease { held = nil }  // its deinit may run user code, which must not join a walk
    } else {
      DisposalWalk.disposeOnRelease { $0.push(held.take()!) }  // set until here, and only deinit empties it
    }
  }

  /// The inner disposable.
  public var inner: Inner { held! }  // set until deinit

  /// Whether it has been disposed.
  public var isDisposed: Bool {
    disposed.load(ordering: .acquiring)  // A3: acquire, to see writes before the disposal; pairs with detach
  }

  /// Disposes the inner disposable now; the release then does nothing.
  public func dispose() {
    if let inner = detach() { DisposalWalk.disposeChild(inner) }
  }

  /// As `dispose`, called by a `walk` that disposes a container of this object: adds the inner disposable to `walk`,
  /// which then disposes it.
  package func detachChildren(into walk: inout DisposalWalk) {
    if let inner = detach() { walk.push(inner) }
  }

  /// Marks this as disposed. The first call returns the inner disposable, which the caller must dispose; later calls
  /// return nil.
  private func detach() -> Inner? {
    disposed.exchange(true, ordering: .releasing) ? nil : inner  // A1: only one call gets false; A3: release
  }
}

extension ScopedDisposable where Inner == AnyDisposable {
  /// Creates a disposable that disposes `disposable`, of any type, on its release.
  // Disfavoured, so that a disposable of a known type is not erased.
  @_disfavoredOverload
  public convenience init(_ disposable: any Disposable) { self.init(AnyDisposable(disposable)) }
}

extension Disposable {
  /// Returns a disposable that disposes this one on its release (ReactiveObjC's `asScopedDisposable`).
  public func scoped() -> ScopedDisposable<AnyDisposable> { ScopedDisposable(AnyDisposable(self)) }
}
