import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct SerialSchedulerTests {
  @Test("sync returns the result, throws the error, and runs on this thread when the queue is idle") func sync() throws
  {
    struct Failure: Error {}
    let queue = SerialScheduler(name: "sync"), here = pthread_self()
    #expect(queue.sync { 42 } == 42)
    #expect(queue.sync { pthread_self() } == here)
    #expect(throws: Failure.self) { try queue.sync { throw Failure() } }
    let thread = try ThreadScheduler(), bound = SerialScheduler(target: thread)
    #expect(bound.sync { thread.isOnThread })
  }

  @Test("sync waits for its turn") func inLine() {
    let queue = SerialScheduler(), log = Log<Int>()
    for n in 0..<100 { queue.schedule { log.add(n) } }
    #expect(queue.sync { log.entries.count } == 100)
  }

  @Test("sync excludes") func excludes() {
    final class Plain: @unchecked Sendable { var value = 0 }  // Unchecked: the queue guards it
    let queue = SerialScheduler(), plain = Plain()
    onThreads(4) { _ in
      for n in 0..<1_000 { n % 2 == 0 ? queue.sync { plain.value += 1 } : { queue.schedule { plain.value += 1 } }() }
    }
    #expect(queue.sync { plain.value } == 4_000)
  }

  @Test("a wait that could never end is an error") func deadlock() throws {
    let queue = SerialScheduler(), other = SerialScheduler(target: queue)
    _ = queue.sync { #expect(throws: SchedulerError.deadlock) { try queue.trySync {} } }
    _ = other.sync { #expect(throws: SchedulerError.deadlock) { try queue.trySync {} } }
  }

  @Test("a circle of waits over two threads is an error for one of them, and the other continues") func circle() throws
  {
    let threads = [try ThreadScheduler(name: "one"), try ThreadScheduler(name: "two")]
    let queues = threads.map { SerialScheduler(target: $0) }
    for _ in 0..<Scale.count(50) {
      let outcomes = Log<(any Error)?>(), begun = Counter()
      for index in 0..<2 {
        threads[index].schedule {  // a plain action of the thread, not one of its queue
          begun.increment()
          waitWhile { begun.value < 2 }
          do {
            try queues[1 - index].trySync {}
            outcomes.add(nil)
          } catch { outcomes.add(error) }
        }
      }
      #expect(eventually { outcomes.entries.count == 2 })
      #expect(outcomes.entries.filter { $0 is SchedulerError }.count == 1)
      #expect(outcomes.entries.contains { $0 == nil })
    }
  }

  @Test("sync on itself stops the process with a message") func deadlockStops() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = SerialScheduler(name: "images")
      synchronously { queue.sync { queue.sync {} } }
    }
    expectMessage(
      result, "Scheduler: SerialScheduler.sync: \"images\": ", "could never end", "Call the closure directly")
  }

  @Test("a queue has its target's priority, unless it has one of its own") func priorities() async {
    await #expect(processExitsWith: .success) {
      runOnOneCPU {  // so that the pool has one worker, and what waits goes by priority
        let pool = ConcurrentScheduler(priority: .low), log = Log<String>()
        let begun = Gate(), isFree = BooleanDisposable()
        pool.schedule {
          begun.open()
          while !isFree.isDisposed {}
        }
        begun.wait()
        SerialScheduler(target: pool).schedule { log.add("low, by its target") }
        SerialScheduler(target: nil).schedule { log.add("default") }
        SerialScheduler(name: "own", target: pool, priority: .high).schedule { log.add("high, of its own") }
        isFree.dispose()
        precondition(eventually { log.entries.count == 3 })
        precondition(log.entries == ["high, of its own", "default", "low, by its target"], "\(log.entries)")
      }
    }
  }

  @Test("a priority changes nothing on a thread or a queue") func priorityElsewhere() throws {
    let thread = try ThreadScheduler()
    let queue = SerialScheduler(name: "bound", target: thread, priority: .high)
    let above = SerialScheduler(target: queue, priority: .background)
    #expect(queue.sync { thread.isOnThread } && above.sync { thread.isOnThread })
    #expect(queue.name == "bound")
  }

  @Test("a stopped thread accepts no more work of a queue on it") func stopped() throws {
    let thread = try ThreadScheduler(), queue = SerialScheduler(target: thread), ends = Counter()
    thread.stop()
    thread.join()
    do {
      let witness = Witness(ends)
      queue.schedule { witness.touch() }
    }
    #expect(ends.value == 1)
    #expect(throws: SchedulerError.stopped) { try queue.trySync {} }
  }

  @Test("sync on an unused queue of a stopped thread throws that error") func stoppedWhileIdle() throws {
    let thread = try ThreadScheduler(), queue = SerialScheduler(target: thread), above = SerialScheduler(target: queue)
    let outcomes = Log<any Error>()
    thread.schedule {  // on the thread itself, where it would be inline
      thread.stop()
      for each in [queue, above] {
        do { try each.trySync {} } catch { outcomes.add(error) }
      }
    }
    thread.join()
    #expect(outcomes.entries.map { $0 as? SchedulerError } == [SchedulerError.stopped, SchedulerError.stopped])
    #expect(throws: SchedulerError.stopped) { try queue.trySync {} }
    #expect(throws: SchedulerError.stopped) { try above.trySync {} }
  }

  @Test("a suspended queue begins nothing, and resumes where it was") func suspension() {
    let queue = SerialScheduler(), log = Log<Int>()
    queue.suspend()
    queue.suspend()
    for n in 0..<10 { queue.schedule { log.add(n) } }
    queue.resume()
    usleep(5_000)
    #expect(log.entries.isEmpty)
    queue.resume()
    queue.drain()
    #expect(log.entries == Array(0..<10))
  }

  @Test("a released queue runs its accepted actions, suspended or not") func released() {
    let ran = Counter()
    func start(suspended: Bool) {
      let queue = SerialScheduler()
      if suspended { queue.suspend() }
      for _ in 0..<1_000 { queue.schedule { ran.increment() } }
    }
    start(suspended: false)
    start(suspended: true)
    #expect(eventually { ran.value == 2_000 })
  }

  @Test("names of any length are kept") func names() {
    for length in [0, 15, 16, 4_096] {
      #expect(SerialScheduler(name: String(repeating: "é", count: length)).name.count == length)
    }
  }

  @Test("many queues share the few threads of their pool") func many() async throws {
    let pool = try WorkerPool(name: "few", workers: 2, maxThreads: 2), most = Protected(0), ran = Counter()
    let queues = (0..<1_000).map { SerialScheduler(name: "\($0)", target: pool.scheduler()) }
    for queue in queues {
      for _ in 0..<10 {
        queue.schedule {
          most.withLock { [count = pool.threadCount] in $0 = max($0, count) }
          ran.increment()
        }
      }
    }
    #expect(eventually { ran.value == 10_000 })
    #expect(most.read() <= 2)
    await pool.stopAndJoin()
  }
}
