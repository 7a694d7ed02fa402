/// Limits how many async bodies run at a time. A body counts from its start to its end, also while suspended. Bodies start in submission order.
///
/// ```swift
/// let limit = AsyncLimit(4)
/// try await withThrowingTaskGroup { group in
///   for url in urls { group.addTask { try await limit.run { try await fetch(url) } } }
///   try await group.waitForAll()
/// }
/// ```
///
/// With a limit of 1 it is a serial queue of async bodies: ``submit(priority:_:)`` may be called without `await`, and keeps the order of the calls.
///
/// ```swift
/// let saves = AsyncLimit(1)
/// saves.submit { await store.save(first) }
/// saves.submit { await store.save(second) }    // starts when the first save has ended
/// ```
///
/// As with `Task`, a body of `submit` that is written in an actor, or on the main actor, runs on that actor. Write `{ @concurrent in … }` (Swift 6.2),
/// or call an async function, to leave it.
///
/// 1. A body that waits for another body of the same limit may wait for ever: all running bodies may be such bodies.
/// 2. A task that is cancelled before its body starts stops waiting at once, and its body is not called.
/// 3. If the limit is released, bodies that wait or run continue.
public final class AsyncLimit: Sendable {
  /// The greatest number of bodies that run at a time.
  public let most: Int
  /// Where bodies without an actor of their own run; `nil` for the executor of the calling task.
  public let scheduler: (any SchedulerType & TaskExecutor)?
  private let permits: AsyncUnits  // `most` units: a body holds one from before its start until its end

  /// Creates a limit.
  ///
  /// - Parameters:
  ///   - most: how many bodies may run at a time, from 1 to 2^31 - 1. Another number stops the process with a message.
  ///   - scheduler: where bodies without an actor of their own run; `nil` for the executor of the calling task.
  public init(_ most: Int, on scheduler: (any SchedulerType & TaskExecutor)? = nil) {
    if checked(most, "AsyncLimit.init", "bodies") == 0 {  // `checked` stops the process for a number out of range
      misuse("AsyncLimit.init", "a limit of 0 would run nothing. Give one of 1 or more.")
    }
    self.most = most
    self.scheduler = scheduler
    permits = AsyncUnits(most)
  }

  /// Suspends the task until fewer than ``most`` bodies run, and calls `body`.
  ///
  /// - Parameters:
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the work, called once, in the calling task.
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`; `CancellationError` if the task is cancelled before `body` starts.
  public func run<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> sending Value
  ) async throws -> sending Value {
    // waits for a permit
    if try !permits.takeIfFree(1) { try await permits.outcome(of: permits.request(1), isolation: isolation) }
    return try await call(isolation: isolation, body)
  }

  /// Suspends the task until fewer than ``most`` bodies run, and calls `body`, if that is before `deadline`.
  ///
  /// - Parameters:
  ///   - deadline: when `body` must have started. It may run longer. A deadline in the past does not wait.
  ///   - clock: the clock of `deadline`; for the time of a scheduler its ``SchedulerType/clock``.
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the work, called once, in the calling task.
  /// - Returns: the result of `body`.
  /// - Throws: what ``run(isolation:_:)`` throws; ``SchedulerError/timeout`` if `body` has not started by `deadline`.
  public func run<Value, C: Clock>(
    deadline: C.Instant, clock: C = ContinuousClock(), isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> sending Value
  ) async throws -> sending Value {
    if try !permits.takeIfFree(1) {
      // waits for a permit
      try await permits.outcome(of: permits.request(1), AnyDeadline(deadline, clock), isolation: isolation)
    }
    return try await call(isolation: isolation, body)
  }

  /// Calls `body` as ``run(deadline:clock:isolation:_:)`` does, without a clock; inside `withVirtualTime` the deadline is of that time.
  ///
  /// - Parameters:
  ///   - deadline: when `body` must have started. It may run longer. A deadline in the past does not wait.
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the work, called once, in the calling task.
  /// - Returns: the result of `body`.
  /// - Throws: what ``run(deadline:clock:isolation:_:)`` throws.
  public func run<Value>(
    deadline: Deadline, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> sending Value
  ) async throws -> sending Value {
    try await run(deadline: deadline, clock: DeadlineClock(), isolation: isolation, body)
  }

  /// Submits `body`, and returns its task at once. Bodies start in the order of the calls of this function and of ``run(isolation:_:)``.
  ///
  /// - Parameters:
  ///   - priority: the task's priority; `nil` for the caller's.
  ///   - body: the work, called once, in the returned task.
  /// - Returns: the task, whose value is the result of `body`. If it is cancelled before `body` starts, it throws `CancellationError`.
  @discardableResult
  public func submit<Value: Sendable>(
    priority: TaskPriority? = nil,
    @_inheritActorContext _ body: sending @escaping @isolated(any) () async throws -> Value
  ) -> Task<Value, any Error> {
    let ticket = permits.request(1)  // here and not in the task, so that bodies start in the order of these calls
    return Task(executorPreference: scheduler, priority: priority) { [permits] in
      try await permits.outcome(of: ticket, isolation: nil)
      defer { permits.give(1) }
      try Task.checkCancellation()  // rule 2: the task may have been cancelled between its permit and this line
      return try await body()
    }
  }

  /// The number of bodies that run at this instant, for diagnostics.
  public var runningCount: Int { most - permits.counts.free }  // each running body holds one permit

  /// The number of bodies that wait at this instant, for diagnostics.
  public var waitingCount: Int { permits.counts.waiters }

  /// Calls `body` on `scheduler` for a task that holds a permit. Then gives the permit back.
  private func call<Value>(
    isolation: isolated (any Actor)?, _ body: () async throws -> sending Value
  ) async throws -> sending Value {
    defer { permits.give(1) }
    try Task.checkCancellation()  // the task may have been cancelled after it got the permit
    guard let scheduler else { return try await body() }
    nonisolated(unsafe) let value = try await withTaskExecutorPreference(scheduler, operation: body)
    return value  // `nonisolated(unsafe)` is safe: `body` returned the value as `sending`
  }
}

extension SchedulerType where Self: TaskExecutor {
  /// Returns a limit for async bodies on this scheduler: at most `most` run at a time, including the suspended ones.
  ///
  /// ```swift
  /// let downloads = ConcurrentScheduler.shared.limited(to: 4)
  /// let page = try await downloads.perform { try await fetch(url) }
  /// ```
  ///
  /// A ``ConcurrentScheduler`` with a limit counts running actions and jobs instead. A body that is suspended does not count there.
  ///
  /// - Parameter most: how many bodies may run at a time, from 1 to 2^31 - 1.
  public func limited(to most: Int) -> AsyncLimit { AsyncLimit(most, on: self) }
}

extension AsyncLimit {
  /// Calls `body` on the scheduler of the limit: the same as ``run(isolation:_:)``, with the name that schedulers use.
  ///
  /// - Parameters:
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the work, called once, in the calling task.
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`; `CancellationError` if the task is cancelled before `body` starts.
  public func perform<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> sending Value
  ) async throws -> sending Value { try await run(isolation: isolation, body) }
}
