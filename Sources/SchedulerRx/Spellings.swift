public import Scheduler

// Names from other libraries. Each is an alias of a method or type here, and its comment names the library.

extension SchedulerType {
  /// RxSwift's name for `schedule(_:after:action:)`.
  @discardableResult
  public func scheduleRelative<State: Sendable>(
    _ state: State, dueTime: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { return schedule(state, after: dueTime, action: action) }

  /// Runs `action` at the times of `timing`, each time with its previous result. Ticks never overlap, even on a
  /// concurrent scheduler.
  ///
  /// - Parameters:
  ///   - state: passed to the first tick.
  ///   - timing: when the ticks are due, and how late ticks are handled.
  ///   - action: called at each tick; its result is passed to the next one.
  @discardableResult
  public func schedulePeriodic<State: Sendable>(
    _ state: State, _ timing: ActionTiming, action: @escaping @Sendable (State) -> State
  ) -> any Disposable {
    let state = Protected(Optional(state))  // nil while a tick runs
    return schedule(timing) {
      guard let previous = state.withLock({ $0.take() }) else { return }  // nil: another thread is inside a tick
      let next = action(previous)
      state.withLock { $0 = next }
    }
  }

  /// RxSwift's periodic action: the first tick is one period from now, and each tick receives the previous result.
  ///
  /// - Parameters:
  ///   - state: passed to the first tick.
  ///   - period: the time between ticks, and before the first one.
  ///   - action: called at each tick; its result is passed to the next one.
  @discardableResult
  public func schedulePeriodic<State: Sendable>(
    _ state: State, _ period: Duration, action: @escaping @Sendable (State) -> State
  ) -> any Disposable { schedulePeriodic(state, .every(period), action: action) }

  /// RxSwift's periodic action; missed ticks are merged into one.
  ///
  /// - Parameters:
  ///   - state: passed to the first tick.
  ///   - startAfter: the time until the first tick.
  ///   - period: the time between ticks. In virtual time, zero means one second, because RxTest then ticks once per
  ///     unit of its virtual time.
  ///   - action: called at each tick; its result is passed to the next one.
  @discardableResult
  public func schedulePeriodic<State: Sendable>(
    _ state: State, startAfter: Duration, period: Duration, action: @escaping @Sendable (State) -> State
  ) -> any Disposable {
    let period = isVirtual && period <= .zero ? .seconds(1) : period  // one unit of RxTest's virtual time
    return schedulePeriodic(state, .every(period, after: startAfter), action: action)
  }

  /// ReactiveSwift's name for `schedule(.every(interval, after: delay))`; in ReactiveSwift the first parameter is a
  /// date.
  @discardableResult
  public func schedule(
    after delay: Duration, interval: Duration, leeway: Duration = .zero, action: @escaping @Sendable () -> Void
  ) -> any Disposable {
    schedule(.every(interval, after: delay, tolerance: leeway), action)
  }

  /// Combine's name for `schedule(.at(instant))`.
  @discardableResult
  public func schedule(
    after instant: MonotonicTime, tolerance: Duration = .zero, _ action: @escaping @Sendable () -> Void
  ) -> any Disposable { schedule(.at(instant, tolerance: tolerance), action) }

  /// Combine's periodic action: first at `instant`, or at once if that has passed.
  @discardableResult
  public func schedule(
    after instant: MonotonicTime, interval: Duration, tolerance: Duration = .zero,
    _ action: @escaping @Sendable () -> Void
  ) -> any Disposable {
    schedule(.every(interval, after: now.duration(to: instant), tolerance: tolerance), action)  // negative: at once
  }

  /// SwiftNIO's repeated task: a periodic action whose closure receives the `RepeatedTask`, and can cancel it.
  ///
  /// ```swift
  /// thread.scheduleRepeatedTask(initialDelay: .zero, delay: .seconds(1)) { task in
  ///   if connection.isClosed { task.cancel() } else { connection.ping() }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - initialDelay: the time until the first run.
  ///   - delay: the time from the end of a run to the next run.
  ///   - task: called at each run, with the same object that this method returns.
  @discardableResult
  public func scheduleRepeatedTask(
    initialDelay: Duration, delay: Duration, _ task: @escaping @Sendable (RepeatedTask) -> Void
  ) -> RepeatedTask {
    let repeated = RepeatedTask()
    // the first run may start, and cancel `repeated`, before `setAction` is called
    repeated.setAction(schedule(.every(delay, after: initialDelay, pace: .fixedDelay)) { repeated.run(task) })
    return repeated
  }
}

/// A periodic action, under SwiftNIO's name. Any code may cancel it; its closure receives it as the argument.
public final class RepeatedTask: Disposable {
  private let action = SingleAssignmentDisposable()  // holds the periodic action, once `setAction` has stored it

  fileprivate init() {}

  /// Sets the disposable of the periodic action. Disposes it at once if the task was cancelled before.
  fileprivate func setAction(_ action: any Disposable) { self.action.setDisposable(action) }

  /// Calls `task`, unless this object was cancelled, perhaps before `setAction`.
  fileprivate func run(_ task: (RepeatedTask) -> Void) { if !action.isDisposed { task(self) } }

  /// Whether this object was cancelled, or the periodic action is disposed.
  public var isDisposed: Bool { action.isDisposed || action.disposable?.isDisposed == true }

  public func dispose() { action.dispose() }

  /// SwiftNIO's name for `dispose()`: no run starts after it.
  public func cancel() { dispose() }

  public func disposeAndWait() { action.disposeAndWait() }
}

extension VirtualTimeScheduler {
  /// The name of `run()` in ReactiveObjC's test scheduler.
  public func stepAll() { run() }

  /// RxSwift's name for `run()`.
  public func start() { run() }

  /// RxSwift's name for `advance(to:)`.
  public func advanceTo(_ time: Instant) { advance(to: time) }

  /// RxSwift's name for `schedule(_:at:action:)`.
  @discardableResult
  public func scheduleAbsoluteVirtual<State: Sendable>(
    _ state: State, time: Instant, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { schedule(state, at: time, action: action) }

  /// RxSwift's name for `schedule(_:after:action:)`.
  @_disfavoredOverload  // a converter's interval may be a Duration: its overload is then preferred
  @discardableResult
  public func scheduleRelativeVirtual<State: Sendable>(
    _ state: State, dueTime: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { schedule(state, after: dueTime, action: action) }
}

extension VirtualTimeScheduler where Instant == MonotonicTime {
  /// Creates a scheduler with RxTest's whole seconds: the clock starts `initialClock` seconds after the start of time,
  /// or at that start if `initialClock` is negative.
  public convenience init(initialClock: Int) { self.init(initialClock: Self.time(initialClock)) }

  /// Moves the clock to a number of seconds after the start of time: see `advance(to:)`.
  ///
  /// - Parameter time: the number of seconds after the start of time; the past counts as the present.
  public func advanceTo(_ time: Int) { advance(to: Self.time(time)) }

  /// RxTest's name for `schedule(at:_:)`, in seconds after the start of time.
  @discardableResult
  public func scheduleAt(_ time: Int, action: @escaping @Sendable () -> Void) -> any Disposable {
    schedule(at: Self.time(time), action)
  }

  /// RxSwift's name for `schedule(_:at:action:)`, in seconds after the start of time.
  @discardableResult
  public func scheduleAbsoluteVirtual<State: Sendable>(
    _ state: State, time: Int, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { schedule(state, at: Self.time(time), action: action) }

  /// RxSwift's name for `schedule(_:after:action:)`, in seconds.
  @discardableResult
  public func scheduleRelativeVirtual<State: Sendable>(
    _ state: State, dueTime: Int, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { schedule(state, after: .seconds(dueTime), action: action) }

  /// Returns the time `seconds` after the start of time; negative counts as 0.
  private static func time(_ seconds: Int) -> MonotonicTime {
    MonotonicTime(nanoseconds: 0).advanced(by: .seconds(max(0, seconds)))
  }
}

extension MainScheduler {
  /// Creates a main scheduler, as in RxSwift. On the main thread it runs an action at once if none of the actions
  /// scheduled on this instance is waiting or running. Work of other instances does not count. In its actions
  /// `Schedulers/current` is `instance`.
  public convenience init() { self.init(countsOwnWork: ()) }  // the argument () only selects the initialiser

  /// RxSwift's check for the main thread. On another thread it stops the process with `errorMessage` or a default
  /// message.
  public static func ensureExecutingOnScheduler(errorMessage: String? = nil) {
    if GlobalJobs.isOnMain { return }
    misuse(
      "MainScheduler.ensureExecutingOnScheduler",
      errorMessage ?? "called on another thread than the main one. Schedule the call on MainScheduler.instance.")
  }
}

/// RxSwift's name for a main scheduler that does not keep the order of its actions. Here it is `MainScheduler`, which
/// keeps it.
public typealias ConcurrentMainScheduler = MainScheduler

/// RxSwift's name for `SerialScheduler`.
public typealias SerialDispatchQueueScheduler = SerialScheduler

/// RxSwift's name for `ConcurrentScheduler`.
public typealias ConcurrentDispatchQueueScheduler = ConcurrentScheduler

extension SerialScheduler {
  /// Creates a scheduler on the shared pool, as in RxSwift: see `init(name:target:priority:)`.
  ///
  /// - Parameters:
  ///   - qos: its priority; Dispatch's class names work.
  ///   - name: its name, of any length.
  public convenience init(qos: SchedulerPriority, internalSerialQueueName name: String = "") {
    self.init(name: name, priority: qos)
  }
}

extension ConcurrentScheduler {
  /// Creates a scheduler as in RxSwift: see `init(name:priority:)`.
  ///
  /// - Parameter qos: its priority; Dispatch's class names work.
  public convenience init(qos: SchedulerPriority) { self.init(priority: qos) }
}

/// Dispatch's names for the priorities that have different names here.
extension SchedulerPriority {
  /// Dispatch's name for `high`.
  public static var userInteractive: SchedulerPriority { .high }
  /// Dispatch's name for `high`.
  public static var userInitiated: SchedulerPriority { .high }
  /// Dispatch's name for `low`.
  public static var utility: SchedulerPriority { .low }
}

/// RxSwift's name for a `Disposable` with `isDisposed`, which every disposable has here.
public typealias Cancelable = Disposable

extension SerialDisposable {
  /// ReactiveSwift's name for `disposable`.
  public var inner: (any Disposable)? {
    get { disposable }
    set { disposable = newValue }
  }
}

extension CompositeDisposable {
  /// Adds `disposable`; ReactiveSwift's name for `insert(_:)-(Disposable)`.
  ///
  /// - Returns: a disposable that removes `disposable` again without disposing it; nil if the composite has been
  ///   disposed or `disposable` is nil.
  @discardableResult
  public func add(_ disposable: (any Disposable)?) -> (any Disposable)? {
    guard let disposable, let key = insert(disposable) else { return nil }
    // weak: the result does not retain the composite; the discarded value of `take` is released, not disposed
    return Disposables.create { [weak self] in _ = self?.take(for: key) }
  }

  /// Adds a disposable that runs `action` once, and returns what `add(_:)` of a disposable returns; ReactiveSwift's
  /// name.
  @discardableResult
  public func add(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    add(Disposables.create(with: action))
  }

  /// Adds `disposable`, and returns the result of `add(_:)`; ReactiveSwift's operator.
  @discardableResult
  public static func += (composite: CompositeDisposable, disposable: (any Disposable)?) -> (any Disposable)? {
    composite.add(disposable)
  }

  /// Adds a disposable that runs `action` once; ReactiveSwift's operator.
  @discardableResult
  public static func += (
    composite: CompositeDisposable, action: @escaping @Sendable () -> Void
  ) -> (any Disposable)? { composite.add(action) }
}

extension ScopedDisposable where Inner == CompositeDisposable {
  /// Adds `disposable` to `inner`; ReactiveSwift's operator. See `CompositeDisposable.add`.
  @discardableResult
  public static func += (
    scope: ScopedDisposable<CompositeDisposable>, disposable: (any Disposable)?
  ) -> (any Disposable)? { scope.inner.add(disposable) }

  /// Adds a disposable that runs `action` once to `inner`; ReactiveSwift's operator.
  @discardableResult
  public static func += (
    scope: ScopedDisposable<CompositeDisposable>, action: @escaping @Sendable () -> Void
  ) -> (any Disposable)? { scope.inner.add(action) }
}

/// Rx.NET's name for a disposable that disposes on a context. Here a context is a scheduler, so this is
/// `ScheduledDisposable`.
///
/// Rx.NET has two types because its `ContextDisposable` posts to a `SynchronizationContext`, and its
/// `ScheduledDisposable` schedules.
/// Swift has no such context. Anything that accepts a closure can be a scheduler, with `CustomScheduler`.
public typealias ContextDisposable = ScheduledDisposable

extension ScheduledDisposable {
  /// Creates a disposable that disposes `disposable` on `context`; Rx.NET's `ContextDisposable` initialiser.
  public convenience init(context: any ImmediateSchedulerType, disposable: any Disposable) {
    self.init(scheduler: context, disposable: disposable)
  }

  /// The scheduler that disposes the inner disposable; Rx.NET's name.
  public var context: any ImmediateSchedulerType { scheduler }
}
