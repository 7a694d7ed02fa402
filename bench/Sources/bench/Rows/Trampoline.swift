import CBench
import Dispatch
import Foundation
import Scheduler

private let scheduler = CurrentThreadScheduler.instance

/// Actions that wait at a time.
private let batch = 256

private func nested(_ count: Int) -> Double {
  time {
    for _ in 0..<(count / batch + 1) {
      scheduler.schedule { for _ in 0..<batch { scheduler.schedule {} } }
    }
  }
}

private func dispatchNested(_ count: Int) -> Double {
  let queue = DispatchQueue(label: "nested")
  return time {
    for _ in 0..<(count / batch + 1) {
      queue.sync { for _ in 0..<batch { queue.async {} } }
    }
    queue.sync {}
  }
}

@Sendable private func hop(_ left: Int) -> any Disposable {
  left == 0 ? Disposables.create() : scheduler.schedule(left - 1, action: hop)
}

private func residentKilobytes() -> Double {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  return Double(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }?.filter(\.isNumber) ?? "") ?? .nan
}

let trampolineRows = [
  Row(
    id: "T1c", work: "trampoline, a nested job, in C",
    contenders: [.ours("csched_trampoline") { cbench_trampoline_nested($0) }],
    targets: [.limit("L7c", 2, plus: 5)]),
  Row(
    id: "T1", work: "trampoline, a nested action, in Swift",
    contenders: [.ours("CurrentThreadScheduler", nested), .dispatch("serial async from itself", dispatchNested)],
    targets: [
      .fixed(1_231 / 20, "≤61.6: 1/20 of RxSwift's 1231 on the reference machine"),
      .peer("serial async from itself", 0.1),
    ]),
  Row(
    id: "T1o", work: "trampoline, an outermost action, in Swift",
    contenders: [
      .ours("CurrentThreadScheduler") { n in time { for _ in 0..<n { scheduler.schedule {} } } },
      .dispatch("serial sync") { n in
        let queue = DispatchQueue(label: "outermost")
        return time { for _ in 0..<n { queue.sync {} } }
      },
    ], targets: [.peer("serial sync", 0.5)]),
  Row(
    id: "T2c", work: "a chain of jobs, each submits the next, in C; each hop",
    contenders: [.ours("csched_trampoline") { cbench_trampoline_chain($0) }]),
  Row(
    id: "T2", work: "a chain of actions that return each other's disposables; each hop",
    contenders: [.ours("CurrentThreadScheduler") { n in time { _ = scheduler.schedule(n, action: hop) } }]),
  Row(
    id: "T2m", work: "memory that ten million hops take", unit: "kB",
    contenders: [
      Contender(
        name: "CurrentThreadScheduler", role: .ours,
        measure: .figure {
          let before = residentKilobytes()
          let token = scheduler.schedule(10_000_000, action: hop)
          defer { token.dispose() }
          return max(0, residentKilobytes() - before)
        })
    ], targets: [.fixed(1_000, "flat: under 1 MB")]),
]
