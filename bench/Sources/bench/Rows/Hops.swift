import BenchKit
import CBench
import Dispatch
import Foundation
import NIOCore
import NIOPosix
import Scheduler
import Synchronization

/// Times single round trips to a thread that sleeps: after a pause, submit something that answers, and sleep until it
/// does.
/// The answer is the same for all: a semaphore.
private func parked(_ count: Int, _ submit: Submit) -> [UInt64] {
  let answer = DispatchSemaphore(value: 0)
  return (0..<count).map { _ in
    usleep(300)
    return UInt64(
      time {
        submit { answer.signal() }
        answer.wait()
      })
  }
}

private final class Flag: Sendable { let value = Atomic(0) }

/// Times round trips to a thread that was busy a moment ago, with the caller watching for the answer.
private func hot(_ count: Int, _ submit: Submit) -> [UInt64] {
  let flag = Flag()
  var last = cbench_now()
  return (1...count).map { n in
    submit { flag.value.store(n, ordering: .releasing) }
    while flag.value.load(ordering: .acquiring) != n {}
    let now = cbench_now()
    defer { last = now }
    return now - last
  }
}

/// What takes closures, made where it is asked for. A structure for the same reason as in Queues.swift.
private struct Taker {
  let name: String, role: Contender.Role, make: @Sendable () -> Submit
}

private let takers = [
  Taker(name: "ThreadScheduler", role: .ours) {
    let made = try! ThreadScheduler(name: "hop")
    return { made.schedule($0) }
  },
  Taker(name: "serial async", role: .dispatch) {
    let made = DispatchQueue(label: "hop")
    return { made.async(execute: $0) }
  },
  Taker(name: "NIO execute", role: .peer) {
    let made = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()
    return { made.execute($0) }
  },
]

private typealias Trips = @Sendable (Int, Submit) -> [UInt64]

/// In this process, with threads where the system puts them.
private func free(_ count: Int, _ trips: @escaping Trips) -> [Contender] {
  takers.map { each in
    let taker = Lazy(each.make)
    return Contender(each.name, each.role, .latencies(count: count) { trips($0, taker.value) })
  }
}

private final class Lazy: @unchecked Sendable {  // one thread measures
  private let make: @Sendable () -> Submit
  private(set) lazy var value = make()
  init(_ make: @escaping @Sendable () -> Submit) { self.make = make }
}

private func pinned(_ count: Int, _ trips: @escaping Trips) -> [Contender] {
  takers.map { each in
    let taker = Lazy(each.make)
    return Contender(
      each.name, each.role, apart({ _ = parked(5, taker.value) }) { trips(count, taker.value).map { Double($0) } })
  }
}

/// Round trips in C. Whoever only looks would have a processor to itself during a pause, so that is no round trip to a
/// thread that sleeps.
private func trips(_ kind: cbench_kind, _ placement: cbench_placement, gap: Int32, count: Int) -> [Contender] {
  contenders(kind, where: { gap == 0 || String(cString: cbench_name(kind, $0)) != "bare spinning" }) { trip in
    .latencies(count: count) { count in
      var took = [UInt64](repeating: 0, count: count)
      cbench_trips(kind, trip, placement, gap, count, &took)
      return took
    }
  }
}

let hopRows = [
  Row(
    "H1", "round trip to a thread that sleeps, p50, in Swift", free(40, parked),
    targets: [.limit("L3", 1.15), .peer("serial async", 0.9), .peer("NIO execute", 0.9)]),
  Row("H1-pinned", apartText, pinned(40, parked), targets: [.limit("L3-pinned", 1.15), .best(1)]),
  Row(
    "H1c", "round trip to a thread that sleeps, p50, in C", trips(CBENCH_TRIPS, CBENCH_FREE, gap: 300, count: 40),
    targets: [.limit("L3", 1.15), .best(1)]),
  Row(
    "H1c-pinned", apartText, trips(CBENCH_TRIPS, CBENCH_APART, gap: 300, count: 40),
    targets: [.limit("L3-pinned", 1.15), .best(1)]),
  Row(
    "H2", "round trip to a thread that is awake, p50, in Swift", free(2_000, hot),
    targets: [.limit("L1", 6), .peer("serial async", 0.1)]),
  Row("H2-pinned", apartText, pinned(2_000, hot), targets: [.limit("L1", 6), .best(1)]),
  Row(
    "H2c", "round trip to a thread that is awake, p50, in C", trips(CBENCH_TRIPS, CBENCH_FREE, gap: 0, count: 400),
    targets: [.limit("L1", 6), .best(1)]),
  Row(
    "H2c-pinned", apartText, trips(CBENCH_TRIPS, CBENCH_APART, gap: 0, count: 400),
    targets: [.limit("L1", 6), .best(1)]),
  Row(
    "H3", "round trip between two loops, each in a host that waits on a descriptor, on one processor, p50",
    trips(CBENCH_HOSTED_TRIPS, CBENCH_TOGETHER, gap: 0, count: 400),
    targets: [.limit("L4", 1.15), .peer("libuv", 0.9)]),
  Row(
    "H3-free", "the same, where the system puts the threads",
    trips(CBENCH_HOSTED_TRIPS, CBENCH_FREE, gap: 0, count: 400), targets: [.peer("libuv", 0.9)]),
  Row(
    "H3-pinned", apartText, trips(CBENCH_HOSTED_TRIPS, CBENCH_APART, gap: 0, count: 400),
    targets: [.peer("libuv", 0.9)]),
]
