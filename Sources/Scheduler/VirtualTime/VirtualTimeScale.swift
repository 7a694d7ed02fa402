/// How a virtual clock counts instants: in 64 bits of ticks.
///
/// A later instant has no earlier tick. `UInt64.max` is the end of time. What an instant's own arithmetic and comparison do runs under no lock.
package protocol VirtualTimeScale<Instant>: Sendable {
  associatedtype Instant: InstantProtocol<Duration>

  /// Whether each tick stands for one instant.
  var isExact: Bool { get }

  func tick(of instant: Instant) -> UInt64

  /// Returns the first instant that has `tick`, or any that has.
  func instant(at tick: UInt64) -> Instant

  /// Returns the instant `delay` after `instant`, rounded up.
  func instant(_ delay: Duration, after instant: Instant) -> Instant

  /// Returns the instant that is real time's `time`, rounded up.
  func instant(of time: MonotonicTime) -> Instant

  /// Returns `instant` as real time.
  func realTime(of instant: Instant) -> MonotonicTime
}

/// Counts the nanoseconds of ``MonotonicTime``, which are the ticks.
struct MonotonicScale: VirtualTimeScale {
  var isExact: Bool { true }
  func tick(of instant: MonotonicTime) -> UInt64 { instant.nanoseconds }
  func instant(at tick: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: tick) }
  func instant(_ delay: Duration, after instant: MonotonicTime) -> MonotonicTime { instant.advanced(by: delay) }
  func instant(of time: MonotonicTime) -> MonotonicTime { time }
  func realTime(of instant: MonotonicTime) -> MonotonicTime { instant }
}

/// Counts the nanoseconds from `start`, where the tick is 2⁶³. It is the instants' own arithmetic that is used.
struct InstantScale<Instant: InstantProtocol<Duration>>: VirtualTimeScale {
  let start: Instant
  /// The instant whose real time is 0.
  let origin: Instant
  /// Where time is held, if anywhere.
  let end: Instant?

  var isExact: Bool { false }

  func tick(of instant: Instant) -> UInt64 {
    if let end, instant >= end { return .max }
    return .tick(afterStart: start.duration(to: instant))
  }

  func instant(at tick: UInt64) -> Instant {
    if tick == .max, let end { return end }
    return start.advanced(by: .fromStart(toTick: tick))
  }

  func instant(_ delay: Duration, after instant: Instant) -> Instant { instant.advanced(by: delay) }

  func instant(of time: MonotonicTime) -> Instant { origin.advanced(by: .sinceStart(time.nanoseconds)) }

  func realTime(of instant: Instant) -> MonotonicTime {
    MonotonicTime(nanoseconds: 0).advanced(by: origin.duration(to: instant))
  }
}

extension UInt64 {
  /// The tick that is `span` after the start's; the last one before the end of time where that is farther.
  package static func tick(afterStart span: Duration) -> UInt64 {
    Swift.min(UInt64(bitPattern: span.saturatedNanoseconds) ^ 1 << 63, .max - 1)
  }
}

extension Duration {
  /// The time from the start's tick to `tick`.
  package static func fromStart(toTick tick: UInt64) -> Duration { .nanoseconds(Int64(bitPattern: tick ^ 1 << 63)) }
}
