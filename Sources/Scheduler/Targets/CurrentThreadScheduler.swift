internal import CScheduler

/// Runs the first action on a thread at once, and those that are scheduled meanwhile when it is their turn: a trampoline.
///
/// Recursion becomes iteration: the stack stays as it is however long a chain of actions gets, and each action ends before the
/// next begins.
///
/// ```swift
/// let scheduler = CurrentThreadScheduler.instance
/// scheduler.schedule {
///   print(1)
///   scheduler.schedule { print(3) }
///   print(2)
/// }  // prints 1, 2, 3 before it returns
/// ```
///
/// Each thread has its own queue, which needs no lock. A thread that ends inside an action drops what waits in it.
public final class CurrentThreadScheduler: ImmediateSchedulerType {
  /// The one that everybody shares; it acts on the calling thread.
  public static let instance = CurrentThreadScheduler()

  let core = CurrentTag(madeBy: { _ in CurrentThreadScheduler.instance })

  private init() { core.publish(self) }

  /// Whether no action is running under this scheduler on the calling thread, so that the next one would run at once.
  public static var isScheduleRequired: Bool { csched_trampoline_is_required() }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    if Self.isScheduleRequired {
      core.run {
        _ = csched_trampoline_enter()
        defer { csched_trampoline_leave() }
        action()
      }
      return NopDisposable()
    }
    let waiting = ClosureTask(action, for: core)
    waiting.submitToTrampoline()
    return waiting
  }

  /// Schedules what returns a disposable: with no object where it runs at once and returns nothing to dispose.
  package func submitReturning<State: Sendable>(
    _ state: State, _ action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable {
    if Self.isScheduleRequired {
      let returned = core.run {
        _ = csched_trampoline_enter()
        defer { csched_trampoline_leave() }
        return action(state)
      }
      return EndedAction.leading(to: returned)
    }
    let waiting = ReturningAction()
    waiting.task = ClosureTask({ waiting.settle(action(state)) }, for: core, of: waiting)
    waiting.task.submitToTrampoline()
    return waiting
  }
}
