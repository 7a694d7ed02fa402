extension VirtualTimeScheduler {
  /// Suspends the task until the clock reaches `deadline`. Returns at once if it has already reached `deadline`.
  ///
  /// The thread that moves the clock resumes the task, in its order among the actions. The task then continues on its
  /// actor or executor. If it is going to sleep again, call ``awaitSleepers(count:isolation:)`` before you move the
  /// clock again.
  ///
  /// - Throws: `CancellationError`, at once, if the task is cancelled. The task then no longer counts as a sleeper.
  public func sleep(
    until deadline: Instant, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try Task.checkCancellation()
    guard virtualTime < deadline else { return }
    // Suspends the task until `wake` has run as an action at `deadline`. `isDue`: another thread may move the clock
    // past `deadline` meanwhile.
    try await asleep(isolation: isolation, isDue: { virtualTime >= deadline }) { wake in
      schedule(at: deadline, wake)
    }
  }

  /// Cancels all present and future sleeps on this scheduler. Called when its clock will not move again.
  package func endSleeps() { sleepers.end() }

  /// Suspends the task for `interval` of virtual time: see ``sleep(until:isolation:)``. Returns at once if the interval
  /// is not positive.
  public func sleep(
    for interval: Duration, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try await sleep(until: timeline.time(after: interval))
  }

  /// Suspends the calling task until at least `count` tasks sleep on this scheduler. Call it before you move the clock
  /// past their deadlines.
  ///
  /// Returns true, or false if the calling task was cancelled first. Does not poll.
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
      resumption.finish(.success(false))  // before `unwatch`: from now on `watch` does not add this resumption
      sleepers.unwatch(resumption)
    }
    return outcome ?? false  // never nil: each outcome is a success
  }
}
