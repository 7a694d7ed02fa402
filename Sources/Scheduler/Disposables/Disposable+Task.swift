extension Task {
  /// A disposable that cancels this task once, and then releases it. The disposal does not wait for the task to end.
  ///
  /// Releasing the disposable without disposing it does not cancel the task.
  public var asDisposable: any Disposable { AnonymousDisposable { cancel() } }
}

/// Calls `operation`, and disposes `disposable` if the current task is cancelled before or during the call.
///
/// ```swift
/// let token = SingleAssignmentDisposable()
/// let answer = await withTaskCancellationHandler(disposing: token) {
///   await withCheckedContinuation { done in
///     token.setDisposable(request.begin { done.resume(returning: $0) })
///   }
/// }
/// ```
///
/// 1. If the task is already cancelled, `disposable` is disposed before `operation` starts. Otherwise the canceller's
///    thread disposes it.
/// 2. After `operation` has returned or thrown, `disposable` is not disposed any more.
/// 3. The disposal runs inside `Task.cancel()`. So the canceller must not hold locks that the disposal takes.
public func withTaskCancellationHandler<Value>(
  disposing disposable: any Disposable, isolation: isolated (any Actor)? = #isolation,
  operation: () async throws -> Value
) async rethrows -> Value {
  try await withTaskCancellationHandler(
    operation: operation, onCancel: { disposable.dispose() }, isolation: isolation)
}

extension Disposable {
  /// Disposes this disposable as ``disposeAndWait()`` does, while the task is suspended. A cancelled task waits too.
  ///
  /// A thread of the library's own disposes and blocks. So a task on a scheduler may wait for an action of the same
  /// scheduler. In virtual time, the thread that runs the tasks does so: time stands still meanwhile.
  ///
  /// - Parameter isolation: the caller's isolation, in which this function runs.
  public func disposeAndWait(isolation: isolated (any Actor)? = #isolation) async {
    await awaitBlockingCall(holdsTime: true, isolation: isolation) { disposeAndWait() }
  }
}
