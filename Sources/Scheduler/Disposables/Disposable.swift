/// Ends something that was begun: a subscription, a job, a registration.
///
/// The laws, which every disposable of this module keeps and every other one ought to:
///
/// 1. *Once.* The first `dispose()` has the effect; each later one does nothing.
/// 2. *Any thread.* `dispose()` may be called from any thread, by several at a time, and from inside another disposal.
///    Exactly one call wins. A call that loses may return while the winner is still at work.
/// 3. *At once.* When the winning call returns, all that the disposable held has been disposed, and its closure with all
///    captures has been released. (``ScheduledDisposable`` puts that off, and `RefCountDisposable` has dependents to wait for.)
/// 4. *In order.* Children are disposed in the order in which they were added, each with all that is below it before the
///    next one, and on the thread that disposes.
/// 5. *No lock.* User code (a closure, a child's `dispose()`, the `deinit` of a capture) never runs under a lock of ours,
///    nor in the middle of a change of state: it may call back into whatever is calling it.
/// 6. *None is lost.* A child that is added while its container is being disposed is disposed exactly once, either by
///    the disposal or by the call that adds it.
/// 7. *Letting go is not disposing.* A disposable that is merely released does not dispose. ``DisposeBag``,
///    `ScopedDisposable` and `Lifetime.Token` are there to do so, and no other.
/// 8. *Any depth.* Containers inside containers are disposed, and released, with a constant stack. A chain that runs
///    through closures or through disposables from elsewhere is theirs to bound.
///
/// The name and the shape are those of Rx (.NET, RxSwift), where `isDisposed` is of a protocol of its own.
public protocol Disposable: Sendable {
  /// Ends it; does nothing if it has ended already.
  func dispose()

  /// Tells whether it is disposed, or over: nothing of what it stands for will begin any more. It turns true once, and stays so.
  ///
  /// 1. From the beginning of the first ``Disposable/dispose()``, before its first effect.
  /// 2. For what a scheduler returns, also from the end of the run; of a periodic or recursive action, from the end of the last one. What
  ///    the action returned may be alive then: a later ``Disposable/dispose()`` disposes it.
  /// 3. For an action that a scheduler drops, from the drop. Its closure and captures are released by then.
  ///
  /// It costs one or two atomic loads; in virtual time it takes a lock. A thread that reads true sees all that happened before the disposal, or in
  /// the run.
  var isDisposed: Bool { get }

  /// Disposes it, and returns after what is running of it has ended, with what that did visible: for whoever is about to take away
  /// what the work uses.
  ///
  /// ```swift
  /// let token = queue.schedule { index.rebuild() }
  /// token.disposeAndWait()  // it never began, or has ended
  /// index.close()
  /// ```
  ///
  /// 1. What schedulers return waits, in every kind: for the action in progress, for the tick of a periodic one, for the steps of a recursive
  ///    one; none begins afterwards. In virtual time for the action that another thread drives. If another thread is just dropping the
  ///    action, for the end of that: the captures are gone.
  /// 2. It waits also for what the action had returned, or returns now.
  /// 3. A container disposes all that it holds and then waits for each of them. What it has handed on by an earlier ``dispose()`` it
  ///    does not know any more. ``ScheduledDisposable`` does not wait: its disposal is its scheduler's to do.
  /// 4. On a thread that is inside of the action, it does not wait: that would have no end.
  /// 5. The thread sleeps, and does none of its other work; on a thread of the pool another one takes its place. A wait for an action that
  ///    waits, in its turn, for the caller or the caller's queue has no end, and is not found out.
  /// 6. Every other disposable disposes, and has nothing to wait for.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await disposeAndWait()")
  func disposeAndWait()
}

extension Disposable {
  public func disposeAndWait() {
    if let node = self as? any DisposalNode { DisposalWalk.disposeAndWait(node) } else { dispose() }
  }
}
