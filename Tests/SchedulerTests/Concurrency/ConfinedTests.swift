import Foundation
import Scheduler
import TestSupport
import Testing

/// Belongs to a thread, and may not be sent: it looks where it is made, used and released.
private final class Handle {
  private let thread = pthread_self()
  private let ends: Log<String>?
  private let name: String
  private(set) var uses = 0

  init(_ name: String = "", ends: Log<String>? = nil) {
    self.name = name
    self.ends = ends
  }

  func use() -> Int {
    precondition(pthread_equal(thread, pthread_self()) != 0, "used on another thread")
    uses += 1
    return uses
  }

  deinit {
    precondition(pthread_equal(thread, pthread_self()) != 0, "released on another thread")
    ends?.add(name)
  }
}

private struct NoSuchFile: Error {}

@Suite(.nothingIsLeft) struct ConfinedTests {
  @Test("a value is made, used and released on its thread, and exists as long as its handle")
  func life() async throws {
    let thread = try ThreadScheduler(), ends = Log<String>()
    do {
      let handle = thread.confine { Handle("a", ends: ends) }
      for n in 1...100 { #expect(try await handle.perform { $0.use() } == n) }
      #expect(try await thread.perform { try handle.withValue { $0.use() } } == 101)
      #expect(ends.entries.isEmpty && handle.scheduler === thread)
    }
    #expect(eventually { ends.entries == ["a"] })
    await thread.stopAndJoin()
    #expect(ends.entries == ["a"])
  }

  @Test("the closures that make and use a value are released on its thread, with their captures")
  func capturesEndThere() async throws {
    final class Probe {
      let ends: Log<UInt>
      init(_ ends: Log<UInt>) { self.ends = ends }
      deinit { ends.add(UInt(pthread_self())) }
    }
    let thread = try ThreadScheduler(), ends = Log<UInt>(), count = Scale.count(100)
    let here = try await thread.perform { UInt(pthread_self()) }
    for _ in 0..<count {
      let value = thread.confine { [probe = Probe(ends)] in withExtendedLifetime(probe) { 1 } }
      let found = try await value.perform { [probe = Probe(ends)] one in
        defer { withExtendedLifetime(probe) {} }
        return one
      }
      #expect(found == 1)
    }
    #expect(ends.entries == Array(repeating: here, count: 2 * count))
    await thread.stopAndJoin()
  }

  @Test(
    "at its thread's end it is released there, last made first, and later uses throw",
    arguments: [Schedulers.StopPolicy.runOutstanding, .dropOutstanding])
  func threadEnds(_ policy: Schedulers.StopPolicy) async throws {
    let thread = try ThreadScheduler(), ends = Log<String>()
    let handles = ["a", "b", "c"].map { name in thread.confine { Handle(name, ends: ends) } }
    for handle in handles { _ = try await handle.perform { $0.use() } }
    await thread.stopAndJoin(policy)
    #expect(ends.entries == ["c", "b", "a"])
    for handle in handles { await #expect(throws: SchedulerError.stopped) { try await handle.perform { $0.use() } } }
    let late = thread.confine { Handle("late", ends: ends) }
    await #expect(throws: SchedulerError.stopped) { try await late.perform { $0.use() } }
  }

  @Test("a value's handle may be released after its thread's end: that drops nothing")
  func goesLate() async throws {
    let thread = try ThreadScheduler(), begun = Gate(), hold = Gate(), ends = Log<String>(), drops = Counter()
    let token = Schedulers.onDrop { scheduler, _ in if scheduler === thread { drops.increment() } }
    var handles = ["a", "b"].map { name in thread.confine { Handle(name, ends: ends) } }
    for handle in handles { _ = try await handle.perform { $0.use() } }
    thread.schedule {
      begun.open()
      hold.wait()
    }
    synchronously { _ = begun.wait() }
    handles.removeLast()  // it waits, and is dropped
    thread.stop(.dropOutstanding)
    hold.open()
    await thread.stopAndJoin()
    #expect(ends.entries == ["b", "a"])
    handles = []
    #expect(drops.value == 0)
    token.dispose()
  }

  @Test("a task's late jobs on the thread still find the value")
  func lateJobs() async throws {
    let thread = try ThreadScheduler(), hold = Gate(), ends = Log<String>(),
      handle = thread.confine { Handle("a", ends: ends) }
    thread.schedule { hold.wait() }
    thread.stop(.runOutstanding)
    let task = Task(executorPreference: thread) { synchronously { try? handle.withValue { $0.use() } } }
    hold.open()
    #expect(await task.value == 1)
    await thread.stopAndJoin()
    #expect(ends.entries == ["a"])
  }

  @Test("an actor of the thread uses the value without waiting, and gets an error when the thread has ended")
  func pinnedActor() async throws {
    let thread = try ThreadScheduler(), pinned = Pinned(thread), ends = Log<String>()
    let handle = thread.confine { Handle("a", ends: ends) }
    let uses: @Sendable () throws -> Int = { try handle.withValue { $0.use() } }
    #expect(try await pinned.result(of: uses).get() == 1)
    for policy in [Schedulers.StopPolicy.dropOutstanding, .runOutstanding] {
      await thread.stopAndJoin(policy)
      #expect(ends.entries == ["a"])
      let late = await pinned.result(of: uses)
      #expect(throws: SchedulerError.stopped) { try late.get() }
      #expect(throws: SchedulerError.stopped) { try uses() }
    }
  }

  @Test("each use throws the error of the value's creation")
  func failedMaking() async throws {
    let thread = try ThreadScheduler()
    let handle = thread.confine { () throws -> Handle in throw NoSuchFile() }
    for _ in 0..<2 { await #expect(throws: NoSuchFile.self) { try await handle.perform { $0.use() } } }
    await thread.stopAndJoin()
  }

  @Test("a use that throws, or is cancelled, leaves the value as it is; a value of a struct can be changed")
  func uses() async throws {
    let thread = try ThreadScheduler(), words = thread.confine { [String]() }, hold = Gate()
    await #expect(throws: NoSuchFile.self) {
      try await words.perform { words in
        words.append("a")
        throw NoSuchFile()
      }
    }
    thread.schedule { hold.wait() }
    let task = Task { try await words.perform { $0.append("b") } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    hold.open()
    #expect(try await words.perform { $0 } == ["a"])
    await thread.stopAndJoin()
  }

  @Test("a use on the wrong thread, and one inside of another, stop the process with a message")
  func misuse() async {
    let elsewhere = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let thread = try ThreadScheduler(name: "database")
      try thread.confine { 7 }.withValue { $0 += 1 }
    }
    expectMessage(
      elsewhere, "Scheduler: Confined.withValue: \"database\": called on another thread", "Use await perform")
    let inside = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let thread = try ThreadScheduler(name: "database"), value = thread.confine { 7 }
      try await value.perform { _ in try value.withValue { $0 += 1 } }
    }
    expectMessage(inside, "Confined.withValue", "inside of a use of the same value")
  }

  @Test("thousands of values, released on many threads, beside a stop")
  func storm() async throws {
    let ends = Log<String>(), made = Counter()
    for _ in 0..<10 {
      let thread = try ThreadScheduler()
      onThreads(4) { n in
        for i in 0..<100 {
          let handle = thread.confine { () -> Handle in
            made.increment()
            return Handle("a", ends: ends)
          }
          if n == 0, i == 50 { thread.stop(.dropOutstanding) }
          _ = handle
        }
      }
      await thread.stopAndJoin()
    }
    #expect(ends.entries.count == made.value)
  }
}

extension Pinned {
  func result<Value: Sendable>(of body: @Sendable () throws -> Value) -> Result<Value, any Error> {
    Result(catching: body)
  }
}
