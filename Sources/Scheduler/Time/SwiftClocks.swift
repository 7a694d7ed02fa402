internal import CScheduler

// Swift's clocks are the same two of the system: `ContinuousClock` counts its sleep, and `SuspendingClock` does not, as
// `MonotonicTime` does not. So their instants differ by what they are counted from, and by their resolution, an attosecond.

extension ContinuousClock.Instant {
  /// The instant in the core's count: rounded up to nanoseconds, and held at that clock's ends.
  package var nanoseconds: UInt64 {
    UInt64(0).nanoseconds(advancedBy: ContinuousClock.epoch.duration(to: self))
  }
}

extension ActionTiming {
  /// Once, at an instant of the clock that goes on while the system sleeps. In virtual time, too, the instant is the real clock's: from then on
  /// the action is due there.
  ///
  /// Where the system has no thread or descriptor to keep this clock with, the action is dropped. A scheduler that is stopped keeps the
  /// action until its instant, and then drops it.
  ///
  /// - Parameters:
  ///   - instant: when. One that has passed is a plain submission.
  ///   - tolerance: up to how much later it may run.
  public static func at(continuous instant: ContinuousClock.Instant, tolerance: Duration = .zero) -> Self {
    Self(.continuous(instant.nanoseconds), tolerance: tolerance)
  }
}

extension MonotonicTime {
  /// The first instant that is not before `instant`: less than a nanosecond later. Held at the clock's ends.
  public init(_ instant: SuspendingClock.Instant) {
    self = MonotonicTime(nanoseconds: 0).advanced(by: SuspendingClock.epoch.duration(to: instant))
  }
}

extension SuspendingClock.Instant {
  /// The same instant. `UInt64.max`, which never comes, is an instant in 584 years here.
  public init(_ time: MonotonicTime) { self = SuspendingClock.epoch.advanced(by: .sinceStart(time.nanoseconds)) }
}

// Before Swift 6.3 an epoch is measured once, late by what a look at a clock takes.
extension ContinuousClock {
  #if compiler(>=6.3)
    fileprivate static var epoch: Instant { ContinuousClock().systemEpoch }
  #else
    fileprivate static let epoch = now.advanced(by: .zero - .sinceStart(csched_clock_now(CSCHED_CLOCK_BOOT)))
  #endif
}

extension SuspendingClock {
  #if compiler(>=6.3)
    fileprivate static var epoch: Instant { SuspendingClock().systemEpoch }
  #else
    fileprivate static let epoch = now.advanced(by: .zero - .sinceStart(MonotonicTime.now.nanoseconds))
  #endif
}
