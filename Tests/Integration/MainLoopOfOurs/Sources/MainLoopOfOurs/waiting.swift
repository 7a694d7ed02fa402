// What the program says, while it lasts, of work that waits for the main loop, or for Dispatch's main queue, and that
// nothing runs.
import Foundation
import Scheduler

/// The programs, by their argument, and what each says; `nil`: nothing.
private let programs: [String: (says: String?, body: @MainActor () -> Void)] = [
  "sleeps": (
    "MainScheduler: work has waited for 2 s for the main loop, which nothing runs. Call MainScheduler.run()",
    {
      later.schedule {}
      sleep(4)
    }
  ),
  "computes": (
    nil,
    {
      later.schedule {}
      let end = MonotonicTime.now + .seconds(4)
      while .now < end {}
    }
  ),
  "runs": (
    nil,
    {
      Thread.detachNewThread { for _ in 0..<30 { later.schedule { usleep(100_000) } } }
      MainScheduler.run(until: .now + .seconds(4))
    }
  ),
  "runs, with a task of the main actor": (
    "MainScheduler.run: the main actor's work waits in Dispatch's main queue, which nothing runs",
    {
      Task { log.add("never") }
      MainScheduler.run(until: .now + .seconds(4))
    }
  ),
  "runs, with a late task of the main actor": (
    "MainScheduler.run: the main actor's work waits in Dispatch's main queue, which nothing runs",
    {
      later.schedule(after: .seconds(1)) { Task { @MainActor in log.add("never") } }
      MainScheduler.run(until: .now + .seconds(4))
    }
  ),
]

/// Runs the program with this name, if there is one, and ends the process.
@MainActor func runProgram(_ name: String?) {
  guard let name, let program = programs[name] else { return }
  program.body()
  _exit(log.take() == [] ? 0 : 1)
}

/// Checks what each program says; all run at once, each in a process of its own.
@MainActor func checkWaiting() {
  let command = { (name: String) in "('\(CommandLine.arguments[0])' '\(name)' 2>&1; echo ended with $?)" }
  let pipes = programs.keys.map { ($0, popen(command($0), "r")!) }
  for (name, pipe) in pipes {
    let program = programs[name]!
    let text = FileHandle(fileDescriptor: fileno(pipe)).readDataToEndOfFile()
    let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
    pclose(pipe)
    check(lines.last == "ended with 0" && lines.count == (program.says == nil ? 1 : 2), "\(name): \(lines)")
    if let says = program.says { check(lines[0].hasPrefix("Scheduler: \(says)"), "\(name): \(lines)") }
  }
}
