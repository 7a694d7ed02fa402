import Scheduler
import SchedulerVirtualTime
import TestSupport
import Testing

private func seconds(_ instant: MonotonicTime) -> UInt64 { instant.nanoseconds / 1_000_000_000 }

private actor Log {
  private(set) var lines: [String] = []
  func add(_ line: String) { lines.append(line) }
}

@MainActor private final class Model {
  var values: [Int] = []
  func load(_ time: VirtualTime) async throws {
    for value in 1...3 {
      try await time.sleep(for: .seconds(60))
      MainActor.preconditionIsolated()
      values.append(value)
    }
  }
}

@Suite(.nothingIsLeft, .enabled(if: VirtualTime.isAvailable)) struct VirtualTasksTests {
  @Test("the example: a reminder an hour later")
  func example() async throws {
    let text = try await withVirtualTime { time in
      let reminder = Task {
        try await time.clock.sleep(for: .seconds(3_600))
        return "an hour later"
      }
      await time.advance(by: .seconds(3_599))  // nothing yet
      await time.advance(by: .seconds(1))  // the task ends
      return try await reminder.value
    }
    #expect(text == "an hour later")
  }

  @Test("an hour of sleep takes no real time, by every clock")
  func sleeps() async throws {
    let start = ContinuousClock.now
    let end = try await withVirtualTime { time in
      try await time.sleep(for: .seconds(3_600))
      #expect(seconds(time.now) == 3_600)
      try await Task.sleep(for: .seconds(3_600))
      #expect(seconds(time.now) == 7_200)
      try await Task.sleep(for: .seconds(3_600), clock: .suspending)
      #expect(seconds(time.now) == 10_800)
      try await Task.sleep(nanoseconds: 3_600_000_000_000)
      #expect(seconds(time.now) == 14_400)
      try await time.clock.sleep(for: .seconds(3_600))
      return time.now
    }
    #expect(seconds(end) == 18_000)
    #expect(ContinuousClock.now - start < .seconds(3_600))
  }

  @Test(
    "a timeout by a default clock is exact, and so is a deadline that is a round time away",
    arguments: 0..<20 as Range<UInt64>)
  func timeouts(seed: UInt64) async {
    func ends() async -> [UInt64] {
      await withVirtualTime(seed: seed) { time in
        await withTaskGroup(of: UInt64.self) { group in
          for odd in 1...9 {
            group.addTask {
              try? await time.sleep(for: .nanoseconds(17 * odd))
              let start = time.now
              let span = Duration.nanoseconds(123_456_789 * odd)
              try? await withTimeout(span) { try await time.sleep(for: .seconds(1_000_000)) }
              #expect(time.now == start + span)
              for _ in 0..<odd {
                try? await withDeadline(.now + .seconds(100 * odd)) { try await time.sleep(for: .seconds(1_000_000)) }
              }
              #expect(time.now == start + span + .seconds(100 * odd * odd))
              try? await withTimeout(.seconds(Int64.max)) {
                try await withTimeout(.zero) { try await time.sleep(for: .seconds(1)) }
              }
              #expect(time.now == start + span + .seconds(100 * odd * odd))
              return time.now.nanoseconds
            }
          }
          return await group.reduce(into: []) { $0.append($1) }
        }
      }
    }
    let first = await ends(), second = await ends()
    #expect(first == second)
  }

  @Test("a wait for a disposal takes no time, and is no escape") func disposals() async {
    await withVirtualTime { time in
      let runs = Protected(0), queue = SerialScheduler(target: time.scheduler)
      let token = queue.schedule(after: .seconds(2)) { runs.write { $0 += 1 } }
      let other = Task { try await time.sleep(for: .seconds(1)) }
      await token.disposeAndWait()
      #expect(time.now.nanoseconds == 0)
      await time.run()
      #expect(runs.read() == 0 && time.escapes == 0)
      try? await other.value
    }
  }

  @Test("the result and the error are the body's")
  func outcome() async throws {
    struct Failure: Error {}
    #expect(await withVirtualTime { _ in 7 } == 7)
    await #expect(throws: Failure.self) { try await withVirtualTime { _ in throw Failure() } }
  }

  @Test("every kind of task is in it, and runs by itself")
  func kinds() async throws {
    try await withVirtualTime { time in
      let running = Protected(0), most = Protected(0)
      @Sendable func step(_ wait: Duration) async throws {
        for _ in 0..<20 {
          let now = running.withLock {
            $0 += 1
            return $0
          }
          most.withLock { $0 = max($0, now) }
          running.withLock { $0 -= 1 }
          await Task.yield()
          try await time.sleep(for: wait)
        }
      }
      async let child: Void = step(.seconds(1))
      let task = Task { try await step(.seconds(1)) }
      let detached = Task.detached(priority: .background) { try await step(.seconds(2)) }
      let main = Task { @MainActor in try await step(.seconds(3)) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<10 { group.addTask { try await step(.seconds(1)) } }
        try await group.waitForAll()
      }
      try await child
      try await task.value
      try await detached.value
      try await main.value
      #expect(most.read() == 1)
      #expect(seconds(time.now) == 60)
      #expect(time.escapes == 0)
    }
  }

  @Test("an advance returns when all that was due by then has happened, and not before")
  func advances() async throws {
    await withVirtualTime { time in
      let log = Log()
      for second in [1, 2, 3] {
        Task {
          try await time.clock.sleep(for: .seconds(second))
          await log.add("\(second)")
          await Task.yield()
          await log.add("\(second)'")
        }
      }
      await time.advance(by: .zero)
      #expect(await log.lines == [])
      await time.advance(by: .milliseconds(1_999))
      #expect(await log.lines == ["1", "1'"])
      await time.advance(by: .milliseconds(1))
      #expect(await log.lines == ["1", "1'", "2", "2'"])
      await time.advance(by: .seconds(-1))
      #expect(time.now.nanoseconds == 2_000_000_000)
      await time.run()
      #expect(await log.lines == ["1", "1'", "2", "2'", "3", "3'"])
      #expect(time.now.nanoseconds == 3_000_000_000)
      await time.run()
    }
  }

  @Test("the scheduler's actions are in it, and their tasks")
  func actions() async throws {
    await withVirtualTime { time in
      let log = Protected<[String]>([])
      time.scheduler.schedule(after: .seconds(1)) {
        log.withLock { $0.append("action") }
        Task { log.withLock { $0.append("task") } }
      }
      await time.advance(by: .seconds(1))
      #expect(log.read() == ["action", "task"])
    }
  }

  @MainActor @Test("a body of the main actor is on the main actor")
  func mainActor() async throws {
    let model = Model()
    try await withVirtualTime { time in
      let task = Task { try await model.load(time) }
      await time.advance(by: .seconds(120))
      MainActor.preconditionIsolated()
      #expect(model.values == [1, 2])
      try await task.value
      #expect(model.values == [1, 2, 3])
    }
  }

  @Test("a body is on the actor of the caller")
  func ofActor() async throws {
    actor Counter {
      var count = 0
      func test() async throws {
        try await withVirtualTime { time in
          let child = Task {
            try await time.sleep(for: .seconds(2))
            self.count += 1
          }
          try await time.sleep(for: .seconds(1))
          self.count += 1
          try await child.value
        }
      }
    }
    let counter = Counter()
    try await counter.test()
    #expect(await counter.count == 2)
  }
}
