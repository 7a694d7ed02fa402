public import Foundation
internal import SchedulerFoundation
public import SchedulerRx

extension HistoricalDate {
  /// Creates the same date, exactly, clamped to `distantPast` and `distantFuture`. NaN gives `distantFuture`.
  public init(_ date: Date) { self.init(sinceEpoch: date.sinceEpoch) }
}

extension Date {
  /// Creates the same date, to the precision of `Date`.
  public init(_ date: HistoricalDate) { self.init(sinceEpoch: date.sinceEpoch) }
}
