/// Converts between instants and a virtual clock's 64-bit ticks.
/// A later instant never has an earlier tick. `UInt64.max` is the end of time. No lock is held while an instant's own arithmetic and comparison run.
package protocol VirtualTimeScale<Instant>: Sendable {
  associatedtype Instant: InstantProtocol<Duration>

  /// Whether each tick represents exactly one instant.
  var isExact: Bool { get }

  func tick(of instant: Instant) -> UInt64

  /// Returns an instant whose tick is `tick`: the first one, if the scale can compute it.
  func instant(at tick: UInt64) -> Instant

  /// Returns the instant `delay` after `instant`, rounded up.
  func instant(_ delay: Duration, after instant: Instant) -> Instant

  /// Returns the instant that corresponds to the real time `time`, rounded up.
  func instant(of time: MonotonicTime) -> Instant

  /// Returns `instant` as real time.
  func realTime(of instant: Instant) -> MonotonicTime
}

/// Uses the nanoseconds of ``MonotonicTime`` as ticks.
struct MonotonicScale: VirtualTimeScale {
  var isExact: Bool { true }
  func tick(of instant: MonotonicTime) -> UInt64 { instant.nanoseconds }
  func instant(at tick: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: tick) }
  func instant(_ delay: Duration, after instant: MonotonicTime) -> MonotonicTime { instant.advanced(by: delay) }
  func instant(of time: MonotonicTime) -> MonotonicTime { time }
  func realTime(of instant: MonotonicTime) -> MonotonicTime { instant }
}

/// Counts nanoseconds from `start`, whose tick is 2⁶³. Uses the instants' own arithmetic.
struct InstantScale<Instant: InstantProtocol<Duration>>: VirtualTimeScale {
  let start: Instant
  /// The instant whose real time is 0.
  let origin: Instant
  /// The final instant, if there is one: its tick is `UInt64.max`.
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
  /// Returns the tick that is `span` after the start's tick; at most the tick before the end of time. `^ 1 << 63` adds 2⁶³ to the signed span.
  package static func tick(afterStart span: Duration) -> UInt64 {
    Swift.min(UInt64(bitPattern: span.saturatedNanoseconds) ^ 1 << 63, .max - 1)
  }
}

extension Duration {
  /// Returns the time from the start's tick to `tick`.
  package static func fromStart(toTick tick: UInt64) -> Duration { .nanoseconds(Int64(bitPattern: tick ^ 1 << 63)) }
}
