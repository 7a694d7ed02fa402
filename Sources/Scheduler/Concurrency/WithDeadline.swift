/// Runs `body`, and cancels it at `deadline`.
///
/// ```swift
/// let page = try await withDeadline(.now + .seconds(2)) { try await fetch(url) }
/// ```
///
/// 1. `body` runs in a child task, with the caller's isolation, priority, task-local values and executor preference.
///    The function returns when `body` has returned: a `body` that ignores cancellation delays it.
/// 2. At the deadline the child task is cancelled. If `body` then throws `CancellationError`, the function throws
///    ``SchedulerError/timeout``.
///    It rethrows every other error of `body`, and returns its result.
/// 3. If the deadline has passed already, `body` starts cancelled.
/// 4. If the calling task is cancelled, `body` is cancelled too, and its `CancellationError` is rethrown.
/// 5. If calls are nested, the earliest deadline applies.
///
/// The signature follows SE-0526. Once the language has that function, it replaces this one.
///
/// - Parameters:
///   - deadline: when to cancel `body`.
///   - tolerance: how much later the cancellation may come. `nil` is the clock's own default.
///   - clock: the clock of `deadline`; for the time of a scheduler, also a virtual one, its ``SchedulerType/clock``.
///   - isolation: the caller's isolation, in which this function runs.
///   - body: the work, called once.
/// - Returns: the result of `body`.
/// - Throws: the error of `body`; ``SchedulerError/timeout``; the clock's error if the clock cannot wait, such as
///   ``SchedulerError/stopped`` of a stopped scheduler. Then `body` is cancelled.
public func withDeadline<Value, C: Clock>(
  _ deadline: C.Instant, tolerance: C.Duration? = nil, clock: C,
  isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> sending Value
) async throws -> sending Value {
  if let (deadline, clock) = inVirtualTime(deadline, clock) {
    let tolerance = tolerance as! Duration?
    return try await withDeadline(deadline, tolerance: tolerance, clock: clock, isolation: isolation, body)
  }
  let work = Work<Value>()
  let ending = await withoutActuallyEscaping(body) { body in
    let lent = Lent(body: body)
    return await withTaskGroup(of: Ending.self, isolation: isolation) { group in
      let hasPassed = clock.now >= deadline
      if hasPassed { group.cancelAll() }
      group.addTask { await work.run(isolation: isolation, lent.body) }
      if !hasPassed { group.addTask { await sleep(until: deadline, tolerance, clock) } }
      // A deadline that has passed already counts as a timeout. But a cancelled caller gets the CancellationError of
      // `body`, not a timeout.
      var ending: Ending = hasPassed && !Task.isCancelled ? .failed(SchedulerError.timeout) : .bodyEnded
      while let next = await group.next() {
        if case .failed = next { ending = next }
        // the sleep was cancelled, by the caller's cancellation or below: waits for `body`
        if case .cancelled = next { continue }
        group.cancelAll()  // cancels the other child task: the sleep if `body` has ended, or `body` at the deadline
      }
      return ending
    }
  }
  // set: `body` has ended. Safe: no other reference to its value remains.
  nonisolated(unsafe) let outcome = work.outcome!
  // After the deadline, or a failure of the clock, that error replaces the CancellationError of `body`.
  if case .failed(let error) = ending, case .failure(let thrown) = outcome, thrown is CancellationError { throw error }
  return try outcome.get()
}

/// Runs `body`, and cancels it at `deadline`: see ``withDeadline(_:tolerance:clock:isolation:_:)``. Inside
/// `withVirtualTime`, `deadline` is an instant of that time.
///
/// - Parameters:
///   - deadline: when to cancel `body`.
///   - tolerance: how much later the cancellation may come.
///   - isolation: the caller's isolation, in which this function runs.
///   - body: the work, called once.
/// - Returns: the result of `body`.
/// - Throws: what ``withDeadline(_:tolerance:clock:isolation:_:)`` throws.
public func withDeadline<Value>(
  _ deadline: Deadline, tolerance: Duration? = nil, isolation: isolated (any Actor)? = #isolation,
  _ body: () async throws -> sending Value
) async throws -> sending Value {
  try await withDeadline(deadline, tolerance: tolerance, clock: DeadlineClock(), isolation: isolation, body)
}

/// Runs `body`, and cancels it at `deadline`: see ``withDeadline(_:tolerance:clock:isolation:_:)``.
///
/// - Parameters:
///   - deadline: when to cancel `body`, an instant of `ContinuousClock`.
///   - tolerance: how much later the cancellation may come.
///   - isolation: the caller's isolation, in which this function runs.
///   - body: the work, called once.
/// - Returns: the result of `body`.
/// - Throws: what ``withDeadline(_:tolerance:clock:isolation:_:)`` throws.
@_disfavoredOverload  // `.now` is that of `Deadline`
public func withDeadline<Value>(
  _ deadline: ContinuousClock.Instant, tolerance: Duration? = nil, isolation: isolated (any Actor)? = #isolation,
  _ body: () async throws -> sending Value
) async throws -> sending Value {
  try await withDeadline(deadline, tolerance: tolerance, clock: ContinuousClock(), isolation: isolation, body)
}

/// Runs `body`, and cancels it after `timeout`: see ``withDeadline(_:tolerance:clock:isolation:_:)``.
///
/// ```swift
/// let page = try await withTimeout(.seconds(2)) { try await fetch(url) }
/// ```
///
/// - Parameters:
///   - timeout: the time until `body` is cancelled: on `ContinuousClock`, inside `withVirtualTime` on that time. A
///     timeout that is not positive starts `body` cancelled.
///   - tolerance: how much later the cancellation may come.
///   - isolation: the caller's isolation, in which this function runs.
///   - body: the work, called once.
/// - Returns: the result of `body`.
/// - Throws: what ``withDeadline(_:tolerance:clock:isolation:_:)`` throws.
public func withTimeout<Value>(
  _ timeout: Duration, tolerance: Duration? = nil, isolation: isolated (any Actor)? = #isolation,
  _ body: () async throws -> sending Value
) async throws -> sending Value {
  try await withDeadline(.now + timeout, tolerance: tolerance, isolation: isolation, body)
}

/// Runs `body`, and cancels it after `timeout`, measured by `clock`: see
/// ``withDeadline(_:tolerance:clock:isolation:_:)``.
///
/// - Parameters:
///   - timeout: the time until `body` is cancelled. A timeout that is not positive starts `body` cancelled.
///   - tolerance: how much later the cancellation may come. `nil` is the clock's own default.
///   - clock: the clock that measures `timeout`.
///   - isolation: the caller's isolation, in which this function runs.
///   - body: the work, called once.
/// - Returns: the result of `body`.
/// - Throws: what ``withDeadline(_:tolerance:clock:isolation:_:)`` throws.
public func withTimeout<Value, C: Clock>(
  _ timeout: C.Duration, tolerance: C.Duration? = nil, clock: C,
  isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> sending Value
) async throws -> sending Value {
  if isSwifts(clock), let virtual = SharedPool.surroundingTime?.target.clock {
    let deadline = virtual.now.advanced(by: timeout as! Duration), tolerance = tolerance as! Duration?
    return try await withDeadline(deadline, tolerance: tolerance, clock: virtual, isolation: isolation, body)
  }
  return try await withDeadline(
    clock.now.advanced(by: held(timeout)), tolerance: tolerance, clock: clock, isolation: isolation, body)
}

#if compiler(<6.4)
  /// Runs `body` to its end even if the calling task is cancelled. Inside `body` `Task.isCancelled` is false, and waits
  /// do not end early.
  ///
  /// ```swift
  /// await withTaskCancellationShield { await connection.close() }
  /// ```
  ///
  /// `body` runs in a task of its own, with the caller's isolation, priority and task-local values. The signature
  /// follows SE-0504. A compiler that has SE-0504 uses the language's own function.
  ///
  /// - Parameters:
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the work, called once.
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`.
  public func withTaskCancellationShield<Value, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> sending Value
  ) async throws(Failure) -> sending Value {
    let work = Work<Value>()
    await withoutActuallyEscaping(body) { body in
      nonisolated(unsafe) let body = body  // the caller is suspended while the task runs it
      // An unstructured task is not cancelled with this one. Its result is always `bodyEnded`; `work` has the outcome.
      _ = await Task { await work.run(isolation: isolation) { try await body() } }.value
    }
    nonisolated(unsafe) let outcome = work.outcome!  // safe: no other reference to its value remains
    do { return try outcome.get() } catch { throw error as! Failure }  // `body` threw it
  }
#endif

/// How a child task of `withDeadline` ended. One child runs `body`; the other one sleeps until the deadline.
private enum Ending: Sendable {
  /// `body` has returned or thrown.
  case bodyEnded
  /// The sleep was cancelled.
  case cancelled
  /// The sleep ended: the deadline came (`SchedulerError.timeout`), or the clock failed with this error.
  case failed(any Error)
}

/// The body of a call, for another task. Swift 6.2 takes no `nonisolated(unsafe)` constant in its place.
private struct Lent<Value>: @unchecked Sendable {
  // Unchecked, because the caller is suspended while the other task runs it.
  let body: () async throws -> sending Value
}

/// Runs `body` in another task, and stores its outcome for the caller.
private final class Work<Value>: @unchecked Sendable {
  // Unchecked, because only the other task sets the outcome, and only the caller reads it, after that task has ended.
  var outcome: Result<Value, any Error>?  // nil until `body` has ended

  func run(isolation: isolated (any Actor)?, _ body: () async throws -> sending Value) async -> Ending {
    do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
    return .bodyEnded
  }
}

/// Whether `clock` is one of Swift's own.
private func isSwifts(_ clock: some Clock) -> Bool { clock is ContinuousClock || clock is SuspendingClock }

/// Returns `deadline` as an instant of the caller's virtual time, with that time's clock, if `clock` is one of Swift's
/// own, or there is none; else nil. An instant of real time is estimated.
private func inVirtualTime<C: Clock>(_ deadline: C.Instant, _ clock: C) -> (MonotonicTime, SchedulerClock)? {
  guard isSwifts(clock) || clock is DeadlineClock, let time = SharedPool.surroundingTime else { return nil }
  let virtual = time.target.clock
  if let instant = (deadline as? Deadline)?.virtual { return (instant, virtual) }
  let real = (deadline as? Deadline)?.real
  let remaining = real.map { ContinuousClock.now.duration(to: $0) } ?? clock.now.duration(to: deadline) as! Duration
  return (virtual.now.advanced(by: remaining > .zero ? time.duration(ofWaitEndingIn: remaining) : .zero), virtual)
}

/// The longest span that Swift's own clocks are given, 136 years. In `sleep` they trap beyond 2^63 nanoseconds.
private let longestSleep = Duration.seconds(UInt32.max)

/// Returns `duration`, clamped to what can be added to an instant of Swift's clocks without an overflow.
private func held<Span: DurationProtocol>(_ duration: Span) -> Span {
  guard let longer = duration as? Duration, longer > .seconds(Int64.max) else { return duration }
  return Duration.seconds(Int64.max) as! Span
}

/// Returns `deadline`, or an instant before it that Swift's own clock can sleep until.
private func held<C: Clock>(_ deadline: C.Instant, _ clock: C) -> C.Instant {
  switch deadline {
  case let deadline as ContinuousClock.Instant: min(deadline, .now + longestSleep) as! C.Instant
  case let deadline as SuspendingClock.Instant: min(deadline, .now + longestSleep) as! C.Instant
  case let deadline as Deadline: min(deadline, .now + longestSleep) as! C.Instant
  default: deadline
  }
}

/// Sleeps until `deadline`. Returns `.failed` with ``SchedulerError/timeout`` or the clock's error, or `.cancelled` if
/// the task is cancelled.
private func sleep<C: Clock>(until deadline: C.Instant, _ tolerance: C.Duration?, _ clock: C) async -> Ending {
  do {
    try await suspend(until: deadline, tolerance, clock)
    return .failed(SchedulerError.timeout)
  } catch is CancellationError { return .cancelled } catch { return .failed(error) }
}

/// Suspends the task until `deadline`, however far it is.
private func suspend<C: Clock>(until deadline: C.Instant, _ tolerance: C.Duration?, _ clock: C) async throws {
  let tolerance = (tolerance as? Duration).map { min($0, longestSleep) as! C.Duration } ?? tolerance
  var next: C.Instant
  repeat {
    next = held(deadline, clock)
    try await clock.sleep(until: next, tolerance: tolerance)
  } while next < deadline
}

/// Suspends the task for `duration`; inside `withVirtualTime` on that time, if `clock` is one of Swift's own or that of
/// a `Deadline`.
func suspend<C: Clock>(for duration: Duration, _ clock: C) async throws where C.Duration == Duration {
  if isSwifts(clock) || clock is DeadlineClock, let virtual = SharedPool.surroundingTime?.target.clock {
    return try await virtual.sleep(until: virtual.now.advanced(by: duration), tolerance: nil)
  }
  try await suspend(until: clock.now.advanced(by: held(duration)), nil, clock)
}

/// The deadline of a wait, without the type of its clock.
struct AnyDeadline {
  /// Whether the deadline has passed.
  let hasPassed: () -> Bool
  /// Starts a task that calls the given function with `SchedulerError.timeout` at the deadline, or with the clock's
  /// error; not if it is cancelled.
  let start: (@escaping @Sendable (any Error) -> Void) -> Task<Void, Never>

  init<C: Clock>(_ deadline: C.Instant, _ clock: C) {
    if let (deadline, clock) = inVirtualTime(deadline, clock) {
      self.init(of: deadline, clock)
    } else {
      self.init(of: deadline, clock)
    }
  }

  private init<C: Clock>(of deadline: C.Instant, _ clock: C) {
    hasPassed = { clock.now >= deadline }
    start = { expire in
      Task { if case .failed(let error) = await sleep(until: deadline, nil, clock) { expire(error) } }
    }
  }
}

/// Suspends the calling task until `wait`, called in a separate task, has returned. Throws `SchedulerError.timeout` at
/// `deadline`, and `CancellationError` if the calling task is cancelled; `wait` then continues.
func awaitEnd(
  _ deadline: AnyDeadline, isolation: isolated (any Actor)?, _ wait: @escaping @Sendable () async -> Void
) async throws {
  let ended = AsyncUnits(0)  // gets one unit when `wait` has returned
  Task {  // unstructured: it continues when this function throws
    await wait()
    ended.give(1)
  }
  try await ended.outcome(of: ended.request(1), deadline, isolation: isolation)
}
