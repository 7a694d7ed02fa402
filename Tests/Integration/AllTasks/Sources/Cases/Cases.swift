import Dispatch
import Foundation
import Scheduler

/// Behaviour of tasks, case by case. Each returns what the program on Swift's own executors must return, too.
public let cases: [String: @Sendable () async throws -> String] = [
  "structured": structured, "yields": yields, "actors": actors, "main actor": mainActor, "sleeps": sleeps,
  "cancelled sleeps": cancelledSleeps,
  "other clocks": otherClocks, "task locals": taskLocals, "isolated ends": isolatedEnds,
  "Dispatch's main queue": mainQueue,
]

@TaskLocal private var number = -1

private func fib(_ n: Int) async -> Int {
  if n < 2 { return n }
  async let first = fib(n - 1), second = fib(n - 2)
  return await first + second
}

private func structured() async -> String {
  let sum = await withTaskGroup(of: Int.self) { group in
    for n in 0..<10_000 { group.addTask(priority: [.high, .medium, .low, .background][n % 4]) { n } }
    return await group.reduce(0, +)
  }
  var spawned = 0
  for n in 0..<1_000 { spawned += await Task { n }.value + Task.detached { n }.value }
  return await "\(sum) \(spawned) \(fib(15))"
}

private func yields() async -> String {
  await withTaskGroup(of: Int.self) { group in
    for _ in 0..<8 {
      group.addTask {
        for _ in 0..<1_000 { await Task.yield() }
        return 1_000
      }
    }
    return await "\(group.reduce(0, +))"
  }
}

private actor Counting {
  private(set) var count = 0
  private let other: Counting?
  init(_ other: Counting? = nil) { self.other = other }

  func add() { count += 1 }
  func addThere() async {
    count += 1
    await other?.add()
  }
}

private func actors() async -> String {
  let there = Counting(), here = Counting(there)
  await withTaskGroup(of: Void.self) { group in
    for _ in 0..<8 { group.addTask { for _ in 0..<1_000 { await here.addThere() } } }
  }
  return await "\(here.count) \(there.count)"
}

@MainActor private var onMain = 0

@MainActor private func mainActor() async -> String {
  await withTaskGroup(of: Void.self) { group in
    for _ in 0..<4 {
      group.addTask {
        for _ in 0..<500 {
          await MainActor.run {
            MainActor.preconditionIsolated()
            onMain += 1
          }
        }
      }
    }
  }
  return "\(onMain)"
}

private func sleeps() async throws -> String {
  for clock in [ContinuousClock(), SuspendingClock()] as [any Clock<Duration>] { try await isNotEarly(clock) }
  try await Task { @MainActor in
    try await isNotEarly(ContinuousClock())
    MainActor.preconditionIsolated()
  }.value
  try await Task.sleep(nanoseconds: 1_000_000)
  try await Task.sleep(for: .milliseconds(-1))
  let forever = Task { try await Task.sleep(for: .seconds(Int64.max)) }
  forever.cancel()
  return await "\(forever.result.map { "slept" })"
}

private func isNotEarly<C: Clock>(_ clock: C) async throws where C.Duration == Duration {
  for milliseconds in [0, 1, 3] {
    let start = clock.now
    try await clock.sleep(until: start.advanced(by: .milliseconds(milliseconds)), tolerance: .milliseconds(1))
    precondition(start.duration(to: clock.now) >= .milliseconds(milliseconds), "early")
  }
}

private func cancelledSleeps() async -> String {
  let sleepers = (0..<20_000).map { _ in Task { try await Task.sleep(for: .seconds(3600)) } }
  for sleeper in sleepers { sleeper.cancel() }
  var cancelled = 0
  for sleeper in sleepers { if case .failure(is CancellationError) = await sleeper.result { cancelled += 1 } }
  return "\(cancelled)"
}

/// A clock of no type that Swift handles.
private struct OtherClock: Clock {
  var now: ContinuousClock.Instant.Shifted { .init(instant: .now) }
  let minimumResolution = Duration.nanoseconds(1)
  func sleep(until deadline: ContinuousClock.Instant.Shifted, tolerance: Duration?) async throws {
    try await Task.sleep(until: deadline.instant, tolerance: tolerance, clock: .continuous)
  }
}

extension ContinuousClock.Instant {
  struct Shifted: InstantProtocol {
    let instant: ContinuousClock.Instant
    func advanced(by duration: Duration) -> Self { Self(instant: instant.advanced(by: duration)) }
    func duration(to other: Self) -> Duration { instant.duration(to: other.instant) }
    static func < (left: Self, right: Self) -> Bool { left.instant < right.instant }
  }
}

private func otherClocks() async throws -> String {
  let clock = OtherClock(), start = clock.now
  try await Task.sleep(for: .milliseconds(2), clock: clock)
  return "\(start.duration(to: clock.now) >= .milliseconds(2))"
}

private func taskLocals() async throws -> String {
  try await withThrowingTaskGroup(of: Bool.self) { group in
    for n in 0..<100 {
      group.addTask {
        try await $number.withValue(n) {
          await Task.yield()
          try await Task.sleep(for: .milliseconds(1))
          let there = await MainActor.run { number }
          return await Task { number }.value == n && there == n
        }
      }
    }
    return try await "\(group.reduce(true) { $0 && $1 }) \(number)"
  }
}

@MainActor private final class OfMain {
  nonisolated let ended: CheckedContinuation<Void, Never>
  private var text = "ended"
  init(_ ended: CheckedContinuation<Void, Never>) { self.ended = ended }
  isolated deinit {
    MainActor.preconditionIsolated(text)
    ended.resume()
  }
}

private func isolatedEnds() async -> String {
  await withCheckedContinuation { continuation in
    Task.detached {
      let object = await OfMain(continuation)
      _ = object
    }
  }
  return "ended"
}

/// What works: a task waits for Dispatch's main queue, also for a delayed block and a timer; blocks are isolated to the
/// main actor.
private func mainQueue() async -> String {
  let blocks = Protected(0)
  for _ in 0..<1_000 { DispatchQueue.main.async { blocks.withLock { $0 += 1 } } }
  await withCheckedContinuation { continuation in
    DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(2)) {
      MainActor.assumeIsolated { onMain = 0 }
      continuation.resume()
    }
  }
  await withCheckedContinuation { continuation in
    DispatchQueue.global().async { DispatchQueue.main.async { continuation.resume() } }
  }
  return "\(blocks.read())"
}

/// As many blocked sections as there are processors, and one task that ends them. On Swift's own executors that never
/// gets a thread.
public func blocked() async -> String {
  let processors = ProcessInfo.processInfo.activeProcessorCount, inside = Protected(0),
    end = DispatchSemaphore(value: 0)
  return await withTaskGroup(of: Void.self) { group in
    for _ in 0..<processors {
      group.addTask {
        ConcurrentScheduler.withReplacementThread {
          inside.withLock { $0 += 1 }
          wait(for: end)
        }
      }
    }
    while inside.read() < processors { await MainActor.run {} }
    group.addTask { for _ in 0..<processors { end.signal() } }
    await group.waitForAll()
    return "\(processors) blocked tasks"
  }
}

private func wait(for end: DispatchSemaphore) { end.wait() }
