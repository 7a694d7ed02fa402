import Foundation
import Scheduler
import TestSupport
import Testing

/// Misuse stops the process with the function's name, the scheduler's name and what to do, in every build. Others are
/// beside what they misuse.
@Suite(.nothingIsLeft) struct MisuseTests {
  @Test("a periodic action on the immediate scheduler stops the process, and says why") func periodicImmediate() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      ImmediateScheduler.instance.schedule(.every(.seconds(1), after: .zero)) {}
    }
    expectMessage(
      result, "Scheduler: ImmediateScheduler.schedule(.every): the caller would never go on", "Use a scheduler that has"
    )
  }

  @Test("resuming a queue that is not suspended stops the process, and names the queue") func resume() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      SerialScheduler(name: "images").resume()
    }
    expectMessage(result, "Scheduler: SerialScheduler.resume: \"images\": ", "Resume once for each suspend")
  }

  @Test("sync on a queue whose thread was stopped stops the process, and names the queue") func stoppedSync() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let thread = try ThreadScheduler(), queue = SerialScheduler(name: "images", target: thread)
      thread.stop()
      synchronously { thread.join() }
      synchronously { queue.sync {} }
    }
    expectMessage(result, "Scheduler: SerialScheduler.sync: \"images\": ", "has been stopped", "or use trySync")
  }

  @Test("work that a custom scheduler calls twice stops the process, and names the scheduler") func twice() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let custom = CustomScheduler(name: "widgets") { work in
        work()
        work()
      }
      custom.schedule {}
    }
    expectMessage(
      result, "Scheduler: CustomScheduler.init: \"widgets\": ", "called a piece of work twice", "Call each once")
  }

  @Test("running the main scheduler on another thread stops the process, and says which function", arguments: 0..<3)
  func main(function: Int) async {
    let result: ExitTest.Result?
    switch function {
    case 0:
      result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        onThreads(1) { _ in MainScheduler.run() }
      }
      expectMessage(result, "Scheduler: MainScheduler.run: called on another thread", "call it there")
    case 1:
      result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        onThreads(1) { _ in MainScheduler.run(until: .now) }
      }
      expectMessage(result, "Scheduler: MainScheduler.run(until:): called on another thread")
    default:
      result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        onThreads(1) { _ in MainScheduler.runUntilIdle() }
      }
      expectMessage(result, "Scheduler: MainScheduler.runUntilIdle: called on another thread")
    }
  }

  @Test("virtual time without an end names the call that was to have one", arguments: [true, false])
  func endless(isRun: Bool) async {
    let result: ExitTest.Result?
    if isRun {
      result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let scheduler = TestScheduler(actionLimit: 100)
        scheduler.scheduleRecursive { again in again() }
        scheduler.run()
      }
    } else {
      result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let scheduler = TestScheduler(actionLimit: 100)
        scheduler.scheduleRecursive { again in again() }
        scheduler.step(200)
      }
    }
    expectMessage(
      result, "Scheduler: VirtualTimeScheduler.\(isRun ? "run" : "step"): ", "one call ran 100 actions", "actionLimit")
  }

  @Test("a name of any length or content leaves the advice whole", arguments: 0..<3) func names(kind: Int) async {
    let result: ExitTest.Result?
    switch kind {
    case 0:
      result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        SerialScheduler(name: String(repeating: "é", count: 2_048)).resume()
      }
      expectMessage(result, "\"" + String(repeating: "é", count: 2_048) + "\": ", "Resume once for each suspend.\n")
    case 1:
      result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        SerialScheduler(name: "a\0b").resume()
      }
      expectMessage(result, "\"a?b\": ", "Resume once for each suspend.\n")
    default:
      result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        SerialScheduler().resume()
      }
      expectMessage(result, "Scheduler: SerialScheduler.resume: the queue", "Resume once for each suspend.\n")
    }
  }
}
