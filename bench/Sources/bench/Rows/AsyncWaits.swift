import BenchKit
import Dispatch
import Scheduler
import Synchronization

// The peers are what programs make by hand, in the usual forms. Without cancellation: the actor, the chain of tasks,
// the stream.

/// A semaphore as an actor.
private actor ActorSemaphore {
  private var units: Int
  private var waiters: [CheckedContinuation<Void, Never>] = []
  init(_ units: Int) { self.units = units }

  func wait() async {
    if units > 0 { units -= 1 } else { await withCheckedContinuation { waiters.append($0) } }
  }

  func signal() { if waiters.isEmpty { units += 1 } else { waiters.removeFirst().resume() } }
}

/// A semaphore whose waits can be cancelled: a mutex, and a continuation for each waiter.
private final class MutexSemaphore: Sendable {
  private final class Waiter: @unchecked Sendable {
    // Unchecked: the mutex guards it.
    var continuation: UnsafeContinuation<Bool, Never>?
    var isCancelled = false
  }
  private struct State {
    var units: Int
    var waiters: [Waiter] = []
  }
  private let state: Mutex<State>
  init(_ units: Int) { state = Mutex(State(units: units)) }

  func wait() async throws {
    try Task.checkCancellation()
    let waiter: Waiter? = state.withLock {
      if $0.units == 0 { return Waiter() }
      $0.units -= 1
      return nil
    }
    guard let waiter else { return }
    let hasUnit = await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let outcome: Bool? = state.withLock {
          if waiter.isCancelled { return false }
          if $0.units > 0 {
            $0.units -= 1
            return true
          }
          waiter.continuation = continuation
          $0.waiters.append(waiter)
          return nil
        }
        if let outcome { continuation.resume(returning: outcome) }
      }
    } onCancel: {
      let continuation = state.withLock {
        waiter.isCancelled = true
        guard let at = $0.waiters.firstIndex(where: { $0 === waiter }) else { return waiter.continuation.take() }
        return $0.waiters.remove(at: at).continuation
      }
      continuation?.resume(returning: false)
    }
    if !hasUnit { throw CancellationError() }
  }

  func signal() {
    let waiter: Waiter? = state.withLock {
      if !$0.waiters.isEmpty { return $0.waiters.removeFirst() }
      $0.units += 1
      return nil
    }
    waiter?.continuation?.resume(returning: true)
  }
}

/// A serial queue as a chain of tasks: each awaits the one before.
private final class TaskChain: Sendable {
  private let last = Protected<Task<Void, Never>?>(nil)

  func submit(_ body: @escaping @Sendable () async -> Void) {
    last.withLock { last in
      last = Task { [last] in
        await last?.value
        await body()
      }
    }
  }

  func end() async { await last.read()?.value }
}

/// A serial queue as a stream of bodies that one task calls.
private final class BodyStream: Sendable {
  private let continuation: AsyncStream<@Sendable () async -> Void>.Continuation
  private let consumer: Task<Void, Never>

  init() {
    let (stream, continuation) = AsyncStream.makeStream(of: (@Sendable () async -> Void).self)
    self.continuation = continuation
    consumer = Task.detached { for await body in stream { await body() } }
  }

  func submit(_ body: @escaping @Sendable () async -> Void) { continuation.yield(body) }

  func end() async {
    continuation.finish()
    await consumer.value
  }
}

/// Shared runs as an actor with a dictionary of tasks, which keeps each value. Without cancellation.
private actor TasksByKey {
  private var tasks: [Int: Task<Int, any Error>] = [:]

  func value(for key: Int, _ make: @escaping @Sendable () async throws -> Int) async throws -> Int {
    if let task = tasks[key] { return try await task.value }
    let task = Task { try await make() }
    tasks[key] = task
    do { return try await task.value } catch {
      tasks[key] = nil
      throw error
    }
  }

  func forget(_ key: Int) { tasks[key] = nil }
}

private struct Unavailable: Error {}

/// The nanoseconds that `body` takes in a task.
private func inTask(_ body: @escaping @Sendable () async throws -> Void) -> Double {
  let nanoseconds = Protected(0.0), isOver = DispatchSemaphore(value: 0)
  Task.detached {
    let start = ContinuousClock.now
    try? await body()
    nanoseconds.write((ContinuousClock.now - start) / .nanoseconds(1))
    isOver.signal()
  }
  isOver.wait()
  return nanoseconds.read()
}

/// `count` operations of 8 tasks together.
private func together(_ count: Int, _ body: @escaping @Sendable () async throws -> Void) async {
  await withTaskGroup { group in
    for _ in 0..<8 { group.addTask { for _ in 0..<count / 8 + 1 { try? await body() } } }
  }
}

let asyncWaitRows = [
  Row(
    "Y1", "an async semaphore with a free unit is taken and given back",
    [
      .ours("AsyncSemaphore") { count in
        let semaphore = AsyncSemaphore(units: 1)
        return inTask { for _ in 0..<count { try await semaphore.withUnits {} } }
      },
      .peer("actor by hand") { count in
        let semaphore = ActorSemaphore(1)
        return inTask {
          for _ in 0..<count {
            await semaphore.wait()
            await semaphore.signal()
          }
        }
      },
      .peer("by hand, with cancellation") { count in
        let semaphore = MutexSemaphore(1)
        return inTask {
          for _ in 0..<count {
            try await semaphore.wait()
            semaphore.signal()
          }
        }
      },
    ]),
  Row(
    "Y2", "8 tasks take one async lock, and are suspended under it, each time",
    [
      .ours("AsyncLock") { count in
        let lock = AsyncLock(0)
        return inTask {
          await together(count) {
            try await lock.withLock { value in
              await Task.yield()
              value += 1
            }
          }
        }
      },
      .peer("actor by hand") { count in
        let semaphore = ActorSemaphore(1)
        return inTask {
          await together(count) {
            await semaphore.wait()
            await Task.yield()
            await semaphore.signal()
          }
        }
      },
      .peer("by hand, with cancellation") { count in
        let semaphore = MutexSemaphore(1)
        return inTask {
          await together(count) {
            try await semaphore.wait()
            await Task.yield()
            semaphore.signal()
          }
        }
      },
    ]),
  Row(
    "Y3", "a serial queue of async bodies: each body submitted and run",
    [
      .ours("AsyncLimit(1)") { count in
        let queue = AsyncLimit(1)
        return inTask {
          for _ in 0..<count { queue.trySubmit {} }
          try await queue.submit {}.value
        }
      },
      .peer("chain of tasks") { count in
        let queue = TaskChain()
        return inTask {
          for _ in 0..<count { queue.submit {} }
          await queue.end()
        }
      },
      .peer("AsyncStream and a task") { count in
        let queue = BodyStream()
        return inTask {
          for _ in 0..<count { queue.submit {} }
          await queue.end()
        }
      },
    ]),
  Row(
    "Y4", "a short body with a deadline",
    [
      .ours("withTimeout") { count in
        inTask { for _ in 0..<count { try await withTimeout(.seconds(600)) {} } }
      },
      .peer("task group by hand") { count in
        inTask {
          for _ in 0..<count {
            try await withThrowingTaskGroup(of: Void.self) { group in
              group.addTask {}
              group.addTask { try await Task.sleep(for: .seconds(600)) }
              defer { group.cancelAll() }
              try await group.next()!
            }
          }
        }
      },
    ]),
  Row(
    "Y5", "a producer submits async bodies: 4 run, 100 may wait",
    [
      .ours("AsyncLimit(4, waiting: 100)") { count in
        let limit = AsyncLimit(4, waiting: 100)
        return inTask {
          for _ in 0..<count { try await limit.submit { await Task.yield() } }
          limit.finish()
          _ = await limit.drained()
        }
      },
      .peer("two semaphores by hand") { count in
        let room = MutexSemaphore(104), permits = MutexSemaphore(4)
        return inTask {
          for _ in 0..<count {
            try await room.wait()
            Task {
              try await permits.wait()
              await Task.yield()
              permits.signal()
              room.signal()
            }
          }
          for _ in 0..<104 { try await room.wait() }
        }
      },
    ]),
  Row(
    "Y6", "8 tasks ask for one value, which is kept",
    [
      .ours("AsyncOnce") { count in
        let once = AsyncOnce<Int, Int>(timeToLive: .seconds(Int64.max))
        return inTask { await together(count) { _ = try await once.value(for: 1) { 1 } } }
      },
      .peer("actor with tasks by key") { count in
        let tasks = TasksByKey()
        return inTask { await together(count) { _ = try await tasks.value(for: 1) { 1 } } }
      },
    ]),
  Row(
    "Y7", "8 tasks ask for one value, which each run makes anew",
    [
      .ours("AsyncOnce") { count in
        let once = AsyncOnce<Int, Int>()
        return inTask {
          await together(count) {
            _ = try await once.value(for: 1) {
              await Task.yield()
              return 1
            }
          }
        }
      },
      .peer("actor with tasks by key") { count in
        let tasks = TasksByKey()
        return inTask {
          await together(count) {
            _ = try await tasks.value(for: 1) {
              await Task.yield()
              await tasks.forget(1)
              return 1
            }
          }
        }
      },
    ]),
  Row(
    "Y8", "a body that fails twice, tried three times without a pause",
    [
      .ours("withRetries") { count in
        inTask {
          for _ in 0..<count {
            try await withRetries(3, backoff: .constant(.zero)) { attempt in if attempt < 3 { throw Unavailable() } }
          }
        }
      },
      .peer("loop by hand") { count in
        inTask {
          for _ in 0..<count {
            for attempt in 1...3 {
              do {
                if attempt < 3 { throw Unavailable() }
                break
              } catch { if attempt == 3 { throw error } }
            }
          }
        }
      },
    ]),
  Row(
    "Y9", "a thread submits closures: 4 run, 100 may wait",
    [
      .ours("ConcurrentScheduler(limit: 4, waiting: 100)") { count in
        let limited = ConcurrentScheduler(limit: 4, waiting: 100, whenFull: .block), group = ActionGroup(entered: count)
        let start = ContinuousClock.now
        for _ in 0..<count { limited.schedule { group.leave() } }
        group.wait()
        return (ContinuousClock.now - start) / .nanoseconds(1)
      },
      .peer("a semaphore and a concurrent Dispatch queue") { count in
        let queue = DispatchQueue(label: "concurrent", attributes: .concurrent), room = DispatchSemaphore(value: 104)
        let group = DispatchGroup(), start = ContinuousClock.now
        for _ in 0..<count {
          room.wait()
          queue.async(group: group) { room.signal() }
        }
        group.wait()
        return (ContinuousClock.now - start) / .nanoseconds(1)
      },
    ]),
]
