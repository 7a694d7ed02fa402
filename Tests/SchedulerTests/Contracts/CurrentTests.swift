import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct CurrentTests {
  @Test("there is no current scheduler outside of actions") func outside() {
    #expect(Schedulers.current == nil)
  }

  @Test("the innermost scheduler is the current one, and the outer one is again after it") func nested() throws {
    let outer = try ThreadScheduler(), inner = SerialScheduler(), seen = Log<Bool>(), done = Gate()
    outer.schedule {
      seen.add(Schedulers.current === outer)
      inner.sync { seen.add(Schedulers.current === inner) }
      ImmediateScheduler.instance.schedule { seen.add(Schedulers.current === ImmediateScheduler.instance) }
      CurrentThreadScheduler.instance.schedule {
        seen.add(Schedulers.current === CurrentThreadScheduler.instance)
        CurrentThreadScheduler.instance.schedule {
          seen.add(Schedulers.current === CurrentThreadScheduler.instance)
          done.open()
        }
      }
      seen.add(Schedulers.current === outer)
    }
    done.wait()
    outer.drain()
    #expect(seen.entries == [true, true, true, true, true, true])
  }

  @Test("a released scheduler is still the current one in its actions") func released() throws {
    let seen = Log<Bool>(), done = Gate()
    func start() throws {
      let scheduler = SerialScheduler(name: "gone", target: try ThreadScheduler())
      scheduler.schedule { usleep(20_000) }
      scheduler.schedule {
        let current = Schedulers.current as? SerialScheduler
        seen.add(current?.name == "gone" && Schedulers.current === current)
        current?.schedule { done.open() }
      }
    }
    try start()
    #expect(done.wait())
    #expect(seen.entries == [true])
  }

  @Test("the subscription scheduler runs at once inside a scheduler, else in the background") func subscription() throws
  {
    let thread = try ThreadScheduler(), order = Log<String>(), done = Gate()
    thread.schedule {
      SubscriptionScheduler.instance.schedule {
        order.add("inside")
        #expect(Schedulers.current === thread)
      }
      order.add("after")
      done.open()
    }
    done.wait()
    #expect(order.entries == ["inside", "after"])
    let here = pthread_self(), elsewhere = Gate()
    SubscriptionScheduler.instance.schedule {
      #expect(pthread_self() != here)
      #expect(Schedulers.current is SerialScheduler)
      elsewhere.open()
    }
    #expect(elsewhere.wait())
  }

  @Test("immediate and trampoline do not hide the scheduler around them") func enclosing() throws {
    let queue = SerialScheduler(target: try ThreadScheduler()), seen = Log<Bool>(), done = Gate()
    let look: @Sendable () -> Void = { seen.add(Schedulers.enclosing === queue) }
    let through: @Sendable (@escaping @Sendable () -> Void) -> Void = { body in
      ImmediateScheduler.instance.schedule { CurrentThreadScheduler.instance.schedule(body) }
    }
    queue.schedule {
      look()
      through(look)
      through { through(look) }
      through {
        let background = SubscriptionScheduler.instance
        background.schedule(look)
        background.schedule(after: .milliseconds(1)) { seen.add(Schedulers.current === queue) }
        background.schedule(0, after: .milliseconds(1)) { _ in
          seen.add(Schedulers.current === queue)
          return Disposables.create()
        }
        background.schedule(.at(.now.advanced(by: .milliseconds(1)))) { seen.add(Schedulers.current === queue) }
        let ticks = SerialDisposable()
        ticks.disposable = background.schedule(.every(.milliseconds(1), after: .milliseconds(5))) {
          seen.add(Schedulers.current === queue)
          ticks.dispose()
          done.open()
        }
      }
    }
    #expect(done.wait())
    queue.drain()
    #expect(seen.entries == Array(repeating: true, count: 8))
  }

  @Test("with nothing but immediate and trampoline around, delayed work goes to the background") func nothingEncloses()
  {
    let seen = Log<Bool>(), done = Gate()
    onThreads(1) { _ in
      let here = pthread_self()
      seen.add(Schedulers.enclosing == nil)
      ImmediateScheduler.instance.schedule {
        CurrentThreadScheduler.instance.schedule {
          seen.add(Schedulers.enclosing == nil)
          SubscriptionScheduler.instance.schedule { seen.add(pthread_self() == here) }
          SubscriptionScheduler.instance.schedule(after: .milliseconds(1)) {
            seen.add(pthread_self() != here && Schedulers.current is SerialScheduler)
            done.open()
          }
        }
      }
      #expect(done.wait())  // here, so that no worker gets this thread's identity
    }
    #expect(seen.entries == [true, true, true, true])
  }

  @Test("an action whose scheduler was released finds a placeholder for it, on the pool too") func releasedOnPool() {
    let seen = Log<Bool>(), done = Gate()
    func start() {
      ConcurrentScheduler(name: "gone").schedule {
        usleep(10_000)
        let current = Schedulers.current as? ConcurrentScheduler
        seen.add(current?.name == "gone" && Schedulers.current === current && Schedulers.enclosing === current)
        current?.schedule {
          seen.add(Schedulers.current === current)
          done.open()
        }
      }
    }
    start()
    #expect(done.wait())
    #expect(seen.entries == [true, true])
  }

  @Test("wrapping surrounds each action, and keeps the scheduler current") func wrapping() throws {
    let base = SerialScheduler(), order = Log<String>(), done = Gate()
    let wrapped = base.wrapping { run in
      order.add("before")
      run()
      order.add("after")
    }
    wrapped.schedule { order.add("plain \(Schedulers.current === base)") }
    wrapped.schedule(7) {
      order.add("state \($0)")
      return Disposables.create()
    }
    wrapped.schedule(after: .milliseconds(5)) { order.add("delayed") }
    wrapped.schedule { order.add("never") }.dispose()
    wrapped.schedule(after: .milliseconds(20)) { done.open() }
    done.wait()
    base.drain()
    let expected = ["before", "plain true", "after", "before", "state 7", "after"]
    #expect(Array(order.entries.prefix(6)) == expected)
    #expect(order.entries.filter { $0 == "before" }.count == order.entries.filter { $0 == "after" }.count)
  }

  private enum Request {
    @TaskLocal static var id = 0
    @TaskLocal static var user: Witness?
  }

  @Test(
    "a carried task-local has the value that it had where the action was scheduled",
    arguments: SchedulerUnderTest.queued)
  func carrying(_ test: SchedulerUnderTest) async throws {
    let base = try test.make(), scheduler = base.carrying(Request.$id), seen = Protected<[String: Set<Int>]>([:])
    let note = { @Sendable (name: String) in seen.withLock { _ = $0[name, default: []].insert(Request.id) } }
    let ticks = Counter()
    let periodic = Request.$id.withValue(1) {
      scheduler.schedule { note("plain") }
      scheduler.schedule(after: .milliseconds(1)) { note("delayed") }
      base.schedule { note("not carried") }
      scheduler.schedule {
        Request.$id.withValue(2) { _ = scheduler.schedule { note("inner") } }
        scheduler.schedule { note("outer") }
      }
      scheduler.scheduleRecursive { again in
        note("recursive")
        if ticks.increment() < 3 { again() }
      }
      return scheduler.schedule(.every(.milliseconds(1))) { note("periodic") }
    }
    scheduler.schedule { note("none") }
    let performed = await Request.$id.withValue(3) { try? await scheduler.perform { Request.id } }
    #expect(performed == 3)
    let expected: [String: Set<Int>] = [
      "plain": [1], "delayed": [1], "not carried": [0], "inner": [2], "outer": [1], "recursive": [1], "periodic": [1],
      "none": [0],
    ]
    #expect(eventually { seen.read().count == expected.count })
    await periodic.disposeAndWait()
    #expect(seen.read() == expected)
    #expect(Request.id == 0)
  }

  @Test("a carried value is released with its action: run, disposed, dropped") func carriedIsReleased() throws {
    let ends = Counter(), thread = try ThreadScheduler(name: "carried"),
      scheduler = thread.carrying(Request.$user).carrying(Request.$id)
    func carry(_ body: (any SchedulerType) -> Void) {
      Request.$user.withValue(Witness(ends)) { Request.$id.withValue(5) { body(scheduler) } }
    }
    carry { $0.schedule { #expect(Request.user != nil && Request.id == 5) } }
    #expect(eventually { ends.value == 1 })
    carry { $0.schedule(after: .seconds(1_000)) {}.dispose() }
    #expect(eventually { ends.value == 2 })
    carry { $0.schedule(after: .seconds(1_000)) {} }
    thread.stop()
    thread.join()
    #expect(ends.value == 3)
    carry { $0.schedule {} }
    #expect(ends.value == 4)
  }

  @Test("a custom scheduler that releases its work drops the action") func customDrops() {
    let ends = Counter(), scheduler = CustomScheduler { _ in }
    do {
      let witness = Witness(ends)
      scheduler.schedule { witness.touch() }
    }
    #expect(ends.value == 1)
  }
}
