public import Scheduler

extension VirtualTimeScheduler {
  /// Schedules `action` for `time`, or for now where that is in the past.
  ///
  /// - Parameters:
  ///   - state: what `action` is given.
  ///   - time: when, in virtual time. The past is taken for the present.
  ///   - action: what to run. What it returns is disposed with the token, once it has run.
  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, at time: Instant, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable {
    let returning = ReturningAction()
    submit({ returning.settle(action(state)) }, at: time, of: returning)
    return returning
  }
}
