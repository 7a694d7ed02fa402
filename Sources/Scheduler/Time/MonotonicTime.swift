internal import CScheduler

/// An instant on the monotonic clock, in nanoseconds since an arbitrary start. The clock does not advance while the
/// system sleeps (suspend).
public struct MonotonicTime: InstantProtocol, Hashable, Sendable {
  /// Nanoseconds since the clock's start.
  public let nanoseconds: UInt64

  /// Creates an instant.
  ///
  /// - Parameter nanoseconds: the time since the clock's start.
  public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  /// The present time.
  public static var now: MonotonicTime { MonotonicTime(nanoseconds: csched_now()) }

  /// Returns the instant `duration` later, or earlier if it is negative, clamped to the range of the clock.
  public func advanced(by duration: Duration) -> MonotonicTime {
    MonotonicTime(nanoseconds: nanoseconds.nanoseconds(advancedBy: duration))
  }

  /// Returns the time from this instant to `other`, negative if `other` is earlier.
  public func duration(to other: MonotonicTime) -> Duration { nanoseconds.span(to: other.nanoseconds) }

  public static func < (left: MonotonicTime, right: MonotonicTime) -> Bool { left.nanoseconds < right.nanoseconds }
}

// Operators of both types of instants, as on `ContinuousClock.Instant`. Results are clamped to the range of the clock.
extension MonotonicTime {
  public static func + (instant: Self, duration: Duration) -> Self { instant.advanced(by: duration) }
  public static func - (instant: Self, duration: Duration) -> Self { instant.advanced(by: duration.negated) }
  public static func - (later: Self, earlier: Self) -> Duration { earlier.duration(to: later) }
  public static func += (instant: inout Self, duration: Duration) { instant = instant + duration }
  public static func -= (instant: inout Self, duration: Duration) { instant = instant - duration }
}

extension WallTime {
  public static func + (instant: Self, duration: Duration) -> Self { instant.advanced(by: duration) }
  public static func - (instant: Self, duration: Duration) -> Self { instant.advanced(by: duration.negated) }
  public static func - (later: Self, earlier: Self) -> Duration { earlier.duration(to: later) }
  public static func += (instant: inout Self, duration: Duration) { instant = instant + duration }
  public static func -= (instant: inout Self, duration: Duration) { instant = instant - duration }
}
