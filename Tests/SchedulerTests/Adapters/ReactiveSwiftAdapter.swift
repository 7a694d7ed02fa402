import Foundation
import Scheduler
import SchedulerDispatch
import SchedulerRx

/// A scheduler of this package, for ReactiveSwift, whose closures are sent to the scheduler by contract.
final class ReactiveScheduler: ReactiveSwift.DateScheduler {
  let base: any SchedulerType
  private let dates: Dates

  init(_ base: any SchedulerType) { (self.base, dates) = (base, Dates(start: base.now)) }

  var currentDate: Date { dates.date(of: base.now) }

  @discardableResult
  func schedule(_ action: @escaping () -> Void) -> (any ReactiveSwift.Disposable)? {
    nonisolated(unsafe) let action = action
    return ReactiveDisposable(base.schedule { action() })
  }

  @discardableResult
  func schedule(after date: Date, action: @escaping () -> Void) -> (any ReactiveSwift.Disposable)? {
    nonisolated(unsafe) let action = action
    return ReactiveDisposable(base.schedule(after: dates.span(to: date, from: base.now)) { action() })
  }

  @discardableResult
  func schedule(
    after date: Date, interval: DispatchTimeInterval, leeway: DispatchTimeInterval, action: @escaping () -> Void
  ) -> (any ReactiveSwift.Disposable)? {
    nonisolated(unsafe) let action = action
    let timing = ActionTiming.every(
      Duration(interval), after: dates.span(to: date, from: base.now), tolerance: Duration(leeway))
    return ReactiveDisposable(base.schedule(timing) { action() })
  }
}
