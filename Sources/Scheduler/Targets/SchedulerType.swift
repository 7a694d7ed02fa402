/// Runs work at a given time, besides what ``ImmediateSchedulerType`` promises.
///
/// 6. Nothing runs early. Time is the monotonic clock's: it does not jump when the wall clock is set.
/// 7. Work for the same instant runs in the order of its submission.
/// 8. A delay that is zero or negative is a plain submission; one beyond the end of time never comes.
public protocol SchedulerType: ImmediateSchedulerType {
  /// The present instant, as this scheduler counts time.
  var now: MonotonicTime { get }

  /// Schedules `action` for `delay` from now; otherwise as ``ImmediateSchedulerType/schedule(_:action:)``.
  @discardableResult
  func schedule<State: Sendable>(
    _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable

  /// Schedules `action` for `delay` from now.
  @discardableResult
  func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable

  /// Schedules `action` for `instant` on the monotonic clock, at once where that has passed.
  @discardableResult
  func schedule(at instant: MonotonicTime, _ action: @escaping @Sendable () -> Void) -> any Disposable

  /// Schedules `action` again and again, as `timing` says, until it is disposed. Ticks never overlap.
  @discardableResult
  func schedulePeriodic(_ timing: PeriodicTiming, action: @escaping @Sendable () -> Void) -> any Disposable
}

extension SchedulerType {
  public var now: MonotonicTime { .now }

  @discardableResult
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    schedule((), after: delay) { _ in
      action()
      return Disposables.create()
    }
  }

  /// By the delay from now, so that equal instants may come to differ. A scheduler with timers of its own is exact.
  // Disfavoured, so that one which is, too, comes before it: see VirtualTimeScheduler.
  @_disfavoredOverload
  @discardableResult
  public func schedule(at instant: MonotonicTime, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    schedule(after: max(.zero, now.duration(to: instant)), action)
  }

  /// RxSwift's spelling of ``schedule(_:after:action:)``.
  @discardableResult
  public func scheduleRelative<State: Sendable>(
    _ state: State, dueTime: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable {
    if let unimplemented { return unimplemented.refuse("scheduleRelative(_:dueTime:action:), after \(dueTime),") }
    return schedule(state, after: dueTime, action: action)
  }
}
