public import Scheduler

// Names that the users of other libraries look for. Each does what the one it stands for does, and says whose it is.

extension SchedulerType {
  /// RxSwift's name of `schedule(_:after:action:)`.
  @discardableResult
  public func scheduleRelative<State: Sendable>(
    _ state: State, dueTime: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable {
    return schedule(state, after: dueTime, action: action)
  }

  /// Runs `action` as `timing` says, each time with what it returned before. Ticks never overlap, on a concurrent scheduler either.
  ///
  /// - Parameters:
  ///   - state: what the first tick is given.
  ///   - timing: when the ticks are due, and what becomes of late ones.
  ///   - action: what each tick runs; the next one is given what it returns.
  @discardableResult
  public func schedulePeriodic<State: Sendable>(
    _ state: State, _ timing: ActionTiming, action: @escaping @Sendable (State) -> State
  ) -> any Disposable {
    let state = Protected(Optional(state))
    return schedule(timing) {
      guard let last = state.withLock({ $0.take() }) else { return }
      let next = action(last)
      state.withLock { $0 = next }
    }
  }

  /// RxSwift's periodic action: at first a period from now, each time with what it returned before.
  ///
  /// - Parameters:
  ///   - state: what the first tick is given.
  ///   - period: the time from tick to tick, and until the first one.
  ///   - action: what each tick runs; the next one is given what it returns.
  @discardableResult
  public func schedulePeriodic<State: Sendable>(
    _ state: State, _ period: Duration, action: @escaping @Sendable (State) -> State
  ) -> any Disposable { schedulePeriodic(state, .every(period), action: action) }

  /// RxSwift's periodic action; ticks that are missed become one.
  ///
  /// - Parameters:
  ///   - state: what the first tick is given.
  ///   - startAfter: the time until the first tick.
  ///   - period: the time from tick to tick. Zero is a second in virtual time, where RxTest ticks once a unit of its time, which is a second here.
  ///   - action: what each tick runs; the next one is given what it returns.
  @discardableResult
  public func schedulePeriodic<State: Sendable>(
    _ state: State, startAfter: Duration, period: Duration, action: @escaping @Sendable (State) -> State
  ) -> any Disposable {
    let period = isVirtual && period <= .zero ? .seconds(1) : period
    return schedulePeriodic(state, .every(period, after: startAfter), action: action)
  }

  /// ReactiveSwift's name of `schedule(.every(interval, after: delay))`; there the first parameter is a date.
  @discardableResult
  public func schedule(
    after delay: Duration, interval: Duration, leeway: Duration = .zero, action: @escaping @Sendable () -> Void
  ) -> any Disposable {
    schedule(.every(interval, after: delay, tolerance: leeway), action)
  }

  /// Combine's name of `schedule(.at(instant))`.
  @discardableResult
  public func schedule(
    after instant: MonotonicTime, tolerance: Duration = .zero, _ action: @escaping @Sendable () -> Void
  ) -> any Disposable { schedule(.at(instant, tolerance: tolerance), action) }

  /// Combine's periodic action; first at `instant`, and at once where that has passed.
  @discardableResult
  public func schedule(
    after instant: MonotonicTime, interval: Duration, tolerance: Duration = .zero,
    _ action: @escaping @Sendable () -> Void
  ) -> any Disposable {
    schedule(.every(interval, after: now.duration(to: instant), tolerance: tolerance), action)
  }

  /// SwiftNIO's repeated task: as a periodic action, but its closure is given what cancels it.
  ///
  /// ```swift
  /// thread.scheduleRepeatedTask(initialDelay: .zero, delay: .seconds(1)) { task in
  ///   if connection.isClosed { task.cancel() } else { connection.ping() }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - initialDelay: the time until the first run.
  ///   - delay: the time from the end of a run to the next.
  ///   - task: is given the same object that this returns.
  @discardableResult
  public func scheduleRepeatedTask(
    initialDelay: Duration, delay: Duration, _ task: @escaping @Sendable (RepeatedTask) -> Void
  ) -> RepeatedTask {
    let repeated = RepeatedTask()
    repeated.began(schedule(.every(delay, after: initialDelay, pace: .fixedDelay)) { repeated.run(task) })
    return repeated
  }
}

/// What cancels a repeated task, in SwiftNIO's words: from outside, or inside of the closure, which is given it.
public final class RepeatedTask: Disposable {
  private let action = SingleAssignmentDisposable()  // the first run may be before it is set

  fileprivate init() {}

  fileprivate func began(_ action: any Disposable) { self.action.setDisposable(action) }

  /// It may have been cancelled before what stands for its runs is set.
  fileprivate func run(_ task: (RepeatedTask) -> Void) { if !action.isDisposed { task(self) } }

  public var isDisposed: Bool { action.isDisposed || action.disposable?.isDisposed == true }

  public func dispose() { action.dispose() }

  /// SwiftNIO's name of `dispose()`: no run begins after it.
  public func cancel() { dispose() }

  public func disposeAndWait() { action.disposeAndWait() }
}

extension VirtualTimeScheduler {
  /// ReactiveObjC's name, of its test scheduler, of `run()`.
  public func stepAll() { run() }

  /// RxSwift's name of `run()`.
  public func start() { run() }

  /// RxSwift's name of `advance(to:)`.
  public func advanceTo(_ time: Instant) { advance(to: time) }

  /// RxSwift's name of `schedule(_:at:action:)`.
  @discardableResult
  public func scheduleAbsoluteVirtual<State: Sendable>(
    _ state: State, time: Instant, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { schedule(state, at: time, action: action) }

  /// RxSwift's name of `schedule(_:after:action:)`.
  @_disfavoredOverload  // a converter's interval may be a Duration
  @discardableResult
  public func scheduleRelativeVirtual<State: Sendable>(
    _ state: State, dueTime: Duration, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { schedule(state, after: dueTime, action: action) }
}

extension VirtualTimeScheduler where Instant == MonotonicTime {
  /// Makes one in the words of RxTest, where time is counted in whole seconds: the clock stands `initialClock` seconds after the start of time; at
  /// that start, where it is negative.
  public convenience init(initialClock: Int) {
    self.init(initialClock: Self.time(initialClock))
  }

  /// Moves the clock to so many seconds after the start of time: see `advance(to:)`.
  ///
  /// - Parameter time: how many seconds after the start of time; the past is taken for the present.
  public func advanceTo(_ time: Int) { advance(to: Self.time(time)) }

  /// RxTest's name of `schedule(at:_:)`, in seconds after the start of time.
  @discardableResult
  public func scheduleAt(_ time: Int, action: @escaping @Sendable () -> Void) -> any Disposable {
    schedule(at: Self.time(time), action)
  }

  /// RxSwift's name of `schedule(_:at:action:)`, in seconds after the start of time.
  @discardableResult
  public func scheduleAbsoluteVirtual<State: Sendable>(
    _ state: State, time: Int, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { schedule(state, at: Self.time(time), action: action) }

  /// RxSwift's name of `schedule(_:after:action:)`, in seconds.
  @discardableResult
  public func scheduleRelativeVirtual<State: Sendable>(
    _ state: State, dueTime: Int, action: @escaping @Sendable (State) -> any Disposable
  ) -> any Disposable { schedule(state, after: .seconds(dueTime), action: action) }

  private static func time(_ seconds: Int) -> MonotonicTime {
    MonotonicTime(nanoseconds: 0).advanced(by: .seconds(max(0, seconds)))
  }
}

extension MainScheduler {
  /// Makes one, as RxSwift does: on the main thread it runs an action at once when nothing that was scheduled on itself waits or runs, whatever
  /// waits on the other ones. In its actions `Schedulers/current` is `instance`.
  public convenience init() { self.init(countsOwnWork: ()) }

  /// RxSwift's check that the caller is on the main thread: elsewhere it stops the process with `errorMessage`, or one that says so.
  public static func ensureExecutingOnScheduler(errorMessage: String? = nil) {
    if GlobalJobs.isOnMain { return }
    misuse(
      "MainScheduler.ensureExecutingOnScheduler",
      errorMessage ?? "called on another thread than the main one. Schedule the call on MainScheduler.instance.")
  }
}

/// RxSwift's name of the main scheduler where order does not count. Here `MainScheduler` keeps the order, too.
public typealias ConcurrentMainScheduler = MainScheduler

/// RxSwift's name of `SerialScheduler`.
public typealias SerialDispatchQueueScheduler = SerialScheduler

/// RxSwift's name of `ConcurrentScheduler`.
public typealias ConcurrentDispatchQueueScheduler = ConcurrentScheduler

extension SerialScheduler {
  /// Makes one on the pool that everybody shares, in the words of RxSwift: as `init(name:target:priority:)`.
  ///
  /// - Parameters:
  ///   - qos: its priority; Dispatch's names of the classes are names of it.
  ///   - name: for `name`, any length.
  public convenience init(qos: SchedulerPriority, internalSerialQueueName name: String = "") {
    self.init(name: name, priority: qos)
  }
}

extension ConcurrentScheduler {
  /// Makes one in the words of RxSwift: as `init(name:priority:)`.
  ///
  /// - Parameter qos: its priority; Dispatch's names of the classes are names of it.
  public convenience init(qos: SchedulerPriority) { self.init(priority: qos) }
}

/// Dispatch's names of the priorities that have others here.
extension SchedulerPriority {
  /// Dispatch's name of `high`.
  public static var userInteractive: SchedulerPriority { .high }

  /// Dispatch's name of `high`.
  public static var userInitiated: SchedulerPriority { .high }

  /// Dispatch's name of `low`.
  public static var utility: SchedulerPriority { .low }
}

/// RxSwift's name of a `Disposable` that tells whether it is disposed, as each does here.
public typealias Cancelable = Disposable

extension SerialDisposable {
  /// ReactiveSwift's name of `disposable`.
  public var inner: (any Disposable)? {
    get { disposable }
    set { disposable = newValue }
  }
}

extension CompositeDisposable {
  /// Adds `disposable`, in the words of ReactiveSwift: as `insert(_:)-(Disposable)`.
  ///
  /// - Returns: what takes it out again, undisposed, at its disposal; nil, where there is nothing to take out: the composite has been disposed,
  ///   or `disposable` is nil.
  @discardableResult
  public func add(_ disposable: (any Disposable)?) -> (any Disposable)? {
    guard let disposable, let key = insert(disposable) else { return nil }
    return Disposables.create { [weak self] in _ = self?.take(for: key) }
  }

  /// Adds what runs `action` once, in the words of ReactiveSwift: see `add(_:)` of a disposable.
  @discardableResult
  public func add(_ action: @escaping @Sendable () -> Void) -> (any Disposable)? {
    add(Disposables.create(with: action))
  }

  /// Adds `disposable`, in the words of ReactiveSwift: returns what `add(_:)` of a disposable does.
  @discardableResult
  public static func += (composite: CompositeDisposable, disposable: (any Disposable)?) -> (any Disposable)? {
    composite.add(disposable)
  }

  /// Adds what runs `action` once, in the words of ReactiveSwift.
  @discardableResult
  public static func += (
    composite: CompositeDisposable, action: @escaping @Sendable () -> Void
  ) -> (any Disposable)? { composite.add(action) }
}

extension ScopedDisposable where Inner == CompositeDisposable {
  /// Adds `disposable` to `inner`, in the words of ReactiveSwift: see `CompositeDisposable.add`.
  @discardableResult
  public static func += (
    scope: ScopedDisposable<CompositeDisposable>, disposable: (any Disposable)?
  ) -> (any Disposable)? { scope.inner.add(disposable) }

  /// Adds what runs `action` once to `inner`, in the words of ReactiveSwift.
  @discardableResult
  public static func += (
    scope: ScopedDisposable<CompositeDisposable>, action: @escaping @Sendable () -> Void
  ) -> (any Disposable)? { scope.inner.add(action) }
}

/// Rx.NET's name of a disposable that disposes on a context, which here is a scheduler: so it is `ScheduledDisposable`.
///
/// Rx.NET has two types because it has two kinds of targets: its `ContextDisposable` posts to a `SynchronizationContext`, and its
/// `ScheduledDisposable` schedules. Swift has no such context beside schedulers; whatever can take a closure is one, by
/// `CustomScheduler`. A second class would be the first one by another name.
public typealias ContextDisposable = ScheduledDisposable

extension ScheduledDisposable {
  /// Creates one that disposes `disposable` on `context`, in the words of `ContextDisposable`.
  public convenience init(context: any ImmediateSchedulerType, disposable: any Disposable) {
    self.init(scheduler: context, disposable: disposable)
  }

  /// Where the inner one is disposed, in the words of `ContextDisposable`.
  public var context: any ImmediateSchedulerType { scheduler }
}
