/// Runs work at a given time. These guarantees extend those of ``ImmediateSchedulerType``.
///
/// 6. Nothing runs early. Time is that of the monotonic clock, which ignores changes of the wall clock, unless you give
///    an instant of another clock.
/// 7. Work for the same instant runs in the order of submission.
/// 8. A zero or negative delay is a plain submission. Work whose delay exceeds the range of the clock never runs.
/// 9. A tolerance lets work run later by up to that much, so that one wakeup serves several timers. A scheduler may
///    ignore it; virtual time does.
///
/// To conform, forward each requirement to another scheduler, or call ``ActionTiming/schedule(on:_:by:)`` with your own
/// timer.
public protocol SchedulerType: ImmediateSchedulerType {
  /// The present instant of this scheduler's time.
  var now: MonotonicTime { get }

  /// Schedules `action` to run once or repeatedly.
  ///
  /// ```swift
  /// scheduler.schedule(.every(.seconds(5), tolerance: .seconds(1))) { poll() }
  /// ```
  ///
  /// - Parameters:
  ///   - timing: when the action runs.
  ///   - action: the work to run. It is released, with its captures, when it has run for the last time, is disposed, or
  ///     is dropped.
  @discardableResult
  func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable
}

extension SchedulerType {
  /// Schedules `action` for `delay` from now, as ``ActionTiming/after(_:tolerance:)`` does.
  ///
  /// - Parameters:
  ///   - delay: the time from now. Zero or less is a plain submission. With more than the clock can hold, the action
  ///     never runs.
  ///   - action: the work to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  @discardableResult
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    schedule(.after(delay), action)
  }
}
