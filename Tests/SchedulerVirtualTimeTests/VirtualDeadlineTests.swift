import Foundation
import Scheduler
import SchedulerVirtualTime
import TestSupport
import Testing

/// Waits until `deadline` for what never happens.
private typealias Wait = @Sendable (_ deadline: Deadline) async throws -> Void

/// Each function with a `deadline:`, without a clock.
private let waits: [(name: String, wait: Wait)] = [
  ("withDeadline", { deadline in try await withDeadline(deadline) { try await SerialScheduler().sleep(for: far) } }),
  (
    "perform",
    { deadline in
      let queue = SerialScheduler()
      queue.suspend()
      defer { queue.resume() }
      try await queue.perform(deadline: deadline) {}
    }
  ),
  (
    "ActionGroup.waitForAll",
    { deadline in
      let group = ActionGroup(entered: 1)
      defer { group.leave() }
      try await group.waitForAll(deadline: deadline)
    }
  ),
  (
    "ResultGroup.next",
    { deadline in
      let results = ResultGroup<Int>(), queue = SerialScheduler()
      queue.suspend()
      defer { queue.resume() }
      results.schedule(on: queue) { 1 }
      _ = try await results.next(deadline: deadline)
    }
  ),
  (
    "AsyncLock.withLock",
    { deadline in
      let lock = AsyncLock(0)
      try await lock.withLock { _ in
        try await Task { try await lock.withLock(deadline: deadline) { _ in } }.value
      }
    }
  ),
  (
    "AsyncLimit.run",
    { deadline in
      let limit = AsyncLimit(1)
      try await limit.run { try await Task { try await limit.run(deadline: deadline) {} }.value }
    }
  ),
  (
    "AsyncLimit.drained",
    { deadline in
      let limit = AsyncLimit(1, waiting: 1)
      try await limit.run {
        if await limit.drained(deadline: deadline).remaining == 1 { throw SchedulerError.timeout }
      }
    }
  ),
  (
    "AsyncOnce.value, inside withDeadline",
    { deadline in
      let once = AsyncOnce<Int, Void>()
      try await withDeadline(deadline) { try await once.value(for: 1) { try await SerialScheduler().sleep(for: far) } }
    }
  ),
  ("AsyncSemaphore.wait", { deadline in try await AsyncSemaphore().wait(deadline: deadline) }),
]
private let far = Duration.seconds(1_000_000)

@Suite(.nothingIsLeft, .enabled(if: VirtualTime.isAvailable)) struct VirtualDeadlineTests {
  @Test("a deadline without a clock is one of the virtual time, to the nanosecond", arguments: waits.map(\.name))
  func deadlines(name: String) async {
    let wait = waits.first { $0.name == name }!.wait
    func ends(seed: UInt64) async -> [UInt64] {
      await withVirtualTime(seed: seed) { time in
        await withTaskGroup(of: UInt64.self) { group in
          for odd in 1...3 {
            group.addTask {
              try? await time.sleep(for: .nanoseconds(17 * odd))
              usleep(1_000)  // real time, which must not matter
              let start = time.now, span = Duration.nanoseconds(123_456_789 * odd)
              await #expect(throws: SchedulerError.timeout) { try await wait(.now + span) }
              #expect(time.now == start + span, "\(name) with seed \(seed)")
              return time.now.nanoseconds
            }
          }
          return await group.reduce(into: []) { $0.append($1) }
        }
      }
    }
    for seed: UInt64 in 0..<20 {
      let first = await ends(seed: seed), second = await ends(seed: seed)
      #expect(first == second)
    }
  }

  @Test("a value is kept for its time of the virtual time, to the nanosecond", arguments: 0..<20 as Range<UInt64>)
  func timeToLive(seed: UInt64) async throws {
    let runs = try await withVirtualTime(seed: seed) { time in
      let once = AsyncOnce<Int, MonotonicTime>(timeToLive: .seconds(60)), span = Duration.seconds(3), start = time.now
      @Sendable func ask() async throws -> Duration {
        start.duration(
          to: try await once.value(for: 1) {
            try await time.sleep(for: span)
            return time.now
          })
      }
      var seen = [try await ask()]
      try await time.sleep(for: .seconds(60) - .nanoseconds(1))
      seen.append(try await ask())
      usleep(1_000)  // real time, which must not matter
      try await time.sleep(for: .nanoseconds(1))
      seen.append(try await ask())
      return seen
    }
    #expect(runs == [.seconds(3), .seconds(3), .seconds(66)])
  }

  @Test("a deadline of real time is estimated in virtual time, and one of virtual time has a real instant") func both()
    async throws
  {
    let real = Deadline.now + .seconds(100)
    let virtual = await withVirtualTime { time in
      try? await withDeadline(real) { try await time.sleep(for: far) }
      #expect(time.now.nanoseconds > 0 && time.now.nanoseconds <= 100_000_000_000)
      return Deadline.now + .seconds(1)
    }
    #expect(virtual > .now)  // as an instant of real time
    #expect(try await withDeadline(virtual) { 7 } == 7)
  }

  @Test("instants of virtual time compare by that time") func order() async {
    await withVirtualTime { time in
      let first = Deadline.now
      usleep(1_000)
      let same = Deadline.now
      #expect(first == same && first.hashValue == same.hashValue && !(first < same))
      try? await time.sleep(for: .seconds(3))
      #expect(first.duration(to: .now) == .seconds(3) && first + .seconds(3) == .now && first < .now)
      #expect(Deadline.now - .seconds(3) == first)
    }
    let first = Deadline.now, second = first + .seconds(1)
    #expect(first < second && first != second && first.duration(to: second) == .seconds(1))
    let end = first + .seconds(Int64.max) + .seconds(Int64.max)  // does not overflow
    #expect(end > second && first - .seconds(Int64.max) < first)
  }
}
