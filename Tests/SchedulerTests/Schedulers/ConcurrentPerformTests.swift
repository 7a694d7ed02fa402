import CTestSupport
import Foundation
import Scheduler
import Synchronization
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct ConcurrentPerformTests {
  /// The calls of each number, which must be one.
  private func counts(_ iterations: Int, grain: Int = 1, on scheduler: ConcurrentScheduler) -> [Int] {
    var results = [Int](repeating: 0, count: iterations)
    results.withUnsafeMutableBufferPointer { results in
      nonisolated(unsafe) let results = results
      scheduler.concurrentPerform(iterations: iterations, grain: grain) { results[$0] += 1 }
    }
    return results
  }

  @Test("each number is called once, whatever the scheduler, the count and the grain", arguments: [0, 1, 2, 7, 1_000])
  func each(iterations: Int) {
    let expected = [Int](repeating: 1, count: iterations)
    for scheduler in [ConcurrentScheduler(), ConcurrentScheduler(priority: .low), .init(limit: 1), .init(limit: 3)] {
      for grain in [1, 3, 400, .max] { #expect(counts(iterations, grain: grain, on: scheduler) == expected) }
    }
  }

  @Test("it ends inside of an action, of itself, and of a queue") func nested() {
    let scheduler = ConcurrentScheduler(), queue = SerialScheduler(), leaves = Counter(), done = Gate()
    @Sendable func perform(_ depth: Int) {
      scheduler.concurrentPerform(iterations: 6) { _ in
        if depth == 0 { leaves.increment() } else { perform(depth - 1) }
      }
    }
    perform(2)
    scheduler.schedule {
      perform(2)
      done.open()
    }
    #expect(synchronously { done.wait() })
    synchronously { queue.sync { perform(2) } }
    #expect(leaves.value == 3 * 216)
  }

  @Test("it ends on one processor") func oneProcessor() {
    runOnOneCPU { #expect(counts(500, on: ConcurrentScheduler()) == [Int](repeating: 1, count: 500)) }
  }

  @Test("the scheduler is current in each call") func current() {
    for scheduler in [ConcurrentScheduler(), ConcurrentScheduler(limit: 2)] {
      let others = Counter()
      scheduler.concurrentPerform(iterations: 200) { _ in
        if Schedulers.current !== scheduler { others.increment() }
      }
      #expect(others.value == 0)
    }
    #expect(Schedulers.current == nil)
  }

  @Test("a caller that waits in an action of a queue, under a lock, makes no call of another loop")
  func noForeignCalls()
    throws
  {
    let pool = try WorkerPool(name: "loops", workers: 3, maxThreads: 3), workers = pool.scheduler()
    let queue = SerialScheduler(target: workers), lock = UnfairLock(), caller = Atomic<UInt32>(0)
    let isHelped = Gate(), hasSecondBegun = Gate(), callsAreMade = Gate(), firstIsOver = Gate(), isOver = Gate()
    let seconds = Counter(), wrong = Counter()
    queue.schedule {
      caller.store(ctest_thread_id(), ordering: .relaxed)
      lock.withLock {
        workers.concurrentPerform(iterations: 2) { _ in
          if queue.isCurrent {  // the calling thread
            hasSecondBegun.wait()
            callsAreMade.open()
          } else {
            isHelped.open()
            callsAreMade.wait()
            while !ctest_thread_sleeps(caller.load(ordering: .relaxed)), wrong.value == 0 { usleep(50) }
          }
        }
      }
      firstIsOver.open()
    }
    #expect(synchronously { isHelped.wait() })
    workers.schedule {
      workers.concurrentPerform(iterations: 2) { _ in
        if queue.isCurrent {
          wrong.increment()
        } else if seconds.increment() == 1 {
          hasSecondBegun.open()
          firstIsOver.wait()
        }
      }
      lock.withLock { isOver.open() }
    }
    #expect(synchronously { isOver.wait() })
    #expect(seconds.value == 2)
    #expect(wrong.value == 0)
  }

  @Test("a limit counts the threads that help, and blocked ones") func limited() {
    let inside = Atomic(0), most = Atomic(0)
    ConcurrentScheduler(limit: 1).concurrentPerform(iterations: 20) { _ in
      most.max(inside.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
      usleep(300)
      inside.subtract(1, ordering: .relaxed)
    }
    #expect(most.load(ordering: .relaxed) <= 2)
  }

  @Test("a negative count, and a grain below one, stop the process with a message") func misuse() async {
    var result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      ConcurrentScheduler(name: "rows").concurrentPerform(iterations: -1) { _ in }
    }
    expectMessage(result, "Scheduler: ConcurrentScheduler.concurrentPerform: \"rows\": ", "-1 iterations", "0 or more")
    result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      ConcurrentScheduler(name: "rows").concurrentPerform(iterations: 1, grain: 0) { _ in }
    }
    expectMessage(result, "Scheduler: ConcurrentScheduler.concurrentPerform: \"rows\": ", "a grain of 0")
  }
}
