import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct BlockingTaskTests {
  @Test("an async sequence is waited for, its error thrown, and its task cancelled") func sequences() throws {
    let numbers = AsyncStream { continuation in
      for n in 1...3 { continuation.yield(n) }
      continuation.finish()
    }
    #expect(try numbers.toBlocking(timeout: .seconds(200)).toArray() == [1, 2, 3])
    let failing = AsyncThrowingStream<Int, any Error> { continuation in
      continuation.yield(1)
      continuation.finish(throwing: Failure(code: 3))
    }
    guard case .failed([1], let error) = failing.toBlocking(timeout: .seconds(200)).materialize() else {
      Issue.record("not failed after 1")
      return
    }
    #expect(error as? Failure == Failure(code: 3))
    let cancelled = Gate()
    let endless = AsyncStream<Int> { continuation in
      continuation.onTermination = { if case .cancelled = $0 { cancelled.open() } }
      continuation.yield(5)
    }
    #expect(try endless.toBlocking(timeout: .seconds(200)).first() == 5)
    let silent = AsyncStream<Int> { continuation in
      continuation.onTermination = { if case .cancelled = $0 { cancelled.open() } }
    }
    #expect(thrown { try silent.toBlocking(timeout: .zero).first() } as? SchedulerError == .timeout)
    #expect(cancelled.wait())
  }

  @Test("a wait leaves a sequence that never suspends after the first element") func eager() throws {
    struct Eager: AsyncSequence, AsyncIteratorProtocol, Sendable {
      let calls: Counter
      func makeAsyncIterator() -> Eager { self }
      mutating func next() async -> Int? { calls.increment() }
    }
    let calls = Counter()
    #expect(try Eager(calls: calls).toBlocking(timeout: .seconds(200)).first() == 1)
    usleep(2_000)
    #expect(calls.value == 1)
  }

  @Test("an async function's value is returned and its error thrown") func values() throws {
    #expect(try runAndWait { 42 } == 42)
    #expect(
      try runAndWait {
        try await Task.sleep(for: .milliseconds(2))
        return "slept"
      } == "slept")
    try runAndWait { await Task.yield() }
    #expect(try runAndWait { nil as Int? } == nil)
    #expect(thrown { try runAndWait { throw Failure(code: 4) } } as? Failure == Failure(code: 4))
  }

  @Test("when the time is over the task is cancelled") func timeout() {
    let cancelled = Gate()
    let error = thrown {
      try runAndWait(timeout: .milliseconds(5)) {
        do { try await Task.sleep(for: .seconds(60)) } catch {
          cancelled.open()
          throw error
        }
      }
    }
    #expect(error as? SchedulerError == .timeout)
    #expect(cancelled.wait())
  }

  @Test("as many waits at a time as Swift's own executor has threads, and more, end") func manyOnCooperativeThreads()
    async
  {
    actor Hits {
      var count = 0
      func add() { count += 1 }
    }
    let hits = Hits()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<16 {
        group.addTask {
          try? synchronously {
            try runAndWait(timeout: .seconds(200)) {
              async let half: Void = Task.sleep(for: .milliseconds(20))
              try await half
              await hits.add()
            }
          }
        }
      }
    }
    #expect(await hits.count == 16)
  }

  @Test("on a thread that serves others, and on workers that all wait") func onBusyThreads() throws {
    let thread = try ThreadScheduler(), pool = ConcurrentScheduler(), log = Log<String>(), ended = Counter()
    thread.schedule {
      thread.schedule { log.add("served") }
      log.add(
        (try? runAndWait(timeout: .seconds(200)) { try await Task.sleep(for: .milliseconds(20)) }) != nil
          ? "ended" : "?"
      )
    }
    for _ in 0..<12 {
      pool.schedule {
        let value = try? runAndWait(timeout: .seconds(200)) {
          try await Task.sleep(for: .milliseconds(5))
          return 1
        }
        if value == 1 { ended.increment() }
      }
    }
    #expect(eventually { ended.value == 12 })
    #expect(eventually { log.entries == ["served", "ended"] })
  }

  @Test("inside of the queue that it needs it is refused") func needing() {
    let queue = SerialScheduler()
    _ = queue.sync { #expect(throws: SchedulerError.deadlock) { try runAndWait(needing: queue) { 1 } } }
  }
}
