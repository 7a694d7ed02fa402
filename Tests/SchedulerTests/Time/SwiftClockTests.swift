import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct SwiftClockTests {
  @Test("boot times and instants of the continuous clock are converted there and back without loss") func continuous() {
    for time in [BootTime(nanoseconds: 0), .now, BootTime(nanoseconds: 1 << 62)] {
      #expect(BootTime(ContinuousClock.Instant(time)) == time)
      for change in [-1, 1] where time.nanoseconds > 0 {
        let moved = ContinuousClock.Instant(time).advanced(by: .nanoseconds(change))
        #expect(moved == ContinuousClock.Instant(BootTime(nanoseconds: time.nanoseconds - 1 + UInt64(change + 1))))
      }
    }
  }

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
    look(BootTime.now, +, -, -)
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
      let (before, boot, after) = (ContinuousClock.now, BootTime.now, ContinuousClock.now)
      #expect(before <= ContinuousClock.Instant(boot) && ContinuousClock.Instant(boot) <= after)
      #expect(BootTime(before) <= boot && boot <= BootTime(after))
    }
    for _ in 0..<100 {
      let (before, now, after) = (SuspendingClock.now, MonotonicTime.now, SuspendingClock.now)
      #expect(before <= SuspendingClock.Instant(now) && SuspendingClock.Instant(now) <= after)
      #expect(MonotonicTime(before) <= now && now <= MonotonicTime(after))
    }
  }

  @Test("what lies between two nanoseconds is rounded up, so that nothing is early, and the ends hold") func rounding()
  {
    let time = BootTime.now, instant = ContinuousClock.Instant(time)
    let sliver = Duration(secondsComponent: 0, attosecondsComponent: 1)
    #expect(BootTime(instant.advanced(by: sliver)) == time.advanced(by: .nanoseconds(1)))
    #expect(BootTime(instant.advanced(by: .seconds(-1_000_000_000_000))) == BootTime(nanoseconds: 0))
    #expect(BootTime(instant.advanced(by: .seconds(Int64.max / 2))) == BootTime(nanoseconds: .max))
    #expect(
      MonotonicTime(SuspendingClock.now.advanced(by: .seconds(Int64.max / 2))) == MonotonicTime(nanoseconds: .max))
  }
}
