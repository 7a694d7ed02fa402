public import Dispatch
public import Scheduler
internal import SchedulerDispatch
internal import SchedulerRx

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

// Overloads for values of type DispatchQoS. Disfavoured, so that the literal `.background` is a SchedulerPriority.
extension SerialScheduler {
  /// Creates a scheduler on the shared pool, with RxSwift's parameters.
  @_disfavoredOverload
  public convenience init(qos: DispatchQoS, internalSerialQueueName name: String = "") {
    self.init(name: name, priority: SchedulerPriority(qos))
  }
}

extension ConcurrentScheduler {
  /// Creates a scheduler with RxSwift's parameters.
  @_disfavoredOverload
  public convenience init(qos: DispatchQoS) { self.init(priority: SchedulerPriority(qos)) }
}
