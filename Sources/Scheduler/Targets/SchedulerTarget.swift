internal import CScheduler

/// The base of the schedulers that run work on a target of their own: delayed and periodic actions, and use as the target of a
/// ``SerialScheduler``.
///
/// ``ThreadScheduler``, ``SerialScheduler``, ``ConcurrentScheduler``, ``MainScheduler``, ``VirtualTimeScheduler`` and
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
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.submit(action, inside: tag).task
  }

  @discardableResult
  public final func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.submit(action, timing, inside: tag)
  }

  @discardableResult
  public final func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.submit(action, after: delay, inside: tag)
  }

  /// Schedules what settles `returning`.
  package func submit(_ work: @escaping @Sendable () -> Void, of returning: ReturningAction) {
    core.submit(work, inside: tag, of: returning)
  }

  /// The same for `delay` from now.
  package final func submit(
    _ work: @escaping @Sendable () -> Void, after delay: Duration, of returning: ReturningAction
  ) {
    core.submit(work, after: delay, inside: tag, of: returning)
  }
}
