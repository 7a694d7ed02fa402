public import Foundation
public import Scheduler

extension WallTime {
  /// Creates the instant of `date`, rounded up to nanoseconds, so that work is never early. Dates before 1970 give the
  /// beginning of 1970; dates after 2554 give `never`.
  public init(_ date: Date) {
    let (seconds, attoseconds) = date.sinceEpoch.components
    if seconds < 0 || attoseconds < 0 {  // before 1970
      self.init(nanosecondsSince1970: 0)
    } else if seconds < 18_446_744_073 {  // the whole seconds of UInt64.max nanoseconds
      let nanoseconds = UInt64(attoseconds + 999_999_999) / 1_000_000_000  // rounds up
      self.init(nanosecondsSince1970: UInt64(seconds) * 1_000_000_000 + nanoseconds)
    } else {
      self = .never
    }
  }
}

extension Date {
  /// Creates the date of `instant`, to the precision of `Date`: some hundred nanoseconds. `WallTime.never` gives
  /// `Date.distantFuture`.
  public init(_ instant: WallTime) {
    let (seconds, nanoseconds) = instant.nanosecondsSince1970.quotientAndRemainder(dividingBy: 1_000_000_000)
    self.init(sinceEpoch: .seconds(seconds) + .nanoseconds(nanoseconds))
    if instant == .never { self = .distantFuture }  // instead of a date in 2554
  }

  /// Creates the date at this time since the beginning of 1970, to the precision of `Date`.
  package init(sinceEpoch: Duration) {
    let (seconds, attoseconds) = (sinceEpoch - Self.reference).components
    self.init(timeIntervalSinceReferenceDate: Double(seconds) + Double(attoseconds) * 1e-18)
  }

  /// The time since the beginning of 1970, exactly. A date 2⁶² seconds or more from 2001 gives ±2⁶³ seconds; NaN gives
  /// the maximum.
  package var sinceEpoch: Duration {
    let seconds = timeIntervalSinceReferenceDate
    guard abs(seconds) < 0x1p62 else {  // also for NaN; Int64 holds the others
      return seconds < 0 ? .seconds(Int64.min) : .seconds(Int64.max)
    }
    let whole = seconds.rounded(.down)  // so the fraction is not negative
    let fraction = Duration(secondsComponent: 0, attosecondsComponent: Int64((seconds - whole) * 1e18))
    return Self.reference + .seconds(Int64(whole)) + fraction
  }

  /// From the beginning of 1970 to that of 2001, from which Foundation counts.
  private static var reference: Duration { .seconds(978_307_200) }
}
