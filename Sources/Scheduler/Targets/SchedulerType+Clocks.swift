internal import CScheduler

// For schedulers without a target of their own: the instant is waited for by the clocks' thread, and then the action is handed on.
extension SchedulerType {
  @discardableResult
  public func schedule(
    at instant: WallTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    waiting(until: instant.nanosecondsSince1970, on: CSCHED_CLOCK_WALL, tolerance, action)
  }

  @discardableResult
  public func schedule(
    at instant: BootTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    waiting(until: instant.nanoseconds, on: CSCHED_CLOCK_BOOT, tolerance, action)
  }

  private func waiting(
    until nanoseconds: UInt64, on clock: csched_clock, _ tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    CustomCore(name: "\(Self.self)") { work in schedule(work) }
      .submit(action, at: nanoseconds, on: clock, tolerance: tolerance, inside: nil)
  }
}
