/// Converts between a virtual clock's instants and its 64-bit ticks. A later instant never has an earlier tick. The
/// tick `UInt64.max` is the end of time. Callers hold no lock, because arithmetic of instants is user code.
package protocol VirtualTimeScale<Instant>: Sendable {
  associatedtype Instant: InstantProtocol<Duration>

  /// Whether each tick represents exactly one instant.
  var isExact: Bool { get }

  /// Returns the tick that represents `instant`.
  func tick(of instant: Instant) -> UInt64

  /// Returns an instant whose tick is `tick`: the first one, if the scale can compute it.
  func instant(at tick: UInt64) -> Instant

  /// Returns the instant `delay` after `instant`, rounded up to the resolution of `Instant`.
  func instant(_ delay: Duration, after instant: Instant) -> Instant

  /// Returns the instant that `realTime(of:)` shows as `time`, rounded up.
  func instant(of time: MonotonicTime) -> Instant

  /// Returns `instant` as the scheduler's `now` shows it: in nanoseconds since the instant whose real time is 0.
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

/// Counts ticks in nanoseconds. The tick of `start` is 2⁶³, so that earlier instants have ticks, too. Uses the
/// instants' own arithmetic.
struct InstantScale<Instant: InstantProtocol<Duration>>: VirtualTimeScale {
  let start: Instant
  /// The instant that the scheduler's `now` shows as 0.
  let origin: Instant
  /// The final instant; nil if there is none. Its tick is `UInt64.max`.
  let end: Instant?

  var isExact: Bool { false }

  func tick(of instant: Instant) -> UInt64 {
    if let end, instant >= end { return .max }  // the end of time
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
  /// Returns the tick that is `span` after the start's tick, 2⁶³; at most `.max - 1`, because `.max` is the end of
  /// time. `^ 1 << 63` flips the sign bit of the signed span, which adds 2⁶³.
  package static func tick(afterStart span: Duration) -> UInt64 {
    Swift.min(UInt64(bitPattern: span.saturatedNanoseconds) ^ 1 << 63, .max - 1)
  }
}

extension Duration {
  /// Returns the time from the start's tick, 2⁶³, to `tick`: the inverse of `UInt64.tick(afterStart:)`.
  package static func fromStart(toTick tick: UInt64) -> Duration { .nanoseconds(Int64(bitPattern: tick ^ 1 << 63)) }
}
