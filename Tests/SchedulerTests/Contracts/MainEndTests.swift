import CTestSupport
import Foundation
import Scheduler
import TestSupport
import Testing

/// The message at a process's end about actions of the main scheduler that never ran. In processes of their own, whose
/// main thread belongs to Swift's runtime. (On the real one: Tests/Integration/MainLoopOfOurs.)
@Suite(.nothingIsLeft) struct MainEndTests {
  private static let main: MainScheduler = .asyncInstance

  /// Schedules two actions and a delayed one, and some that are disposed.
  private static func schedule() {
    main.schedule {}
    main.schedule {}.dispose()
    main.schedule {}
    main.schedule(after: .seconds(3_600)) {}
    main.schedule(after: .seconds(3_600)) {}.dispose()
  }

  private static func exitOnAnotherThread() -> Never {
    Thread.detachNewThread { exit(0) }
    while true { pause() }
  }

  /// How a process ends, and what of its actions it reports; `nil`: nothing.
  private static let ways: [(name: String, reported: String?, end: @Sendable () throws -> Void)] = [
    ("a task calls exit, as an async main does at its end", "3 of its actions never ran (1 delayed)", { schedule() }),
    (
      "another thread calls exit", "3 of its actions never ran (1 delayed)",
      {
        schedule()
        exitOnAnotherThread()
      }
    ),
    (
      "the main thread calls exit", "3 of its actions never ran (1 delayed)",
      {
        onMainThread {
          schedule()
          exit(0)
        }
      }
    ),
    ("an action is delayed", "1 of its actions never ran (1 delayed)", { main.schedule(after: .seconds(60)) {} }),
    (
      "a queue on the main scheduler waits", "1 of its actions never ran:",
      {
        let queue = SerialScheduler(target: MainScheduler.instance)
        for _ in 0..<3 { queue.schedule {} }
      }
    ),
    (
      "a great many wait", "at least 1000 of its actions never ran:",
      { for _ in 0..<1_001 { main.schedule {} } }
    ),
    (
      "a host was given, and never ran", "3 of its actions never ran (1 delayed)",
      {
        precondition(MainScheduler.enter { _ in })
        schedule()
      }
    ),
    (
      "actions were scheduled after the last run", "2 of its actions never ran:",
      {
        onMainThread {
          MainScheduler.runUntilIdle()
          schedule()
          exit(0)
        }
      }
    ),
    ("all are disposed", nil, { for _ in 0..<3 { main.schedule {}.dispose() } }),
    ("none was scheduled", nil, { _ = main }),
    (
      "a run served all that was due", nil,
      {
        onMainThread {
          schedule()
          MainScheduler.runUntilIdle()
          exit(0)
        }
      }
    ),
    (
      "inside of an action", nil,
      {
        onMainThread {
          main.schedule { exit(0) }
          schedule()
          MainScheduler.run()
        }
      }
    ),
    (
      "another thread calls exit while the main loop runs", nil,
      {
        onMainThread {
          main.schedule { exitOnAnotherThread() }
          schedule()
          MainScheduler.run()
        }
      }
    ),
    (
      "a stop has ended the run", nil,
      {
        onMainThread {
          main.schedule { MainScheduler.stop() }
          schedule()
          MainScheduler.run()
          exit(0)
        }
      }
    ),
    (
      "a host runs the loop", nil,
      {
        onMainThread {
          guard (try? MainScheduler.hostedDescriptor()) != nil else { exit(1) }
          ctest_take_main_loop()  // which only the real main thread keeps
          guard MainScheduler.runReady() else { exit(2) }
          schedule()
          exit(0)
        }
      }
    ),
    (
      "after a shutdown", nil,
      {
        schedule()
        Schedulers.shutdown()
      }
    ),
  ]

  @Test(
    "a process that ends prints how many actions of the main scheduler never ran, and which call runs them",
    arguments: ways.indices)
  func ends(index: Int) async {
    let end = Self.ways[index]
    let result = await withExitArgument(index) {
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        let index: Int = exitArgument()
        try Self.ways[index].end()
        exit(0)  // the test library would end it by _exit
      }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    let lines = text.split(separator: "\n").filter { $0.hasPrefix("Scheduler: ") }
    guard let reported = end.reported else {
      return #expect(lines == [], "\(end.name): \(text)")
    }
    #expect(lines.count == 1, "\(end.name): \(text)")
    for part in [
      "Scheduler: MainScheduler: the process ends, and \(reported)", "MainScheduler.run()",
      "MainScheduler.useDispatchMain() (module SchedulerDispatch)", "SchedulerExecutorsLinked",
    ] { #expect(lines.first?.contains(part) == true, "\(end.name): \(text)") }
  }

  @Test("at the end of a process Schedulers.onDrop gets each action of the main scheduler that never ran")
  func reported() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let reports = Schedulers.onDrop { scheduler, reason in
        FileHandle.standardError.write(
          Data("reported \(scheduler === MainScheduler.instance) \(reason == .stopped)\n".utf8))
      }
      _ = Unmanaged.passRetained(reports as AnyObject)
      Self.schedule()
      exit(0)
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    let reported = text.split(separator: "\n").filter { $0.hasPrefix("reported ") }
    #expect(reported == Array(repeating: "reported true true", count: 3), "\(text)")
  }
}
