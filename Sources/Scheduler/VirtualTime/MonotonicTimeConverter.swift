/// Takes ``MonotonicTime`` for virtual time: a unit is a nanosecond.
///
/// What overflows is held at the ends. An interval of 292 years or more, which is as far as 64 bits count nanoseconds, leads to the
/// end of time, as it does on the other schedulers.
public struct MonotonicTimeConverter: VirtualTimeConverter {
  /// Creates the converter, which has no state.
  public init() {}

  public func convertFromVirtualTime(_ virtualTime: MonotonicTime) -> MonotonicTime { virtualTime }

  public func convertToVirtualTime(_ time: MonotonicTime) -> MonotonicTime { time }

  public func convertFromVirtualTimeInterval(_ virtualTimeInterval: Duration) -> Duration { virtualTimeInterval }

  public func convertToVirtualTimeInterval(_ timeInterval: Duration) -> Duration { timeInterval }

  public func offsetVirtualTime(_ time: MonotonicTime, offset: Duration) -> MonotonicTime {
    switch offset.saturatedNanoseconds {
    case .max: MonotonicTime(nanoseconds: .max)
    case .min: MonotonicTime(nanoseconds: .min)
    default: time.advanced(by: offset)
    }
  }

  public var endOfVirtualTime: MonotonicTime? { MonotonicTime(nanoseconds: .max) }

  public func tick(of virtualTime: MonotonicTime, from start: MonotonicTime) -> UInt64 { virtualTime.nanoseconds }

  public func virtualTime(at tick: UInt64, from start: MonotonicTime) -> MonotonicTime {
    MonotonicTime(nanoseconds: tick)
  }
}
