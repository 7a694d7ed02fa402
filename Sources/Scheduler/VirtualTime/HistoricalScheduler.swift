/// Virtual time in dates: replays what has happened, at the dates at which it did.
///
/// ```swift
/// let scheduler = HistoricalScheduler(initialDate: .epoch)
/// for event in events { scheduler.schedule(at: event.date) { handle(event) } }
/// scheduler.run()
/// ```
///
/// For dates of another type, such as Foundation's, give ``VirtualTimeScheduler`` a converter of your own.
public typealias HistoricalScheduler = VirtualTimeScheduler<InstantConverter<HistoricalDate>>

extension VirtualTimeScheduler where Converter == InstantConverter<HistoricalDate> {
  /// Creates one.
  ///
  /// - Parameters:
  ///   - initialDate: where its clock stands; `now` counts nanoseconds from it.
  ///   - actionLimit: see ``VirtualTimeScheduler/actionLimit``.
  public convenience init(initialDate: HistoricalDate = .epoch, actionLimit: Int = 1 << 21) {
    self.init(
      initialClock: initialDate, converter: InstantConverter(origin: initialDate, end: .distantFuture),
      actionLimit: actionLimit)
  }
}
