// All tasks of a program on the pool and the main loop, because its main, which is not async, requests that first.
import Cases
import Foundation
import Scheduler
import SchedulerDispatch
import SchedulerExecutors

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
    case "idle":
      try GlobalExecutors.install()
      Task { @MainActor in
        try await Task.sleep(for: .milliseconds(100))  // the main loop has its host
        let before = switches()
        try await Task.sleep(for: .seconds(1))
        let count = switches() - before
        precondition(count < 100, "\(count) context switches in a second without work")
        print("a host of the main loop sleeps while there is no work")
        exit(0)
      }
      RunLoop.main.run()
    case "blocks":
      try GlobalExecutors.install()
      Task { @MainActor in _exit(1) }
      sleep(4)  // in place of the loop of a C library
      _exit(0)
    case "in turns":
      try GlobalExecutors.install()
      inTurns()
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
      if how.hasSuffix("hosting") { MainScheduler.useDispatchMain() }
      if how.hasPrefix("RunLoop.main.run()") { RunLoop.main.run() } else { dispatchMain() }
    }
  }

  /// How often threads of this process have gone to sleep.
  static func switches() -> Int {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_nvcsw
  }

  /// Actions of one thread, jobs of the main actor and blocks of Dispatch's main queue, while the main thread runs the
  /// main loop and Foundation's in turns: each comes once, in its order, on the main thread, in both loops.
  @MainActor static func inTurns() {
    let count = 300, actions = Protected([Int]()), jobs = Protected([Int]()), blocks = Protected([Int]())
    let ticks = Protected(0)
    let ticking = MainScheduler.instance.schedule(.every(.milliseconds(1))) { ticks.withLock { $0 += 1 } }
    Thread.detachNewThread {
      for i in 0..<count {
        MainScheduler.asyncInstance.schedule {
          precondition(Thread.isMainThread && Schedulers.current is MainScheduler)
          actions.withLock { $0.append(i) }
        }
        DispatchQueue.main.async { blocks.withLock { $0.append(i) } }
        usleep(200)
      }
    }
    Task.detached {
      for i in 0..<count {
        await MainActor.run {
          MainActor.assertIsolated()
          precondition(Thread.isMainThread)
          jobs.withLock { $0.append(i) }
        }
        if i % 10 == 0 { try await Task.sleep(for: .microseconds(100)) }
      }
    }
    let all = Array(0..<count), end = MonotonicTime.now.advanced(by: .seconds(60))
    var turns = 0
    while actions.read().count < count || jobs.read().count < count || blocks.read().count < count || turns < 40 {
      precondition(end > .now, "\(actions.read().count) \(jobs.read().count) \(blocks.read().count)")
      if turns % 2 == 0 {
        RunLoop.main.run(until: Date() + 0.005)
      } else {
        MainScheduler.run(until: MonotonicTime.now.advanced(by: .milliseconds(5)))
      }
      turns += 1
    }
    ticking.dispose()
    precondition(actions.read() == all && jobs.read() == all && blocks.read() == all && ticks.read() > 40)
    print("\(count) of each kind in turns, in their order")
  }
}
