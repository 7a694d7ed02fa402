import Scheduler
import TestSupport
import Testing

/// Where a behaviour runs: on Swift's own executors, or on a scheduler.
private enum Place: Sendable {
  case swifts
  case ours(any ExecutorUnderTest.Executor)
  case pool(ConcurrentScheduler)

  /// A task there. It inherits nothing.
  func task<Value: Sendable>(
    priority: TaskPriority? = nil, _ body: @escaping @Sendable () async throws -> Value
  ) -> Task<Value, any Error> {
    switch self {
    case .swifts: Task.detached(priority: priority, operation: body)
    case .ours(let scheduler): Task.detached(executorPreference: scheduler, priority: priority, operation: body)
    case .pool(let scheduler): Task.detached(executorPreference: scheduler, priority: priority, operation: body)
    }
  }
}

/// An actor that has the executor which Swift makes for each.
private actor Plain {}

private struct Overdrawn: Error {}

/// An actor on a place.
private actor Account {
  private let plain = Plain()
  private let scheduler: (any ExecutorUnderTest.Executor)?
  private let ended: Counter?
  private var sleeper: CheckedContinuation<Void, Never>?
  private(set) var events: [String] = []
  private(set) var balance = 0

  init(on place: Place, ended: Counter? = nil) {
    scheduler = if case .ours(let scheduler) = place { scheduler } else { nil }
    self.ended = ended
  }

  isolated deinit {
    preconditionIsolated()
    ended?.increment()
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    scheduler?.asUnownedSerialExecutor() ?? plain.unownedExecutor
  }

  func add(_ event: String) { events.append(event) }

  func deposit(_ amount: Int) throws {
    if balance + amount < 0 { throw Overdrawn() }
    balance += amount
  }

  func transfer(_ amount: Int, to other: Account) async throws {
    try deposit(-amount)
    try await other.deposit(amount)
  }

  var isAsleep: Bool { sleeper != nil }

  func sleep() async {
    events.append("sleeps")
    await withCheckedContinuation { sleeper = $0 }
    preconditionIsolated()
    events.append("awake")
  }

  func wake() {
    events.append("wakes")
    sleeper.take()?.resume()
  }

  func isolations() async -> [Bool] {
    preconditionIsolated()
    let inside = synchronously { assumeIsolated { _ in true } }
    let inherited = Task {
      self.preconditionIsolated()
      await Task.yield()
      self.preconditionIsolated()
      return self.events.isEmpty
    }
    return [inside, await inherited.value, await keeps(isolation: self)]
  }

  func local() -> Int { Local.value }
}

private func keeps(isolation: isolated any Actor) async -> Bool {
  await Task.yield()
  isolation.preconditionIsolated()
  return true
}

private enum Local {
  @TaskLocal static var value = 0
}

private func fibonacci(_ n: Int) async -> Int {
  if n < 2 { return n }
  async let a = fibonacci(n - 1)
  async let b = fibonacci(n - 2)
  return await a + b
}

/// What came of `body`, as text.
private func outcome<Value>(_ body: () async throws -> Value) async -> String {
  do { return "\(try await body())" } catch { return "\(type(of: error))" }
}

/// Something that tasks and actors do. What it returns is the same wherever they run.
private struct Behaviour: Sendable {
  let name: String
  let run: @Sendable (Place) async throws -> [String]

  init(_ name: String, _ run: @escaping @Sendable (Place) async throws -> [String]) {
    (self.name, self.run) = (name, run)
  }

  static let all = [
    Behaviour("the calls of one task are taken in order") { place in
      let account = Account(on: place)
      return try await place.task {
        for n in 0..<50 { await account.add("\(n)") }
        return await account.events
      }.value
    },
    Behaviour("errors come through, and leave the state as it was") { place in
      let account = Account(on: place)
      return try await place.task {
        [
          await outcome { try await account.deposit(-1) }, await outcome { try await account.deposit(7) },
          await outcome { try await account.deposit(-8) }, "\(await account.balance)",
        ]
      }.value
    },
    Behaviour("an actor that waits lets others in") { place in
      let account = Account(on: place)
      return try await place.task {
        async let sleeping: Void = account.sleep()
        while await !account.isAsleep { await Task.yield() }
        await account.wake()
        await sleeping
        return await account.events
      }.value
    },
    Behaviour("isolation holds: asserted, assumed, inherited and handed on") { place in
      let account = Account(on: place)
      return try await place.task { await account.isolations() }.value.map { "\($0)" }
    },
    Behaviour("two actors that call each other lose nothing") { place in
      let accounts = [Account(on: place), Account(on: place)]
      for account in accounts { try await account.deposit(1_000) }
      return try await place.task {
        await withTaskGroup { group in
          for n in 0..<200 { group.addTask { try? await accounts[n % 2].transfer(n % 7, to: accounts[1 - n % 2]) } }
        }
        return ["\(await accounts[0].balance + accounts[1].balance)"]
      }.value
    },
    Behaviour("children, groups and tasks that inherit find the task's locals; a detached one does not") { place in
      let account = Account(on: place)
      return try await place.task {
        await Local.$value.withValue(7) {
          async let child = Local.value
          let grouped = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<3 { group.addTask { await account.local() } }
            return await group.reduce(0, +)
          }
          await Task.yield()
          let inheriting = await Task { Local.value }.value, detached = await Task.detached { Local.value }.value
          return ["\(await child)", "\(grouped)", "\(Local.value)", "\(inheriting)", "\(detached)"]
        }
      }.value
    },
    Behaviour("async let") { place in try await place.task { ["\(await fibonacci(11))"] }.value },
    Behaviour("a group whose child fails cancels the others") { place in
      try await place.task {
        let result = await outcome {
          try await withThrowingTaskGroup { group in
            for _ in 0..<5 { group.addTask { try await Task.sleep(for: .seconds(3_600)) } }
            group.addTask { throw Overdrawn() }
            for try await _ in group {}
          }
        }
        return [result, "\(Task.isCancelled)"]
      }.value
    },
    Behaviour("a cancellation ends a sleep, calls its handler, and is seen by children") { place in
      let handled = Counter(), started = Counter()
      let task = place.task {
        started.increment()
        let slept = await withTaskCancellationHandler {
          let slept = await outcome { try await Task.sleep(for: .seconds(3_600)) }
          // A task that leaves while `cancel` is about to look for handlers takes its handler along, uncalled.
          while handled.value == 0 { await Task.yield() }
          return slept
        } onCancel: {
          handled.increment()
        }
        async let child = Task.isCancelled
        return [slept, "\(await child)", "\(await Task.detached { Task.isCancelled }.value)"]
      }
      while started.value == 0 { await Task.yield() }
      task.cancel()
      return try await task.value + ["\(handled.value)"]
    },
    Behaviour("a task that is cancelled runs on, and its sleeps and checks throw") { place in
      try await place.task {
        withUnsafeCurrentTask { $0?.cancel() }
        await Task.yield()
        return [
          "\(Task.isCancelled)", await outcome { try Task.checkCancellation() },
          await outcome { try await Task.sleep(for: .seconds(3_600)) }, await outcome { await Task.yield() },
        ]
      }.value
    },
    Behaviour("a task keeps its base priority, and so do its children") { place in
      try await place.task(priority: .low) {
        async let child = Task.basePriority!.rawValue
        await Task.yield()
        return ["\(Task.basePriority!.rawValue)", "\(await child)"]
      }.value
    },
    Behaviour("what one task streams, another gets in order") { place in
      let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
      let reader = place.task {
        var seen: [String] = []
        for await n in stream { seen.append("\(n)") }
        return seen
      }
      let writer = place.task {
        for n in 0..<100 {
          continuation.yield(n)
          if n % 10 == 0 { await Task.yield() }
        }
        continuation.finish()
      }
      try await writer.value
      return try await reader.value
    },
    Behaviour("a continuation that another thread resumes, before and after the suspension") { place in
      let other = ConcurrentScheduler()
      return try await place.task {
        var results: [String] = []
        for n in 0..<20 {
          results.append(
            await outcome {
              try await withCheckedThrowingContinuation { continuation in
                let resume = { @Sendable in
                  n % 3 == 0 ? continuation.resume(throwing: Overdrawn()) : continuation.resume(returning: n)
                }
                if n % 2 == 0 { resume() } else { other.schedule(resume) }
              } as Int
            })
        }
        return results
      }.value
    },
    Behaviour("a task that hops to the pool and back finds what it left") { place in
      let account = Account(on: place), pool = ConcurrentScheduler()
      return try await place.task {
        var log: [String] = []
        for n in 0..<20 {
          log.append(await withTaskExecutorPreference(pool) { "\(n) \(Schedulers.current === pool)" })
          await account.add("\(n)")
        }
        return await log + account.events
      }.value
    },
    Behaviour("the last reference to an actor ends it there, once") { place in
      let ended = Counter()
      try await place.task {
        for _ in 0..<20 {
          let account = Account(on: place, ended: ended)
          await account.add("")
        }
      }.value
      return ["\(eventually { ended.value == 20 })", "\(ended.value)"]
    },
  ]
}

/// What a clock does with a sleep.
private func sleeps(on clock: some Clock<Duration>) async -> [String] {
  var seen: [String] = []
  for duration in [Duration.zero, .milliseconds(-5), .seconds(Int64.min), .milliseconds(2)] {
    let start = clock.now
    seen.append(await outcome { try await clock.sleep(for: duration) })
    seen.append("\(start.duration(to: clock.now) >= max(.zero, duration))")
  }
  for isCancelledBefore in [true, false] {
    for duration in [Duration.zero, .seconds(3_600)] where !isCancelledBefore || duration != .zero {
      let begun = Counter()
      let task = Task.detached {
        if isCancelledBefore { withUnsafeCurrentTask { $0?.cancel() } }
        begun.increment()
        return await outcome { try await clock.sleep(for: duration, tolerance: .milliseconds(1)) }
      }
      while begun.value == 0 { await Task.yield() }
      if duration != .zero { task.cancel() }
      seen.append(await task.value)
    }
  }
  return seen
}

/// Swift's own executors are the standard: tasks and actors behave the same on each executor of this package.
@Suite(.serialized, .nothingIsLeft) struct DefaultExecutorTests {
  private func expectSame(_ place: Place) async throws {
    for behaviour in Behaviour.all {
      let theirs = try await behaviour.run(.swifts), ours = try await behaviour.run(place)
      #expect(ours == theirs && !theirs.isEmpty, "\(behaviour.name)")
    }
  }

  @Test("tasks and actors behave on a scheduler as on Swift's own executors", arguments: ExecutorUnderTest.all)
  func onOurs(_ test: ExecutorUnderTest) async throws { try await expectSame(.ours(try test.make().scheduler)) }

  @Test(
    "tasks behave on a concurrent scheduler as on Swift's own executor", arguments: SchedulerPriority.allCases)
  func onPool(_ priority: SchedulerPriority) async throws {
    try await expectSame(.pool(ConcurrentScheduler(name: "tasks", priority: priority)))
  }

  @Test("the same when the scheduler is stopped meanwhile", arguments: ExecutorUnderTest.withThread)
  func stopped(_ test: ExecutorUnderTest) async throws {
    for behaviour in Behaviour.all {
      let (scheduler, thread) = try test.make(), theirs = try await behaviour.run(.swifts)
      async let ours = behaviour.run(.ours(scheduler))
      thread!.stop(.dropOutstanding)
      #expect(try await ours == theirs, "\(behaviour.name)")
      await thread!.stopAndJoin()
    }
  }

  @Test("a scheduler's clock sleeps as Swift's does", arguments: ExecutorUnderTest.all)
  func clocks(_ test: ExecutorUnderTest) async throws {
    let theirs = await sleeps(on: ContinuousClock())
    #expect(await sleeps(on: try test.make().scheduler.clock) == theirs)
  }
}
