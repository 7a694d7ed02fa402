internal import CScheduler

/// One whose ticks stand for the times of a converter.
///
/// A tick may stand for several times; what is known of the present and of where it goes to is therefore kept besides.
final class ConvertedTimeline<Converter: VirtualTimeConverter>: Timeline, @unchecked Sendable {
  // Unchecked, as its superclass is.
  typealias Time = Converter.VirtualTimeUnit

  private struct Known {
    var tick: csched_time
    var time: Time
    var version: UInt64 = 0
  }

  let converter: Converter
  private let start: Time
  private let present: Protected<Known>
  private let goal: Protected<Known>

  init(start: Time, converter: Converter, actionLimit: Int) {
    let known = Known(tick: converter.tick(of: start, from: start), time: start)
    self.converter = converter
    self.start = start
    (present, goal) = (Protected(known), Protected(known))
    super.init(start: known.tick, actionLimit: actionLimit)
  }

  var time: Time {
    let tick = tick, present = present.read()
    if present.tick == tick { return present.time }
    let goal = goal.read()
    return goal.tick == tick ? goal.time : converter.virtualTime(at: tick, from: start)
  }

  override var now: MonotonicTime { converter.convertFromVirtualTime(time) }

  /// The tick of `time`; of the present, where that is later.
  func tick(of time: Time) -> csched_time { converter.tick(of: time, from: start) }

  func instant(of time: Time) -> Instant {
    let tick = tick(of: time)
    if Time.self == MonotonicTime.self { return (tick, nil) }  // a time is a tick
    return (tick, { [unowned self] in arrive(at: time, tick) })
  }

  override func instant(after delay: Duration) -> Instant {
    guard delay > .zero else { return (tick, nil) }
    return instant(of: converter.offsetVirtualTime(time, offset: converter.convertToVirtualTimeInterval(delay)))
  }

  override func instant(at instant: MonotonicTime) -> Instant {
    self.instant(of: converter.convertToVirtualTime(instant))
  }

  override func ticks(in period: Duration, from tick: csched_time) -> UInt64 {
    guard period > .zero else { return 0 }
    let from = converter.virtualTime(at: tick, from: start)
    let next = converter.offsetVirtualTime(from, offset: converter.convertToVirtualTimeInterval(period))
    guard converter.isEarlier(from, than: next) else { return 0 }
    let end = self.tick(of: next)
    return end > tick ? end - tick : 1
  }

  /// Notes that the clock is on its way to `time`, unless that has passed; returns the tick to go to.
  func head(for time: Time) -> csched_time {
    guard converter.isEarlier(self.time, than: time) else { return 0 }
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
      guard seen.tick < tick || (seen.tick == tick && converter.isEarlier(seen.time, than: time)) else { return }
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
