/// What the schedulers of this module that have a place to run work share: delayed and periodic actions, and that a ``SerialScheduler``
/// can stand on them.
///
/// ``ThreadScheduler``, ``SerialScheduler``, ``ConcurrentScheduler``, ``MainScheduler`` and ``CustomScheduler`` are all there are; with
/// the last of them anything that takes a closure becomes one.
public class SchedulerTarget: SchedulerType, @unchecked Sendable {
  // Unchecked, because a class that has subclasses cannot be checked; what all of them store is constant and Sendable.
  /// What the actions are submitted to.
  let core: TargetCore
  /// What the actions are inside of besides, where several schedulers share a core.
  let place: TargetCore?

  /// Makes the scheduler that is current in its actions.
  init(core: TargetCore, place: TargetCore? = nil) {
    self.core = core
    self.place = place
    (place ?? core).face(self)
  }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { core.submit(.disposing { action(state) }, inside: place) }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.submit(action, inside: place).action
  }

  @discardableResult
  public final func schedule<State: Sendable>(
    _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { submit(.disposing { action(state) }, at: delay.deadline) }

  @discardableResult
  public final func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    submit(.plain(action), at: delay.deadline)
  }

  /// Schedules `action` for `delay` from now, or up to `leeway` later, so that fewer wakeups serve more timers.
  @discardableResult
  public final func schedule(
    after delay: Duration, leeway: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Disposable { submit(.plain(action), at: delay.deadline, leeway: leeway) }

  @discardableResult
  public final func schedule(at moment: MonotonicTime, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    submit(.plain(action), at: moment.nanoseconds)
  }

  @discardableResult
  public final func schedulePeriodic(
    _ timing: PeriodicTiming, action: @escaping @Sendable () -> Void
  ) -> any Disposable {
    core.submit(timing, inside: place, action)
  }

  private func submit(
    _ body: consuming ScheduledAction.Body, at nanoseconds: UInt64, leeway: Duration = .zero
  ) -> any Disposable {
    core.submit(body, at: nanoseconds, leeway: leeway, inside: place)
  }
}
