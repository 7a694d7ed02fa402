/// A call that blocks, and that a task waits for. It is made exactly once: by the action that holds it, or by the thread that drops that action.
private final class BlockingCall: Sendable {
  private let body: Protected<(@Sendable () -> Void)?>

  init(_ body: @escaping @Sendable () -> Void) { self.body = Protected(body) }

  deinit { make() }

  func make() { body.exchange(nil)?() }
}

/// Suspends the task until `body`, which may block, has returned, also when the task is cancelled.
///
/// - Parameters:
///   - isolation: the caller's, which it keeps.
///   - body: what to do, on a thread of the shared pool that another one replaces; where that pool takes no more work, on the thread that drops it.
func awaitBlockingCall(isolation: isolated (any Actor)?, _ body: @escaping @Sendable () -> Void) async {
  await withCheckedContinuation(isolation: isolation) { continuation in
    let call = BlockingCall {
      body()
      continuation.resume()
    }
    PoolCore.shared(.background).submitOwn { ConcurrentScheduler.withReplacementThread { call.make() } }
  }
}
