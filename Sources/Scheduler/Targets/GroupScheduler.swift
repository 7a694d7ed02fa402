/// Runs actions on another scheduler, and answers for them: how many are under way, whether none is; it cancels and drains them.
///
/// ```swift
/// let uploads = GroupScheduler(on: ConcurrentScheduler(limit: 4))
/// for file in files { uploads.schedule { file.upload() } }
/// …
/// if !uploads.drain(timeout: .seconds(5)) { uploads.cancelAll() }
/// ```
///
/// What is in its group is told at ``ActionGroup/scheduler(on:)``, which makes one in a group that others may be in, too. Each action costs a count, an
/// entry in a list and a lock more than on the other scheduler; schedulers that nobody asks pay nothing.
public final class GroupScheduler: SchedulerType {
  let base: any SchedulerType
  /// The group that the actions are in.
  public let group: ActionGroup

  /// Makes a scheduler whose actions run on `base`, in a group of its own.
  public convenience init(on base: any SchedulerType) { self.init(on: base, in: ActionGroup()) }

  init(on base: any SchedulerType, in group: ActionGroup) {
    self.base = base
    self.group = group
  }

  // MARK: what is under way

  /// How many of the group's actions wait, for their turn or their instant, or run.
  public var pendingCount: Int { group.pendingCount }

  /// Whether none of the group's actions waits or runs. What they did is then seen.
  public var isIdle: Bool { group.isIdle }

  /// Cancels all of the group's actions that have not begun: none of them begins after this has returned.
  public func cancelAll() { group.cancelAll() }

  /// Waits until the group is idle, for `timeout` at the most, and tells whether it was. Delayed and periodic actions are waited for, too; what is
  /// scheduled meanwhile as well. A timeout that is not positive does not wait. Not for the thread on which the actions run, or for one of them.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await group.waitForAll()")
  public func drain(timeout: Duration) -> Bool { group.wait(for: timeout) }

  // MARK: scheduling

  public var now: MonotonicTime { base.now }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable {
    returning({ action(state) }) { base.schedule((), action: $0) }
  }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Cancelable {
    group.admit(action) { base.schedule($0) }
  }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable {
    returning({ action(state) }) { base.schedule((), after: delay, action: $0) }
  }

  @discardableResult
  public func schedule(
    after delay: Duration, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    group.admit(action) { base.schedule(after: delay, tolerance: tolerance, $0) }
  }

  @discardableResult
  public func schedule(
    at instant: MonotonicTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    group.admit(action) { base.schedule(at: instant, tolerance: tolerance, $0) }
  }

  @discardableResult
  public func schedule(
    at instant: WallTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    group.admit(action) { base.schedule(at: instant, tolerance: tolerance, $0) }
  }

  @discardableResult
  public func schedule(
    at instant: BootTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    group.admit(action) { base.schedule(at: instant, tolerance: tolerance, $0) }
  }

  @discardableResult
  public func schedulePeriodic(_ timing: PeriodicTiming, action: @escaping @Sendable () -> Void) -> any Cancelable {
    group.admit(ActionMember(of: group, action)) { member in base.schedulePeriodic(timing) { member.tick() } }
  }

  private func returning(
    _ action: @escaping @Sendable () -> any Disposable,
    by submit: (@escaping @Sendable (()) -> any Disposable) -> any Cancelable
  ) -> any Cancelable {
    group.admit(ActionMember(of: group, action)) { member in submit { _ in member.run() } }
  }
}
