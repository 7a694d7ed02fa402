public import Scheduler

// RxSwift's form of an action: it receives a state, and returns a disposable. Disposing the token after the run disposes that disposable.

extension ImmediateSchedulerType {
  /// Schedules `action`, which receives `state` and returns a disposable. Disposing the token after `action` has run disposes its result.
  ///
  /// - Parameters:
  ///   - state: passed to `action`.
  ///   - action: the closure to run. Disposing the token after it has run disposes its result.
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
  /// Schedules `action` after `delay`; otherwise as ``Scheduler/ImmediateSchedulerType/schedule(_:action:)``.
  ///
  /// - Parameters:
  ///   - state: passed to `action`.
  ///   - delay: how long from now. Zero or less submits at once; a delay beyond the clock's range never ends.
  ///   - action: the closure to run. Disposing the token after it has run disposes its result.
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
