import Foundation

/// What RxSwift declares for its schedulers, as far as an adapter needs it: the package is not fetched for a test.
enum RxSwift {
  typealias RxTime = Date
  typealias RxTimeInterval = DispatchTimeInterval

  protocol Disposable {
    func dispose()
  }

  protocol ImmediateSchedulerType {
    func schedule<StateType>(_ state: StateType, action: @escaping (StateType) -> any Disposable) -> any Disposable
  }

  protocol SchedulerType: ImmediateSchedulerType {
    var now: RxTime { get }
    func scheduleRelative<StateType>(
      _ state: StateType, dueTime: RxTimeInterval, action: @escaping (StateType) -> any Disposable
    ) -> any Disposable
    func schedulePeriodic<StateType>(
      _ state: StateType, startAfter: RxTimeInterval, period: RxTimeInterval,
      action: @escaping (StateType) -> StateType
    ) -> any Disposable
  }
}
