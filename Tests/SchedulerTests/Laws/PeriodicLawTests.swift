import Foundation
import Scheduler
import TestSupport
import Testing

@Suite(.serialized, .nothingIsLeft) struct PeriodicLawTests {
  @Test("ticks thread their state, and never overlap", arguments: SchedulerUnderTest.queued)
  func state(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), seen = Log<Int>()
    let token = scheduler.schedulePeriodic(0, startAfter: .zero, period: .milliseconds(1)) { n in
      seen.add(n)
      return n + 1
    }
    #expect(eventually { seen.entries.count >= 5 })
    token.dispose()
    #expect(Array(seen.entries.prefix(5)) == [0, 1, 2, 3, 4])
  }

  @Test("disposing releases the closure, and no tick begins after it", arguments: SchedulerUnderTest.queued)
  func disposal(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ends = Counter(), ticks = Counter()
    func start(_ delay: Duration) -> any Disposable {
      let witness = Witness(ends)
      return scheduler.schedule(after: delay, repeating: .milliseconds(1)) {
        witness.touch()
        ticks.increment()
      }
    }
    start(.seconds(3_600)).dispose()
    #expect(ends.value == 1)
    let token = start(.zero)
    #expect(eventually { ticks.value >= 3 })
    token.dispose()
    #expect(eventually { ends.value == 2 })
    let last = ticks.value
    usleep(5_000)
    #expect(ticks.value == last)
  }

  @Test("a tick may dispose its own ticks", arguments: SchedulerUnderTest.queued)
  func disposedInside(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ticks = Counter(), token = SingleAssignmentDisposable(), ends = Counter()
    do {
      let witness = Witness(ends)
      token.setDisposable(
        scheduler.schedule(after: .milliseconds(1), repeating: .milliseconds(1)) {
          witness.touch()
          if ticks.increment() == 3 { token.dispose() }
        })
    }
    #expect(eventually { ends.value == 1 })
    usleep(5_000)
    #expect(ticks.value == 3)
  }

  @Test(
    "a period of zero or less has one tick", arguments: SchedulerUnderTest.queued,
    [Duration.zero, .seconds(-1), .seconds(Int64.min)])
  func zero(_ test: SchedulerUnderTest, period: Duration) throws {
    let scheduler = try test.make(), ticks = Counter()
    scheduler.schedule(after: .zero, repeating: period) { ticks.increment() }
    #expect(eventually { ticks.value == 1 })
    usleep(3_000)
    #expect(ticks.value == 1)
  }

  @Test("a fixed rate does not drift", arguments: SchedulerUnderTest.queued)
  func drift(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ticks = Counter(), start = scheduler.now, early = Counter()
    let timing = PeriodicTiming(every: .milliseconds(1), pace: .fixedRate(late: .catchUp))
    let token = scheduler.schedulePeriodic(timing) {
      let n = ticks.increment()
      if start.duration(to: scheduler.now) < .milliseconds(n) { early.increment() }
    }
    #expect(eventually { ticks.value >= 50 })
    token.dispose()
    #expect(early.value == 0)  // tick n is never before n periods …
    // … and all that are due have run: none was lost on the way.
    #expect(start.duration(to: scheduler.now) >= .milliseconds(50))
  }

  @Test("ticks that are made up for let other work have its turn", arguments: SchedulerUnderTest.queuedAndSerial)
  func catchUpIsFair(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ticks = Counter(), waited = Log<Int>()
    // Each takes longer than its period, so each is late, by ever more.
    let timing = PeriodicTiming(startAfter: .zero, every: .microseconds(1), pace: .fixedRate(late: .catchUp))
    let tokens = (0..<3).map { _ in
      scheduler.schedulePeriodic(timing) {
        usleep(20)
        let now = ticks.increment()
        let other: @Sendable () -> Void = { waited.add(ticks.value - now) }
        if now == 100 { scheduler.schedule(other) }
        if now == 200 { scheduler.schedule(after: .zero, other) }
        if now == 300 { scheduler.schedule(after: .microseconds(10), other) }
      }
    }
    #expect(eventually { waited.entries.count == 3 })
    for token in tokens { token.dispose() }
    #expect(waited.entries.prefix(2).allSatisfy { $0 <= 64 })  // counted in ticks; the third waits for its time, too
  }

  @Test("a pause between the end of a tick and the next is kept", arguments: SchedulerUnderTest.queued)
  func fixedDelay(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), pauses = Log<Duration>(), last = Log<MonotonicTime>()
    let token = scheduler.schedulePeriodic(
      PeriodicTiming(startAfter: .zero, every: .milliseconds(2), pace: .fixedDelay)
    ) {
      if let end = last.entries.last { pauses.add(end.duration(to: scheduler.now)) }
      usleep(1_000)
      last.add(scheduler.now)
    }
    #expect(eventually { pauses.entries.count >= 3 })
    token.dispose()
    #expect(pauses.entries.allSatisfy { $0 >= .milliseconds(2) })
  }

  @Test("late ticks are merged, made up for, or left out, as asked")
  func late() {
    func next(_ pace: PeriodicTiming.Pace, after last: UInt64, endedAt end: UInt64) -> UInt64? {
      PeriodicTiming(startAfter: .zero, every: .nanoseconds(1_000), pace: pace)
        .next(after: MonotonicTime(nanoseconds: last), endedAt: MonotonicTime(nanoseconds: end))?.nanoseconds
    }
    // Due at 7 000, ended at 10 500: 8 000, 9 000 and 10 000 were missed.
    #expect(next(.fixedRate(late: .catchUp), after: 7_000, endedAt: 10_500) == 8_000)
    #expect(next(.fixedRate(late: .coalesce), after: 7_000, endedAt: 10_500) == 10_000)
    #expect(next(.fixedRate(late: .skip), after: 7_000, endedAt: 10_500) == 11_000)
    #expect(next(.fixedDelay, after: 7_000, endedAt: 10_500) == 11_500)
    // In time: the grid.
    #expect(next(.fixedRate(late: .coalesce), after: 10_000, endedAt: 10_500) == 11_000)
    #expect(next(.fixedRate(late: .catchUp), after: .max - 10, endedAt: .max - 5) == .max)
    let moment = MonotonicTime(nanoseconds: 1)
    #expect(PeriodicTiming(every: .zero).next(after: moment, endedAt: moment) == nil)
  }
}
