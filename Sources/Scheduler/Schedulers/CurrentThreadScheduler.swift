internal import CScheduler

/// A trampoline: runs the first action on a thread at once. Actions that the thread schedules meanwhile wait until the
/// running action has ended.
///
/// Recursion becomes iteration. The stack does not grow with a chain of actions, and each action ends before the next
/// one starts.
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
/// Each thread has its own queue, which needs no lock. If a thread ends inside an action, its waiting actions are
/// dropped.
public final class CurrentThreadScheduler: ImmediateSchedulerType {
  /// The shared instance. It acts on the calling thread.
  public static let instance = CurrentThreadScheduler()

  /// Makes this scheduler the current one in its actions.
  let core = SchedulerMarker(madeBy: { _ in CurrentThreadScheduler.instance })

  private init() { core.publish(self) }

  /// Whether the next action on the calling thread runs at once, because no action of this scheduler is running there.
  public static var isScheduleRequired: Bool { csched_trampoline_is_required() }

  // Runs `action` at once; or, inside an action of this scheduler on this thread, after that action and those that wait
  // already.
  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    if Self.isScheduleRequired {
      core.run {
        _ = csched_trampoline_enter()  // returns true: no action of this scheduler runs on this thread
        defer { csched_trampoline_leave() }  // runs the actions that were scheduled meanwhile
        action()
      }
      return NopDisposable()
    }
    let waiting = ClosureTask(action, for: core)
    waiting.submitToTrampoline()
    return waiting
  }

  /// Schedules an action that receives `state` and returns a disposable. The result disposes the action, or the
  /// disposable that it has returned. Allocates nothing if the action runs at once and returns a disposable without
  /// effect.
  package func submitReturning<State: Sendable>(
    _ state: State, _ action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable {
    if Self.isScheduleRequired {
      let returned = core.run {
        _ = csched_trampoline_enter()  // returns true, as above
        defer { csched_trampoline_leave() }  // runs the actions that were scheduled meanwhile
        return action(state)
      }
      return EndedAction.leading(to: returned)
    }
    let chain = ReturningAction()
    // `settle` stores the returned disposable
    chain.task = ClosureTask({ chain.settle(action(state)) }, for: core, of: chain)
    chain.task.submitToTrampoline()
    return chain
  }
}
