import Foundation
import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct BlockingLockTests {
  // RL1
  @Test("a stop before, during and after the run, and many of them, end it once and nothing else") func stops() {
    #expect(
      onBareThread {
        let before = RunLoopLock(), during = RunLoopLock(), next = RunLoopLock(timeout: .milliseconds(20))
        for _ in 0..<3 { before.stop() }
        let first = outcome(before)
        Thread.detachNewThread {
          usleep(5_000)
          for _ in 0..<100 { during.stop() }
        }
        let second = outcome(during)
        next.dispatch {
          before.stop()
          during.stop()
        }
        return [first, second, outcome(next)]
      } == ["stopped", "stopped", "timeout"])
  }

  @Test("dispatched actions run on the thread that runs, in order, before the stop and after") func dispatches() {
    let log = Log<Int>(), lock = RunLoopLock(timeout: .seconds(200))
    let ended = onBareThread {
      let here = pthread_self()
      lock.dispatch { log.add(pthread_self() == here ? 1 : -1) }
      lock.dispatch {
        Thread.detachNewThread {
          for n in 3...100 { lock.dispatch { log.add(pthread_self() == here ? n : -n) } }
          lock.stop()
        }
        log.add(2)
      }
      return outcome(lock)
    }
    #expect(ended == "stopped")
    #expect(log.entries == Array(1...100))
    let stopped = RunLoopLock(timeout: .zero)
    stopped.dispatch { log.add(101) }
    stopped.stop()
    stopped.dispatch { log.add(102) }
    #expect(outcome(stopped) == "stopped")
    #expect(log.entries.suffix(2) == [101, 102])
  }

  @Test("an action dispatched after the run is refused, and released at once") func refused() {
    let lock = RunLoopLock(timeout: .zero), ends = Counter()
    #expect(outcome(lock) == "timeout")
    do {
      let witness = Witness(ends)
      #expect(!lock.dispatch { witness.touch() })
    }
    #expect(ends.value == 1)
  }

  // RL2, RL3
  @Test("every dispatch that was taken runs, however it meets the end") func dispatchAgainstEnd() {
    for round in 0..<Scale.count(200) {
      let lock = RunLoopLock(timeout: .microseconds(round * 5)), taken = Counter(), ran = Counter(), over = Gate()
      Thread.detachNewThread {
        while lock.dispatch({ ran.increment() }) { taken.increment() }
        over.open()
      }
      _ = outcome(lock)
      #expect(over.wait())
      #expect(taken.value == ran.value)
    }
  }

  @Test("zero, negative and tiny timeouts run the dispatched actions, and end", arguments: [0, -1, Int64.min, 1])
  func smallTimeouts(nanoseconds: Int64) {
    let lock = RunLoopLock(timeout: .nanoseconds(nanoseconds)), ran = Counter()
    lock.dispatch { lock.dispatch { ran.increment() } }
    #expect(outcome(lock) == "timeout")
    #expect(ran.value == 1)
  }

  @Test("huge timeouts and none wait for ever", arguments: [nil, Duration.seconds(Int64.max), .nanoseconds(Int64.max)])
  func hugeTimeouts(timeout: Duration?) {
    let lock = RunLoopLock(timeout: timeout)
    Thread.detachNewThread {
      usleep(10_000)
      lock.stop()
    }
    #expect(outcome(lock) == "stopped")
    let absurd = RunLoopLock(timeout: Duration(secondsComponent: .max, attosecondsComponent: .max))
    absurd.dispatch { absurd.stop() }
    #expect(outcome(absurd) == "stopped")
    #expect(outcome(RunLoopLock(timeout: Duration(secondsComponent: .min, attosecondsComponent: .min))) == "timeout")
  }

  // RL5
  @Test("a timeout is never early") func neverEarly() {
    let begin = ContinuousClock.now
    #expect(outcome(RunLoopLock(timeout: .milliseconds(20))) == "timeout")
    #expect(ContinuousClock.now - begin >= .milliseconds(20))
  }

  @Test("a second run stops the process, and says why", arguments: [true, false]) func secondRun(nested: Bool) async {
    let body: ExitTest.Result?
    if nested {
      body = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let lock = RunLoopLock(timeout: .seconds(5))
        lock.dispatch { try? lock.run() }
        synchronously { try? lock.run() }
      }
    } else {
      body = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let lock = RunLoopLock(timeout: .zero)
        synchronously { try? lock.run() }
        synchronously { try? lock.run() }
      }
    }
    expectMessage(body, "Scheduler: RunLoopLock.run: called a second time", "for each wait")
  }

  // RL1, RL3
  @Test("a late stop, again and again, never ends another wait") func lateStops() {
    let early = Counter(), old = Protected<[RunLoopLock]>([]), isOver = Protected(false)
    Thread.detachNewThread {
      while !isOver.read() { for lock in old.read() { lock.stop() } }
    }
    onBareThread {
      for _ in 0..<Scale.count(300) {
        let lock = RunLoopLock(timeout: .microseconds(200))
        if outcome(lock) != "timeout" { early.increment() }
        old.withLock { locks in
          locks.append(lock)
          if locks.count > 8 { locks.removeFirst() }
        }
      }
    }
    isOver.write(true)
    #expect(early.value == 0)
  }

  @Test("a lock is released after its run, with all dispatched actions") func leaks() {
    weak var seen: RunLoopLock?
    let ends = Counter()
    do {
      let lock = RunLoopLock(), witness = Witness(ends)
      seen = lock
      lock.dispatch {
        witness.touch()
        lock.stop()
      }
      _ = outcome(lock)
    }
    #expect(seen == nil)
    #expect(ends.value == 1)
  }
}
