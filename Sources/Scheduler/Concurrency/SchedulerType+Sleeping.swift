extension SchedulerType {
  /// Suspends the task until an action that is due at `instant` has run. Returns at once if `instant` has passed.
  func suspendTask(until instant: MonotonicTime, tolerance: Duration, isolation: isolated (any Actor)?) async throws {
    try Task.checkCancellation()
    guard now < instant else { return }
    if let target = self as? SchedulerTarget, target.core.timeline == nil {  // not in virtual time
      return try await awaiting(isolation: isolation) { action in
        schedule(.at(instant, tolerance: tolerance)) { action.run {} }  // resumes the task
      }
    }
    // The scheduler is in virtual time, or another kind that may forward to one: the task must count as asleep there.
    try await asleep(isolation: isolation, isDue: { now >= instant }) { wake in
      schedule(.at(instant, tolerance: tolerance), wake)
    }
  }

  /// Suspends the task until an action has run that `submit` schedules. The action must call the function that `submit`
  /// receives. Until this call, the task counts as asleep in virtual time. `isDue`: whether the clock has reached the
  /// action's instant.
  func asleep(
    isolation: isolated (any Actor)?, isDue: () -> Bool, _ submit: (@escaping @Sendable () -> Void) -> any Disposable
  ) async throws {
    let resumption = Resumption<Void>(), waking = SingleAssignmentDisposable()  // waking: cancels the waking action
    let sleeper = Sleeper {  // called when the task is cancelled, or sleeping in the virtual time ends
      let isFirst = resumption.claim()
      waking.dispose()
      if isFirst { resumption.finish(.failure(CancellationError())) }
    }
    try await withTaskCancellationHandler {
      var members = ListedMembers()
      do {
        // This closure captures `isolation`, so it runs on that actor. Otherwise the order in which the actor's tasks
        // fall asleep would vary.
        try await resumption.outcome(isolation: isolation) {
          let waker = Waker(sleeper, resumption), submitted: any Disposable
          // no refusal line: a refusal drops `waker`, and its deinit reports the error to the task
          (members, submitted) = ListedMembers.noting {
            sleeper.submittingWaker { withoutRefusalLine { submit { waker.wake() } } }
          }
          waking.setDisposable(submitted)
          // Another thread may have moved the clock past the instant before the submission. Then the task does not
          // sleep. So only the action wakes a task that counts as asleep: a test that waits for the sleeper, and then
          // calls `step`, runs this action.
          guard isDue() else { return sleeper.begin() }
          guard resumption.claim() else { return }  // the action has run, or the task was cancelled
          waking.dispose()
          resumption.finish(.success(()))
        }
      } catch is DroppedAction { throw DroppedAction.error(of: members) }
    } onCancel: {
      sleeper.cancel()
    }
  }

  /// Suspends the calling task until `instant`, by this scheduler's clock: see ``sleep(for:tolerance:isolation:)``.
  ///
  /// - Parameters:
  ///   - instant: when to wake. If it has passed, the task is not suspended.
  ///   - tolerance: how much later the task may wake.
  ///   - isolation: the caller's isolation, in which this function runs.
  /// - Throws: `CancellationError` if the task is cancelled; ``SchedulerError/stopped`` if the scheduler has been
  ///   stopped, or is stopped meanwhile.
  public func sleep(
    until instant: MonotonicTime, tolerance: Duration = .zero, isolation: isolated (any Actor)? = #isolation
  ) async throws { try await suspendTask(until: instant, tolerance: tolerance, isolation: isolation) }

  /// Suspends the calling task for `duration`, by this scheduler's clock.
  ///
  /// ```swift
  /// try await scheduler.sleep(for: .seconds(1), tolerance: .milliseconds(100))
  /// ```
  ///
  /// The scheduler resumes the task in order with its actions, and never early. The task continues on its own actor or
  /// executor.
  ///
  /// - Parameters:
  ///   - duration: how long to sleep. If it is zero or negative, the task is not suspended.
  ///   - tolerance: how much longer the task may sleep.
  ///   - isolation: the caller's isolation, in which this function runs.
  /// - Throws: `CancellationError` if the task is cancelled; ``SchedulerError/stopped`` if the scheduler has been
  ///   stopped, or is stopped meanwhile.
  public func sleep(
    for duration: Duration, tolerance: Duration = .zero, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try await suspendTask(until: now.advanced(by: max(.zero, duration)), tolerance: tolerance, isolation: isolation)
  }

  /// A `Clock` with this scheduler's time and sleeps, for code that takes a clock.
  public var clock: SchedulerClock { SchedulerClock(scheduler: self) }
}

/// A `Clock` with the time of a scheduler: see ``SchedulerType/clock``.
///
/// ```swift
/// try await Task.sleep(for: .seconds(1), clock: scheduler.clock)
/// ```
public struct SchedulerClock: Clock {
  /// The scheduler whose time it reads.
  public let scheduler: any SchedulerType

  /// The scheduler's current time.
  public var now: MonotonicTime { scheduler.now }

  /// One nanosecond.
  public var minimumResolution: Duration { .nanoseconds(1) }

  /// Suspends the task until `deadline`: see ``SchedulerType/sleep(until:tolerance:isolation:)``.
  ///
  /// - Parameters:
  ///   - deadline: when to wake.
  ///   - tolerance: how much later the task may wake; `nil` means zero.
  /// - Throws: `CancellationError` if the task is cancelled; ``SchedulerError/stopped`` if the scheduler has been
  ///   stopped, or is stopped meanwhile.
  public func sleep(until deadline: MonotonicTime, tolerance: Duration? = nil) async throws {
    try await scheduler.suspendTask(until: deadline, tolerance: tolerance ?? .zero, isolation: nil)
  }
}

/// Wakes a sleeping task. Only the waking action retains this object, so a `deinit` before `wake` means that the action
/// was dropped.
private final class Waker: Sendable {
  private let sleeper: Sleeper
  private let resumption: Resumption<Void>

  init(_ sleeper: Sleeper, _ resumption: Resumption<Void>) {
    self.sleeper = sleeper
    self.resumption = resumption
  }

  deinit { finish(.failure(DroppedAction())) }

  func wake() { finish(.success(())) }

  /// Ends the sleep with `outcome`. Does nothing if the task has been woken or cancelled before.
  private func finish(_ outcome: Result<Void, any Error>) {
    guard resumption.claim() else { return }
    sleeper.wake()  // first: the resumed task must not count as asleep
    resumption.finish(outcome)
  }
}
