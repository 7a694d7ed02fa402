internal import CScheduler

// Converts instants of Swift's clocks. `ContinuousClock` is the C core's boot clock, which advances while the system
// sleeps. `SuspendingClock` is the clock of `MonotonicTime`, which stands still meanwhile. Instants of Swift's clocks
// count from another origin, in attoseconds.

extension ContinuousClock.Instant {
  /// This instant on the C core's boot clock, rounded up to nanoseconds and clamped to the range of that clock.
  package var nanoseconds: UInt64 {
    UInt64(0).nanoseconds(advancedBy: ContinuousClock.epoch.duration(to: self))  // 0: the epoch on the C core's clock
  }
}

extension ActionTiming {
  /// Once, at an instant of the clock that continues while the system sleeps. A scheduler in virtual time also uses the
  /// real clock: when that clock reaches the instant, the action becomes due at the present virtual time.
  ///
  /// If the system has no thread or descriptor for this clock, the action is dropped. A stopped scheduler drops a
  /// waiting action when it is due, not at the stop.
  ///
  /// - Parameters:
  ///   - instant: when to run. With an instant in the past, the action is submitted at once.
  ///   - tolerance: how much later it may run.
  public static func at(continuous instant: ContinuousClock.Instant, tolerance: Duration = .zero) -> Self {
    Self(.continuous(instant.nanoseconds), tolerance: tolerance)
  }
}

extension MonotonicTime {
  /// Creates the time of `instant`, rounded up to nanoseconds and clamped to the range of the clock.
  public init(_ instant: SuspendingClock.Instant) {
    self = MonotonicTime(nanoseconds: 0).advanced(by: SuspendingClock.epoch.duration(to: instant))
  }
}

extension SuspendingClock.Instant {
  /// Creates the same instant. The end of the clock, `UInt64.max` nanoseconds, becomes an instant 584 years after its
  /// start.
  public init(_ time: MonotonicTime) { self = SuspendingClock.epoch.advanced(by: .sinceStart(time.nanoseconds)) }
}

// `epoch`: when the C core's clock was 0. Before Swift 6.3 there is no `systemEpoch`. There an instant consists of the
// time since the start of the same clock, so the one that is zero is taken; unless two reads show another start, and
// then the second, which is late by the time of a read.
extension ContinuousClock {
  #if compiler(>=6.3)
    fileprivate static var epoch: Instant { ContinuousClock().systemEpoch }
  #else
    fileprivate static let epoch = zero(
      near: now.advanced(by: .zero - .sinceStart(csched_clock_now(CSCHED_CLOCK_BOOT))))
  #endif
}

extension SuspendingClock {
  #if compiler(>=6.3)
    fileprivate static var epoch: Instant { SuspendingClock().systemEpoch }
  #else
    fileprivate static let epoch = zero(near: now.advanced(by: .zero - .sinceStart(csched_now())))
  #endif
}

#if !compiler(>=6.3)
  /// Returns the instant that is zero, if it is within a second of `read`; otherwise `read`.
  private func zero<Instant: InstantProtocol>(near read: Instant) -> Instant where Instant.Duration == Duration {
    guard MemoryLayout<Instant>.size == MemoryLayout<Duration>.size else { return read }
    let zero = unsafeBitCast(Duration.zero, to: Instant.self), distance = read.duration(to: zero)
    return distance < .seconds(1) && distance > .seconds(-1) ? zero : read
  }
#endif
