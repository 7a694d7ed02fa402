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
  ) -> any Disposable { core.submit(.disposing { action(state) }, inside: tag) }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.submit(action, inside: tag).action
  }

  @discardableResult
  public final func schedule<State: Sendable>(
    _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { submit(.disposing { action(state) }, after: delay) }

  @discardableResult
  public final func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    submit(.plain(action), after: delay)
  }

  /// Schedules `action` for `delay` from now, or up to `leeway` later, so that fewer wakeups serve more timers.
  @discardableResult
  public final func schedule(
    after delay: Duration, leeway: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Disposable { submit(.plain(action), after: delay, leeway: leeway) }

  @discardableResult
  public func schedule(at instant: MonotonicTime, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    guard let timeline = core.timeline else { return submit(.plain(action), at: instant.nanoseconds) }
    return core.submit(.plain(action), at: timeline.instant(at: instant), inside: tag)
  }

  /// Schedules `action` for `instant` on the wall clock, and follows each setting of that: set back, it waits longer; set past the
  /// instant, it runs at once. What has passed already is a plain submission. In virtual time, too, the instant is the wall clock's:
  /// from then on it is due there.
  ///
  /// This and ``schedule(at:leeway:_:)-(BootTime,_,_)`` are for schedulers with a target. Where the system has no thread or
  /// descriptor to keep these clocks with, the action is dropped, and the disposable is disposed. A scheduler that is stopped keeps the
  /// action until its instant, and then drops it.
  @discardableResult
  public final func schedule(
    at instant: WallTime, leeway: Duration = .zero, _ action: @escaping @Sendable () -> Void
  ) -> any Disposable {
    submit(.plain(action), at: instant.nanosecondsSince1970, on: CSCHED_CLOCK_WALL, leeway: leeway)
  }

  /// Schedules `action` for `instant` on the boot clock, which counts the system's sleep, or up to `leeway` later. Otherwise as for a
  /// ``WallTime``.
  @discardableResult
  public final func schedule(
    at instant: BootTime, leeway: Duration = .zero, _ action: @escaping @Sendable () -> Void
  ) -> any Disposable {
    submit(.plain(action), at: instant.nanoseconds, on: CSCHED_CLOCK_BOOT, leeway: leeway)
  }

  @discardableResult
  public final func schedulePeriodic(
    _ timing: PeriodicTiming, action: @escaping @Sendable () -> Void
  ) -> any Disposable {
    core.submit(timing, inside: tag, action)
  }

  private func submit(
    _ body: consuming ScheduledAction.Body, after delay: Duration, leeway: Duration = .zero
  ) -> any Disposable {
    guard let timeline = core.timeline else { return submit(body, at: delay.deadline, leeway: leeway) }
    return core.submit(body, at: timeline.instant(after: delay), inside: tag)
  }

  private func submit(
    _ body: consuming ScheduledAction.Body, at nanoseconds: UInt64, on clock: csched_clock = CSCHED_CLOCK_MONOTONIC,
    leeway: Duration = .zero
  ) -> any Disposable {
    core.submit(body, at: nanoseconds, on: clock, leeway: leeway, inside: tag)
  }
}
