import CBench
import Dispatch
import Foundation
import NIOCore
import Scheduler
import Synchronization

/// Times single round trips to a thread that sleeps: after a pause, submit something that answers, and sleep until it does.
/// The answer is the same for all: a semaphore.
private func parked(_ submit: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) -> Measure {
  .latencies(count: 40) { count in
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
}

private final class Flag: Sendable { let value = Atomic(0) }

/// Times round trips to a thread that was busy a moment ago, with the caller watching for the answer.
private func hot(_ submit: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) -> @Sendable (Int) -> Double {
  { count in
    let flag = Flag()
    return time {
      for n in 1...count {
        submit { flag.value.store(n, ordering: .releasing) }
        while flag.value.load(ordering: .acquiring) != n {}
      }
    }
  }
}

let hopRows = [
  Row(
    id: "H1", work: "round trip to a thread that sleeps, p50",
    contenders: [
      Contender(name: "ThreadScheduler", role: .ours, measure: parked { thread.schedule($0) }),
      Contender(name: "serial async", role: .dispatch, measure: parked { serial.async(execute: $0) }),
      Contender(name: "NIO execute", role: .peer, measure: parked { nioLoop.execute($0) }),
    ], targets: [.limit("L3", 1.15), .peer("serial async", 0.9), .peer("NIO execute", 0.9)]),
  Row(
    id: "H2", work: "round trip to a thread that is awake",
    contenders: [
      .ours("ThreadScheduler", hot { thread.schedule($0) }),
      .dispatch("serial async", hot { serial.async(execute: $0) }),
      .peer("NIO execute", hot { nioLoop.execute($0) }),
    ], targets: [.limit("L1", 8), .peer("serial async", 0.1)]),
  Row(
    id: "H3", work: "round trip between two loops, each in a host that waits for its descriptor, on one processor",
    contenders: [.ours("csched_loop_fd") { cbench_hosted_round_trip($0) }]
      + (cbench_has_uv() ? [.peer("libuv async") { cbench_uv_round_trip($0) }] : []),
    targets: [.limit("L4", 1.15), .peer("libuv async", 0.9)]),
]
