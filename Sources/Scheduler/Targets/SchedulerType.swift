/// Runs work at a given time, besides what ``ImmediateSchedulerType`` promises.
///
/// 6. Nothing runs early. Time is the monotonic clock's, which does not jump when the wall clock is set, unless an instant of another clock
///    is asked for.
/// 7. Work for the same instant runs in the order of its submission.
/// 8. A delay that is zero or negative is a plain submission; one beyond the end of time never comes.
/// 9. A tolerance lets work run up to that much later, so that fewer wakeups serve more timers; never earlier. A scheduler may make no use of
///    it, and virtual time makes none.
///
/// To conform, ``now`` and ``schedule(_:after:action:)`` are enough. Who hands work on to another scheduler also forwards the methods with a
/// tolerance and `schedulePeriodic(_:action:)`, so that neither tolerance nor clock is lost; the rest is made of these.
public protocol SchedulerType: ImmediateSchedulerType {
  /// The present instant, as this scheduler counts time.
  var now: MonotonicTime { get }

  /// Schedules `action` for `delay` from now; otherwise as ``ImmediateSchedulerType/schedule(_:action:)``.
  ///
  /// - Parameters:
  ///   - state: what `action` is given.
  ///   - delay: how long from now. Zero or less is a plain submission; more than the clock can hold never comes.
  ///   - action: what to run. What it returns is disposed with the token, once it has run.
  @discardableResult
  func schedule<State: Sendable>(
    _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable

  /// Schedules `action` for `delay` from now.
  ///
  /// - Parameters:
  ///   - delay: how long from now. Zero or less is a plain submission; more than the clock can hold never comes.
  ///   - action: what to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  @discardableResult
  func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Cancelable

  /// Schedules `action` for `delay` from now, or up to `tolerance` later.
  ///
  /// - Parameters:
  ///   - delay: how long from now. Zero or less is a plain submission; more than the clock can hold never comes.
  ///   - tolerance: up to how much later it may run, so that one wake serves more timers.
  ///   - action: what to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  @discardableResult
  func schedule(
    after delay: Duration, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable

  /// Schedules `action` for `instant` on the monotonic clock, at once where that has passed.
  ///
  /// - Parameters:
  ///   - instant: when. One that has passed is a plain submission.
  ///   - action: what to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  @discardableResult
  func schedule(at instant: MonotonicTime, _ action: @escaping @Sendable () -> Void) -> any Cancelable

  /// Schedules `action` for `instant` on the monotonic clock, or up to `tolerance` later; at once where that has passed.
  ///
  /// - Parameters:
  ///   - instant: when. One that has passed is a plain submission.
  ///   - tolerance: up to how much later it may run, so that one wake serves more timers.
  ///   - action: what to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  @discardableResult
  func schedule(
    at instant: MonotonicTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable

  /// Schedules `action` for `instant` on the wall clock, or up to `tolerance` later, and follows each setting of that clock: set back, it
  /// waits longer; set past the instant, it runs at once. What has passed already is a plain submission. In virtual time, too, the instant
  /// is the wall clock's: from then on it is due there.
  ///
  /// Where the system has no thread or descriptor to keep these clocks with, the action is dropped. A scheduler that is stopped keeps the
  /// action until its instant, and then drops it.
  ///
  /// - Parameters:
  ///   - instant: when. One that has passed is a plain submission.
  ///   - tolerance: up to how much later it may run, so that one wake serves more timers.
  ///   - action: what to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  @discardableResult
  func schedule(
    at instant: WallTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable

  /// Schedules `action` for `instant` on the boot clock, which counts the system's sleep, or up to `tolerance` later. Otherwise as for a
  /// ``WallTime``.
  ///
  /// - Parameters:
  ///   - instant: when. One that has passed is a plain submission.
  ///   - tolerance: up to how much later it may run, so that one wake serves more timers.
  ///   - action: what to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  @discardableResult
  func schedule(
    at instant: BootTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable

  /// Schedules `action` again and again, as `timing` says, until it is disposed. Ticks never overlap. One that can be suspended is a
  /// ``PeriodicAction``.
  ///
  /// - Parameters:
  ///   - timing: when the ticks are due, and what becomes of late ones.
  ///   - action: what each tick runs. It is kept until the ticks are disposed or dropped.
  @discardableResult
  func schedulePeriodic(_ timing: PeriodicTiming, action: @escaping @Sendable () -> Void) -> any Cancelable
}

extension SchedulerType {
  public var now: MonotonicTime { .now }

  @discardableResult
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Cancelable {
    if let unimplemented { return unimplemented.refuse("schedule(after:_:), after \(delay),") }
    return schedule(after: delay, tolerance: .zero, action)
  }

  /// Exact: a scheduler with timers of its own makes use of the tolerance.
  ///
  /// - Parameters:
  ///   - delay: how long from now. Zero or less is a plain submission; more than the clock can hold never comes.
  ///   - tolerance: up to how much later it may run, so that one wake serves more timers.
  ///   - action: what to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  @discardableResult
  public func schedule(
    after delay: Duration, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    schedule((), after: delay) { _ in
      action()
      return Disposables.create()
    }
  }

  // Those of the other clocks are disfavoured, so that `.now` is monotonic.
  @discardableResult
  public func schedule(at instant: MonotonicTime, _ action: @escaping @Sendable () -> Void) -> any Cancelable {
    if let unimplemented { return unimplemented.refuse("schedule(at:_:), at \(instant.nanoseconds) ns,") }
    return schedule(at: instant, tolerance: .zero, action)
  }

  /// By the delay from now, so that equal instants may come to differ. A scheduler with timers of its own is exact.
  ///
  /// - Parameters:
  ///   - instant: when. One that has passed is a plain submission.
  ///   - tolerance: up to how much later it may run, so that one wake serves more timers.
  ///   - action: what to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  @discardableResult
  public func schedule(
    at instant: MonotonicTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    schedule(after: max(.zero, now.duration(to: instant)), tolerance: tolerance, action)
  }

  /// Schedules `action` for `instant` on the wall clock: see ``schedule(at:tolerance:_:)-(WallTime,_,_)``.
  ///
  /// - Parameters:
  ///   - instant: when. One that has passed is a plain submission.
  ///   - action: what to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  @_disfavoredOverload
  @discardableResult
  public func schedule(at instant: WallTime, _ action: @escaping @Sendable () -> Void) -> any Cancelable {
    if let unimplemented {
      return unimplemented.refuse("schedule(at:_:), at \(instant.nanosecondsSince1970) ns since 1970,")
    }
    return schedule(at: instant, tolerance: .zero, action)
  }

  /// Schedules `action` for `instant` on the boot clock: see ``schedule(at:tolerance:_:)-(BootTime,_,_)``.
  ///
  /// - Parameters:
  ///   - instant: when. One that has passed is a plain submission.
  ///   - action: what to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  @_disfavoredOverload
  @discardableResult
  public func schedule(at instant: BootTime, _ action: @escaping @Sendable () -> Void) -> any Cancelable {
    if let unimplemented {
      return unimplemented.refuse("schedule(at:_:), at \(instant.nanoseconds) ns since the start,")
    }
    return schedule(at: instant, tolerance: .zero, action)
  }
}
