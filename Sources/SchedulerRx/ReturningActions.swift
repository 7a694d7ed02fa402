public import Scheduler

// RxSwift's form of an action: it receives a state, and returns a disposable. `schedule` returns a token. Disposing the
// token cancels the action, or, once the action has run, disposes the action's disposable.

extension ImmediateSchedulerType {
  /// Schedules `action`, which receives `state` and returns a disposable. Disposing the token after `action` has run
  /// disposes its result.
  ///
  /// - Parameters:
  ///   - state: passed to `action`.
  ///   - action: the closure to run. Disposing the token after it has run disposes its result.
  @discardableResult
  public func schedule<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable {
    if Self.self == CurrentThreadScheduler.self {  // it has its own queue of actions
      return CurrentThreadScheduler.instance.submitReturning(state, action)
    }
    // `target`: this scheduler as a SchedulerTarget; nil for any other scheduler, such as the user's own, which gets a
    // plain closure
    guard let target else { return ReturningAction.submit({ action(state) }) { schedule($0) } }
    let chain = ReturningAction()  // the token; `settle` gives it the action's disposable
    // unretained: `self` keeps the target alive during this call
    target._withUnsafeGuaranteedRef { $0.submit({ chain.settle(action(state)) }, of: chain) }
    return chain
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
    let chain = ReturningAction()
    target._withUnsafeGuaranteedRef { $0.submit({ chain.settle(action(state)) }, after: delay, of: chain) }
    return chain
  }
}
