/// A date: a span since the beginning of 1970, UTC, held at 2⁶³ seconds before and after. Its resolution is an attosecond.
///
/// It is there so that no user has to link Foundation. With it: `HistoricalDate(sinceEpoch: .seconds(date.timeIntervalSince1970))`.
public struct HistoricalDate: InstantProtocol, Hashable, Sendable {
  /// The time since the beginning of 1970, UTC; negative before.
  public let sinceEpoch: Duration

  /// Makes the date that is that long after the beginning of 1970, UTC.
  ///
  /// - Parameter sinceEpoch: since the beginning of 1970; negative before it.
  public init(sinceEpoch: Duration) { self.sinceEpoch = Self.held(sinceEpoch) }

  /// The beginning of 1970, UTC.
  public static let epoch = HistoricalDate(sinceEpoch: .zero)

  /// The first date that there is.
  public static let distantPast = HistoricalDate(sinceEpoch: .seconds(Int64.min))

  /// The last date that there is.
  public static let distantFuture = HistoricalDate(sinceEpoch: .seconds(Int64.max))

  /// The date `duration` later, or earlier where it is negative; held at the ends. A duration of 2⁶³ seconds or about that, the most
  /// that is in use for "never", leads to an end from anywhere.
  public func advanced(by duration: Duration) -> HistoricalDate {
    if duration >= .seconds(Int64.max) { return .distantFuture }
    if duration <= .seconds(Int64.min) { return .distantPast }
    return HistoricalDate(sinceEpoch: sinceEpoch + duration)
  }

  /// The time from this date to `other`, negative when that is earlier.
  public func duration(to other: HistoricalDate) -> Duration { other.sinceEpoch - sinceEpoch }

  public static func < (left: HistoricalDate, right: HistoricalDate) -> Bool { left.sinceEpoch < right.sinceEpoch }

  /// Returns `span`, held so far inside of what `Duration` can hold that the sum of any two is there, too.
  private static func held(_ span: Duration) -> Duration { min(max(span, .seconds(Int64.min)), .seconds(Int64.max)) }
}

extension HistoricalDate {
  public static func + (date: Self, duration: Duration) -> Self { date.advanced(by: duration) }
  public static func - (date: Self, duration: Duration) -> Self { date.advanced(by: .zero - duration) }
  public static func - (later: Self, earlier: Self) -> Duration { earlier.duration(to: later) }
  public static func += (date: inout Self, duration: Duration) { date = date + duration }
  public static func -= (date: inout Self, duration: Duration) { date = date - duration }
}
