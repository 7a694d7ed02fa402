// All tasks of a program run on the pool and the main loop, only because SchedulerExecutorsLinked is linked.
// AllTasks CASE runs the case here and in AllTasksOnDefault, and compares the two. Jobs that reach the executors are
// counted.
import CScheduler
import Cases
import Foundation
import Scheduler
import SchedulerExecutors

@main struct Program {
  static func main() async throws {
    precondition(GlobalExecutors.isInstalled && GlobalExecutors.isAvailable)
    try GlobalExecutors.install()  // once more does nothing
    precondition(MainScheduler.instance.isIsolatingCurrentContext() == true)
    let name = CommandLine.arguments[1]
    switch name {
    case "blocked":
      precondition(run("OnDefault", name, limit: "timeout 3 ").status == 124, "it ends on Swift's own executors, too")
      print("\(await blocked()) end here, and hang on Swift's own executors")
    case "counted": print(try await counted())
    case "one order": print(try await oneOrder())
    case "current": print(await current())
    case "stop": print(await stop())
    case "RunLoop.main": print(await runLoop())
    case "shuts down": Schedulers.shutdown()
    case "shuts down in C": csched_shutdown(CSCHED_STOP_RUN)
    case "shutdown":
      for how in ["", " in C"] {
        let (text, status) = run("", "shuts down" + how)
        precondition(status != 0 && text.contains("Leave the call out."), text)
      }
      print("a shutdown is refused with a message")
    case "blocks":
      let (text, status) = run("Installed", name), says = "has waited for 2 s for the main loop, which nothing runs."
      precondition(status == 0 && text.components(separatedBy: says).count == 2, text)
      print("a task of the main actor that nothing runs is reported")
    case "another thread":
      let (text, status) = run("Installed", name)
      precondition(status != 0 && text.contains("GlobalExecutors.install: called on another thread."), text)
      print("an installation on another thread is refused with a message")
    case "installed", "fork", "dispatchMain()", "RunLoop.main.run()", "dispatchMain(), hosting",
      "RunLoop.main.run(), hosting", "in turns", "idle", "late",
      "late, by a task of the main actor":
      let (text, status) = run("Installed", name)
      precondition(status == 0, text)
      print(text.components(separatedBy: "\n").last!)
    default:
      let ours = try await cases[name]!(), (theirs, status) = run("OnDefault", name)
      precondition(
        status == 0 && ours == theirs, "\(name): \(ours) here, on Swift's own executors \(theirs) (\(status))")
      let jobs = GlobalExecutors.jobs
      precondition(jobs.onPool > 0)
      print("\(name): \(ours), as on Swift's own executors; \(jobs)")
    }
  }
}

/// The output of another program of this package, and how it ends.
func run(_ program: String, _ argument: String, limit: String = "") -> (text: String, status: Int32) {
  let argument = argument.replacing("'", with: "'\\''")
  let pipe = popen("SWIFT_BACKTRACE=enable=no \(limit)'\(CommandLine.arguments[0])\(program)' '\(argument)' 2>&1", "r")!
  var text = "", buffer = [CChar](repeating: 0, count: 4_096)
  while fgets(&buffer, Int32(buffer.count), pipe) != nil {
    text += String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
  }
  return (text.trimmingCharacters(in: .newlines), pclose(pipe) >> 8)
}

/// Each job of a task comes to the executor: so many yields, hops and sleeps are at least so many jobs.
func counted() async throws -> String {
  let before = GlobalExecutors.jobs
  await Task.detached { for _ in 0..<1_000 { await Task.yield() } }.value
  await Task.detached { for _ in 0..<1_000 { await MainActor.run {} } }.value
  await Task.detached { for _ in 0..<10 { try? await Task.sleep(for: .microseconds(1)) } }.value
  await Task { @MainActor in try? await Task.sleep(for: .microseconds(1)) }.value
  let after = GlobalExecutors.jobs
  precondition(after.onPool - before.onPool >= 2_000, "\(before) \(after)")
  precondition(after.onMain - before.onMain >= 1_000, "\(before) \(after)")
  precondition(after.delayed - before.delayed >= 11, "\(before) \(after)")
  return "all jobs came: \(after)"
}

/// The main actor's jobs and the main scheduler's actions run in the order in which one thread submits them.
func oneOrder() async throws -> String {
  let thread = try ThreadScheduler(name: "submitter"), log = Protected<[Int]>([]), count = 2_000
  await withCheckedContinuation { continuation in
    thread.schedule {
      for n in 0..<count {
        switch n % 3 {
        case 0: MainScheduler.instance.schedule { log.withLock { $0.append(n) } }
        case 1: Task { @MainActor in log.withLock { $0.append(n) } }
        default: MainScheduler.instance.schedule(onMainActor: { log.withLock { $0.append(n) } })
        }
      }
      MainScheduler.asyncInstance.schedule { continuation.resume() }
    }
  }
  await thread.stopAndJoin()
  precondition(log.read() == Array(0..<count), "out of order: \(log.read())")
  return "\(count) jobs and actions on the main loop, in one order"
}

/// Tasks run on a scheduler of this package. (The runtime itself runs an async main as far as its first suspension,
/// before there is a main loop.)
@MainActor func current() async -> String {
  await Task.yield()
  let onPool = await Task.detached(priority: .background) { Schedulers.current is ConcurrentScheduler }.value
  precondition(
    onPool && Schedulers.current === MainScheduler.instance && Schedulers.enclosing === MainScheduler.instance)
  let isIsolated = await Task { @MainActor in
    MainScheduler.instance.checkIsolated()
    return isMainThread()
  }.value
  precondition(isIsolated)
  let queue = SerialScheduler(name: "queue")
  let isThere = try! await queue.perform { Schedulers.current === queue }
  precondition(isThere)
  return "current is ours in all tasks"
}

/// A stop without a nested run does not end the program. A nested run inside of the main actor ends by its stop.
@MainActor func stop() async -> String {
  MainScheduler.stop()
  for _ in 0..<10 { await Task.yield() }
  try? await Task.sleep(for: .milliseconds(5))
  MainScheduler.asyncInstance.schedule { MainScheduler.stop() }
  runNested()
  await Task.yield()
  return "a stop ends a run of one's own, and not the program"
}

@MainActor func runNested() { MainScheduler.run() }

/// Foundation's main run loop, while the main actor runs it: its timers fire, and blocks of Dispatch's main queue run.
/// (On Swift's own executors the main actor has left the main thread at its first suspension, and nothing fires.)
@MainActor func runLoop() async -> String {
  try? await Task.sleep(for: .milliseconds(1))
  precondition(isMainThread())
  let fired = Protected(0), block = Protected(false)
  RunLoop.main.add(Timer(timeInterval: 0.001, repeats: true) { _ in fired.withLock { $0 += 1 } }, forMode: .default)
  DispatchQueue.main.async { block.write(true) }
  while fired.read() < 3 || !block.read() { runMainRunLoop() }
  await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
  return "RunLoop.main's timers fire while the main actor runs it"
}

@MainActor func runMainRunLoop() { RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.01)) }

func isMainThread() -> Bool { Thread.isMainThread }
