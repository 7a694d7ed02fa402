// What runs at once on the main thread, and what waits, whichever way it came.
import Foundation
import Scheduler
import SchedulerRx

func checkOrder() {
  let queue = SerialScheduler(target: main), above = SerialScheduler(target: queue)

  // Inside of anything that the main loop runs, an action waits.
  func nested(_ what: String, _ begin: (_ body: @escaping @Sendable () -> Void) -> Void) {
    begin {
      main.schedule { log.add("nested") }
      main.schedule(0) { _ in
        log.add("nested")
        MainScheduler.stop()
        return Disposables.create()
      }
      log.add("first")
    }
    MainScheduler.run(until: .now.advanced(by: .seconds(10)))
    check(log.take() == ["first", "nested", "nested"], what)
  }
  nested("immediate") { main.schedule($0) }
  nested("queued") { later.schedule($0) }
  nested("due") { main.schedule(after: .zero, $0) }
  nested("delayed") { main.schedule(after: .milliseconds(1), $0) }
  nested("delayed with state") { body in
    main.schedule(0, after: .milliseconds(1)) { _ in
      body()
      return Disposables.create()
    }
  }
  nested("periodic") { body in
    let ticks = SerialDisposable()
    ticks.disposable = main.schedule(.every(.milliseconds(1), after: .milliseconds(1))) {
      ticks.dispose()
      body()
    }
  }
  nested("a queue's") { queue.schedule($0) }
  nested("a queue's delayed") { above.schedule(after: .milliseconds(1), $0) }
  nested("a queue's, waited for") { body in queue.sync { body() } }

  // Whatever waits is not overtaken.
  func waiting(_ what: String, _ begin: (_ body: @escaping @Sendable () -> Void) -> any Disposable) {
    _ = begin { log.add("first") }
    main.schedule { log.add("second") }
    check(log.take() == [], "\(what) waits, so nothing runs at once")
    MainScheduler.runUntilIdle()
    check(log.take() == ["first", "second"], what)
    begin { log.add("never") }.dispose()
    main.schedule { log.add("at once") }
    check(log.take() == ["at once"], "\(what) that was disposed is not waited for")
    MainScheduler.runUntilIdle()
  }
  waiting("one of the other handle") { later.schedule($0) }
  waiting("one without a delay") { main.schedule(after: .zero, $0) }
  waiting("one that is late") { main.schedule(.at(MonotonicTime(nanoseconds: 1)), $0) }
  waiting("one that is due") { body in
    defer { usleep(2_000) }
    return main.schedule(after: .milliseconds(1), body)
  }
  waiting("a queue's that is due") { body in
    defer { usleep(2_000) }
    return above.schedule(after: .milliseconds(1), body)
  }
  queue.schedule { log.add("first") }
  main.schedule { log.add("second") }
  check(log.take() == [], "a queue's action waits")
  MainScheduler.runUntilIdle()
  check(log.take() == ["first", "second"], "a queue's")

  // A wait leaves nothing behind that would be waited for.
  let lock = RunLoopLock(timeout: .seconds(10)), dispatched = DispatchSemaphore(value: 0)
  lock.dispatch {
    Thread.detachNewThread {
      for _ in 0..<10 { lock.dispatch {} }
      lock.stop()
      lock.dispatch {}
      dispatched.signal()
    }
    dispatched.wait()
  }
  check((try? lock.run()) != nil, "stopped")
  main.schedule { log.add("at once") }
  check(log.take() == ["at once"], "nothing waits after a wait")
}

/// On the bare main thread work continues on the main scheduler.
func checkCurrent() {
  let subscription = SubscriptionScheduler.instance
  check(Schedulers.current == nil && Schedulers.enclosing === main, "outside")
  subscription.schedule {
    check(Thread.isMainThread && Schedulers.current === main, "at once, as the main scheduler's")
    log.add("at once")
  }
  subscription.schedule(0) { _ in
    log.add("with state")
    return Disposables.create()
  }
  check(log.take() == ["at once", "with state"], "at once")
  CurrentThreadScheduler.instance.schedule {
    subscription.schedule(after: .milliseconds(1)) {
      check(Thread.isMainThread && Schedulers.current === main, "delayed, on the main thread")
      log.add("delayed")
      MainScheduler.stop()
    }
  }
  MainScheduler.run()
  check(log.take() == ["delayed"] && Schedulers.current == nil, "delayed")

  // In a wait, all that it performs is inside of the main scheduler, or of what the wait is in.
  let queue = SerialScheduler(target: main)
  let look: @Sendable (any AnyObject & Sendable) -> Void = { around in
    let lock = RunLoopLock(timeout: .seconds(10))
    lock.dispatch {
      check(Schedulers.current === around, "dispatched before")
      CurrentThreadScheduler.instance.schedule {
        check(Schedulers.current === CurrentThreadScheduler.instance, "trampolined")
        check(Schedulers.enclosing === around, "where the wait is")
      }
      Thread.detachNewThread {
        lock.dispatch {
          check(Schedulers.current === around, "dispatched meanwhile")
          lock.stop()
        }
      }
    }
    check((try? lock.run()) != nil, "stopped")
  }
  look(main)
  main.schedule { look(main) }
  queue.sync { look(queue) }
}
