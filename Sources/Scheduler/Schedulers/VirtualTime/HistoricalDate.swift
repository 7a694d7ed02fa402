/// A date: a span since the beginning of 1970, UTC, held at 2⁶³ seconds before and after. It has an attosecond's resolution.
///
/// It is there so that no user has to link Foundation. With it: `HistoricalDate(sinceEpoch: .seconds(date.timeIntervalSince1970))`.
public struct HistoricalDate: InstantProtocol, Hashable, Sendable {
  /// The time since the beginning of 1970, UTC; negative before.
  public let sinceEpoch: Duration

  /// Makes the date that is that long after the beginning of 1970, UTC.
  public init(sinceEpoch: Duration) { self.sinceEpoch = Self.held(sinceEpoch) }

  /// The beginning of 1970, UTC.
  public static let epoch = HistoricalDate(sinceEpoch: .zero)

  /// The first date that there is.
  public static let distantPast = HistoricalDate(sinceEpoch: .seconds(Int64.min))

  /// The last date that there is.
  public static let distantFuture = HistoricalDate(sinceEpoch: .seconds(Int64.max))

  /// The date `duration` later, or earlier where it is negative; held at the ends.
  public func advanced(by duration: Duration) -> HistoricalDate {
    HistoricalDate(sinceEpoch: sinceEpoch + Self.held(duration))
  }

  /// The time from this date to `other`, negative when that is earlier.
  public func duration(to other: HistoricalDate) -> Duration { other.sinceEpoch - sinceEpoch }

  public static func < (left: HistoricalDate, right: HistoricalDate) -> Bool { left.sinceEpoch < right.sinceEpoch }

  /// Far enough inside of what `Duration` can hold that the sum of any two is, too.
  private static func held(_ span: Duration) -> Duration { min(max(span, .seconds(Int64.min)), .seconds(Int64.max)) }
}
