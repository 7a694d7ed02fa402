public import Foundation
public import Scheduler
public import SchedulerRx

extension WallTime {
  /// The instant of `date`, rounded up to nanoseconds, so that nothing is early; the beginning of 1970 for what is before, and
  /// `never` for what is after 2554.
  public init(_ date: Date) {
    let (seconds, attoseconds) = HistoricalDate(date).sinceEpoch.components
    if seconds < 0 || attoseconds < 0 {
      self.init(nanosecondsSince1970: 0)
    } else if seconds < 18_446_744_073 {
      let nanoseconds = UInt64(attoseconds + 999_999_999) / 1_000_000_000
      self.init(nanosecondsSince1970: UInt64(seconds) * 1_000_000_000 + nanoseconds)
    } else {
      self = .never
    }
  }
}

extension HistoricalDate {
  /// The date itself: exact, held at `distantPast` and `distantFuture`, where also what is not a number is.
  public init(_ date: Date) {
    let seconds = date.timeIntervalSinceReferenceDate
    guard abs(seconds) < 0x1p62 else {
      self = seconds < 0 ? .distantPast : .distantFuture
      return
    }
    let whole = seconds.rounded(.down)
    let rest = Duration(secondsComponent: 0, attosecondsComponent: Int64((seconds - whole) * 1e18))
    self = HistoricalDate.reference.advanced(by: .seconds(Int64(whole)) + rest)
  }

  /// The beginning of 2001, from which Foundation counts.
  fileprivate static let reference = HistoricalDate(sinceEpoch: .seconds(978_307_200))
}

extension Date {
  /// The date of `instant`, as close as a `Date` gets: some hundred nanoseconds. `Date.distantFuture` for `WallTime.never`.
  public init(_ instant: WallTime) {
    let (seconds, nanoseconds) = instant.nanosecondsSince1970.quotientAndRemainder(dividingBy: 1_000_000_000)
    self.init(HistoricalDate(sinceEpoch: .seconds(seconds) + .nanoseconds(nanoseconds)))
    if instant == .never { self = .distantFuture }
  }

  /// The same date, as close as a `Date` gets.
  public init(_ date: HistoricalDate) {
    let (seconds, attoseconds) = HistoricalDate.reference.duration(to: date).components
    self.init(timeIntervalSinceReferenceDate: Double(seconds) + Double(attoseconds) * 1e-18)
  }
}
