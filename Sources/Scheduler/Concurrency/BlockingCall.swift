/// A blocking call that a task waits for. It runs exactly once: in the action that retains this object, or on the thread that drops the action.
private final class BlockingCall: Sendable {
  private let body: Protected<(@Sendable () -> Void)?>  // nil after the call

  init(_ body: @escaping @Sendable () -> Void) { self.body = Protected(body) }

  deinit { perform() }  // if the action was dropped: the task must be resumed all the same

  /// Calls `body`, unless it has been called. Called in the action, and by deinit.
  func perform() { body.exchange(nil)?() }
}

/// Suspends the task until `body`, which may block, has returned, even if the task is cancelled.
///
/// - Parameters:
///   - isolation: the caller's isolation, in which this function runs.
///   - body: the function to call, on a thread of the shared pool. Another thread replaces this thread in the pool until `body` returns. If the
///     pool accepts no more work, the thread that drops the action calls `body`.
func awaitBlockingCall(isolation: isolated (any Actor)?, _ body: @escaping @Sendable () -> Void) async {
  await withCheckedContinuation(isolation: isolation) { continuation in
    let call = BlockingCall {
      body()
      continuation.resume()
    }
    PoolCore.shared(.background).submitInternal { ConcurrentScheduler.withReplacementThread { call.perform() } }
  }
}
