import Scheduler
import TestSupport
import Testing

private struct Failed: Error {}

/// An `AsyncLimit` with a bound for what waits, its priorities, and its end.
@Suite(.nothingIsLeft) struct BoundedLimitTests {
  private let open = AsyncSemaphore(), log = Log<String>()

  /// Whether `limit` refuses a body.
  private func isFull(_ limit: AsyncLimit) -> Bool {
    let task = limit.trySubmit { [log] in log.add("refused") }
    return task == nil
  }

  @Test("a producer is suspended while the limit is full", arguments: [(1, 0), (2, 3), (4, 100)])
  func suspends(most: Int, waiting: Int) async throws {
    let limit = AsyncLimit(most, waiting: waiting), accepted = Counter(), ended = Counter(), highest = Protected(0)
    for n in 0..<Scale.count(500) {
      try await limit.submit {
        if n % 7 == 0 { await Task.yield() }
        ended.increment()
      }
      let open = accepted.increment() - ended.value
      highest.withLock { $0 = max($0, open) }
      #expect(limit.waitingCount <= waiting)
    }
    limit.finish()
    #expect(await limit.drained() == AsyncLimit.Tally(done: accepted.value, cancelled: 0, remaining: 0))
    #expect(highest.read() <= most + waiting && ended.value == accepted.value)
  }

  @Test("the forms that try are refused while the limit is full") func refuses() async throws {
    let limit = AsyncLimit(1, waiting: 1)
    let first = try await limit.submit { [open] in try await open.wait() }
    let submitted = limit.trySubmit { [log] in log.add("second") }, second = try #require(submitted)
    #expect(isFull(limit))
    await #expect(throws: SchedulerError.refused) { try await limit.tryRun { log.add("refused") } }
    open.signal()
    try await first.value
    try await second.value
    #expect(await soon { limit.tally.remaining == 0 })
    #expect(try await limit.tryRun { 3 } == 3)
    #expect(log.entries == ["second"] && limit.tally.done == 3)
  }

  @Test("the place of a cancelled body, and of one whose deadline passed, is free") func freed() async throws {
    let limit = AsyncLimit(1, waiting: 1)
    let first = try await limit.submit { [open] in try await open.wait() }
    for n in 0..<20 {
      let submitted = limit.trySubmit { [log] in log.add("waiting") }, waiting = try #require(submitted)
      let producer = Task { try await limit.submit { [log] in log.add("producer") } }
      if n % 2 == 0 { await Task.yield() }
      producer.cancel()
      await #expect(throws: CancellationError.self) { try await producer.value }
      await #expect(throws: SchedulerError.timeout) { try await limit.run(deadline: .now + .microseconds(10)) {} }
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
      #expect(await soon { limit.waitingCount == 0 })
    }
    open.signal()
    try await first.value
    limit.finish()
    #expect(await limit.drained() == AsyncLimit.Tally(done: 1, cancelled: 20, remaining: 0))
    #expect(log.entries == [])
  }

  @Test("a higher priority starts first, and passes a lower one a bounded number of times")
  func priorities() async throws {
    let limit = AsyncLimit(1)
    var tasks = [try await limit.submit { [open] in try await open.wait() }]
    func submit(_ name: String, _ priority: TaskPriority?) async throws {
      tasks.append(try await limit.submit(priority: priority) { [log] in log.add(name) })
    }
    for n in 0..<3 { try await submit("low \(n)", n == 0 ? .low : n == 1 ? .utility : .background) }
    for n in 0..<5 { try await submit("usual \(n)", n % 2 == 0 ? nil : .medium) }
    for n in 0..<60 { try await submit("high \(n)", n % 2 == 0 ? .high : .userInitiated) }
    open.signal()
    for task in tasks { try await task.value }
    let order = log.entries
    for level in ["low", "usual", "high"] {  // the order of submission in each level
      let own = order.filter { $0.hasPrefix(level) }
      #expect(own == own.indices.map { "\(level) \($0)" })
    }
    #expect(order.firstIndex(of: "usual 0") == 16 && order.firstIndex(of: "usual 1")! <= 34)
    #expect(order.firstIndex(of: "low 0") == 32)
    #expect(order.firstIndex(of: "low 1")! <= 65)
  }

  @Test("`run` waits by its priority, too") func runs() async throws {
    let limit = AsyncLimit(1)
    let first = try await limit.submit { [open] in try await open.wait() }
    let low = Task { [log] in try await limit.run(priority: .low) { log.add("low") } }
    #expect(await soon { limit.waitingCount == 1 })
    let high = Task { [log] in try await limit.run(priority: .high, deadline: .now + .seconds(60)) { log.add("high") } }
    #expect(await soon { limit.waitingCount == 2 })
    open.signal()
    try await first.value
    try await high.value
    try await low.value
    #expect(log.entries == ["high", "low"])
  }

  @Test("after its end a limit refuses, and its accepted bodies run") func finished() async throws {
    let limit = AsyncLimit(1, waiting: 1), unbounded = AsyncLimit(1)
    let first = try await limit.submit { [open] in try await open.wait() }
    let second = try await limit.submit { [log] in log.add("second") }
    let producer = Task { try await limit.submit { [log] in log.add("producer") } }
    let runner = Task { try await limit.run { [log] in log.add("runner") } }
    try await Task.sleep(for: .milliseconds(2))  // they most likely wait for room
    for limit in [limit, unbounded] {
      limit.finish()
      limit.finish()
      await #expect(throws: SchedulerError.stopped) { try await limit.submit { [log] in log.add("refused") } }
      await #expect(throws: SchedulerError.stopped) { try await limit.run { log.add("refused") } }
      await #expect(throws: SchedulerError.stopped) { try await limit.tryRun { log.add("refused") } }
      await #expect(throws: SchedulerError.stopped) { try await limit.run(deadline: .now) { log.add("refused") } }
      #expect(isFull(limit))
    }
    await #expect(throws: SchedulerError.stopped) { try await producer.value }
    await #expect(throws: SchedulerError.stopped) { try await runner.value }
    #expect(await unbounded.drained() == AsyncLimit.Tally(done: 0, cancelled: 0, remaining: 0))
    #expect(await limit.drained(deadline: .now) == AsyncLimit.Tally(done: 0, cancelled: 0, remaining: 2))
    open.signal()
    #expect(await limit.drained(deadline: .now + .seconds(60)) == AsyncLimit.Tally(done: 2, cancelled: 0, remaining: 0))
    try await first.value
    try await second.value
    #expect(log.entries == ["second"])
  }

  @Test("the tally counts bodies that were cancelled, and those with an error of their own") func tally() async throws {
    let limit = AsyncLimit(2, waiting: 10)
    let failing = try await limit.submit { throw Failed() }
    await #expect(throws: Failed.self) { try await failing.value }
    await #expect(throws: Failed.self) { try await limit.run { throw Failed() } }
    let running = try await limit.submit { try await Task.sleep(for: .seconds(3_600)) }
    #expect(await soon { limit.runningCount == 1 })
    running.cancel()
    await #expect(throws: CancellationError.self) { try await running.value }
    #expect(await soon { limit.tally == AsyncLimit.Tally(done: 2, cancelled: 1, remaining: 0) })
  }

  @Test("a drain ends at its deadline, on whichever clock, and when its task is cancelled") func drains() async throws {
    let time = TestScheduler(), limit = AsyncLimit(1)
    let first = try await limit.submit { [open] in try await open.wait() }
    let drain = Task { await limit.drained(deadline: time.clock.now.advanced(by: .seconds(3)), clock: time.clock) }
    #expect(await soon { time.sleeperCount == 1 })
    time.advance(by: .milliseconds(2_999))
    #expect(time.sleeperCount == 1)
    time.advance(by: .milliseconds(1))
    #expect(await drain.value == AsyncLimit.Tally(done: 0, cancelled: 0, remaining: 1))
    let cancelled = Task { await limit.drained() }
    cancelled.cancel()
    #expect(await cancelled.value.remaining == 1)
    let drains = (0..<3).map { _ in Task { await limit.drained() } }
    await Task.yield()
    open.signal()
    try await first.value
    for drain in drains { #expect(await drain.value.remaining == 0) }
  }

  @Test("each accepted body is done or cancelled, once, beside cancellations, deadlines and the end")
  func balance() async throws {
    for round in 0..<Scale.count(50) {
      let limit = AsyncLimit(2, waiting: 3), done = Counter(), results = Log<Bool>()
      await withTaskGroup(of: Void.self) { group in
        for n in 0..<40 {
          group.addTask {
            do {
              switch n % 4 {
              case 0: try await limit.submit(priority: n % 8 == 0 ? .low : .high) { _ = done.increment() }.value
              case 1: try await limit.run { _ = done.increment() }
              case 2: try await limit.run(deadline: .now + .microseconds(50)) { _ = done.increment() }
              default: try await limit.tryRun { _ = done.increment() }
              }
              results.add(true)
            } catch { results.add(false) }
          }
          if n == 20 + round % 20 { limit.finish() }
          if n % 10 == 9, round % 3 == 0 { group.cancelAll() }
        }
      }
      limit.finish()
      let tally = await limit.drained()
      #expect(tally.remaining == 0 && tally.done == done.value)
      #expect(results.entries.filter { $0 }.count == done.value)
      #expect(limit.runningCount == 0 && limit.waitingCount == 0)
    }
  }
}
