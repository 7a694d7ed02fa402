internal import CScheduler

/// An instant on the wall clock: UTC, in nanoseconds since 1970 began, until 2554. That clock can be set, forwards and back.
///
/// ```swift
/// scheduler.schedule(.at(wall: WallTime(secondsSince1970: date.timeIntervalSince1970))) { alarm.ring() }
/// ```
public struct WallTime: InstantProtocol, Hashable, Sendable {
  /// Nanoseconds since 1970 began.
  public let nanosecondsSince1970: UInt64

  /// Makes the instant that many nanoseconds after 1970 began; `UInt64.max` never comes.
  ///
  /// - Parameter nanosecondsSince1970: since the beginning of 1970, UTC.
  public init(nanosecondsSince1970: UInt64) { self.nanosecondsSince1970 = nanosecondsSince1970 }

  /// Makes the instant that many seconds after 1970 began, rounded up to nanoseconds, so that nothing is early.
  ///
  /// What is before 1970 becomes its beginning; what is beyond the end of time, and what is not a number, becomes ``never``.
  ///
  /// - Parameter seconds: since the beginning of 1970, UTC.
  public init(secondsSince1970 seconds: Double) {
    let whole = seconds.rounded(.down)
    let nanoseconds = ((seconds - whole) * 1e9).rounded(.up)
    if seconds < 0 {
      nanosecondsSince1970 = 0
    } else if whole < 18_446_744_073 {  // nor is one that is not a number
      nanosecondsSince1970 = UInt64(whole) * 1_000_000_000 + UInt64(nanoseconds)
    } else {
      nanosecondsSince1970 = .max
    }
  }

  /// The present; the beginning of 1970 where the clock is set to before that.
  public static var now: WallTime { WallTime(nanosecondsSince1970: csched_clock_now(CSCHED_CLOCK_WALL)) }

  /// The end of time, which never comes.
  public static var never: WallTime { WallTime(nanosecondsSince1970: .max) }

  /// Seconds since 1970 began, as close as a `Double` gets: a quarter of a microsecond nowadays.
  public var secondsSince1970: Double { Double(nanosecondsSince1970) / 1e9 }

  /// The instant `duration` later, or earlier where it is negative; held at 1970 and at ``never``.
  public func advanced(by duration: Duration) -> WallTime {
    WallTime(nanosecondsSince1970: nanosecondsSince1970.nanoseconds(advancedBy: duration))
  }

  /// The time from this instant to `other`, negative when that is earlier.
  public func duration(to other: WallTime) -> Duration { nanosecondsSince1970.span(to: other.nanosecondsSince1970) }

  public static func < (left: WallTime, right: WallTime) -> Bool {
    left.nanosecondsSince1970 < right.nanosecondsSince1970
  }
}
