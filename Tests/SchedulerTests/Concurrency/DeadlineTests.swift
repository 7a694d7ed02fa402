import Scheduler
import TestSupport
import Testing

private struct Failed: Error {}

/// Not `Sendable`.
private final class Plain { var number = 0 }

private func forever() async throws { try await AsyncSemaphore().wait() }

private actor Owner {
  let plain = Plain()

  func use() async throws -> Int {
    try await withDeadline(.now + .seconds(600)) {
      plain.number += 1  // the actor's own, inside the child task
      await Task.yield()
      plain.number += 1
      return plain.number
    }
  }
}

@Suite(.nothingIsLeft) struct DeadlineTests {
  enum Local { @TaskLocal static var number = 0 }

  @Test("a body that ends before the deadline has its result, or its error") func inTime() async throws {
    #expect(try await withDeadline(.now + .seconds(600)) { 5 } == 5)
    await #expect(throws: Failed.self) { try await withTimeout(.seconds(600)) { throw Failed() } }
  }

  @Test("a body that the deadline cancels throws a timeout") func tooLate() async throws {
    let start = ContinuousClock.now
    await #expect(throws: SchedulerError.timeout) { try await withTimeout(.milliseconds(5)) { try await forever() } }
    #expect(ContinuousClock.now >= start + .milliseconds(5))
    await #expect(throws: SchedulerError.timeout) { try await withDeadline(.now) { try await forever() } }
    await #expect(throws: SchedulerError.timeout) { try await withTimeout(.seconds(-1)) { try await forever() } }
  }

  @Test("a body that ignores the cancellation keeps its result, and its own error") func ignored() async throws {
    let value = try await withTimeout(.milliseconds(1)) {
      try? await forever()
      return Task.isCancelled
    }
    #expect(value)
    await #expect(throws: Failed.self) {
      try await withTimeout(.milliseconds(1)) {
        try? await forever()
        throw Failed()
      }
    }
  }

  @Test("cancelling the caller cancels the body, and is no timeout") func cancelled() async throws {
    let begun = AsyncSemaphore()
    let task = Task {
      try await withTimeout(.seconds(600)) {
        begun.signal()
        try await forever()
      }
    }
    try await begun.wait()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    let early = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await withDeadline(.now) { try await forever() }
    }
    await #expect(throws: CancellationError.self) { try await early.value }
  }

  @Test("of nested deadlines the earliest counts") func nested() async throws {
    await #expect(throws: SchedulerError.timeout) {
      try await withTimeout(.milliseconds(2)) { try await withTimeout(.seconds(600)) { try await forever() } }
    }
    await #expect(throws: SchedulerError.timeout) {
      try await withTimeout(.seconds(600)) { try await withTimeout(.milliseconds(2)) { try await forever() } }
    }
  }

  @Test("the deadline is one of any clock, also of virtual time") func virtual() async throws {
    let scheduler = TestScheduler()
    let task = Task { try await withTimeout(.seconds(10), clock: scheduler.clock) { try await forever() } }
    await scheduler.awaitSleepers()
    scheduler.advance(by: .seconds(10))
    await #expect(throws: SchedulerError.timeout) { try await task.value }
    await #expect(throws: SchedulerError.timeout) {
      try await withTimeout(.milliseconds(1), clock: SuspendingClock()) { try await forever() }
    }
  }

  @Test("a clock whose scheduler stops ends the body with the scheduler's error") func stopped() async throws {
    let thread = try ThreadScheduler(name: "clock"), begun = AsyncSemaphore()
    let task = Task {
      try await withTimeout(.seconds(600), clock: thread.clock) {
        begun.signal()
        try await forever()
      }
    }
    try await begun.wait()
    await thread.stopAndJoin(.dropOutstanding)
    await #expect(throws: SchedulerError.stopped) { try await task.value }
  }

  @Test("the body keeps the caller's isolation, task-local values and executor") func surroundings() async throws {
    #expect(try await Owner().use() == 2)
    let pool = ConcurrentScheduler()
    try await withTaskExecutorPreference(pool) {
      try await Local.$number.withValue(7) {
        let seen = try await withTimeout(.seconds(600)) {
          (Local.number, Schedulers.current.map { ObjectIdentifier($0) })
        }
        #expect(seen.0 == 7 && seen.1 == ObjectIdentifier(pool))
      }
    }
  }

  @Test("work in a shield ends although its task is cancelled") func shield() async throws {
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      let plain = Plain()
      let inside = try await withTaskCancellationShield {
        try await Task.sleep(for: .milliseconds(1))
        plain.number += 1
        return Task.isCancelled
      }
      return (inside, Task.isCancelled, plain.number)
    }
    let seen = try await task.value
    #expect(seen == (false, true, 1))
    await #expect(throws: Failed.self) { try await withTaskCancellationShield { () throws(Failed) in throw Failed() } }
  }

  // MARK: Functions with a deadline

  @Test("an action that has not started by the deadline never starts") func perform() async throws {
    let queue = SerialScheduler(), begun = Gate(), open = Gate()
    queue.schedule {
      begun.open()
      open.wait()
    }
    await #expect(throws: SchedulerError.timeout) {
      try await queue.perform(deadline: .now + .milliseconds(2)) { Issue.record("it has started") }
    }
    open.open()
    #expect(try await queue.perform(deadline: .now + .seconds(600)) { 3 } == 3)
  }

  @Test("an action of virtual time that has not started by the deadline never starts") func performVirtually()
    async throws
  {
    let scheduler = TestScheduler()
    let task = Task {
      try await scheduler.perform(deadline: scheduler.now.advanced(by: .seconds(-1)), clock: scheduler.clock) { 1 }
    }
    await #expect(throws: SchedulerError.timeout) { try await task.value }
  }

  @Test("a wait for a group ends at the deadline") func group() async throws {
    let group = ActionGroup(entered: 1)
    await #expect(throws: SchedulerError.timeout) { try await group.waitForAll(deadline: .now + .milliseconds(2)) }
    group.leave()
    try await group.waitForAll(deadline: .now + .seconds(600))
  }

  @Test("a wait for a result ends at the deadline, and takes none") func results() async throws {
    let results = ResultGroup<Int>(), queue = SerialScheduler(), open = Gate()
    results.schedule(on: queue) {
      open.wait()
      return 4
    }
    await #expect(throws: SchedulerError.timeout) { _ = try await results.next(deadline: .now + .milliseconds(2)) }
    open.open()
    #expect(try await results.next(deadline: .now + .seconds(600))?.get() == 4)
    #expect(try await results.next(deadline: .now + .seconds(600)) == nil)
  }

  @Test("a wait for the end of threads ends at the deadline, and the stop continues") func join() async throws {
    let thread = try ThreadScheduler(name: "busy"), group = try ThreadScheduler.Group(count: 2, name: "busy")
    let pool = try WorkerPool(workers: 1), open = Gate()
    for scheduler in [thread, group.schedulers[0], pool.scheduler()] as [any SchedulerType] {
      scheduler.schedule { open.wait() }
    }
    await #expect(throws: SchedulerError.timeout) { try await thread.stopAndJoin(deadline: .now + .milliseconds(2)) }
    await #expect(throws: SchedulerError.timeout) { try await group.stopAndJoin(deadline: .now + .milliseconds(2)) }
    await #expect(throws: SchedulerError.timeout) { try await pool.stopAndJoin(deadline: .now + .milliseconds(2)) }
    for _ in 0..<3 { open.open() }
    try await thread.stopAndJoin(deadline: .now + .seconds(600))
    try await group.stopAndJoin(deadline: .now + .seconds(600))
    try await pool.stopAndJoin(deadline: .now + .seconds(600))
  }
}
