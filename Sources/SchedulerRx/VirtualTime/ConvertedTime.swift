public import Scheduler

/// An instant of a ``VirtualTimeConverter`` as an `InstantProtocol`: the instant type of a `VirtualTimeScheduler` with
/// a converter.
public struct ConvertedTime<Converter: VirtualTimeConverter>: InstantProtocol {
  /// The instant in the converter's unit.
  public let time: Converter.VirtualTimeUnit
  /// The converter between virtual and real time.
  public let converter: Converter

  /// Creates an instant.
  ///
  /// - Parameters:
  ///   - time: the instant in the converter's unit.
  ///   - converter: converts between virtual and real time. A comparison uses the converter of its left operand.
  public init(_ time: Converter.VirtualTimeUnit, converter: Converter) {
    (self.time, self.converter) = (time, converter)
  }

  /// Returns the instant `interval` later, in the converter's unit; earlier if `interval` is negative.
  public func offset(by interval: Converter.VirtualTimeIntervalUnit) -> Self {
    Self(converter.offsetVirtualTime(time, offset: interval), converter: converter)
  }

  public func advanced(by duration: Duration) -> Self { offset(by: converter.convertToVirtualTimeInterval(duration)) }

  public func duration(to other: Self) -> Duration {
    converter.convertFromVirtualTime(time).duration(to: converter.convertFromVirtualTime(other.time))
  }

  public static func < (left: Self, right: Self) -> Bool {
    left.converter.compareVirtualTime(left.time, right.time) == .lessThan
  }

  public static func == (left: Self, right: Self) -> Bool {
    left.converter.compareVirtualTime(left.time, right.time) == .equal
  }

  /// Hashes nothing, so all instants have the same hash. A converter can compare times but cannot hash them, and equal
  /// instants need equal hashes.
  public func hash(into hasher: inout Hasher) {}
}

/// Converts between a converter's instants and the scheduler's 64-bit ticks.
private struct ConvertedScale<Converter: VirtualTimeConverter>: VirtualTimeScale {
  let converter: Converter
  let start: Converter.VirtualTimeUnit  // the initial time of the scheduler's clock

  /// Returns the converter's `time` as an instant of the scheduler.
  private func wrap(_ time: Converter.VirtualTimeUnit) -> ConvertedTime<Converter> {
    ConvertedTime(time, converter: converter)
  }

  var isExact: Bool { false }  // a tick may represent several instants, so the clock also stores the instant
  func tick(of instant: ConvertedTime<Converter>) -> UInt64 { converter.tick(of: instant.time, from: start) }
  func instant(at tick: UInt64) -> ConvertedTime<Converter> { wrap(converter.virtualTime(at: tick, from: start)) }
  func instant(_ delay: Duration, after instant: ConvertedTime<Converter>) -> ConvertedTime<Converter> {
    instant.advanced(by: delay)
  }
  func instant(of time: MonotonicTime) -> ConvertedTime<Converter> { wrap(converter.convertToVirtualTime(time)) }
  func realTime(of instant: ConvertedTime<Converter>) -> MonotonicTime {
    converter.convertFromVirtualTime(instant.time)
  }
}

// Overloads with times in the converter's unit. If the unit is `Duration` or `MonotonicTime`, overload resolution
// prefers the methods of `Scheduler`, which accept real time and convert it.
extension VirtualTimeScheduler {
  /// Creates a scheduler in the time of `converter`. `virtualTime.time` is its current time.
  ///
  /// - Parameters:
  ///   - initialClock: the initial time of its clock.
  ///   - converter: converts between virtual and real time.
  ///   - actionLimit: how many actions one call of `advance`, `run` or `step` may run. More stop the process.
  public convenience init<Converter: VirtualTimeConverter>(
    initialClock: Converter.VirtualTimeUnit, converter: Converter, actionLimit: Int = 1 << 21
  ) where Instant == ConvertedTime<Converter> {
    self.init(
      initialClock: ConvertedTime(initialClock, converter: converter),
      scale: ConvertedScale(converter: converter, start: initialClock), actionLimit: actionLimit)
  }

  /// Returns `time` as an instant of this scheduler.
  private func instant<Converter>(_ time: Converter.VirtualTimeUnit) -> Instant
  where Instant == ConvertedTime<Converter> { ConvertedTime(time, converter: virtualTime.converter) }

  /// Schedules `action` for `time`, or for now if `time` is in the past.
  @discardableResult
  public func schedule<Converter>(at time: Converter.VirtualTimeUnit, _ action: @escaping @Sendable () -> Void)
    -> any Disposable
  where Instant == ConvertedTime<Converter> { schedule(at: instant(time), action) }

  /// Schedules `action` for `time`, or for now if `time` is in the past.
  ///
  /// - Parameters:
  ///   - state: passed to `action`.
  ///   - time: when, in virtual time. The past counts as the present.
  ///   - action: the closure to run. Disposing the token after it has run disposes its result.
  @discardableResult
  public func schedule<Converter, State: Sendable>(
    _ state: State, at time: Converter.VirtualTimeUnit, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable
  where Instant == ConvertedTime<Converter> { schedule(state, at: instant(time), action: action) }

  /// Schedules `action` after `delay` of virtual time; for now, if `delay` is not positive.
  @discardableResult
  public func schedule<Converter>(
    afterVirtual delay: Converter.VirtualTimeIntervalUnit, _ action: @escaping @Sendable () -> Void
  ) -> any Disposable
  where Instant == ConvertedTime<Converter> { schedule(at: virtualTime.offset(by: delay), action) }

  /// Schedules `action` after `delay` of virtual time; for now, if `delay` is not positive.
  ///
  /// - Parameters:
  ///   - state: passed to `action`.
  ///   - delay: how long from now, in virtual time.
  ///   - action: the closure to run. Disposing the token after it has run disposes its result.
  @discardableResult
  public func schedule<Converter, State: Sendable>(
    _ state: State, afterVirtual delay: Converter.VirtualTimeIntervalUnit,
    action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable
  where Instant == ConvertedTime<Converter> { schedule(state, at: virtualTime.offset(by: delay), action: action) }

  /// Moves the clock to `time`, and runs all actions due until then, in order.
  public func advance<Converter>(to time: Converter.VirtualTimeUnit) where Instant == ConvertedTime<Converter> {
    advance(to: instant(time))
  }

  /// Moves the clock forward by `interval`, and runs all actions due until then, in order.
  public func advance<Converter>(by interval: Converter.VirtualTimeIntervalUnit)
  where Instant == ConvertedTime<Converter> { advance(to: virtualTime.offset(by: interval)) }

  /// Moves the clock to `time` without running anything.
  public func sleep<Converter>(to time: Converter.VirtualTimeUnit) where Instant == ConvertedTime<Converter> {
    sleep(to: instant(time))
  }

  /// Moves the clock forward by `interval` without running anything.
  public func sleep<Converter>(by interval: Converter.VirtualTimeIntervalUnit)
  where Instant == ConvertedTime<Converter> { sleep(to: virtualTime.offset(by: interval)) }

  /// Suspends the task until the clock reaches `time`; returns at once if it has. Throws `CancellationError` if the
  /// task is cancelled.
  public func sleep<Converter>(until time: Converter.VirtualTimeUnit, isolation: isolated (any Actor)? = #isolation)
    async throws where Instant == ConvertedTime<Converter>
  { try await sleep(until: instant(time)) }

  /// Suspends the task for `interval` of virtual time. Throws `CancellationError` if the task is cancelled.
  public func sleep<Converter>(
    for interval: Converter.VirtualTimeIntervalUnit, isolation: isolated (any Actor)? = #isolation
  ) async throws where Instant == ConvertedTime<Converter> { try await sleep(until: virtualTime.offset(by: interval)) }

  /// RxSwift's name for `advance(to:)`.
  public func advanceTo<Converter>(_ time: Converter.VirtualTimeUnit) where Instant == ConvertedTime<Converter> {
    advance(to: time)
  }

  /// RxSwift's name for `schedule(_:at:action:)`.
  @discardableResult
  public func scheduleAbsoluteVirtual<Converter, State: Sendable>(
    _ state: State, time: Converter.VirtualTimeUnit, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable
  where Instant == ConvertedTime<Converter> { schedule(state, at: time, action: action) }

  /// RxSwift's name for `schedule(_:afterVirtual:action:)`.
  @discardableResult
  public func scheduleRelativeVirtual<Converter, State: Sendable>(
    _ state: State, dueTime: Converter.VirtualTimeIntervalUnit, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable
  where Instant == ConvertedTime<Converter> { schedule(state, afterVirtual: dueTime, action: action) }
}
