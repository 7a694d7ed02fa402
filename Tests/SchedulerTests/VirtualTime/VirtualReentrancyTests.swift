import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct VirtualReentrancyTests {
  let scheduler = TestScheduler()

  func at(_ seconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: UInt64(seconds) * 1_000_000_000) }

  @Test("actions that an action schedules for its own instant, or within the advance, run in the same advance")
  func schedulesInside() {
    let log = Log<String>()
    scheduler.schedule(after: .seconds(1)) { [unowned scheduler] in
      log.add("a")
      scheduler.schedule { log.add("same instant") }
      scheduler.schedule(after: .seconds(1)) { log.add("within") }
      scheduler.schedule(after: .seconds(2)) { log.add("beyond") }
      log.add("a ends")
    }
    scheduler.schedule(after: .seconds(1)) { log.add("b") }
    scheduler.advance(by: .seconds(2))
    #expect(log.entries == ["a", "a ends", "b", "same instant", "within"])
    #expect(scheduler.pendingCount == 1)
  }

  @Test("an action disposes others, due at the same instant and later, and they do not run")
  func disposesInside() {
    let log = Log<String>(), others = CompositeDisposable()
    scheduler.schedule(after: .seconds(1)) {
      log.add("first")
      others.dispose()
    }
    others.insert(scheduler.schedule(after: .seconds(1)) { log.add("same instant") })
    others.insert(scheduler.schedule(after: .seconds(2)) { log.add("later") })
    scheduler.schedule(after: .seconds(3)) { log.add("last") }
    scheduler.run()
    #expect(log.entries == ["first", "last"])
  }

  @Test("run inside of run changes nothing: the outer one continues after the action")
  func runInsideRun() {
    let log = Log<String>()
    scheduler.schedule { [unowned scheduler] in
      scheduler.schedule { log.add("inner") }
      scheduler.run()
      log.add("outer")
    }
    scheduler.run()
    #expect(log.entries == ["outer", "inner"])
  }

  @Test("an advance inside of an action widens the one under way, and costs no stack")
  func advanceInside() {
    let log = Log<Int>(), dives = Counter(), nested = Counter()
    scheduler.schedule(after: .seconds(1)) { [unowned scheduler] in
      scheduler.advance(by: .seconds(4))
      log.add(Int(scheduler.now.nanoseconds / 1_000_000_000))
    }
    scheduler.schedule(after: .seconds(5)) { log.add(5) }
    scheduler.schedule(after: .seconds(6)) { log.add(6) }
    scheduler.advance(by: .seconds(2))
    #expect(log.entries == [1, 5])
    #expect(scheduler.now == at(5))

    @Sendable func dive(_ left: Int) {
      guard left > 0 else { return }
      let depth = dives.increment()
      scheduler.schedule(after: .nanoseconds(1)) { dive(left - 1) }
      scheduler.advance(by: .nanoseconds(1))
      if dives.value != depth { nested.increment() }
    }
    scheduler.schedule { dive(20_000) }
    scheduler.advance(by: .zero)
    #expect(dives.value == 20_000)
    #expect(nested.value == 0, "none has run inside of another")
  }

  @Test("a step inside of an action is added to the current drive")
  func stepInside() {
    let log = Log<Int>()
    for second in 1...5 {
      scheduler.schedule(after: .seconds(second)) { [unowned scheduler] in
        log.add(second)
        if second == 1 { scheduler.step(2) }
      }
    }
    scheduler.step()
    #expect(log.entries == [1, 2, 3])
    #expect(scheduler.now == at(3))
  }

  @Test("a shorter advance inside of a longer one shortens nothing, nor does one to the past")
  func shorterInside() {
    scheduler.schedule(after: .seconds(5)) { [unowned scheduler] in
      scheduler.advance(by: .seconds(1))
      scheduler.advance(to: MonotonicTime(nanoseconds: 0))
    }
    scheduler.advance(to: at(10))
    #expect(scheduler.now == at(10))
  }

  @Test("stop ends the current drive after the running action, with the clock there; the rest runs later")
  func stops() {
    let log = Log<Int>()
    for second in 1...4 {
      scheduler.schedule(after: .seconds(second)) { [unowned scheduler] in
        log.add(second)
        scheduler.advance(by: .seconds(1))
        if second == 2 { scheduler.stop() }
      }
    }
    scheduler.advance(to: at(10))
    #expect(log.entries == [1, 2])
    #expect(scheduler.now == at(2))
    scheduler.stop()
    scheduler.run()
    #expect(log.entries == [1, 2, 3, 4], "a stop beforehand does nothing")
  }

  @Test("a request after a stop, by the same action, counts")
  func asksAfterStop() {
    let log = Log<Int>()
    for second in 1...4 {
      scheduler.schedule(after: .seconds(second)) { [unowned scheduler] in
        log.add(second)
        guard second == 1 else { return }
        scheduler.stop()
        scheduler.step()
      }
    }
    scheduler.run()
    #expect(log.entries == [1, 2])
  }

  @Test("sleep inside of an action moves the clock at once, and passed actions are late")
  func sleepsInside() {
    let log = Log<String>()
    scheduler.schedule(after: .seconds(1)) { [unowned scheduler] in
      scheduler.sleep(by: .seconds(20))
      scheduler.schedule { log.add("scheduled then") }
    }
    scheduler.schedule(after: .seconds(2)) { [unowned scheduler] in log.add("at \(scheduler.now == at(21))") }
    scheduler.advance(to: at(5))
    #expect(log.entries == ["at true", "scheduled then"])
    #expect(scheduler.now == at(21), "an advance never moves back")
  }

  @Test("a recursive action has its turns among the others, and ends when it is disposed")
  func recursion() {
    let log = Log<String>(), token = SerialDisposable()
    token.disposable = scheduler.scheduleRecursive(1) { [scheduler] n, again in
      log.add("turn \(n)")
      if n == 1 { scheduler.schedule { log.add("other") } }
      if n == 3 { token.dispose() }
      again(n + 1)
    }
    scheduler.run()
    #expect(log.entries == ["turn 1", "other", "turn 2", "turn 3"])
  }

  @Test("an action that schedules itself for ever stops the process, and the message has a remedy")
  func endless() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let scheduler = TestScheduler(actionLimit: 1_000)
      @Sendable func again() { scheduler.schedule { again() } }
      again()
      scheduler.advance(by: .seconds(1))
    }
    expectMessage(result, "Scheduler: VirtualTimeScheduler.advance: ", "ran 1000 actions", "raise actionLimit")
  }

  @Test("as many actions as the limit are not too many, in each of several calls")
  func withinTheLimit() {
    #expect(TestScheduler(actionLimit: 0).actionLimit == 1 && TestScheduler(actionLimit: -1).actionLimit == 1)
    let scheduler = TestScheduler(actionLimit: 10), ran = Counter()
    for _ in 0..<3 {
      for _ in 0..<10 { scheduler.schedule { ran.increment() } }
      scheduler.run()
    }
    #expect(ran.value == 30)
  }
}
