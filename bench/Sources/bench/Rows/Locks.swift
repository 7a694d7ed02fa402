import BenchKit
import CBench
import Dispatch
import Foundation
import NIOConcurrencyHelpers
import Scheduler
import Synchronization

// MARK: in C

/// A thread that only sleeps: with it, the C library's locks are those of a process with several threads.
private let secondThread: Void = Thread.detachNewThread { while true { sleep(1_000) } }

private func alone() -> [Contender] {
  contenders(CBENCH_LOCKS) { lock in
    .operations(slices: 10, least: 1) {
      _ = secondThread
      return cbench_lock_alone(lock, $0)
    }
  }
}

/// The same in a fresh process, which has one thread: glibc then leaves the lock prefix out.
private func single() -> [Contender] {
  contenders(CBENCH_LOCKS) { lock in
    .aside(rounds: 12, counted: false) {
      guard (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task"))?.count ?? 1 == 1 else {
        return []
      }
      return (0..<10).map { _ in cbench_lock_alone(lock, 200_000) / 200_000 }
    }
  }
}

/// Seconds of contention: with more threads than processors, so many that each thread runs several times.
private func length(_ threads: Int) -> Double { (threads > 2 ? 0.1 : 0.02) * (Scale.isQuick ? 0.3 : 1) }

/// Threads that contend for a lock in C. Each figure is the time, divided by the number of sections of all.
private func contended(
  _ id: String, _ work: String, _ threads: Int32, _ placement: cbench_placement = CBENCH_FREE, inside: Int32 = 0,
  outside: Int32 = 0, targets: [Target]
) -> Row {
  let all = contenders(CBENCH_LOCKS) { lock in
    .figures(rounds: 1_000) {
      [cbench_lock_contended(lock, threads, placement, length(Int(threads)), inside, outside, false).section]
    }
  }
  return Row(id, work, all, targets: targets)
}

// MARK: in Swift: a value behind a lock

private final class MutexBox: Sendable { let mutex = Mutex(0) }

private let protected = Protected(0), nio = NIOLockedValueBox(0), mutex = MutexBox(),
  queue = DispatchQueue(label: "lock")
private let nsLock = NSLock()
/// By a pointer: a variable would be checked for exclusive access, which those with a value inside of them are not.
nonisolated(unsafe) private let guarded: UnsafeMutablePointer<Int> = {
  let value = UnsafeMutablePointer<Int>.allocate(capacity: 1)
  value.initialize(to: 0)
  return value
}()

private final class Contest: Sendable {
  let isOver = Atomic(false), sections = Atomic(0), length = Atomic<UInt64>(0)
}

/// The loops; all alike, and each with its own lock inlined as far as it can be. So many sections, or until the end;
/// how many there were.
private let loops: [(name: String, role: Contender.Role, loop: @Sendable (Int, Contest) -> Int)] = [
  ("Protected", .ours, { repeated($0, $1) { protected.withLock { $0 += 1 } } }),
  ("serial sync", .dispatch, { repeated($0, $1) { queue.sync { guarded.pointee += 1 } } }),
  ("NIOLockedValueBox", .peer, { repeated($0, $1) { nio.withLockedValue { $0 += 1 } } }),
  ("Mutex", .peer, { repeated($0, $1) { mutex.mutex.withLock { $0 += 1 } } }),
  ("NSLock", .peer, { repeated($0, $1) { nsLock.withLock { guarded.pointee += 1 } } }),
]

@inline(__always) private func repeated(_ most: Int, _ contest: Contest, _ section: () -> Void) -> Int {
  if most < .max {
    for _ in 0..<most { section() }
    return most
  }
  var done = 0
  while !contest.isOver.load(ordering: .relaxed) {
    section()
    done += 1
  }
  return done
}

/// The same in Swift: the last of the crew keeps the time.
private func contend(_ threads: Int, _ placement: cbench_placement, _ loop: @escaping @Sendable (Int, Contest) -> Int)
  -> Double
{
  let contest = Contest()
  _ = crew(threads + 1, placement) { member in
    let began = member.start()
    if member.index < threads {
      contest.sections.add(loop(.max, contest), ordering: .relaxed)
    } else {
      usleep(UInt32(length(threads) * 1e6))
      contest.length.store(cbench_now() - began, ordering: .relaxed)
      contest.isOver.store(true, ordering: .relaxed)
    }
  }
  return Double(contest.length.load(ordering: .relaxed)) / Double(max(1, contest.sections.load(ordering: .relaxed)))
}

private func inSwift(
  _ id: String, _ work: String, _ threads: Int, _ placement: cbench_placement = CBENCH_FREE, targets: [Target]
) -> Row {
  let all = loops.map { name, role, loop in
    Contender(name, role, .figures(rounds: 1_000) { [contend(threads, placement, loop)] })
  }
  return Row(id, work, all, targets: targets)
}

let lockRows: [Row] =
  [
    Row(
      "K1", "lock and unlock, alone, in C, a second thread alive", alone(),
      targets: [.limit("L0", 1.15), .peer("pthread", 0.65)]),
    Row("K1s", "the same in a process with one thread", single(), targets: [.peer("pthread", 1)]),
    Row(
      "K2", "a value behind a lock, alone, in Swift: Protected.withLock",
      loops.map { name, role, loop in
        Contender(
          name, role,
          .operations(slices: 10, least: 1) { count in
            _ = secondThread
            return time { _ = loop(count, Contest()) }
          })
      }, targets: [.limit("L0", 1.35), .peer("NIOLockedValueBox", 0.75), .peer("Mutex", 0.7)]),
    contended("K3a", "2 threads, back to back, in C", 2, targets: [.limit("L2", 2), .best(0.5)]),
    contended(
      "K3a-pinned", "the same, each on a processor of its own", 2, CBENCH_APART,
      targets: [.limit("L2-pinned", 2), .best(0.5)]),
    inSwift("K3a-swift", "2 threads, back to back, in Swift", 2, targets: [.best(0.5)]),
    inSwift("K3a-swift-pinned", "the same, each on a processor of its own", 2, CBENCH_APART, targets: [.best(0.5)]),
    contended("K3b", "2 threads, 50 ns inside, 100 ns outside, in C", 2, inside: 50, outside: 100, targets: [.best(1)]),
    contended(
      "K3b-pinned", "the same, each on a processor of its own", 2, CBENCH_APART, inside: 50, outside: 100,
      targets: [.best(1)]),
    contended("K3c", "2 threads, 1 µs inside, in C", 2, inside: 1_000, targets: [.best(1 / 0.97)]),
    contended(
      "K3c-pinned", "the same, each on a processor of its own", 2, CBENCH_APART, inside: 1_000,
      targets: [.best(1 / 0.97)]),
  ]
  + [4, 8, 16, 64].flatMap { (threads: Int) -> [Row] in
    [
      contended("K4-\(threads)", "\(threads) threads, back to back, in C", Int32(threads), targets: [.best(1)]),
      inSwift("K4-\(threads)-swift", "\(threads) threads, back to back, in Swift", threads, targets: [.best(1)]),
    ]
  }
