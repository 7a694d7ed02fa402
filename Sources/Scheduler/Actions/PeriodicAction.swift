// A periodic action that can be suspended and resumed. Each start or resumption submits one series of ticks to the
// scheduler.
//
// States, under the lock of its RepeatedCall
//   series        the disposable of the submitted series; nil: no series is submitted
//   seriesNumber  the number of that series; ticks of earlier series do nothing
//   suspensions   the number of calls of suspend() without a resume(); the action is suspended if it is not 0
// Invariants
//   PA1  No tick starts after suspend() has returned, until resume(): a tick checks before it starts.
//   PA2  At most one series is submitted at a time. A suspension during a tick cancels the series at the tick's end,
//        unless resume() is called first.
//   PA3  While the action is suspended, the scheduler retains nothing of it. The release of a series by a suspension
//        does not end the action.
//   PA4  Any other drop or end of the series by the scheduler ends the action.
// Orderings: the lock's.
// Models: swift/virtual/virtual.swift.

/// A periodic action that can be suspended. `schedulePeriodic(_:action:)` returns it, and passes it to a closure that
/// takes one.
///
/// ```swift
/// let polling = scheduler.schedulePeriodic(.seconds(1)) { polling in
///   if server.isBusy { polling.suspend() } else { server.poll() }
/// }
/// …
/// polling.resume()
/// polling.dispose()
/// ```
///
/// 1. While the action is suspended, no tick starts, and the scheduler has no timer and no wakeup for it. The closure
///    stays retained.
/// 2. A pause does not change when ticks are due. At ``resume()``, ticks whose time has passed are late, as if the
///    previous tick had run until then. With ``ActionTiming/Pace/coalescing`` one tick at once replaces them. With
///    ``ActionTiming/Pace/catchingUp`` each of them runs. With ``ActionTiming/Pace/skipping`` none runs. With
///    ``ActionTiming/Pace/fixedDelay`` at most one tick was missed, and it runs at once.
/// 3. ``dispose()`` releases the closure at once, suspended or not. Releasing a suspended action ends it.
/// 4. The action retains its scheduler. A member of a group is outside its group while it is suspended.
///
/// All operations may be called on any thread, also inside the action.
public final class PeriodicAction: Disposable {
  private struct Schedule {  // the fields: see States; guarded by the lock of `action`
    var series: SingleAssignmentDisposable?
    var seriesNumber = 0
    var suspensions = 0
    var past: Past
  }

  /// The past ticks, by which `resume` computes when the next tick is due.
  fileprivate struct Past {
    /// When the first tick was due. Later ticks are due at multiples of the period after it: the grid.
    let first: MonotonicTime
    var count = 0  // how many ticks have run
    var last: (begin: MonotonicTime, end: MonotonicTime)?  // when the most recent tick started and ended
  }

  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let timing: ActionTiming
  private let scheduler: any SchedulerType
  // the user's closure, and its schedule
  private let action: RepeatedCall<@Sendable (PeriodicAction) -> Void, Schedule>

  /// Creates an action without a submitted series. `first`: when the first tick is due.
  private init(
    _ timing: ActionTiming, on scheduler: any SchedulerType, from first: MonotonicTime,
    _ action: @escaping @Sendable (PeriodicAction) -> Void
  ) {
    self.timing = timing
    self.scheduler = scheduler
    self.action = RepeatedCall(action, Schedule(past: Past(first: first)))
  }

  /// Creates an action and submits its first series.
  fileprivate static func started(
    _ timing: ActionTiming, on scheduler: any SchedulerType, _ action: @escaping @Sendable (PeriodicAction) -> Void
  ) -> PeriodicAction {
    let started = PeriodicAction(
      timing, on: scheduler, from: timing.first(from: scheduler.now), action)
    started.submit { _ in timing }
    return started
  }

  // MARK: Submitted ticks

  /// Calls `decide` under the lock, and submits a new series of ticks with the timing that it returns. Submits nothing
  /// if `decide` returns nil, or if a series is submitted already.
  private func submit(_ decide: (inout Schedule) -> ActionTiming?) {
    let series = SingleAssignmentDisposable()
    let submission = action.change { schedule, _ -> (ActionTiming, Int)? in
      guard let timing = decide(&schedule), schedule.series == nil else { return nil }
      schedule.series = series
      schedule.seriesNumber += 1
      return (timing, schedule.seriesNumber)
    }
    guard let (timing, seriesNumber) = submission else { return }
    // its deinit calls `seriesEnded`, when the scheduler has released the closure below
    let ticks = SubmittedTicks(of: self, seriesNumber)
    series.setDisposable(scheduler.schedule(timing) { ticks.tick() })
  }

  /// Runs one tick of the series `seriesNumber`, and records when it ran.
  fileprivate func tick(_ seriesNumber: Int) {
    let begin = scheduler.now
    guard run(seriesNumber) else { return }  // the tick did not enter `action`, so it must not leave it
    let end = scheduler.now
    let cancelled = action.leave { schedule -> SingleAssignmentDisposable? in
      schedule.past.count += 1
      schedule.past.last = (begin, end)
      // PA2: suspend() in the tick left the series to this tick
      return schedule.suspensions == 0 ? nil : Self.takeSeries(&schedule)
    }
    cancelled?.dispose()
  }

  /// Calls the action. Returns false without a call if the action is suspended or over, or if the series `seriesNumber`
  /// is no longer current.
  private func run(_ seriesNumber: Int) -> Bool {
    // PA1: checks and enters under one lock, so no tick starts after suspend() has returned
    guard let call = action.enter(if: { $0.seriesNumber == seriesNumber && $0.suspensions == 0 }) else { return false }
    call(self)
    return true
  }

  /// Called when the scheduler has released the series `seriesNumber`. Ends the action, unless `takeSeries` has removed
  /// that series.
  // PA3, PA4: only the release of the current series ends the action. The returned disposable is not needed: its series
  // is over.
  fileprivate func seriesEnded(_ seriesNumber: Int) { _ = finish { $0.seriesNumber == seriesNumber } }

  /// Removes the current series and returns its disposable, nil if there is none. The caller disposes it outside the
  /// lock.
  private static func takeSeries(_ schedule: inout Schedule) -> SingleAssignmentDisposable? {
    schedule.seriesNumber += 1  // PA3: `seriesEnded` then ignores the release of this series
    return schedule.series.take()
  }

  // MARK: Suspension

  /// Suspends further ticks, until ``resume()`` has been called as often as this. A tick that has started runs to its
  /// end.
  public func suspend() {
    let cancelled = action.change { schedule, isInside -> SingleAssignmentDisposable? in
      schedule.suspensions += 1
      return isInside ? nil : Self.takeSeries(&schedule)  // PA2: a running tick takes the series at its end
    }
    cancelled?.dispose()
  }

  /// Reverts one ``suspend()``. Without a matching ``suspend()`` it stops the process with a message, unless the action
  /// is over.
  public func resume() {
    let now = scheduler.now
    var isSuspended = true  // stays true if the action is over: `submit` then does not call the closure
    submit { schedule in
      isSuspended = schedule.suspensions > 0
      guard isSuspended else { return nil }
      schedule.suspensions -= 1
      // not 0: other calls of suspend() are still in force, so nothing is submitted
      return schedule.suspensions == 0 ? timing.resumed(at: now, after: schedule.past) : nil
    }
    if !isSuspended {
      misuse("PeriodicAction.resume", "the action is not suspended. Resume once for each suspend.")
    }
  }

  // MARK: End

  public var isDisposed: Bool { action.isOver }
  public func dispose() { finish { _ in true }?.dispose() }

  public func disposeAndWait() {
    dispose()
    action.awaitOthers()
  }

  /// Ends the action if `condition` returns true. Returns the disposable of the current series, for the caller to
  /// dispose; nil if there is none.
  private func finish(if condition: (Schedule) -> Bool) -> SingleAssignmentDisposable? {
    var ended: SingleAssignmentDisposable?
    action.finish { schedule in
      guard condition(schedule) else { return false }
      ended = Self.takeSeries(&schedule)
      return true
    }
    return ended
  }
}

/// One series of ticks. Only the closure given to the scheduler retains this object, so its deinit means that the
/// series is over.
private final class SubmittedTicks: Sendable {
  private let action: PeriodicAction
  private let seriesNumber: Int

  init(of action: PeriodicAction, _ seriesNumber: Int) {
    self.action = action
    self.seriesNumber = seriesNumber
  }

  deinit { action.seriesEnded(seriesNumber) }
  func tick() { action.tick(seriesNumber) }
}

extension ActionTiming {
  /// Returns the timing of the series that `resume` submits at `now`. A delayed action that runs once stays due at the
  /// same instant.
  fileprivate func resumed(at now: MonotonicTime, after past: PeriodicAction.Past) -> ActionTiming {
    if let repetition {
      return ActionTiming(.at(repetition.due(at: now, after: past)), tolerance: tolerance, repetition: repetition)
    }
    if case .after = start { return .at(past.first, tolerance: tolerance) }
    return self
  }
}

extension ActionTiming.Repetition {
  /// Returns when the first tick after a pause is due, by the pace. A result in the past means: at once.
  fileprivate func due(at now: MonotonicTime, after past: PeriodicAction.Past) -> MonotonicTime {
    // Returns the first multiple of the period, counted from the first tick, that is later than `instant`.
    func onGrid(after instant: MonotonicTime) -> MonotonicTime {
      ActionTiming.every(period, pace: .skipping).next(after: past.first, endedAt: instant)
        ?? MonotonicTime(nanoseconds: .max)  // the clock has no later instant: never
    }
    guard let last = past.last else {  // no tick has run
      let isSkipped = pace == .skipping && past.first < now
      // -1 ns: a tick that is due at `now` is not skipped
      return isSkipped ? onGrid(after: now.advanced(by: .nanoseconds(-1))) : past.first
    }
    return switch pace {
    case .fixedDelay: last.end.advanced(by: max(.zero, period))
    case .catchingUp: past.first.advanced(by: max(.zero, period) * past.count)  // the first tick that has not run
    case .coalescing: onGrid(after: last.begin)  // the first missed tick; it replaces the others
    // the first tick that was not missed
    case .skipping: onGrid(after: max(last.end, now.advanced(by: .nanoseconds(-1))))
    }
  }
}

extension SchedulerType {
  /// Runs `action` repeatedly with `timing`, and passes it the object that suspends, resumes and ends the ticks. Each
  /// tick costs two more clock reads and two more lock operations than the overload whose closure takes no parameter.
  ///
  /// - Parameters:
  ///   - timing: when the ticks are due, and how late ticks are treated.
  ///   - action: what each tick runs; its argument is the object that this function returns.
  @discardableResult
  public func schedulePeriodic(
    _ timing: ActionTiming, action: @escaping @Sendable (PeriodicAction) -> Void
  ) -> PeriodicAction { .started(timing, on: self, action) }

  /// Runs `action` every `period`, first a period from now, and passes it the object that suspends, resumes and ends
  /// the ticks.
  ///
  /// - Parameters:
  ///   - period: the time from tick to tick, and until the first one.
  ///   - action: what each tick runs; its argument is the object that this function returns.
  @discardableResult
  public func schedulePeriodic(
    _ period: Duration, action: @escaping @Sendable (PeriodicAction) -> Void
  ) -> PeriodicAction { schedulePeriodic(.every(period), action: action) }
}
