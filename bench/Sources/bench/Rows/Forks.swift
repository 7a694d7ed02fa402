import BenchKit
import CBench
import Dispatch
import Foundation
import Scheduler
import Synchronization

/// The larger one has leaves of a microsecond, the smaller one none: then what is measured is forking alone.
private let large: Int32 = 36
private let small: Int32 = Scale.isQuick ? 24 : 32

/// Milliseconds that `body` takes; `warm`, which is a small one, has the workers awake before.
private func milliseconds(
  rounds: Int, _ expected: @escaping @Sendable () -> Int, warm: @escaping @Sendable () -> Void,
  _ body: @escaping @Sendable () -> Int
)
  -> Measure
{
  .figures(rounds: rounds) {
    warm()
    var found = 0
    let took = time { found = body() }
    precondition(found == expected(), "computed wrongly")
    return [took / 1e6]
  }
}

private func alone(_ plain: @escaping @Sendable () -> Int) -> Contender {
  Contender(
    "one thread", .limit,
    .figures(rounds: 12) { [time { precondition(plain() != 0) } / 1e6] })
}

// MARK: Dispatch

private func inTwo(_ first: @Sendable () -> Int, _ second: @Sendable () -> Int) -> Int {
  withUnsafeTemporaryAllocation(of: Int.self, capacity: 2) { results in
    nonisolated(unsafe) let results = results
    DispatchQueue.concurrentPerform(iterations: 2) { results[$0] = $0 == 0 ? first() : second() }
    return results[0] &+ results[1]
  }
}

private func nested(_ n: Int, _ leaf: Int) -> Int {
  if n <= leaf { return cbench_fib(n) }
  return inTwo({ nested(n - 1, leaf) }, { nested(n - 2, leaf) })
}

private func nestedSum(_ from: Int, _ to: Int) -> Int {
  if to - from <= CBENCH_SUM_LEAF { return cbench_sum(from, to) }
  let middle = from + (to - from) / 2
  return inTwo({ nestedSum(from, middle) }, { nestedSum(middle, to) })
}

/// All leaves of the tree, known beforehand, as one loop: what it is without forks inside of forks.
private func leaves(_ n: Int, _ leaf: Int) -> [Int] {
  n <= leaf ? [n] : leaves(n - 1, leaf) + leaves(n - 2, leaf)
}

private func flat(_ count: Int, _ leaf: @Sendable (Int) -> Int) -> Int {
  withUnsafeTemporaryAllocation(of: Int.self, capacity: count) { results in
    nonisolated(unsafe) let results = results
    DispatchQueue.concurrentPerform(iterations: count) { results[$0] = leaf($0) }
    return results.reduce(0, &+)
  }
}

// MARK: tasks

private func grouped(_ n: Int, _ leaf: Int) async -> Int {
  if n <= leaf { return cbench_fib(n) }
  return await withTaskGroup(of: Int.self) { group in
    group.addTask { await grouped(n - 1, leaf) }
    var sum = await grouped(n - 2, leaf)
    for await other in group { sum += other }
    return sum
  }
}

private func groupedSum(_ from: Int, _ to: Int) async -> Int {
  if to - from <= CBENCH_SUM_LEAF { return cbench_sum(from, to) }
  let middle = from + (to - from) / 2
  return await withTaskGroup(of: Int.self) { group in
    group.addTask { await groupedSum(middle, to) }
    var sum = await groupedSum(from, middle)
    for await other in group { sum &+= other }
    return sum
  }
}

private final class Answer: Sendable { let value = Atomic(0) }

/// Waits on this thread, which is none of the tasks'.
private func wait(for body: @escaping @Sendable () async -> Int) -> Int {
  let answer = Answer(), done = DispatchSemaphore(value: 0)
  Task.detached {
    answer.value.store(await body(), ordering: .relaxed)
    done.signal()
  }
  done.wait()
  return answer.value.load(ordering: .relaxed)
}

// MARK: rows

private let slow = Scale.isQuick ? 1 : 3

private func fib(_ n: Int32, _ leaf: Int32, isLarge: Bool) -> [Contender] {
  let rounds = isLarge ? 12 : slow, size = Int(n), least = Int(leaf)
  func measure(_ body: @escaping @Sendable (Int) -> Int) -> Measure {
    milliseconds(
      rounds: rounds, { cbench_fib(size) },
      warm: {
        if isLarge { _ = knownLeaves(size) }
        _ = body(18)
      }, { body(size) })
  }
  var all = contenders(CBENCH_POOLS, where: cbench_pool_can_fork) { pool in
    .figures(rounds: 12) { [cbench_pool_fib(pool, n, leaf) / 1e6] }
  }
  all.append(Contender("concurrentPerform nested", isLarge ? .peer : .dispatch, measure { nested($0, least) }))
  if isLarge {
    all.append(
      Contender(
        "concurrentPerform flat", .dispatch,
        measure { n in
          let all = knownLeaves(n)
          return flat(all.count) { cbench_fib(all[$0]) }
        }))
  }
  // The small one has three million forks: Go's goroutines take ten seconds for it, and task groups half a minute.
  if isLarge { all.append(Contender("TaskGroup", .peer, measure { n in wait { await grouped(n, least) } })) }
  for helper in Peers.helpers where isLarge || helper.name != "Go" {
    all.append(
      Contender(helper.name, .peer, .asked(rounds: 12, helper, request: "fib \(n) \(leaf)", operations: 1e6)))
  }
  all.append(alone { cbench_fib(size) })
  return all
}

/// Made at the first call for each size, before the time begins.
private let known = Mutex<[Int: [Int]]>([:])
private func knownLeaves(_ n: Int) -> [Int] {
  known.withLock { known in
    if let leaves = known[n] { return leaves }
    let made = leaves(n, Int(CBENCH_FIB_LEAF))
    known[n] = made
    return made
  }
}

private let terms = 1 << 22

private func sums() -> [Contender] {
  func measure(_ body: @escaping @Sendable (Int) -> Int) -> Measure {
    milliseconds(rounds: 12, { cbench_sum(0, terms) }, warm: { _ = body(terms / 64) }, { body(terms) })
  }
  return [
    Contender("csched_pool", .ours, measure { cbench_sum_forked($0) }),
    Contender(
      "concurrentPerform flat", .dispatch,
      measure { count in
        let leaf = Int(CBENCH_SUM_LEAF)
        return flat(count / leaf) { cbench_sum($0 * leaf, ($0 + 1) * leaf) }
      }),
    Contender("concurrentPerform nested", .peer, measure { nestedSum(0, $0) }),
    Contender("TaskGroup", .peer, measure { count in wait { await groupedSum(0, count) } }),
    alone { cbench_sum(0, terms) },
  ]
}

/// Made when it is first used: a row beside this one wants a process with one thread.
private let looping = ConcurrentScheduler()

/// A loop of `iterations`, each of which is `leaf`.
private func loops(_ iterations: Int, _ leaf: @escaping @Sendable (Int) -> Void) -> [Contender] {
  func milliseconds(_ perform: @escaping @Sendable () -> Void) -> Measure {
    .figures(rounds: 12) {
      perform()  // the workers are awake
      return [time(perform) / 1e6]
    }
  }
  return [
    Contender(
      "concurrentPerform", .ours, milliseconds { looping.concurrentPerform(iterations: iterations) { leaf($0) } }),
    Contender(
      "Dispatch's concurrentPerform", .dispatch,
      milliseconds { DispatchQueue.concurrentPerform(iterations: iterations) { leaf($0) } }),
    Contender("one thread", .limit, milliseconds { for n in 0..<iterations { leaf(n) } }),
  ]
}

/// Is kept from being optimised away by what it is compared with, and costs next to nothing.
private func nothing(_ n: Int) { precondition(n >= 0) }

let forkRows = [
  Row(
    "P2n", "fork and join, warm workers: fib(\(small)), a fork for each call", unit: "ms",
    fib(small, 1, isLarge: false),
    targets: [.peer("rayon", 1.5)]),
  Row(
    "P2f", "fork and join, warm workers: fib(\(large)), leaves of 1 µs", unit: "ms",
    fib(large, Int32(CBENCH_FIB_LEAF), isLarge: true),
    targets: [
      .best(1), .peer("concurrentPerform nested", 0.5), .speedUp(0.9, alone: "one thread", limit: "L8"),
    ]),
  Row(
    "P2s", "fork and join, warm workers: a sum over 4 M, leaves of 1 µs", unit: "ms", sums(),
    targets: [
      .best(1), .peer("concurrentPerform nested", 0.5), .speedUp(0.9, alone: "one thread", limit: "L8"),
    ]),
  Row(
    "P2a", "a loop side by side, warm workers: 4 096 iterations of 1 µs", unit: "ms",
    loops(4_096) { n in
      let leaf = Int(CBENCH_SUM_LEAF)
      precondition(cbench_sum(n * leaf, (n + 1) * leaf) != 0)
    },
    targets: [.peer("Dispatch's concurrentPerform", 1), .speedUp(0.9, alone: "one thread", limit: "L8")]),
  Row(
    "P2e", "a loop side by side, warm workers: a million iterations that do nothing", unit: "ms",
    loops(1_000_000, nothing), targets: [.peer("Dispatch's concurrentPerform", 0.2)]),
]
