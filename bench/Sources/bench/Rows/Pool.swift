import BenchKit
import CBench
import Dispatch
import Foundation
import NIOPosix
import Scheduler
import Synchronization

private let workers = ConcurrentScheduler()
private let global = DispatchQueue.global()
private let nioPool: NIOThreadPool = {
  let pool = NIOThreadPool(numberOfThreads: ProcessInfo.processInfo.activeProcessorCount)
  pool.start()
  return pool
}()

// MARK: empty jobs

private let left = Atomic(0), last = DispatchSemaphore(value: 0)

/// Times `count` closures that only count themselves and capture nothing, from the first submission until all have run.
private func untilAllRan(_ submit: @escaping Submit) -> Measure {
  .operations(slices: 1, least: Scale.isQuick ? 100_000 : 1_000_000) { count in
    left.store(count, ordering: .relaxed)
    return time {
      for _ in 0..<count {
        submit { if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { last.signal() } }
      }
      last.wait()
    }
  }
}

/// Foundation's takes some microseconds for each: a fiftieth of the million says as much.
private let operations = OperationQueue()

private func operationsUntilAllRan(_ count: Int) -> Measure {
  .figures(rounds: 12) {
    left.store(count, ordering: .relaxed)
    let took = time {
      for _ in 0..<count {
        operations.addOperation {
          if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { last.signal() }
        }
      }
      last.wait()
    }
    return [took / Double(count)]
  }
}

private let aMillion = 1_000_000

private func inC() -> [Contender] {
  contenders(CBENCH_POOLS, where: cbench_pool_can_run) { pool in
    .operations(slices: 1, least: aMillion) { cbench_pool_run(pool, $0) }
  }
    + Peers.helpers.map { helper in
      Contender(
        helper.name, .peer, .asked(rounds: 12, helper, request: "pool \(aMillion)", operations: Double(aMillion)))
    }
}

// MARK: blocked

/// Milliseconds until a job runs that was submitted when each processor's worker is blocked; 2000 at the most.
private func blocked(rounds: Int, _ submit: @escaping Submit) -> Measure {
  .figures(rounds: rounds) {
    let count = ProcessInfo.processInfo.activeProcessorCount
    let began = DispatchSemaphore(value: 0), gate = DispatchSemaphore(value: 0), ended = DispatchSemaphore(value: 0)
    for _ in 0..<count {
      submit {
        began.signal()
        gate.wait()
        ended.signal()
      }
    }
    for _ in 0..<count { began.wait() }
    let start = cbench_now(), next = DispatchSemaphore(value: 0)
    submit { next.signal() }
    let isLate = next.wait(timeout: .now() + 2) == .timedOut
    let took = isLate ? 2e9 : Double(cbench_now() - start)
    for _ in 0..<count { gate.signal() }
    for _ in 0..<count { ended.wait() }
    if isLate { next.wait() }
    return [took / 1e6]
  }
}

let poolRows = [
  Row(
    "P1c", "a million empty jobs to the pool from outside, until all have run, in C; each", inC(),
    targets: [.limit("L7", 3), .best(1)]),
  Row(
    "P1b", "the same in batches of 256",
    [Contender("csched_pool", .ours, .operations(slices: 1, least: aMillion) { cbench_pool_batch(256, $0) })],
    targets: [.limit("L7", 3)]),
  Row(
    "P1", "a million closures to the pool from outside, until all have run, in Swift; each",
    [
      Contender("ConcurrentScheduler", .ours, untilAllRan { workers.schedule($0) }),
      Contender("global async", .dispatch, untilAllRan { global.async(execute: $0) }),
      Contender("NIOThreadPool", .peer, untilAllRan { work in nioPool.submit { _ in work() } }),
      Contender("Task.detached", .peer, untilAllRan { work in Task.detached { work() } }),
      Contender("OperationQueue", .peer, operationsUntilAllRan(aMillion / 50)),
    ], targets: [.scaled(45), .peer("global async", 0.3)]),
  Row(
    "P4", "until the next job runs when every worker is blocked; at most 2000", unit: "ms",
    [
      Contender("ConcurrentScheduler", .ours, blocked(rounds: 12) { workers.schedule($0) }),
      Contender("global async", .dispatch, blocked(rounds: 3) { global.async(execute: $0) }),
    ], targets: [.promise(10, "≤10 ms")]),
]
