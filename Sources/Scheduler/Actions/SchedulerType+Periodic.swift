extension SchedulerType {
  /// Runs `action` again and again, each time with what it returned before.
  ///
  /// Ticks never overlap, on a concurrent scheduler either. Disposing ends them: no tick begins after that.
  ///
  /// - Parameters:
  ///   - state: what the first tick is given.
  ///   - timing: when the ticks are due, and what becomes of late ones.
  ///   - action: what each tick runs; the next one is given what it returns.
  @discardableResult
  public func schedulePeriodic<State: Sendable>(
    _ state: State, _ timing: PeriodicTiming, action: @escaping @Sendable (State) -> State
  ) -> any Cancelable {
    if let unimplemented { return unimplemented.refuse("schedulePeriodic(_:_:action:), every \(timing.period),") }
    let state = Protected(Optional(state))
    return schedulePeriodic(timing) {
      guard let last = state.withLock({ $0.take() }) else { return }
      let next = action(last)
      state.withLock { $0 = next }
    }
  }

  /// Runs `action` every `period`, at first a period from now, each time with what it returned before: as
  /// with `PeriodicTiming(every: period)`.
  ///
  /// - Parameters:
  ///   - state: what the first tick is given.
  ///   - period: the time from tick to tick, and until the first one.
  ///   - action: what each tick runs; the next one is given what it returns.
  @discardableResult
  public func schedulePeriodic<State: Sendable>(
    _ state: State, _ period: Duration, action: @escaping @Sendable (State) -> State
  ) -> any Cancelable { schedulePeriodic(state, PeriodicTiming(every: period), action: action) }

  /// Runs `action` every `period`, at first a period from now: as with `PeriodicTiming(every: period)`.
  ///
  /// - Parameters:
  ///   - period: the time from tick to tick, and until the first one.
  ///   - action: what each tick runs. It is kept until the ticks are disposed or dropped.
  @discardableResult
  public func schedulePeriodic(_ period: Duration, action: @escaping @Sendable () -> Void) -> any Cancelable {
    schedulePeriodic(PeriodicTiming(every: period), action: action)
  }

  /// Runs `action` after `delay` and then every `period`, each time up to `tolerance` late.
  ///
  /// The rate is fixed, and ticks that are missed become one: ``PeriodicTiming`` has the other choices.
  ///
  /// - Parameters:
  ///   - delay: the time until the first tick; zero or less: as soon as its turn comes.
  ///   - period: the time from tick to tick; zero or less: as soon as the last one has ended.
  ///   - tolerance: up to how much later each tick may run.
  ///   - action: what each tick runs. It is kept until the ticks are disposed or dropped.
  @discardableResult
  public func schedule(
    after delay: Duration, repeating period: Duration, tolerance: Duration = .zero,
    _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    if let unimplemented { return unimplemented.refuse("schedule(after:repeating:tolerance:_:), every \(period),") }
    return schedulePeriodic(PeriodicTiming(startAfter: delay, every: period, tolerance: tolerance), action: action)
  }

  /// Runs `action` every `period`, at first a period from now, each time up to `tolerance` late: as
  /// ``schedule(after:repeating:tolerance:_:)``.
  ///
  /// - Parameters:
  ///   - period: the time from tick to tick, and until the first one; zero or less: as soon as the last one has ended.
  ///   - tolerance: up to how much later each tick may run.
  ///   - action: what each tick runs. It is kept until the ticks are disposed or dropped.
  @discardableResult
  public func schedule(
    repeating period: Duration, tolerance: Duration = .zero, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    if let unimplemented { return unimplemented.refuse("schedule(repeating:tolerance:_:), every \(period),") }
    return schedulePeriodic(PeriodicTiming(every: period, tolerance: tolerance), action: action)
  }

  /// Made of delayed actions, for schedulers that have no timers of their own.
  ///
  /// - Parameters:
  ///   - timing: when the ticks are due, and what becomes of late ones.
  ///   - action: what each tick runs.
  @discardableResult
  public func schedulePeriodic(_ timing: PeriodicTiming, action: @escaping @Sendable () -> Void) -> any Cancelable {
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
  private let action: RepeatedCall<@Sendable () -> Void, Void>

  init(_ timing: PeriodicTiming, on scheduler: any SchedulerType, _ action: @escaping @Sendable () -> Void) {
    self.timing = timing
    self.scheduler = scheduler
    self.action = RepeatedCall(action, ())
  }

  func start() {
    let now = scheduler.now, due = timing.first(from: now)
    submit(due: due, after: max(.zero, now.duration(to: due)))
  }

  private func submit(due: MonotonicTime, after time: Duration) {
    let next = SingleAssignmentDisposable(), tick = Tick(due, of: self)
    let share = timing.jittered(0, of: UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()))
    let delay = time + .nanoseconds(Int64(clamping: share))
    pending.disposable = next
    next.setDisposable(
      scheduler.schedule(after: delay, tolerance: timing.tolerance) { tick.run() })
  }

  fileprivate func tick(_ due: MonotonicTime) {
    let begin = scheduler.now
    guard run() else { return }
    let end = scheduler.now
    let next = isDisposed || isStandingStill(since: begin) ? nil : timing.next(after: due, begunAt: begin, endedAt: end)
    if next == nil { finish() }
    action.leave { _ in }
    // One that is refused ends by the stop of its scheduler, as one that waits does.
    if let next { withoutRefusalLine { submit(due: next, after: max(.zero, end.duration(to: next))) } }
  }

  /// Goes inside, and calls the action; not if it is over.
  private func run() -> Bool {
    guard let call = action.enter() else { return false }
    call()
    return true
  }

  /// Whether the next tick would come at the same instant again, and again: time does not go on by itself there.
  private func isStandingStill(since begin: MonotonicTime) -> Bool {
    guard timing.period <= .zero else { return false }
    let start = MonotonicTime.now
    while start.duration(to: .now) < .microseconds(1) {}
    return scheduler.now == begin
  }

  var isDisposed: Bool { pending.isDisposed || action.isOver }

  func dispose() {
    pending.dispose()
    finish()
  }

  func disposeAndWait() {
    dispose()
    action.awaitOthers()
  }

  fileprivate func finish() { action.finish() }
}

/// A tick that has been scheduled: the scheduler's closure alone holds it, so it ends uncalled if that is dropped.
private final class Tick: Sendable {
  private let due: MonotonicTime
  // Taken when it begins, which a scheduler lets happen once.
  nonisolated(unsafe) private var ticks: Ticks?

  init(_ due: MonotonicTime, of ticks: Ticks) {
    self.due = due
    self.ticks = ticks
  }

  deinit { ticks?.finish() }

  func run() { ticks.take()?.tick(due) }
}
