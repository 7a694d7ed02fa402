internal import CScheduler

/// When an action runs: once, or again and again.
///
/// ```swift
/// scheduler.schedule(.after(.seconds(1), tolerance: .milliseconds(100))) { refresh() }
/// scheduler.schedule(.at(wall: WallTime(date))) { alarm.ring() }
/// scheduler.schedule(.every(.seconds(5), after: .zero)) { poll() }
/// ```
///
/// Nothing runs early. What is due already is a plain submission; what is due at the end of a clock never comes. A tolerance lets one wakeup serve
/// several timers: the action may run up to that much later. Virtual time makes no use of it.
public struct ActionTiming: Hashable, Sendable, CustomStringConvertible {
  /// From where the next tick is counted, and what becomes of ticks whose time has passed when the action comes to run.
  ///
  /// The first ticks of a period of 10 ms, where the one of 20 ms was delivered late, at 45 ms; and where it came in time, but took until
  /// 45 ms:
  ///
  /// | | delivered at 45 | ended at 45 |
  /// |---|---|---|
  /// | `coalescing` | 10, **45**, 50, 60 | 10, 20, **45**, 50, 60 |
  /// | `catchingUp` | 10, **45, 45, 45**, 50, 60 | 10, 20, **45, 45**, 50, 60 |
  /// | `skipping` | 10, **45**, 50, 60 | 10, 20, 50, 60 |
  /// | `fixedDelay` | 10, **45**, 55 | 10, 20, 55 |
  public enum Pace: Hashable, Sendable {
    /// Ticks lie on a grid that does not drift. One tick at once stands for all whose time has come before it begins; the next is the first on
    /// the grid that is yet to come then.
    case coalescing
    /// Ticks lie on a grid that does not drift. Each late one is made up for, one after the other, at once.
    case catchingUp
    /// Ticks lie on a grid that does not drift. Late ones are left out: after a tick, the next is the first on the grid that is yet to come when
    /// it ends.
    case skipping
    /// A period from the end of the last tick, however late that was.
    case fixedDelay
  }

  /// When the action is due, or its first tick.
  enum Start: Hashable, Sendable {
    case after(Duration)
    case at(MonotonicTime)
    /// Nanoseconds of the clock that counts the system's sleep.
    case continuous(UInt64)
    case wall(WallTime)
  }

  /// How an action goes on after its first tick.
  struct Repetition: Hashable, Sendable {
    let period: Duration
    let pace: Pace
    let jitter: Duration

    /// The tick after one, in units of any clock's, of which a period has `step`; see ``ActionTiming/next(after:begunAt:endedAt:)``.
    func next(after last: UInt64, begunAt begin: UInt64, endedAt end: UInt64, step: UInt64) -> UInt64? {
      if last == .max { return nil }
      var timing = csched_timing(first: last, period: step, leeway: 0, pace: pace.core, jitter: 0)
      return csched_timing_next(&timing, last, begin, end)
    }

    /// The period in nanoseconds.
    var step: UInt64 { UInt64(max(0, period.saturatedNanoseconds)) }

    /// When the tick of `due` is to come, with a jitter of its own: `ticks` tells those apart that ask at the same time.
    func jittered(_ due: UInt64, of ticks: UnsafeRawPointer?) -> UInt64 {
      jitter <= .zero ? due : csched_jittered_(due, csched_time(jitter.saturatedNanoseconds), ticks)
    }
  }

  let start: Start
  /// Up to how much later than it is due the action may run, so that fewer wakeups serve more timers.
  public let tolerance: Duration
  let repetition: Repetition?

  init(_ start: Start, tolerance: Duration = .zero, repetition: Repetition? = nil) {
    (self.start, self.tolerance, self.repetition) = (start, tolerance, repetition)
  }

  /// Once, `delay` from now.
  ///
  /// - Parameters:
  ///   - delay: how long from the submission. Zero or less is a plain submission; more than the clock can hold never comes.
  ///   - tolerance: up to how much later it may run.
  public static func after(_ delay: Duration, tolerance: Duration = .zero) -> Self {
    Self(.after(delay), tolerance: tolerance)
  }

  /// Once, at an instant of the scheduler's own clock: the monotonic clock, or virtual time.
  ///
  /// - Parameters:
  ///   - instant: when. One that has passed is a plain submission.
  ///   - tolerance: up to how much later it may run.
  public static func at(_ instant: MonotonicTime, tolerance: Duration = .zero) -> Self {
    Self(.at(instant), tolerance: tolerance)
  }

  /// Once, at an instant of the wall clock, whose settings it follows: set back, the action waits longer; set past the instant, it runs at
  /// once. Otherwise as ``at(continuous:tolerance:)``.
  ///
  /// - Parameters:
  ///   - instant: when. One that has passed is a plain submission.
  ///   - tolerance: up to how much later it may run.
  public static func at(wall instant: WallTime, tolerance: Duration = .zero) -> Self {
    Self(.wall(instant), tolerance: tolerance)
  }

  /// Again and again, until the action is disposed. Ticks never overlap.
  ///
  /// A period that is zero or negative has its next tick as soon as the last one has ended: each tick waits for its turn behind the other work of
  /// the scheduler, which goes on. The pace makes no difference then. Virtual time, which such a tick does not move, has one tick only: there
  /// would be no end of them.
  ///
  /// - Parameters:
  ///   - period: the time from tick to tick.
  ///   - delay: the time until the first tick; a period, if left out.
  ///   - tolerance: up to how much later than it is due a tick may run.
  ///   - pace: from where the next tick is counted, and what becomes of late ones.
  ///   - jitter: up to how much later each tick is due, the first one, too, by a random share of its own, so that many timers of one period do not
  ///     come together. The grid stays where it is; with a jitter of a period or more, ticks fall together. Virtual time has none.
  public static func every(
    _ period: Duration, after delay: Duration? = nil, tolerance: Duration = .zero, pace: Pace = .coalescing,
    jitter: Duration = .zero
  ) -> Self {
    Self(
      .after(delay ?? period), tolerance: tolerance,
      repetition: Repetition(period: period, pace: pace, jitter: jitter))
  }

  // MARK: for schedulers

  /// The time from tick to tick; nil for what runs once.
  public var period: Duration? { repetition?.period }

  /// How long it is until the action is due, or its first tick; negative where that has passed.
  ///
  /// - Parameter now: the present of the scheduler. An instant of another clock is seen from that clock's present.
  public func delay(from now: MonotonicTime) -> Duration {
    switch start {
    case .after(let delay): delay
    case .at(let instant): now.duration(to: instant)
    case .continuous(let nanoseconds): csched_clock_now(CSCHED_CLOCK_BOOT).span(to: nanoseconds)
    case .wall(let instant): WallTime.now.duration(to: instant)
    }
  }

  /// The instant of the tick after one, without its jitter; it is to run at once where that has passed. Nil when there is none: the action runs
  /// once, or time has come to its end.
  ///
  /// - Parameters:
  ///   - last: when that one was due.
  ///   - begin: when it began; in time, if left out.
  ///   - end: when it ended.
  public func next(
    after last: MonotonicTime, begunAt begin: MonotonicTime? = nil, endedAt end: MonotonicTime
  ) -> MonotonicTime? {
    repetition.flatMap {
      $0.next(
        after: last.nanoseconds, begunAt: (begin ?? last).nanoseconds, endedAt: end.nanoseconds, step: $0.step)
    }
    .map(MonotonicTime.init(nanoseconds:))
  }

  /// When the first tick is due, as seen from `now`.
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
