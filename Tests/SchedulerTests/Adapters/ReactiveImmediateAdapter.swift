import Scheduler
import SchedulerRx

/// A scheduler of this package without delays, such as `CurrentThreadScheduler`, for ReactiveSwift.
final class ReactiveImmediateScheduler: ReactiveSwift.Scheduler {
  private let base: any ImmediateSchedulerType
  init(_ base: any ImmediateSchedulerType) { self.base = base }

  @discardableResult
  func schedule(_ action: @escaping () -> Void) -> (any ReactiveSwift.Disposable)? {
    nonisolated(unsafe) let action = action  // sent to the scheduler by contract
    return ReactiveDisposable(base.schedule { action() })
  }
}

/// A scheduler of ReactiveSwift without dates, such as its `UIScheduler`, for this package.
struct ImmediateSchedulerOfReactive: ImmediateSchedulerType, @unchecked Sendable {
  // Unchecked, because ReactiveSwift's protocol is not Sendable; its schedulers may be used from any thread by their
  // contract.
  let base: any ReactiveSwift.Scheduler

  @discardableResult
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { cancelable(action) { base.schedule($0) } }
}
