/// A date: a duration since the beginning of 1970, UTC, clamped to ±2⁶³ seconds. Its resolution is one attosecond.
///
/// It avoids a dependency on Foundation. To convert from a `Date`:
/// `HistoricalDate(sinceEpoch: .seconds(date.timeIntervalSince1970))`.
public struct HistoricalDate: InstantProtocol, Hashable, Sendable {
  /// The time since the beginning of 1970, UTC; negative before.
  public let sinceEpoch: Duration

  /// Creates the date at this time since the beginning of 1970, UTC.
  ///
  /// - Parameter sinceEpoch: the time since the beginning of 1970; negative before it.
  public init(sinceEpoch: Duration) { self.sinceEpoch = Self.clamped(sinceEpoch) }

  /// The beginning of 1970, UTC.
  public static let epoch = HistoricalDate(sinceEpoch: .zero)

  /// The earliest date.
  public static let distantPast = HistoricalDate(sinceEpoch: .seconds(Int64.min))

  /// The latest date.
  public static let distantFuture = HistoricalDate(sinceEpoch: .seconds(Int64.max))

  /// Returns the date `duration` later, or earlier if it is negative, clamped to the earliest and latest dates. A
  /// duration of 2⁶³ seconds or more, which often means "never", always gives the earliest or the latest date.
  public func advanced(by duration: Duration) -> HistoricalDate {
    if duration >= .seconds(Int64.max) { return .distantFuture }  // before the sum, which could overflow
    if duration <= .seconds(Int64.min) { return .distantPast }
    return HistoricalDate(sinceEpoch: sinceEpoch + duration)
  }

  /// Returns the time from this date to `other`; negative if `other` is earlier.
  public func duration(to other: HistoricalDate) -> Duration { other.sinceEpoch - sinceEpoch }

  public static func < (left: HistoricalDate, right: HistoricalDate) -> Bool { left.sinceEpoch < right.sinceEpoch }

  /// Returns `span` clamped to ±2⁶³ seconds, so that the sum of any two results fits into `Duration`.
  private static func clamped(_ span: Duration) -> Duration { min(max(span, .seconds(Int64.min)), .seconds(Int64.max)) }
}

extension HistoricalDate {
  public static func + (date: Self, duration: Duration) -> Self { date.advanced(by: duration) }
  public static func - (date: Self, duration: Duration) -> Self { date.advanced(by: duration.negated) }
  public static func - (later: Self, earlier: Self) -> Duration { earlier.duration(to: later) }
  public static func += (date: inout Self, duration: Duration) { date = date + duration }
  public static func -= (date: inout Self, duration: Duration) { date = date - duration }
}
