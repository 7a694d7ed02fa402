extension SchedulerType {
  public func suspendTask(
    until instant: MonotonicTime, tolerance: Duration, isolation: isolated (any Actor)?
  ) async throws { try await awaitAction(at: instant, tolerance: tolerance, isolation: isolation) }

  /// Suspends the task until an action of `instant` runs.
  func awaitAction(at instant: MonotonicTime, tolerance: Duration, isolation: isolated (any Actor)?) async throws {
    try Task.checkCancellation()
    guard now < instant else { return }
    try await awaiting(isolation: isolation) { action in
      schedule(at: instant, tolerance: tolerance) { action.run {} }
    }
  }

  /// Suspends the calling task until `instant`, as this scheduler counts time: see ``sleep(for:tolerance:isolation:)``.
  ///
  /// - Parameters:
  ///   - instant: when to wake; one that has passed does not suspend.
  ///   - tolerance: up to how much later.
  ///   - isolation: the caller's, which it keeps.
  /// - Throws: `CancellationError` when the task is cancelled; ``SchedulerError/stopped`` when the scheduler was stopped, or is meanwhile.
  @_disfavoredOverload
  public func sleep(
    until instant: MonotonicTime, tolerance: Duration = .zero, isolation: isolated (any Actor)? = #isolation
  ) async throws { try await suspendTask(until: instant, tolerance: tolerance, isolation: isolation) }

  /// Suspends the calling task for `duration`, as this scheduler counts time.
  ///
  /// ```swift
  /// try await scheduler.sleep(for: .seconds(1), tolerance: .milliseconds(100))
  /// ```
  ///
  /// The scheduler resumes the task, in its turn among the actions; the task goes on where it belongs, on its actor or executor. Never early.
  ///
  /// - Parameters:
  ///   - duration: how long; not positive, it does not suspend.
  ///   - tolerance: up to how much longer.
  ///   - isolation: the caller's, which it keeps.
  /// - Throws: `CancellationError` when the task is cancelled; ``SchedulerError/stopped`` when the scheduler was stopped, or is meanwhile.
  @_disfavoredOverload
  public func sleep(
    for duration: Duration, tolerance: Duration = .zero, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try await suspendTask(until: now.advanced(by: max(.zero, duration)), tolerance: tolerance, isolation: isolation)
  }

  /// A clock of Swift's that shows this scheduler's time, and whose sleeps are the scheduler's: for code that takes a `Clock`.
  @_disfavoredOverload
  public var clock: SchedulerClock { SchedulerClock(scheduler: self) }
}

/// A `Clock` that shows the time of a scheduler: see ``SchedulerType/clock``.
///
/// ```swift
/// try await Task.sleep(for: .seconds(1), clock: scheduler.clock)
/// ```
public struct SchedulerClock: Clock {
  /// The scheduler whose time it shows.
  public let scheduler: any SchedulerType

  /// The scheduler's present.
  public var now: MonotonicTime { scheduler.now }

  /// A nanosecond.
  public var minimumResolution: Duration { .nanoseconds(1) }

  /// Suspends the task until `deadline`: see ``SchedulerType/sleep(until:tolerance:isolation:)``.
  ///
  /// - Parameters:
  ///   - deadline: when to wake.
  ///   - tolerance: up to how much later; `nil` is none.
  /// - Throws: `CancellationError` when the task is cancelled; ``SchedulerError/stopped`` when the scheduler was stopped, or is meanwhile.
  public func sleep(until deadline: MonotonicTime, tolerance: Duration? = nil) async throws {
    try await scheduler.suspendTask(until: deadline, tolerance: tolerance ?? .zero, isolation: nil)
  }
}
