internal import CScheduler

/// When a periodic action runs.
///
/// A period that is zero or negative has its next tick as soon as the last one has ended, until it is disposed: each tick waits for its turn
/// behind the other work of the scheduler, which goes on. The pace makes no difference then. Virtual time, which such a tick does not move,
/// has one tick only: there would be no end of them.
public struct PeriodicTiming: Hashable, Sendable {
  /// What becomes of ticks whose time has passed when the action comes to run.
  ///
  /// The first ticks of a period of 10 ms, where the one of 20 ms was delivered late, at 45 ms; and where it came in time, but took until
  /// 45 ms:
  ///
  /// | | delivered at 45 | ended at 45 |
  /// |---|---|---|
  /// | `coalesce` | 10, **45**, 50, 60 | 10, 20, **45**, 50, 60 |
  /// | `catchUp` | 10, **45, 45, 45**, 50, 60 | 10, 20, **45, 45**, 50, 60 |
  /// | `skip` | 10, **45**, 50, 60 | 10, 20, 50, 60 |
  public enum LateTicks: Hashable, Sendable {
    /// One tick at once stands for all whose time has come before it begins; the next is the first on the grid that is yet to come then.
    case coalesce
    /// Each is made up for, one after the other, at once.
    case catchUp
    /// They are left out: after a tick, the next is the first on the grid that is yet to come when it ends.
    case skip
  }

  /// From where the next tick is counted.
  public enum Pace: Hashable, Sendable {
    /// From when the last one was due. Ticks lie on a grid, and the grid does not drift.
    case fixedRate(late: LateTicks)
    /// From the end of the last one, however late that was.
    case fixedDelay
  }

  /// The time until the first tick.
  public var startAfter: Duration
  /// The time from tick to tick.
  public var period: Duration
  /// How much later than it is due a tick may run, so that fewer wakeups serve more timers.
  public var tolerance: Duration
  /// From where the next tick is counted.
  public var pace: Pace
  /// Each tick, the first one, too, is due up to this much later, by a random share of its own, so that many timers of one period do not come
  /// together. The grid stays where it is; with a jitter of a period or more, ticks fall together. Virtual time has none.
  public var jitter: Duration
  /// Where ticks go on after a pause, when the first of them is due: perhaps in the past, from where the others are counted.
  var resumesAt: MonotonicTime?

  /// Makes a timing; one period until the first tick, when `startAfter` is left out.
  ///
  /// - Parameters:
  ///   - startAfter: the time until the first tick.
  ///   - period: the time from tick to tick.
  ///   - tolerance: how much later than it is due a tick may run.
  ///   - pace: from where the next tick is counted, and what becomes of late ones.
  ///   - jitter: up to how much later, at random, each tick is due.
  public init(
    startAfter: Duration? = nil, every period: Duration, tolerance: Duration = .zero,
    pace: Pace = .fixedRate(late: .coalesce), jitter: Duration = .zero
  ) {
    self.startAfter = startAfter ?? period
    self.period = period
    self.tolerance = tolerance
    self.pace = pace
    self.jitter = jitter
  }

  /// The instant of the tick after one, without its jitter; it is to run at once where that has passed. `nil` when there is none: time has come to its end.
  ///
  /// - Parameters:
  ///   - last: when that one was due.
  ///   - begin: when it began; in time, if left out.
  ///   - end: when it ended.
  public func next(
    after last: MonotonicTime, begunAt begin: MonotonicTime? = nil, endedAt end: MonotonicTime
  ) -> MonotonicTime? {
    next(
      after: last.nanoseconds, begunAt: begin?.nanoseconds ?? last.nanoseconds, endedAt: end.nanoseconds,
      step: UInt64(max(0, period.saturatedNanoseconds))
    )
    .map(MonotonicTime.init(nanoseconds:))
  }

  /// The same in units of any clock's, of which a period has `step`.
  func next(after last: UInt64, begunAt begin: UInt64, endedAt end: UInt64, step: UInt64) -> UInt64? {
    if last == .max { return nil }
    var timing = csched_timing(first: last, period: step, leeway: 0, pace: pace.core, jitter: 0)
    return csched_timing_next(&timing, last, begin, end)
  }

  /// When the first tick is due, as seen from `now`.
  func first(from now: MonotonicTime) -> MonotonicTime { resumesAt ?? now.advanced(by: max(.zero, startAfter)) }

  /// When the tick of `due` is to come, with a jitter of its own: `ticks` tells those apart that ask at the same time.
  func jittered(_ due: UInt64, of ticks: UnsafeRawPointer?) -> UInt64 {
    jitter <= .zero ? due : csched_jittered_(due, csched_time(jitter.saturatedNanoseconds), ticks)
  }
}

extension PeriodicTiming.Pace {
  fileprivate var core: csched_pace {
    switch self {
    case .fixedRate(.coalesce): CSCHED_PACE_COALESCE
    case .fixedRate(.catchUp): CSCHED_PACE_CATCH_UP
    case .fixedRate(.skip): CSCHED_PACE_SKIP
    case .fixedDelay: CSCHED_PACE_DELAY
    }
  }
}
