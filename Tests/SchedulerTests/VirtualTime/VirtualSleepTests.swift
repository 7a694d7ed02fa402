import Scheduler
import SchedulerRx
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

private actor Sleepers {
  private var begun = 0

  /// Keeps the actor until more tasks wait for it than can continue at once.
  func queueUp() { usleep(20_000) }

  /// Returns how many tasks were between here and their sleep when this one came.
  func sleep(on scheduler: TestScheduler) async throws -> Int {
    let onTheWay = begun - scheduler.sleeperCount
    begun += 1
    try await scheduler.sleep(for: .seconds(1))
    return onTheWay
  }
}

@Suite(.nothingIsLeft) struct VirtualSleepTests {
  let scheduler = TestScheduler()

  func at(_ seconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: UInt64(seconds) * 1_000_000_000) }

  @Test("the example: a task sleeps for ten seconds in no time")
  func example() async throws {
    let task = Task { try await scheduler.sleep(for: .seconds(10)) }
    await scheduler.awaitSleepers(count: 1)
    scheduler.advance(by: .seconds(10))
    try await task.value
    #expect(scheduler.sleeperCount == 0)
  }

  @Test("a sleeper is not woken before its time")
  func neverEarly() async throws {
    let task = Task { try await scheduler.sleep(until: at(10)) }
    await scheduler.awaitSleepers()
    scheduler.advance(to: MonotonicTime(nanoseconds: 9_999_999_999))
    #expect(scheduler.sleeperCount == 1)
    scheduler.advance(by: .nanoseconds(1))
    #expect(scheduler.sleeperCount == 0)
    try await task.value
  }

  @Test("an advance wakes sleepers in the order of their times, which tasks on an ordered executor keep")
  func order() async throws {
    let log = Log<Int>(), executor = SerialTestExecutor(), seconds = [5, 1, 4, 2, 3]
    let tasks = seconds.map { second in
      Task(executorPreference: executor) { [scheduler] in
        try await scheduler.sleep(for: .seconds(second))
        log.add(second)
      }
    }
    await scheduler.awaitSleepers(count: 5)
    // A task counts as asleep a moment before its executor is free: one that is woken in that moment does not wait for
    // its turn.
    await Task(executorPreference: executor) {}.value
    scheduler.advance(by: .seconds(5))
    for task in tasks { try await task.value }
    #expect(log.entries == [1, 2, 3, 4, 5])
  }

  @Test("a task of an actor falls asleep before the actor does anything else")
  func onTheActor() async throws {
    let sleepers = Sleepers()
    async let busy: Void = sleepers.queueUp()
    let tasks = (0..<100).map { _ in Task { try await sleepers.sleep(on: scheduler) } }
    await scheduler.awaitSleepers(count: 100)
    scheduler.advance(by: .seconds(1))
    for task in tasks { #expect(try await task.value == 0) }
    await busy
  }

  @Test("a task that sleeps in a loop is followed step by step, without a poll, and is no sleeper while it is awake")
  func loop() async throws {
    let woken = Protected(0), rounds = Scale.count(10_000)
    let task = Task { [scheduler] in
      for _ in 1...rounds {
        try await scheduler.sleep(for: .seconds(1))
        woken.write { $0 += 1 }
      }
    }
    for n in 1...rounds {
      try #require(await scheduler.awaitSleepers(count: 1))
      try #require(woken.read() == n - 1)
      scheduler.step()
      try #require(scheduler.now == at(n))
    }
    try await task.value
    #expect(woken.read() == rounds)
  }

  @Test("sleepers and actions share one order")
  func amongActions() async throws {
    let log = Log<String>()
    let task = Task { try await scheduler.sleep(for: .seconds(2)) }
    await scheduler.awaitSleepers()
    for second in [1, 2, 3] {
      scheduler.schedule(after: .seconds(second)) { [scheduler] in log.add("\(second): \(scheduler.sleeperCount)") }
    }
    scheduler.run()
    try await task.value
    #expect(log.entries == ["1: 1", "2: 0", "3: 0"])
  }

  @Test("a deadline that has passed, or an interval that is not positive, does not suspend")
  func noSleep() async throws {
    scheduler.advance(to: at(5))
    try await scheduler.sleep(until: at(5))
    try await scheduler.sleep(until: at(1))
    try await scheduler.sleep(for: .zero)
    try await scheduler.sleep(for: .seconds(Int64.min))
    #expect(scheduler.sleeperCount == 0)
  }

  @Test("cancellation wakes a sleeper with CancellationError, at once, and takes it out")
  func cancellation() async throws {
    let task = Task { try await scheduler.sleep(for: .seconds(10)) }
    let other = Task { try await scheduler.sleep(for: .seconds(20)) }
    await scheduler.awaitSleepers(count: 2)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(scheduler.sleeperCount == 1)
    #expect(scheduler.pendingCount == 1)
    #expect(scheduler.now == at(0))
    scheduler.run()
    try await other.value
    #expect(scheduler.now == at(20))
  }

  @Test("a task that is cancelled already does not sleep")
  func cancelledBefore() async {
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await scheduler.sleep(until: MonotonicTime(nanoseconds: 0))
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(scheduler.sleeperCount == 0)
  }

  @Test("cancellation against waking: each sleeper ends once, one way or the other")
  func cancellationAgainstWaking() async {
    let ends = Counter()
    for _ in 0..<200 {
      let task = Task {
        do { try await scheduler.sleep(for: .seconds(1)) } catch {}
        ends.increment()
      }
      let canceller = Task { task.cancel() }
      scheduler.advance(by: .seconds(1))
      await canceller.value
      await task.value
    }
    #expect(ends.value == 200)
    #expect(scheduler.sleeperCount == 0)
    scheduler.run()
    #expect(scheduler.pendingCount == 0)
  }

  @Test("awaiting sleepers returns when there are that many, false when it is cancelled, and at once for none")
  func awaitSleepers() async throws {
    #expect(await scheduler.awaitSleepers(count: 0))
    #expect(await scheduler.awaitSleepers(count: -1))
    let awaiting = Task { await scheduler.awaitSleepers(count: 2) }
    let hopeless = Task { await scheduler.awaitSleepers(count: 3) }
    let tasks = (0..<2).map { _ in Task { try await scheduler.sleep(for: .seconds(1)) } }
    #expect(await awaiting.value)
    #expect(scheduler.sleeperCount == 2)
    hopeless.cancel()
    #expect(await hopeless.value == false)
    scheduler.run()
    for task in tasks { try await task.value }
  }

  @Test("hundreds of tasks sleep and wake, and all are seen")
  func many() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for n in 0..<300 { group.addTask { [scheduler] in try await scheduler.sleep(for: .seconds(1 + n % 10)) } }
      await scheduler.awaitSleepers(count: 300)
      for left in (0..<10).reversed() {
        scheduler.advance(by: .seconds(1))
        #expect(scheduler.sleeperCount == left * 30)
      }
      try await group.waitForAll()
    }
  }

  @Test("the clock: Task.sleep, and measuring, in virtual time")
  func clock() async throws {
    let clock = scheduler.clock
    let task = Task { try await Task.sleep(for: .seconds(10), clock: clock) }
    await scheduler.awaitSleepers(count: 1)
    #expect(clock.measure { scheduler.advance(by: .seconds(10)) } == .seconds(10))
    try await task.value
    #expect(clock.now == at(10))
    #expect(clock.minimumResolution == .nanoseconds(1))
    try await clock.sleep(until: at(3))
    let cancelled = Task { try await clock.sleep(for: .seconds(1)) }
    await scheduler.awaitSleepers(count: 1)
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
  }

  @Test("the clock of a scheduler with dates counts from its first date")
  func historicalClock() async throws {
    let scheduler = HistoricalScheduler(initialDate: HistoricalDate(sinceEpoch: .seconds(1_000)))
    let task = Task { try await scheduler.clock.sleep(for: .seconds(5)) }
    await scheduler.awaitSleepers(count: 1)
    scheduler.run()
    try await task.value
    #expect(scheduler.virtualTime == HistoricalDate(sinceEpoch: .seconds(1_005)))
  }
}
