import Scheduler

/// The forms of `schedule` that have to do with time, as the compiler finds them for one static type.
///
/// Overloads are chosen by the static type, so the same lines are here for each: a type that has an overload of its own behaves by it. What is generic,
/// or a wrapper of closures, would find those of the protocol only.
struct ScheduleForms {
  typealias Form = (Duration, @escaping @Sendable () -> Void) -> any Cancelable

  /// Each ticks every so often, at first after as long. The last is that of SwiftNIO, which promises a fixed delay.
  let periodic: [Form]
  /// Each runs once, after so long.
  let once: [Form]

  static let periodicNames = [
    "schedule(after:repeating:_:)", "schedule(after:repeating:tolerance:_:)", "schedule(repeating:_:)",
    "schedule(repeating:tolerance:_:)", "schedule(after:interval:action:)", "schedule(after:interval:_:)",
    "schedulePeriodic(timing)", "schedulePeriodic(period)", "schedulePeriodic(state, timing)",
    "schedulePeriodic(state, period)", "schedulePeriodic(_:startAfter:period:)", "scheduleRepeatedTask",
  ]

  /// Those of the scheduler as itself; `nil`: its type is not known here.
  static func asItself(_ scheduler: any SchedulerType) -> ScheduleForms? {
    switch scheduler {
    case let scheduler as ThreadScheduler: of(scheduler)
    case let scheduler as SerialScheduler: of(scheduler)
    case let scheduler as ConcurrentScheduler: of(scheduler)
    case let scheduler as BarrierScheduler: of(scheduler)
    case let scheduler as CustomScheduler: of(scheduler)
    case let scheduler as MainScheduler: of(scheduler)
    case let scheduler as SubscriptionScheduler: of(scheduler)
    case let scheduler as TestScheduler: of(scheduler)
    case let scheduler as HistoricalScheduler: of(scheduler)
    case let scheduler as AnyScheduler: of(scheduler)
    case let scheduler as WrappingScheduler: of(scheduler)
    case let scheduler as GroupScheduler: of(scheduler)
    case let scheduler as RecordingScheduler<ThreadScheduler>: of(scheduler)
    case let scheduler as RecordingScheduler<ConcurrentScheduler>: of(scheduler)
    case let scheduler as RecordingScheduler<TestScheduler>: of(scheduler)
    case let scheduler as Foreign: of(scheduler)
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
      { s.schedule(after: $0, repeating: $0, $1) },
      { s.schedule(after: $0, repeating: $0, tolerance: .zero, $1) },
      { s.schedule(repeating: $0, $1) },
      { s.schedule(repeating: $0, tolerance: .zero, $1) },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic(PeriodicTiming(every: $0), action: $1) },
      { s.schedulePeriodic($0, action: $1) },
      { s.schedulePeriodic((), PeriodicTiming(every: $0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(after: $0, tolerance: .zero, $1) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
      { s.schedule(at: s.now.advanced(by: $0), tolerance: .zero, $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: ThreadScheduler) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(after: $0, repeating: $0, $1) },
      { s.schedule(after: $0, repeating: $0, tolerance: .zero, $1) },
      { s.schedule(repeating: $0, $1) },
      { s.schedule(repeating: $0, tolerance: .zero, $1) },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic(PeriodicTiming(every: $0), action: $1) },
      { s.schedulePeriodic($0, action: $1) },
      { s.schedulePeriodic((), PeriodicTiming(every: $0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(after: $0, tolerance: .zero, $1) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
      { s.schedule(at: s.now.advanced(by: $0), tolerance: .zero, $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: SerialScheduler) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(after: $0, repeating: $0, $1) },
      { s.schedule(after: $0, repeating: $0, tolerance: .zero, $1) },
      { s.schedule(repeating: $0, $1) },
      { s.schedule(repeating: $0, tolerance: .zero, $1) },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic(PeriodicTiming(every: $0), action: $1) },
      { s.schedulePeriodic($0, action: $1) },
      { s.schedulePeriodic((), PeriodicTiming(every: $0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(after: $0, tolerance: .zero, $1) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
      { s.schedule(at: s.now.advanced(by: $0), tolerance: .zero, $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: ConcurrentScheduler) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(after: $0, repeating: $0, $1) },
      { s.schedule(after: $0, repeating: $0, tolerance: .zero, $1) },
      { s.schedule(repeating: $0, $1) },
      { s.schedule(repeating: $0, tolerance: .zero, $1) },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic(PeriodicTiming(every: $0), action: $1) },
      { s.schedulePeriodic($0, action: $1) },
      { s.schedulePeriodic((), PeriodicTiming(every: $0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(after: $0, tolerance: .zero, $1) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
      { s.schedule(at: s.now.advanced(by: $0), tolerance: .zero, $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: BarrierScheduler) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(after: $0, repeating: $0, $1) },
      { s.schedule(after: $0, repeating: $0, tolerance: .zero, $1) },
      { s.schedule(repeating: $0, $1) },
      { s.schedule(repeating: $0, tolerance: .zero, $1) },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic(PeriodicTiming(every: $0), action: $1) },
      { s.schedulePeriodic($0, action: $1) },
      { s.schedulePeriodic((), PeriodicTiming(every: $0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(after: $0, tolerance: .zero, $1) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
      { s.schedule(at: s.now.advanced(by: $0), tolerance: .zero, $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: CustomScheduler) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(after: $0, repeating: $0, $1) },
      { s.schedule(after: $0, repeating: $0, tolerance: .zero, $1) },
      { s.schedule(repeating: $0, $1) },
      { s.schedule(repeating: $0, tolerance: .zero, $1) },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic(PeriodicTiming(every: $0), action: $1) },
      { s.schedulePeriodic($0, action: $1) },
      { s.schedulePeriodic((), PeriodicTiming(every: $0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(after: $0, tolerance: .zero, $1) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
      { s.schedule(at: s.now.advanced(by: $0), tolerance: .zero, $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: MainScheduler) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(after: $0, repeating: $0, $1) },
      { s.schedule(after: $0, repeating: $0, tolerance: .zero, $1) },
      { s.schedule(repeating: $0, $1) },
      { s.schedule(repeating: $0, tolerance: .zero, $1) },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic(PeriodicTiming(every: $0), action: $1) },
      { s.schedulePeriodic($0, action: $1) },
      { s.schedulePeriodic((), PeriodicTiming(every: $0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(after: $0, tolerance: .zero, $1) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
      { s.schedule(at: s.now.advanced(by: $0), tolerance: .zero, $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: SubscriptionScheduler) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(after: $0, repeating: $0, $1) },
      { s.schedule(after: $0, repeating: $0, tolerance: .zero, $1) },
      { s.schedule(repeating: $0, $1) },
      { s.schedule(repeating: $0, tolerance: .zero, $1) },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic(PeriodicTiming(every: $0), action: $1) },
      { s.schedulePeriodic($0, action: $1) },
      { s.schedulePeriodic((), PeriodicTiming(every: $0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(after: $0, tolerance: .zero, $1) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
      { s.schedule(at: s.now.advanced(by: $0), tolerance: .zero, $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: TestScheduler) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(after: $0, repeating: $0, $1) },
      { s.schedule(after: $0, repeating: $0, tolerance: .zero, $1) },
      { s.schedule(repeating: $0, $1) },
      { s.schedule(repeating: $0, tolerance: .zero, $1) },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic(PeriodicTiming(every: $0), action: $1) },
      { s.schedulePeriodic($0, action: $1) },
      { s.schedulePeriodic((), PeriodicTiming(every: $0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(after: $0, tolerance: .zero, $1) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
      { s.schedule(at: s.now.advanced(by: $0), tolerance: .zero, $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: HistoricalScheduler) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(after: $0, repeating: $0, $1) },
      { s.schedule(after: $0, repeating: $0, tolerance: .zero, $1) },
      { s.schedule(repeating: $0, $1) },
      { s.schedule(repeating: $0, tolerance: .zero, $1) },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic(PeriodicTiming(every: $0), action: $1) },
      { s.schedulePeriodic($0, action: $1) },
      { s.schedulePeriodic((), PeriodicTiming(every: $0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(after: $0, tolerance: .zero, $1) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
      { s.schedule(at: s.now.advanced(by: $0), tolerance: .zero, $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: AnyScheduler) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(after: $0, repeating: $0, $1) },
      { s.schedule(after: $0, repeating: $0, tolerance: .zero, $1) },
      { s.schedule(repeating: $0, $1) },
      { s.schedule(repeating: $0, tolerance: .zero, $1) },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic(PeriodicTiming(every: $0), action: $1) },
      { s.schedulePeriodic($0, action: $1) },
      { s.schedulePeriodic((), PeriodicTiming(every: $0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(after: $0, tolerance: .zero, $1) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
      { s.schedule(at: s.now.advanced(by: $0), tolerance: .zero, $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: WrappingScheduler) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(after: $0, repeating: $0, $1) },
      { s.schedule(after: $0, repeating: $0, tolerance: .zero, $1) },
      { s.schedule(repeating: $0, $1) },
      { s.schedule(repeating: $0, tolerance: .zero, $1) },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic(PeriodicTiming(every: $0), action: $1) },
      { s.schedulePeriodic($0, action: $1) },
      { s.schedulePeriodic((), PeriodicTiming(every: $0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(after: $0, tolerance: .zero, $1) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
      { s.schedule(at: s.now.advanced(by: $0), tolerance: .zero, $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: GroupScheduler) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(after: $0, repeating: $0, $1) },
      { s.schedule(after: $0, repeating: $0, tolerance: .zero, $1) },
      { s.schedule(repeating: $0, $1) },
      { s.schedule(repeating: $0, tolerance: .zero, $1) },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic(PeriodicTiming(every: $0), action: $1) },
      { s.schedulePeriodic($0, action: $1) },
      { s.schedulePeriodic((), PeriodicTiming(every: $0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(after: $0, tolerance: .zero, $1) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
      { s.schedule(at: s.now.advanced(by: $0), tolerance: .zero, $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: RecordingScheduler<ThreadScheduler>) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(after: $0, repeating: $0, $1) },
      { s.schedule(after: $0, repeating: $0, tolerance: .zero, $1) },
      { s.schedule(repeating: $0, $1) },
      { s.schedule(repeating: $0, tolerance: .zero, $1) },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic(PeriodicTiming(every: $0), action: $1) },
      { s.schedulePeriodic($0, action: $1) },
      { s.schedulePeriodic((), PeriodicTiming(every: $0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(after: $0, tolerance: .zero, $1) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
      { s.schedule(at: s.now.advanced(by: $0), tolerance: .zero, $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: RecordingScheduler<ConcurrentScheduler>) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(after: $0, repeating: $0, $1) },
      { s.schedule(after: $0, repeating: $0, tolerance: .zero, $1) },
      { s.schedule(repeating: $0, $1) },
      { s.schedule(repeating: $0, tolerance: .zero, $1) },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic(PeriodicTiming(every: $0), action: $1) },
      { s.schedulePeriodic($0, action: $1) },
      { s.schedulePeriodic((), PeriodicTiming(every: $0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(after: $0, tolerance: .zero, $1) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
      { s.schedule(at: s.now.advanced(by: $0), tolerance: .zero, $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: RecordingScheduler<TestScheduler>) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(after: $0, repeating: $0, $1) },
      { s.schedule(after: $0, repeating: $0, tolerance: .zero, $1) },
      { s.schedule(repeating: $0, $1) },
      { s.schedule(repeating: $0, tolerance: .zero, $1) },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic(PeriodicTiming(every: $0), action: $1) },
      { s.schedulePeriodic($0, action: $1) },
      { s.schedulePeriodic((), PeriodicTiming(every: $0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(after: $0, tolerance: .zero, $1) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
      { s.schedule(at: s.now.advanced(by: $0), tolerance: .zero, $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }

  private static func of(_ s: Foreign) -> ScheduleForms {
    let periodic: [Form] = [
      { s.schedule(after: $0, repeating: $0, $1) },
      { s.schedule(after: $0, repeating: $0, tolerance: .zero, $1) },
      { s.schedule(repeating: $0, $1) },
      { s.schedule(repeating: $0, tolerance: .zero, $1) },
      { s.schedule(after: $0, interval: $0, action: $1) },
      { s.schedule(after: s.now.advanced(by: $0), interval: $0, $1) },
      { s.schedulePeriodic(PeriodicTiming(every: $0), action: $1) },
      { s.schedulePeriodic($0, action: $1) },
      { s.schedulePeriodic((), PeriodicTiming(every: $0), action: stateful($1)) },
      { s.schedulePeriodic((), $0, action: stateful($1)) },
      { s.schedulePeriodic((), startAfter: $0, period: $0, action: stateful($1)) },
      { period, action in s.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in action() } },
    ]
    let once: [Form] = [
      { s.schedule(after: $0, $1) },
      { s.schedule(after: $0, tolerance: .zero, $1) },
      { s.schedule(at: s.now.advanced(by: $0), $1) },
      { s.schedule(at: s.now.advanced(by: $0), tolerance: .zero, $1) },
      { s.schedule(after: s.now.advanced(by: $0), $1) },
      { s.schedule((), after: $0, action: returning($1)) },
      { s.scheduleRelative((), dueTime: $0, action: returning($1)) },
    ]
    return ScheduleForms(periodic: periodic, once: once)
  }
}
