/// A container of this module that can hand over its children, so that nesting of any depth costs no stack.
///
/// Requirements for a conforming class:
///
/// 1. It is final, and `dispose()` is `DisposalWalk.dispose(self)`. With one child at a time, it may instead take the child out and pass
///    it to `DisposalWalk.disposeChild`, which is faster if that child is no container.
/// 2. `deinit` moves the undisposed children into ``DisposalWalk/release(_:)`` and runs no user code itself. It takes the children out
///    inside the closure: a child in a local variable would outlive the walk, and be released recursively. Code that runs user code (the
///    release of a closure) goes into ``DisposalWalk/outsideOfRelease(_:)``. Children to be disposed go into
///    ``DisposalWalk/disposeOnRelease(_:)``.
package protocol DisposalNode: AnyObject, Disposable {
  /// Marks this as disposed, and moves all children into `walk` by at most one push. Does nothing the second time.
  func detachChildren(into walk: inout DisposalWalk)
}

/// A node whose work may be running when it is disposed.
protocol AwaitedNode: DisposalNode {
  /// Announces a wait. Called before the disposal.
  func beginWait() -> LateReturn
  /// Waits for the end of the work, unless this thread is inside it. Returns a disposable that must be waited for too, if there is one.
  func endWait(_ late: LateReturn) -> (any Disposable)?
}

/// Holds the disposable that the work returned after its disposal, because waiters for the work wait for that disposable too.
// Unchecked, because the compiler does not see that the lock of the node guards it.
final class LateReturn: @unchecked Sendable {
  var returned: (any Disposable)?
}
