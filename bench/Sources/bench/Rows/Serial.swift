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
    id: "P3", work: "a chain of hops between two serial queues; each hop",
    contenders: [
      .ours("SerialScheduler", chain { hop($0, one, other, $1) }),
      .dispatch("serial async", chain { hop($0, oneQueue, otherQueue, $1) }),
    ], targets: [.peer("serial async", 1.0 / 3)]),
  Row(
    id: "P3c", work: "sync with a serial queue that is idle, in C",
    contenders: [.ours("csched_serial_sync") { cbench_serial_sync($0) }], targets: [.limit("K1", 2)]),
  Row(
    id: "P3s", work: "sync with a serial queue that is idle, in Swift",
    contenders: [
      .ours("SerialScheduler") { n in time { for _ in 0..<n { one.sync {} } } },
      .dispatch("serial sync") { n in time { for _ in 0..<n { oneQueue.sync {} } } },
    ], targets: [.limit("K1", 2), .peer("serial sync", 0.5)]),
]
