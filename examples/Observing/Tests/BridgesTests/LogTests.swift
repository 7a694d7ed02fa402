import Bridges
import Logging
import Scheduler
import Testing

/// An actor whose jobs are its thread's.
private actor Confined {
  private let thread: ThreadScheduler
  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
  init(to thread: ThreadScheduler) { self.thread = thread }
  func isOnThread() -> Bool { thread.isOnThread }
}

@Suite struct LogTests {
  @Test("a refused action is an error with its scheduler's name, until the disposal") func refused() throws {
    let entries = Entries(), log = entries.logger().logDrops()
    let thread = try ThreadScheduler(name: "refusing, with a name of more than 15 bytes")
    finish(thread)
    thread.schedule {}
    let found = entries.entries(of: thread.name)
    #expect(found.map(\.level) == [.error] && found.map(\.message) == ["an action was dropped"])
    #expect(found.map(\.metadata["reason"]) == ["refused"])
    log.dispose()
    thread.schedule {}
    #expect(entries.entries(of: thread.name).count == 1)
  }

  @Test("what a stop gives up is a notice, one for each action") func stopped() throws {
    let entries = Entries(), log = entries.logger().logDrops()
    let thread = try ThreadScheduler(name: "stopping"), hold = ActionGroup(entered: 1), began = ActionGroup(entered: 1)
    thread.schedule {
      began.leave()
      hold.wait()
    }
    for _ in 0..<3 { thread.schedule {} }
    began.wait()
    thread.stop(.dropOutstanding)
    hold.leave()
    thread.join()
    let found = entries.entries(of: "stopping")
    #expect(found.map(\.level) == [.notice, .notice, .notice])
    #expect(found.allSatisfy { $0.metadata["reason"] == "stopped" })
    log.dispose()
  }

  @Test("a task that goes on after the end of its thread is a warning, until the disposal") func late() async throws {
    let entries = Entries(), log = entries.logger().logLateJobs()
    let thread = try ThreadScheduler(name: "ended"), confined = Confined(to: thread)
    #expect(await confined.isOnThread())
    #expect(entries.entries(of: "ended").isEmpty)
    await thread.stopAndJoin()
    #expect(await !confined.isOnThread())
    let found = entries.entries(of: "ended")
    #expect(!found.isEmpty && found.allSatisfy { $0.level == .warning })
    log.dispose()
    #expect(await !confined.isOnThread())
    #expect(entries.entries(of: "ended").count == found.count)
  }

  @Test("what runs, waits and blocks for too long is logged by its kind, until the disposal") func watch() throws {
    let entries = Entries(), log = try entries.logger().logSchedulers(longerThan: .milliseconds(20))
    let thread = try ThreadScheduler(name: "slow"), hold = ActionGroup(entered: 1)
    func found(_ kind: String) -> Entries.Entry? {
      entries.all.first { entry in
        guard entry.metadata["kind"] == kind else { return false }
        return kind == "blocked" || entry.metadata["subject"]!.contains("slow")
      }
    }
    thread.schedule { hold.wait() }
    for _ in 0..<2 { thread.schedule {} }
    #expect(eventually { ["running", "waiting", "blocked"].allSatisfy { found($0) != nil } })
    hold.leave()
    finish(thread)

    let running = try #require(found("running")), waiting = try #require(found("waiting"))
    let blocked = try #require(found("blocked"))
    #expect(running.level == .warning && waiting.level == .warning && blocked.level == .notice)
    for entry in [running, waiting, blocked] {
      #expect(entry.metadata["duration_ms"].flatMap { Double($0) } ?? 0 >= 20)
    }
    #expect(running.metadata["code"]?.isEmpty == false && running.metadata["thread"] != "0")
    #expect(["1", "2"].contains(waiting.metadata["depth"]) && waiting.metadata["thread"] == nil)
    #expect(blocked.metadata["code"] == nil)

    log.dispose()
    let late = try ThreadScheduler(name: "slow, too")
    late.schedule { _ = CountingSemaphore().wait(for: .milliseconds(100)) }
    finish(late)
    late.schedule {}
    #expect(!entries.all.contains { $0.metadata.values.contains { $0.contains(late.name) } })
  }

  @Test("an entry bears the name of the scheduler whose action logs it") func current() throws {
    let entries = Entries(), logger = entries.logger(.currentScheduler)
    let thread = try ThreadScheduler(name: "naming")
    logger.info("outside")
    SerialScheduler(name: "queue", target: thread).schedule {
      logger.info("in the queue")
      CurrentThreadScheduler.instance.schedule { logger.info("in a trampoline there") }
      logger.info("named by itself", metadata: ["scheduler": "mine"])
    }
    thread.schedule { logger.info("on the thread") }
    finish(thread)
    ConcurrentScheduler(name: "workers").schedule { logger.info("on the pool") }
    CurrentThreadScheduler.instance.schedule { logger.info("in a trampoline") }
    #expect(eventually { entries.all.count == 7 })
    let names = Dictionary(uniqueKeysWithValues: entries.all.map { ($0.message, $0.metadata["scheduler"]) })
    #expect(
      names == [
        "outside": nil, "in the queue": "queue", "in a trampoline there": "queue", "named by itself": "mine",
        "on the thread": "naming", "on the pool": "workers", "in a trampoline": "CurrentThreadScheduler",
      ])
  }
}
