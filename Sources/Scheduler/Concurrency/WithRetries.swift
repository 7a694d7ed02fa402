/// Calls `body` until it returns, at most `attempts` times, with a pause after each error.
///
/// ```swift
/// let page = try await withRetries(4, deadline: .now + .seconds(30)) { attempt in
///   try await withTimeout(.seconds(5)) { try await fetch(url) }
/// }
/// ```
///
/// 1. `body` is called on the caller's isolation, one call at a time. Each error ends a call, and is the last one if no
///    further call can come.
/// 2. A `CancellationError` is not retried, nor is any error of a task that is cancelled. A cancellation ends a pause,
///    too.
/// 3. At the deadline a running call is cancelled, as by ``withDeadline(_:tolerance:clock:isolation:_:)``. A pause that
///    would last until the deadline is not begun: the function throws the last error then.
///
/// - Parameters:
///   - attempts: the largest number of calls; `.max` means no limit. Values below 1 count as 1.
///   - backoff: the pauses. By default 0.1 s, and twice as long each time up to 60 s, each shortened at random by up to
///     a half.
///   - deadline: the deadline of all calls and pauses together; `nil`: none.
///   - clock: the clock of `deadline` and of the pauses; for the time of a scheduler, also a virtual one, its
///     ``SchedulerType/clock``.
///   - isolation: the caller's isolation, in which this function runs.
///   - isWorthRetrying: whether a call that has thrown this error is to be repeated. By default each is.
///   - body: the work, called with 1, then with 2, and so on.
/// - Returns: the result of the first call that returns.
/// - Throws: the last error of `body`; `CancellationError`; ``SchedulerError/timeout`` if the deadline has cancelled a
///   call; the clock's error if the clock cannot wait.
public func withRetries<Value, C: Clock>(
  _ attempts: Int, backoff: Backoff = .exponential(first: .milliseconds(100), jitter: 0.5), deadline: C.Instant? = nil,
  clock: C,
  isolation: isolated (any Actor)? = #isolation, while isWorthRetrying: (any Error) -> Bool = { _ in true },
  _ body: (_ attempt: Int) async throws -> sending Value
) async throws -> sending Value where C.Duration == Duration {
  func callRepeatedly(isolation: isolated (any Actor)?) async throws -> sending Value {
    var attempt = 1
    while true {
      do { return try await body(attempt) } catch {
        let isLast = attempt >= attempts || error is CancellationError || Task.isCancelled || !isWorthRetrying(error)
        if isLast { throw error }
        let pause = backoff.delay(beforeAttempt: attempt)
        if let deadline, clock.now.duration(to: deadline) <= pause { throw error }
        if pause > .zero { try await suspend(for: pause, clock) }
        try Task.checkCancellation()
        attempt += 1
      }
    }
  }
  guard let deadline else { return try await callRepeatedly(isolation: isolation) }
  return try await withDeadline(deadline, clock: clock, isolation: isolation) {
    try await callRepeatedly(isolation: isolation)
  }
}

/// Calls `body` until it returns, at most `attempts` times: see
/// ``withRetries(_:backoff:deadline:clock:isolation:while:_:)``. Pauses and deadline are of `ContinuousClock`, inside
/// `withVirtualTime` of that time.
///
/// - Parameters:
///   - attempts: the largest number of calls; `.max` means no limit. Values below 1 count as 1.
///   - backoff: the pauses.
///   - deadline: the deadline of all calls and pauses together; `nil`: none.
///   - isolation: the caller's isolation, in which this function runs.
///   - isWorthRetrying: whether a call that has thrown this error is to be repeated. By default each is.
///   - body: the work, called with 1, then with 2, and so on.
/// - Returns: the result of the first call that returns.
/// - Throws: what ``withRetries(_:backoff:deadline:clock:isolation:while:_:)`` throws.
public func withRetries<Value>(
  _ attempts: Int, backoff: Backoff = .exponential(first: .milliseconds(100), jitter: 0.5), deadline: Deadline? = nil,
  isolation: isolated (any Actor)? = #isolation, while isWorthRetrying: (any Error) -> Bool = { _ in true },
  _ body: (_ attempt: Int) async throws -> sending Value
) async throws -> sending Value {
  try await withRetries(
    attempts, backoff: backoff, deadline: deadline, clock: DeadlineClock(), isolation: isolation,
    while: isWorthRetrying, body)
}
