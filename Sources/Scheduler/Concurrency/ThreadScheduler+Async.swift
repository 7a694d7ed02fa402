extension ThreadScheduler {
  /// Ends the thread as ``stop(_:)`` does, and suspends the task until it has ended.
  ///
  /// May be called on the thread itself. A task that is isolated to the thread does not block the thread during the
  /// wait. It continues as a late job: see ``ThreadScheduler/LateJobPolicy``. A cancelled task waits like any other.
  ///
  /// - Parameters:
  ///   - policy: whether outstanding actions run. Jobs of tasks run in any case.
  ///   - isolation: the caller's isolation, in which this function runs.
  public func stopAndJoin(
    _ policy: Schedulers.StopPolicy = .runOutstanding, isolation: isolated (any Actor)? = #isolation
  ) async {
    stop(policy)
    // In a fork child the thread does not exist: the wait would never end, and the join stops the process with a
    // message.
    if !thread.isOrphaned { await thread.end.wait(isolation: isolation) }
    joinBlocking()  // returns soon: the thread resumes this task as its final step
  }

  /// Stops the thread, and suspends the task until it has ended, until `deadline` at the latest. After a timeout the
  /// stop continues.
  ///
  /// - Parameters:
  ///   - policy: how to treat actions that have not started.
  ///   - deadline: the end of the wait.
  ///   - clock: the clock of `deadline`.
  ///   - isolation: the caller's isolation, in which this function runs.
  /// - Throws: ``SchedulerError/timeout`` at the deadline; `CancellationError` if the task is cancelled first.
  public func stopAndJoin<C: Clock>(
    _ policy: Schedulers.StopPolicy = .runOutstanding, deadline: C.Instant, clock: C = ContinuousClock(),
    isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try await awaitEnd(AnyDeadline(deadline, clock), isolation: isolation) { await self.stopAndJoin(policy) }
  }

  /// Stops and waits as ``stopAndJoin(_:deadline:clock:isolation:)`` does, without a clock; inside `withVirtualTime` on
  /// that time.
  ///
  /// - Parameters:
  ///   - policy: how to treat actions that have not started.
  ///   - deadline: the end of the wait.
  ///   - isolation: the caller's isolation, in which this function runs.
  /// - Throws: what ``stopAndJoin(_:deadline:clock:isolation:)`` throws.
  public func stopAndJoin(
    _ policy: Schedulers.StopPolicy = .runOutstanding, deadline: Deadline,
    isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try await stopAndJoin(policy, deadline: deadline, clock: DeadlineClock(), isolation: isolation)
  }

  /// Makes a value on the thread, and confines it to the thread: see ``ThreadScheduler/Confined``.
  ///
  /// - Parameter make: makes the value, as an action of this scheduler, after the actions that were scheduled earlier.
  ///   If it throws, each use throws that error. Its captures need not be `Sendable`, because they are transferred to
  ///   the thread.
  /// - Returns: a handle for the value. The call does not wait until the value is made.
  public func confine<Value>(_ make: sending @escaping () throws -> Value) -> ThreadScheduler.Confined<Value> {
    ThreadScheduler.Confined(to: self, consume make)
  }
}
