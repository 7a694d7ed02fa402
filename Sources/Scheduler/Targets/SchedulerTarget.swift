internal import CScheduler

/// The base of the schedulers that run work on a target of their own: delayed and periodic actions, and use as the target of a
/// ``SerialScheduler``.
///
/// ``ThreadScheduler``, ``SerialScheduler``, ``ConcurrentScheduler``, ``MainScheduler``, ``VirtualTimeScheduler`` and ``CustomScheduler``
/// are all there are; with the last of them anything that takes a closure becomes one.
public class SchedulerTarget: SchedulerType, @unchecked Sendable {
  // Unchecked, because a class that has subclasses cannot be checked; what all of them store is constant and Sendable.
  /// What the actions are submitted to.
  let core: TargetCore
  /// The current-scheduler tag, where several schedulers share a core.
  let tag: TargetCore?

  /// Makes the scheduler that is current in its actions.
  init(core: TargetCore, tag: TargetCore? = nil) {
    self.core = core
    self.tag = tag
    (tag ?? core).publish(self)
  }

  public var now: MonotonicTime { core.timeline?.now ?? .now }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable { core.submit(.disposing { action(state) }, inside: tag) }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Cancelable {
    core.submit(action, inside: tag).action
  }

  @discardableResult
  public final func schedule<State: Sendable>(
    _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable { submit(.disposing { action(state) }, after: delay) }

  @discardableResult
  public final func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Cancelable {
    submit(.plain(action), after: delay)
  }

  @discardableResult
  public final func schedule(
    after delay: Duration, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable { submit(.plain(action), after: delay, tolerance: tolerance) }

  @discardableResult
  public func schedule(at instant: MonotonicTime, _ action: @escaping @Sendable () -> Void) -> any Cancelable {
    schedule(at: instant, tolerance: .zero, action)
  }

  @discardableResult
  public final func schedule(
    at instant: MonotonicTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    guard let timeline = core.timeline else {
      return submit(.plain(action), at: instant.nanoseconds, tolerance: tolerance)
    }
    return core.submit(.plain(action), at: timeline.instant(at: instant), inside: tag)
  }

  @discardableResult
  public final func schedule(
    at instant: WallTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    submit(.plain(action), at: instant.nanosecondsSince1970, on: CSCHED_CLOCK_WALL, tolerance: tolerance)
  }

  @discardableResult
  public final func schedule(
    at instant: BootTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    submit(.plain(action), at: instant.nanoseconds, on: CSCHED_CLOCK_BOOT, tolerance: tolerance)
  }

  @discardableResult
  public final func schedulePeriodic(
    _ timing: PeriodicTiming, action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    core.submit(timing, inside: tag, action)
  }

  private func submit(
    _ body: consuming ScheduledAction.Body, after delay: Duration, tolerance: Duration = .zero
  ) -> any Cancelable {
    guard let timeline = core.timeline else { return submit(body, at: delay.deadline, tolerance: tolerance) }
    return core.submit(body, at: timeline.instant(after: delay), inside: tag)
  }

  private func submit(
    _ body: consuming ScheduledAction.Body, at nanoseconds: UInt64, on clock: csched_clock = CSCHED_CLOCK_MONOTONIC,
    tolerance: Duration = .zero
  ) -> any Cancelable {
    core.submit(body, at: nanoseconds, on: clock, tolerance: tolerance, inside: tag)
  }
}
