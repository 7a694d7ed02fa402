import Foundation
import Scheduler
import SchedulerDispatch
import SchedulerRx

/// A scheduler of this package, for RxSwift. Its closures and states are not marked Sendable there, and are sent to
/// the scheduler by contract.
struct RxScheduler: RxSwift.SchedulerType {
  let base: any SchedulerType
  private let dates: Dates

  init(_ base: any SchedulerType) { (self.base, dates) = (base, Dates(start: base.now)) }

  var now: Date { dates.date(of: base.now) }

  func schedule<State>(_ state: State, action: @escaping (State) -> any RxSwift.Disposable) -> any RxSwift.Disposable {
    nonisolated(unsafe) let call = { ours(action(state)) }
    return RxDisposable(base: base.schedule(()) { _ in call() })
  }

  func scheduleRelative<State>(
    _ state: State, dueTime: DispatchTimeInterval, action: @escaping (State) -> any RxSwift.Disposable
  ) -> any RxSwift.Disposable {
    nonisolated(unsafe) let call = { ours(action(state)) }
    return RxDisposable(base: base.schedule((), after: Duration(dueTime)) { _ in call() })
  }

  func schedulePeriodic<State>(
    _ state: State, startAfter: DispatchTimeInterval, period: DispatchTimeInterval, action: @escaping (State) -> State
  ) -> any RxSwift.Disposable {
    var state = state
    nonisolated(unsafe) let tick = { state = action(state) }
    return RxDisposable(base: base.schedule(.every(Duration(period), after: Duration(startAfter))) { tick() })
  }
}
