import Scheduler
import SchedulerRx

/// One of ours that knows no delays, such as `CurrentThreadScheduler`, for RxSwift.
struct RxImmediateScheduler: RxSwift.ImmediateSchedulerType {
  let base: any ImmediateSchedulerType

  func schedule<State>(_ state: State, action: @escaping (State) -> any RxSwift.Disposable) -> any RxSwift.Disposable {
    nonisolated(unsafe) let call = { ours(action(state)) }  // sent to the scheduler by contract
    return RxDisposable(base: base.schedule(()) { _ in call() })
  }
}

/// One of RxSwift's that knows no delays, for us.
struct ImmediateSchedulerOfRx: ImmediateSchedulerType, @unchecked Sendable {
  // Unchecked, because RxSwift's protocol is not Sendable; its schedulers may be used from any thread by their
  // contract.
  let base: any RxSwift.ImmediateSchedulerType

  @discardableResult
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    ours(base.schedule(()) { _ in called(action) })
  }
}
