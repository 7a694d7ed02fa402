import Scheduler
import SchedulerTesting
import TestSupport
import Testing

/// If a test and its tasks prefer one serial executor, the clock waits for the tasks that are ready.
@Suite(.nothingIsLeft(on: SerialTestExecutor.shared))
struct TestClockTests {
  let clock = TestClock(), log = Log<Int>()

  @Test("sleeps end in the order of their deadlines, when the clock passes them") func advance() async throws {
    let tasks = [3, 1, 2].map { n in
      Task(executorPreference: SerialTestExecutor.shared) { [clock, log] in
        try await clock.sleep(for: .seconds(n))
        log.add(n)
      }
    }
    await clock.advance(by: .seconds(1))
    #expect(log.entries == [1])
    await clock.advance(to: TestClock.Instant(offset: .seconds(2)))
    #expect(log.entries == [1, 2])
    await #expect(throws: SuspensionError.self) { try await clock.checkSuspension() }
    await clock.advance(by: .seconds(10))
    #expect(log.entries == [1, 2, 3] && clock.now.offset == .seconds(12))
    try await clock.checkSuspension()
    for task in tasks { try await task.value }
  }

  @Test("a task that sleeps again on its way is woken at each of its deadlines") func again() async throws {
    let task = Task(executorPreference: SerialTestExecutor.shared) { [clock, log] in
      for n in 1...5 {
        try await clock.sleep(for: .seconds(1))
        log.add(n)
      }
    }
    await clock.advance(by: .seconds(5))
    #expect(log.entries == [1, 2, 3, 4, 5])
    try await task.value
  }

  @Test("run ends all sleeps, and reports if it cannot") func run() async throws {
    let task = Task(executorPreference: SerialTestExecutor.shared) { [clock] in
      try await clock.sleep(for: .seconds(1_000))
      try await clock.sleep(for: .seconds(1_000))
    }
    await clock.run(timeout: .seconds(600))
    try await task.value
    #expect(clock.now.offset == .seconds(2_000))
    let endless = Task(executorPreference: SerialTestExecutor.shared) { [clock] in
      while !Task.isCancelled { try await clock.sleep(for: .seconds(1)) }
    }
    await clock.run(timeout: .milliseconds(5))
    endless.cancel()
    _ = await endless.result
  }

  @Test("a sleep that begins while another thread moves the clock ends at its deadline")
  func beginsDuringMove() async throws {
    for _ in 0..<Scale.count(50) {
      let steps = 300, deadline = clock.now.advanced(by: .nanoseconds(steps)), isOver = Protected(false)
      let sleeper = Task.detached { [clock] in
        try await clock.sleep(until: deadline)
        isOver.write(true)
      }
      for _ in 0..<steps { clock.scheduler.advance(to: clock.now.advanced(by: .nanoseconds(1))) }
      let hasEnded = eventually { isOver.read() }  // the clock stands at the deadline
      #expect(hasEnded)
      if !hasEnded { clock.scheduler.advance(to: clock.now.advanced(by: .seconds(1))) }
      try await sleeper.value
    }
  }

  @Test("a cancelled sleep ends at once") func cancelled() async throws {
    let task = Task(executorPreference: SerialTestExecutor.shared) { [clock] in
      try await clock.sleep(for: .seconds(1))
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await clock.checkSuspension()
    #expect(clock.now.offset == .zero)
  }

  @Test("the clock and its scheduler have the same time") func scheduler() async throws {
    clock.scheduler.schedule(after: .seconds(3)) { [log] in log.add(3) }
    await clock.advance(by: .seconds(2))
    #expect(log.entries == [])
    await clock.advance(by: .seconds(1))
    #expect(log.entries == [3])
  }

  @Test("sleeps on an immediate clock take no time, and move it") func immediate() async throws {
    let clock = ImmediateClock()
    try await clock.sleep(for: .seconds(3_600))
    #expect(clock.now.offset == .seconds(3_600))
    try await clock.sleep(until: TestClock.Instant())
    #expect(clock.now.offset == .seconds(3_600))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(for: .seconds(1))
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
