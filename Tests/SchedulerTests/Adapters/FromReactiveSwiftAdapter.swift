import Foundation
import Scheduler
import SchedulerRx

/// One of ReactiveSwift's, for us. Where that returns no disposable it cannot be cancelled; the closure is then kept
/// from being called. `now` counts on from the monotonic instant of the adapter's making, by as much as `currentDate`
/// has moved since, in whole microseconds, because differences of dates are exact to a tenth of one.
final class SchedulerOfReactive: SchedulerType, @unchecked Sendable {
  // Unchecked, because ReactiveSwift's protocol is not Sendable; its schedulers may be used from any thread by their
  // contract.
  private let base: any ReactiveSwift.DateScheduler
  private let start: (date: Date, time: MonotonicTime)

  init(_ base: any ReactiveSwift.DateScheduler) { (self.base, start) = (base, (base.currentDate, .now)) }

  var now: MonotonicTime {
    start.time.advanced(by: .microseconds((base.currentDate.timeIntervalSince(start.date) * 1e6).rounded()))
  }

  @discardableResult
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { cancelable(action) { base.schedule($0) } }

  @discardableResult
  func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    timing.schedule(on: self, action) { delay, _, action in
      cancelable(action) { base.schedule(after: base.currentDate + max(delay, .zero) / .seconds(1), action: $0) }
    }
  }
}

/// Has one of ReactiveSwift's schedule `action`, and keeps that from being called once what is returned has been
/// disposed.
func cancelable(
  _ action: @escaping @Sendable () -> Void, _ submit: (@escaping () -> Void) -> (any ReactiveSwift.Disposable)?
) -> any Disposable {
  let isCancelled = BooleanDisposable()
  nonisolated(unsafe) let waiting = submit { if !isCancelled.isDisposed { action() } }
  return Disposables.create(Disposables.create { waiting?.dispose() }, isCancelled)
}
