extension VirtualTimeScheduler {
  /// Suspends the task until the clock has come to `deadline`; does not where it is there already.
  ///
  /// The thread that moves the clock resumes the task, in its turn among the actions; the task then goes on where it belongs, on
  /// its actor or executor. To move on only when it sleeps again, wait for ``awaitSleepers(count:isolation:)``.
  ///
  /// - Throws: `CancellationError`, at once, when the task is cancelled; it is not asleep on the scheduler any more then.
  public func sleep(
    until deadline: Instant, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try Task.checkCancellation()
    guard virtualTime < deadline else { return }
    try await asleep(isolation: isolation, isDue: { virtualTime >= deadline }) { wake in
      schedule(at: deadline, wake)
    }
  }

  /// Cancels all sleeps, and those that are still to come: for one whose clock will not move any more.
  package func endSleeps() { sleepers.end() }

  /// Suspends the task for `interval` of virtual time: see ``sleep(until:isolation:)``. Not positive, it does not.
  public func sleep(
    for interval: Duration, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try await sleep(until: timeline.time(after: interval))
  }

  /// Suspends the calling task until at least `count` tasks are asleep on this scheduler: then the clock can be moved, and each of
  /// them will see it.
  ///
  /// Returns true, or false when the calling task was cancelled before it came to that. Does not poll.
  ///
  /// ```swift
  /// let task = Task { try await scheduler.sleep(for: .seconds(10)) }
  /// await scheduler.awaitSleepers(count: 1)
  /// scheduler.advance(by: .seconds(10))
  /// try await task.value
  /// ```
  @discardableResult
  public func awaitSleepers(count: Int = 1, isolation: isolated (any Actor)? = #isolation) async -> Bool {
    let resumption = Resumption<Bool>()
    let outcome = try? await withTaskCancellationHandler {
      try await resumption.outcome(isolation: isolation) { sleepers.watch(resumption, until: count) }
    } onCancel: {
      resumption.finish(.success(false))
      sleepers.unwatch(resumption)
    }
    return outcome ?? false
  }
}
