public import Scheduler

/// Virtual time in dates: replays what has happened, at the dates at which it did.
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
  /// Creates one, whose clock ends at ``HistoricalDate/distantFuture``.
  ///
  /// - Parameters:
  ///   - initialDate: where its clock stands; `now` counts nanoseconds from it.
  ///   - actionLimit: how many actions one call of `advance`, `run` or `step` may run.
  public convenience init(initialDate: HistoricalDate = .epoch, actionLimit: Int = 1 << 21) {
    self.init(initialClock: initialDate, end: .distantFuture, actionLimit: actionLimit)
  }
}
