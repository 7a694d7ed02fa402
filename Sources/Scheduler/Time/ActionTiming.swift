internal import CScheduler

/// When an action runs: once or repeatedly.
///
/// ```swift
/// scheduler.schedule(.after(.seconds(1), tolerance: .milliseconds(100))) { refresh() }
/// scheduler.schedule(.at(wall: WallTime(date))) { alarm.ring() }
/// scheduler.schedule(.every(.seconds(5), after: .zero)) { poll() }
/// ```
///
/// An action never runs early. With a start in the past it is submitted at once; a start at the end of a clock never comes. A tolerance lets
/// one wakeup serve several timers: the action may run up to that much later. Virtual time ignores the tolerance.
public struct ActionTiming: Hashable, Sendable, CustomStringConvertible {
  /// How the time of the next tick is computed, and what happens to ticks whose time has passed before the action can run.
  ///
  /// The table shows the first ticks of a period of 10 ms. In the first column the tick of 20 ms was delivered late, at 45 ms. In the second
  /// it was delivered in time, but ran until 45 ms:
  ///
  /// | | delivered at 45 | ended at 45 |
  /// |---|---|---|
  /// | `coalescing` | 10, **45**, 50, 60 | 10, 20, **45**, 50, 60 |
  /// | `catchingUp` | 10, **45, 45, 45**, 50, 60 | 10, 20, **45, 45**, 50, 60 |
  /// | `skipping` | 10, **45**, 50, 60 | 10, 20, 50, 60 |
  /// | `fixedDelay` | 10, **45**, 55 | 10, 20, 55 |
  public enum Pace: Hashable, Sendable {
    /// Ticks lie on a grid that does not drift. One tick replaces all ticks whose time has passed when it starts. The next tick is the first
    /// grid point after that start.
    case coalescing
    /// Ticks lie on a grid that does not drift. All late ticks run at once, one after the other.
    case catchingUp
    /// Ticks lie on a grid that does not drift. Late ticks are skipped: the next tick is the first grid point after the previous tick's end.
    case skipping
    /// The next tick is one period after the end of the previous tick, however late that tick was.
    case fixedDelay
  }

  /// When the action, or its first tick, is due.
  enum Start: Hashable, Sendable {
    case after(Duration)
    case at(MonotonicTime)
    /// Nanoseconds of the clock that counts the system's sleep.
    case continuous(UInt64)
    case wall(WallTime)
  }

  /// How an action repeats after its first tick.
  struct Repetition: Hashable, Sendable {
    let period: Duration
    let pace: Pace
    let jitter: Duration

    /// Returns the tick after `last`, in units of any clock. `step`: the period in these units. See ``ActionTiming/next(after:begunAt:endedAt:)``.
    func next(after last: UInt64, begunAt begin: UInt64, endedAt end: UInt64, step: UInt64) -> UInt64? {
      if last == .max { return nil }
      var timing = csched_timing(first: last, period: step, leeway: 0, pace: pace.core, jitter: 0)
      return csched_timing_next(&timing, last, begin, end)
    }

    /// The period in nanoseconds.
    var step: UInt64 { UInt64(max(0, period.saturatedNanoseconds)) }

    /// Returns `due` plus a random jitter. The address `ticks` identifies the action, so that actions with the same `due` get different jitters.
    func jittered(_ due: UInt64, of ticks: UnsafeRawPointer?) -> UInt64 {
      jitter <= .zero ? due : csched_jittered_(due, csched_time(jitter.saturatedNanoseconds), ticks)
    }
  }

  let start: Start
  /// How much later than due the action may run, so that fewer wakeups serve more timers.
  public let tolerance: Duration
  let repetition: Repetition?

  init(_ start: Start, tolerance: Duration = .zero, repetition: Repetition? = nil) {
    (self.start, self.tolerance, self.repetition) = (start, tolerance, repetition)
  }

  /// Once, `delay` from now.
  ///
  /// - Parameters:
  ///   - delay: how long from the submission. With zero or less, the action is submitted at once; more than the clock can hold never comes.
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

  /// Once, at an instant of the wall clock. The action follows changes of the clock: if the clock is set back, the action waits longer; if it is set
  /// past the instant, the action runs at once. The rest is as in ``at(continuous:tolerance:)``.
  ///
  /// - Parameters:
  ///   - instant: when to run. With an instant in the past, the action is submitted at once.
  ///   - tolerance: how much later it may run.
  public static func at(wall instant: WallTime, tolerance: Duration = .zero) -> Self {
    Self(.wall(instant), tolerance: tolerance)
  }

  /// Repeatedly, until the action is disposed. Two ticks never run concurrently.
  ///
  /// With a period of zero or less, the next tick is due as soon as the previous one ends. Each tick queues behind the scheduler's other work, and
  /// the pace makes no difference. In virtual time such an action has one tick only: it does not advance the time, so its ticks would never end.
  ///
  /// - Parameters:
  ///   - period: the time from tick to tick.
  ///   - delay: the time until the first tick; by default a period.
  ///   - tolerance: how much later than due a tick may run.
  ///   - pace: how the time of the next tick is computed, and what happens to late ticks.
  ///   - jitter: the maximum of a random delay that each tick gets, also the first one. So many timers of one period do not fire together. The grid
  ///     does not move; with a jitter of a period or more, several ticks may be due together. Virtual time has no jitter.
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

  /// The time until the action, or its first tick, is due; negative if that has passed.
  ///
  /// - Parameter now: the scheduler's present time. An instant of another clock is compared with that clock's present time.
  public func delay(from now: MonotonicTime) -> Duration {
    switch start {
    case .after(let delay): delay
    case .at(let instant): now.duration(to: instant)
    case .continuous(let nanoseconds): csched_clock_now(CSCHED_CLOCK_BOOT).span(to: nanoseconds)
    case .wall(let instant): WallTime.now.duration(to: instant)
    }
  }

  /// The instant of the next tick, without its jitter. If it has passed, the tick should run at once. Nil if there is no next tick: the action runs
  /// once, or the clock has reached its end.
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

  /// Returns when the action, or its first tick, is due, if it is submitted at `now`.
  func first(from now: MonotonicTime) -> MonotonicTime {
    if case .at(let instant) = start { return instant }
    return now.advanced(by: max(.zero, delay(from: now)))
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
  fileprivate var core: csched_pace {
    switch self {
    case .coalescing: CSCHED_PACE_COALESCE
    case .catchingUp: CSCHED_PACE_CATCH_UP
    case .skipping: CSCHED_PACE_SKIP
    case .fixedDelay: CSCHED_PACE_DELAY
    }
  }
}
