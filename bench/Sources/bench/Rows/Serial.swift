import BenchKit
import CBench
import Dispatch
import Scheduler

private let one = SerialScheduler(name: "one"), other = SerialScheduler(name: "other")
private let oneQueue = DispatchQueue(label: "one"), otherQueue = DispatchQueue(label: "other")

@Sendable private func hop(_ left: Int, _ from: SerialScheduler, _ to: SerialScheduler, _ done: DispatchSemaphore) {
  if left == 0 { done.signal() } else { to.schedule { hop(left - 1, to, from, done) } }
}

@Sendable private func hop(_ left: Int, _ from: DispatchQueue, _ to: DispatchQueue, _ done: DispatchSemaphore) {
  if left == 0 { done.signal() } else { to.async { hop(left - 1, to, from, done) } }
}

private actor Station {
  private var touches = 0

  @inline(never) func touch() { touches += 1 }  // something to do, or there would be no hop

  /// There and back, so many hops in all.
  func hop(_ count: Int, to other: Station) async { for _ in 0..<(count / 2) { await other.touch() } }
}

private let oneActor = Station(), otherActor = Station()

/// Times a chain to its end.
private func chain(_ start: @escaping @Sendable (Int, DispatchSemaphore) -> Void) -> @Sendable (Int) -> Double {
  { count in
    let done = DispatchSemaphore(value: 0)
    return time {
      start(count, done)
      done.wait()
    }
  }
}

let serialRows = [
  Row(
    "P3", "a chain of hops between two serial queues, in Swift; each hop",
    [
      .ours("SerialScheduler", chain { hop($0, one, other, $1) }),
      .dispatch("serial async", chain { hop($0, oneQueue, otherQueue, $1) }),
      .peer(
        "Swift actors (switch in place)",
        chain { count, done in
          Task.detached {
            await oneActor.hop(count, to: otherActor)
            done.signal()
          }
        }),
    ], targets: [.peer("serial async", 0.2)]),
  Row(
    "P3h", "the same in C",
    [
      .ours("csched_target_submit") { cbench_serial_chain($0) },
      .dispatch("dispatch_async_f") { cbench_dispatch_chain($0) },
    ], targets: [.peer("dispatch_async_f", 0.2)]),
  Row(
    "P3c", "sync with a serial queue that is idle, in C",
    [
      .ours("csched_serial_sync") { cbench_serial_sync($0) }, .dispatch("dispatch_sync_f") { cbench_dispatch_sync($0) },
    ], targets: [.limit("L0s", 1.5), .peer("dispatch_sync_f", 0.5)]),
  Row(
    "P3s", "sync with a serial queue that is idle, in Swift",
    [
      .ours("SerialScheduler") { n in time { for _ in 0..<n { one.sync {} } } },
      .dispatch("serial sync") { n in time { for _ in 0..<n { oneQueue.sync {} } } },
    ], targets: [.limit("L0s", 1.5), .peer("serial sync", 0.5)]),
]
