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

/// Times `count` empty jobs, from the first submission until the last one has begun.
private func empty(_ submit: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) -> @Sendable (Int) -> Double
{
  { count in
    let last = DispatchSemaphore(value: 0)
    return time {
      for _ in 1..<max(2, count) { submit {} }
      submit { last.signal() }
      last.wait()
    }
  }
}

// MARK: fork and join

private func fib(_ n: Int) -> Int {
  if n <= CBENCH_FIB_LEAF { return cbench_fib(n) }
  return inTwo({ fib(n - 1) }, { fib(n - 2) })
}

private func sum(_ from: Int, _ to: Int) -> Int {
  if to - from <= CBENCH_SUM_LEAF { return cbench_sum(from, to) }
  let middle = from + (to - from) / 2
  return inTwo({ sum(from, middle) }, { sum(middle, to) })
}

private func inTwo(_ first: @Sendable () -> Int, _ second: @Sendable () -> Int) -> Int {
  withUnsafeTemporaryAllocation(of: Int.self, capacity: 2) { results in
    nonisolated(unsafe) let results = results
    DispatchQueue.concurrentPerform(iterations: 2) { results[$0] = $0 == 0 ? first() : second() }
    return results[0] &+ results[1]
  }
}

/// How many times faster `body` is than `plain`, which computes the same on one thread.
private func speedUp(_ plain: @escaping @Sendable () -> Int, _ body: @escaping @Sendable () -> Int) -> Measure {
  .figure(rounds: 12) {
    var expected = 0, found = 0
    let alone = time { expected = plain() }, together = time { found = body() }
    precondition(found == expected, "computed wrongly")
    return alone / together
  }
}

private func forked(
  _ id: String, _ work: String, _ plain: @escaping @Sendable () -> Int, _ ours: @escaping @Sendable () -> Int,
  _ dispatch: @escaping @Sendable () -> Int
) -> Row {
  Row(
    id: id, work: work, unit: "×",
    contenders: [
      Contender(name: "csched_pool_fork", role: .ours, measure: speedUp(plain, ours)),
      Contender(name: "concurrentPerform", role: .dispatch, measure: speedUp(plain, dispatch)),
    ],
    targets: [
      .atLeast(0.9, of: .limit("L8"), "L8"),
      .atLeast(2, of: .peer("concurrentPerform"), "concurrentPerform"),
    ])
}

// MARK: blocked

/// Milliseconds until a job runs that was submitted when each processor's worker is blocked; 2000 at the most.
private func blocked(rounds: Int, _ submit: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) -> Measure {
  .figure(rounds: rounds) {
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
    let start = MonotonicTime.now.nanoseconds, next = DispatchSemaphore(value: 0)
    submit { next.signal() }
    let isLate = next.wait(timeout: .now() + 2) == .timedOut
    let took = isLate ? 2e9 : Double(MonotonicTime.now.nanoseconds - start)
    for _ in 0..<count { gate.signal() }
    for _ in 0..<count { ended.wait() }
    if isLate { next.wait() }
    return took / 1e6
  }
}

let poolRows = [
  Row(
    id: "P1c", work: "empty jobs to the pool, in C; each",
    contenders: [.ours("csched_pool_submit") { cbench_pool_submit(1, $0) }],
    targets: [.limit("L7", 3)]),
  Row(
    id: "P1b", work: "the same in batches of 256",
    contenders: [.ours("csched_pool_submit_batch") { cbench_pool_submit(256, $0) }],
    targets: [.limit("L7", 3)]),
  Row(
    id: "P1", work: "empty closures to the pool, in Swift; each",
    contenders: [
      .ours("ConcurrentScheduler", empty { workers.schedule($0) }),
      .dispatch("global async", empty { global.async(execute: $0) }),
      .peer("NIOThreadPool", empty { work in nioPool.submit { _ in work() } }),
    ], targets: [.limit("L7", 3), .peer("global async", 0.25)]),
  forked(
    "P2f", "fork and join: speed-up of fib(32), leaves of 1 µs", { cbench_fib(32) }, { cbench_fib_forked(32) },
    { fib(32) }),
  forked(
    "P2s", "fork and join: speed-up of a sum over 4 M, leaves of 1 µs", { cbench_sum(0, 1 << 22) },
    { cbench_sum_forked(1 << 22) },
    { sum(0, 1 << 22) }),
  Row(
    id: "P4", work: "until the next job runs when every worker is blocked; at most 2000", unit: "ms",
    contenders: [
      Contender(name: "ConcurrentScheduler", role: .ours, measure: blocked(rounds: 12) { workers.schedule($0) }),
      Contender(name: "global async", role: .dispatch, measure: blocked(rounds: 2) { global.async(execute: $0) }),
    ], targets: [.fixed(10, "≤10 ms")]),
]
