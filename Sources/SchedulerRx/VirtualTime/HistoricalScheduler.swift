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
  ///   - actionLimit: how many actions one call of `advance`, `run` or `step` may run.
  public convenience init(initialDate: HistoricalDate = .epoch, actionLimit: Int = 1 << 21) {
    self.init(initialClock: initialDate, end: .distantFuture, actionLimit: actionLimit)
  }
}
