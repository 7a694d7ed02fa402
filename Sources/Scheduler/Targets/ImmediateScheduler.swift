internal import CScheduler

/// Runs each action at once, on the thread that schedules it, before `schedule` returns.
///
/// 1. A delayed action makes the caller sleep until its time, and then runs.
/// 2. Recursive scheduling is flat: see ``ImmediateSchedulerType/scheduleRecursive(_:action:)``.
/// 3. A periodic action would never let the caller go on: asking for one stops the process with a message.
public final class ImmediateScheduler: SchedulerType {
  /// The one that everybody shares: it has no state.
  public static let instance = ImmediateScheduler()

  private let core = CurrentTag(madeBy: { _ in ImmediateScheduler.instance })

  private init() { core.publish(self) }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable {
    EndedAction.leading(to: core.run { action(state) })
  }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.run(action)
    return Disposables.create()
  }

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable {
    csched_swift_sleep_until_(delay.deadline)
    return schedule(state, action: action)
  }

  @discardableResult
  public func schedulePeriodic(_ timing: PeriodicTiming, action: @escaping @Sendable () -> Void) -> any Disposable {
    misuse(
      "ImmediateScheduler.schedulePeriodic",
      "the caller would never go on. Use a scheduler that has a thread or a queue.")
  }
}
