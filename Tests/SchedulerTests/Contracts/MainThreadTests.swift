import CTestSupport
import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

/// Calls `body` on a thread that has taken the main one's place, in a process of its own: the main thread belongs to
/// the test runner.
/// (On the real one: Tests/Integration/MainLoopOfOurs.)
func onMainThread(_ body: @escaping @Sendable () -> Void) {
  onThreads(1) { _ in
    ctest_take_main_loop()
    body()
  }
}

/// Which actions run at once on the main thread, and which wait.
@Suite(.nothingIsLeft) struct MainThreadTests {
  @Test("an action inside of any other one on the main loop waits for its turn") func nested() async {
    await #expect(processExitsWith: .success) {
      onMainThread {
        let main = MainScheduler.instance, log = Log<String>()
        let queue = SerialScheduler(target: main), above = SerialScheduler(target: queue)
        let nest: @Sendable (String) -> Void = { name in
          main.schedule { log.add("nested in \(name)") }
          main.schedule(0) { _ in
            log.add("again in \(name)")
            return Disposables.create()
          }
          log.add(name)
        }
        func check(_ name: String, _ begin: () -> Void) {
          let expected = log.entries.count + 3, end = ContinuousClock.now + .seconds(10)
          begin()
          while log.entries.count < expected, ContinuousClock.now < end {
            MainScheduler.run(until: .now.advanced(by: .milliseconds(1)))
          }
          #expect(log.entries.suffix(3) == [name, "nested in \(name)", "again in \(name)"])
        }
        check("immediate") { main.schedule { nest("immediate") } }
        check("queued") { MainScheduler.asyncInstance.schedule { nest("queued") } }
        check("delayed") { main.schedule(after: .milliseconds(1)) { nest("delayed") } }
        check("due") { main.schedule(after: .zero) { nest("due") } }
        let ticks = SerialDisposable()
        check("periodic") {
          ticks.disposable = main.schedule(.every(.milliseconds(1), after: .zero)) {
            ticks.dispose()
            nest("periodic")
          }
        }
        check("serial") { queue.schedule { nest("serial") } }
        check("serial, delayed") { above.schedule(after: .milliseconds(1)) { nest("serial, delayed") } }
        check("sync") { queue.sync { nest("sync") } }
        check("subscription") { SubscriptionScheduler.instance.schedule { nest("subscription") } }
        check("dispatched") {
          let lock = RunLoopLock(timeout: .seconds(200))
          lock.dispatch {
            nest("dispatched")
            main.schedule { lock.stop() }
          }
          try? lock.run()
        }
        check("recursive") {
          main.scheduleRecursive(0) { n, again in if n < 3 { again(n + 1) } else { nest("recursive") } }
        }
      }
    }
  }

  @Test("nothing runs at once before the waiting actions of the main loop, whatever call submitted them") func waiting()
    async
  {
    await #expect(processExitsWith: .success) {
      onMainThread {
        let main = MainScheduler.instance, log = Log<String>(), queue = SerialScheduler(target: main)
        // `isAlone`: whether nothing is left on the main loop once the action is disposed.
        func check(isAlone: Bool = true, _ begin: () -> any Disposable) {
          let before = log.entries.count
          _ = begin()
          main.schedule { log.add("second") }
          #expect(log.entries.count == before)
          MainScheduler.runUntilIdle()
          #expect(log.entries.dropFirst(before) == ["first", "second"])
          guard isAlone else { return }
          // And no call waits for a disposed action.
          begin().dispose()
          main.schedule { log.add("alone") }
          #expect(log.entries.dropFirst(before) == ["first", "second", "alone"])
          MainScheduler.runUntilIdle()
        }
        let first: @Sendable () -> Void = { log.add("first") }
        check { MainScheduler.asyncInstance.schedule(first) }
        check {
          MainScheduler.asyncInstance.schedule(0) { _ in
            first()
            return Disposables.create()
          }
        }
        check { main.schedule(after: .zero, first) }
        check { main.schedule(after: .milliseconds(-1), first) }
        check { main.schedule(.at(MonotonicTime(nanoseconds: 1)), first) }
        check {
          let due = MonotonicTime.now.advanced(by: .milliseconds(2))
          let delayed = main.schedule(.at(due), first)
          usleep(3_000)
          return delayed
        }
        check {
          let ticks = SerialDisposable()
          ticks.disposable = main.schedule(.every(.seconds(60), after: .milliseconds(1))) {
            first()
            ticks.dispose()
          }
          usleep(2_000)
          return ticks
        }
        // If it is late already, when it comes to the main loop, it is in the queue's batch: see below.
        check(isAlone: false) {
          let delayed = queue.schedule(after: .milliseconds(1), first)
          usleep(2_000)
          return delayed
        }
        // The batch of a queue that was disposed of its action is one all the same.
        let before = log.entries.count
        queue.schedule(first)
        main.schedule { log.add("second") }
        #expect(log.entries.count == before)
        MainScheduler.runUntilIdle()
        #expect(log.entries.suffix(2) == ["first", "second"])
        // One that is delayed, and not due, is not waited for.
        let later = main.schedule(after: .seconds(60), first)
        main.schedule { log.add("at once") }
        #expect(log.entries.last == "at once")
        later.dispose()
      }
    }
  }

  @Test("after the shutdown nothing runs at once") func shutdown() async {
    await #expect(processExitsWith: .success) {
      onMainThread {
        let ran = Counter()
        MainScheduler.instance.schedule { ran.increment() }
        #expect(ran.value == 1)
        Schedulers.shutdown()
        let action = MainScheduler.instance.schedule { ran.increment() }
        #expect(ran.value == 1 && action.isDisposed)
      }
    }
  }

  @Test("on the bare main thread the subscription scheduler runs at once, and delayed work goes to the main scheduler")
  func subscription() async {
    await #expect(processExitsWith: .success) {
      onMainThread {
        let main = MainScheduler.instance, subscription = SubscriptionScheduler.instance, log = Log<String>()
        #expect(Schedulers.current == nil && Schedulers.enclosing === main)
        let note: @Sendable (String) -> Void = { log.add("\($0) \(Schedulers.current === main)") }
        subscription.schedule { note("plain") }
        subscription.schedule(0) { _ in
          note("with state")
          return Disposables.create()
        }
        #expect(log.entries == ["plain true", "with state true"])
        // Also while something waits: its caller chose to be here.
        MainScheduler.asyncInstance.schedule { log.add("waited") }
        subscription.schedule { note("before") }
        #expect(log.entries.last == "before true")
        ImmediateScheduler.instance.schedule { subscription.schedule(after: .milliseconds(1)) { note("delayed") } }
        subscription.schedule(0, after: .milliseconds(1)) { _ in
          note("delayed with state")
          return Disposables.create()
        }
        let ticks = SerialDisposable()
        ticks.disposable = subscription.schedule(.every(.milliseconds(1), after: .milliseconds(2))) {
          note("tick")
          ticks.dispose()
          MainScheduler.stop()
        }
        MainScheduler.run()
        #expect(
          log.entries.dropFirst(3) == ["waited", "delayed true", "delayed with state true", "tick true"])
        // A disposable that is disposed there is disposed there and then, however deep the chain.
        var last: any Disposable = Disposables.create { note("disposed") }
        for _ in 0..<100_000 { last = last.disposed(on: subscription) }
        last.dispose()
        #expect(log.entries.last == "disposed true")
        #expect(Schedulers.current == nil)
      }
    }
  }

  @Test("a wait on the main thread is inside of the main scheduler") func wait() async {
    await #expect(processExitsWith: .success) {
      onMainThread {
        let main = MainScheduler.instance, seen = Log<Bool>()
        @Sendable func look(_ around: any AnyObject & Sendable) {
          let lock = RunLoopLock(timeout: .seconds(60))
          let note: @Sendable () -> Void = { seen.add(Schedulers.current === around) }
          lock.dispatch {
            note()
            CurrentThreadScheduler.instance.schedule {
              seen.add(Schedulers.current === CurrentThreadScheduler.instance && Schedulers.enclosing === around)
            }
            main.schedule { seen.add(Schedulers.current === main) }
            Thread.detachNewThread {
              usleep(2_000)
              lock.dispatch(note)
              lock.stop()
            }
          }
          #expect(throws: Never.self) { try lock.run() }
        }
        look(main)
        main.schedule { look(MainScheduler.instance) }
        let queue = SerialScheduler(target: main)
        queue.sync { look(queue) }
        MainScheduler.runUntilIdle()  // a wait may end before the loop has come to what was scheduled meanwhile
        #expect(seen.entries == Array(repeating: true, count: 12))
      }
    }
  }
}
