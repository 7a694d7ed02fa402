/// Runs `body`, and cancels it at `deadline`.
///
/// ```swift
/// let page = try await withDeadline(.now + .seconds(2)) { try await fetch(url) }
/// ```
///
/// 1. `body` runs in a child task, with the caller's isolation, priority, task-local values and executor preference. The function returns when
///    `body` has returned: a `body` that ignores cancellation delays it.
/// 2. At the deadline the child task is cancelled. If `body` then throws `CancellationError`, the function throws ``SchedulerError/timeout``.
///    Every other error of `body`, and a result, is passed on.
/// 3. If the deadline has passed already, `body` starts cancelled.
/// 4. If the calling task is cancelled, `body` is too, and its `CancellationError` is passed on.
/// 5. If deadlines are nested, the earliest one counts.
///
/// The shape is that of SE-0526. Once the language has that function, this one gives way to it.
///
/// - Parameters:
///   - deadline: when to cancel `body`.
///   - tolerance: how much later the cancellation may come. `nil` is the clock's own default.
///   - clock: the clock of `deadline`; for the time of a scheduler, also a virtual one, its ``SchedulerType/clock``.
///   - isolation: the caller's isolation, which is kept.
///   - body: the work, called once.
/// - Returns: the result of `body`.
/// - Throws: the error of `body`; ``SchedulerError/timeout``; the clock's error if the clock cannot wait, such as ``SchedulerError/stopped`` of a
///   stopped scheduler. Then `body` is cancelled.
public func withDeadline<Value, C: Clock>(
  _ deadline: C.Instant, tolerance: C.Duration? = nil, clock: C = ContinuousClock(),
  isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> sending Value
) async throws -> sending Value {
  let work = Work<Value>()
  let ending = await withoutActuallyEscaping(body) { body in
    nonisolated(unsafe) let body = body  // the caller is suspended while the child task runs it
    return await withTaskGroup(of: Ending.self, isolation: isolation) { group in
      let hasPassed = clock.now >= deadline
      if hasPassed { group.cancelAll() }
      group.addTask { await work.run(isolation: isolation, body) }
      if !hasPassed { group.addTask { await sleep(until: deadline, tolerance, clock) } }
      var ending: Ending = hasPassed && !Task.isCancelled ? .failed(SchedulerError.timeout) : .worked
      while let next = await group.next() {
        if case .failed = next { ending = next }
        if case .cancelled = next { continue }  // the sleep, as the caller was cancelled: `body` decides when to end
        group.cancelAll()
      }
      return ending
    }
  }
  nonisolated(unsafe) let outcome = work.outcome!  // no other reference to its value remains
  if case .failed(let error) = ending, case .failure(let own) = outcome, own is CancellationError { throw error }
  return try outcome.get()
}

/// Runs `body`, and cancels it after `timeout`: see ``withDeadline(_:tolerance:clock:isolation:_:)``.
///
/// ```swift
/// let page = try await withTimeout(.seconds(2)) { try await fetch(url) }
/// ```
///
/// - Parameters:
///   - timeout: the time until `body` is cancelled. A timeout that is not positive starts `body` cancelled.
///   - tolerance: how much later the cancellation may come. `nil` is the clock's own default.
///   - clock: the clock that measures `timeout`.
///   - isolation: the caller's isolation, which is kept.
///   - body: the work, called once.
/// - Returns: the result of `body`.
/// - Throws: what ``withDeadline(_:tolerance:clock:isolation:_:)`` throws.
public func withTimeout<Value, C: Clock>(
  _ timeout: C.Duration, tolerance: C.Duration? = nil, clock: C = ContinuousClock(),
  isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> sending Value
) async throws -> sending Value {
  try await withDeadline(
    clock.now.advanced(by: timeout), tolerance: tolerance, clock: clock, isolation: isolation, body)
}

#if compiler(<6.4)
  /// Runs `body` to its end although the calling task is or will be cancelled: inside, `Task.isCancelled` is false, and waits do not end early.
  ///
  /// ```swift
  /// await withTaskCancellationShield { await connection.close() }
  /// ```
  ///
  /// `body` runs in a task of its own, with the caller's isolation, priority and task-local values. The shape is that of SE-0504: with a compiler
  /// that has it, this function is the language's.
  ///
  /// - Parameters:
  ///   - isolation: the caller's isolation, which is kept.
  ///   - body: the work, called once.
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`.
  public func withTaskCancellationShield<Value, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> sending Value
  ) async throws(Failure) -> sending Value {
    let work = Work<Value>()
    await withoutActuallyEscaping(body) { body in
      nonisolated(unsafe) let body = body  // the caller is suspended while the task runs it
      _ = await Task { await work.run(isolation: isolation) { try await body() } }.value
    }
    nonisolated(unsafe) let outcome = work.outcome!  // no other reference to its value remains
    do { return try outcome.get() } catch { throw error as! Failure }
  }
#endif

/// How one of two child tasks ended.
private enum Ending: Sendable {
  /// `body` has ended.
  case worked
  /// The sleep was cancelled.
  case cancelled
  /// The deadline came, or the clock failed.
  case failed(any Error)
}

/// What `body` returned or threw.
private final class Work<Value>: @unchecked Sendable {
  // Unchecked, because only the child task sets the outcome, and only the caller reads it, after that task.
  var outcome: Result<Value, any Error>?

  func run(isolation: isolated (any Actor)?, _ body: () async throws -> sending Value) async -> Ending {
    do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
    return .worked
  }
}

private func sleep<C: Clock>(until deadline: C.Instant, _ tolerance: C.Duration?, _ clock: C) async -> Ending {
  do {
    try await clock.sleep(until: deadline, tolerance: tolerance)
    return .failed(SchedulerError.timeout)
  } catch is CancellationError { return .cancelled } catch { return .failed(error) }
}

/// The deadline of a wait, on any clock.
struct Deadline {
  /// Whether the deadline has passed.
  let hasPassed: () -> Bool
  /// Starts a task that calls the given function at the deadline, with ``SchedulerError/timeout``, or with the clock's error. Cancelling the task
  /// prevents that.
  let start: (@escaping @Sendable (any Error) -> Void) -> Task<Void, Never>

  init<C: Clock>(_ deadline: C.Instant, _ clock: C) {
    hasPassed = { clock.now >= deadline }
    start = { expire in
      Task { if case .failed(let error) = await sleep(until: deadline, nil, clock) { expire(error) } }
    }
  }
}

/// Calls `wait`, which cannot be cancelled, in a task of its own, and suspends the calling task until it has returned or `deadline` comes.
func awaitEnd(
  _ deadline: Deadline, isolation: isolated (any Actor)?, _ wait: @escaping @Sendable () async -> Void
) async throws {
  let ended = AsyncUnits(0)
  Task {
    await wait()
    ended.give(1)
  }
  try await ended.outcome(of: ended.request(1), deadline, isolation: isolation)
}
