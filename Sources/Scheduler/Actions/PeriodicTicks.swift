/// A periodic action that schedules each tick as a delayed action, for schedulers without periodic timers.
final class PeriodicTicks: Disposable {
  private let counted = CountedDisposable()
  /// A timing that repeats.
  private let timing: ActionTiming
  private let scheduler: any SchedulerType
  private let pending = SerialDisposable()
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

  private func submit(due: MonotonicTime, after time: Duration) {
    let next = SingleAssignmentDisposable(), tick = Tick(due, of: self)
    let share = timing.repetition!.jittered(0, of: UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()))
    let delay = time + .nanoseconds(Int64(clamping: share))
    pending.disposable = next
    next.setDisposable(
      scheduler.schedule(.after(delay, tolerance: timing.tolerance)) { tick.run() })
  }

  fileprivate func tick(_ due: MonotonicTime) {
    let begin = scheduler.now
    guard run() else { return }
    let end = scheduler.now
    let next = isDisposed || isStandingStill(since: begin) ? nil : timing.next(after: due, begunAt: begin, endedAt: end)
    if next == nil { finish() }
    action.leave { _ in }
    // A refusal means that the scheduler was stopped, which ends a waiting tick as well. So no refusal is printed.
    if let next { withoutRefusalLine { submit(due: next, after: max(.zero, end.duration(to: next))) } }
  }

  /// Enters and calls the action. Returns false if the action is over.
  private func run() -> Bool {
    guard let call = action.enter() else { return false }
    call()
    return true
  }

  /// Whether ticks would repeat forever at the same instant, because the scheduler's time does not advance by itself.
  private func isStandingStill(since begin: MonotonicTime) -> Bool {
    guard let period = timing.period, period <= .zero else { return false }
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

/// A scheduled tick. Only the scheduler's closure holds it, so a drop ends it without a call.
private final class Tick: Sendable {
  private let due: MonotonicTime
  // Taken when the tick starts; a scheduler starts it once.
  nonisolated(unsafe) private var ticks: PeriodicTicks?

  init(_ due: MonotonicTime, of ticks: PeriodicTicks) {
    self.due = due
    self.ticks = ticks
  }

  deinit { ticks?.finish() }

  func run() { ticks.take()?.tick(due) }
}
