import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct VirtualOrderTests {
  let scheduler = TestScheduler()

  func at(_ seconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: UInt64(seconds) * 1_000_000_000) }

  @Test("the example: an hour passes in no time")
  func example() {
    let log = Log<String>()
    scheduler.schedule(after: .seconds(3_600)) { log.add("an hour later") }
    scheduler.advance(by: .seconds(3_599))
    #expect(log.entries.isEmpty)
    scheduler.advance(by: .seconds(1))
    #expect(log.entries == ["an hour later"])
    #expect(scheduler.now == at(3_600))
  }

  @Test("actions run in the order of their times, and of their insertion where the times are equal")
  func order() {
    let log = Log<String>()
    for (second, name) in [(3, "c"), (1, "a"), (2, "b"), (1, "a2"), (3, "c2"), (0, "now"), (2, "b2"), (1, "a3")] {
      scheduler.schedule(after: .seconds(second)) { log.add(name) }
    }
    scheduler.run()
    #expect(log.entries == ["now", "a", "a2", "a3", "b", "b2", "c", "c2"])
    #expect(scheduler.now == at(3))
  }

  @Test("ten thousand random times, some disposed, run in the order of a stable sort")
  func randomOrder() {
    var random = SeededGenerator(for: "VirtualOrderTests.randomOrder")
    let log = Log<Int>(), times = (0..<10_000).map { _ in UInt64.random(in: 0..<500, using: &random) }
    let dropped = Set((0..<10_000).filter { _ in UInt8.random(in: 0..<3, using: &random) == 0 })
    let tokens = times.enumerated().map { index, time in
      scheduler.schedule(at: MonotonicTime(nanoseconds: time)) { log.add(index) }
    }
    for index in dropped { tokens[index].dispose() }
    #expect(scheduler.pendingCount == 10_000 - dropped.count)
    scheduler.advance(to: MonotonicTime(nanoseconds: 250))
    scheduler.run()
    let expected = times.indices.filter { !dropped.contains($0) }.sorted { (times[$0], $0) < (times[$1], $1) }
    #expect(log.entries == expected)
    #expect(scheduler.pendingCount == 0)
  }

  @Test("inside of an action the time is the action's, and at the end the requested one")
  func now() {
    let log = Log<MonotonicTime>()
    for second in [1, 4] { scheduler.schedule(at: at(second)) { [scheduler] in log.add(scheduler.now) } }
    scheduler.advance(to: at(10))
    #expect(log.entries == [at(1), at(4)])
    #expect(scheduler.now == at(10))
  }

  @Test("state is handed to the action, and its returned disposable is disposed by its token")
  func state() {
    let log = Log<Int>(), disposed = Counter()
    let tokens = [
      scheduler.schedule(1) {
        log.add($0); return Disposables.create { disposed.increment() }
      },
      scheduler.schedule(2, after: .seconds(1)) {
        log.add($0); return Disposables.create { disposed.increment() }
      },
      scheduler.schedule(3, at: at(2)) {
        log.add($0); return Disposables.create { disposed.increment() }
      },
    ]
    scheduler.run()
    #expect(log.entries == [1, 2, 3])
    #expect(disposed.value == 0)
    for token in tokens + tokens { token.dispose() }
    #expect(disposed.value == 3)
  }

  @Test("an action for the past runs at the present, behind the waiting ones")
  func past() {
    let log = Log<String>()
    scheduler.advance(to: at(10))
    scheduler.schedule { log.add("first") }
    scheduler.schedule(at: at(3)) { [scheduler] in log.add("past at \(scheduler.now.nanoseconds / 1_000_000_000)") }
    scheduler.schedule(after: .seconds(-5)) { log.add("negative") }
    scheduler.schedule(after: .seconds(-5)) { log.add("negative, again") }
    scheduler.schedule(at: at(10)) { log.add("last") }
    scheduler.advance()
    #expect(log.entries == ["first", "past at 10", "negative", "negative, again", "last"])
    #expect(scheduler.now == at(10))
  }

  @Test("an advance to the past does not move the clock, and runs due actions")
  func advanceToThePast() {
    let ran = Counter()
    scheduler.advance(to: at(10))
    scheduler.schedule { ran.increment() }
    scheduler.schedule(after: .nanoseconds(1)) { ran.increment() }
    scheduler.advance(to: at(2))
    scheduler.advance(by: .seconds(-3))
    #expect(scheduler.now == at(10))
    #expect(ran.value == 1)
  }

  @Test("sleep moves the clock and runs nothing; passed actions run late, in order, and sleeping back does nothing")
  func sleeps() {
    let log = Log<String>()
    for second in [5, 3] {
      scheduler.schedule(at: at(second)) { [scheduler] in
        log.add("\(second) at \(scheduler.now.nanoseconds / 1_000_000_000)")
      }
    }
    scheduler.sleep(to: at(8))
    scheduler.sleep(by: .seconds(2))
    scheduler.sleep(to: at(1))
    scheduler.sleep(by: .seconds(-1))
    #expect(scheduler.now == at(10))
    #expect(log.entries.isEmpty)
    scheduler.schedule { log.add("new") }
    scheduler.run()
    #expect(log.entries == ["3 at 10", "5 at 10", "new"])
    #expect(scheduler.now == at(10))
  }

  @Test("step runs that many undisposed actions, and moves the clock to each")
  func steps() {
    let log = Log<Int>()
    let tokens = (1...6).map { second in scheduler.schedule(at: at(second)) { log.add(second) } }
    tokens[0].dispose()
    tokens[2].dispose()
    scheduler.step()
    #expect(log.entries == [2])
    #expect(scheduler.now == at(2))
    scheduler.step(2)
    #expect(log.entries == [2, 4, 5])
    scheduler.step(0)
    scheduler.step(-1)
    scheduler.step(.min)
    #expect(scheduler.now == at(5))
    scheduler.step(.max)
    #expect(log.entries == [2, 4, 5, 6])
    scheduler.step()
    #expect(scheduler.now == at(6))
  }

  @Test("stepAll runs all waiting actions, and those that they schedule")
  func stepAll() {
    let log = Log<Int>()
    scheduler.schedule { [scheduler] in
      log.add(1)
      scheduler.schedule(after: .seconds(1)) { log.add(2) }
    }
    scheduler.stepAll()
    #expect(log.entries == [1, 2])
    #expect(scheduler.now == at(1))
  }

  @Test("huge spans saturate: the clock is held at the end of time, and an action beyond it never runs by itself")
  func huge() {
    let log = Log<String>(), end = MonotonicTime(nanoseconds: .max)
    let huge = Duration(secondsComponent: .max, attosecondsComponent: .max)
    scheduler.schedule(after: .seconds(Int64.max)) { log.add("never") }
    scheduler.schedule(after: huge) { log.add("never") }
    scheduler.schedule(after: .seconds(Int64.min)) { log.add("now") }
    scheduler.schedule(.every(.seconds(Int64.max))) { log.add("never, repeated") }
    scheduler.schedule(after: .seconds(1)) { log.add("a second") }
    scheduler.run()
    scheduler.step(100)
    #expect(log.entries == ["now", "a second"])
    #expect(scheduler.now == at(1))
    #expect(scheduler.pendingCount == 3)
    scheduler.advance(by: .seconds(Int64.max))
    #expect(scheduler.now == end)
    #expect(log.entries.count == 5, "an advance to the end of time goes there, and each comes once")
    scheduler.advance(by: huge)
    scheduler.schedule(after: huge) { log.add("at the end") }
    scheduler.schedule(.every(.seconds(1))) { log.add("tick") }
    scheduler.run()
    scheduler.advance(by: .seconds(Int64.min))
    #expect(scheduler.now == end)
    #expect(log.entries.suffix(2) == ["at the end", "tick"])
    #expect(scheduler.pendingCount == 0)
  }
}
