import Scheduler
import SchedulerRx
import SchedulerTesting
import TestSupport
import Testing

/// Serial queues in virtual time.
@Suite(.nothingIsLeft) struct VirtualQueueTests {
  let clock = TestScheduler()

  private func second() -> Int { Int(clock.now.nanoseconds / 1_000_000_000) }

  @Test("a queue on virtual time runs in order, when that is moved, and is current in its actions")
  func order() {
    let queue = SerialScheduler(target: clock), log = Log<Int>()
    for n in 0..<100 {
      queue.schedule {
        #expect(Schedulers.current === queue)
        log.add(n)
      }
    }
    #expect(log.entries.isEmpty)
    clock.step(40)
    #expect(log.entries == Array(0..<40), "each is a step")
    clock.run()
    #expect(log.entries == Array(0..<100))
  }

  @Test("delayed actions of a queue share one order with those of the clock, in virtual time")
  func delayed() {
    let queue = SerialScheduler(target: SerialScheduler(target: clock)), log = Log<String>()
    queue.schedule(after: .seconds(3_600)) { [clock] in log.add("hour \(queue.now == clock.now)") }
    clock.schedule(after: .seconds(2)) { log.add("clock") }
    queue.schedule(after: .seconds(2)) { log.add("queue") }
    clock.schedule(after: .seconds(2)) { log.add("clock again") }
    queue.schedule(0, after: .seconds(1)) { _ in
      log.add("state")
      return Disposables.create()
    }
    queue.schedule(.at(MonotonicTime(nanoseconds: 1_500_000_000))) { log.add("at") }
    queue.schedule(after: .seconds(Int64.max)) { log.add("never") }
    let cancelled = queue.schedule(after: .seconds(3)) { log.add("cancelled") }
    cancelled.dispose()
    #expect(clock.pendingCount == 7)
    clock.run()
    #expect(log.entries == ["state", "at", "clock", "queue", "clock again", "hour true"])
    #expect(second() == 3_600)
  }

  @Test("a queue's periodic action keeps to virtual time, and run ends after its first turn")
  func periodic() {
    let queue = SerialScheduler(target: clock), log = Log<Int>()
    let ticking = queue.schedule(.every(.seconds(5), after: .seconds(5))) { [self] in log.add(second()) }
    clock.run()
    #expect(log.entries == [5])
    clock.advance(by: .seconds(10))
    #expect(log.entries == [5, 10, 15])
    ticking.dispose()
    queue.schedule(.every(.zero)) { log.add(0) }
    clock.advance(by: .seconds(10))
    #expect(log.entries == [5, 10, 15, 0], "a period that moves time on by nothing has one turn")
  }

  @Test("sync on an idle queue runs at once; inside of virtual time, or while it waits, it is reported or in line")
  func sync() throws {
    let queue = SerialScheduler(target: clock), log = Log<Int>()
    queue.sync { [self] in
      log.add(1)
      clock.schedule { log.add(2) }
      clock.advance()
      log.add(3)
    }
    #expect(log.entries == [1, 3, 2], "the requested drive began when the queue was left")
    queue.schedule { #expect(throws: SchedulerError.deadlock) { try queue.trySync {} } }
    clock.schedule {
      queue.schedule {}
      #expect(throws: SchedulerError.deadlock) { try queue.trySync {} }
    }
    clock.run()
    queue.schedule { log.add(4) }
    queue.schedule(after: .seconds(1)) { log.add(6) }
    queue.sync { log.add(5) }
    #expect(log.entries == [1, 3, 2, 4, 5], "the waiting thread runs due actions")
    #expect(second() == 0)
  }

  @Test("waiting actions of a queue are dropped with the clock, which the queue keeps no longer than itself")
  func clockGoes() {
    let ends = Counter()
    weak var seen: TestScheduler?
    var tokens: [any Disposable] = []
    do {
      let clock = TestScheduler()
      let queue = SerialScheduler(target: SerialScheduler(target: clock))
      seen = clock
      for delay in 0..<3 {
        let witness = Witness(ends)
        tokens.append(queue.schedule(after: .seconds(delay)) { witness.touch() })
      }
      let witness = Witness(ends)
      tokens.append(queue.schedule { witness.touch() })
    }
    #expect(seen == nil)
    #expect(ends.value == 4)
    #expect(tokens.allSatisfy { $0.isDisposed })
  }

  @Test("a queue that is kept keeps its clock")
  func queueKeeps() {
    var clock: TestScheduler? = TestScheduler()
    let queue = SerialScheduler(target: clock), ran = Counter()
    weak let seen = clock
    clock = nil
    queue.schedule { ran.increment() }
    seen?.run()
    #expect(ran.value == 1)
  }
}

/// That ticks are what converters say, and what is kept besides.
@Suite(.nothingIsLeft) struct VirtualTickTests {
  /// Times in thousandths of a nanosecond.
  private struct FineConverter: VirtualTimeConverter {
    func convertFromVirtualTime(_ virtualTime: Int) -> MonotonicTime {
      MonotonicTime(nanoseconds: UInt64((virtualTime + 999) / 1_000))
    }
    func convertToVirtualTime(_ time: MonotonicTime) -> Int { Int(time.nanoseconds) * 1_000 }
    func convertFromVirtualTimeInterval(_ virtualTimeInterval: Int) -> Duration {
      .nanoseconds(virtualTimeInterval / 1_000)
    }
    func convertToVirtualTimeInterval(_ timeInterval: Duration) -> Int { Int(timeInterval / .nanoseconds(1) * 1_000) }
    func offsetVirtualTime(_ time: Int, offset: Int) -> Int { time + offset }
  }

  /// Times with a rank, by which they are compared where they are equal.
  private struct RankedConverter: VirtualTimeConverter {
    struct Time { var nanoseconds: UInt64, rank: Int }

    func convertFromVirtualTime(_ virtualTime: Time) -> MonotonicTime {
      MonotonicTime(nanoseconds: virtualTime.nanoseconds)
    }
    func convertToVirtualTime(_ time: MonotonicTime) -> Time { Time(nanoseconds: time.nanoseconds, rank: 0) }
    func convertFromVirtualTimeInterval(_ virtualTimeInterval: UInt64) -> Duration { .nanoseconds(virtualTimeInterval) }
    func convertToVirtualTimeInterval(_ timeInterval: Duration) -> UInt64 { UInt64(timeInterval / .nanoseconds(1)) }
    func offsetVirtualTime(_ time: Time, offset: UInt64) -> Time {
      Time(nanoseconds: time.nanoseconds + offset, rank: time.rank)
    }
    func compareVirtualTime(_ left: Time, _ right: Time) -> VirtualTimeComparison {
      let (one, other) = ((left.nanoseconds, left.rank), (right.nanoseconds, right.rank))
      return one < other ? .lessThan : one == other ? .equal : .greaterThan
    }
  }

  @Test("a converter's own comparison does not order actions of one tick, and time does not move back by it")
  func comparedWithinATick() {
    let scheduler = VirtualTimeScheduler(
      initialClock: RankedConverter.Time(nanoseconds: 0, rank: 0), converter: RankedConverter())
    let log = Log<String>()
    for (nanoseconds, rank) in [(5, 3), (5, 1), (4, 9), (5, 2)] {
      scheduler.schedule(at: RankedConverter.Time(nanoseconds: UInt64(nanoseconds), rank: rank)) {
        [unowned scheduler] in
        log.add("\(nanoseconds).\(rank) at \(scheduler.virtualTime.time.rank)")
      }
    }
    scheduler.run()
    #expect(log.entries == ["4.9 at 9", "5.3 at 3", "5.1 at 3", "5.2 at 3"])
  }

  @Test("within a tick the order is that of insertion, and time does not move back in it")
  func belowATick() {
    let scheduler = VirtualTimeScheduler(initialClock: 0, converter: FineConverter()), log = Log<String>()
    for time in [2_900, 2_100, 3_000, 1_500] {
      scheduler.schedule(at: time) { [unowned scheduler] in log.add("\(time) at \(scheduler.virtualTime.time)") }
    }
    scheduler.run()
    #expect(log.entries == ["1500 at 1500", "2900 at 2900", "2100 at 2900", "3000 at 3000"])
    scheduler.advance(to: 3_700)
    #expect(scheduler.virtualTime.time == 3_700)
    scheduler.sleep(to: 3_900)
    scheduler.advance(to: 3_800)
    #expect(scheduler.virtualTime.time == 3_900)
  }

  @Test(
    "dates are distinguished within 292 years of the start, before it and after it, and beyond that keep the order of insertion"
  )
  func farDates() {
    let year = Duration.seconds(365 * 24 * 3_600), start = HistoricalDate(sinceEpoch: year * 1_000)
    let scheduler = VirtualTimeScheduler(initialClock: start, origin: .epoch, end: .distantFuture)
    let log = Log<Int>()
    for years in [291, 600, 500, 290, 1] { scheduler.schedule(at: start.advanced(by: year * years)) { log.add(years) } }
    scheduler.run()
    #expect(log.entries == [1, 290, 291, 600, 500])
    #expect(scheduler.virtualTime == start.advanced(by: year * 600), "the latest that has come")
    let early = HistoricalScheduler(initialDate: start.advanced(by: year * -290)), seen = Log<HistoricalDate>()
    early.schedule(at: start) { [unowned early] in seen.add(early.virtualTime) }
    early.run()
    #expect(seen.entries == [start])
  }

  @Test("a scheduler without time runs all at once, and a periodic action once")
  func collapsed() {
    let scheduler = CollapsedTimeScheduler(), log = Log<Int>(), disposed = Counter()
    let look: @Sendable (Int) -> Void = { [unowned scheduler] n in
      #expect(Schedulers.current === scheduler)
      log.add(n)
    }
    scheduler.schedule { look(1) }
    scheduler.schedule(after: .seconds(3_600)) { look(2) }
    let token = scheduler.schedule(3, after: .seconds(Int64.max)) {
      look($0)
      return Disposables.create { disposed.increment() }
    }
    token.dispose()
    #expect(disposed.value == 1)
    scheduler.schedule(.at(MonotonicTime(nanoseconds: .max))) { look(4) }
    scheduler.schedule(.every(.seconds(1), after: .seconds(1))) { look(5) }
    scheduler.scheduleRecursive(0) { n, again in
      if n < 100_000 { again(n + 1) } else { look(6) }
    }
    #expect(log.entries == [1, 2, 3, 4, 5, 6])
    #expect(scheduler.now == MonotonicTime(nanoseconds: 0))
  }
}
