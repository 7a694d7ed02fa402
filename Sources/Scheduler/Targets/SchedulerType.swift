/// Runs work at a given time, besides what ``ImmediateSchedulerType`` promises.
///
/// 6. Nothing runs early. Time is the monotonic clock's, which does not jump when the wall clock is set, unless an instant of another clock
///    is asked for.
/// 7. Work for the same instant runs in the order of its submission.
/// 8. A delay that is zero or negative is a plain submission; one beyond the end of time never comes.
/// 9. A tolerance lets work run up to that much later, so that fewer wakeups serve more timers; never earlier. A scheduler may make no use of
///    it, and virtual time makes none.
///
/// To conform, hand each requirement on to another scheduler, or call ``ActionTiming/schedule(on:_:by:)`` with a timer of your own.
public protocol SchedulerType: ImmediateSchedulerType {
  /// The present instant, as this scheduler counts time.
  var now: MonotonicTime { get }

  /// Schedules `action`, to run once or again and again.
  ///
  /// ```swift
  /// scheduler.schedule(.every(.seconds(5), tolerance: .seconds(1))) { poll() }
  /// ```
  ///
  /// - Parameters:
  ///   - timing: when it runs.
  ///   - action: what to run. It is released, with its captures, when it has run for the last time, is disposed, or is dropped.
  @discardableResult
  func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable
}

extension SchedulerType {
  /// Schedules `action` for `delay` from now: as with ``ActionTiming/after(_:tolerance:)``.
  ///
  /// - Parameters:
  ///   - delay: how long from now. Zero or less is a plain submission; more than the clock can hold never comes.
  ///   - action: what to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  @discardableResult
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    schedule(.after(delay), action)
  }
}
