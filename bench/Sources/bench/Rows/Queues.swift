import BenchKit
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

typealias Work = @Sendable () -> Void
typealias Submit = @Sendable (@escaping Work) -> Void

/// Who takes a closure. A structure: in a tuple of an array the function would be one over generic types, and wrap each
/// closure in an object.
private struct Taker {
  let name: String, role: Contender.Role, submit: Submit
}

/// Ours, Dispatch and NIO, as they take a closure.
private let takers = [
  Taker(name: "ThreadScheduler", role: .ours) { thread.schedule($0) },
  Taker(name: "serial async", role: .dispatch) { serial.async(execute: $0) },
  Taker(name: "NIO execute", role: .peer) { nioLoop.execute($0) },
]

private func all(slices: Int = 10, least: Int = 1, _ body: @escaping @Sendable (Int, @escaping Submit) -> Double)
  -> [Contender]
{
  takers.map { taker in
    Contender(taker.name, taker.role, .operations(slices: slices, least: least) { body($0, taker.submit) })
  }
}

// MARK: one producer

final class Captured: Sendable {}

@inline(never) func use(_ object: Captured, _ number: Int) {}

/// Times `count` submissions while the consumer is busy with something else; their execution is not timed.
private func submissions(_ count: Int, _ submit: Submit, _ some: (Int) -> Void) -> Double {
  // Some thousands at a time, so that what is measured is a queue and not the growth of the heap.
  var took = 0.0, left = count
  while left > 0 {
    let most = min(left, 4_096)
    left -= most
    let busy = DispatchSemaphore(value: 0), done = DispatchSemaphore(value: 0)
    submit { busy.wait() }
    took += time { some(most) }
    submit { done.signal() }
    busy.signal()
    done.wait()
  }
  return took
}

private let captured = Captured()

/// Times submissions until all have run.
private func untilRun(_ count: Int, _ submit: Submit) -> Double {
  let done = DispatchSemaphore(value: 0)
  return time {
    for _ in 1..<max(2, count) { submit {} }
    submit { done.signal() }
    done.wait()
  }
}

// MARK: some producers

/// Times so many threads, which are there and begin together, until what they have submitted has run. Index 0 waits for
/// that.
private func many(_ producers: Int) -> @Sendable (Int, @escaping Submit) -> Double {
  { count, submit in
    let done = DispatchSemaphore(value: 0), each = count / producers + 1
    let took = crew(producers + 1) { member in
      member.start()
      if member.index == 0 {
        for _ in 0..<producers { done.wait() }
      } else {
        for _ in 1..<each { submit {} }
        submit { done.signal() }
      }
      member.end()
    }
    return took * Double(count) / Double(each * producers)
  }
}

/// How many calls of the kernel's futex a thousand closures cost, from four threads that never pause.
private func futexes(_ submit: @escaping Submit) -> Measure {
  .aside(rounds: 12, counted: true) {
    let count = 200_000, run = many(4)
    _ = run(count, submit)
    let before = cbench_counted_futexes()
    guard before >= 0 else { return [] }
    _ = run(count, submit)
    return [Double(cbench_counted_futexes() - before) / Double(count) * 1_000]
  }
}

/// At least so many jobs for each sample; in C twice as many, so that each of four producers lasts longer than a time
/// slice.
private let aMillion = 1_000_000

private func bareQueue(_ producers: Int32, _ placement: cbench_placement = CBENCH_FREE) -> [Contender] {
  contenders(CBENCH_QUEUES) { queue in
    .operations(slices: 1, least: 2 * aMillion) { cbench_queue_many(CBENCH_QUEUES, queue, producers, placement, $0) }
  }
}

private func sleepingQueue(_ producers: Int32, _ placement: cbench_placement = CBENCH_FREE) -> [Contender] {
  contenders(CBENCH_SLEEPING_QUEUES) { queue in
    .operations(slices: 1, least: aMillion) {
      cbench_queue_many(CBENCH_SLEEPING_QUEUES, queue, producers, placement, $0)
    }
  }
}

/// A sample of a million jobs from a caller on one processor to a consumer on another, in a process of their own; each
/// job.
private func pinned(_ body: @escaping @Sendable (Int) -> Double) -> Measure {
  apart({ _ = body(1_000) }) {
    _ = body(aMillion)  // its memory is there
    return [body(aMillion) / Double(aMillion)]
  }
}

private func pinned(_ body: @escaping @Sendable (Int, @escaping Submit) -> Double) -> [Contender] {
  takers.map { taker in Contender(taker.name, taker.role, pinned { body($0, taker.submit) }) }
}

private let oneProducer: [Row] = [
  Row(
    "M1c", "push on a bare run queue, consumer awake, in C",
    contenders(CBENCH_QUEUES) { queue in .operations(slices: 10, least: 1_024) { cbench_queue_push(queue, $0) } },
    targets: [.limit("CAS", 1.3)]),
  Row(
    "M1t", "submit a job to a busy thread, in C",
    [
      .ours("csched_target_submit") { cbench_submit_ours(false, $0) },
      .dispatch("dispatch_async_f") { cbench_submit_dispatch(false, $0) },
    ], targets: [.peer("dispatch_async_f", 0.3)]),
  Row(
    "M1tr", "the same, until all have run",
    [
      Contender(
        "csched_target_submit", .ours, .operations(slices: 1, least: aMillion) { cbench_submit_ours(true, $0) }),
      Contender(
        "dispatch_async_f", .dispatch, .operations(slices: 1, least: aMillion) { cbench_submit_dispatch(true, $0) }),
    ], targets: [.peer("dispatch_async_f", 0.3)]),
  Row(
    "M1tr-pinned", apartText,
    [
      Contender("csched_target_submit", .ours, pinned { cbench_submit_ours(true, $0) }),
      Contender("dispatch_async_f", .dispatch, pinned { cbench_submit_dispatch(true, $0) }),
    ], targets: [.peer("dispatch_async_f", 0.3)]),
  Row(
    "M1", "submit a closure to a busy thread, in Swift: no captures",
    all { count, submit in submissions(count, submit) { for _ in 0..<$0 { submit {} } } },
    targets: [.scaled(12), .peer("serial async", 0.2)]),
  Row(
    "M1v", "the same with two captures",
    all { count, submit in
      submissions(count, submit) { for i in 0..<$0 { submit { [captured] in use(captured, i) } } }
    }, targets: [.scaled(30), .peer("serial async", 0.35)]),
  Row(
    "M1r", "the same, no captures, until all have run", all(slices: 1, least: aMillion, untilRun),
    targets: [.scaled(30), .peer("serial async", 0.25)]),
  Row("M1r-pinned", apartText, pinned(untilRun), targets: [.peer("serial async", 0.25)]),
]

private func producers(_ count: Int) -> [Row] {
  let who = count == 1 ? "1 producer" : "\(count) producers"
  let bare = Row(
    "M2c-\(count)", "\(who), 1 consumer that is awake, bare queue, in C; each job", bareQueue(Int32(count)),
    targets: [.best(1)])
  let sleeping = Row(
    "M4-\(count)", "\(who), 1 consumer that sleeps when there is nothing, in C; each job",
    sleepingQueue(Int32(count)), targets: [.best(1)])
  let closures = Row(
    "M2-\(count)", "\(who), 1 consumer, in Swift; each closure run", all(slices: 1, least: aMillion, many(count)),
    targets: [.peer("serial async", 0.35)])
  if count > 1 { return [bare, sleeping, closures] }
  return [
    bare, Row("M2c-1-pinned", apartText, bareQueue(1, CBENCH_APART), targets: [.best(1)]),
    sleeping, Row("M4-1-pinned", apartText, sleepingQueue(1, CBENCH_APART), targets: [.best(1)]),
    closures, Row("M2-1-pinned", apartText, pinned(many(1)), targets: [.peer("serial async", 0.35)]),
  ]
}

let queueRows: [Row] =
  oneProducer + [1, 2, 4].flatMap(producers) + [
    Row(
      "M3", "4 producers: futex calls for a thousand closures, counted in an untimed process", unit: "calls",
      takers.filter { $0.role != .peer }.map { Contender($0.name, $0.role, futexes($0.submit)) },
      targets: [.promise(1, "<1")])
  ]
