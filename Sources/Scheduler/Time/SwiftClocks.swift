// Swift's clocks are the same two of the system: `ContinuousClock` counts its sleep, as `BootTime` does, and `SuspendingClock` does not, as
// `MonotonicTime` does not. So their instants differ by what they are counted from, and by their resolution, an attosecond.

extension BootTime {
  /// The first instant that is not before `instant`: less than a nanosecond later. Held at the clock's ends.
  public init(_ instant: ContinuousClock.Instant) {
    self = BootTime(nanoseconds: 0).advanced(by: ContinuousClock.epoch.duration(to: instant))
  }
}

extension ContinuousClock.Instant {
  /// The same instant. `UInt64.max`, which never comes, is an instant in 584 years here.
  public init(_ time: BootTime) { self = ContinuousClock.epoch.advanced(by: .sinceStart(time.nanoseconds)) }
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
    fileprivate static let epoch = now.advanced(by: .zero - .sinceStart(BootTime.now.nanoseconds))
  #endif
}

extension SuspendingClock {
  #if compiler(>=6.3)
    fileprivate static var epoch: Instant { SuspendingClock().systemEpoch }
  #else
    fileprivate static let epoch = now.advanced(by: .zero - .sinceStart(MonotonicTime.now.nanoseconds))
  #endif
}

extension Duration {
  fileprivate static func sinceStart(_ nanoseconds: UInt64) -> Duration {
    .seconds(nanoseconds / 1_000_000_000) + .nanoseconds(nanoseconds % 1_000_000_000)
  }
}
