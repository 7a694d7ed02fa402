import AsyncAlgorithms
import Glibc
import Scheduler
import SchedulerTesting
import Testing

/// The sequences of the schedulers with operators of swift-async-algorithms.
@Suite(.serialized) struct AsyncAlgorithmsTests {
  private enum Event: Equatable { case tick, signal(Int), value(UInt64) }

  @Test("merge: ticks, signals and values of an event are one stream")
  func merged() async throws {
    let thread = try ThreadScheduler(name: "events"), (event, values) = MergingEvent.sequence(.sum)
    let events = merge(
      thread.ticks(every: .milliseconds(1)).map { _ in Event.tick },
      thread.signals(SIGWINCH).map { Event.signal($0) },
      values.map { Event.value($0) })
    try await thread.perform {}  // the signal has its handler
    event.merge(3)
    event.merge(4)
    kill(getpid(), SIGWINCH)
    var (ticks, signals, sum) = (0, 0, UInt64(0))
    for try await next in events {
      switch next {
      case .tick: ticks += 1
      case .signal(let count): signals += count
      case .value(let value): sum += value
      }
      if ticks >= 3, signals == 1, sum == 7 { break }
    }
    await thread.stopAndJoin()
  }

  @Test("debounce, throttle and timers take a scheduler's clock")
  func clocks() async throws {
    let time = VirtualTimeScheduler(), (event, values) = MergingEvent.sequence(.sum)
    let reading = Task {
      var seen: [UInt64] = []
      for await value in values.debounce(for: .seconds(1), clock: time.clock) { seen.append(value) }
      return seen
    }
    event.merge(5)
    await time.awaitSleepers()
    time.advance(by: .seconds(1))
    event.dispose()
    #expect(await reading.value == [5])

    let timer = Task {
      for await instant in AsyncTimerSequence(interval: .seconds(60), clock: time.clock) { return instant }
      return time.now
    }
    await time.awaitSleepers()
    time.advance(by: .seconds(60))
    #expect(await timer.value == MonotonicTime(nanoseconds: 61_000_000_000))
  }

  @Test("chunked and buffered: readable ends when its task is cancelled")
  func buffered() async throws {
    let thread = try ThreadScheduler(name: "descriptors")
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let reading = Task { [reader = ends[0]] in
      var bytes = 0
      for try await _ in thread.readable(reader).buffer(policy: .bounded(1)) {
        var buffer = [UInt8](repeating: 0, count: 64)
        bytes += max(0, read(reader, &buffer, 64))
        if bytes == 3 { break }
      }
      return bytes
    }
    for byte in UInt8(1)...3 {
      _ = withUnsafeBytes(of: byte) { write(ends[1], $0.baseAddress, 1) }
      try await Task.sleep(for: .milliseconds(2))
    }
    #expect(try await reading.value == 3)
    await thread.stopAndJoin()
    for end in ends { close(end) }
  }
}
