import BenchKit
import Foundation
import Scheduler

/// What the threads called `name` have done so far: how often they went to sleep, and ticks of processor time.
private func activity(of name: String) -> (sleeps: Int, ticks: Int) {
  var sleeps = 0, ticks = 0
  for task in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? [] {
    let folder = "/proc/self/task/\(task)"
    guard let comm = try? String(contentsOfFile: "\(folder)/comm", encoding: .utf8), comm == "\(name)\n",
      let status = try? String(contentsOfFile: "\(folder)/status", encoding: .utf8),
      let stat = try? String(contentsOfFile: "\(folder)/stat", encoding: .utf8)
    else { continue }
    for line in status.split(separator: "\n") where line.contains("ctxt_switches") {
      sleeps += Int(line.filter(\.isNumber)) ?? 0
    }
    let fields = stat.split(separator: " ")
    if fields.count > 14 { ticks += (Int(fields[13]) ?? 0) + (Int(fields[14]) ?? 0) }
  }
  return (sleeps, ticks)
}

/// What eight idle threads do in a second.
private func idle(_ figure: @escaping @Sendable ((sleeps: Int, ticks: Int)) -> Double) -> Measure {
  .figures(rounds: 3) {
    let schedulers = (0..<8).compactMap { _ in try? ThreadScheduler(name: "idle") }
    for scheduler in schedulers { scheduler.schedule {} }
    usleep(50_000)
    let before = activity(of: "idle")
    sleep(1)
    let after = activity(of: "idle")
    for scheduler in schedulers { scheduler.stop() }
    for scheduler in schedulers { scheduler.join() }
    return [figure((after.sleeps - before.sleeps, after.ticks - before.ticks))]
  }
}

let idleRows = [
  Row(
    "H4", "wakeups of eight idle threads", unit: "a second",
    [Contender("ThreadScheduler", .ours, idle { Double($0.sleeps) })], targets: [.promise(0, "0")]),
  Row(
    "H4c", "processor time of eight idle threads", unit: "%",
    [
      Contender("ThreadScheduler", .ours, idle { Double($0.ticks) * 100 / Double(sysconf(Int32(_SC_CLK_TCK))) })
    ], targets: [.promise(0.1, "≤0.1 %")]),
]
