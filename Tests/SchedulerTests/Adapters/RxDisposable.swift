import Scheduler
import SchedulerRx

/// One of our disposables, for RxSwift.
struct RxDisposable: RxSwift.Disposable {
  let base: any Disposable
  func dispose() { base.dispose() }
}

/// One of RxSwift's disposables, for us.
func ours(_ disposable: any RxSwift.Disposable) -> any Disposable {
  nonisolated(unsafe) let disposable = disposable  // may be disposed on any thread, by its contract
  return Disposables.create { disposable.dispose() }
}
