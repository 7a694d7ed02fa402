// All tasks of a program on the pool and the main loop, because its main, which is not async, asks for it first.
import Cases
import Foundation
import Scheduler
import SchedulerExecutors
import SchedulerMainLoop

@main struct Program {
  static func main() throws {
    switch CommandLine.arguments[1] {
    case "late":
      Task {}
      do {
        try GlobalExecutors.install()
        preconditionFailure("it must come first")
      } catch { print(error) }
    case "late, by a task of the main actor":
      Task { @MainActor in exit(0) }
      precondition((try? GlobalExecutors.install()) == nil && !GlobalExecutors.isInstalled)
      print("late; its task runs all the same")
      dispatchMain()
    case "another thread":
      Thread.detachNewThread { try? GlobalExecutors.install() }
      while true { sleep(1) }
    case "fork":
      try GlobalExecutors.install()
      let ended = DispatchSemaphore(value: 0)
      Task.detached {
        _ = try await cases["yields"]!()
        ended.signal()
      }
      ended.wait()
      let fork = unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)
      let child = fork()
      if child == 0 {
        Task {
          for name in ["actors", "main actor", "sleeps", "structured"] { print("\(name): \(try await cases[name]!())") }
          exit(0)
        }
        MainScheduler.run()
      }
      var status: Int32 = 0
      waitpid(child, &status, 0)
      precondition(status == 0, "\(status)")
      print("tasks run in a child of fork, on a pool of its own")
    case let how:
      try GlobalExecutors.install()
      precondition(GlobalExecutors.isInstalled)
      Task {
        for name in cases.keys.sorted() { print("\(name): \(try await cases[name]!())") }
        precondition(
          GlobalExecutors.jobs.onPool > 10_000 && GlobalExecutors.jobs.onMain > 1_000, "\(GlobalExecutors.jobs)")
        print("\(cases.count) cases, and \(GlobalExecutors.jobs)")
        if how == "installed" { MainScheduler.stop() } else { exit(0) }
      }
      if how == "installed" { return MainScheduler.run() }
      MainScheduler.useDispatchMain()
      if how == "RunLoop.main.run()" { RunLoop.main.run() } else { dispatchMain() }
    }
  }
}
