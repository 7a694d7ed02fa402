/// A blocking call that a task waits for. It runs exactly once: in the action that retains this object, or on the
/// thread that drops the action.
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
///   - holdsTime: whether a thread that runs a job of virtual time calls `body` itself, so that this time stands still.
///   - isolation: the caller's isolation, in which this function runs.
///   - body: the function to call, on a thread of a pool of the library's own. If the system has no thread for it, this
///     thread calls it, and blocks.
func awaitBlockingCall(
  holdsTime: Bool = false, isolation: isolated (any Actor)?, _ body: @escaping @Sendable () -> Void
) async {
  if holdsTime, SharedPool.surroundingTime?.isHere == true { return body() }
  let resumption = Resumption<Void>()
  // `try?` hides no error: `finish` only reports success
  try? await resumption.outcome(isolation: isolation) {
    let call = BlockingCall {
      body()
      resumption.finish(.success(()))
    }
    if let pool = PoolCore.waiting() {
      pool.submitInternal { ConcurrentScheduler.withReplacementThread { call.perform() } }
    } else {
      call.perform()
    }
  }
}
