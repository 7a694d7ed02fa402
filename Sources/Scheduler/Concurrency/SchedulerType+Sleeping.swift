extension SchedulerType {
  /// Suspends the task until an action of `instant` runs.
  func suspendTask(until instant: MonotonicTime, tolerance: Duration, isolation: isolated (any Actor)?) async throws {
    try Task.checkCancellation()
    guard now < instant else { return }
    if let target = self as? SchedulerTarget, target.core.timeline == nil {
      return try await awaiting(isolation: isolation) { action in
        schedule(.at(instant, tolerance: tolerance)) { action.run {} }
      }
    }
    try await asleep(isolation: isolation, isDue: { now >= instant }) { wake in
      schedule(.at(instant, tolerance: tolerance), wake)
    }
  }

  /// Suspends the task until what `submit` schedules has run, and has it counted as asleep where that is in virtual time.
  func asleep(
    isolation: isolated (any Actor)?, isDue: () -> Bool, _ submit: (@escaping @Sendable () -> Void) -> any Disposable
  ) async throws {
    let resumption = Resumption<Void>(), waking = SingleAssignmentDisposable()
    let sleeper = Sleeper {
      let isFirst = resumption.claim()
      waking.dispose()
      if isFirst { resumption.finish(.failure(CancellationError())) }
    }
    try await withTaskCancellationHandler {
      // Names the actor, because a closure that does not is called outside of it: there, tasks fall asleep in any order.
      try await resumption.outcome(isolation: isolation) {
        let waker = Waker(sleeper, resumption)
        waking.setDisposable(sleeper.noted { withoutRefusalLine { submit { waker.wake() } } })
        sleeper.begin()
        // Another thread may have moved the clock past the instant before the task counted as asleep.
        guard isDue(), resumption.claim() else { return }
        waking.dispose()
        sleeper.wake()
        resumption.finish(.success(()))
      }
    } onCancel: {
      sleeper.cancel()
    }
  }

  /// Suspends the calling task until `instant`, as this scheduler counts time: see ``sleep(for:tolerance:isolation:)``.
  ///
  /// - Parameters:
  ///   - instant: when to wake; one that has passed does not suspend.
  ///   - tolerance: up to how much later.
  ///   - isolation: the caller's, which it keeps.
  /// - Throws: `CancellationError` when the task is cancelled; ``SchedulerError/stopped`` when the scheduler was stopped, or is meanwhile.
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
  public func sleep(
    for duration: Duration, tolerance: Duration = .zero, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try await suspendTask(until: now.advanced(by: max(.zero, duration)), tolerance: tolerance, isolation: isolation)
  }

  /// A clock of Swift's that shows this scheduler's time, and whose sleeps are the scheduler's: for code that takes a `Clock`.
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

/// Wakes a task that is asleep, once. Its end tells of a drop.
private final class Waker: Sendable {
  private let sleeper: Sleeper
  private let resumption: Resumption<Void>

  init(_ sleeper: Sleeper, _ resumption: Resumption<Void>) {
    self.sleeper = sleeper
    self.resumption = resumption
  }

  deinit { end(.failure(SchedulerError.stopped)) }

  func wake() { end(.success(())) }

  private func end(_ outcome: Result<Void, any Error>) {
    guard resumption.claim() else { return }
    sleeper.wake()
    resumption.finish(outcome)
  }
}
