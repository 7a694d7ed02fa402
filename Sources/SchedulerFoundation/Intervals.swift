public import Dispatch
public import Scheduler
internal import SchedulerRx

extension Duration {
  /// The same length; for ever, 292 years, for `.never`, and for kinds that are not known here.
  public init(_ interval: DispatchTimeInterval) {
    switch interval {
    case .seconds(let count): self = .seconds(count)
    case .milliseconds(let count): self = .milliseconds(count)
    case .microseconds(let count): self = .microseconds(count)
    case .nanoseconds(let count): self = .nanoseconds(count)
    default: self = .nanoseconds(Int64.max)
    }
  }
}

extension DispatchTimeInterval {
  /// The same length, rounded up to nanoseconds; `.never` from 292 years on.
  public init(_ duration: Duration) {
    let nanoseconds = duration.saturatedNanoseconds
    self = nanoseconds == .max ? .never : .nanoseconds(Int(nanoseconds))
  }
}

// Disfavoured, so that `.seconds(1)` is a Duration: these are for what is a DispatchTimeInterval already.
extension SchedulerType {
  /// Schedules `action` for `dueTime` from now: RxSwift's method with RxSwift's type.
  @_disfavoredOverload
  @discardableResult
  public func scheduleRelative<State: Sendable>(
    _ state: State, dueTime: DispatchTimeInterval, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { scheduleRelative(state, dueTime: Duration(dueTime), action: action) }

  /// Schedules `action` for `startAfter` from now, and then for every `period`: RxSwift's method with RxSwift's type.
  @_disfavoredOverload
  @discardableResult
  public func schedulePeriodic<State: Sendable>(
    _ state: State, startAfter: DispatchTimeInterval, period: DispatchTimeInterval,
    action: @escaping @Sendable (State) -> State
  ) -> any Disposable {
    schedulePeriodic(state, startAfter: Duration(startAfter), period: Duration(period), action: action)
  }
}
