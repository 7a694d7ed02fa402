import Foundation
import Scheduler
import SchedulerFoundation
import SchedulerRx

/// One of RxSwift's, for us. Its `now` is a date there; here it counts on from the monotonic instant of the adapter's making.
final class SchedulerOfRx: SchedulerType, @unchecked Sendable {
  // Unchecked, because RxSwift's protocol is not Sendable; its schedulers may be used from any thread by their contract.
  private let base: any RxSwift.SchedulerType
  private let start = (date: Date(), time: MonotonicTime.now)

  init(_ base: any RxSwift.SchedulerType) { self.base = base }

  var now: MonotonicTime { start.time.advanced(by: .seconds(base.now.timeIntervalSince(start.date))) }

  @discardableResult
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    ours(base.schedule(()) { _ in called(action) })
  }

  @discardableResult
  func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    timing.schedule(on: self, action) { delay, _, action in
      ours(base.scheduleRelative((), dueTime: DispatchTimeInterval(delay)) { called(action) })
    }
  }
}

/// Calls `action`, and returns a disposable of RxSwift's that does nothing.
func called(_ action: () -> Void) -> any RxSwift.Disposable {
  action()
  return RxDisposable(base: Disposables.create())
}
