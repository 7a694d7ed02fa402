import Foundation
import Scheduler
import SchedulerRx

/// Virtual time as in RxTest: dates since 1970, in units of a resolution; work for the present is due a unit later. On
/// one thread.
final class RxVirtualTime: RxSwift.SchedulerType {
  private var clock: Int, waiting: [(time: Int, run: () -> Void, isCancelled: BooleanDisposable)] = []
  private let resolution: Double

  init(clock: Int = 0, resolution: Double = 1) { (self.clock, self.resolution) = (clock, resolution) }

  var now: Date { Date(timeIntervalSince1970: Double(clock) * resolution) }
  var time: Int { clock }

  func schedule<State>(_ state: State, action: @escaping (State) -> any RxSwift.Disposable) -> any RxSwift.Disposable {
    scheduleRelative(state, dueTime: .nanoseconds(0), action: action)
  }

  func scheduleRelative<State>(
    _ state: State, dueTime: DispatchTimeInterval, action: @escaping (State) -> any RxSwift.Disposable
  ) -> any RxSwift.Disposable {
    let due = clock + Int(Duration(dueTime) / .seconds(1) / resolution + 0.5), isCancelled = BooleanDisposable()
    waiting.append((max(due, clock + 1), { _ = action(state) }, isCancelled))
    return RxDisposable(base: isCancelled)
  }

  func schedulePeriodic<State>(
    _ state: State, startAfter: DispatchTimeInterval, period: DispatchTimeInterval, action: @escaping (State) -> State
  ) -> any RxSwift.Disposable {
    let next = SerialDisposable()
    func submit(_ state: State, after delay: DispatchTimeInterval) {
      next.disposable = ours(
        scheduleRelative((), dueTime: delay) { _ in
          let state = action(state)
          if !next.isDisposed { submit(state, after: period) }
          return RxDisposable(base: BooleanDisposable())
        })
    }
    submit(state, after: startAfter)
    return RxDisposable(base: next)
  }

  func advance(to end: Int) {
    while let next = waiting.indices.filter({ waiting[$0].time <= end }).min(by: { waiting[$0].time < waiting[$1].time }
    ) {
      let work = waiting.remove(at: next)
      if work.isCancelled.isDisposed { continue }
      clock = work.time
      work.run()
    }
    clock = end
  }
}

/// Virtual time as in ReactiveSwift: its dates begin with 2001. On one thread.
final class ReactiveVirtualTime: ReactiveSwift.DateScheduler {
  private(set) var currentDate = Date(timeIntervalSinceReferenceDate: 0)
  private var waiting: [(date: Date, run: () -> Void, isCancelled: BooleanDisposable)] = []

  func schedule(_ action: @escaping () -> Void) -> (any ReactiveSwift.Disposable)? {
    schedule(after: currentDate, action: action)
  }

  func schedule(after date: Date, action: @escaping () -> Void) -> (any ReactiveSwift.Disposable)? {
    let isCancelled = BooleanDisposable()
    waiting.append((date, action, isCancelled))
    return ReactiveDisposable(isCancelled)
  }

  func schedule(
    after date: Date, interval: DispatchTimeInterval, leeway: DispatchTimeInterval, action: @escaping () -> Void
  ) -> (any ReactiveSwift.Disposable)? { fatalError("an adapter emulates periods") }

  func advance(by seconds: Double) {
    let end = currentDate + seconds
    while let next = waiting.indices.filter({ waiting[$0].date <= end }).min(by: { waiting[$0].date < waiting[$1].date }
    ) {
      let work = waiting.remove(at: next)
      if work.isCancelled.isDisposed { continue }
      currentDate = max(currentDate, work.date)
      work.run()
    }
    currentDate = end
  }
}
