/// A periodic action that schedules each tick as a delayed action, for schedulers without periodic timers.
final class PeriodicTicks: Disposable {
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let timing: ActionTiming  // has a repetition
  private let scheduler: any SchedulerType
  private let pending = SerialDisposable()  // holds the disposable of the next tick
  private let action: RepeatedCall<@Sendable () -> Void, Void>

  private init(_ timing: ActionTiming, on scheduler: any SchedulerType, _ action: @escaping @Sendable () -> Void) {
    self.timing = timing
    self.scheduler = scheduler
    self.action = RepeatedCall(action, ())
  }

  static func started(
    _ timing: ActionTiming, on scheduler: any SchedulerType, _ action: @escaping @Sendable () -> Void
  ) -> PeriodicTicks {
    let ticks = PeriodicTicks(timing, on: scheduler, action)
    let now = scheduler.now, due = timing.first(from: now)
    ticks.submit(due: due, after: max(.zero, now.duration(to: due)))
    return ticks
  }

  /// Schedules the tick that is due at `due` for `time` from now, plus jitter.
  private func submit(due: MonotonicTime, after time: Duration) {
    let next = SingleAssignmentDisposable(), tick = Tick(due, of: self)
    let jitter = timing.repetition!.jittered(0, of: UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()))
    let delay = time + .nanoseconds(Int64(clamping: jitter))
    pending.disposable = next
    next.setDisposable(
      scheduler.schedule(.after(delay, tolerance: timing.tolerance)) { tick.run() })
  }

  /// Runs the tick that was due at `due`, and schedules the next tick.
  fileprivate func tick(_ due: MonotonicTime) {
    let begin = scheduler.now
    guard run() else { return }
    let end = scheduler.now
    let next = isDisposed || isStandingStill(since: begin) ? nil : timing.next(after: due, begunAt: begin, endedAt: end)
    if next == nil { finish() }
    action.leave { _ in }  // before the submission: the next tick may start inside it, or on another thread
    // The scheduler refuses only when it was stopped. A stop drops a waiting tick without a message, so this refusal is not printed either.
    if let next { withoutRefusalLine { submit(due: next, after: max(.zero, end.duration(to: next))) } }
  }

  /// Calls the action. Returns false if the action is over.
  private func run() -> Bool {
    guard let call = action.enter() else { return false }
    call()
    return true
  }

  /// Whether ticks without a period would repeat forever at one instant, because the scheduler's time does not advance by itself.
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

  fileprivate func finish() { action.finish() }
}

/// A scheduled tick. Only the closure given to the scheduler retains this object, so `deinit` without `run` means that the tick was dropped.
private final class Tick: Sendable {
  private let due: MonotonicTime
  // Nil from the start of the tick, which a scheduler starts once.
  nonisolated(unsafe) private var ticks: PeriodicTicks?

  init(_ due: MonotonicTime, of ticks: PeriodicTicks) {
    self.due = due
    self.ticks = ticks
  }

  deinit { ticks?.finish() }

  func run() { ticks.take()?.tick(due) }
}
