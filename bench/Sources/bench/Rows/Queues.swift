import CBench
import Dispatch
import Foundation
import NIOCore
import NIOPosix
import Scheduler

let nioGroup = MultiThreadedEventLoopGroup(numberOfThreads: 1)
let nioLoop = nioGroup.next()
let thread = try! ThreadScheduler(name: "bench")
let serial = DispatchQueue(label: "bench")

/// Times `count` submissions while the consumer is busy with something else; their execution is not timed.
private func submissions(_ count: Int, _ submit: (@escaping @Sendable () -> Void) -> Void) -> Double {
  // Some thousands at a time, so that what is measured is a queue and not the growth of the heap.
  var took = 0.0, left = count
  while left > 0 {
    let some = min(left, 4_096)
    left -= some
    let busy = DispatchSemaphore(value: 0), done = DispatchSemaphore(value: 0)
    submit { busy.wait() }
    took += time { for _ in 0..<some { submit {} } }
    submit { done.signal() }
    busy.signal()
    done.wait()
  }
  return took
}

/// Times four threads that submit `count` in all, until all have run.
private func fourProducers(_ count: Int, _ submit: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void)
  -> Double
{
  let done = DispatchSemaphore(value: 0)
  return time {
    for _ in 0..<4 {
      Thread.detachNewThread {
        for _ in 0..<(count / 4) { submit {} }
        submit { done.signal() }
      }
    }
    for _ in 0..<4 { done.wait() }
  }
}

/// How many calls of the kernel's futex a thousand closures cost, from four threads that never pause.
private func futexes(_ submit: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) -> Measure {
  .figure(rounds: 12) {
    let before = cbench_futex_calls(), count = 200_000
    _ = fourProducers(count, submit)
    return Double(cbench_futex_calls() - before) / Double(count) * 1_000
  }
}

let queueRows = [
  Row(
    id: "M1c", work: "push on a run queue, consumer awake, in C",
    contenders: [
      .ours("csched_mpsc") { cbench_queue_push(CBENCH_TREIBER, $0) },
      .peer("exchange-linked queue") { cbench_queue_push(CBENCH_EXCHANGE, $0) },
    ], targets: [.limit("CAS", 1.3)]),
  Row(
    id: "M1", work: "submit a closure to a busy thread, in Swift",
    contenders: [
      .ours("ThreadScheduler") { n in submissions(n) { thread.schedule($0) } },
      .dispatch("serial async") { n in submissions(n) { serial.async(execute: $0) } },
      .peer("NIO execute") { n in submissions(n) { nioLoop.execute($0) } },
    ], targets: [.limit("L7", 3), .peer("serial async", 0.1)]),
  Row(
    id: "M2c", work: "4 producers, 1 consumer, in C; each job",
    contenders: [
      .ours("csched_mpsc") { cbench_queue_many(CBENCH_TREIBER, 4, $0) },
      .peer("exchange-linked queue") { cbench_queue_many(CBENCH_EXCHANGE, 4, $0) },
    ], targets: [.limit("L2", 2), .best(1)]),
  Row(
    id: "M2", work: "4 producers, 1 consumer, in Swift; each closure run",
    contenders: [
      .ours("ThreadScheduler") { n in fourProducers(n) { thread.schedule($0) } },
      .dispatch("serial async") { n in fourProducers(n) { serial.async(execute: $0) } },
      .peer("NIO execute") { n in fourProducers(n) { nioLoop.execute($0) } },
    ], targets: [.peer("serial async", 0.2)]),
  Row(
    id: "M3", work: "the same: futex calls for a thousand closures", unit: "calls",
    contenders: [
      Contender(name: "ThreadScheduler", role: .ours, measure: futexes { thread.schedule($0) }),
      Contender(name: "serial async", role: .dispatch, measure: futexes { serial.async(execute: $0) }),
    ], targets: [.fixed(1, "<1")]),
]
