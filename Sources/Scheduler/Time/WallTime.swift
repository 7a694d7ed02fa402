internal import CScheduler

/// An instant on the wall clock: UTC, in nanoseconds since 1970, until 2554. The system can set this clock forwards and
/// back.
///
/// ```swift
/// scheduler.schedule(.at(wall: WallTime(secondsSince1970: date.timeIntervalSince1970))) { alarm.ring() }
/// ```
public struct WallTime: InstantProtocol, Hashable, Sendable {
  /// Nanoseconds since 1970 began.
  public let nanosecondsSince1970: UInt64

  /// Creates an instant. `UInt64.max` is ``never``.
  ///
  /// - Parameter nanosecondsSince1970: the time since the beginning of 1970, UTC.
  public init(nanosecondsSince1970: UInt64) { self.nanosecondsSince1970 = nanosecondsSince1970 }

  /// Creates an instant, rounded up to nanoseconds, so that no timer is early.
  ///
  /// A time before 1970 becomes the beginning of 1970. A time beyond the range, or a NaN, becomes ``never``.
  ///
  /// - Parameter seconds: the time since the beginning of 1970, UTC.
  public init(secondsSince1970 seconds: Double) {
    let whole = seconds.rounded(.down)
    let nanoseconds = ((seconds - whole) * 1e9).rounded(.up)  // of the fraction; may be 1e9
    if seconds < 0 {
      nanosecondsSince1970 = 0
    } else if whole < 18_446_744_073 {  // the seconds in UInt64.max nanoseconds: the sum fits; false for NaN
      nanosecondsSince1970 = UInt64(whole) * 1_000_000_000 + UInt64(nanoseconds)
    } else {
      nanosecondsSince1970 = .max
    }
  }

  /// The present time, or the beginning of 1970 if the clock is set to an earlier time.
  public static var now: WallTime { WallTime(nanosecondsSince1970: csched_clock_now(CSCHED_CLOCK_WALL)) }

  /// The end of the clock's range, which never comes.
  public static var never: WallTime { WallTime(nanosecondsSince1970: .max) }

  /// Seconds since 1970 began, rounded to a `Double`, whose precision today is a quarter of a microsecond.
  public var secondsSince1970: Double { Double(nanosecondsSince1970) / 1e9 }

  /// Returns the instant `duration` later, or earlier if it is negative, clamped to the range from 1970 to ``never``.
  public func advanced(by duration: Duration) -> WallTime {
    WallTime(nanosecondsSince1970: nanosecondsSince1970.nanoseconds(advancedBy: duration))
  }

  /// Returns the time from this instant to `other`, negative if `other` is earlier.
  public func duration(to other: WallTime) -> Duration { nanosecondsSince1970.span(to: other.nanosecondsSince1970) }

  public static func < (left: WallTime, right: WallTime) -> Bool {
    left.nanosecondsSince1970 < right.nanosecondsSince1970
  }
}
