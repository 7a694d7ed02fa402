import CTestSupport
import Foundation
import Scheduler
import TestSupport
import Testing

/// The contracts on the process's main thread, which belongs to the test runner here: so in a process whose runner
/// leaves it to us.
@Suite(.nothingIsLeft) struct MainProcessTests {
  @Test(
    "a scheduler of the main loop runs on one thread, in a process of its own the main one",
    arguments: SchedulerUnderTest.all.filter(\.isMain))
  func thread(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), seen = Log<Bool>(), isOnThread = Log<Bool>()
    for delay in [Duration.zero, .milliseconds(1)] {
      scheduler.schedule(after: delay) {
        isOnThread.add(MainScheduler.instance.isOnThread)
        seen.add(Thread.isMainThread)
      }
    }
    #expect(eventually { seen.entries.count == 2 })
    #expect(seen.entries.allSatisfy { $0 == SchedulerUnderTest.isMainProcess })
    #expect(isOnThread.entries == [true, true])
    onThreads(1) { _ in #expect(!MainScheduler.instance.isOnThread) }
  }

  @Test(
    "a periodic action for the main actor, and a handler of a signal, run on it",
    .enabled(if: SchedulerUnderTest.isMainProcess),
    arguments: SchedulerUnderTest.all.filter { $0.isMain && SchedulerUnderTest.loops.map(\.name).contains($0.name) })
  func mainActor(_ test: SchedulerUnderTest) throws {
    let scheduler = try #require(try test.make() as? MainScheduler), seen = Log<Int>(), ticks = Counter()
    let token = scheduler.schedule(
      .every(.milliseconds(1)),
      onMainActor: {
        MainActor.preconditionIsolated()
        ticks.increment()
      })
    #expect(eventually { ticks.value >= 3 })
    token.disposeAndWait()
    let number = scheduler === MainScheduler.instance ? OwnSignal.mainActor : OwnSignal.mainActorAsync
    let source = scheduler.onSignal(
      number,
      onMainActor: {
        MainActor.preconditionIsolated()
        seen.add($0)
      }, onDrop: { Issue.record($0) })
    scheduler.schedule(onMainActor: { kill(getpid(), number) })  // behind the start of the source
    #expect(eventually { seen.entries == [1] })
    source.disposeAndWait()
  }

  /// Those are the tests whose first argument is a `SchedulerUnderTest` without a label.
  @Test(
    "the contracts hold on the main thread, in a process of its own", .enabled(if: !SchedulerUnderTest.isMainProcess))
  func contracts() throws {
    // By popen: Foundation's Process loses 32 bytes, which AddressSanitizer finds.
    let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
    let tests = #"--testing-library swift-testing --filter '^SchedulerTests\..*/\w+\(_:'"#
    let output = try #require(popen("SCHEDULER_TEST_MAIN=1 exec '\(program)' \(tests) 2>&1", "r"))
    let text = String(decoding: FileHandle(fileDescriptor: fileno(output)).readDataToEndOfFile(), as: UTF8.self)
    let status = pclose(output)
    let lines = text.split(separator: "\n")
    let found = lines.filter { $0.contains(" recorded an issue ") }.prefix(20) + lines.suffix(5)
    #expect(status == 0, "\(found.joined(separator: "\n"))")
    let ran = text.firstMatch(of: #/Test run with (\d+) tests?/#).flatMap { Int($0.1) }
    #expect((ran ?? 0) >= 42, "\(text.suffix(500))")
  }
}
