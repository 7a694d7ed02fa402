import Foundation
import Scheduler
import SchedulerRx
import SchedulerTesting
import TestSupport
import Testing

@Suite(.serialized, .nothingIsLeft) struct PeriodicContractTests {
  @Test("ticks thread their state, and never overlap", arguments: SchedulerUnderTest.queued)  // RC1
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

  // RC1, RC2
  @Test("disposing releases the closure, and no tick begins after it", arguments: SchedulerUnderTest.queued)
  func disposal(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ends = Counter(), ticks = Counter()
    func start(_ delay: Duration) -> any Disposable {
      let witness = Witness(ends)
      return scheduler.schedule(.every(.milliseconds(1), after: delay)) {
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

  @Test("a jitter makes ticks later, and the grid stays where it is", arguments: SchedulerUnderTest.queued)
  func jitter(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), seen = Log<MonotonicTime>(), start = scheduler.now
    let timing = ActionTiming.every(.milliseconds(4), jitter: .milliseconds(2))
    let token = scheduler.schedule(timing) { seen.add(scheduler.now) }
    #expect(eventually { seen.entries.count >= 5 })
    token.dispose()
    for (count, time) in seen.entries.enumerated() {
      #expect(start.duration(to: time) >= .milliseconds(4) * (count + 1))
    }
  }

  @Test("a tick may dispose its own ticks", arguments: SchedulerUnderTest.queued)
  func disposedInside(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ticks = Counter(), token = SingleAssignmentDisposable(), ends = Counter()
    let isSet = Gate()
    do {
      let witness = Witness(ends)
      token.setDisposable(
        scheduler.schedule(.every(.milliseconds(1), after: .milliseconds(1))) {
          witness.touch()
          if ticks.increment() == 3, isSet.wait() { token.dispose() }
        })
    }
    isSet.open()
    #expect(eventually { ends.value == 1 })
    usleep(5_000)
    #expect(ticks.value == 3)
  }

  /// In virtual time it has one tick: such a tick moves no time, so at that moment there would be no end of them.
  @Test(
    "a period of zero or less repeats until it is disposed, and lets other work have its turn",
    arguments: SchedulerUnderTest.queued, [Duration.zero, .seconds(-1), .seconds(Int64.min)])
  func zero(_ test: SchedulerUnderTest, period: Duration) throws {
    let scheduler = try test.make(), ends = Counter()
    for pace in [
      ActionTiming.Pace.coalescing, .catchingUp, .skipping, .fixedDelay,
    ] {
      let ticks = Counter(), others = Counter()
      func start() -> any Disposable {
        let witness = Witness(ends)
        return scheduler.schedule(.every(period, after: .zero, pace: pace)) {
          witness.touch()
          ticks.increment()
        }
      }
      let tokens = [start(), start()]
      #expect(eventually { test.isVirtual ? ticks.value == 2 : ticks.value >= 50 })
      for _ in 0..<20 {
        scheduler.drain()
        scheduler.schedule(after: .microseconds(100)) { others.increment() }
      }
      #expect(eventually { others.value == 20 })
      let areOver = tokens.allSatisfy { $0.isDisposed }
      #expect(areOver == test.isVirtual)
      #expect(!test.isVirtual || ticks.value == 2)
      for token in tokens { token.disposeAndWait() }
      let last = ticks.value
      usleep(1_000)
      #expect(ticks.value == last)
    }
    #expect(eventually { ends.value == 8 })
  }

  @Test("a scheduler without timers of its own repeats a period of zero, too; one whose time stands still has one tick")
  func zeroOnOthers() throws {
    let thread = try ThreadScheduler(), ticks = Counter()
    for scheduler: any SchedulerType in [
      Foreign(base: thread), RecordingScheduler(thread), Foreign(base: thread).wrapping { $0() },
    ] {
      let before = ticks.value
      let token = scheduler.schedule(.every(.zero, after: .zero)) { ticks.increment() }
      #expect(eventually { ticks.value >= before + 50 })
      token.disposeAndWait()
    }
    let virtual = TestScheduler(), turns = Counter()
    for scheduler: any SchedulerType in [
      virtual, Foreign(base: virtual), RecordingScheduler(virtual), virtual.wrapping { $0() },
    ] {
      let before = turns.value
      let token = scheduler.schedule(.every(.zero, after: .seconds(1))) { turns.increment() }
      virtual.advance(by: .seconds(2))
      #expect(turns.value == before + 1)
      #expect(token.isDisposed)
    }
  }

  @Test("a periodic action of zero on a custom scheduler that calls its work at once lets its caller continue")
  func zeroInline() {
    let scheduler = CustomScheduler { work in work() }, ticks = Counter()
    for period in [Duration.zero, .nanoseconds(1)] {
      let before = ticks.value
      let token = scheduler.schedule(.every(period, after: .zero, pace: .catchingUp)) { ticks.increment() }
      #expect(eventually { ticks.value >= before + 50 })
      token.disposeAndWait()
    }
  }

  @Test("a tick that is due at once does not begin after dispose", arguments: SchedulerUnderTest.queued)
  func zeroDisposed(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make()
    for round in 0..<Int(Scale.count(200)) {
      let isDisposed = BooleanDisposable(), late = Counter(), ticks = Counter(), isInside = Protected(false)
      let token = scheduler.schedule(.every(test.shortestPeriod, after: .zero)) {
        let wasDisposed = isDisposed.isDisposed
        isInside.write(true)
        if wasDisposed { late.increment() }
        ticks.increment()
        isInside.write(false)
      }
      #expect(eventually { ticks.value > round % 7 })
      token.disposeAndWait()
      isDisposed.dispose()
      let last = ticks.value
      #expect(!isInside.read())
      usleep(UInt32(round % 3) * 20)
      #expect(ticks.value == last && late.value == 0)
    }
  }

  @Test("a fixed rate does not drift", arguments: SchedulerUnderTest.queued)
  func drift(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ticks = Counter(), start = scheduler.now, early = Counter()
    let timing = ActionTiming.every(.milliseconds(1), pace: .catchingUp)
    let token = scheduler.schedule(timing) {
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
    let timing = ActionTiming.every(.microseconds(1), after: .zero, pace: .catchingUp)
    let tokens = (0..<3).map { _ in
      scheduler.schedule(timing) {
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
    // Counted in ticks. The third waits for its time, too, and a pool's timers wait for the pool's monitor thread.
    let hasOwnTimers = test.isVirtual || SchedulerUnderTest.loops.contains { $0.name == test.name }
    #expect(waited.entries.prefix(hasOwnTimers ? 2 : 1).allSatisfy { $0 <= 64 })
  }

  @Test("a pause between the end of a tick and the next is kept", arguments: SchedulerUnderTest.queued)
  func fixedDelay(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), pauses = Log<Duration>(), last = Log<MonotonicTime>()
    let token = scheduler.schedule(.every(.milliseconds(2), after: .zero, pace: .fixedDelay)) {
      if let end = last.entries.last { pauses.add(end.duration(to: scheduler.now)) }
      usleep(1_000)
      last.add(scheduler.now)
    }
    #expect(eventually { pauses.entries.count >= 3 })
    token.dispose()
    #expect(pauses.entries.allSatisfy { $0 >= .milliseconds(2) })
  }

  @Test("late ticks are merged, made up for, or left out, by policy")
  func late() {
    func next(_ pace: ActionTiming.Pace, after last: UInt64, endedAt end: UInt64) -> UInt64? {
      ActionTiming.every(.nanoseconds(1_000), after: .zero, pace: pace)
        .next(after: MonotonicTime(nanoseconds: last), endedAt: MonotonicTime(nanoseconds: end))?.nanoseconds
    }
    // Due at 7 000, ended at 10 500: 8 000, 9 000 and 10 000 were missed.
    #expect(next(.catchingUp, after: 7_000, endedAt: 10_500) == 8_000)
    #expect(next(.coalescing, after: 7_000, endedAt: 10_500) == 10_000)
    #expect(next(.skipping, after: 7_000, endedAt: 10_500) == 11_000)
    #expect(next(.fixedDelay, after: 7_000, endedAt: 10_500) == 11_500)
    // In time: the grid.
    #expect(next(.coalescing, after: 10_000, endedAt: 10_500) == 11_000)
    #expect(next(.catchingUp, after: .max - 10, endedAt: .max - 5) == .max)
    #expect(next(.catchingUp, after: .max, endedAt: .max) == nil)
  }

  /// The ticks of a period of 1 000, by when each begins, when the second one begins at `late`, or takes until then.
  private func ticks(_ pace: ActionTiming.Pace, late instant: UInt64, isDelivery: Bool) -> [UInt64] {
    let timing = ActionTiming.every(.nanoseconds(1_000), after: .zero, pace: pace)
    var now: UInt64 = 0, due: UInt64? = 1_000, begins: [UInt64] = []
    while let last = due, begins.count < 12 {
      now = max(now, last)
      if begins.count == 1, isDelivery { now = max(now, instant) }
      let begin = now
      begins.append(begin)
      if begins.count == 2, !isDelivery { now = max(now, instant) }
      due =
        timing.next(
          after: MonotonicTime(nanoseconds: last), begunAt: MonotonicTime(nanoseconds: begin),
          endedAt: MonotonicTime(nanoseconds: now))?.nanoseconds
    }
    return begins
  }

  @Test(
    "after a late delivery one tick replaces all missed ones, and the next is on the grid, in the future")
  func coalesced() {
    #expect(ticks(.coalescing, late: 2_500, isDelivery: true).prefix(4) == [1_000, 2_500, 3_000, 4_000])
    #expect(ticks(.coalescing, late: 3_000, isDelivery: true).prefix(4) == [1_000, 3_000, 4_000, 5_000])
    #expect(ticks(.coalescing, late: 3_500, isDelivery: true).prefix(4) == [1_000, 3_500, 4_000, 5_000])
    #expect(ticks(.coalescing, late: 4_500, isDelivery: true).prefix(4) == [1_000, 4_500, 5_000, 6_000])
    #expect(
      ticks(.coalescing, late: 1_002_300, isDelivery: true).prefix(4) == [1_000, 1_002_300, 1_003_000, 1_004_000])
    // A tick that took so long that others were missed is followed by one that replaces those.
    #expect(ticks(.coalescing, late: 2_500, isDelivery: false).prefix(4) == [1_000, 2_000, 3_000, 4_000])
    #expect(ticks(.coalescing, late: 3_000, isDelivery: false).prefix(4) == [1_000, 2_000, 3_000, 4_000])
    #expect(ticks(.coalescing, late: 4_500, isDelivery: false).prefix(5) == [1_000, 2_000, 4_500, 5_000, 6_000])
    #expect(
      ticks(.coalescing, late: 1_002_300, isDelivery: false).prefix(5) == [
        1_000, 2_000, 1_002_300, 1_003_000, 1_004_000,
      ])
  }

  @Test("the other paces after a late delivery") func lateOthers() {
    for isDelivery in [true, false] {
      let skipped = ticks(.skipping, late: 4_500, isDelivery: isDelivery)
      #expect(skipped.prefix(4) == [1_000, isDelivery ? 4_500 : 2_000, 5_000, 6_000])
      let made = ticks(.catchingUp, late: 4_500, isDelivery: isDelivery)
      #expect(made.prefix(6) == [1_000, isDelivery ? 4_500 : 2_000, 4_500, 4_500, 5_000, 6_000])
      let delayed = ticks(.fixedDelay, late: 4_500, isDelivery: isDelivery)
      #expect(delayed.prefix(4) == [1_000, isDelivery ? 4_500 : 2_000, 5_500, 6_500])
    }
    #expect(ticks(.skipping, late: 3_000, isDelivery: true).prefix(4) == [1_000, 3_000, 4_000, 5_000])
    #expect(ticks(.catchingUp, late: 3_000, isDelivery: true).prefix(4) == [1_000, 3_000, 3_000, 4_000])
  }

  /// In virtual time nothing is late but where the clock is moved past it, so that is how it is held up.
  @Test(
    "a scheduler that was held up has one tick at once, and the next a while later",
    arguments: SchedulerUnderTest.queuedAndSerial)
  func heldUp(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), begins = Log<MonotonicTime>(), entered = Gate(), submitted = Gate()
    let period = Duration.milliseconds(40)
    scheduler.schedule {
      entered.open()
      submitted.wait()
      test.pass(.milliseconds(130), on: scheduler)  // three ticks are due meanwhile
    }
    entered.wait()
    let before = scheduler.now
    let token = scheduler.schedule(.every(period, after: period)) { begins.add(scheduler.now) }
    let after = scheduler.now
    submitted.open()
    #expect(eventually { begins.entries.count >= 2 })
    token.dispose()
    let first = begins.entries[0], second = begins.entries[1]
    #expect(before.duration(to: first) >= .milliseconds(130))
    // The points of the grid that have passed by the first tick, as seen from either end of when the grid began.
    let passed = Int(before.duration(to: first) / period), passedAtLeast = Int(after.duration(to: first) / period)
    if passed == passedAtLeast { #expect(before.duration(to: second) >= period * (passed + 1)) }
  }
}
