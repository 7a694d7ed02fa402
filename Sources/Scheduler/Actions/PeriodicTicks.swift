/// A periodic action that schedules each tick as a delayed action, for schedulers without periodic timers.
final class PeriodicTicks: Disposable {
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let timing: ActionTiming  // its `repetition` is not nil
  private let scheduler: any SchedulerType
  private let pending = SerialDisposable()  // holds the disposable of the next tick
  private let action: RepeatedCall<@Sendable () -> Void, Void>  // the user's closure; one tick at a time

  private init(_ timing: ActionTiming, on scheduler: any SchedulerType, _ action: @escaping @Sendable () -> Void) {
    self.timing = timing
    self.scheduler = scheduler
    self.action = RepeatedCall(action, ())
  }

  /// Creates a periodic action and schedules its first tick.
  static func started(
    _ timing: ActionTiming, on scheduler: any SchedulerType, _ action: @escaping @Sendable () -> Void
  ) -> PeriodicTicks {
    let ticks = PeriodicTicks(timing, on: scheduler, action)
    let now = scheduler.now, due = timing.first(from: now)
    ticks.submit(due: due, after: max(.zero, now.duration(to: due)))
    return ticks
  }

  /// Schedules the tick that is due at `due`. It runs `time` from now, plus the timing's random jitter.
  private func submit(due: MonotonicTime, after time: Duration) {
    let next = SingleAssignmentDisposable(), tick = Tick(due, of: self)
    // `jittered` adds the jitter to 0; the address of this object gives each action another jitter
    let jitter = timing.repetition!.jittered(0, of: UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()))
    let delay = time + .nanoseconds(Int64(clamping: jitter))
    // before `schedule`, which may run the tick: the tick stores the disposable of its successor, which must not be
    // replaced after that
    pending.disposable = next
    next.setDisposable(
      scheduler.schedule(.after(delay, tolerance: timing.tolerance)) { tick.run() })
  }

  /// Runs the tick that was due at `due`, and schedules the next tick.
  fileprivate func tick(_ due: MonotonicTime) {
    let begin = scheduler.now
    guard callAction() else { return }  // disposed
    let end = scheduler.now
    let next = isDisposed || isStandingStill(since: begin) ? nil : timing.next(after: due, begunAt: begin, endedAt: end)
    if next == nil { finish() }  // disposed, or no tick follows
    action.leave { _ in }  // before the submission: the next tick may start inside it, or on another thread
    // The scheduler refuses the tick only after its stop. A stop drops a waiting tick without a message, so this
    // refusal prints no line either.
    if let next { withoutRefusalLine { submit(due: next, after: max(.zero, end.duration(to: next))) } }
  }

  /// Calls the action. Returns false without a call if the action is over. If true, the caller calls `action.leave`.
  private func callAction() -> Bool {
    guard let call = action.enter() else { return false }
    call()
    return true
  }

  /// Whether all further ticks would be at the instant of this tick, which began at `begin`: an endless loop. True if
  /// the period is not positive and the scheduler's time does not advance by itself, as in virtual time.
  private func isStandingStill(since begin: MonotonicTime) -> Bool {
    guard let period = timing.period, period <= .zero else { return false }
    let start = MonotonicTime.now
    // a clock that advances by itself shows another instant after 1 µs
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

  /// Ends the ticks for good, and releases the closure when no tick runs.
  fileprivate func finish() { action.finish() }
}

/// A scheduled tick. Only the closure given to the scheduler retains this object, so `deinit` without `run` means that
/// the tick was dropped.
private final class Tick: Sendable {
  private let due: MonotonicTime
  // Unsafe: only the thread that runs the tick, and deinit, access it. Nil from the start of the tick.
  nonisolated(unsafe) private var ticks: PeriodicTicks?

  init(_ due: MonotonicTime, of ticks: PeriodicTicks) {
    self.due = due
    self.ticks = ticks
  }

  deinit { ticks?.finish() }  // the scheduler dropped the tick: no tick follows
  func run() { ticks.take()?.tick(due) }
}
