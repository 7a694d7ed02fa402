// A periodic action that can be suspended and resumed.
//
// States, under the lock of its RepeatedCall
//   ticking      the disposable of the ticks that are with the scheduler; nil: there are none
//   number       the number of those ticks; ticks with earlier numbers are over
//   suspensions  the number of calls of suspend() without a resume()
// Invariants
//   PA1  No tick starts after suspend() has returned, until resume(): a tick checks before it starts.
//   PA2  The scheduler has ticks of one number at a time. Ticks suspended inside their own tick are cancelled at its end, unless resumed by then.
//   PA3  While the action is suspended, the scheduler holds nothing of it. A drop that a suspension causes does not end the action.
//   PA4  Any other drop or end by the scheduler ends the action.
// Orderings: the lock's.
// Checked by: "no tick begins while a periodic action is suspended, and it goes on when it is resumed",
//   "a periodic action may suspend itself", "a periodic action is suspended, resumed and disposed by several threads",
//   "a suspended periodic action leaves nothing with the scheduler", "a periodic action that is dropped is over, and one that is suspended is not".
// Models: swift/virtual/virtual.swift.

/// A periodic action that can be suspended. `schedulePeriodic(_:action:)` returns it, and passes it to a closure that takes one.
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
/// 1. While it is suspended, no tick starts, and its scheduler has no timer and no wakeup for it. It keeps its closure.
/// 2. A pause does not move the ticks. Those whose time has passed at ``resume()`` are late, as if the last tick had taken until then. With
///    ``ActionTiming/Pace/coalescing`` one tick at once replaces them. With ``ActionTiming/Pace/catchingUp`` each is made up for. With
///    ``ActionTiming/Pace/skipping`` none is. With ``ActionTiming/Pace/fixedDelay`` at most one was missed, which runs at once.
/// 3. ``dispose()`` releases the closure at once, suspended or not. Releasing a suspended action ends it.
/// 4. It retains its scheduler. A member of a group is outside its group while it is suspended.
///
/// All operations may be called on any thread, also inside the action.
public final class PeriodicAction: Disposable {
  private struct Schedule {
    var ticking: SingleAssignmentDisposable?
    var number = 0
    var suspensions = 0
    var past: Past
  }

  /// The data that decides when the next tick is due.
  fileprivate struct Past {
    /// When the first tick was due: the origin of the grid.
    let first: MonotonicTime
    var count = 0
    var last: (begin: MonotonicTime, end: MonotonicTime)?
  }

  private let counted = CountedDisposable()
  private let timing: ActionTiming
  private let scheduler: any SchedulerType
  private let action: RepeatedCall<@Sendable (PeriodicAction) -> Void, Schedule>

  /// Creates an action that is not submitted yet.
  private init(
    _ timing: ActionTiming, on scheduler: any SchedulerType, from first: MonotonicTime,
    _ action: @escaping @Sendable (PeriodicAction) -> Void
  ) {
    self.timing = timing
    self.scheduler = scheduler
    self.action = RepeatedCall(action, Schedule(past: Past(first: first)))
  }

  fileprivate static func started(
    _ timing: ActionTiming, on scheduler: any SchedulerType, _ action: @escaping @Sendable (PeriodicAction) -> Void
  ) -> PeriodicAction {
    let started = PeriodicAction(
      timing, on: scheduler, from: timing.first(from: scheduler.now), action)
    started.submit { _ in timing }
    return started
  }

  // MARK: Ticks with the scheduler

  /// Submits ticks to the scheduler with the timing that `decide` returns, unless the scheduler has ticks already.
  private func submit(_ decide: (inout Schedule) -> ActionTiming?) {
    let ticking = SingleAssignmentDisposable()
    let begun = action.change { schedule, _ -> (ActionTiming, Int)? in
      guard let timing = decide(&schedule), schedule.ticking == nil else { return nil }
      schedule.ticking = ticking
      schedule.number += 1
      return (timing, schedule.number)
    }
    guard let (timing, number) = begun else { return }
    let ticks = SubmittedTicks(of: self, number)
    ticking.setDisposable(scheduler.schedule(timing) { ticks.tick() })
  }

  fileprivate func tick(_ number: Int) {
    let begin = scheduler.now
    guard run(number) else { return }
    let end = scheduler.now
    let cancelled = action.leave { schedule -> SingleAssignmentDisposable? in
      schedule.past.count += 1
      schedule.past.last = (begin, end)
      return schedule.suspensions == 0 ? nil : Self.takeTicks(&schedule)  // PA2: cancel at the tick's end
    }
    cancelled?.dispose()
  }

  /// Enters and calls the action. Returns false if the tick's number is over or the action is suspended.
  private func run(_ number: Int) -> Bool {
    // PA1: none while suspended
    guard let call = action.enter(if: { $0.number == number && $0.suspensions == 0 }) else { return false }
    call(self)
    return true
  }

  /// Called when the scheduler has released the ticks of that number.
  fileprivate func ended(_ number: Int) { _ = finish { $0.number == number } }  // PA3, PA4: suspended: nothing kept

  /// Removes the ticks and returns their disposable. The present number is then a new one.
  private static func takeTicks(_ schedule: inout Schedule) -> SingleAssignmentDisposable? {
    schedule.number += 1  // PA3: their drop is not the end
    return schedule.ticking.take()
  }

  // MARK: Suspension

  /// Suspends further ticks, until ``resume()`` has been called as often. A tick that has started runs to its end.
  public func suspend() {
    let cancelled = action.change { schedule, isInside -> SingleAssignmentDisposable? in
      schedule.suspensions += 1
      return isInside ? nil : Self.takeTicks(&schedule)  // PA2: else at the tick's end
    }
    cancelled?.dispose()
  }

  /// Takes one ``suspend()`` back. Without a matching ``suspend()`` it stops the process with a message, unless the action is over.
  public func resume() {
    let now = scheduler.now
    var isSuspended = true
    submit { schedule in
      isSuspended = schedule.suspensions > 0
      guard isSuspended else { return nil }
      schedule.suspensions -= 1
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

  /// Ends the action if `isMeant` returns true. Returns the disposable of its ticks.
  private func finish(if isMeant: (Schedule) -> Bool) -> SingleAssignmentDisposable? {
    var ticks: SingleAssignmentDisposable?
    action.finish { schedule in
      guard isMeant(schedule) else { return false }
      ticks = Self.takeTicks(&schedule)
      return true
    }
    return ticks
  }
}

/// The part that only the scheduler's closure holds: when it is released, the ticks have ended.
private final class SubmittedTicks: Sendable {
  private let action: PeriodicAction
  private let number: Int

  init(of action: PeriodicAction, _ number: Int) {
    self.action = action
    self.number = number
  }

  deinit { action.ended(number) }

  func tick() { action.tick(number) }
}

extension ActionTiming {
  /// The timing with which ticks continue at `now`, after a pause.
  fileprivate func resumed(at now: MonotonicTime, after past: PeriodicAction.Past) -> ActionTiming {
    if let repetition {
      return ActionTiming(.at(repetition.due(at: now, after: past)), tolerance: tolerance, repetition: repetition)
    }
    if case .after = start { return .at(past.first, tolerance: tolerance) }
    return self
  }
}

extension ActionTiming.Repetition {
  /// When the next tick that the pace does not skip is due, or was due.
  fileprivate func due(at now: MonotonicTime, after past: PeriodicAction.Past) -> MonotonicTime {
    func onGrid(after instant: MonotonicTime) -> MonotonicTime {
      ActionTiming.every(period, pace: .skipping).next(after: past.first, endedAt: instant)
        ?? MonotonicTime(nanoseconds: .max)
    }
    guard let last = past.last else {
      let isLeftOut = pace == .skipping && past.first < now
      return isLeftOut ? onGrid(after: now.advanced(by: .nanoseconds(-1))) : past.first
    }
    return switch pace {
    case .fixedDelay: last.end.advanced(by: max(.zero, period))
    case .catchingUp: past.first.advanced(by: max(.zero, period) * past.count)
    case .coalescing: onGrid(after: last.begin)
    case .skipping: onGrid(after: max(last.end, now.advanced(by: .nanoseconds(-1))))
    }
  }
}

extension SchedulerType {
  /// Runs `action` repeatedly, as `timing` says, and passes it the object that suspends, resumes and ends the ticks. Each tick costs two reads of
  /// the clock and two locks more than with a closure without a parameter.
  ///
  /// - Parameters:
  ///   - timing: when the ticks are due, and how late ticks are treated.
  ///   - action: what each tick runs; it is given the same object that this returns.
  @discardableResult
  public func schedulePeriodic(
    _ timing: ActionTiming, action: @escaping @Sendable (PeriodicAction) -> Void
  ) -> PeriodicAction { .started(timing, on: self, action) }

  /// Runs `action` every `period`, first a period from now, and passes it the object that suspends, resumes and ends the ticks.
  ///
  /// - Parameters:
  ///   - period: the time from tick to tick, and until the first one.
  ///   - action: what each tick runs; it is given the same object that this returns.
  @discardableResult
  public func schedulePeriodic(
    _ period: Duration, action: @escaping @Sendable (PeriodicAction) -> Void
  ) -> PeriodicAction { schedulePeriodic(.every(period), action: action) }
}
