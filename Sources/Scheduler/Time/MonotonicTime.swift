internal import CScheduler

/// An instant on the monotonic clock, in nanoseconds since an arbitrary start. It does not advance while the system sleeps.
public struct MonotonicTime: InstantProtocol, Hashable, Sendable {
  /// Nanoseconds since the clock's start.
  public let nanoseconds: UInt64

  /// Makes the instant that many nanoseconds after the clock's start.
  ///
  /// - Parameter nanoseconds: since the clock's start.
  public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  /// The present.
  public static var now: MonotonicTime { MonotonicTime(nanoseconds: csched_now()) }

  /// The instant `duration` later, or earlier where it is negative; held at the clock's ends.
  public func advanced(by duration: Duration) -> MonotonicTime {
    MonotonicTime(nanoseconds: nanoseconds.nanoseconds(advancedBy: duration))
  }

  /// The time from this instant to `other`, negative when that is earlier.
  public func duration(to other: MonotonicTime) -> Duration { nanoseconds.span(to: other.nanoseconds) }

  public static func < (left: MonotonicTime, right: MonotonicTime) -> Bool { left.nanoseconds < right.nanoseconds }
}
