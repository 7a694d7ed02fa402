import CScheduler
import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct SwiftClockTests {
  @Test("monotonic times and instants of the suspending clock are converted there and back without loss")
  func suspending() {
    for time in [MonotonicTime(nanoseconds: 0), .now, MonotonicTime.now.advanced(by: .seconds(1_000_000_000))] {
      #expect(MonotonicTime(SuspendingClock.Instant(time)) == time)
    }
  }

  @Test("instants and durations are added and subtracted, and held at the ends") func arithmetic() {
    func look<Instant: InstantProtocol>(
      _ now: Instant, _ plus: (Instant, Duration) -> Instant, _ minus: (Instant, Duration) -> Instant,
      _ span: (Instant, Instant) -> Duration
    ) where Instant.Duration == Duration {
      #expect(plus(now, .seconds(2)) == now.advanced(by: .seconds(2)))
      #expect(minus(now, .seconds(2)) == now.advanced(by: .seconds(-2)))
      #expect(span(plus(now, .seconds(3)), now) == .seconds(3) && span(now, plus(now, .seconds(3))) == .seconds(-3))
    }
    look(MonotonicTime.now, +, -, -)
    look(WallTime.now, +, -, -)
    look(HistoricalDate(sinceEpoch: .seconds(9)), +, -, -)
    var time = MonotonicTime(nanoseconds: 10)
    time += .nanoseconds(5)
    time -= .nanoseconds(7)
    #expect(time.nanoseconds == 8)
    #expect(
      (time - .seconds(1)).nanoseconds == 0 && (MonotonicTime(nanoseconds: .max) + .seconds(1)).nanoseconds == .max)
  }

  @Test("a look at one clock lies between two looks at the other") func bounds() {
    for _ in 0..<100 {
      let before = csched_clock_now(CSCHED_CLOCK_BOOT), now = ContinuousClock.now.nanoseconds
      #expect(before <= now && now <= csched_clock_now(CSCHED_CLOCK_BOOT))
    }
    for _ in 0..<100 {
      let (before, now, after) = (SuspendingClock.now, MonotonicTime.now, SuspendingClock.now)
      #expect(before <= SuspendingClock.Instant(now) && SuspendingClock.Instant(now) <= after)
      #expect(MonotonicTime(before) <= now && now <= MonotonicTime(after))
    }
  }

  @Test("a time between two nanoseconds is rounded up, so that nothing is early, and the ends hold") func rounding() {
    let instant = ContinuousClock.now, count = instant.nanoseconds
    let whole = instant.advanced(by: .nanoseconds(1_000))
    #expect(whole.nanoseconds == count + 1_000 && whole.advanced(by: .nanoseconds(-1_000)).nanoseconds == count)
    let slivers = (1...4).map {
      instant.advanced(by: Duration(secondsComponent: 0, attosecondsComponent: $0 * 250_000_000))
    }
    #expect(slivers.allSatisfy { $0.nanoseconds >= count } && slivers[3].nanoseconds == count + 1)
    #expect(instant.advanced(by: .seconds(-1_000_000_000_000)).nanoseconds == 0)
    #expect(instant.advanced(by: .seconds(Int64.max / 2)).nanoseconds == .max)
    #expect(
      MonotonicTime(SuspendingClock.now.advanced(by: .seconds(Int64.max / 2))) == MonotonicTime(nanoseconds: .max))
  }
}
