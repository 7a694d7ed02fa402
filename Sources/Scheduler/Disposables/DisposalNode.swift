/// A disposable of ours that holds others and can hand them over, so that no depth of nesting costs stack.
///
/// What a conforming class owes:
///
/// 1. It is final, and `dispose()` is `DisposalWalk.dispose(self)`; or, for one child at a time, it takes the child out and
///    gives it to `DisposalWalk.disposeChild`, which is quicker where that child is no container.
/// 2. `deinit` moves what is left undisposed into ``DisposalWalk/release(_:)`` and runs no user code itself. It takes the
///    children out inside the closure: one that a local still held would outlive the walk, and die recursively. What must run
///    user code (a closure to let go) goes into ``DisposalWalk/outsideOfRelease(_:)``, and what is to be disposed into
///    ``DisposalWalk/disposeOnRelease(_:)``.
package protocol DisposalNode: AnyObject, Disposable {
  /// Becomes disposed, and moves all children it held into `walk` by at most one push. The second time it does nothing.
  func detachChildren(into walk: inout DisposalWalk)
}

/// A node that stands for work that may be running when it is disposed.
protocol AwaitedNode: DisposalNode {
  /// Announces a wait, before the disposal.
  func beginWait() -> LateReturn
  /// Waits for the end of the work, unless this thread is inside of it. Returns what is to be waited for besides.
  func endWait(_ late: LateReturn) -> (any Disposable)?
}

/// Where work that was disposed while it ran leaves what it returned, for those who wait for its end: they wait for that, too.
// Unchecked, because the compiler does not see that it is guarded by the lock of the node that it was announced to.
final class LateReturn: @unchecked Sendable {
  var returned: (any Disposable)?
}
