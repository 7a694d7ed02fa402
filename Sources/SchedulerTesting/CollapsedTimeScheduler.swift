public import Scheduler

/// A scheduler that runs every action at once, inside `schedule`, without regard to its delay. For tests in which time
/// makes no difference.
///
/// ```swift
/// let model = Model(scheduler: CollapsedTimeScheduler())
/// model.search("a")  // schedules with a delay of 300 ms; runs at once
/// ```
///
/// 1. No call waits, and ``now`` never changes. If actions must run in the order of their times, use a `TestScheduler`.
/// 2. A periodic action runs once.
/// 3. Recursive scheduling does not nest: see `ImmediateSchedulerType/scheduleRecursive(_:action:)`. An endless
///    recursion never returns.
public final class CollapsedTimeScheduler: SchedulerType {
  public let now: MonotonicTime
  private let scope = CurrentScope()  // makes this scheduler `Schedulers.current` in its actions

  /// Creates a scheduler whose clock always shows `now`.
  public init(now: MonotonicTime = MonotonicTime(nanoseconds: 0)) {
    self.now = now
    scope.publish(self)
  }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    scope.run(action)
    return NopDisposable()  // the action has run: nothing to cancel
  }

  @discardableResult
  public func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    schedule(action)  // ignores `timing`
  }
}

extension CollapsedTimeScheduler: CustomDebugStringConvertible {
  public var debugDescription: String {
    "CollapsedTimeScheduler: runs each action on its caller's thread, at once, whatever its time"
  }
}
