import Foundation
import Scheduler
import SchedulerDispatch
import SchedulerRx

/// One of RxSwift's, for us. Its `now` is a date there. Here it counts on from the monotonic instant of the adapter's
/// making, by as much as that date has moved since, in whole microseconds, because differences of dates are exact to a
/// tenth of one.
final class SchedulerOfRx: SchedulerType, @unchecked Sendable {
  // Unchecked, because RxSwift's protocol is not Sendable; its schedulers may be used from any thread by their
  // contract.
  private let base: any RxSwift.SchedulerType
  private let start: (date: Date, time: MonotonicTime)

  init(_ base: any RxSwift.SchedulerType) { (self.base, start) = (base, (base.now, .now)) }

  var now: MonotonicTime {
    start.time.advanced(by: .microseconds((base.now.timeIntervalSince(start.date) * 1e6).rounded()))
  }

  @discardableResult
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    ours(base.schedule(()) { _ in called(action) })
  }

  @discardableResult
  func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    if let period = timing.period, period <= .zero {  // RxSwift's own ticks: in RxTest one at each step of the clock
      let delay = max(.zero, timing.delay(from: now))
      return ours(
        base.schedulePeriodic((), startAfter: DispatchTimeInterval(delay), period: .nanoseconds(0)) { action() })
    }
    return timing.schedule(on: self, action) { delay, _, action in
      ours(base.scheduleRelative((), dueTime: DispatchTimeInterval(delay)) { called(action) })
    }
  }
}

/// Calls `action`, and returns a disposable of RxSwift's that does nothing.
func called(_ action: () -> Void) -> any RxSwift.Disposable {
  action()
  return RxDisposable(base: Disposables.create())
}
