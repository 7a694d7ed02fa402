/// Runs each action at once, on the thread that schedules it, before `schedule` returns.
public final class ImmediateScheduler: ImmediateSchedulerType {
  /// The one that everybody shares: it has no state.
  public static let instance = ImmediateScheduler()

  private init() {}

  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable {
    action(state)
  }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    action()
    return Disposables.create()
  }
}
