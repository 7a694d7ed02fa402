internal import CScheduler

/// One whose ticks stand for instants of a type.
///
/// A tick may stand for several instants; what is known of the present and of where it goes to is therefore kept besides.
final class InstantTimeline<Time: InstantProtocol<Duration>>: Timeline, @unchecked Sendable {
  // Unchecked, as its superclass is.
  private struct Known {
    var tick: csched_time
    var time: Time
    var version: UInt64 = 0
  }

  private let scale: any VirtualTimeScale<Time>
  private let present: Protected<Known>
  private let goal: Protected<Known>

  init(start: Time, scale: any VirtualTimeScale<Time>, actionLimit: Int) {
    let known = Known(tick: scale.tick(of: start), time: start)
    self.scale = scale
    (present, goal) = (Protected(known), Protected(known))
    super.init(start: known.tick, actionLimit: actionLimit)
  }

  var time: Time {
    let tick = tick, present = present.read()
    if present.tick == tick { return present.time }
    let goal = goal.read()
    return goal.tick == tick ? goal.time : scale.instant(at: tick)
  }

  override var now: MonotonicTime { scale.realTime(of: time) }

  /// The tick of `time`; of the present, where that is later.
  func tick(of time: Time) -> csched_time { scale.tick(of: time) }

  func instant(of time: Time) -> Instant {
    let tick = tick(of: time)
    if scale.isExact { return (tick, nil) }
    return (tick, { [unowned self] in arrive(at: time, tick) })
  }

  override func instant(after delay: Duration) -> Instant {
    guard delay > .zero else { return (tick, nil) }
    if delay.saturatedNanoseconds == .max { return (.max, nil) }  // it never comes
    return instant(of: time(after: delay))
  }

  override func instant(at instant: MonotonicTime) -> Instant {
    self.instant(of: scale.instant(of: instant))
  }

  override func ticks(in period: Duration, from tick: csched_time) -> UInt64 {
    guard period > .zero else { return 0 }
    let from = scale.instant(at: tick), next = scale.instant(period, after: from)
    guard from < next else { return 0 }
    let end = self.tick(of: next)
    return end > tick ? end - tick : 1
  }

  /// The instant `delay` from the present.
  func time(after delay: Duration) -> Time { scale.instant(delay, after: time) }

  /// Notes that the clock is on its way to `time`, unless that has passed; returns the tick to go to.
  func head(for time: Time) -> csched_time {
    guard self.time < time else { return 0 }
    let tick = tick(of: time)
    replace(goal, by: time, tick)
    return tick
  }

  /// Notes that the clock has come to `time`, if its tick is the present one.
  func arrive(at time: Time, _ tick: csched_time) { if tick == self.tick { replace(present, by: time, tick) } }

  /// Comparing and ending times is the user's, so it does not happen under the lock.
  private func replace(_ known: Protected<Known>, by time: Time, _ tick: csched_time) {
    while true {
      let seen = known.read()
      guard seen.tick < tick || (seen.tick == tick && seen.time < time) else { return }
      var other = Known(tick: tick, time: time, version: seen.version + 1)
      let isReplaced = known.withLock { present in
        guard present.version == seen.version else { return false }
        swap(&present, &other)
        return true
      }
      if isReplaced { return }
    }
  }
}
