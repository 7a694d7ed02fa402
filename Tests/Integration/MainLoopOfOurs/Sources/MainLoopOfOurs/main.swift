// The main scheduler in a program without another main loop: what runs at once, what waits, and in which order.
import Foundation
import Scheduler

final class Log: Sendable {
  let entries = Protected<[String]>([])
  func add(_ entry: String) { entries.withLock { $0.append(entry) } }
  func take() -> [String] {
    entries.withLock { entries in
      defer { entries = [] }
      return entries
    }
  }
}

func check(_ condition: Bool, _ what: String, line: Int = #line) {
  guard condition else { fatalError("line \(line): \(what)") }
}

/// What a command writes.
func output(of command: String) -> String {
  let pipe = popen(command, "r")!
  defer { pclose(pipe) }
  return String(decoding: FileHandle(fileDescriptor: fileno(pipe)).readDataToEndOfFile(), as: UTF8.self)
}

let log = Log(), main = MainScheduler.instance, later = MainScheduler.asyncInstance

runProgram(CommandLine.arguments.last)

// At once when nothing waits; nested actions wait for their turn.
main.schedule {
  log.add("first")
  check(Schedulers.current === main, "current is the main scheduler")
  main.schedule { log.add("nested") }
  log.add("end of first")
}
check(log.take() == ["first", "end of first"], "at once")
main.schedule { log.add("behind nested") }
check(log.take() == [], "something waits, so nothing runs at once")
check(MainScheduler.runUntilIdle() == 2, "two were waiting")
check(log.take() == ["nested", "behind nested"], "in order")

// The other handle never runs at once, and both have one order.
later.schedule { log.add("\(Schedulers.current === later)") }
main.schedule { log.add("after it") }
check(log.take() == [], "queued")
MainScheduler.runUntilIdle()
check(log.take() == ["true", "after it"], "one order")

// A disposed action is not waited for.
later.schedule { log.add("never") }.dispose()
main.schedule { log.add("at once") }
check(log.take() == ["at once"], "nothing waits any more")
MainScheduler.runUntilIdle()

// From another thread: queued, in order, and no overtaking by the main thread.
let queued = DispatchSemaphore(value: 0)
Thread.detachNewThread {
  for n in 0..<100 { main.schedule { log.add("\(n)") } }
  queued.signal()
}
queued.wait()
main.schedule { log.add("100") }
MainScheduler.runUntilIdle()
check(log.take() == (0...100).map(String.init), "order across threads")

// Delayed and periodic ones, and a run that is stopped.
let start = MonotonicTime.now
main.schedule(after: .milliseconds(20)) {
  log.add("delayed")
  MainScheduler.stop()
}
MainScheduler.run()
check(log.take() == ["delayed"] && start.duration(to: .now) >= .milliseconds(20), "delayed")
let ticks = later.schedule(.every(.milliseconds(1), after: .zero)) { log.add("tick") }
for _ in 0..<3 {
  repeat {
    check(!MainScheduler.run(until: .now.advanced(by: .milliseconds(5))), "not stopped")
  } while log.take().isEmpty
}
ticks.dispose()

// A serial queue on the main thread, and sync from it.
let queue = SerialScheduler(name: "on main", target: main)
check(queue.sync { Thread.isMainThread }, "inline on the main thread")
queue.schedule { log.add("queue \(Thread.isMainThread)") }
MainScheduler.runUntilIdle()
check(log.take() == ["queue true"], "a queue on the main thread")

// Recursion is flat, and lets others in between.
main.scheduleRecursive(0) { n, again in if n < 100_000 { again(n + 1) } else { log.add("deep") } }
MainScheduler.runUntilIdle()
check(log.take() == ["deep"], "recursion")

checkOrder()
checkCurrent()
try checkBlocking()

// Main returns while an action waits.
if CommandLine.arguments.last == "leaves an action" {
  later.schedule {}
} else {
  checkWaiting()
  let said = output(of: "'\(CommandLine.arguments[0])' 'leaves an action' 2>&1")
  check(said.contains("the process ends, and 1 of its actions never ran: nothing has run the main loop since."), said)
}
print("the main scheduler on its own: all as it should be")
