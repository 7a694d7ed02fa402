/// Runs actions on another scheduler as members of a group: see ``ActionGroup/scheduler(on:)``.
public final class GroupScheduler: SchedulerType {
  let base: any SchedulerType
  /// The group that the actions are in.
  public let group: ActionGroup

  init(on base: any SchedulerType, in group: ActionGroup) {
    self.base = base
    self.group = group
  }

  public var now: MonotonicTime { base.now }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable {
    group.admit { member in base.schedule(state) { member.run(action, with: $0) } }
  }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Cancelable {
    group.admit { member in base.schedule { member.run(action) } }
  }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable {
    group.admit { member in base.schedule(state, after: delay) { member.run(action, with: $0) } }
  }

  @discardableResult
  public func schedule(
    after delay: Duration, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    group.admit { member in base.schedule(after: delay, tolerance: tolerance) { member.run(action) } }
  }

  @discardableResult
  public func schedule(
    at instant: MonotonicTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    group.admit { member in base.schedule(at: instant, tolerance: tolerance) { member.run(action) } }
  }

  @discardableResult
  public func schedule(
    at instant: WallTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    group.admit { member in base.schedule(at: instant, tolerance: tolerance) { member.run(action) } }
  }

  @discardableResult
  public func schedule(
    at instant: BootTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    group.admit { member in base.schedule(at: instant, tolerance: tolerance) { member.run(action) } }
  }

  @discardableResult
  public func schedulePeriodic(_ timing: PeriodicTiming, action: @escaping @Sendable () -> Void) -> any Cancelable {
    group.admit { member in base.schedulePeriodic(timing) { withExtendedLifetime(member) { action() } } }
  }
}

extension ActionGroup.Member {
  fileprivate func run(_ action: () -> Void) {
    action()
    end()
  }

  fileprivate func run<State>(_ action: (State) -> any Disposable, with state: State) -> any Disposable {
    defer { end() }
    return action(state)
  }
}
