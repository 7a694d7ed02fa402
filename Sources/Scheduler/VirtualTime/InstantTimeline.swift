internal import CScheduler

/// A virtual clock that converts instants of the type `Time` to the ticks of its superclass, and back.
/// One tick may represent several instants. So this class also stores the exact present instant, and the exact goal of
/// the advance in progress.
final class InstantTimeline<Time: InstantProtocol<Duration>>: Timeline, @unchecked Sendable {
  // Unchecked, as its superclass is.
  /// An exact instant and its tick. `version`: how often `replace` has changed the variable, so that it notices another
  /// thread's change.
  private struct ExactInstant {
    var tick: csched_time
    var time: Time
    var version: UInt64 = 0
  }

  private let scale: any VirtualTimeScale<Time>
  private let present: Protected<ExactInstant>  // the most recent instant that the clock reached exactly
  private let goal: Protected<ExactInstant>  // the goal of the advance in progress, or of the previous one

  init(start: Time, scale: any VirtualTimeScale<Time>, actionLimit: Int) {
    let first = ExactInstant(tick: scale.tick(of: start), time: start)  // both the present and the goal
    self.scale = scale
    (present, goal) = (Protected(first), Protected(first))
    super.init(start: first.tick, actionLimit: actionLimit)
  }

  /// The present instant: the exact one if the clock is at the time of an action or at a goal, otherwise the first
  /// instant of its tick.
  var time: Time {
    let tick = tick, present = present.read()
    if present.tick == tick { return present.time }
    let goal = goal.read()
    return goal.tick == tick ? goal.time : scale.instant(at: tick)  // goal: not stored as the present yet
  }

  /// The present as real time, which `SchedulerType.now` reports.
  override var now: MonotonicTime { scale.realTime(of: time) }

  func tick(of time: Time) -> csched_time { scale.tick(of: time) }

  /// Returns the tick of `time`, and a closure to call when the clock reaches the tick: it stores `time` as the
  /// present. nil: the tick is exact.
  func instant(of time: Time) -> Instant {
    let tick = tick(of: time)
    if scale.isExact { return (tick, nil) }  // the tick is the instant: nothing to store
    return (tick, { [unowned self] in arrive(at: time, tick) })  // unowned: called by this clock only, so it exists
  }

  /// Returns the instant `delay` after the present; the present if `delay` is not positive.
  override func instant(after delay: Duration) -> Instant {
    guard delay > .zero else { return (tick, nil) }
    if delay.saturatedNanoseconds == .max { return (.max, nil) }  // beyond every clock's range: the end of time
    return instant(of: time(after: delay))
  }

  override func instant(at instant: MonotonicTime) -> Instant {
    self.instant(of: scale.instant(of: instant))
  }

  /// Returns the number of ticks in `period` from `tick`, at least 1; 0 if the period does not advance the clock.
  override func ticks(in period: Duration, from tick: csched_time) -> UInt64 {
    guard period > .zero else { return 0 }
    let from = scale.instant(at: tick), next = scale.instant(period, after: from)
    guard from < next else { return 0 }  // `period` is below the resolution of `Time`, or `from` is its end
    let end = self.tick(of: next)
    return end > tick ? end - tick : 1  // 1: the period is shorter than a tick, but must advance the clock
  }

  func time(after delay: Duration) -> Time { scale.instant(delay, after: time) }

  /// Called before the clock moves to `time`. Stores `time` as the goal, and returns its tick. If `time` has passed,
  /// only returns 0, a past tick.
  func setGoal(_ time: Time) -> csched_time {
    guard self.time < time else { return 0 }
    let tick = tick(of: time)
    replace(goal, by: time, tick)
    return tick
  }

  /// Called when the clock may have reached `tick`, that of `time`. If it has, stores `time` as the present, unless a
  /// later instant is stored.
  func arrive(at time: Time, _ tick: csched_time) { if tick == self.tick { replace(present, by: time, tick) } }

  /// Replaces the instant in `known` (`present` or `goal`) by `time`, with its `tick`, if `time` is later. Compares and
  /// releases instants outside the lock, because both run user code. If `version` shows that another thread has
  /// replaced the instant meanwhile, compares again.
  private func replace(_ known: Protected<ExactInstant>, by time: Time, _ tick: csched_time) {
    while true {
      let seen = known.read()
      guard seen.tick < tick || (seen.tick == tick && seen.time < time) else { return }
      var other = ExactInstant(tick: tick, time: time, version: seen.version + 1)
      let isReplaced = known.withLock { present in
        guard present.version == seen.version else { return false }
        swap(&present, &other)  // the old instant, now in `other`, is released after the unlock
        return true
      }
      if isReplaced { return }
    }
  }
}
