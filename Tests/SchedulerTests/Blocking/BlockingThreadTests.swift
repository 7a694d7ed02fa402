import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct BlockingThreadTests {
  @Test("a ThreadScheduler's thread keeps serving its actions and timers while it waits") func onItsThread() throws {
    let thread = try ThreadScheduler(), log = Log<String>(), done = Gate()
    let ticks = Counter(), token = thread.schedule(.every(.milliseconds(1), after: .zero)) { ticks.increment() }
    thread.schedule {
      let lock = RunLoopLock(timeout: .seconds(200))
      thread.schedule { log.add("action") }
      thread.schedule(after: .milliseconds(5)) { log.add("timer") }
      let seen = ticks.value
      let watching = thread.schedule(.every(.milliseconds(1), after: .milliseconds(6))) {
        if ticks.value > seen + 2 { lock.stop() }
      }
      log.add(outcome(lock))
      watching.dispose()
      #expect(Schedulers.current === thread)
      done.open()
    }
    #expect(done.wait())
    token.dispose()
    #expect(log.entries == ["action", "timer", "stopped"])
  }

  @Test("waits nest three deep, the outer ones end first, and each returns when those inside it have")
  func threeDeep() throws {
    func nest(_ schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) -> [String] {
      let locks = (0..<3).map { _ in RunLoopLock(timeout: .seconds(200)) }, log = Log<String>(), done = Gate()
      schedule {
        locks[0].dispatch {
          locks[1].dispatch {
            locks[2].dispatch {
              Thread.detachNewThread {
                for n in 0..<3 {
                  locks[n].stop()
                  usleep(5_000)
                  log.add("stopped \(n)")
                }
              }
            }
            log.add("2 \(outcome(locks[2]))")
          }
          log.add("1 \(outcome(locks[1]))")
        }
        log.add("0 \(outcome(locks[0]))")
        done.open()
      }
      done.wait()
      return log.entries.filter { $0 != "stopped 2" }
    }
    let thread = try ThreadScheduler(), pool = ConcurrentScheduler()
    let expected = ["stopped 0", "stopped 1", "2 stopped", "1 stopped", "0 stopped"]
    #expect(nest { thread.schedule($0) } == expected)
    #expect(nest { pool.schedule($0) } == expected)
    #expect(nest { body in Thread.detachNewThread { body() } } == expected)
  }

  @Test("actions dispatched to the outer wait run while an inner one is waiting") func outerDispatch() throws {
    let thread = try ThreadScheduler()
    for start in [{ thread.schedule($0) }, { body in Thread.detachNewThread { body() } }]
      as [(@escaping @Sendable () -> Void) -> Void]
    {
      let outer = RunLoopLock(timeout: .seconds(200)), inner = RunLoopLock(timeout: .seconds(200)), log = Log<String>()
      let done = Gate()
      start {
        outer.dispatch {
          Thread.detachNewThread { outer.dispatch { inner.stop() } }
          log.add(outcome(inner))
          outer.stop()
        }
        log.add(outcome(outer))
        done.open()
      }
      #expect(done.wait())
      #expect(log.entries == ["stopped", "stopped"])
    }
  }

  @Test("workers of the pool that all wait are replaced") func pool() {
    let pool = ConcurrentScheduler(), many = 3 * ProcessInfo.processInfo.activeProcessorCount + 2, ended = Counter()
    let locks = (0..<many).map { _ in RunLoopLock(timeout: .seconds(200)) }, waiting = Counter()
    for lock in locks {
      pool.schedule {
        lock.dispatch { waiting.increment() }
        #expect(outcome(lock) == "stopped")
        #expect(Schedulers.current === pool)
        ended.increment()
      }
    }
    #expect(eventually { waiting.value == many })
    let done = Gate()
    pool.schedule {
      for lock in locks { lock.stop() }
      done.open()
    }
    #expect(done.wait())
    #expect(eventually { ended.value == many })
  }

  @Test("inside of a trampolined action, actions scheduled while waiting run, and earlier ones run after it")
  func trampolined() throws {
    @Sendable func check(_ log: Log<String>) {
      let scheduler = CurrentThreadScheduler.instance
      scheduler.schedule {
        scheduler.schedule { log.add("waited") }
        let lock = RunLoopLock(timeout: .seconds(200))
        lock.dispatch {
          scheduler.schedule { lock.stop() }
          log.add("dispatched")
        }
        log.add(outcome(lock))
        log.add("required \(CurrentThreadScheduler.isScheduleRequired)")
        scheduler.schedule { log.add("last") }
      }
    }
    let expected = ["dispatched", "stopped", "required false", "waited", "last"]
    let bare = Log<String>(), served = Log<String>(), thread = try ThreadScheduler()
    onBareThread { check(bare) }
    thread.schedule { check(served) }
    thread.drain()
    #expect(bare.entries == expected)
    #expect(served.entries == expected)
  }

  @Test("a served action runs its trampolined work at once, as it does outside of a wait") func servedTrampoline()
    throws
  {
    let thread = try ThreadScheduler(), log = Log<String>(), done = Gate()
    thread.schedule {
      CurrentThreadScheduler.instance.schedule {
        let lock = RunLoopLock(timeout: .seconds(200))
        thread.schedule {
          CurrentThreadScheduler.instance.schedule { log.add("1") }
          log.add("2")
          lock.stop()
        }
        log.add(outcome(lock))
        done.open()
      }
    }
    #expect(done.wait())
    #expect(log.entries == ["1", "2", "stopped"])
  }

  @Test(
    "a wait on a thread that is stopped meanwhile, or was before, continues to its own end", arguments: [true, false])
  func stoppedThread(before: Bool) throws {
    let thread = try ThreadScheduler(), log = Log<String>()
    thread.schedule {
      let lock = RunLoopLock(timeout: .seconds(200))
      if before { thread.stop() }
      Thread.detachNewThread {
        usleep(5_000)
        thread.stop()
        usleep(5_000)
        lock.dispatch { log.add("dispatched") }
        lock.stop()
      }
      log.add(outcome(lock))
    }
    #expect(eventually { log.entries == ["dispatched", "stopped"] })
    thread.join()
  }

  @Test("the current scheduler is the caller's, and the thread's own where there was none") func current() {
    let queue = SerialScheduler(), seen = Log<Bool>()
    @Sendable func look(_ isRight: @escaping @Sendable () -> Bool) {
      let lock = RunLoopLock(timeout: .seconds(200))
      lock.dispatch {
        seen.add(isRight())
        Thread.detachNewThread {
          usleep(2_000)
          lock.dispatch {
            seen.add(isRight())
            lock.stop()
          }
        }
      }
      #expect(outcome(lock) == "stopped")
    }
    queue.schedule { look { Schedulers.current === queue } }
    queue.drain()
    onBareThread { look { Schedulers.current === CurrentThreadScheduler.instance && Schedulers.enclosing == nil } }
    #expect(seen.entries == [true, true, true, true])
  }

  @Test("an action trampolined inside a wait has the trampoline as its current scheduler, and runs inside the wait")
  func currentTrampolined() throws {
    struct Source: EventSource {
      let look: @Sendable () -> Void
      func subscribe(_ handler: @escaping @Sendable (SourceEvent<Int>) -> Void) -> any Disposable {
        CurrentThreadScheduler.instance.schedule {
          look()
          handler(.completed)
        }
      }
    }
    let seen = Log<Bool>()
    @Sendable func check(_ around: (any AnyObject & Sendable)?) {
      let look: @Sendable () -> Void = {
        seen.add(Schedulers.current === CurrentThreadScheduler.instance && Schedulers.enclosing === around)
      }
      let lock = RunLoopLock(timeout: .seconds(200))
      lock.dispatch {
        CurrentThreadScheduler.instance.schedule(look)
        CurrentThreadScheduler.instance.schedule(0) { _ in
          look()
          CurrentThreadScheduler.instance.schedule { lock.stop() }
          return Disposables.create()
        }
      }
      #expect(outcome(lock) == "stopped")
      _ = try? Source(look: look).toBlocking(timeout: .seconds(200)).toArray()
    }
    let thread = try ThreadScheduler(), queue = SerialScheduler(target: thread), pool = ConcurrentScheduler()
    let schedulers: [any SchedulerType & AnyObject & Sendable] = [thread, queue, pool]
    for scheduler in schedulers {
      let done = Gate()
      scheduler.schedule {
        CurrentThreadScheduler.instance.schedule { check(scheduler) }
        check(scheduler)
        done.open()
      }
      #expect(done.wait())
    }
    onBareThread { check(nil) }
    #expect(seen.entries == Array(repeating: true, count: 21))
  }

  @Test("a flood of actions on the thread does not put the timeout off") func flood() throws {
    let thread = try ThreadScheduler(), log = Log<String>()
    let flood = thread.scheduleRecursive { again in again() }
    thread.schedule { log.add(outcome(RunLoopLock(timeout: .milliseconds(10)))) }
    #expect(eventually { log.entries == ["timeout"] })
    flood.dispose()
  }

  @Test("in an action of a serial queue its thread is served, and the queue itself is held up") func serialOnThread()
    throws
  {
    let thread = try ThreadScheduler(), queue = SerialScheduler(target: thread), log = Log<String>()
    queue.schedule {
      let lock = RunLoopLock(timeout: .milliseconds(200))
      queue.schedule { log.add("queue") }
      thread.schedule { log.add("thread") }
      log.add(outcome(lock))
    }
    #expect(eventually { log.entries == ["thread", "timeout", "queue"] })
  }

  @Test("waits at random, on threads that serve each other, all end") func random() throws {
    var random = SeededGenerator(for: "waits at random")
    let threads = try (0..<3).map { _ in try ThreadScheduler() }, pool = ConcurrentScheduler(), ended = Counter()
    let rounds = Scale.count(300)
    for round in 0..<rounds {
      let lock = RunLoopLock(timeout: .seconds(20)), span = Int.random(in: 0..<300, using: &random)
      let stopper = threads[(round + 1) % 3]
      let wait: @Sendable () -> Void = {
        stopper.schedule(after: .microseconds(span)) { lock.stop() }
        if outcome(lock) == "stopped" { ended.increment() }
      }
      if round % 4 == 0 { pool.schedule(wait) } else { threads[round % 3].schedule(wait) }
      if round % 8 == 0 { usleep(UInt32.random(in: 0..<500, using: &random)) }
    }
    #expect(eventually { ended.value == rounds })
  }

  @Test("a wait on a bare thread sleeps") func sleeps() {
    let used: Int? = onBareThread {
      let before = System.processorTime(ofThread: System.threadID) ?? 0
      _ = outcome(RunLoopLock(timeout: .milliseconds(300)))
      return (System.processorTime(ofThread: System.threadID) ?? 0) - before
    }
    #expect((used ?? .max) < 100_000_000)
  }
}
