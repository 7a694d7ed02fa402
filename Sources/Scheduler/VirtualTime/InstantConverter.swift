/// Takes the instants of any clock for virtual time. Real time is counted from `origin`.
///
/// It is the instants' own arithmetic that is used: it is up to them not to overflow.
public struct InstantConverter<Instant: InstantProtocol & Sendable>: VirtualTimeConverter
where Instant.Duration == Duration {
  /// The instant whose real time is 0.
  public let origin: Instant

  public let endOfVirtualTime: Instant?

  /// Creates a converter. Instants are held at `end`, or have no end.
  ///
  /// - Parameters:
  ///   - origin: the instant whose real time is 0.
  ///   - end: where time is held; `nil`: it has no end.
  public init(origin: Instant, end: Instant? = nil) {
    self.origin = origin
    endOfVirtualTime = end
  }

  /// Returns the real instant of `virtualTime`; 0 where that is before the origin.
  public func convertFromVirtualTime(_ virtualTime: Instant) -> MonotonicTime {
    MonotonicTime(nanoseconds: 0).advanced(by: origin.duration(to: virtualTime))
  }

  public func convertToVirtualTime(_ time: MonotonicTime) -> Instant {
    origin.advanced(by: .seconds(time.nanoseconds / 1_000_000_000) + .nanoseconds(time.nanoseconds % 1_000_000_000))
  }

  public func convertFromVirtualTimeInterval(_ virtualTimeInterval: Duration) -> Duration { virtualTimeInterval }

  public func convertToVirtualTimeInterval(_ timeInterval: Duration) -> Duration { timeInterval }

  public func offsetVirtualTime(_ time: Instant, offset: Duration) -> Instant { time.advanced(by: offset) }

  public func tick(of virtualTime: Instant, from start: Instant) -> UInt64 {
    tick(of: virtualTime, after: start.duration(to: virtualTime))
  }

  public func virtualTime(at tick: UInt64, from start: Instant) -> Instant {
    if tick == .max, let end = endOfVirtualTime { return end }
    return start.advanced(by: span(to: tick))
  }
}
