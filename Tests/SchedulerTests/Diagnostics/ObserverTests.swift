import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

/// In processes of their own: an observer sees all actions of its process.
@Suite(.nothingIsLeft) struct ObserverTests {
  @Test("a scheduler counts the scheduled, run, disposed and waiting actions") func counts() async {
    await #expect(processExitsWith: .success) {
      let thread = try ThreadScheduler(name: "counted")
      #expect(thread.statistics.work == nil)
      try Schedulers.startCounting()
      let hold = block(thread)
      for _ in 0..<5 { thread.schedule {} }
      thread.schedule {}.dispose()
      let later = thread.schedule(after: .seconds(3_600)) {}
      let held = try #require(thread.statistics.work)
      #expect(held.submitted == 8 && held.cancelled == 1 && held.depth == 6 && held.run == 0)
      synchronously { Thread.sleep(forTimeInterval: 0.02) }
      hold.open()
      later.dispose()
      thread.drain()
      thread.stop()
      synchronously { thread.join() }
      let ended = try #require(thread.statistics.work)
      #expect(ended.run + ended.cancelled == ended.submitted && ended.depth == 0)
      #expect(ended.runTime.max >= .milliseconds(20) && ended.latency.max >= .milliseconds(20))
      #expect(ended.latency.p50 <= ended.latency.p99 && ended.latency.p99 <= ended.latency.max)
      Schedulers.stopCounting()
    }
  }

  @Test("each kind of scheduler is counted", arguments: 0..<9) func kinds(_ kind: Int) async {
    await withExitArgument(kind) {
      await #expect(processExitsWith: .success) {
        let kind: Int = exitArgument()
        try Schedulers.startCounting()
        let thread = try ThreadScheduler(name: "below")
        let limited = ConcurrentScheduler(limit: 2)
        let schedulers: [SchedulerTarget] = [
          thread, SerialScheduler(name: "queue"), ConcurrentScheduler(), TestScheduler(), limited, limited.barrier,
          HistoricalScheduler(), CustomScheduler(name: "own") { $0() }, SerialScheduler(target: thread),
        ]
        let scheduler = schedulers[kind], before = scheduler.statistics.work?.run ?? 0
        for _ in 0..<10 { scheduler.schedule {} }
        if let virtual = scheduler as? TestScheduler { virtual.start() }
        if let virtual = scheduler as? HistoricalScheduler { virtual.run() }
        #expect(eventually { (scheduler.statistics.work?.run ?? 0) - before == 10 })
        thread.stop()
        synchronously { thread.join() }
      }
    }
  }

  @Test("the main scheduler is counted, too") func main() async {
    await #expect(processExitsWith: .success) {
      try Schedulers.startCounting()
      let action = MainScheduler.asyncInstance.schedule(after: .seconds(3_600)) {}
      #expect(MainScheduler.asyncInstance.statistics.work?.submitted == 1)
      #expect(MainScheduler.asyncInstance.statistics.work?.depth == 1)
      action.dispose()
      #expect(MainScheduler.asyncInstance.statistics.work?.cancelled == 1)
    }
  }

  @Test("a watchdog without a report writes to standard error, with the record") func watchAlone() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let thread = try ThreadScheduler(name: "watched")
      try Schedulers.watch(longerThan: .milliseconds(20))
      let hold = block(thread)
      synchronously { Thread.sleep(forTimeInterval: 0.5) }
      hold.open()
      Schedulers.stopWatching()
      thread.stop()
      synchronously { thread.join() }
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains(" has run ") && text.contains(" of loop 0x") && text.contains("\"watched\" has run last"))
  }

  @Test("a watchdog reports a long action with its closure, and the actions that wait behind it") func watch() async {
    await #expect(processExitsWith: .success) {
      let thread = try ThreadScheduler(name: "watched"), reports = Protected<[WatchReport]>([])
      try Schedulers.watch(longerThan: .milliseconds(20)) { report in reports.withLock { $0.append(report) } }
      let hold = Gate()
      thread.schedule { hold.wait() }
      thread.schedule {}
      let isReported = eventually {
        reports.read { all in all.contains { $0.kind == .running } && all.contains { $0.kind == .waiting } }
      }
      #expect(isReported)
      hold.open()
      Schedulers.stopWatching()
      let running = try #require(reports.read().first { $0.kind == .running })
      #expect(running.subject.contains("loop 0x") && running.subject.contains("watched"))
      #expect(running.details.contains("thread \(running.thread) \"watched\": runs job 0x"))
      #expect(running.details.contains("closure #") && running.details.contains("; first job: "))
      #expect(running.details.contains(", submitted 0."))
      #expect(running.code.contains("closure #") && running.duration > .milliseconds(20) && running.thread != 0)
      #expect("\(running)".contains(" has run "))
      thread.stop()
      synchronously { thread.join() }
    }
  }

  @Test("a watchdog reports a deadlock, its threads, and their stacks") func watchDeadlock() async {
    await #expect(processExitsWith: .success) {
      let first = Protected(0), second = Protected(0), reports = Protected<[WatchReport]>([])
      try Schedulers.watch(longerThan: .milliseconds(20), stackSignal: SIGPROF) { report in
        reports.withLock { $0.append(report) }
      }
      let threads = [try ThreadScheduler(name: "one"), try ThreadScheduler(name: "two")], count = Protected(0)
      for (thread, locks) in zip(threads, [(first, second), (second, first)]) {
        thread.schedule {
          locks.0.withLock { _ in
            count.withLock { $0 += 1 }
            while count.read() < 2 { Thread.sleep(forTimeInterval: 0.001) }
            locks.1.withLock { _ in }
          }
        }
      }
      #expect(eventually { reports.read { all in all.contains { $0.kind == .deadlock } } })
      Schedulers.stopWatching()
      let deadlock = try #require(reports.read().first { $0.kind == .deadlock })
      #expect(deadlock.subject == "lock" && deadlock.duration > .milliseconds(20) && deadlock.thread != 0)
      #expect(deadlock.details.contains("\"one\"") && deadlock.details.contains("\"two\""))
      #expect(deadlock.details.contains("which is held by thread") && deadlock.details.contains("  called by "))
      #expect("\(deadlock)".contains(" is in a deadlock "))
    }
  }

  @Test("a watchdog without a duration is refused, and the next takes the place of the last") func watchAgain() async {
    await #expect(processExitsWith: .success) {
      #expect(throws: SchedulerError.self) { try Schedulers.watch(longerThan: .zero) { _ in } }
      #expect(throws: SchedulerError.self) { try Schedulers.watch(longerThan: .seconds(-1)) { _ in } }
      let thread = try ThreadScheduler(name: "watched"), first = Protected(0), second = Protected(0), hold = Gate()
      try Schedulers.watch(longerThan: .milliseconds(5)) { _ in first.withLock { $0 += 1 } }
      try Schedulers.watch(longerThan: .milliseconds(5)) { _ in second.withLock { $0 += 1 } }
      thread.schedule { hold.wait() }
      #expect(throws: SchedulerError.self) { try Schedulers.watch(longerThan: .zero) { _ in } }  // the second continues
      #expect(eventually { second.read() > 0 })
      #expect(first.read() == 0)
      hold.open()
      Schedulers.stopWatching()
      thread.stop()
      synchronously { thread.join() }
    }
  }

  @Test("a trace names each run by its closure, and has one submission for it") func trace() async {
    await #expect(processExitsWith: .success) {
      let path = FileManager.default.temporaryDirectory.appendingPathComponent("trace-\(getpid()).json").path
      defer { try? FileManager.default.removeItem(atPath: path) }
      try Schedulers.startTrace(path)
      #expect(throws: SchedulerError.self) { try Schedulers.startTrace(path) }
      let queue = SerialScheduler(name: "a \"queue\"")
      for _ in 0..<100 { queue.schedule {} }
      synchronously { queue.sync {} }
      try Schedulers.stopTrace()
      let events = try #require(
        try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path))) as? [[String: Any]])
      let submissions = events.filter { $0["ph"] as? String == "s" }.compactMap { $0["id"] as? Int }
      let runs = events.filter { $0["cat"] as? String == "run" }
      let ran = runs.compactMap { ($0["args"] as? [String: Any])?["submission"] as? Int }
      #expect(ran.count >= 100 && Set(ran).count == ran.count && Set(ran).isSubset(of: Set(submissions)))
      #expect(Set(submissions).count == submissions.count)
      #expect(runs.contains { ($0["name"] as? String ?? "").contains("closure #") })
      #expect(events.contains { ("\($0["args"] ?? "")").contains("a ?queue?") })
    }
  }

  @Test(
    "each run of a program has one submission in its trace: of several producers, disposed, delayed, periodic, and of tasks"
  )
  func traceOfAll() async {
    await #expect(processExitsWith: .success) {
      let path = FileManager.default.temporaryDirectory.appendingPathComponent("trace-\(getpid()).json").path
      defer { try? FileManager.default.removeItem(atPath: path) }
      let thread = try ThreadScheduler(name: "traced"), limited = ConcurrentScheduler(limit: 2), ticks = Counter()
      let all: [any SchedulerType] = [
        thread, SerialScheduler(name: "queue"), ConcurrentScheduler(), limited, limited.barrier,
        SerialScheduler(target: thread),
      ]
      try Schedulers.startTrace(path)
      let periodic = thread.schedule(.every(.milliseconds(1), after: .zero)) { ticks.increment() }
      try synchronously {
        onThreads(3) { _ in
          for scheduler in all {
            for _ in 0..<10 {
              scheduler.schedule {}
              scheduler.schedule {}.dispose()
              scheduler.schedule(after: .milliseconds(1)) {}
              scheduler.schedule(after: .seconds(3_600)) {}.dispose()
            }
          }
        }
        try runAndWait { for _ in 0..<20 { try await thread.perform {} } }
      }
      #expect(eventually { ticks.value >= 5 })
      periodic.dispose()
      synchronously { Thread.sleep(forTimeInterval: 0.05) }
      thread.drain()
      try Schedulers.stopTrace()
      let events = try #require(
        try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path))) as? [[String: Any]])
      func numbers(_ phase: String) -> [Int] {
        events.filter { $0["ph"] as? String == phase }.compactMap { $0["id"] as? Int }
      }
      let ran = events.filter { $0["cat"] as? String == "run" }
        .compactMap { ($0["args"] as? [String: Any])?["submission"] as? Int }
      let submissions = numbers("s")
      #expect(Set(submissions).count == submissions.count && Set(ran).count == ran.count)
      #expect(Set(ran).isSubset(of: Set(submissions)) && numbers("f").sorted() == ran.sorted())
      #expect(ran.count >= 3 * all.count * 20 + 5 + 20)
      let cancelled = events.filter { $0["name"] as? String == "cancel" }
      #expect(cancelled.count >= 3 * all.count * 10)  // the delayed ones at the least
      thread.stop()
      synchronously { thread.join() }
    }
  }

  @Test("SCHEDULER_TRACE traces a program that does not call it") func environment() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("trace-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    // By popen: Foundation's Process leaks, which AddressSanitizer finds.
    let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
    let arguments = "--testing-library swift-testing --filter 'DescriptionTests/queue' > /dev/null 2>&1"
    let running: UnsafeMutablePointer<FILE>! = popen(
      "SCHEDULER_TRACE='\(folder.path)/%p.json' exec '\(program)' \(arguments)", "r")
    #expect(pclose(running) == 0)
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    let path = try #require(files.first)
    #expect(files.count == 1 && Int(path.deletingPathExtension().lastPathComponent) != nil)
    let text = try String(contentsOf: path, encoding: .utf8)
    #expect(text.hasPrefix("[{") && text.hasSuffix("\n]\n") && text.contains("images"))
  }

  @Test("the recorder has the closures that a thread ran last") func recorder() async {
    await #expect(processExitsWith: .success) {
      let thread = try ThreadScheduler(name: "recorded"), pipe = Pipe()
      for _ in 0..<10 { thread.schedule {} }
      thread.drain()
      #expect(Schedulers.writeRecord(to: pipe.fileHandleForWriting.fileDescriptor) == 0)
      try pipe.fileHandleForWriting.close()
      let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      #expect(text.contains("\"recorded\" has run last") && text.contains(", closure $s"))
      #expect(Schedulers.writeRecord(to: -1) == EBADF)
      thread.stop()
      synchronously { thread.join() }
    }
  }
}
