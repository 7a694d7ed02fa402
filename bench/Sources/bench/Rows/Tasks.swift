import BenchKit
import Foundation

/// The program `tasks` (Sources/tasks), beside this one, with each kind of executors: the same code in two processes,
/// which have their turns.
private func program(_ arguments: String...) -> Helper {
  let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
  return Helper(
    "tasks", URL(fileURLWithPath: "/usr/bin/env"), arguments.map { $0.replacing("tasks", with: folder.path + "/tasks") }
  )
}

private let ours = program("tasks", "ours"), counted = program("SCHEDULER_DIAGNOSTICS=1", "tasks", "ours")
private let theirs = program("tasks")

/// What both say to a request; each figure is of so many operations, one that is no time of one.
private func both(_ request: String, _ count: Int, operations: Int? = nil, rounds: Int = 12) -> [Contender] {
  let count = Scale.isQuick ? max(1, min(count, count / 10 + 10)) : count
  return [("ours", Contender.Role.ours, ours), ("Swift's own", .peer, theirs)].map { name, role, program in
    Contender(
      name, role,
      .asked(rounds: rounds, program, request: "\(request) \(count)", operations: Double(operations ?? count)))
  }
}

private func row(
  _ id: String, _ work: String, unit: String = "ns", _ contenders: [Contender], most: Double = 1
) -> Row { Row(id, work, unit: unit, contenders, targets: [.peer("Swift's own", most)]) }

let taskRows = [
  row("E1a", "a task is spawned and awaited, each", both("spawn", 100_000), most: 0.6),
  row("E1b", "a group of 100 000 tasks, each", both("group", 100_000), most: 0.8),
  row("E1c", "async let, fib(18) of 8 361 calls", unit: "ms", both("async-let", 18, operations: 1_000_000)),
  row("E1d", "Task.yield, each", both("yield", 100_000), most: 0.6),
  row("E1e", "a call of an actor that calls another, each", both("ping-pong", 100_000)),
  row("E1f", "8 tasks call one actor, each call", both("one-actor", 100_000)),
  row("E1g", "lateness of Task.sleep(1 ms)", both("late", 100, operations: 1)),
  row("E1h", "to the main actor and back", both("main", 10_000)),
  row("E1i", "10 000 tasks sleep, are cancelled, and end, each", both("asleep", 10_000)),
  row(
    "E1m", "memory of a task that sleeps, of 10 000", unit: "B", both("asleep-bytes", 10_000, operations: 1, rounds: 3)),
  row("E1n", "threads after all that", both("threads", 1, rounds: 3)),
  Row(
    "E1j", "jobs that come to the executor for each Task.yield, counted", unit: "jobs",
    [Contender("ours", .ours, .asked(rounds: 3, counted, request: "jobs 10000", operations: 1))]),
]
