/// When a periodic action runs.
///
/// A period that moves time by nothing (zero, or negative) has one tick.
public struct PeriodicTiming: Hashable, Sendable {
  /// What becomes of ticks whose time has passed when the action comes to run.
  public enum LateTicks: Hashable, Sendable {
    /// All that were missed become one, which runs at once; the next is on the grid again.
    case coalesce
    /// Each is made up for, one after the other, at once.
    case catchUp
    /// They are left out: the next tick is the first on the grid that is yet to come.
    case skip
  }

  /// From where the next tick is counted.
  public enum Pace: Hashable, Sendable {
    /// From when the last one was due. Ticks lie on a grid, and the grid does not drift.
    case fixedRate(late: LateTicks)
    /// From the end of the last one.
    case fixedDelay
  }

  /// The time until the first tick.
  public var startAfter: Duration
  /// The time from tick to tick.
  public var period: Duration
  /// How much later than it is due a tick may run, so that fewer wakeups serve more timers.
  public var leeway: Duration
  /// From where the next tick is counted.
  public var pace: Pace

  /// Makes a timing; one period until the first tick, when `startAfter` is left out.
  public init(
    startAfter: Duration? = nil, every period: Duration, leeway: Duration = .zero,
    pace: Pace = .fixedRate(late: .coalesce)
  ) {
    self.startAfter = startAfter ?? period
    self.period = period
    self.leeway = leeway
    self.pace = pace
  }

  /// The moment of the tick after the one that was due at `last`, now that it has ended at `end`; `nil` when there is none.
  public func next(after last: MonotonicTime, endedAt end: MonotonicTime) -> MonotonicTime? {
    next(after: last.nanoseconds, endedAt: end.nanoseconds).map(MonotonicTime.init(nanoseconds:))
  }

  func next(after last: UInt64, endedAt end: UInt64) -> UInt64? {
    let span = period.saturatedNanoseconds
    guard span > 0 else { return nil }
    func add(_ start: UInt64, _ span: UInt64) -> UInt64 {
      let (sum, overflow) = start.addingReportingOverflow(span)
      return overflow ? .max : sum
    }
    let step = UInt64(span), due = add(last, step)
    switch pace {
    case .fixedDelay: return add(end, step)
    case .fixedRate(.catchUp): return due
    case .fixedRate(.coalesce): return due > end ? due : add(last, (end - last) / step * step)
    case .fixedRate(.skip): return due > end ? due : add(last, ((end - last) / step + 1) * step)
    }
  }
}
