import Logging
import Scheduler
import SchedulerServices
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

@Suite struct SchedulerServiceTests {
  private func group(_ services: any Service...) -> ServiceGroup {
    ServiceGroup(services: services, logger: Logger(label: "tests", factory: { _ in SwiftLogNoOpLogHandler() }))
  }

  @Test("a graceful shutdown runs what was accepted, and refuses the rest")
  func graceful() async throws {
    let thread = try ThreadScheduler(name: "database"), pool = try WorkerPool(name: "images", workers: 2)
    let threads = try ThreadScheduler.Group(count: 2, name: "loops")
    let count = Protected(0), group = group(SchedulerService(thread), SchedulerService(pool), SchedulerService(threads))
    let running = Task { try await group.run() }
    let schedulers: [any SchedulerType] = [thread, pool.scheduler(), threads.next(), threads.next()]
    for scheduler in schedulers {
      _ = try await scheduler.perform { Schedulers.current != nil }
      for _ in 0..<1_000 { scheduler.schedule { count.withLock { $0 += 1 } } }
    }
    await group.triggerGracefulShutdown()
    try await running.value
    #expect(count.read() == 4_000)
    for scheduler in schedulers {
      await #expect(throws: SchedulerError.stopped) { try await scheduler.perform {} }
    }
  }

  @Test("work of a queue on the thread is finished, too, if the service knows its group")
  func accepted() async throws {
    let thread = try ThreadScheduler(name: "database"), accepted = ActionGroup(), count = Protected(0)
    let queue = SerialScheduler(target: thread), group = group(SchedulerService(thread, accepted: accepted))
    let running = Task { try await group.run() }
    for _ in 0..<10_000 { accepted.schedule(on: queue) { count.withLock { $0 += 1 } } }
    await group.triggerGracefulShutdown()
    try await running.value
    #expect(count.read() == 10_000)
  }

  @Test("a cancelled service drops what has not begun, and ends its thread")
  func cancelled() async throws {
    let thread = try ThreadScheduler(name: "database"), begun = CountingSemaphore(), release = CountingSemaphore()
    let count = Protected(0), dropped = Protected(0)
    let running = Task { try await SchedulerService(thread).run() }
    thread.schedule {
      begun.signal()
      release.wait()
    }
    for _ in 0..<100 {
      thread.schedule {
        count.withLock { $0 += 1 }
      } onDrop: { _ in
        dropped.withLock { $0 += 1 }
      }
    }
    await wait(for: begun)
    running.cancel()
    while (try? thread.trySchedule {}) != nil { await Task.yield() }  // until the service has stopped it
    release.signal()
    try await running.value
    #expect(count.read() == 0 && dropped.read() == 100)
  }

  @Test("a service that is shut down and takes too long throws, and drops what has not begun")
  func tooLate() async throws {
    let thread = try ThreadScheduler(name: "database"), release = CountingSemaphore(), dropped = Protected(false)
    try await testGracefulShutdown { trigger in
      let running = Task { try await SchedulerService(thread, gracePeriod: .milliseconds(20)).run() }
      thread.schedule { release.wait() }
      thread.schedule {
      } onDrop: { _ in
        dropped.write(true)
      }
      trigger.triggerGracefulShutdown()
      await #expect(throws: SchedulerError.timeout) { try await running.value }
    }
    release.signal()
    await thread.stopAndJoin()
    #expect(dropped.read())
  }

  private func wait(for semaphore: CountingSemaphore) async {
    try? await ConcurrentScheduler().perform { semaphore.wait() }
  }
}
