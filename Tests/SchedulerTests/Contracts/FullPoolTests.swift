import Foundation
import Scheduler
import TestSupport
import Testing

/// Waits whose work needs no thread of a pool, while all threads of that pool are blocked.
@Suite(.nothingIsLeft) struct FullPoolTests {
  @Test("actions of a pool that sync with one queue need no further thread", arguments: 0..<4)
  func syncs(_ kind: Int) throws {
    let pool = try WorkerPool(name: "full", workers: 2, maxThreads: 2), workers = pool.scheduler()
    let limit = ConcurrentScheduler(limit: 2)
    let bases: [SchedulerTarget] = [workers, SerialScheduler(target: workers), limit, limit.barrier]
    let queue = SerialScheduler(target: bases[kind]), count = Protected(0), group = ActionGroup()
    for i in 0..<Scale.count(300) {
      if i % 3 == 0 { group.schedule(on: queue) { count.withLock { $0 += 1 } } }
      group.schedule(on: workers) { queue.sync { count.withLock { $0 += 1 } } }
    }
    let isOver = Gate()
    group.notify(on: ImmediateScheduler.instance) { isOver.open() }
    #expect(isOver.wait())
    #expect(count.read() == Scale.count(300) + (Scale.count(300) + 2) / 3)
    pool.stop()
    pool.join()
  }

  @Test("an action that runs on a waiting thread is not inside of the action in which the thread waits")
  func insideOfHelper() throws {
    let pool = try WorkerPool(name: "full", workers: 1, maxThreads: 1), busy = Gate(), isBusy = Gate()
    let queue = SerialScheduler(target: pool.scheduler()), thread = try ThreadScheduler(name: "helper")
    pool.scheduler().schedule {
      isBusy.open()
      busy.wait()
    }
    isBusy.wait()
    let inside = Log<Bool>(), errors = Log<SchedulerError>()
    thread.sync {
      queue.schedule {
        inside.add(thread.isIsolatingCurrentContext() == true)
        inside.add(queue.isCurrent)
        do { try thread.trySync {} } catch { errors.add(error as! SchedulerError) }
      }
      queue.sync { inside.add(thread.isIsolatingCurrentContext() == true && queue.isCurrent) }
    }
    #expect(inside.entries == [false, true, true])
    #expect(errors.entries == [.deadlock])
    busy.open()
    thread.stop()
    thread.join()
    pool.stop()
    pool.join()
  }

  @Test("actions of the shared pool that wait for actions behind them end, for each kind of wait", arguments: 0..<4)
  func chains(_ kind: Int) async {
    await withExitArgument(kind) {
      await #expect(processExitsWith: .success) {
        let kind: Int = exitArgument()
        let shared = ConcurrentScheduler(), waiters = 80  // more than the pool replaces at once
        let group = ActionGroup(entered: 1), semaphore = CountingSemaphore(), all = ActionGroup()
        let foreign = DispatchSemaphore(value: 0)  // a wait outside of the library
        for _ in 0..<waiters {
          group.enter()
          group.schedule(on: shared) {}
          all.schedule(on: shared) {
            switch kind {
            case 0: group.wait()
            case 1: semaphore.wait()
            case 2: foreign.wait()
            default: try! runAndWait { try await shared.perform {} }
            }
          }
        }
        shared.schedule {
          for _ in 0..<waiters {
            foreign.signal()
            semaphore.signal()
            group.leave()
          }
          group.leave()
        }
        try await withTimeout(.seconds(100)) { try await all.waitForAll() }
        exit(0)
      }
    }
  }

  @Test("tasks that wait for other schedulers continue while the shared pool is busy without an end")
  func full() async {
    await #expect(processExitsWith: .success) {
      let began = Counter(), shared = ConcurrentScheduler(), processors = ProcessInfo.processInfo.activeProcessorCount
      for _ in 0..<300 {
        shared.schedule {
          began.increment()
          while true { sched_yield() }  // not blocked, so the pool starts no other thread
        }
      }
      #expect(synchronously { eventually { began.value >= processors } })
      try await withTimeout(.seconds(100)) {
        let thread = try ThreadScheduler(name: "own"), queue = SerialScheduler(target: thread)
        #expect(try await thread.perform { 1 } == 1)
        #expect(try await queue.perform { 2 } == 2)
        try await thread.sleep(for: .milliseconds(1))
        for try await _ in thread.ticks(every: .milliseconds(1)) { break }
        let semaphore = AsyncSemaphore()
        thread.schedule { semaphore.signal() }
        try await semaphore.wait()
        await thread.schedule(after: .seconds(1_000)) {}.disposeAndWait()
        try await CustomScheduler { $0() }.sleep(for: .milliseconds(1))
        #expect(synchronously { try? runAndWait { 3 } } == 3)
        await thread.stopAndJoin()
      }
      exit(0)
    }
  }

  @Test("tasks that await the ends of actions leave the shared pool its threads")
  func endsOfActions() async {
    await #expect(processExitsWith: .success) {
      let pool = try WorkerPool(name: "blocked", workers: 80), workers = pool.scheduler(),
        go = DispatchSemaphore(value: 0)
      let began = Counter()
      let tokens = (0..<80).map { _ in
        workers.schedule {
          began.increment()
          go.wait()
        }
      }
      #expect(synchronously { eventually { began.value == 80 } })
      let waiting = Counter()
      let tasks = tokens.map { token in
        Task {
          waiting.increment()
          await token.disposeAndWait()
        }
      }
      #expect(synchronously { eventually { waiting.value == 80 } })
      try await withTimeout(.seconds(100)) { try await ConcurrentScheduler().perform {} }
      for _ in 0..<80 { go.signal() }
      for task in tasks { await task.value }
    }
  }

  @Test("a signal in an action of a queue does not wait for a cancellation handler that waits for the queue")
  func signalInQueue() async throws {
    let queue = SerialScheduler(name: "signalling")
    for i in 0..<Scale.count(200) {
      let semaphore = AsyncSemaphore()
      let others = (0..<32).map { _ in Task { try? await semaphore.wait() } }
      while semaphore.waiterCount < 32 { await Task.yield() }
      let task = Task {
        try? await withTaskCancellationHandler {
          try await semaphore.wait()
        } onCancel: {
          synchronously { queue.sync {} }
        }
      }
      while semaphore.waiterCount < 33 { await Task.yield() }
      queue.schedule { semaphore.signal(33) }
      while semaphore.waiterCount == 33 {}
      for _ in 0..<(i % 40) * 20 { _ = semaphore.freeUnits }
      task.cancel()
      await task.value
      for other in others { await other.value }
    }
  }
}
