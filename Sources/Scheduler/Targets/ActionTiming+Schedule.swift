internal import CScheduler

extension ActionTiming {
  /// Schedules `action` as this timing says, on a scheduler that has nothing but a timer: for its ``SchedulerType/schedule(_:_:)``.
  ///
  /// ```swift
  /// func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
  ///   timing.schedule(on: self, action) { delay, _, action in timers.start(delay, action) }
  /// }
  /// ```
  ///
  /// Periods become one delay after the other. Instants of other clocks are waited for elsewhere, and then submitted.
  ///
  /// - Parameters:
  ///   - scheduler: whose timer it is.
  ///   - action: what to run.
  ///   - submit: starts the timer. It is given the delay, which may be zero or negative; the tolerance; and what to run.
  public func schedule(
    on scheduler: some SchedulerType, _ action: @escaping @Sendable () -> Void,
    by submit: (_ delay: Duration, _ tolerance: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable
  ) -> any Disposable {
    if repetition != nil { return PeriodicTicks.started(self, on: scheduler, action) }
    switch start {
    case .after(let delay): return submit(delay, tolerance, action)
    case .at(let instant): return submit(max(.zero, scheduler.now.duration(to: instant)), tolerance, action)
    case .continuous(let nanoseconds):
      return wait(until: nanoseconds, on: CSCHED_CLOCK_BOOT, then: action, on: scheduler)
    case .wall(let instant):
      return wait(until: instant.nanosecondsSince1970, on: CSCHED_CLOCK_WALL, then: action, on: scheduler)
    }
  }

  /// Has the clocks' thread wait for the instant, and then submit the action.
  private func wait<Scheduler: SchedulerType>(
    until nanoseconds: UInt64, on clock: csched_clock, then action: @escaping @Sendable () -> Void,
    on scheduler: Scheduler
  ) -> any Disposable {
    CustomCore(name: "\(Scheduler.self)") { work in scheduler.schedule(work) }
      .submit(action, at: nanoseconds, on: clock, tolerance: tolerance, inside: nil)
  }
}
