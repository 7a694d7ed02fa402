import Scheduler
import SchedulerTestSupport
import SchedulerVirtualTime
import Synchronization
import TestSupport
import Testing
import XCTest

private func seconds(_ instant: MonotonicTime) -> UInt64 { instant.nanoseconds / 1_000_000_000 }

private let runs = Atomic(0)
private let seedsOfFailure = Mutex<[String]>([])

private actor Account {
  var balance = 100
  func withdraw(_ amount: Int) async {
    guard balance >= amount else { return }
    await Task.yield()
    balance -= amount
  }
}

@Suite(.nothingIsLeft(on: nil), .enabled(if: VirtualTime.isAvailable), .virtualTime) struct VirtualTimeTraitTests {
  @Test("sleeps of tasks, clocks and schedulers move together") func together() async throws {
    let time = try #require(VirtualTime.current), pool = ConcurrentScheduler(), queue = SerialScheduler()
    let limited = ConcurrentScheduler(limit: 1), ticks = Mutex((pool: 0, queue: 0, limited: 0))
    let ticking = [
      pool.schedule(.every(.seconds(1))) { ticks.withLock { $0.pool += 1 } },
      queue.schedule(.every(.seconds(1))) { ticks.withLock { $0.queue += 1 } },
      limited.schedule(.every(.seconds(1))) { ticks.withLock { $0.limited += 1 } },
    ]
    try await Task.sleep(for: .seconds(10))
    #expect(seconds(time.now) == 10 && time.now == pool.now && time.now == queue.now && time.now == limited.now)
    #expect(ticks.withLock { $0 } == (10, 10, 10))
    for each in ticking { each.dispose() }
    try await Task.sleep(for: .seconds(5), clock: .continuous)
    try await pool.sleep(for: .seconds(5))
    #expect(seconds(time.now) == 20)
    #expect(ticks.withLock { $0 } == (10, 10, 10))
    #expect(try await queue.perform { 7 } == 7)
    let inside = Task(executorPreference: pool) { VirtualTime.current?.now == pool.now }
    #expect(await inside.value)
    #expect(time.escapes == 0)
  }

  @Test("schedulers of virtual time end with it, and others do not begin there") func end() async throws {
    let time = try #require(VirtualTime.current)
    #expect(seconds(time.now) == 0)
    let pool = ConcurrentScheduler()
    pool.schedule(after: .seconds(1)) { Issue.record("time has moved behind the end of the test") }
  }
}

@Suite(.nothingIsLeft(on: nil), .enabled(if: VirtualTime.isAvailable)) struct VirtualTimeSeedTests {
  @Test("each seed runs once", .virtualTime(seeds: 1...20)) func seeds() async throws {
    #expect(VirtualTime.current != nil)
    try await Task.sleep(for: .seconds(1))
    runs.add(1, ordering: .relaxed)
    #expect(runs.load(ordering: .relaxed) <= 20)
  }

  @Test("a failing seed is named, with the trait that replays it, and ends the run")
  func failing() async throws {
    let comments = Mutex<[String]>([])
    let collecting = IssueHandlingTrait.compactMapIssues { issue in
      comments.withLock { $0 += issue.comments.map(\.rawValue) }
      return nil
    }
    let test = try #require(Test.current), trait: VirtualTimeTrait = .virtualTime(seeds: 1...1_000)
    try await collecting.provideScope(for: test, testCase: Test.Case.current) {
      try await trait.provideScope(for: test, testCase: Test.Case.current) {
        let account = Account()
        async let one: Void = account.withdraw(80)
        async let other: Void = account.withdraw(80)
        _ = await (one, other)
        #expect(await account.balance >= 0)
      }
    }
    let found = comments.withLock { $0 }
    #expect(found.count == 1)
    #expect(found[0].contains("with seed ") && found[0].contains(".virtualTime(seeds: "))
  }

  @Test("an error of the body names the seed, too") func throwing() async throws {
    struct Failed: Error {}
    let comments = Mutex<[String]>([])
    let collecting = IssueHandlingTrait.compactMapIssues { issue in
      comments.withLock { $0 += issue.comments.map(\.rawValue) }
      return nil
    }
    let test = try #require(Test.current), trait: VirtualTimeTrait = .virtualTime(seeds: 7...9)
    try await collecting.provideScope(for: test, testCase: Test.Case.current) {
      try await trait.provideScope(for: test, testCase: Test.Case.current) { throw Failed() }
    }
    #expect(comments.withLock { $0 } == ["with seed 7. To replay it: .virtualTime(seeds: 7...7)"])
  }
}

@Suite(.nothingIsLeft(on: nil), .enabled(if: VirtualTime.isAvailable)) struct VirtualTimeTestCaseTests {
  /// XCTest's own runner is not part of this run.
  private let testCase = VirtualTimeTestCase(name: "virtual", testClosure: { _ in })

  @Test("a test case of XCTest runs its body once for each seed") func seeds() async throws {
    let runs = Mutex(0)
    try await testCase.inVirtualTime(seeds: 1...20) { time in
      try await Task.sleep(for: .seconds(3_600))
      #expect(seconds(time.now) == 3_600)
      runs.withLock { $0 += 1 }
    }
    #expect(runs.withLock { $0 } == 20)
    try await testCase.inVirtualTime { time in #expect(time.escapes == 0) }
  }

  @Test("a test case of XCTest names the seed of an error") func failing() async throws {
    struct Failed: Error {}
    let error = await #expect(throws: ExplorationFailure.self) {
      try await testCase.inVirtualTime(seeds: 3...4) { _ in throw Failed() }
    }
    #expect(error?.seed == 3)
  }
}
