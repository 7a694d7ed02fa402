import Scheduler
import TestSupport
import Testing

private struct Failed: Error, Equatable { let attempt: Int }
private struct Final: Error {}

@Suite(.nothingIsLeft) struct WithRetriesTests {
  private let time = TestScheduler(), calls = Log<Int>()

  /// Runs `body` in a task, and moves the virtual time by a second while the task sleeps, until it has ended.
  private func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let isOver = Protected(false)
    let task = Task {
      defer { isOver.write(true) }
      return try await body()
    }
    while !isOver.read() {
      if time.sleeperCount > 0 { time.advance(by: .seconds(1)) } else { await Task.yield() }
    }
    return try await task.value
  }

  @Test("each call begins after its pause, and the first result is that of all") func pauses() async throws {
    let backoff = Backoff.exponential(first: .seconds(1), limit: .seconds(3))
    let attempt = try await run { [time, calls] in
      try await withRetries(10, backoff: backoff, clock: time.clock) { attempt in
        calls.add(Int(time.now.nanoseconds / 1_000_000_000))
        if attempt < 5 { throw Failed(attempt: attempt) }
        return attempt
      }
    }
    #expect(attempt == 5 && calls.entries == [0, 1, 3, 6, 9])
  }

  @Test("the last error is thrown", arguments: [1, 3, 0, -1, Int.min]) func lastError(attempts: Int) async {
    await #expect(throws: Failed(attempt: max(1, attempts))) {
      try await run { [time, calls] in
        try await withRetries(attempts, backoff: .constant(.seconds(1)), clock: time.clock) { attempt in
          calls.add(attempt)
          throw Failed(attempt: attempt)
        }
      }
    }
    #expect(calls.entries == Array(1...max(1, attempts)))
  }

  @Test("an error that is not worth it, and a cancellation, are not retried") func notRetried() async {
    await #expect(throws: Final.self) {
      try await run { [time, calls] in
        try await withRetries(.max, backoff: .constant(.zero), clock: time.clock, while: { $0 is Failed }) { attempt in
          calls.add(attempt)
          if attempt == 3 { throw Final() }
          throw Failed(attempt: attempt)
        }
      }
    }
    #expect(calls.entries == [1, 2, 3])
    await #expect(throws: CancellationError.self) {
      try await withRetries(.max) { [calls] attempt in
        calls.add(attempt)
        throw CancellationError()
      }
    }
    #expect(calls.entries == [1, 2, 3, 1])
  }

  @Test("a cancellation ends a pause") func cancelled() async {
    let task = Task { [time] in
      try await withRetries(.max, backoff: .constant(.seconds(Int64.max)), clock: time.clock) {
        throw Failed(attempt: $0)
      }
    }
    await time.awaitSleepers()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(time.sleeperCount == 0)
  }

  @Test("without a clock it pauses in real time") func realTime() async throws {
    let start = ContinuousClock.now
    let attempt = try await withRetries(3, backoff: .constant(.milliseconds(5)), deadline: .now + .seconds(600)) {
      attempt in
      if attempt < 3 { throw Failed(attempt: attempt) }
      return attempt
    }
    #expect(attempt == 3 && ContinuousClock.now >= start + .milliseconds(10))
    await #expect(throws: Failed(attempt: 1)) {
      try await withRetries(.max, backoff: .constant(.seconds(Int64.max)), deadline: .now + .seconds(600)) {
        throw Failed(attempt: $0)
      }
    }
  }

  @Test("pauses that are not positive are none, and the caller's isolation is kept") func isolation() async throws {
    let counter = RetryingActor()
    #expect(try await counter.count() == 100)
  }
}

private final class Plain { var number = 0 }  // not Sendable

private actor RetryingActor {
  private let plain = Plain()

  func count() async throws -> Int {
    try await withRetries(.max, backoff: .constant(.seconds(-1))) { attempt in
      plain.number += 1  // the actor's own
      if attempt < 100 { throw Failed(attempt: attempt) }
      return plain.number
    }
  }
}
