internal import CScheduler

extension ActionTiming {
  /// Schedules `action` at the times that this value describes, on a scheduler that has only a timer. Call it from
  /// ``SchedulerType/schedule(_:_:)``.
  ///
  /// ```swift
  /// func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
  ///   timing.schedule(on: self, action) { delay, _, action in timers.start(delay, action) }
  /// }
  /// ```
  ///
  /// A periodic action is a chain of delays. A thread of this module waits for instants of the boot and the wall clock,
  /// and then submits the action.
  ///
  /// - Parameters:
  ///   - scheduler: the scheduler that owns the timer.
  ///   - action: the work to run.
  ///   - submit: starts the timer. Its arguments are the delay, which may be zero or negative, the tolerance, and the
  ///     work to run.
  public func schedule(
    on scheduler: some SchedulerType, _ action: @escaping @Sendable () -> Void,
    by submit: (_ delay: Duration, _ tolerance: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable
  ) -> any Disposable {
    if repetition != nil { return scheduleTicks(on: scheduler, action) }
    switch start {
    case .after(let delay): return submit(delay, tolerance, action)
    case .at(let instant): return submit(max(.zero, scheduler.now.duration(to: instant)), tolerance, action)
    case .continuous(let nanoseconds):
      return wait(until: nanoseconds, on: CSCHED_CLOCK_BOOT, then: action, on: scheduler)
    case .wall(let instant):
      return wait(until: instant.nanosecondsSince1970, on: CSCHED_CLOCK_WALL, then: action, on: scheduler)
    }
  }

  /// Schedules a periodic action as a chain of delayed ones: `scheduler` gets each tick with `.after`, when the tick
  /// before has ended.
  package func scheduleTicks(
    on scheduler: some SchedulerType, _ action: @escaping @Sendable () -> Void
  ) -> any Disposable { PeriodicTicks.started(self, on: scheduler, action) }

  /// Makes this module's thread for the boot and the wall clock call `scheduler.schedule(action)` at an instant of
  /// `clock`. Does not block.
  private func wait<Scheduler: SchedulerType>(
    until nanoseconds: UInt64, on clock: csched_clock, then action: @escaping @Sendable () -> Void,
    on scheduler: Scheduler
  ) -> any Disposable {
    CustomCore(name: "\(Scheduler.self)") { work in scheduler.schedule(work) }
      .submit(action, at: nanoseconds, on: clock, tolerance: tolerance, inside: nil)
  }
}
