/// Limits how many async bodies run at a time, and how many wait. A body counts from its start to its end, also while
/// suspended.
///
/// ```swift
/// let limit = AsyncLimit(4)
/// try await withThrowingTaskGroup { group in
///   for url in urls { group.addTask { try await limit.run { try await fetch(url) } } }
///   try await group.waitForAll()
/// }
/// ```
///
/// With a bound for what waits, a producer that is faster than the bodies is suspended, or refused:
///
/// ```swift
/// let jobs = AsyncLimit(4, waiting: 100)
/// for try await job in queue { try await jobs.submit { await process(job) } }   // suspended while 4 run and 100 wait
/// jobs.finish()                                                                 // no further body is accepted
/// let tally = await jobs.drained(deadline: .now + .seconds(10))
/// print("done \(tally.done), cancelled \(tally.cancelled), not done \(tally.remaining)")
/// ```
///
/// With a limit of 1 it is a serial queue of async bodies. ``trySubmit(priority:_:)`` needs no `await`, and keeps the
/// order of the calls:
///
/// ```swift
/// let saves = AsyncLimit(1)
/// saves.trySubmit { await store.save(first) }
/// saves.trySubmit { await store.save(second) }    // starts when the first save has ended
/// ```
///
/// As with `Task`, a body of `submit` that is written in an actor, or on the main actor, runs on that actor. Write
/// `{ @concurrent in … }` (Swift 6.2), or call an async function, to leave it.
///
/// 1. Bodies of one priority start in the order in which they were accepted. Those of a higher priority start first;
///    but a lower priority that waits is passed over at most 16 times, the lowest at most 33 times. There are three
///    levels: `.high` and above, those below `.medium`, and the rest, with those without a priority.
/// 2. A body that waits for another body of the same limit may wait for ever: all running bodies may be such bodies.
/// 3. A task that is cancelled before its body starts stops waiting at once, and its body is not called. Its place is
///    free for another one.
/// 4. If the limit is released, bodies that wait or run continue.
public final class AsyncLimit: Sendable {
  /// The greatest number of bodies that run at a time.
  public let most: Int
  /// The greatest number of bodies that are accepted and wait; `nil` for no bound.
  public let waiting: Int?
  /// Where bodies without an actor of their own run; `nil` for the executor of the calling task.
  public let scheduler: (any SchedulerType & TaskExecutor)?
  private let permits: AsyncUnits  // `most` units: a body holds one from before its start until its end
  // `most + waiting` units: a body holds one from its acceptance until its end; nil: no bound
  private let room: AsyncUnits?

  /// Creates a limit.
  ///
  /// - Parameters:
  ///   - most: how many bodies may run at a time, from 1 to 2^31 - 1. Another number stops the process with a message.
  ///   - waiting: how many more bodies may wait to start, from 0; `nil` for no bound. `most` and `waiting` are at most
  ///     2^31 - 1 together.
  ///   - scheduler: where bodies without an actor of their own run; `nil` for the executor of the calling task.
  public init(_ most: Int, waiting: Int? = nil, on scheduler: (any SchedulerType & TaskExecutor)? = nil) {
    if checked(most, "AsyncLimit.init", "bodies") == 0 {  // `checked` stops the process for a number out of range
      misuse("AsyncLimit.init", "a limit of 0 would run nothing. Give one of 1 or more.")
    }
    self.most = most
    self.waiting = waiting
    self.scheduler = scheduler
    permits = AsyncUnits(most)
    room = waiting.map { waiting in
      AsyncUnits(Int(checked(most + Int(checked(waiting, "AsyncLimit.init", "bodies")), "AsyncLimit.init", "bodies")))
    }
  }

  /// Suspends the task until fewer than ``most`` bodies run, and calls `body`.
  ///
  /// - Parameters:
  ///   - priority: which waiting bodies start first: see rule 1. It does not change the task's priority.
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the work, called once, in the calling task.
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`; `CancellationError` if the task is cancelled before `body` starts;
  ///   ``SchedulerError/stopped`` after ``finish()``.
  public func run<Value>(
    priority: TaskPriority? = nil, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> sending Value
  ) async throws -> sending Value { try await run(priority, until: nil, isolation: isolation, body) }

  /// Suspends the task until fewer than ``most`` bodies run, and calls `body`, if that is before `deadline`.
  ///
  /// - Parameters:
  ///   - priority: which waiting bodies start first: see rule 1.
  ///   - deadline: when `body` must have started. It may run longer. A deadline in the past does not wait.
  ///   - clock: the clock of `deadline`; for the time of a scheduler its ``SchedulerType/clock``.
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the work, called once, in the calling task.
  /// - Returns: the result of `body`.
  /// - Throws: what ``run(priority:isolation:_:)`` throws; ``SchedulerError/timeout`` if `body` has not started by
  ///   `deadline`.
  public func run<Value, C: Clock>(
    priority: TaskPriority? = nil, deadline: C.Instant, clock: C = ContinuousClock(),
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> sending Value
  ) async throws -> sending Value {
    try await run(priority, until: AnyDeadline(deadline, clock), isolation: isolation, body)
  }

  /// Calls `body` as ``run(priority:deadline:clock:isolation:_:)`` does, without a clock; inside `withVirtualTime` the
  /// deadline is of that time.
  ///
  /// - Parameters:
  ///   - priority: which waiting bodies start first: see rule 1.
  ///   - deadline: when `body` must have started. It may run longer. A deadline in the past does not wait.
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the work, called once, in the calling task.
  /// - Returns: the result of `body`.
  /// - Throws: what ``run(priority:deadline:clock:isolation:_:)`` throws.
  public func run<Value>(
    priority: TaskPriority? = nil, deadline: Deadline, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> sending Value
  ) async throws -> sending Value {
    try await run(priority: priority, deadline: deadline, clock: DeadlineClock(), isolation: isolation, body)
  }

  /// Calls `body` as ``run(priority:isolation:_:)`` does, unless ``waiting`` bodies wait already.
  ///
  /// - Parameters:
  ///   - priority: which waiting bodies start first: see rule 1.
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the work, called once, in the calling task.
  /// - Returns: the result of `body`.
  /// - Throws: what ``run(priority:isolation:_:)`` throws; ``SchedulerError/refused`` at once if the limit is full.
  public func tryRun<Value>(
    priority: TaskPriority? = nil, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> sending Value
  ) async throws -> sending Value {
    if let room, try !room.takeIfFree(1) { throw room.isFinished ? SchedulerError.stopped : .refused }
    return try await runInRoom(priority, until: nil, isolation: isolation, body)
  }

  /// Waits for room, and calls `body`. `deadline`: when it must have started; nil: it may wait without an end.
  private func run<Value>(
    _ priority: TaskPriority?, until deadline: AnyDeadline?, isolation: isolated (any Actor)?,
    _ body: () async throws -> sending Value
  ) async throws -> sending Value {
    if let room, try !room.takeIfFree(1) {
      try await room.outcome(of: room.request(1, level(priority)), deadline, isolation: isolation)
    }
    return try await runInRoom(priority, until: deadline, isolation: isolation, body)
  }

  /// Waits for a permit, and calls `body`, for a task that has a unit of `room`. Then gives both back.
  private func runInRoom<Value>(
    _ priority: TaskPriority?, until deadline: AnyDeadline?, isolation: isolated (any Actor)?,
    _ body: () async throws -> sending Value
  ) async throws -> sending Value {
    defer { room?.give(1) }
    if try !permits.takeIfFree(1) {
      try await permits.outcome(of: permits.request(1, level(priority)), deadline, isolation: isolation)
    }
    var isCancelled = true  // until the body has ended otherwise
    defer { permits.give(1, isCancelled: isCancelled) }
    try Task.checkCancellation()  // the task may have been cancelled after it got the permit
    do {
      nonisolated(unsafe) let value = try await call(body)
      isCancelled = false
      return value  // `nonisolated(unsafe)` is safe: `body` returned the value as `sending`
    } catch {
      isCancelled = error is CancellationError
      throw error
    }
  }

  /// Calls `body` on `scheduler`.
  private func call<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> sending Value
  ) async throws -> sending Value {
    guard let scheduler else { return try await body() }
    nonisolated(unsafe) let value = try await withTaskExecutorPreference(scheduler, operation: body)
    return value  // `nonisolated(unsafe)` is safe: `body` returned the value as `sending`
  }

  /// Suspends the task until the limit has room for `body`: until fewer than ``waiting`` bodies wait. Then submits
  /// `body`, and returns its task.
  ///
  /// - Parameters:
  ///   - priority: the new task's priority, and which waiting bodies start first: see rule 1; `nil` for the caller's
  ///     priority, and the middle level.
  ///   - isolation: the caller's isolation, in which this function waits.
  ///   - body: the work, called once, in the returned task.
  /// - Returns: the task, whose value is the result of `body`. If it is cancelled before `body` starts, it throws
  ///   `CancellationError`.
  /// - Throws: `CancellationError` if the calling task is cancelled while it waits for room; ``SchedulerError/stopped``
  ///   after ``finish()``. Then `body` is not called.
  @discardableResult
  public func submit<Value: Sendable>(
    priority: TaskPriority? = nil, isolation: isolated (any Actor)? = #isolation,
    @_inheritActorContext _ body: sending @escaping @isolated(any) () async throws -> Value
  ) async throws -> Task<Value, any Error> {
    if let room {
      if try !room.takeIfFree(1) { try await room.outcome(of: room.request(1, level(priority)), isolation: isolation) }
    }
    guard let task = start(priority, body) else { throw SchedulerError.stopped }
    return task
  }

  /// Submits `body` if the limit has room for it. Never waits: synchronous code may call it. Without a bound there is
  /// always room.
  ///
  /// - Parameters:
  ///   - priority: the task's priority, and which waiting bodies start first: see rule 1; `nil` for the caller's
  ///     priority, and the middle level.
  ///   - body: the work, called once, in the returned task.
  /// - Returns: the task, whose value is the result of `body`; `nil` if ``waiting`` bodies wait already, and after
  ///   ``finish()``. If the task is cancelled before `body` starts, it throws `CancellationError`.
  @discardableResult
  public func trySubmit<Value: Sendable>(
    priority: TaskPriority? = nil,
    @_inheritActorContext _ body: sending @escaping @isolated(any) () async throws -> Value
  ) -> Task<Value, any Error>? {
    if room?.tryTake(1) == false { return nil }
    return start(priority, body)
  }

  /// Submits `body`, which has a unit of `room`. Returns nil, and gives it back, if the limit is finished.
  private func start<Value: Sendable>(
    _ priority: TaskPriority?, _ body: sending @escaping @isolated(any) () async throws -> Value
  ) -> Task<Value, any Error>? {
    // here and not in the task, so that bodies start in the order of these calls
    guard let ticket = permits.requestUnlessFinished(1, level(priority)) else {
      room?.give(1)
      return nil
    }
    return Task(executorPreference: scheduler, priority: priority) { [permits, room] in
      defer { room?.give(1) }
      try await permits.outcome(of: ticket, isolation: nil)
      var isCancelled = true  // until the body has ended otherwise
      defer { permits.give(1, isCancelled: isCancelled) }
      try Task.checkCancellation()  // rule 3: the task may have been cancelled between its permit and this line
      do {
        let value = try await body()
        isCancelled = false
        return value
      } catch {
        isCancelled = error is CancellationError
        throw error
      }
    }
  }

  private func level(_ priority: TaskPriority?) -> AsyncUnits.Level {
    guard let priority else { return .usual }
    return priority >= .high ? .high : priority >= .medium ? .usual : .low
  }

  // MARK: The end

  /// What became of the bodies that a limit has accepted.
  public struct Tally: Hashable, Sendable {
    /// How many bodies have ended: they returned, or threw an error of their own.
    public let done: Int
    /// How many did not start, or did not get to their end, because their task was cancelled, or their deadline passed
    /// while they waited.
    public let cancelled: Int
    /// How many wait or run.
    public let remaining: Int

    /// Creates a tally, for comparisons.
    ///
    /// - Parameters:
    ///   - done: the value of ``done``.
    ///   - cancelled: the value of ``cancelled``.
    ///   - remaining: the value of ``remaining``.
    public init(done: Int, cancelled: Int, remaining: Int) {
      (self.done, self.cancelled, self.remaining) = (done, cancelled, remaining)
    }
  }

  /// Refuses bodies from now on. Tasks that wait for room get ``SchedulerError/stopped``. Bodies that were accepted
  /// run. It can be called again.
  public func finish() {
    room?.finish(failsWaiters: true)
    permits.finish(failsWaiters: false)
  }

  /// A request that is granted when no body waits or runs, and all places are free.
  private func requestIdleness() -> (AsyncUnits, AsyncUnits.Ticket) {
    let all = room ?? permits
    return (all, all.requestIdleness(most + (waiting ?? 0)))
  }

  /// Suspends the task until no body waits or runs, and returns what became of all bodies so far. Bodies may be
  /// submitted meanwhile, unless ``finish()`` was called. If the task is cancelled, it returns at once.
  ///
  /// - Parameter isolation: the caller's isolation, in which this function runs.
  /// - Returns: the numbers at the return. ``Tally/remaining`` is 0 if the wait was not cancelled, and the limit is
  ///   finished.
  public func drained(isolation: isolated (any Actor)? = #isolation) async -> Tally {
    let (all, idleness) = requestIdleness()
    try? await all.outcome(of: idleness, isolation: isolation)
    return tally
  }

  /// Waits as ``drained(isolation:)`` does, until `deadline` at the latest.
  ///
  /// - Parameters:
  ///   - deadline: the end of the wait. A deadline in the past does not wait.
  ///   - clock: the clock of `deadline`; for the time of a scheduler its ``SchedulerType/clock``.
  ///   - isolation: the caller's isolation, in which this function runs.
  /// - Returns: the numbers at the return. Bodies in ``Tally/remaining`` still wait or run: cancel their tasks, or
  ///   leave them.
  public func drained<C: Clock>(
    deadline: C.Instant, clock: C = ContinuousClock(), isolation: isolated (any Actor)? = #isolation
  ) async -> Tally {
    let (all, idleness) = requestIdleness()
    try? await all.outcome(of: idleness, AnyDeadline(deadline, clock), isolation: isolation)
    return tally
  }

  /// Waits as ``drained(deadline:clock:isolation:)`` does, without a clock; inside `withVirtualTime` the deadline is of
  /// that time.
  ///
  /// - Parameters:
  ///   - deadline: the end of the wait. A deadline in the past does not wait.
  ///   - isolation: the caller's isolation, in which this function runs.
  /// - Returns: the numbers at the return.
  public func drained(deadline: Deadline, isolation: isolated (any Actor)? = #isolation) async -> Tally {
    await drained(deadline: deadline, clock: DeadlineClock(), isolation: isolation)
  }

  /// What became of the bodies that were accepted so far.
  public var tally: Tally {
    let counts = permits.counts
    return Tally(
      done: counts.returned, cancelled: counts.cancelled, remaining: most - counts.free + counts.waiters)
  }

  /// The number of bodies that run at this instant, for diagnostics.
  public var runningCount: Int { most - permits.counts.free }  // each running body holds one permit

  /// The number of bodies that wait at this instant, for diagnostics. Tasks that wait for room do not count.
  public var waitingCount: Int { permits.counts.waiters }
}

extension SchedulerType where Self: TaskExecutor {
  /// Returns a limit for async bodies on this scheduler: at most `most` run at a time, including the suspended ones.
  ///
  /// ```swift
  /// let downloads = ConcurrentScheduler.shared.limited(to: 4, waiting: 100)
  /// let page = try await downloads.perform { try await fetch(url) }
  /// ```
  ///
  /// A ``ConcurrentScheduler`` with a limit counts running actions and jobs instead. A body that is suspended does not
  /// count there.
  ///
  /// - Parameters:
  ///   - most: how many bodies may run at a time, from 1 to 2^31 - 1.
  ///   - waiting: how many more bodies may wait to start; `nil` for no bound.
  public func limited(to most: Int, waiting: Int? = nil) -> AsyncLimit { AsyncLimit(most, waiting: waiting, on: self) }
}

extension AsyncLimit {
  /// Calls `body` on the scheduler of the limit: the same as ``run(priority:isolation:_:)``, with the name that
  /// schedulers use.
  ///
  /// - Parameters:
  ///   - isolation: the caller's isolation, in which this function runs.
  ///   - body: the work, called once, in the calling task.
  /// - Returns: the result of `body`.
  /// - Throws: what ``run(priority:isolation:_:)`` throws.
  public func perform<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> sending Value
  ) async throws -> sending Value { try await run(isolation: isolation, body) }
}
