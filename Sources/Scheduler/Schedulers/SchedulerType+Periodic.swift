extension SchedulerType {
  /// Runs `action` again and again, each time with what it returned before.
  ///
  /// Ticks never overlap, on a concurrent scheduler either. Disposing ends them: no tick begins after that.
  @discardableResult
  public func schedulePeriodic<State: Sendable>(
    _ state: State, _ timing: PeriodicTiming, action: @escaping @Sendable (State) -> State
  ) -> any Disposable {
    let state = Protected(Optional(state))
    return schedulePeriodic(timing) {
      guard let last = state.withLock({ $0.take() }) else { return }
      let next = action(last)
      state.withLock { $0 = next }
    }
  }

  /// The same by RxSwift's spelling: first after `startAfter`, then every `period`; ticks that are missed become one.
  @discardableResult
  public func schedulePeriodic<State: Sendable>(
    _ state: State, startAfter: Duration, period: Duration, action: @escaping @Sendable (State) -> State
  ) -> any Disposable {
    schedulePeriodic(state, PeriodicTiming(startAfter: startAfter, every: period), action: action)
  }

  /// Runs `action` after `delay` and then every `period`, each time up to `leeway` late.
  @discardableResult
  public func schedule(
    after delay: Duration, repeating period: Duration, leeway: Duration = .zero,
    _ action: @escaping @Sendable () -> Void
  ) -> any Disposable {
    schedulePeriodic(PeriodicTiming(startAfter: delay, every: period, leeway: leeway), action: action)
  }

  /// Made of delayed actions, for schedulers that have no timers of their own.
  @discardableResult
  public func schedulePeriodic(_ timing: PeriodicTiming, action: @escaping @Sendable () -> Void) -> any Disposable {
    let ticks = Ticks(timing, on: self, action)
    ticks.start()
    return ticks
  }
}

/// A periodic action out of delayed ones.
private final class Ticks: Cancelable {
  private let counted = CountedDisposable()
  private let timing: PeriodicTiming
  private let scheduler: any SchedulerType
  private let pending = SerialDisposable()
  private let action: Protected<(@Sendable () -> Void)?>

  init(_ timing: PeriodicTiming, on scheduler: any SchedulerType, _ action: @escaping @Sendable () -> Void) {
    self.timing = timing
    self.scheduler = scheduler
    self.action = Protected(action)
    Counted.closures(1)
  }

  deinit { letGo() }

  func start() { submit(due: scheduler.now.advanced(by: timing.startAfter), after: timing.startAfter) }

  private func submit(due: MonotonicTime, after delay: Duration) {
    let next = SingleAssignmentDisposable()
    pending.disposable = next
    next.setDisposable(
      scheduler.schedule((), after: delay) { [self] _ in
        tick(due)
        return Disposables.create()
      })
  }

  private func tick(_ due: MonotonicTime) {
    guard !isDisposed, let work = action.withLock({ $0 }) else { return }
    work()
    let now = scheduler.now
    guard !isDisposed, let next = timing.next(after: due.nanoseconds, endedAt: now.nanoseconds) else { return }
    let moment = MonotonicTime(nanoseconds: next)
    submit(due: moment, after: max(.zero, now.duration(to: moment)))
  }

  var isDisposed: Bool { pending.isDisposed }

  func dispose() {
    pending.dispose()
    letGo()
  }

  private func letGo() {
    guard let action = action.withLock({ $0.take() }) else { return }
    Counted.closures(-1)
    _ = consume action
  }
}
