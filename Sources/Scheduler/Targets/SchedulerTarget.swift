internal import CScheduler

/// The base of the schedulers that run work on a target of their own: delayed and periodic actions, and use as the target of a
/// ``SerialScheduler``.
///
/// ``ThreadScheduler``, ``SerialScheduler``, ``ConcurrentScheduler``, ``BarrierScheduler``, ``MainScheduler``, ``VirtualTimeScheduler`` and
/// ``CustomScheduler`` are all there are; with the last of them anything that takes a closure becomes one.
public class SchedulerTarget: SchedulerType, @unchecked Sendable {
  // Unchecked, because a class that has subclasses cannot be checked; what all of them store is constant and Sendable.
  /// What the actions are submitted to.
  let core: TargetCore
  /// The current-scheduler tag, where several schedulers share a core.
  let tag: TargetCore?

  /// What it is to actors, once one has asked: written under the core's lock. A job that came through it finds it without.
  @exclusivity(unchecked) private(set) final var executorOfActors: ActorExecutor?

  /// What it is to actors.
  final var actorExecutor: ActorExecutor {
    core.lock.withLock {
      if let executorOfActors { return executorOfActors }
      let made = ActorExecutor(self)
      executorOfActors = made
      return made
    }
  }

  /// What its jobs of tasks are to the core.
  final let jobTypes = JobTypes()

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
  ) -> any Cancelable {
    let returning = ReturningAction()
    core.submit({ returning.settle(action(state)) }, inside: tag, of: returning)
    return returning
  }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Cancelable {
    core.submit(action, inside: tag).task
  }

  @discardableResult
  public final func schedule<State: Sendable>(
    _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable {
    let returning = ReturningAction()
    submit({ returning.settle(action(state)) }, after: delay, of: returning)
    return returning
  }

  @discardableResult
  public final func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void)
    -> any Cancelable
  {
    submit(action, after: delay)
  }

  @discardableResult
  public final func schedule(
    after delay: Duration, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable { submit(action, after: delay, tolerance: tolerance) }

  @discardableResult
  public func schedule(at instant: MonotonicTime, _ action: @escaping @Sendable () -> Void) -> any Cancelable {
    schedule(at: instant, tolerance: .zero, action)
  }

  @discardableResult
  public final func schedule(
    at instant: MonotonicTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    guard let timeline = core.timeline else {
      return core.submit(action, at: instant.nanoseconds, tolerance: tolerance, inside: tag)
    }
    return core.submit(action, at: timeline.instant(at: instant), inside: tag)
  }

  @discardableResult
  public final func schedule(
    at instant: WallTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    core.submit(action, at: instant.nanosecondsSince1970, on: CSCHED_CLOCK_WALL, tolerance: tolerance, inside: tag)
  }

  @discardableResult
  public final func schedule(
    at instant: BootTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    core.submit(action, at: instant.nanoseconds, on: CSCHED_CLOCK_BOOT, tolerance: tolerance, inside: tag)
  }

  @discardableResult
  public final func schedulePeriodic(
    _ timing: PeriodicTiming, action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    core.submit(timing, inside: tag, action)
  }

  @discardableResult
  private func submit(
    _ work: @escaping @Sendable () -> Void, after delay: Duration, tolerance: Duration = .zero,
    of action: ReturningAction? = nil
  ) -> ClosureTask {
    guard let timeline = core.timeline else {
      return core.submit(work, at: delay.deadline, tolerance: tolerance, inside: tag, of: action)
    }
    return core.submit(work, at: timeline.instant(after: delay), inside: tag, of: action)
  }
}
