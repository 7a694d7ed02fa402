import AsyncAlgorithms
import Scheduler
import SchedulerVirtualTime
import Suggestions
import Testing

/// What comes out of `sequence`, with the milliseconds at which it comes.
private func timed<Sequence: AsyncSequence>(
  _ sequence: Sequence, _ time: VirtualTime, _ body: (Sequence.Element) -> String = { "\($0)" }
) async throws -> [String] {
  var lines: [String] = []
  for try await element in sequence { lines.append("\(time.now.nanoseconds / 1_000_000): \(body(element))") }
  return lines
}

/// The numbers from 1 on, each after its pause in milliseconds.
private func numbers(_ time: VirtualTime, after pauses: Int...) -> AsyncStream<Int> {
  AsyncStream { stream in
    Task {
      for (index, pause) in pauses.enumerated() {
        try await time.sleep(for: .milliseconds(pause))
        stream.yield(index + 1)
      }
      stream.finish()
    }
  }
}

/// How often each is repeated: the same 1 000 times of 1 000.
private let repetitions = 1_000

@Suite struct VirtualTimeTests {
  @Test func suggestionsAreAskedForOnceAPause() async throws {
    let asked = try await withVirtualTime { time in
      let (keys, keyboard) = AsyncStream<String>.makeStream()
      let suggestions = Suggestions(clock: time.clock) { text in
        try await time.sleep(for: .milliseconds(50))  // the server
        return [text + "!"]
      }
      let answers = Task { try await timed(suggestions.answers(to: keys), time) { $0[0] } }
      for text in ["s", "sw", "swi"] {
        keyboard.yield(text)
        await time.advance(by: .milliseconds(100))
      }
      await time.advance(by: .milliseconds(400))
      keyboard.yield("swift")
      await time.advance(by: .seconds(1))
      keyboard.finish()
      return try await answers.value
    }
    #expect(asked == ["550: swi!", "1050: swift!"])
  }

  @Test func debounce() async throws {
    for _ in 0..<repetitions {
      let lines = try await withVirtualTime { time in
        let numbers = numbers(time, after: 10, 10, 200, 10, 300)
        return try await timed(numbers.debounce(for: .milliseconds(100), clock: time.clock), time)
      }
      #expect(lines == ["120: 2", "330: 4", "530: 5"])
    }
  }

  @Test func throttle() async throws {
    for _ in 0..<repetitions {
      let lines = try await withVirtualTime { time in
        let numbers = numbers(time, after: 10, 10, 10, 200, 10, 95)
        return try await timed(numbers._throttle(for: .milliseconds(100), clock: time.clock), time)
      }
      #expect(lines == ["10: 1", "230: 4", "335: 6"])
    }
  }

  @Test func chunks() async throws {
    for _ in 0..<repetitions {
      let lines = try await withVirtualTime { time in
        let signal = AsyncTimerSequence(interval: .milliseconds(100), clock: time.clock)
        return try await timed(numbers(time, after: 10, 20, 30, 100, 5).chunked(by: signal), time)
      }
      #expect(lines == ["100: [1, 2, 3]", "165: [4, 5]"])
    }
  }

  @Test func timer() async throws {
    for _ in 0..<repetitions {
      let lines = try await withVirtualTime { time in
        try await timed(AsyncTimerSequence(interval: .seconds(60), clock: time.clock).prefix(3), time) { _ in "tick" }
      }
      #expect(lines == ["60000: tick", "120000: tick", "180000: tick"])
    }
  }

  /// With a seed the order is another one, and the same each time.
  @Test func seeds() async throws {
    @Sendable func merged(_ time: VirtualTime) async throws -> [String] {
      let (a, b, c) = (numbers(time, after: 1, 1), numbers(time, after: 1, 1), numbers(time, after: 1, 1))
      return try await timed(merge(a, b, c), time)
    }
    for seed in 0..<20 as Range<UInt64> {
      let first = try await withVirtualTime(seed: seed, merged)
      for _ in 0..<10 { #expect(try await withVirtualTime(seed: seed, merged) == first) }
    }
  }
}
