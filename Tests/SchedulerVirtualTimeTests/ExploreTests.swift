import Scheduler
import SchedulerVirtualTime
import TestSupport
import Testing

private enum Locals {
  @TaskLocal static var name = "none"
}

private struct Overdrawn: Error {}

/// Pays out twice: between the look and the payment others may come. What it awaits in between never waits.
private actor Account {
  private(set) var balance = 100
  private let audit = Audit()

  func withdraw(_ amount: Int) async {
    guard balance >= amount else { return }
    await audit.note(amount)
    balance -= amount
  }
}

private actor Audit {
  private var total = 0
  func note(_ amount: Int) { total += amount }
}

@Sendable private func overdraw(_ time: VirtualTime) async throws {
  let account = Account()
  async let one: Void = account.withdraw(80)
  async let other: Void = account.withdraw(80)
  _ = await (one, other)
  if await account.balance < 0 { throw Overdrawn() }
}

/// The order in which tasks come to their lines.
@Sendable private func order(_ time: VirtualTime) async -> [Int] {
  let lines = Protected<[Int]>([])
  await withTaskGroup { group in
    for number in 0..<8 {
      group.addTask {
        lines.withLock { $0.append(number) }
        await Task.yield()
        lines.withLock { $0.append(number) }
        try? await time.sleep(for: .seconds(1))
        lines.withLock { $0.append(number) }
      }
    }
  }
  return lines.read()
}

@Suite(.nothingIsLeft, .enabled(if: VirtualTime.isAvailable)) struct ExploreTests {
  @Test("the order is drawn from the seed: the same for the same, others for others; without one it is that of coming")
  func seeds() async throws {
    var orders: Set<[Int]> = []
    for seed in 0..<10 as Range<UInt64> {
      let first = await withVirtualTime(seed: seed, order)
      for _ in 0..<10 { #expect(await withVirtualTime(seed: seed, order) == first) }
      orders.insert(first)
    }
    #expect(orders.count == 10)
    #expect(await withVirtualTime(order) == Array(0..<8) + Array(0..<8) + Array(0..<8))
  }

  @Test("a task local, and the priority, are the caller's")
  func inherits() async throws {
    await Locals.$name.withValue("caller") {
      await withVirtualTime(seed: 1) { _ in
        #expect(Locals.name == "caller")
        await Task { #expect(Locals.name == "caller") }.value
        await Task.detached { #expect(Locals.name == "none") }.value
      }
    }
  }

  @Test("a task that gives up no thread keeps a lock over an await, whatever the seed") func lockOverAwait()
    async throws
  {
    for seed in 0..<20 as Range<UInt64> {
      let isLocked = Protected(false), collisions = Protected(0)
      await withVirtualTime(seed: seed) { _ in
        await withTaskGroup(of: Void.self) { group in
          for _ in 0..<4 {
            group.addTask {
              for _ in 0..<5 {
                if isLocked.exchange(true) { collisions.withLock { $0 += 1 } }
                await withUnsafeContinuation { $0.resume() }  // as operators of AsyncAlgorithms do under their locks
                isLocked.write(false)
                await Task.yield()
              }
            }
          }
        }
      }
      #expect(collisions.read() == 0)
    }
  }

  @Test("Swift's own clocks sleep for the given time, with any seed")
  func sleeps() async throws {
    for seed in 0..<20 as Range<UInt64> {
      try await withVirtualTime(seed: seed) { time in
        try await withThrowingTaskGroup(of: UInt64.self) { group in
          for _ in 0..<5 {
            group.addTask {
              try await Task.sleep(for: .seconds(60))
              return time.now.nanoseconds
            }
          }
          for try await woken in group { #expect(woken == 60_000_000_000) }
        }
      }
    }
  }

  @Test("a planted re-entrancy of an actor is found, and its seed finds it again each time")
  func planted() async throws {
    let failure = await #expect(throws: ExplorationFailure.self) { try await explore(seeds: 1_000, overdraw) }
    let seed = try #require(failure?.seed)
    #expect(failure?.error is Overdrawn)
    for _ in 0..<20 {
      await #expect(throws: Overdrawn.self) { try await withVirtualTime(seed: seed, overdraw) }
    }
  }

  @Test("a body that stands every order passes, and each seed is run once")
  func passes() async throws {
    let runs = Protected(0)
    try await explore(seeds: 100) { time in
      runs.withLock { $0 += 1 }
      _ = await order(time)
    }
    #expect(runs.read() == 100)
    try await explore(seeds: 0) { _ in runs.withLock { $0 += 1 } }
    try await explore(seeds: -1) { _ in runs.withLock { $0 += 1 } }
    #expect(runs.read() == 100)
  }

  @Test("an order in which the body has no end is found")
  func stalls() async throws {
    let failure = await #expect(throws: ExplorationFailure.self) {
      try await explore(seeds: 1_000, from: 5, limits: .init(patience: .milliseconds(50))) { time in
        let (stream, source) = AsyncStream<Int>.makeStream()
        let isOpen = Protected(false)
        async let reader: Void = {
          isOpen.write(true)
          for await _ in stream {}
        }()
        async let writer: Void = { if isOpen.read() { source.finish() } }()  // too early: the stream does not end
        _ = await (reader, writer)
      }
    }
    #expect(failure?.error as? VirtualTimeError == .stalled(at: MonotonicTime(nanoseconds: 0)))
  }
}
