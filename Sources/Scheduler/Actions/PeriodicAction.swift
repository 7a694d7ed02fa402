// States, under the lock of its RepeatedCall
//   ticking      what cancels the ticks that the scheduler has; nil: it has none
//   number       of those ticks; earlier ones are over
//   suspensions  how many calls of suspend() have not been taken back
// Obligations
//   PA1  No tick begins after suspend() has returned, until resume(): it looks before it begins.
//   PA2  The scheduler has ticks of one number at a time. Those that are suspended in their own tick are cancelled at its end, unless it has been resumed.
//   PA3  While it is suspended the scheduler has nothing of it. What is dropped by a suspension is not the end.
//   PA4  What the scheduler drops otherwise, or ends, is the end.
// Orderings: the lock's.
// Checked by: "no tick begins while a periodic action is suspended, and it goes on when it is resumed",
//   "a periodic action may suspend itself", "a periodic action is suspended, resumed and disposed by several threads",
//   "a suspended periodic action leaves nothing with the scheduler", "a periodic action that is dropped is over, and one that is suspended is not".
// Models: swift/virtual/virtual.swift.

/// A periodic action that can be suspended: `schedulePeriodic(_:action:)` returns it, and gives it to a closure that takes one.
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
/// 1. No tick begins while it is suspended, and its scheduler has nothing of it: no timer, no wakeup. It keeps its closure.
/// 2. A pause leaves the ticks where they were. Those whose time has passed by ``resume()`` are late, as if that had taken until then: with
///    ``ActionTiming/Pace/coalescing`` one tick at once stands for them, with ``ActionTiming/Pace/catchingUp`` each is made up for, with
///    ``ActionTiming/Pace/skipping`` none. With ``ActionTiming/Pace/fixedDelay`` at most one was missed; it comes at once.
/// 3. ``dispose()`` releases the closure at once, suspended or not. One that is released while it is suspended is over.
/// 4. It keeps its scheduler until it is over. A group's action has left its group while it is suspended.
///
/// Any thread may call any of it, also inside of the action.
public final class PeriodicAction: Disposable {
  private struct Schedule {
    var ticking: SingleAssignmentDisposable?
    var number = 0
    var suspensions = 0
    var past: Past
  }

  /// What decides when the next tick is due.
  fileprivate struct Past {
    /// When the first tick was due: a point of the grid.
    let first: MonotonicTime
    var count = 0
    var last: (begin: MonotonicTime, end: MonotonicTime)?
  }

  private let counted = CountedDisposable()
  private let timing: ActionTiming
  private let scheduler: any SchedulerType
  private let action: RepeatedCall<@Sendable (PeriodicAction) -> Void, Schedule>

  /// Makes one that its scheduler has not yet.
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

  // MARK: the ticks that the scheduler has

  /// Has the scheduler begin ticks, by the timing that is returned, unless it has some.
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
      return schedule.suspensions == 0 ? nil : Self.takeTicks(&schedule)  // PA2
    }
    cancelled?.dispose()
  }

  /// Goes inside, and calls the action; not if the tick is of those that are over.
  private func run(_ number: Int) -> Bool {
    guard let call = action.enter(if: { $0.number == number && $0.suspensions == 0 }) else { return false }  // PA1
    call(self)
    return true
  }

  /// Follows the end of the ticks of that number.
  fileprivate func ended(_ number: Int) { _ = finish { $0.number == number } }  // PA3, PA4

  /// Returns what cancels the ticks, which are not those of the present number any more.
  private static func takeTicks(_ schedule: inout Schedule) -> SingleAssignmentDisposable? {
    schedule.number += 1  // PA3
    return schedule.ticking.take()
  }

  // MARK: suspending

  /// Keeps further ticks from beginning, until as many calls of ``resume()``. One that has begun runs to its end.
  public func suspend() {
    let cancelled = action.change { schedule, isInside -> SingleAssignmentDisposable? in
      schedule.suspensions += 1
      return isInside ? nil : Self.takeTicks(&schedule)  // PA2
    }
    cancelled?.dispose()
  }

  /// Takes one ``suspend()`` back. Without one it stops the process with a message, unless the action is over.
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

  // MARK: its end

  public var isDisposed: Bool { action.isOver }

  public func dispose() { finish { _ in true }?.dispose() }

  public func disposeAndWait() {
    dispose()
    action.awaitOthers()
  }

  /// Makes it over, if it is meant, and returns what cancels its ticks.
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

/// What the scheduler's closure alone holds: when it ends, so do the ticks.
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
  /// The timing by which ticks go on at `now`, after a pause.
  fileprivate func resumed(at now: MonotonicTime, after past: PeriodicAction.Past) -> ActionTiming {
    if let repetition {
      return ActionTiming(.at(repetition.due(at: now, after: past)), tolerance: tolerance, repetition: repetition)
    }
    if case .after = start { return .at(past.first, tolerance: tolerance) }
    return self
  }
}

extension ActionTiming.Repetition {
  /// When the next tick that the policy does not leave out is due, or was.
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
  /// Runs `action` again and again, as `timing` says, and gives it what suspends, resumes and ends its ticks. Otherwise as
  /// with a closure that takes nothing; each tick costs two looks at the time and two locks more.
  ///
  /// - Parameters:
  ///   - timing: when the ticks are due, and what becomes of late ones.
  ///   - action: what each tick runs; it is given the same object that this returns.
  @discardableResult
  public func schedulePeriodic(
    _ timing: ActionTiming, action: @escaping @Sendable (PeriodicAction) -> Void
  ) -> PeriodicAction { .started(timing, on: self, action) }

  /// Runs `action` every `period`, at first a period from now, and gives it what suspends, resumes and ends its ticks.
  ///
  /// - Parameters:
  ///   - period: the time from tick to tick, and until the first one.
  ///   - action: what each tick runs; it is given the same object that this returns.
  @discardableResult
  public func schedulePeriodic(
    _ period: Duration, action: @escaping @Sendable (PeriodicAction) -> Void
  ) -> PeriodicAction { schedulePeriodic(.every(period), action: action) }
}
