import Foundation
import Scheduler
import TestSupport
import Testing

/// A queue of low priority behind a flood of middle work does not hold up a waiter of a high one.
@Suite(.serialized, .nothingIsLeft) struct DonationContractTests {
  /// Actions of middle priority, each 3 ms of work, that come again until it is over; more than there are workers.
  private final class Flood: Sendable {
    private let pool = ConcurrentScheduler(priority: .default), isOver = Protected(false), running = Protected(0)
    let begun = Counter()

    init() { for _ in 0..<ProcessInfo.processInfo.activeProcessorCount + 4 { submit() } }

    private func submit() {
      running.withLock { $0 += 1 }
      pool.schedule { [self] in
        begun.increment()
        let end = MonotonicTime.now.advanced(by: .milliseconds(3))
        while MonotonicTime.now < end {}
        if !isOver.read() { submit() }
        running.withLock { $0 -= 1 }
      }
    }

    func end() {
      isOver.write(true)
      #expect(eventually { running.read() == 0 })
    }
  }

  /// Waits, until a wait was short, a hundred times at the most: other tests have the processors, too. Returns: whether
  /// one was: without donation 16 actions of the flood begin during each.
  private func isShort(_ wait: (SerialScheduler, @escaping @Sendable () -> Void) async throws -> Void) async rethrows
    -> Bool
  {
    let flood = Flood(), queue = SerialScheduler(target: ConcurrentScheduler(priority: .low))
    defer { flood.end() }
    for _ in 0..<100 {
      queue.schedule {}  // so that it is not idle
      let begun = flood.begun.value, start = MonotonicTime.now, isShort = Protected(false)
      try await wait(queue) {
        isShort.write(flood.begun.value - begun <= 8 && start.duration(to: .now) <= .milliseconds(10))
      }
      if isShort.read() { return true }
    }
    return false
  }

  @Test("a thread that waits by sync is not held up by a flood of middle work") func sync() async throws {
    let thread = try ThreadScheduler(name: "waiter")
    #expect(try await isShort { queue, note in try await thread.perform { synchronously { queue.sync(note) } } })
  }

  @Test(
    "a task of high priority that waits by perform is not held up by a flood of middle work", arguments: [false, true])
  func perform(_ isHidden: Bool) async throws {
    let isOneShort = try await isShort { queue, note in
      let scheduler: any SchedulerType = isHidden ? queue.wrapping { $0() } : queue
      try await Task(priority: .high) { try await scheduler.perform(note) }.value
    }
    #expect(isOneShort)
  }
}
