import Scheduler
import SchedulerRx

/// A scheduler of this package without delays, such as `CurrentThreadScheduler`, for RxSwift.
struct RxImmediateScheduler: RxSwift.ImmediateSchedulerType {
  let base: any ImmediateSchedulerType

  func schedule<State>(_ state: State, action: @escaping (State) -> any RxSwift.Disposable) -> any RxSwift.Disposable {
    nonisolated(unsafe) let call = { ours(action(state)) }  // sent to the scheduler by contract
    return RxDisposable(base: base.schedule(()) { _ in call() })
  }
}

/// A scheduler of RxSwift without delays, for this package.
struct ImmediateSchedulerOfRx: ImmediateSchedulerType, @unchecked Sendable {
  // Unchecked, because RxSwift's protocol is not Sendable; its schedulers may be used from any thread by their
  // contract.
  let base: any RxSwift.ImmediateSchedulerType

  @discardableResult
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    ours(base.schedule(()) { _ in called(action) })
  }
}
