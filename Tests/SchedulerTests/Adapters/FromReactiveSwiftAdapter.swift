import Foundation
import Scheduler

/// One of ReactiveSwift's, for us. Where that returns no disposable it cannot be cancelled; the closure is then kept from being called.
final class SchedulerOfReactive: SchedulerType, @unchecked Sendable {
  // Unchecked, because ReactiveSwift's protocol is not Sendable; its schedulers may be used from any thread by their contract.
  private let base: any ReactiveSwift.DateScheduler
  private let start = (date: Date(), time: MonotonicTime.now)

  init(_ base: any ReactiveSwift.DateScheduler) { self.base = base }

  var now: MonotonicTime { start.time.advanced(by: .seconds(base.currentDate.timeIntervalSince(start.date))) }

  @discardableResult
  func schedule<State: Sendable>(
    _ state: State, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable { submit({ action(state) }) { base.schedule($0) } }

  @discardableResult
  func schedule<State: Sendable>(
    _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable {
    submit({ action(state) }) { base.schedule(after: base.currentDate + max(delay, .zero) / .seconds(1), action: $0) }
  }

  private func submit(
    _ action: @escaping @Sendable () -> any Disposable,
    _ submission: (@escaping () -> Void) -> (any ReactiveSwift.Disposable)?
  ) -> any Cancelable {
    let returned = SingleAssignmentDisposable()
    nonisolated(unsafe) let waiting = submission { if !returned.isDisposed { returned.setDisposable(action()) } }
    return Disposables.create(Disposables.create { waiting?.dispose() }, returned)
  }
}
