/// A blocking call that a task waits for. It is made exactly once: by the action that retains this object, or by the thread that drops the action.
private final class BlockingCall: Sendable {
  private let body: Protected<(@Sendable () -> Void)?>

  init(_ body: @escaping @Sendable () -> Void) { self.body = Protected(body) }

  deinit { make() }

  func make() { body.exchange(nil)?() }
}

/// Suspends the task until `body`, which may block, has returned, even if the task is cancelled.
///
/// - Parameters:
///   - isolation: the caller's isolation, which is kept.
///   - body: the function to call, on a thread of the shared pool; another thread replaces that thread meanwhile. If the pool accepts no more
///     work, the thread that drops the action calls it.
func awaitBlockingCall(isolation: isolated (any Actor)?, _ body: @escaping @Sendable () -> Void) async {
  await withCheckedContinuation(isolation: isolation) { continuation in
    let call = BlockingCall {
      body()
      continuation.resume()
    }
    PoolCore.shared(.background).submitOwn { ConcurrentScheduler.withReplacementThread { call.make() } }
  }
}
