public import Scheduler

/// Defines virtual time and its relation to real time, for instants whose distance is not a `Duration`.
///
/// The scheduler relies on these guarantees of a converter:
///
/// 1. *Order.* `compareVirtualTime` is a strict order that never changes, and a later time never has an earlier tick.
///    Actions with the same tick run in the order of insertion.
/// 2. *Never early.* Conversion to virtual time rounds up an instant or an interval between two units.
/// 3. *No overflow.* `offsetVirtualTime` and the conversions clamp at the ends of their types; they never trap.
/// 4. *Direction.* A positive offset gives a later time, or the same time if clamped at the end; a negative one the
///    reverse.
/// 5. *Any thread.* Several threads may call the methods at the same time. The scheduler holds no lock during these
///    calls, so the methods may read the scheduler.
///
/// A scheduler counts in 64-bit ticks. By default a tick is a nanosecond of converted time: see ``tick(of:from:)``.
/// Then all times more than 292 years before the start have the first tick, and all times more than 292 years after the
/// start have the final tick before the end of time.
///
/// The names and the shape come from RxSwift's `VirtualTimeConverterType`, with `MonotonicTime` and `Duration` for real
/// time.
public protocol VirtualTimeConverter: Sendable {
  /// An instant of virtual time.
  associatedtype VirtualTimeUnit: Sendable

  /// The difference of two instants of virtual time.
  associatedtype VirtualTimeIntervalUnit: Sendable

  /// Returns the real instant of `virtualTime`, for the scheduler's `now`, in nanoseconds since an arbitrary start.
  func convertFromVirtualTime(_ virtualTime: VirtualTimeUnit) -> MonotonicTime

  /// Returns the virtual time of the real instant `time`, rounded up.
  func convertToVirtualTime(_ time: MonotonicTime) -> VirtualTimeUnit

  /// Returns the real length of `virtualTimeInterval`.
  func convertFromVirtualTimeInterval(_ virtualTimeInterval: VirtualTimeIntervalUnit) -> Duration

  /// Returns the virtual length of `timeInterval`, rounded up.
  func convertToVirtualTimeInterval(_ timeInterval: Duration) -> VirtualTimeIntervalUnit

  /// Returns the instant `offset` after `time`, or before it if `offset` is negative.
  func offsetVirtualTime(_ time: VirtualTimeUnit, offset: VirtualTimeIntervalUnit) -> VirtualTimeUnit

  /// Compares two instants. The default works for a `Comparable` time.
  ///
  /// - Parameters:
  ///   - left: the first operand.
  ///   - right: the second operand.
  func compareVirtualTime(_ left: VirtualTimeUnit, _ right: VirtualTimeUnit) -> VirtualTimeComparison

  /// The end of time, at which overflowing times are clamped; `nil`, the default, if there is none.
  ///
  /// Work at this instant is beyond the end of time: `run` and `step` do not reach it, only an advance to this instant
  /// does.
  var endOfVirtualTime: VirtualTimeUnit? { get }

  /// Returns the tick of `virtualTime` on the clock of a scheduler that started at `start`; `UInt64.max` for the end of
  /// time only.
  ///
  /// By default a tick is a nanosecond, rounded up, and the start is at 2⁶³.
  func tick(of virtualTime: VirtualTimeUnit, from start: VirtualTimeUnit) -> UInt64

  /// Returns the first time with this `tick`, or another time with the same tick.
  ///
  /// - Parameters:
  ///   - tick: a tick of the scheduler's clock.
  ///   - start: the time at which that clock started.
  func virtualTime(at tick: UInt64, from start: VirtualTimeUnit) -> VirtualTimeUnit
}

extension VirtualTimeConverter {
  public var endOfVirtualTime: VirtualTimeUnit? { nil }

  public func tick(of virtualTime: VirtualTimeUnit, from start: VirtualTimeUnit) -> UInt64 {  // .max: the end of time
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

/// The result of ``VirtualTimeConverter/compareVirtualTime(_:_:)``.
public enum VirtualTimeComparison: Hashable, Sendable {
  /// The first is earlier than the second.
  case lessThan
  /// Neither is earlier than the other.
  case equal
  /// The first is later than the second.
  case greaterThan
}
