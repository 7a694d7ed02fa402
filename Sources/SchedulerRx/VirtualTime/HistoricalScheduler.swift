public import Scheduler

/// A virtual-time scheduler with dates: replays past events at their own dates.
///
/// ```swift
/// let scheduler = HistoricalScheduler(initialDate: .epoch)
/// for event in events { scheduler.schedule(at: event.date) { handle(event) } }
/// scheduler.run()
/// ```
///
/// For dates of another type, such as Foundation's, give `VirtualTimeScheduler` a ``VirtualTimeConverter``.
public typealias HistoricalScheduler = VirtualTimeScheduler<HistoricalDate>

extension VirtualTimeScheduler where Instant == HistoricalDate {
  /// Creates a scheduler whose clock ends at ``HistoricalDate/distantFuture``.
  ///
  /// - Parameters:
  ///   - initialDate: the initial date of its clock; `now` counts nanoseconds from it.
  ///   - actionLimit: how many actions one call of `advance`, `run` or `step` may run. More stop the process.
  public convenience init(initialDate: HistoricalDate = .epoch, actionLimit: Int = 1 << 21) {
    self.init(initialClock: initialDate, end: .distantFuture, actionLimit: actionLimit)
  }
}

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
    let chain = ReturningAction()  // the token; `settle` gives it the action's disposable
    submit({ chain.settle(action(state)) }, at: time, of: chain)
    return chain
  }
}
