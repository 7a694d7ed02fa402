import Foundation
import Scheduler
import TestSupport
import Testing

@Suite(.serialized, .nothingIsLeft) struct WorkerPoolTests {
  /// Blocks until it is opened, on any number of threads.
  private final class Door: Sendable {
    private let state = Protected(false)
    let inside = Counter()
    func open() { state.write(true) }
    func pass() {
      inside.increment()
      while !state.read() { usleep(200) }
    }
  }

  @Test("as many actions run at a time as it has workers, on threads of its own name")
  func workers() async throws {
    let pool = try WorkerPool(name: "own", workers: 3, maxThreads: 3), door = Door()
    let scheduler = pool.scheduler(name: "files"), names = Log<String>()
    #expect(pool.workerCount == 3 && pool.name == "own" && scheduler.name == "files")
    let tokens = (0..<9).map { _ in
      scheduler.schedule {
        names.add(threadName())
        #expect(Schedulers.current === scheduler)
        door.pass()
      }
    }
    #expect(eventually { door.inside.value == 3 })
    usleep(50_000)
    #expect(door.inside.value == 3 && pool.threadCount == 3)
    door.open()
    #expect(eventually { tokens.allSatisfy(\.isDisposed) })
    #expect(names.entries.allSatisfy { $0.hasPrefix("own-") })
    await pool.stopAndJoin()
    #expect(pool.threadCount == 0)
  }

  @Test("blocked actions have others take their place, up to the most threads") func blocked() async throws {
    let pool = try WorkerPool(workers: 1, maxThreads: 4), door = Door(), scheduler = pool.scheduler()
    let tokens = (0..<8).map { _ in
      scheduler.schedule { ConcurrentScheduler.withReplacementThread { door.pass() } }
    }
    #expect(eventually { door.inside.value == 4 })
    usleep(50_000)
    #expect(door.inside.value == 4)
    door.open()
    #expect(eventually { tokens.allSatisfy(\.isDisposed) })
    await pool.stopAndJoin()
  }

  @Test("its schedulers, and queues on them, keep it; then outstanding actions run, and its threads end")
  func kept() throws {
    let ran = Counter(), door = Door()
    do {
      let queue: SerialScheduler
      do {
        let scheduler = try WorkerPool(name: "kept", workers: 2).scheduler()
        scheduler.schedule { ran.increment() }
        queue = SerialScheduler(target: scheduler, priority: .low)
      }
      #expect(eventually { ran.value == 1 })
      queue.schedule { ran.increment() }
      #expect(eventually { ran.value == 2 })
      #expect(threadNames().contains { $0.hasPrefix("kept-") })
      queue.schedule { door.pass() }
      for _ in 0..<100 { queue.schedule { ran.increment() } }
    }
    door.open()
    #expect(eventually { ran.value == 102 })
    #expect(eventually { !threadNames().contains { $0.hasPrefix("kept-") } })
  }

  @Test("a stopped pool refuses later actions, and runs or drops waiting ones by its policy", arguments: [false, true])
  func stopped(_ drops: Bool) async throws {
    let pool = try WorkerPool(workers: 1, maxThreads: 1), door = Door(), ran = Counter(), scheduler = pool.scheduler()
    scheduler.schedule { door.pass() }
    #expect(eventually { door.inside.value == 1 })
    let waiting = scheduler.schedule { ran.increment() }
    pool.stop(drops ? .dropOutstanding : .runOutstanding)
    let late = scheduler.schedule { ran.increment() }
    #expect(late.isDisposed)
    door.open()
    await pool.stopAndJoin()
    #expect(ran.value == (drops ? 0 : 1) && waiting.isDisposed)
    synchronously { pool.join() }  // any number of times
    #expect(pool.scheduler(priority: .high).schedule {}.isDisposed)
    #expect(SerialScheduler(target: scheduler, priority: .low).schedule {}.isDisposed)
  }

  @Test("tasks prefer its schedulers, and continue when it has ended") func tasks() async throws {
    let pool = try WorkerPool(name: "tasks"), scheduler = pool.scheduler(priority: .high), door = Door()
    let names = Log<String>()
    let task = Task(executorPreference: scheduler) {
      names.add(threadName())
      while door.inside.value == 0 { await Task.yield() }
      return 1
    }
    #expect(eventually { names.entries.count == 1 })
    pool.stop()
    door.inside.increment()
    #expect(await task.value == 1 && names.entries[0].hasPrefix("tasks-"))
    await pool.stopAndJoin()
    #expect(await Task(executorPreference: scheduler) { 2 }.value == 2)
  }

  @Test("absurd numbers have a meaning, or are an error") func absurd() async throws {
    for (workers, most, stack) in [(1, nil, nil), (2, 0, 0), (4, 1, 1), (Int.max, -5, Int.min), (1, Int.max, nil)] {
      let pool = try WorkerPool(
        name: String(repeating: "n", count: 4_096), workers: workers, maxThreads: most, stackSize: stack)
      #expect(try await pool.scheduler().perform { 1 } == 1)
      #expect(pool.workerCount >= 1 && (most ?? 1 > 1 || pool.workerCount == 1 || most == nil))
      await pool.stopAndJoin()
    }
    #expect(throws: SchedulerError.self) { try WorkerPool(stackSize: .max) }
  }

  @Test("a pool without workers stops the process, as a limit of 0 does") func noWorkers() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = try WorkerPool(name: "idle", workers: 0)
    }
    expectMessage(result, "Scheduler: WorkerPool.init: \"idle\": 0 workers", "Give 1 or more, or nil")
  }

  @Test("join on one of its threads stops the process") func joinInside() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let pool = try WorkerPool(name: "inside")
      pool.scheduler().schedule {
        pool.stop()
        pool.join()
      }
      sleep(60)
    }
    expectMessage(result, "WorkerPool.join", "inside", "Join elsewhere")
  }
}

/// The present thread's name, as the system shows it.
private func threadName() -> String {
  (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
}
