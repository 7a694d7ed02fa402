import CBench
import Dispatch
import Foundation
import NIOConcurrencyHelpers
import Scheduler
import Synchronization

/// Nanoseconds that `body` takes.
func time(_ body: () -> Void) -> Double {
  let start = MonotonicTime.now.nanoseconds
  body()
  return Double(MonotonicTime.now.nanoseconds - start)
}

/// Nanoseconds that `threads` threads take, from the first one's start, to run `body` `count` times in all.
private func contend(_ threads: Int, _ count: Int, _ body: @escaping @Sendable (Int) -> Void) -> Double {
  let ready = DispatchGroup(), done = DispatchGroup(), start = DispatchSemaphore(value: 0), each = count / threads + 1
  let began = Protected(UInt64.max)
  for _ in 0..<threads {
    ready.enter()
    done.enter()
    Thread.detachNewThread {
      ready.leave()
      start.wait()
      let now = MonotonicTime.now.nanoseconds
      began.withLock { $0 = min($0, now) }
      body(each)
      done.leave()
    }
  }
  ready.wait()
  for _ in 0..<threads { start.signal() }
  done.wait()
  let took = MonotonicTime.now.nanoseconds - began.read()
  return Double(took) * Double(count) / Double(each * threads)
}

private final class MutexBox: Sendable { let mutex = Mutex(0) }

private let protected = Protected(0), nio = NIOLockedValueBox(0), mutex = MutexBox(),
  queue = DispatchQueue(label: "lock")
private let nsLock = NSLock()
nonisolated(unsafe) private var guarded = 0

private let useProtected: @Sendable (Int) -> Void = { for _ in 0..<$0 { protected.withLock { $0 += 1 } } }
private let useNIO: @Sendable (Int) -> Void = { for _ in 0..<$0 { nio.withLockedValue { $0 += 1 } } }
private let useMutex: @Sendable (Int) -> Void = { for _ in 0..<$0 { mutex.mutex.withLock { $0 += 1 } } }
private let useNSLock: @Sendable (Int) -> Void = { for _ in 0..<$0 { nsLock.withLock { guarded += 1 } } }
private let useQueue: @Sendable (Int) -> Void = { for _ in 0..<$0 { queue.sync { guarded += 1 } } }

/// A thread that only sleeps: with it, the C library's locks are those of a process with several threads.
private let secondThread: Void = Thread.detachNewThread { while true { sleep(1_000) } }

private func alone(_ lock: cbench_lock) -> @Sendable (Int) -> Double {
  {
    _ = secondThread
    return cbench_lock_alone(lock, $0)
  }
}

/// The same in a fresh process, which has one thread: glibc then leaves the lock prefix out.
private func single(_ name: String, _ role: Contender.Role, _ lock: cbench_lock) -> Contender {
  Contender(name: name, role: role, measure: .aside(rounds: 12) { cbench_lock_alone(lock, 2_000_000) / 2_000_000 })
}

private func contended(_ id: String, _ work: String, _ threads: Int, inside: Int, outside: Int, _ targets: [Target])
  -> Row
{
  func c(_ lock: cbench_lock) -> @Sendable (Int) -> Double {
    { cbench_lock_contended(lock, Int32(threads), $0, Int32(inside), Int32(outside)) }
  }
  var contenders: [Contender] = [
    .ours("csched_lock", c(CBENCH_OURS)), .peer("pthread", c(CBENCH_PTHREAD)), .peer("adaptive", c(CBENCH_ADAPTIVE)),
  ]
  if inside == 0 {
    contenders += [
      .dispatch("serial sync") { contend(threads, $0, useQueue) },
      .peer("Mutex") { contend(threads, $0, useMutex) },
      .peer("NIOLockedValueBox") { contend(threads, $0, useNIO) },
    ]
  }
  return Row(id: id, work: work, contenders: contenders, targets: targets)
}

let lockRows =
  [
    Row(
      id: "K1", work: "lock and unlock, alone, in C, a second thread alive",
      contenders: [
        .ours("csched_lock", alone(CBENCH_OURS)), .peer("pthread", alone(CBENCH_PTHREAD)),
        .peer("adaptive", alone(CBENCH_ADAPTIVE)),
      ],
      targets: [.limit("L0", 1.15), .peer("pthread", 0.65)]),
    Row(
      id: "K1s", work: "the same in a process with one thread",
      contenders: [single("csched_lock", .ours, CBENCH_OURS), single("pthread", .peer, CBENCH_PTHREAD)],
      targets: [.peer("pthread", 1)]),
    Row(
      id: "K2", work: "a value behind a lock, alone, in Swift: Protected.withLock",
      contenders: [
        .ours("Protected") { n in time { useProtected(n) } }, .dispatch("serial sync") { n in time { useQueue(n) } },
        .peer("NIOLockedValueBox") { n in time { useNIO(n) } }, .peer("Mutex") { n in time { useMutex(n) } },
        .peer("NSLock") { n in time { useNSLock(n) } },
      ],
      targets: [.limit("L0", 1.35), .peer("NIOLockedValueBox", 0.75), .peer("Mutex", 0.7)]),
    contended("K3a", "2 threads, back to back", 2, inside: 0, outside: 0, [.limit("L2", 2), .best(0.5)]),
    contended("K3b", "2 threads, 50 ns inside, 100 ns outside", 2, inside: 50, outside: 100, [.best(1 / 0.97)]),
    contended("K3c", "2 threads, 1 µs inside", 2, inside: 1_000, outside: 0, [.best(1 / 0.97)]),
  ]
  + [4, 8, 16, 64].map { contended("K4-\($0)", "\($0) threads, back to back", $0, inside: 0, outside: 0, [.best(1)]) }
