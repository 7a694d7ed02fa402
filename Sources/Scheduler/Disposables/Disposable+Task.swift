extension Task {
  /// A disposable that cancels this task once, and then releases it. The disposal does not wait for the task to end.
  ///
  /// Releasing it undisposed does not cancel the task.
  public var asDisposable: any Disposable { AnonymousDisposable { cancel() } }
}

/// Calls `operation`, and disposes `disposable` if the surrounding task is cancelled meanwhile, or has been before.
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
/// 1. A task that is cancelled already disposes before `operation` begins; otherwise the thread that cancels disposes.
/// 2. When `operation` has returned, or thrown, nothing is disposed any more: `disposable` stays as it is.
/// 3. The disposal runs inside of `Task.cancel()`: what it takes as locks must not be held by whoever cancels.
public func withTaskCancellationHandler<Value>(
  disposing disposable: any Disposable, isolation: isolated (any Actor)? = #isolation,
  operation: () async throws -> Value
) async rethrows -> Value {
  try await withTaskCancellationHandler(
    operation: operation, onCancel: { disposable.dispose() }, isolation: isolation)
}

extension Disposable {
  /// Disposes it as ``disposeAndWait()`` does, for a task, which is suspended meanwhile: a cancelled one, too. A thread of the shared pool disposes.
  ///
  /// In a job of a task that runs on a scheduler this waits also for an action of that scheduler, which goes on meanwhile.
  ///
  /// - Parameter isolation: the caller's, which it keeps.
  public func disposeAndWait(isolation: isolated (any Actor)? = #isolation) async {
    await awaitBlockingCall(isolation: isolation) { disposeAndWait() }
  }
}
