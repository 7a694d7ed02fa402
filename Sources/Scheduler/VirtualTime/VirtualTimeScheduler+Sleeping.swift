extension VirtualTimeScheduler {
  /// Suspends the task until the clock has come to `deadline`; does not where it is there already.
  ///
  /// The thread that moves the clock resumes the task, in its turn among the actions; the task then goes on where it belongs, on
  /// its actor or executor. To move on only when it sleeps again, wait for ``awaitSleepers(count:isolation:)``.
  ///
  /// - Throws: `CancellationError`, at once, when the task is cancelled; it is not asleep on the scheduler any more then.
  public func sleep(
    until deadline: VirtualTime, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try Task.checkCancellation()
    guard converter.isEarlier(virtualTime, than: deadline) else { return }
    let resumption = Resumption<Void>(), waking = SingleAssignmentDisposable()
    let asleep = Sleeper(in: sleepers) {
      waking.dispose()
      resumption.finish(.failure(CancellationError()))
    }
    try await withTaskCancellationHandler {
      // Names the actor, because a closure that does not is called outside of it: there, tasks fall asleep in any order.
      try await withCheckedThrowingContinuation(isolation: isolation) { continuation in
        guard resumption.attach(continuation) else { return }
        waking.setDisposable(
          schedule(at: deadline) {
            asleep.wake()
            resumption.finish(.success(()))
          })
        asleep.begin()
        // The clock may have passed meanwhile, with nobody left to wake the task.
        guard !converter.isEarlier(virtualTime, than: deadline) else { return }
        waking.dispose()
        asleep.wake()
        resumption.finish(.success(()))
      }
    } onCancel: {
      asleep.cancel()
    }
  }

  /// Cancels all sleeps, and those that are still to come: for one whose clock will not move any more.
  package func endSleeps() { sleepers.end() }

  /// Suspends the task for `interval` of virtual time: see ``sleep(until:isolation:)``. Not positive, it does not.
  public func sleep(
    for interval: VirtualTimeInterval, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try await sleep(until: converter.offsetVirtualTime(virtualTime, offset: interval))
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
      try await withCheckedThrowingContinuation(isolation: isolation) { continuation in
        if resumption.attach(continuation) { sleepers.watch(resumption, until: count) }
      }
    } onCancel: {
      resumption.finish(.success(false))
      sleepers.unwatch(resumption)
    }
    return outcome ?? false
  }

  /// A clock of Swift's that shows this scheduler's time: for code that takes a `Clock`.
  public var clock: VirtualClock<Converter> { VirtualClock(scheduler: self) }
}
