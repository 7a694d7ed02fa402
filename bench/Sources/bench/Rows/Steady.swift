import BenchKit
import CBench
import Dispatch
import Foundation
import NIOPosix
import Scheduler
import Synchronization

// Steady state: the producer never has more than a given number of closures outstanding, and the consumers run beside
// it. In C: CBench/steady.c.

/// A quarter of the backlog.
private final class Part: Sendable {
  private let left = Atomic(0)
  private let free = DispatchSemaphore(value: 1)

  /// Waits until the closures of the round before have run.
  func begin(_ count: Int) {
    free.wait()
    left.store(count, ordering: .relaxed)  // the submission publishes it
  }

  @inline(never) func ran(_ number: Int) {
    if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { free.signal() }
  }

  func end() {
    free.wait()
    free.signal()
  }
}

private let parts = [Part(), Part(), Part(), Part()]

/// Times `count` closures with two captures, of which at most `backlog` are outstanding, until all have run.
private func steady(_ backlog: Int, _ count: Int, _ submit: Submit) -> Double {
  let each = backlog / parts.count, rounds = (count + each - 1) / each
  let took = time {
    for round in 0..<rounds {
      let part = parts[round % parts.count]
      part.begin(each)
      for number in 0..<each { submit { part.ran(number) } }
    }
    for part in parts { part.end() }
  }
  return took * Double(count) / Double(rounds * each)
}

private func steady(_ name: String, _ role: Contender.Role, _ backlog: Int, _ submit: @escaping Submit) -> Contender {
  Contender(name, role, .operations(slices: 1, least: max(200_000, 4 * backlog)) { steady(backlog, $0, submit) })
}

/// Foundation's takes some microseconds for each: fewer say as much.
private func steady(_ queue: OperationQueue, _ backlog: Int) -> Contender {
  let count = max(20_000, backlog)
  return Contender(
    "OperationQueue", .peer,
    .figures(rounds: 12) { [steady(backlog, count) { queue.addOperation($0) } / Double(count)] })
}

private let queue = SerialScheduler(name: "steady"), workers = ConcurrentScheduler()
private let global = DispatchQueue.global()
private let allOperations = OperationQueue()
private let oneOperation: OperationQueue = {
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 1
  return queue
}()
private let threadPool: NIOThreadPool = {
  let pool = NIOThreadPool(numberOfThreads: ProcessInfo.processInfo.activeProcessorCount)
  pool.start()
  return pool
}()

private func rows(
  _ id: String, _ work: String, _ targets: (Int) -> [Target], _ contenders: (Int) -> [Contender]
) -> [Row] {
  [256, 4_096, 65_536].map { backlog in
    Row(
      "\(id)-\(backlog)", "\(work), at most \(backlog) outstanding; each", contenders(backlog),
      targets: targets(backlog))
  }
}

private func inC(_ backlog: Int) -> [Contender] {
  let count = max(200_000, 4 * backlog)
  return contenders(CBENCH_POOLS, where: cbench_pool_can_spawn) { pool in
    .operations(slices: 1, least: count) { cbench_pool_steady(pool, backlog, $0) }
  }
    + Peers.helpers.map { helper in
      Contender(
        helper.name, .peer,
        .asked(rounds: 12, helper, request: "steady \(backlog) \(count)", operations: Double(count)))
    }
}

let steadyRows: [Row] =
  rows("S1", "closures to a thread, in Swift", { [.limit("S4-\($0)", 1.25), .peer("serial async", 0.15)] }) { backlog in
    [
      steady("ThreadScheduler", .ours, backlog) { thread.schedule($0) },
      steady("serial async", .dispatch, backlog) { serial.async(execute: $0) },
      steady("NIO execute", .peer, backlog) { nioLoop.execute($0) },
    ]
  }
  + rows("S2", "closures to a serial queue, in Swift", { _ in [.peer("serial async", 0.15)] }) { backlog in
    [
      steady("SerialScheduler", .ours, backlog) { queue.schedule($0) },
      steady("serial async", .dispatch, backlog) { serial.async(execute: $0) },
      steady(oneOperation, backlog),
    ]
  }
  + rows("S3", "closures to the pool, in Swift", { _ in [.peer("global async", 0.15)] }) { backlog in
    [
      steady("ConcurrentScheduler", .ours, backlog) { workers.schedule($0) },
      steady("global async", .dispatch, backlog) { global.async(execute: $0) },
      steady("NIOThreadPool", .peer, backlog) { work in threadPool.submit { _ in work() } },
      steady("Task.detached", .peer, backlog) { work in Task.detached { work() } },
      steady(allOperations, backlog),
    ]
  }
  + rows("S4", "calls to a thread, in C", { _ in [.peer("dispatch_async_f", 0.15)] }) { backlog in
    [
      Contender(
        "csched_target_async", .ours,
        .operations(slices: 1, least: max(200_000, 4 * backlog)) { cbench_thread_steady(true, backlog, $0) }),
      Contender(
        "dispatch_async_f", .dispatch,
        .operations(slices: 1, least: max(200_000, 4 * backlog)) { cbench_thread_steady(false, backlog, $0) }),
    ]
  }
  + rows("S4p", "calls to the pool, in C", { _ in [.best(1)] }, inC)
