public import Scheduler

/// Says what virtual time is, and how it goes with real time: for instants whose distance is no `Duration`.
///
/// The laws, which a converter owes to the scheduler:
///
/// 1. *Order.* `compareVirtualTime` is a strict order, the same one at every call, and a later time has no earlier tick. What has one tick
///    runs in the order of insertion.
/// 2. *Never early.* To virtual time, an instant or an interval that lies between two units is rounded up.
/// 3. *No overflow.* `offsetVirtualTime` and the conversions hold at the ends of their types; they never trap.
/// 4. *Direction.* Offset by a positive interval a time is later, or equal where it is held at the end; by a negative one the reverse.
/// 5. *Any thread.* The methods may be called from any thread, by several at a time. They run under no lock of ours, and may
///    look at the scheduler.
///
/// A scheduler counts 64 bits of ticks, which are nanoseconds of the converted time unless a converter says otherwise: see
/// ``tick(of:from:)``. So times that lie more than 292 years from the start share the first tick, or the last before the end of time.
///
/// The names and the shape are those of RxSwift's `VirtualTimeConverterType`, with `MonotonicTime` and `Duration` for real time.
public protocol VirtualTimeConverter: Sendable {
  /// An instant of virtual time.
  associatedtype VirtualTimeUnit: Sendable

  /// The difference of two instants of virtual time.
  associatedtype VirtualTimeIntervalUnit: Sendable

  /// Returns the real instant of `virtualTime`: what the scheduler's `now` shows, in nanoseconds since an arbitrary start.
  func convertFromVirtualTime(_ virtualTime: VirtualTimeUnit) -> MonotonicTime

  /// Returns the virtual time of the real instant `time`, rounded up.
  func convertToVirtualTime(_ time: MonotonicTime) -> VirtualTimeUnit

  /// Returns the real length of `virtualTimeInterval`.
  func convertFromVirtualTimeInterval(_ virtualTimeInterval: VirtualTimeIntervalUnit) -> Duration

  /// Returns the virtual length of `timeInterval`, rounded up.
  func convertToVirtualTimeInterval(_ timeInterval: Duration) -> VirtualTimeIntervalUnit

  /// Returns the instant `offset` after `time`; before it where `offset` is negative.
  func offsetVirtualTime(_ time: VirtualTimeUnit, offset: VirtualTimeIntervalUnit) -> VirtualTimeUnit

  /// Compares two instants. A `Comparable` time needs no such method.
  ///
  /// - Parameters:
  ///   - left: the one that is compared.
  ///   - right: the one that it is compared with.
  func compareVirtualTime(_ left: VirtualTimeUnit, _ right: VirtualTimeUnit) -> VirtualTimeComparison

  /// The last instant, where time is held when it overflows; `nil`, the default, where there is none.
  ///
  /// What waits there is beyond the end of time: `run` and `step` do not go there, only an advance that names it does.
  var endOfVirtualTime: VirtualTimeUnit? { get }

  /// Returns the tick of `virtualTime` on the clock of a scheduler that began at `start`; `UInt64.max` for the end of time, and for nothing
  /// else. By default a tick is a nanosecond, rounded up, and the start is at 2⁶³.
  func tick(of virtualTime: VirtualTimeUnit, from start: VirtualTimeUnit) -> UInt64

  /// Returns the first time that has `tick`, or any that has.
  ///
  /// - Parameters:
  ///   - tick: a tick of the scheduler's clock.
  ///   - start: the time at which that clock began.
  func virtualTime(at tick: UInt64, from start: VirtualTimeUnit) -> VirtualTimeUnit
}

extension VirtualTimeConverter {
  public var endOfVirtualTime: VirtualTimeUnit? { nil }

  public func tick(of virtualTime: VirtualTimeUnit, from start: VirtualTimeUnit) -> UInt64 {
    if let endOfVirtualTime, compareVirtualTime(virtualTime, endOfVirtualTime) != .lessThan { return .max }
    return .tick(afterStart: convertFromVirtualTime(start).duration(to: convertFromVirtualTime(virtualTime)))
  }

  public func virtualTime(at tick: UInt64, from start: VirtualTimeUnit) -> VirtualTimeUnit {
    if tick == .max, let endOfVirtualTime { return endOfVirtualTime }
    return convertToVirtualTime(convertFromVirtualTime(start).advanced(by: .fromStart(toTick: tick)))
  }
}

extension VirtualTimeConverter where VirtualTimeUnit: Comparable {
  public func compareVirtualTime(_ left: VirtualTimeUnit, _ right: VirtualTimeUnit) -> VirtualTimeComparison {
    left < right ? .lessThan : (right < left ? .greaterThan : .equal)
  }
}

/// How two virtual times compare: the answer of ``VirtualTimeConverter/compareVirtualTime(_:_:)``.
public enum VirtualTimeComparison: Hashable, Sendable {
  /// The first is earlier than the second.
  case lessThan
  /// Neither is earlier than the other.
  case equal
  /// The first is later than the second.
  case greaterThan
}
