import BenchKit
import CBench
import Dispatch
import Foundation
import Scheduler
import SchedulerRx

private let scheduler = CurrentThreadScheduler.instance

/// Actions that wait at a time.
private let batch = 256

private func nested(_ count: Int) -> Double {
  time {
    for _ in 0..<(count / batch + 1) {
      scheduler.schedule { for _ in 0..<batch { scheduler.schedule {} } }
    }
  } * Double(count) / Double((count / batch + 1) * batch)
}

private func dispatchNested(_ count: Int) -> Double {
  let queue = DispatchQueue(label: "nested")
  return time {
    for _ in 0..<(count / batch + 1) {
      queue.sync { for _ in 0..<batch { queue.async {} } }
    }
    queue.sync {}
  } * Double(count) / Double((count / batch + 1) * batch)
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
    "T1c", "trampoline, a nested job, in C",
    [
      .ours("csched_trampoline") { cbench_trampoline_nested($0) },
      .dispatch("dispatch_async_f from itself") { cbench_dispatch_nested($0) },
    ], targets: [.sum([(1, "CAS"), (2, "L7c")], plus: 1)]),
  Row(
    "T1", "trampoline, a nested action, in Swift",
    [.ours("CurrentThreadScheduler", nested), .dispatch("serial async from itself", dispatchNested)],
    targets: [.scaled(20), .peer("serial async from itself", 0.1)],
    references: ["RxSwift 6.10 1231 ns on another machine"]),
  Row(
    "T1-allocations", "the same: allocations of each, counted in an untimed process", unit: "allocations",
    [
      Contender("CurrentThreadScheduler", .ours, allocations(40_960, nested)),
      Contender("serial async from itself", .dispatch, allocations(40_960, dispatchNested)),
    ], targets: [.promise(0.05, "0: ≤0.05")]),
  Row(
    "T1o", "trampoline, an outermost action, in Swift",
    [
      .ours("CurrentThreadScheduler") { n in time { for _ in 0..<n { scheduler.schedule {} } } },
      .dispatch("serial sync") { n in
        let queue = DispatchQueue(label: "outermost")
        return time { for _ in 0..<n { queue.sync {} } }
      },
    ], targets: [.peer("serial sync", 0.5)], references: ["RxSwift 6.10 656 ns on another machine"]),
  Row(
    "T2c", "a chain of jobs, each submits the next, in C; each hop",
    [
      .ours("csched_trampoline") { cbench_trampoline_chain($0) },
      .dispatch("dispatch_async_f from itself") { cbench_dispatch_self_chain($0) },
    ]),
  Row(
    "T2", "a chain of actions that return each other's disposables; each hop",
    [.ours("CurrentThreadScheduler") { n in time { _ = scheduler.schedule(n, action: hop) } }], targets: [.scaled(250)],
    references: ["RxSwift 6.10 1863 ns on another machine"]),
  Row(
    "T2m", "memory that ten million hops take", unit: "kB",
    [
      Contender(
        "CurrentThreadScheduler", .ours,
        .figures(rounds: Scale.isQuick ? 1 : 3) {
          let before = residentKilobytes()
          let token = scheduler.schedule(10_000_000, action: hop)
          defer { token.dispose() }
          return [max(0, residentKilobytes() - before)]
        })
    ], targets: [.promise(1_000, "flat: under 1 MB")]),
]
