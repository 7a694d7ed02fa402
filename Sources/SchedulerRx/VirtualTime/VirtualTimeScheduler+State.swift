public import Scheduler

extension VirtualTimeScheduler {
  /// Schedules `action` for `time`, or for now if `time` is in the past.
  ///
  /// - Parameters:
  ///   - state: passed to `action`.
  ///   - time: when, in virtual time. The past counts as the present.
  ///   - action: the closure to run. Disposing the token after it has run disposes its result.
  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, at time: Instant, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable {
    let returning = ReturningAction()
    submit({ returning.settle(action(state)) }, at: time, of: returning)
    return returning
  }
}
