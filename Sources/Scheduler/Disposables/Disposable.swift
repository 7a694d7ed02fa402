/// A handle that ends work that was started: a subscription, a job, a registration.
///
/// Every disposable of this module gives these guarantees. Your own disposables should give them too:
///
/// 1. *Once.* The first `dispose()` has the effect. Each later call does nothing.
/// 2. *Any thread.* `dispose()` may be called from any thread, by several at a time, and from inside another disposal.
///    Exactly one call wins. A losing call may return while the winning call is still running.
/// 3. *At once.* When the winning call returns, everything that the disposable held has been disposed. Its closure with
///    all captures has been released. (``ScheduledDisposable`` does both later, on its scheduler; `RefCountDisposable`
///    does both after its dependents are disposed.)
/// 4. *In order.* Children are disposed in insertion order, on the disposing thread. Each child is disposed with all
///    its descendants before the next child.
/// 5. *No lock.* User code (a closure, a child's `dispose()`, the `deinit` of a capture) never runs under a lock of
///    this module, nor during a change of state. So it may call any operation of the disposable that called it.
/// 6. *No child is missed.* A child added during its container's disposal is disposed exactly once, by the disposal or
///    by the call that adds it.
/// 7. *Releasing is not disposing.* Releasing a disposable does not dispose it. The exceptions are ``DisposeBag``, sets
///    filled by
///    `store(in:)`, `ScopedDisposable` and `Lifetime.Token`.
/// 8. *Any depth.* Nested containers are disposed, and released, with a constant stack. A chain through closures, or
///    through disposables of other modules, must limit its own depth.
///
/// The name and the shape are from Rx (.NET, RxSwift), where `isDisposed` belongs to a separate protocol.
public protocol Disposable: Sendable {
  /// Ends the work; does nothing if it has already ended.
  func dispose()

  /// Whether this is disposed or its work is over, so that no more of the work starts. Once true, it stays true.
  ///
  /// 1. It is true from the beginning of the first ``Disposable/dispose()``, before its first effect.
  /// 2. If a scheduler returned the disposable, it is also true from the end of the run; for a periodic or recursive
  ///    action, from the end of the final run. A disposable that the action returned may still be active: a later
  ///    ``Disposable/dispose()`` disposes it.
  /// 3. If a scheduler drops the action, it is true from the drop. The closure and captures are released by then.
  ///
  /// It costs one or two atomic loads; in virtual time a lock. A thread that reads true sees everything before the
  /// disposal, or in the run.
  var isDisposed: Bool { get }

  /// Disposes this disposable, and returns after its running work has ended. The caller then sees the effects of that
  /// work.
  ///
  /// Use it before you destroy something that the work uses.
  ///
  /// ```swift
  /// let token = queue.schedule { index.rebuild() }
  /// token.disposeAndWait()  // the rebuild never starts, or it has ended
  /// index.close()
  /// ```
  ///
  /// 1. Every disposable from a scheduler waits: for the action in progress, for the tick of a periodic action, for the
  ///    steps of a recursive one.
  ///    No further action, tick or step starts. In virtual time it waits for an action that another thread runs. If
  ///    another thread is dropping the action, it waits until the captures are released.
  /// 2. It also waits for the disposable that the action has returned, or returns at the end of the present run.
  /// 3. A container disposes all its children and then waits for each of them. It does not wait for children that an
  ///    earlier ``dispose()`` disposed. ``ScheduledDisposable`` does not wait, because its scheduler does the disposal.
  /// 4. On a thread that is inside the action, it does not wait: that wait would never end.
  /// 5. The thread sleeps, and does none of its other work. On a pool thread, another thread takes its place. A wait
  ///    for an action that itself waits for the caller, or for the caller's queue, never ends and is not detected.
  /// 6. A disposable without running work is disposed, and the call returns.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await disposeAndWait()")
  func disposeAndWait()
}

extension Disposable {
  public func disposeAndWait() {
    if let node = self as? any DisposalNode { DisposalWalk.disposeAndWait(node) } else { dispose() }
  }
}

/// A disposable without an effect, for work that was over before its disposable could be returned. It has no storage.
package struct NopDisposable: Disposable {
  package init() {}

  /// True, because no work remains.
  package var isDisposed: Bool { true }

  package func dispose() {}
}
