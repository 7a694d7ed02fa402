import Scheduler
import TestSupport
import Testing

private struct Failed: Error, Equatable { let number: Int }

@Suite(.nothingIsLeft) struct AsyncOnceTests {
  private let runs = Counter(), open = AsyncSemaphore(), log = Log<String>()

  /// A run that waits until the test opens it, and returns its number. A cancellation ends it.
  private var waitingRun: @Sendable () async throws -> Int {
    { [runs, open, log] in
      let number = runs.increment()
      do { try await open.wait() } catch {
        log.add("run \(number) cancelled")
        throw error
      }
      return number
    }
  }

  /// Starts `count` tasks that wait for the value, and waits until all of them most likely wait.
  private func askers(_ count: Int, _ once: AsyncOnce<String, Int>, _ key: String = "key") async -> [Task<
    Int, any Error
  >] {
    let asking = Counter(), waitingRun = waitingRun
    let tasks = (0..<count).map { _ in
      Task {
        asking.increment()
        return try await once.value(for: key, waitingRun)
      }
    }
    #expect(await soon { asking.value == count && runs.value > 0 })
    try? await Task.sleep(for: .milliseconds(2))
    return tasks
  }

  @Test(
    "tasks that call at the same time share one run, for each key", arguments: [Duration.zero, .seconds(Int64.max)])
  func shares(timeToLive: Duration) async throws {
    let once = AsyncOnce<String, Int>(timeToLive: timeToLive)
    let tasks = await askers(50, once)
    #expect(runs.value == 1)
    #expect(try await once.value(for: "other") { 7 } == 7)
    open.signal()
    for task in tasks { #expect(try await task.value == 1) }
    open.signal()
    #expect(try await once.value(for: "key", waitingRun) == (timeToLive > .zero ? 1 : 2))  // kept, or a new run
  }

  @Test("a cancelled task leaves, and the run is cancelled with the last one") func leaves() async throws {
    let once = AsyncOnce<String, Int>()
    let tasks = await askers(3, once)
    for task in tasks.dropLast() {
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    #expect(log.entries == [])
    tasks[2].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[2].value }
    #expect(await soon { log.entries == ["run 1 cancelled"] })
    open.signal()
    #expect(try await once.value(for: "key", waitingRun) == 2)  // a new run, also if the old one had not ended
  }

  @Test("the others get the value when a task has left") func othersGetValue() async throws {
    let once = AsyncOnce<String, Int>()
    let tasks = await askers(10, once)
    tasks[0].cancel()  // perhaps that which has started the run
    await #expect(throws: CancellationError.self) { try await tasks[0].value }
    open.signal()
    for task in tasks.dropFirst() { #expect(try await task.value == 1) }
  }

  @Test("all get the error of a run, and it is not kept") func errors() async throws {
    let once = AsyncOnce<Int, Int>(timeToLive: .seconds(3_600)), runs = runs
    for round in 1...3 {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<10 {
          group.addTask {
            await #expect(throws: Failed.self) {
              try await once.value(for: 1) {
                await Task.yield()
                throw Failed(number: runs.increment())
              }
            }
          }
        }
      }
      #expect(runs.value >= round)
    }
    #expect(try await once.value(for: 1) { 5 } == 5)
  }

  @Test("a task that is cancelled before its call starts no run, but gets a kept value") func cancelledBefore()
    async throws
  {
    let once = AsyncOnce<Int, Int>(timeToLive: .seconds(3_600)), runs = runs
    for expected in [Int?.none, 4] {
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try? await once.value(for: 1) { runs.increment() }
      }
      #expect(await task.value == expected)
      #expect(runs.value == 0)
      _ = try await once.value(for: 1) { 4 }
    }
  }

  @Test("a value is kept for its time, on whichever clock, and expired values are released") func timeToLive()
    async throws
  {
    let time = TestScheduler(), runs = runs, ends = Counter()
    let once = AsyncOnce<Int, Witness>(timeToLive: .seconds(10), clock: time.clock)
    @Sendable func ask(_ key: Int) async throws {
      _ = try await once.value(for: key) {
        runs.increment()
        return Witness(ends)
      }
    }
    try await ask(0)
    time.advance(by: .seconds(10) - .nanoseconds(1))
    try await ask(0)
    #expect(runs.value == 1)
    time.advance(by: .nanoseconds(1))
    try await ask(0)
    #expect(runs.value == 2 && ends.value == 1)
    for key in 1...1_000 {
      try await ask(key)
      time.advance(by: .seconds(1))
    }
    #expect(runs.value == 1_002 && runs.value - ends.value < 50)
    once.forgetAll()
    #expect(await soon { ends.value == runs.value })
  }

  @Test(
    "unusual lifetimes have a meaning", arguments: [Duration.seconds(Int64.min), .zero - .nanoseconds(1), .zero])
  func notKept(timeToLive: Duration) async throws {
    for once in [AsyncOnce<Int, Int>(timeToLive: timeToLive), AsyncOnce(timeToLive: timeToLive, clock: .suspending)] {
      #expect(try await once.value(for: 1) { 1 } == 1)
      #expect(try await once.value(for: 1) { 2 } == 2)
    }
    for once in [
      AsyncOnce<Int, Int>(timeToLive: .seconds(Int64.max)),
      AsyncOnce(timeToLive: .seconds(Int64.max), clock: .suspending),
    ] {
      #expect(try await once.value(for: 1) { 1 } == 1)
      #expect(try await once.value(for: 1) { 2 } == 1)
    }
  }

  @Test("a forgotten value is made anew, and a run in progress continues for its waiters") func forgets() async throws {
    let once = AsyncOnce<String, Int>(timeToLive: .seconds(3_600))
    let tasks = await askers(3, once)
    once.forget("key")
    open.signal(2)
    #expect(try await once.value(for: "key", waitingRun) <= 2)
    for task in tasks { #expect(try await task.value <= 2) }
    #expect(runs.value == 2)
    #expect(try await once.value(for: "key", waitingRun) == 2)  // that of the second run is kept
    once.forget("key")
    once.forget("unknown")
    open.signal()
    #expect(try await once.value(for: "key", waitingRun) == 3)
  }

  @Test("a run that waits for its own value throws an error, and no other one hangs") func deadlock() async throws {
    let once = AsyncOnce<Int, Int>()
    await #expect(throws: SchedulerError.deadlock) {
      try await once.value(for: 1) { try await once.value(for: 1) { 1 } }
    }
    #expect(try await once.value(for: 1) { try await once.value(for: 2) { 2 } } == 2)
  }

  @Test("a run is on the actor of its closure, and inherits priority and task-local values") @MainActor func place()
    async throws
  {
    enum Request { @TaskLocal static var id = 0 }
    let once = AsyncOnce<Int, Int>()
    let id = try await Request.$id.withValue(7) {
      try await once.value(for: 1) {
        MainActor.preconditionIsolated()
        return Request.id
      }
    }
    #expect(id == 7)
    let actor = Own(), log = log
    try await actor.ask(once) { log.add("on the actor") }
    #expect(log.entries == ["on the actor"])
  }

  private actor Own {
    func ask(_ once: AsyncOnce<Int, Int>, _ note: @escaping @Sendable () -> Void) async throws {
      _ = try await once.value(for: 2) {
        self.preconditionIsolated()
        note()
        return 2
      }
    }
  }

  @Test("each run has waiters, and each waiter one outcome, beside cancellations and forgotten values")
  func beside() async throws {
    let once = AsyncOnce<Int, Int>(timeToLive: .microseconds(20)), started = runs, cancelled = Counter()
    await withTaskGroup(of: Void.self) { group in
      for n in 0..<Scale.count(2_000) {
        let task = Task {
          try await once.value(for: n % 3) {
            started.increment()
            if n % 5 == 0 { throw Failed(number: n) }
            if n % 2 == 0 { try await Task.sleep(for: .microseconds(50)) }
            return n
          }
        }
        if n % 4 == 0 { group.addTask { task.cancel() } }
        if n % 50 == 0 { once.forget(n % 3) }
        group.addTask {
          do { _ = try await task.value } catch is CancellationError { cancelled.increment() } catch {}
        }
      }
    }
    #expect(started.value > 0)
    once.forgetAll()
    #expect(try await once.value(for: 0) { 1 } == 1)
  }
}
