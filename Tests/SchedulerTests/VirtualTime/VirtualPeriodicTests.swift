import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct VirtualPeriodicTests {
  let scheduler = TestScheduler()

  @Test("the example: sixty ticks in a minute, without drift")
  func example() {
    let ticks = Protected(0)
    let ticking = scheduler.schedule(repeating: .seconds(1)) { ticks.withLock { $0 += 1 } }
    scheduler.advance(by: .seconds(60))
    ticking.dispose()
    #expect(ticks.read() == 60)
    #expect(scheduler.now.nanoseconds == 60_000_000_000)
    scheduler.advance(by: .seconds(60))
    #expect(ticks.read() == 60)
    #expect(scheduler.pendingCount == 0)
  }

  @Test("a periodic action is given its state, and then what it returned")
  func state() {
    let log = Log<String>()
    scheduler.schedulePeriodic(1, startAfter: .seconds(2), period: .seconds(3)) { [unowned scheduler] in
      log.add("\($0) at \(second(scheduler))")
      return $0 * 2
    }
    scheduler.advance(by: .seconds(9))
    #expect(log.entries == ["1 at 2", "2 at 5", "4 at 8"])
  }

  @Test("a start that is not positive is now", arguments: [Duration.zero, .seconds(-1), .seconds(Int64.min)])
  func startsNow(start: Duration) {
    let log = Log<Int>()
    scheduler.schedule(after: start, repeating: .seconds(2)) { [unowned scheduler] in log.add(second(scheduler)) }
    scheduler.advance(by: .seconds(5))
    #expect(log.entries == [0, 2, 4])
  }

  @Test(
    "a period that is not positive has one turn, so that no advance is without an end",
    arguments: [Duration.zero, .nanoseconds(-1), .seconds(Int64.min)])
  func zeroPeriod(period: Duration) {
    let ticks = Counter()
    scheduler.schedule(after: .seconds(1), repeating: period) { ticks.increment() }
    scheduler.schedulePeriodic(0, startAfter: .seconds(1), period: period) { ticks.increment() + $0 }
    scheduler.schedule(repeating: period) { ticks.increment() }
    scheduler.advance(by: .seconds(1))
    scheduler.run()
    scheduler.step(10)
    #expect(ticks.value == 3)
    #expect(scheduler.pendingCount == 0)
  }

  @Test("run ends when nothing but periodic actions is left, which have their turns until then")
  func runEnds() {
    let log = Log<String>()
    scheduler.schedule(repeating: .seconds(1)) { [unowned scheduler] in log.add("tick \(second(scheduler))") }
    scheduler.run()
    #expect(log.entries.isEmpty)
    scheduler.schedule(after: .milliseconds(2_500)) { log.add("once") }
    scheduler.run()
    #expect(log.entries == ["tick 1", "tick 2", "once"])
    scheduler.stepAll()
    scheduler.step()
    #expect(log.entries.last == "tick 3", "a step takes a tick")
    #expect(scheduler.pendingCount == 1)
  }

  @Test("ticks that the clock was moved past are one late tick, and the next is a period later")
  func lateTicks() {
    let log = Log<Int>()
    scheduler.schedule(repeating: .seconds(1)) { [unowned scheduler] in log.add(second(scheduler)) }
    scheduler.sleep(by: .seconds(10))
    scheduler.advance(by: .seconds(2))
    #expect(log.entries == [10, 11, 12])
  }

  @Test("a tick is inserted when the one before is over: behind what that one scheduled for the same instant")
  func tickOrder() {
    let log = Log<String>()
    scheduler.schedule(after: .seconds(2)) { log.add("before") }
    scheduler.schedule(repeating: .seconds(1)) { [unowned scheduler] in
      log.add("tick")
      scheduler.schedule(after: .seconds(1)) { log.add("by the tick") }
    }
    scheduler.advance(by: .seconds(2))
    #expect(log.entries == ["tick", "before", "by the tick", "tick"])
  }

  @Test("disposing from inside of a tick ends it, and its captures go when that tick is over")
  func disposedInside() {
    let ticks = Counter(), token = SerialDisposable()
    weak var seen: Token?
    do {
      let capture = Token()
      seen = capture
      token.disposable = scheduler.schedule(repeating: .seconds(1)) { [capture] in
        if ticks.increment() == 3 { token.dispose() }
        _ = capture
      }
    }
    scheduler.advance(by: .seconds(2))
    #expect(seen != nil)
    scheduler.advance(by: .seconds(8))
    #expect(ticks.value == 3)
    #expect(seen == nil)
    #expect(scheduler.pendingCount == 0)
  }
}

private func second(_ scheduler: TestScheduler) -> Int { Int(scheduler.now.nanoseconds / 1_000_000_000) }
