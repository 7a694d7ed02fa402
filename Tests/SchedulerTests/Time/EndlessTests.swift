import Foundation
import Scheduler
import SchedulerTesting
import TestSupport
import Testing

/// Durations that no clock holds: they mean "never", and do not stop the process.
@Suite(.nothingIsLeft) struct EndlessTests {
  private static let endless: [Duration] = [
    .seconds(Int64.max), .seconds(Int64.max / 2), .seconds(10_000_000_000), .nanoseconds(Int64.max),
    Duration(secondsComponent: .max, attosecondsComponent: 999_999_999_999_999_999), Duration.seconds(Int64.max) * 18,
    Duration(attoseconds: .max),
  ]
  private static let past: [Duration] = [
    .zero, .seconds(-1), .seconds(Int64.min), Duration.seconds(Int64.min) * 18, Duration(attoseconds: .min),
  ]

  /// Checks that `wait` does not end by itself, and ends with a `CancellationError` when it is cancelled.
  private func expectWaits(_ wait: @escaping @Sendable () async throws -> Void) async {
    let ended = Counter()
    let task = Task {
      defer { ended.increment() }
      try await wait()
    }
    try? await Task.sleep(for: .milliseconds(5))  // lets a wait that is too short end
    #expect(ended.value == 0)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  private func forever() async throws { try await AsyncSemaphore().wait() }

  @Test("an endless timeout does not end, on any clock", arguments: endless)
  func timeouts(_ duration: Duration) async throws {
    let thread = try ThreadScheduler()
    await expectWaits { try await withTimeout(duration) { try await forever() } }
    await expectWaits { try await withTimeout(duration, tolerance: duration) { try await forever() } }
    await expectWaits { try await withTimeout(duration, clock: SuspendingClock()) { try await forever() } }
    await expectWaits { try await withTimeout(duration, clock: thread.clock) { try await forever() } }
    await expectWaits {
      try await withTimeout(duration, clock: TestClock(now: .init(offset: .seconds(1)))) { try await forever() }
    }
    await expectWaits { try await thread.sleep(for: duration) }
    await expectWaits {
      for try await _ in thread.ticks(every: duration) {}
      try Task.checkCancellation()  // a cancellation ends the sequence
    }
    await thread.stopAndJoin()
  }

  @Test("a timeout that has passed ends at once, on any clock", arguments: past)
  func passed(_ duration: Duration) async throws {
    let thread = try ThreadScheduler()
    await #expect(throws: SchedulerError.timeout) { try await withTimeout(duration) { try await forever() } }
    await #expect(throws: SchedulerError.timeout) {
      try await withTimeout(duration, clock: SuspendingClock()) { try await forever() }
    }
    await #expect(throws: SchedulerError.timeout) {
      try await withTimeout(duration, clock: thread.clock) { try await forever() }
    }
    try await thread.sleep(for: duration)
    await thread.stopAndJoin()
  }

  @Test(
    "an endless deadline does not pass, for each wait that has one",
    arguments: [Duration.seconds(Int64.max), .seconds(Int64.max / 2)])
  func deadlines(_ duration: Duration) async throws {
    let queue = SerialScheduler(), group = ActionGroup(entered: 1), semaphore = AsyncSemaphore(), lock = AsyncLock(0),
      limit = AsyncLimit(1)
    let isHeld = AsyncSemaphore(), release = AsyncSemaphore()
    let holders = [
      Task {
        try await lock.withLock { _ in
          isHeld.signal()
          try await release.wait()
        }
      },
      Task {
        try await limit.run {
          isHeld.signal()
          try await release.wait()
        }
      },
    ]
    try await isHeld.wait(2)
    queue.suspend()
    @Sendable func end() -> ContinuousClock.Instant { .now + duration }
    await expectWaits { try await queue.perform(deadline: end()) {} }
    await expectWaits { try await group.waitForAll(deadline: end()) }
    await expectWaits { try await semaphore.wait(deadline: end()) }
    await expectWaits { try await lock.withLock(deadline: end()) { _ in } }
    await expectWaits { try await limit.run(deadline: end()) {} }
    queue.resume()
    group.leave()
    release.signal(2)
    for holder in holders { try await holder.value }
  }

  /// A wait that blocks a thread. `hold` and `release` are called on one other thread. `wait` returns whether it ended
  /// before its timeout.
  private struct BlockingWait {
    var hold: () -> Void = {}
    let release: () -> Void
    let wait: (Duration) -> Bool
  }

  private static func blockingWaits() -> [String: BlockingWait] {
    let lock = UnfairLock(), recursive = RecursiveLock(), readWrite = ReadWriteLock()
    let outer = UnfairLock(), condition = UnfairLock.Condition(), isSet = Protected(false)
    let semaphore = CountingSemaphore(), group = ActionGroup(entered: 1), results = ResultGroup<Int>(),
      queue = SerialScheduler()
    queue.suspend()
    results.schedule(on: queue) { 1 }
    func ended(_ isInTime: Bool, _ then: () -> Void) -> Bool {
      if isInTime { then() }
      return isInTime
    }
    return [
      "UnfairLock": BlockingWait(hold: lock.lock, release: lock.unlock) { ended(lock.tryLock(for: $0), lock.unlock) },
      "RecursiveLock": BlockingWait(hold: recursive.lock, release: recursive.unlock) {
        ended(recursive.tryLock(for: $0), recursive.unlock)
      },
      "ReadWriteLock": BlockingWait(hold: readWrite.lockForWriting, release: readWrite.unlockForWriting) {
        ended(readWrite.tryLockForReading(for: $0), readWrite.unlockForReading)
          && ended(readWrite.tryLockForWriting(for: $0), readWrite.unlockForWriting)
      },
      "Condition": BlockingWait {
        isSet.write(true)
        outer.withLock { condition.broadcast() }
      } wait: { duration in
        outer.withLock {
          while !isSet.read() { if !condition.wait(with: outer, for: duration) { return false } }
          return true
        }
      },
      "CountingSemaphore": BlockingWait(release: { semaphore.signal() }, wait: semaphore.wait(for:)),
      "ActionGroup": BlockingWait(release: group.leave, wait: group.wait(for:)),
      "ResultGroup": BlockingWait(release: queue.resume) { (try? results.next(for: $0)) != nil },
    ]
  }

  @Test("a wait of a thread ends at its signal if its timeout has no end, and at once if that has passed")
  func blocking() {
    for duration in Self.endless {
      for (name, each) in Self.blockingWaits() {
        nonisolated(unsafe) let each = each
        let isHeld = Gate(), isTried = Gate()
        let thread = Thread {
          each.hold()
          isHeld.open()
          isTried.wait()
          usleep(2_000)  // lets a wait that is too short end
          each.release()
        }
        thread.start()
        isHeld.wait()
        for past in Self.past { #expect(!each.wait(past), "\(name), \(past)") }
        isTried.open()
        #expect(each.wait(duration), "\(name), \(duration)")
      }
    }
  }

  @Test("instants of all clocks are clamped, and do not overflow", arguments: endless + past)
  func instants(_ duration: Duration) {
    let monotonic = MonotonicTime.now, wall = WallTime.now, test = TestClock.Instant(offset: .seconds(1))
    #expect(duration > .zero ? monotonic + duration > monotonic : monotonic + duration <= monotonic)
    #expect(duration > .zero ? monotonic - duration < monotonic : monotonic - duration >= monotonic)
    #expect(duration > .zero ? wall + duration > wall : wall + duration <= wall)
    #expect(duration > .zero ? wall - duration < wall : wall - duration >= wall)
    #expect(duration > .zero ? test.advanced(by: duration) > test : test.advanced(by: duration) <= test)
  }

  @Test("an action after a duration without an end waits, and one after a past one runs", arguments: endless)
  func actions(_ duration: Duration) {
    let time = TestScheduler(), queue = SerialScheduler(), ran = Counter(), done = Gate()
    for scheduler in [time, queue] as [any SchedulerType] {
      let tokens = [
        scheduler.schedule(.after(duration, tolerance: duration)) { ran.increment() },
        scheduler.schedule(.every(duration)) { ran.increment() },
        scheduler.schedule(.at(scheduler.now + duration)) { ran.increment() },
        scheduler.schedulePeriodic(duration) { _ in ran.increment() },
      ]
      scheduler.schedule(after: .seconds(Int64.min)) { done.open() }
      time.advance(by: .seconds(1))
      done.wait()
      for token in tokens { token.dispose() }
    }
    #expect(ran.value == 0)
  }
}
