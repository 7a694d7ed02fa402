internal import CScheduler

// Swift's clocks are the system's: `ContinuousClock` advances while the system sleeps; `SuspendingClock`, like `MonotonicTime`, does not.
// Their instants differ from `MonotonicTime` in their origin and in their resolution, an attosecond.

extension ContinuousClock.Instant {
  /// The instant on the C core's clock, rounded up to nanoseconds and clamped to the range of that clock.
  package var nanoseconds: UInt64 {
    UInt64(0).nanoseconds(advancedBy: ContinuousClock.epoch.duration(to: self))
  }
}

extension ActionTiming {
  /// Once, at an instant of the clock that continues while the system sleeps. A scheduler in virtual time also uses the
  /// real clock: when that clock reaches the instant, the action becomes due at the present virtual time.
  ///
  /// If the system has no thread or descriptor for this clock, the action is dropped. A stopped scheduler drops the action at its instant, not
  /// before.
  ///
  /// - Parameters:
  ///   - instant: when to run. With an instant in the past, the action is submitted at once.
  ///   - tolerance: how much later it may run.
  public static func at(continuous instant: ContinuousClock.Instant, tolerance: Duration = .zero) -> Self {
    Self(.continuous(instant.nanoseconds), tolerance: tolerance)
  }
}

extension MonotonicTime {
  /// Creates the first instant that is not before `instant`: less than a nanosecond later, and clamped to the range of the clock.
  public init(_ instant: SuspendingClock.Instant) {
    self = MonotonicTime(nanoseconds: 0).advanced(by: SuspendingClock.epoch.duration(to: instant))
  }
}

extension SuspendingClock.Instant {
  /// Creates the same instant. `UInt64.max` nanoseconds, which never come, become an instant in 584 years.
  public init(_ time: MonotonicTime) { self = SuspendingClock.epoch.advanced(by: .sinceStart(time.nanoseconds)) }
}

// The start of each clock. Compilers before Swift 6.3 have no `systemEpoch`: it is measured once, and is late by the time of one clock read.
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
