import Foundation
import Scheduler
import SchedulerFoundation

/// One of RxSwift's, for us. Its `now` is a date there; here it counts on from the monotonic instant of the adapter's making.
final class SchedulerOfRx: SchedulerType, @unchecked Sendable {
  // Unchecked, because RxSwift's protocol is not Sendable; its schedulers may be used from any thread by their contract.
  private let base: any RxSwift.SchedulerType
  private let start = (date: Date(), time: MonotonicTime.now)

  init(_ base: any RxSwift.SchedulerType) { self.base = base }

  var now: MonotonicTime { start.time.advanced(by: .seconds(base.now.timeIntervalSince(start.date))) }

  @discardableResult
  func schedule<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable { ours(base.schedule(state) { RxDisposable(base: action($0)) }) }

  @discardableResult
  func schedule<State: Sendable>(
    _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable {
    ours(base.scheduleRelative(state, dueTime: DispatchTimeInterval(delay)) { RxDisposable(base: action($0)) })
  }
}
