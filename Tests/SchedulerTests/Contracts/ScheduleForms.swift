import Scheduler
import SchedulerRx

/// The forms of `schedule` that have to do with time, as the compiler finds them for one static type.
///
/// Overloads are chosen by the static type, so the same lines are here for each: a type that has an overload of its own
/// behaves by it. What is generic, or a wrapper of closures, would find those of the protocol only.
struct ScheduleForms {
  typealias Form = (Duration, @escaping @Sendable () -> Void) -> any Disposable

  /// Each ticks every so often, at first after as long. The last is that of SwiftNIO, which promises a fixed delay.
  let periodic: [Form]
  /// Each runs once, after so long.
  let once: [Form]

  static let periodicNames = [
    "schedule(.every)", "schedule(.every, after:)", "schedulePeriodic(timing)", "schedulePeriodic(period)",
    "schedule(after:interval:action:)", "schedule(after:interval:_:)", "schedulePeriodic(state, timing)",
    "schedulePeriodic(state, period)", "schedulePeriodic(_:startAfter:period:)", "scheduleRepeatedTask",
  ]

  /// Those of the scheduler as a class with overloads of its own; `nil`: it has none.
  static func asItself(_ scheduler: any SchedulerType) -> ScheduleForms? {
    switch scheduler {
    case let scheduler as TestScheduler: of(scheduler)
    case let scheduler as SchedulerTarget: of(scheduler)
    default: nil
    }
  }

  private static func stateful(_ action: @escaping @Sendable () -> Void) -> @Sendable (()) -> Void { { _ in action() } }

  private static func returning(_ action: @escaping @Sendable () -> Void) -> @Sendable (()) -> any Disposable {
    { _ in
      action()
      return Disposables.create()
    }
  }

  /// Those that are found for any scheduler.
  static func of(_ s: any SchedulerType) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(.every($0), $1) },
      { s.schedule(.every($0, after: $0), $1) },
      { period, action in s.schedulePeriodic(.every(period)) { _ in action() } },
      { period, action in s.schedulePeriodic(period) { _ in action() } },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic((), .every($0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(.after($0), $1) },
      { s.schedule(.after($0, tolerance: .zero), $1) },
      { s.schedule(.at(s.now.advanced(by: $0)), $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: SchedulerTarget) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(.every($0), $1) },
      { s.schedule(.every($0, after: $0), $1) },
      { period, action in s.schedulePeriodic(.every(period)) { _ in action() } },
      { period, action in s.schedulePeriodic(period) { _ in action() } },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic((), .every($0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(.after($0), $1) },
      { s.schedule(.after($0, tolerance: .zero), $1) },
      { s.schedule(.at(s.now.advanced(by: $0)), $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: TestScheduler) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(.every($0), $1) },
      { s.schedule(.every($0, after: $0), $1) },
      { period, action in s.schedulePeriodic(.every(period)) { _ in action() } },
      { period, action in s.schedulePeriodic(period) { _ in action() } },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic((), .every($0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(.after($0), $1) },
      { s.schedule(.after($0, tolerance: .zero), $1) },
      { s.schedule(.at(s.now.advanced(by: $0)), $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }
}
