// Names that the users of other libraries look for. Each does what the one it stands for does, and says whose it is.

extension SchedulerType {
  /// RxSwift's name of ``schedule(_:after:action:)``.
  @discardableResult
  public func scheduleRelative<State: Sendable>(
    _ state: State, dueTime: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Cancelable {
    if let unimplemented { return unimplemented.refuse("scheduleRelative(_:dueTime:action:), after \(dueTime),") }
    return schedule(state, after: dueTime, action: action)
  }

  /// RxSwift's name of ``schedulePeriodic(_:_:action:)``: first after `startAfter`, then every `period`; ticks that are missed become one.
  @discardableResult
  public func schedulePeriodic<State: Sendable>(
    _ state: State, startAfter: Duration, period: Duration, action: @escaping @Sendable (State) -> State
  ) -> any Cancelable {
    if let unimplemented {
      return unimplemented.refuse("schedulePeriodic(_:startAfter:period:action:), every \(period),")
    }
    return schedulePeriodic(state, PeriodicTiming(startAfter: startAfter, every: period), action: action)
  }

  /// ReactiveSwift's name of ``schedule(after:repeating:tolerance:_:)``; there the first parameter is a date.
  @discardableResult
  public func schedule(
    after delay: Duration, interval: Duration, leeway: Duration = .zero, action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    if let unimplemented { return unimplemented.refuse("schedule(after:interval:leeway:action:), every \(interval),") }
    return schedule(after: delay, repeating: interval, tolerance: leeway, action)
  }
}

extension VirtualTimeScheduler {
  /// ReactiveObjC's name, of its test scheduler, of ``run()``.
  public func stepAll() { run() }
}

/// Rx.NET's name of a disposable that disposes on a context, which here is a scheduler: so it is ``ScheduledDisposable``.
///
/// Rx.NET has two types because it has two kinds of targets: its `ContextDisposable` posts to a `SynchronizationContext`, and its
/// `ScheduledDisposable` schedules. Swift has no such context beside schedulers; whatever can take a closure is one, by
/// ``CustomScheduler``. A second class would be the first one by another name.
public typealias ContextDisposable = ScheduledDisposable

extension ScheduledDisposable {
  /// Creates one that disposes `disposable` on `context`, in the words of ``ContextDisposable``.
  public convenience init(context: any ImmediateSchedulerType, disposable: any Disposable) {
    self.init(scheduler: context, disposable: disposable)
  }

  /// Where the inner one is disposed, in the words of ``ContextDisposable``.
  public var context: any ImmediateSchedulerType { scheduler }
}
