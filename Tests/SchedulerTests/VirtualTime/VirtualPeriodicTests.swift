import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct VirtualPeriodicTests {
  let scheduler = TestScheduler()

  @Test("the example: sixty ticks in a minute, without drift")
  func example() {
    let ticks = Protected(0)
    let ticking = scheduler.schedule(.every(.seconds(1))) { ticks.withLock { $0 += 1 } }
    scheduler.advance(by: .seconds(60))
    ticking.dispose()
    #expect(ticks.read() == 60)
    #expect(scheduler.now.nanoseconds == 60_000_000_000)
    scheduler.advance(by: .seconds(60))
    #expect(ticks.read() == 60)
    #expect(scheduler.pendingCount == 0)
  }

  @Test("a periodic action gets its state, and then its returned one")
  func state() {
    let log = Log<String>()
    scheduler.schedulePeriodic(1, startAfter: .seconds(2), period: .seconds(3)) { [unowned scheduler] in
      log.add("\($0) at \(second(scheduler))")
      return $0 * 2
    }
    scheduler.advance(by: .seconds(9))
    #expect(log.entries == ["1 at 2", "2 at 5", "4 at 8"])
  }

  @Test("virtual time has no jitter: ticks run when they are due") func jitter() {
    let log = Log<UInt64>(), start = scheduler.now
    let timing = ActionTiming.every(.seconds(1), jitter: .milliseconds(500))
    let token = scheduler.schedule(timing) { [unowned scheduler] in log.add(scheduler.now.nanoseconds) }
    scheduler.advance(by: .seconds(5))
    token.dispose()
    #expect(log.entries == (1...5).map { start.advanced(by: .seconds($0)).nanoseconds })
  }

  @Test("a jitter makes the ticks of a scheduler without timers of its own later, each by a share of its own")
  func jitterElsewhere() {
    let log = Log<Duration>(), start = scheduler.now
    let timing = ActionTiming.every(.seconds(1), jitter: .milliseconds(500))
    let token = Foreign(base: scheduler).schedule(timing) { [unowned scheduler] in
      log.add(start.duration(to: scheduler.now))
    }
    scheduler.advance(by: .seconds(100))
    token.dispose()
    let shares = log.entries.enumerated().map { $1 - .seconds($0 + 1) }
    #expect(shares.count >= 99 && shares.allSatisfy { $0 >= .zero && $0 <= .milliseconds(500) })
    #expect(Set(shares).count > 10)
  }

  @Test("a start that is not positive is now", arguments: [Duration.zero, .seconds(-1), .seconds(Int64.min)])
  func startsNow(start: Duration) {
    let log = Log<Int>()
    scheduler.schedule(.every(.seconds(2), after: start)) { [unowned scheduler] in log.add(second(scheduler)) }
    scheduler.advance(by: .seconds(5))
    #expect(log.entries == [0, 2, 4])
  }

  @Test(
    "a period that is not positive has one turn, so that no advance is without an end",
    arguments: [Duration.zero, .nanoseconds(-1), .seconds(Int64.min)])
  func zeroPeriod(period: Duration) {
    let ticks = Counter()
    scheduler.schedule(.every(period, after: .seconds(1))) { ticks.increment() }
    scheduler.schedulePeriodic(.every(period, after: .seconds(1))) { _ in ticks.increment() }
    scheduler.schedule(.every(period)) { ticks.increment() }
    scheduler.advance(by: .seconds(1))
    scheduler.run()
    scheduler.step(10)
    #expect(ticks.value == 3)
    #expect(scheduler.pendingCount == 0)
  }

  @Test(
    "run ends when nothing but periodic actions is left that have had their first turn, and they have their turns until then"
  )
  func runEnds() {
    let log = Log<String>()
    scheduler.schedule(.every(.seconds(1))) { [unowned scheduler] in log.add("tick \(second(scheduler))") }
    scheduler.schedule(.every(.seconds(9), after: .seconds(3))) { log.add("other") }
    scheduler.run()
    #expect(log.entries == ["tick 1", "tick 2", "other"])
    #expect(scheduler.now.nanoseconds == 3_000_000_000)
    scheduler.run()
    scheduler.stepAll()
    #expect(log.entries.count == 3, "none has a second turn of its own")
    scheduler.schedule(after: .milliseconds(2_500)) { log.add("once") }
    scheduler.run()
    #expect(log.entries.dropFirst(3) == ["tick 3", "tick 4", "tick 5", "once"])
    scheduler.step()
    #expect(log.entries.last == "tick 6", "a step takes a tick")
    #expect(scheduler.pendingCount == 2)
  }

  @Test("a periodic action that is disposed before its first turn keeps no run going")
  func runEndsForDisposed() {
    let ticks = Counter()
    scheduler.schedule(.every(.seconds(1))) { ticks.increment() }
    scheduler.run()
    scheduler.schedule(.every(.seconds(1), after: .seconds(100))) {}.dispose()
    scheduler.run()
    #expect(ticks.value == 1)
    #expect(scheduler.now.nanoseconds == 1_000_000_000)
  }

  @Test("run continues for periodic actions on request, until they are disposed")
  func runIncludesPeriodic() {
    let log = Log<Int>(), token = SerialDisposable()
    token.disposable = scheduler.schedule(.every(.seconds(1))) { [unowned scheduler] in
      log.add(second(scheduler))
      if log.entries.count == 5 { token.dispose() }
    }
    scheduler.schedule(.every(.seconds(Int64.max))) { log.add(-1) }
    scheduler.run(includingPeriodic: true)
    #expect(log.entries == [1, 2, 3, 4, 5])
    #expect(scheduler.pendingCount == 1, "what waits at the end of time does")
  }

  @Test("periodic actions that never end take such a run to the turn limit")
  func runIncludesPeriodicForEver() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let scheduler = TestScheduler(actionLimit: 1_000)
      scheduler.schedule(.every(.seconds(1))) {}
      scheduler.run(includingPeriodic: true)
    }
    expectMessage(result, "Scheduler: VirtualTimeScheduler.run: ", "ran 1000 actions", "raise actionLimit")
  }

  /// What the table in ``ActionTiming`` says, with 45 reached by a sleep before the tick, and in the tick of 20.
  @Test(
    "late ticks follow their policy", arguments: [false, true],
    [
      (ActionTiming.Pace.coalescing, [10, 45, 50, 60], [10, 20, 45, 50, 60]),
      (.catchingUp, [10, 45, 45, 45, 50, 60], [10, 20, 45, 45, 50, 60]),
      (.skipping, [10, 45, 50, 60], [10, 20, 50, 60]),
      (.fixedDelay, [10, 45, 55], [10, 20, 55]),
    ])
  func policies(isInQueue: Bool, expected: (pace: ActionTiming.Pace, delivered: [Int], ended: [Int])) {
    for isInside in [false, true] {
      let log = Log<Int>(), clock = TestScheduler(), queue = SerialScheduler(target: clock)
      let timing = ActionTiming.every(.milliseconds(10), pace: expected.pace)
      let scheduler: any SchedulerType = isInQueue ? queue : clock
      let ticking = scheduler.schedule(timing) { [unowned clock] in
        let now = Int(clock.now.nanoseconds / 1_000_000)
        log.add(now)
        if isInside, now == 20 { clock.sleep(by: .milliseconds(25)) }
      }
      clock.advance(by: .milliseconds(10))
      if !isInside { clock.sleep(by: .milliseconds(35)) }
      clock.advance(to: MonotonicTime(nanoseconds: 62_000_000))
      ticking.dispose()
      #expect(log.entries == (isInside ? expected.ended : expected.delivered))
    }
  }

  @Test("ticks that the clock was moved past are one late tick, and the next is on the grid")
  func lateTicks() {
    let log = Log<Int>()
    scheduler.schedule(.every(.seconds(2))) { [unowned scheduler] in log.add(second(scheduler)) }
    scheduler.sleep(by: .seconds(11))
    scheduler.advance(by: .seconds(3))
    #expect(log.entries == [11, 12, 14])
  }

  @Test("a tick is inserted when the one before is over: behind that one's actions for the same instant")
  func tickOrder() {
    let log = Log<String>()
    scheduler.schedule(after: .seconds(2)) { log.add("before") }
    scheduler.schedule(.every(.seconds(1))) { [unowned scheduler] in
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
      token.disposable = scheduler.schedule(.every(.seconds(1))) { [capture] in
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
