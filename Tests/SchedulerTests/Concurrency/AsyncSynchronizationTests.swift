import Scheduler
import TestSupport
import Testing

/// Where the tasks of a test run: on Swift's own executor, and on schedulers.
enum TaskPlace: String, CaseIterable, CustomTestStringConvertible {
  case ofSwift, pool, thread

  var testDescription: String { rawValue }

  /// Runs `body` with the executor, which ends before the function returns.
  func run(_ body: (_ executor: (any TaskExecutor)?) async throws -> Void) async throws {
    switch self {
    case .ofSwift: try await body(nil)
    case .pool: try await body(ConcurrentScheduler())
    case .thread:
      let thread = try ThreadScheduler(name: "tasks")
      try await body(thread)
      await thread.stopAndJoin()
    }
  }
}

/// Not `Sendable`.
private final class Plain { var number = 0 }

private struct Failed: Error {}

@Suite(.nothingIsLeft) struct AsyncSemaphoreTests {
  @Test("waiters get units in order of arrival", arguments: TaskPlace.allCases)
  func order(_ place: TaskPlace) async throws {
    try await place.run { executor in
      let semaphore = AsyncSemaphore(), log = Log<Int>()
      var tasks: [Task<Void, any Error>] = []
      for n in 0..<100 {
        tasks.append(
          Task(executorPreference: executor) {
            try await semaphore.wait()
            log.add(n)
            semaphore.signal()
          })
        #expect(await soon { semaphore.waiterCount == n + 1 })
      }
      semaphore.signal()
      for task in tasks { try await task.value }
      #expect(log.entries == Array(0..<100))
      #expect(semaphore.freeUnits == 1 && semaphore.waiterCount == 0)
    }
  }

  @Test("a first waiter that needs many units holds up those behind it, until it leaves")
  func manyUnits() async throws {
    let semaphore = AsyncSemaphore(units: 2)
    let large = Task { try await semaphore.wait(3) }
    #expect(await soon { semaphore.waiterCount == 1 })
    let small = Task { try await semaphore.wait(1) }
    #expect(await soon { semaphore.waiterCount == 2 })
    #expect(!semaphore.tryWait() && semaphore.freeUnits == 2)
    large.cancel()
    await #expect(throws: CancellationError.self) { try await large.value }
    let isGranted = await soon { semaphore.waiterCount == 0 }
    #expect(isGranted)
    if !isGranted { small.cancel() }
    _ = await small.result
    #expect(semaphore.freeUnits == 1 && semaphore.waiterCount == 0 && semaphore.tryWait())
    semaphore.signal(5)
    try await semaphore.wait(5, deadline: .now + .seconds(60))
    #expect(semaphore.freeUnits == 0)
  }

  @Test("a task that is cancelled before the wait takes nothing")
  func cancelledBefore() async {
    let semaphore = AsyncSemaphore(units: 1)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await semaphore.wait()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(semaphore.freeUnits == 1)
  }

  @Test("a wait and its cancellation have one outcome, and no unit is lost", arguments: TaskPlace.allCases)
  func cancelledMeanwhile(_ place: TaskPlace) async throws {
    try await place.run { executor in
      let semaphore = AsyncSemaphore(), got = Counter()
      for _ in 0..<Scale.count(2_000) {
        let task = Task(executorPreference: executor) {
          try await semaphore.wait()
          got.increment()
          semaphore.signal()
        }
        let other = Task(executorPreference: executor) { semaphore.signal() }
        task.cancel()
        await other.value
        _ = await task.result
        #expect(semaphore.freeUnits == 1 && semaphore.waiterCount == 0)
        #expect(semaphore.tryWait())
      }
    }
  }

  @Test("cancelled waits leave nothing")
  func cancelledWaits() async {
    let semaphore = AsyncSemaphore()
    for _ in 0..<Scale.count(25) {
      await withTaskGroup { group in
        for _ in 0..<1_000 { group.addTask { try? await semaphore.wait() } }
        group.cancelAll()
      }
    }
    #expect(semaphore.waiterCount == 0 && semaphore.freeUnits == 0)
    semaphore.signal()
    #expect(semaphore.tryWait())
  }

  @Test("a wait ends at its deadline, on a real and on a virtual clock")
  func deadlines() async throws {
    let semaphore = AsyncSemaphore(), scheduler = TestScheduler()
    await #expect(throws: SchedulerError.timeout) { try await semaphore.wait(deadline: .now) }
    let start = ContinuousClock.now
    await #expect(throws: SchedulerError.timeout) { try await semaphore.wait(deadline: start + .milliseconds(5)) }
    #expect(ContinuousClock.now >= start + .milliseconds(5))
    let task = Task {
      try await semaphore.wait(deadline: scheduler.now.advanced(by: .seconds(10)), clock: scheduler.clock)
    }
    await scheduler.awaitSleepers()
    scheduler.advance(by: .seconds(9))
    #expect(semaphore.waiterCount == 1)
    scheduler.advance(by: .seconds(1))
    await #expect(throws: SchedulerError.timeout) { try await task.value }
    #expect(semaphore.waiterCount == 0)
    semaphore.signal()
    try await semaphore.wait(deadline: .now)  // a free unit needs no wait
  }

  @Test("a wait with a deadline on a scheduler that stops throws the scheduler's error")
  func stopped() async throws {
    let thread = try ThreadScheduler(name: "clock"), semaphore = AsyncSemaphore()
    let task = Task { try await semaphore.wait(deadline: thread.now.advanced(by: .seconds(600)), clock: thread.clock) }
    #expect(await soon { semaphore.waiterCount == 1 })
    await thread.stopAndJoin(.dropOutstanding)
    await #expect(throws: SchedulerError.stopped) { try await task.value }
  }

  @Test("withUnits gives the units back when its body throws, and keeps the isolation") @MainActor
  func withUnits() async throws {
    let semaphore = AsyncSemaphore(units: 1), plain = Plain()
    try await semaphore.withUnits {
      plain.number += 1
      #expect(semaphore.freeUnits == 0)
    }
    await #expect(throws: Failed.self) { try await semaphore.withUnits { throw Failed() } }
    #expect(semaphore.freeUnits == 1 && plain.number == 1)
  }
}

@Suite(.nothingIsLeft) struct AsyncLockTests {
  private struct Unique: ~Copyable { var number = 0 }

  @Test("one task at a time has the value, also across a suspension", arguments: TaskPlace.allCases)
  func exclusion(_ place: TaskPlace) async throws {
    try await place.run { executor in
      let lock = AsyncLock(0), count = Scale.count(200)
      await withTaskGroup { group in
        for _ in 0..<8 {
          group.addTask(executorPreference: executor) {
            for _ in 0..<count {
              try? await lock.withLock { value in
                let seen = value
                await Task.yield()
                value = seen + 1
              }
            }
          }
        }
      }
      let sum = try await lock.withLock { $0 }
      #expect(sum == 8 * count)
      #expect(!lock.isLocked && lock.waiterCount == 0)
    }
  }

  @Test("the value may be neither copyable nor Sendable, and so may the result")
  func values() async throws {
    let unique = AsyncLock(Unique()), plain = AsyncLock(Plain())
    let taken = try await unique.withLock { value in
      value.number += 1
      await Task.yield()
      return Unique(number: value.number + 1)
    }
    #expect(taken.number == 2)
    let number = try await plain.withLock { value in
      value.number += 3
      return value.number
    }
    #expect(number == 3)
    #expect(unique.withLockIfAvailable { $0.number } == 1)
  }

  @Test("the lock is free after an error, and the error is passed on")
  func errors() async {
    let lock = AsyncLock(1)
    await #expect(throws: Failed.self) {
      try await lock.withLock { value in
        value = 2
        throw Failed()
      }
    }
    #expect(lock.withLockIfAvailable { $0 } == 2)
  }

  @Test("a task that waits for a lock that it has gets an error instead of a hang")
  func deadlock() async throws {
    let lock = AsyncLock(1)
    try await lock.withLock { _ in
      await #expect(throws: SchedulerError.deadlock) { try await lock.withLock { $0 += 1 } }
      #expect(lock.withLockIfAvailable { $0 } == nil)
    }
    #expect(try await lock.withLock { $0 } == 1)
  }

  @Test("a wait for a lock ends at its deadline, and by cancellation; the lock still works")
  func ends() async throws {
    let lock = AsyncLock(0), open = AsyncSemaphore()
    let holder = Task {
      try await lock.withLock { value in
        try await open.wait()
        value += 1
      }
    }
    #expect(await soon { lock.isLocked })
    await #expect(throws: SchedulerError.timeout) {
      try await lock.withLock(deadline: .now + .milliseconds(2)) { $0 += 10 }
    }
    let cancelled = Task { try await lock.withLock { $0 += 100 } }
    let patient = Task { try await lock.withLock { $0 += 1_000 } }
    #expect(await soon { lock.waiterCount == 2 })
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    open.signal()
    try await holder.value
    try await patient.value
    #expect(lock.withLockIfAvailable { $0 } == 1_001)
  }

  @Test("the task that has the lock runs with the priority of a task that waits")
  func escalation() async throws {
    let lock = AsyncLock(0), open = AsyncSemaphore(), begun = AsyncSemaphore()
    let holder = Task(priority: .background) {
      try await lock.withLock { _ in
        begun.signal()
        try await open.wait()
        return Task.currentPriority
      }
    }
    let next = Task(priority: .background) {
      try await begun.wait()
      begun.signal()
      return try await lock.withLock { _ in Task.currentPriority }
    }
    let urgent = Task(priority: .high) {
      try await begun.wait()
      begun.signal()
      #expect(await soon { lock.waiterCount == 1 })
      try await lock.withLock { _ in }
    }
    #expect(await soon { lock.waiterCount == 2 })
    open.signal()
    // Read before the tasks are awaited, which would raise their priorities, too.
    #expect(await soon { !lock.isLocked && lock.waiterCount == 0 })
    let priorities = (try await holder.value, try await next.value)
    try await urgent.value
    #expect(priorities.0 >= .high)
    #expect(priorities.1 >= .high)
  }

  /// Once it has given the lock back, the task may end, and its memory be freed.
  @Test("a task keeps the lock while several threads raise its priority")
  func escalations() async throws {
    let thread = try ThreadScheduler(name: "holder"), pool = try WorkerPool(workers: 2), executor = pool.scheduler()
    let lock = AsyncLock(0), begun = AsyncSemaphore(), log = Log<String>()
    // of the handler, which blocks a thread that raises the priority
    let entered = Protected(0), turns = CountingSemaphore(units: 0)
    @Sendable func hold(_ actor: isolated Pinned) async throws {
      try await withTaskPriorityEscalationHandler {
        try await lock.withLock { _ in
          actor.assertIsolated()
          begun.signal(2)
          #expect(eventually { Task.currentPriority >= .high })
          log.add("ends its use")
        }
        actor.assertIsolated()
        log.add("has given the lock back")
      } onPriorityEscalated: { _, _ in
        entered.withLock { $0 += 1 }
        turns.wait()
      }
    }
    // on the actor's thread, because a suspension of the task would wait for its handlers
    let holder = Task(priority: .background) { try await hold(Pinned(thread)) }
    let waiters = [TaskPriority.medium, .high].map { priority in
      Task(executorPreference: executor, priority: priority) {
        try await begun.wait()
        if priority == .high { #expect(await soon { entered.read() == 1 }) }
        try await lock.withLock { _ in log.add("the next") }
      }
    }
    #expect(await soon { log.entries == ["ends its use"] && entered.read() == 1 })
    turns.signal()
    #expect(await soon { entered.read() == 2 })
    try await Task.sleep(for: .milliseconds(50))
    #expect(log.entries == ["ends its use"])
    turns.signal()
    try await holder.value
    for waiter in waiters { try await waiter.value }
    #expect(log.entries.sorted() == ["ends its use", "has given the lock back", "the next", "the next"])
    await pool.stopAndJoin()
    await thread.stopAndJoin()
  }
}

@Suite(.nothingIsLeft) struct AsyncLimitTests {
  @Test("at most so many bodies run, the suspended ones included", arguments: TaskPlace.allCases, [1, 3])
  func limit(_ place: TaskPlace, most: Int) async throws {
    try await place.run { executor in
      let limit = AsyncLimit(most), running = Protected(0), highest = Protected(0)
      await withTaskGroup { group in
        for _ in 0..<Scale.count(300) {
          group.addTask(executorPreference: executor) {
            try? await limit.run {
              let now = running.withLock {
                $0 += 1
                return $0
              }
              highest.withLock { $0 = max($0, now) }
              await Task.yield()
              running.withLock { $0 -= 1 }
            }
          }
        }
      }
      #expect(highest.read() <= most && highest.read() > 0)
      #expect(limit.runningCount == 0 && limit.waitingCount == 0)
    }
  }

  @Test("submitted bodies start in the order of submission, and one ends before the next starts")
  func serial() async throws {
    let limit = AsyncLimit(1), log = Log<Int>()
    let tasks = (0..<200).compactMap { n in
      limit.trySubmit {
        log.add(n)
        await Task.yield()
        log.add(n)
        return n
      }
    }
    for (n, task) in tasks.enumerated() { #expect(try await task.value == n) }
    #expect(log.entries == (0..<200).flatMap { [$0, $0] })
  }

  @Test("a body that is cancelled before it starts is not called, and those behind it start")
  func cancelled() async throws {
    let limit = AsyncLimit(1), open = AsyncSemaphore(), log = Log<String>()
    let first = try await limit.submit { try await open.wait() }
    let second = try await limit.submit { log.add("second") }
    let third = try await limit.submit { log.add("third") }
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    open.signal()
    try await first.value
    try await third.value
    #expect(log.entries == ["third"])
    #expect(limit.runningCount == 0)
  }

  @Test("bodies of a limit of a scheduler run there", arguments: [TaskPlace.pool, .thread])
  func onScheduler(_ place: TaskPlace) async throws {
    try await place.run { executor in
      let scheduler = executor as! any SchedulerType & TaskExecutor
      let limit = scheduler.limited(to: 2)
      let seen = try await limit.perform {
        await Task.yield()
        return Schedulers.current.map { ObjectIdentifier($0) }
      }
      #expect(seen == ObjectIdentifier(scheduler as AnyObject))
      #expect(try await limit.submit { Schedulers.current.map { ObjectIdentifier($0) } }.value == seen)
    }
  }

  @Test("a limit may be released while bodies wait") func released() async throws {
    let open = AsyncSemaphore(), log = Log<Int>()
    var limit: AsyncLimit? = AsyncLimit(1)
    let first = try await limit!.submit { try await open.wait() }, second = try await limit!.submit { log.add(1) }
    limit = nil
    open.signal()
    try await first.value
    try await second.value
    #expect(log.entries == [1])
  }

  @Test("a body that has not started by its deadline is not called") func deadline() async throws {
    let limit = AsyncLimit(1), open = AsyncSemaphore()
    let first = try await limit.submit { try await open.wait() }
    await #expect(throws: SchedulerError.timeout) {
      try await limit.run(deadline: .now + .milliseconds(2)) { Issue.record("it has started") }
    }
    open.signal()
    try await first.value
    try await limit.run(deadline: .now) {}
  }
}
