public import Dispatch
public import Scheduler
internal import SchedulerRx

extension Duration {
  /// Creates the same length. `.never`, and unknown kinds of intervals, give the maximum of 292 years.
  public init(_ interval: DispatchTimeInterval) {
    switch interval {
    case .seconds(let count): self = .seconds(count)
    case .milliseconds(let count): self = .milliseconds(count)
    case .microseconds(let count): self = .microseconds(count)
    case .nanoseconds(let count): self = .nanoseconds(count)
    default: self = .nanoseconds(Int64.max)  // 292 years, which clocks take as never
    }
  }
}

extension DispatchTimeInterval {
  /// Creates the same length, rounded up to nanoseconds; `.never` from 292 years on.
  public init(_ duration: Duration) {
    let nanoseconds = duration.saturatedNanoseconds
    self = nanoseconds == .max ? .never : .nanoseconds(Int(nanoseconds))  // max: 292 years or more
  }
}

// Overloads for values of type DispatchTimeInterval. Disfavoured, so that the literal `.seconds(1)` is a Duration.
extension SchedulerType {
  /// Schedules `action` after `dueTime`: RxSwift's method with RxSwift's type.
  @_disfavoredOverload
  @discardableResult
  public func scheduleRelative<State: Sendable>(
    _ state: State, dueTime: DispatchTimeInterval, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { scheduleRelative(state, dueTime: Duration(dueTime), action: action) }

  /// Schedules `action` after `startAfter`, and then every `period`: RxSwift's method with RxSwift's type.
  @_disfavoredOverload
  @discardableResult
  public func schedulePeriodic<State: Sendable>(
    _ state: State, startAfter: DispatchTimeInterval, period: DispatchTimeInterval,
    action: @escaping @Sendable (State) -> State
  ) -> any Disposable {
    schedulePeriodic(state, startAfter: Duration(startAfter), period: Duration(period), action: action)
  }
}
