internal import CScheduler

/// When an action runs: once or repeatedly.
///
/// ```swift
/// scheduler.schedule(.after(.seconds(1), tolerance: .milliseconds(100))) { refresh() }
/// scheduler.schedule(.at(wall: WallTime(date))) { alarm.ring() }
/// scheduler.schedule(.every(.seconds(5), after: .zero)) { poll() }
/// ```
///
/// An action never runs early. With a start in the past it is submitted at once; with a start at the end of a clock's
/// range it never runs. With a tolerance the action may run up to that much later, so that one wakeup serves several
/// timers. Virtual time ignores the tolerance.
public struct ActionTiming: Hashable, Sendable, CustomStringConvertible {
  /// How the time of the next tick of a periodic action is computed, and what happens to late ticks: those whose time
  /// has passed before they start.
  ///
  /// The table shows when the first ticks of a period of 10 ms start, in ms. In the first column the tick of 20 ms was
  /// delivered late, at 45 ms. In the second column that tick was delivered in time, but ran until 45 ms. Late starts
  /// are bold:
  ///
  /// | | delivered at 45 | ended at 45 |
  /// |---|---|---|
  /// | `coalescing` | 10, **45**, 50, 60 | 10, 20, **45**, 50, 60 |
  /// | `catchingUp` | 10, **45, 45, 45**, 50, 60 | 10, 20, **45, 45**, 50, 60 |
  /// | `skipping` | 10, **45**, 50, 60 | 10, 20, 50, 60 |
  /// | `fixedDelay` | 10, **45**, 55 | 10, 20, 55 |
  public enum Pace: Hashable, Sendable {
    /// Ticks lie on a grid that does not drift: the first tick, and multiples of the period after it. One tick replaces
    /// all ticks whose time has passed when it starts. The next tick is the first grid point after that start.
    case coalescing
    /// Ticks lie on a grid that does not drift. All late ticks run at once, one after the other.
    case catchingUp
    /// Ticks lie on a grid that does not drift. Late ticks are skipped: the next tick is the first grid point after the
    /// previous tick's end.
    case skipping
    /// The next tick is one period after the end of the previous tick, however late that tick was.
    case fixedDelay
  }

  /// When the action, or its first tick, is due.
  enum Start: Hashable, Sendable {
    case after(Duration)
    case at(MonotonicTime)
    /// Nanoseconds on the C core's boot clock, which continues while the system sleeps.
    case continuous(UInt64)
    case wall(WallTime)
  }

  /// How an action repeats after its first tick.
  struct Repetition: Hashable, Sendable {
    let period: Duration
    let pace: Pace
    let jitter: Duration

    /// Returns when the next tick is due, or nil: see ``ActionTiming/next(after:begunAt:endedAt:)``. All times are in
    /// the same unit, nanoseconds or virtual ticks. `step` is the period in this unit.
    func next(after last: UInt64, begunAt begin: UInt64, endedAt end: UInt64, step: UInt64) -> UInt64? {
      if last == .max { return nil }  // the end of the clock. Below, csched_timing_next uses only `period` and `pace`.
      var timing = csched_timing(first: last, period: step, leeway: 0, pace: pace.core, jitter: 0)
      return csched_timing_next(&timing, last, begin, end)
    }

    /// The period in nanoseconds; 0 if it is negative.
    var step: UInt64 { UInt64(max(0, period.saturatedNanoseconds)) }

    /// Returns `due` plus a random time up to `jitter`. `ticks`: the action's address. Actions with the same `due` get
    /// different times by it.
    func jittered(_ due: UInt64, of ticks: UnsafeRawPointer?) -> UInt64 {
      jitter <= .zero ? due : csched_jittered_(due, csched_time(jitter.saturatedNanoseconds), ticks)
    }
  }

  let start: Start
  /// How much later than due the action may run, so that fewer wakeups serve more timers.
  public let tolerance: Duration
  let repetition: Repetition?  // nil for an action that runs once

  init(_ start: Start, tolerance: Duration = .zero, repetition: Repetition? = nil) {
    (self.start, self.tolerance, self.repetition) = (start, tolerance, repetition)
  }

  /// Once, `delay` from now.
  ///
  /// - Parameters:
  ///   - delay: how long from the submission. With zero or less, the action is submitted at once; beyond the clock's
  ///     range it never runs.
  ///   - tolerance: how much later it may run.
  public static func after(_ delay: Duration, tolerance: Duration = .zero) -> Self {
    Self(.after(delay), tolerance: tolerance)
  }

  /// Once, at an instant of the scheduler's own clock: the monotonic clock, or virtual time.
  ///
  /// - Parameters:
  ///   - instant: when to run. With an instant in the past, the action is submitted at once.
  ///   - tolerance: how much later it may run.
  public static func at(_ instant: MonotonicTime, tolerance: Duration = .zero) -> Self {
    Self(.at(instant), tolerance: tolerance)
  }

  /// Once, at an instant of the wall clock. The action follows changes of the clock: if the clock is set back, the
  /// action waits longer; if it is set past the instant, the action runs at once. What ``at(continuous:tolerance:)``
  /// says about virtual time and drops also holds here.
  ///
  /// - Parameters:
  ///   - instant: when to run. With an instant in the past, the action is submitted at once.
  ///   - tolerance: how much later it may run.
  public static func at(wall instant: WallTime, tolerance: Duration = .zero) -> Self {
    Self(.wall(instant), tolerance: tolerance)
  }

  /// Repeatedly, until the action is disposed. Two ticks never run concurrently.
  ///
  /// With a period of zero or less, the next tick is due as soon as the previous one ends, whatever the pace, and
  /// queues behind the scheduler's other work. In virtual time such an action has one tick only: its ticks would never
  /// end, because the clock would not move.
  ///
  /// - Parameters:
  ///   - period: the time from tick to tick.
  ///   - delay: the time until the first tick; by default a period.
  ///   - tolerance: how much later than due a tick may run.
  ///   - pace: how the time of the next tick is computed, and what happens to late ticks.
  ///   - jitter: each tick, also the first one, is delayed by a random time up to this, so that timers of one period do
  ///     not fire together. The grid does not move. With a jitter of a period or more, several ticks may be due
  ///     together. Virtual time has no jitter.
  public static func every(
    _ period: Duration, after delay: Duration? = nil, tolerance: Duration = .zero, pace: Pace = .coalescing,
    jitter: Duration = .zero
  ) -> Self {
    Self(
      .after(delay ?? period), tolerance: tolerance,
      repetition: Repetition(period: period, pace: pace, jitter: jitter))
  }

  // MARK: For schedulers

  /// The time from tick to tick; nil for an action that runs once.
  public var period: Duration? { repetition?.period }

  /// Returns the time until the action, or its first tick, is due; negative if that time has passed.
  ///
  /// - Parameter now: the scheduler's present time. If the start is on the wall clock or the boot clock, that clock is
  ///   read instead.
  public func delay(from now: MonotonicTime) -> Duration {
    switch start {
    case .after(let delay): delay
    case .at(let instant): now.duration(to: instant)
    case .continuous(let nanoseconds): csched_clock_now(CSCHED_CLOCK_BOOT).span(to: nanoseconds)
    case .wall(let instant): WallTime.now.duration(to: instant)
    }
  }

  /// Returns when the next tick is due, without its jitter. If that has passed, the tick should run at once. Returns
  /// nil if there is no next tick: the action runs once, or `last` is the end of the clock.
  ///
  /// - Parameters:
  ///   - last: when the previous tick was due.
  ///   - begin: when the previous tick started; by default when it was due.
  ///   - end: when the previous tick ended.
  public func next(
    after last: MonotonicTime, begunAt begin: MonotonicTime? = nil, endedAt end: MonotonicTime
  ) -> MonotonicTime? {
    repetition.flatMap {
      $0.next(
        after: last.nanoseconds, begunAt: (begin ?? last).nanoseconds, endedAt: end.nanoseconds, step: $0.step)
    }
    .map(MonotonicTime.init(nanoseconds:))
  }

  /// Returns when the action, or its first tick, is due on the scheduler's clock, if it is submitted at `now`.
  func first(from now: MonotonicTime) -> MonotonicTime {
    if case .at(let instant) = start { return instant }
    return now.advanced(by: max(.zero, delay(from: now)))  // not before `now`
  }

  public var description: String {
    let first =
      switch start {
      case .after(let delay): "after \(delay)"
      case .at(let instant): "at \(instant.nanoseconds) ns"
      case .continuous(let nanoseconds): "at \(nanoseconds) ns since the start"
      case .wall(let instant): "at \(instant.nanosecondsSince1970) ns since 1970"
      }
    return (period.map { "every \($0), first \(first)" } ?? first)
      + (tolerance > .zero ? ", tolerance \(tolerance)" : "")
  }
}

extension ActionTiming.Pace {
  fileprivate var core: csched_pace {  // the C core's name
    switch self {
    case .coalescing: CSCHED_PACE_COALESCE
    case .catchingUp: CSCHED_PACE_CATCH_UP
    case .skipping: CSCHED_PACE_SKIP
    case .fixedDelay: CSCHED_PACE_DELAY
    }
  }
}
