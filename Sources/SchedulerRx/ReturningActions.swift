public import Scheduler

// RxSwift's form of an action: it is given a state, and returns what to dispose when it is cancelled after it has run.

extension ImmediateSchedulerType {
  /// Schedules `action`, which is given `state` and returns what to dispose when it is cancelled after it has run.
  ///
  /// - Parameters:
  ///   - state: what `action` is given.
  ///   - action: what to run. What it returns is disposed with the token, once it has run.
  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable {
    if Self.self == CurrentThreadScheduler.self {
      return CurrentThreadScheduler.instance.submitReturning(state, action)
    }
    guard let target else { return ReturningAction.submit({ action(state) }) { schedule($0) } }
    let returning = ReturningAction()
    target._withUnsafeGuaranteedRef { $0.submit({ returning.settle(action(state)) }, of: returning) }
    return returning
  }
}

extension SchedulerType {
  /// Schedules `action` for `delay` from now; otherwise as ``Scheduler/ImmediateSchedulerType/schedule(_:action:)``.
  ///
  /// - Parameters:
  ///   - state: what `action` is given.
  ///   - delay: how long from now. Zero or less is a plain submission; more than the clock can hold never comes.
  ///   - action: what to run. What it returns is disposed with the token, once it has run.
  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable {
    guard let target else { return ReturningAction.submit({ action(state) }) { schedule(.after(delay), $0) } }
    let returning = ReturningAction()
    target._withUnsafeGuaranteedRef { $0.submit({ returning.settle(action(state)) }, after: delay, of: returning) }
    return returning
  }
}
