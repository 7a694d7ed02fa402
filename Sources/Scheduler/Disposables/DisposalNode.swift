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
protocol DisposalNode: AnyObject, Cancelable {
  /// Becomes disposed, and moves all children it held into `walk` by at most one push. Does nothing the second time.
  func detachChildren(into walk: inout DisposalWalk)
}
