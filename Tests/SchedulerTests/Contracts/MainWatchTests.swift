import CTestSupport
import Foundation
import Scheduler
import TestSupport
import Testing

/// The message of a running process about work that waits for a main loop which nothing runs. In processes of their
/// own, whose main thread belongs to the test runner and sleeps. (On the real one: Tests/Integration/MainLoopOfOurs.)
@Suite(.nothingIsLeft) struct MainWatchTests {
  private static let main: MainScheduler = .instance, later: MainScheduler = .asyncInstance
  private static let queue = SerialScheduler(target: MainScheduler.instance)

  private static func hang() -> Never { while true { pause() } }

  /// Calls `body` on a thread that takes the main loop.
  private static func onMain(_ body: @escaping @Sendable () -> Void) {
    Thread.detachNewThread {
      ctest_take_main_loop()
      body()
    }
  }

  private static let waiting: [(name: String, body: @Sendable () throws -> Void)] = [
    ("an action", { main.schedule {} }),
    ("many actions", { for _ in 0..<1_000 { main.schedule {} } }),
    ("a delayed action", { main.schedule(after: .milliseconds(10)) {} }),
    ("an action that is due later than the first look", { main.schedule(after: .seconds(1)) {} }),
    ("a periodic action", { main.schedule(.every(.milliseconds(10))) {} }),
    ("a queue", { queue.schedule {} }),
    ("a queue, later", { queue.schedule(after: .milliseconds(10)) {} }),
    ("a group", { ActionGroup().schedule(on: main) {} }),
    ("an await", { Task { try await main.perform {} } }),
    ("a sleep", { Task { try await main.sleep(for: .milliseconds(1)) } }),
    (
      "an action beside one that is due in an hour",
      {
        main.schedule(after: .seconds(3_600)) {}
        Thread.sleep(forTimeInterval: 0.7)
        main.schedule {}
      }
    ),
    (
      "an earlier delayed action beside one that is due in an hour",
      {
        main.schedule(after: .seconds(3_600)) {}
        Thread.sleep(forTimeInterval: 0.7)
        main.schedule(after: .milliseconds(10)) {}
      }
    ),
    (
      "an action after the last run",
      {
        onMain {
          MainScheduler.run(until: .now + .milliseconds(300))
          main.schedule(after: .milliseconds(1)) {}
          hang()
        }
      }
    ),
    (
      "an action after some runs, with work between them",
      {
        onMain {
          for _ in 0..<10 {
            MainScheduler.run(until: .now + .milliseconds(10))
            queue.schedule {}
            Thread.sleep(forTimeInterval: 0.1)
          }
          hang()
        }
      }
    ),
  ]

  private static let served: [(name: String, body: @Sendable () throws -> Void)] = [
    ("nothing waits", { _ = main }),
    ("it is disposed", { for _ in 0..<3 { main.schedule {}.dispose() } }),
    ("it is not due", { main.schedule(after: .seconds(3_600)) {} }),
    (
      "the main thread runs the loop",
      {
        main.schedule {}
        onMain { MainScheduler.run() }
      }
    ),
    (
      "the main thread runs the loop soon",
      {
        main.schedule {}
        Thread.sleep(forTimeInterval: 1)
        onMain {
          MainScheduler.runUntilIdle()
          hang()
        }
      }
    ),
    (
      "the main thread is in a long action",
      {
        onMain {
          later.schedule { hang() }
          MainScheduler.run()
        }
        Thread.sleep(forTimeInterval: 0.1)
        main.schedule {}
      }
    ),
    (
      "a host runs the loop",
      {
        onMain {
          guard (try? MainScheduler.hostedDescriptor()) != nil else { exit(1) }
          main.schedule {}
          hang()
        }
      }
    ),
    (
      "a stop has ended the run",
      {
        onMain {
          MainScheduler.asyncInstance.schedule { MainScheduler.stop() }
          MainScheduler.run()
          main.schedule(after: .milliseconds(1)) {}
          hang()
        }
      }
    ),
    (
      "after a shutdown",
      {
        main.schedule {}
        Schedulers.shutdown()
        main.schedule {}
      }
    ),
  ]

  /// Returns the lines that a process has printed whose `body` was called.
  private func lines(of result: ExitTest.Result?) -> [Substring] {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self).split(separator: "\n")
      .filter { $0.contains("which nothing runs") }
  }

  @Test("work that waits for a main loop which nothing runs is reported, once", arguments: waiting.indices)  // MW1
  func reported(index: Int) async {
    let result = await withExitArgument(index) {
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        let index: Int = exitArgument()
        try Self.waiting[index].body()
        try await Task.sleep(for: .seconds(6))
        exit(0)
      }
    }
    let lines = lines(of: result)
    #expect(lines.count == 1, "\(Self.waiting[index].name): \(lines)")
    for part in ["the main loop, which nothing runs", "MainScheduler.run()", "SchedulerExecutorsLinked"] {
      #expect(lines.first?.contains(part) == true, "\(Self.waiting[index].name): \(lines)")
    }
  }

  @Test("a main loop that is run, hosted, ended or busy is not reported", arguments: served.indices)  // MW1
  func silent(index: Int) async {
    let result = await withExitArgument(index) {
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        let index: Int = exitArgument()
        try Self.served[index].body()
        try await Task.sleep(for: .seconds(4))
        exit(0)
      }
    }
    #expect(lines(of: result) == [], "\(Self.served[index].name)")
  }
}
