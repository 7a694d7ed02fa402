internal import CScheduler

/// An instant on the boot clock, in nanoseconds since an arbitrary start. It advances while the system sleeps, too, and cannot be set.
///
/// ```swift
/// scheduler.schedule(at: BootTime.now.advanced(by: .seconds(3600))) { session.expire() }  // asleep or not
/// ```
public struct BootTime: InstantProtocol, Hashable, Sendable {
  /// Nanoseconds since the clock's start.
  public let nanoseconds: UInt64

  /// Makes the instant that many nanoseconds after the clock's start; `UInt64.max` never comes.
  ///
  /// - Parameter nanoseconds: since the clock's start.
  public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  /// The present.
  public static var now: BootTime { BootTime(nanoseconds: csched_clock_now(CSCHED_CLOCK_BOOT)) }

  /// The instant `duration` later, or earlier where it is negative; held at the clock's ends.
  public func advanced(by duration: Duration) -> BootTime {
    BootTime(nanoseconds: nanoseconds.nanoseconds(advancedBy: duration))
  }

  /// The time from this instant to `other`, negative when that is earlier.
  public func duration(to other: BootTime) -> Duration { nanoseconds.span(to: other.nanoseconds) }

  public static func < (left: BootTime, right: BootTime) -> Bool { left.nanoseconds < right.nanoseconds }
}
