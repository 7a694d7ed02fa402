import Foundation
import Scheduler
import SchedulerRx
import SchedulerTesting
import TestSupport
import Testing

/// That the current scheduler in an action of virtual time is that of the action.
@Suite(.nothingIsLeft) struct VirtualCurrentTests {
  /// Runs actions of each kind on `scheduler`, which `drive` has run them all; returns what each has seen of itself.
  private func look<Instant>(
    _ scheduler: VirtualTimeScheduler<Instant>, _ drive: (VirtualTimeScheduler<Instant>) -> Void
  ) -> [Bool] {
    let seen = Log<Bool>(), ticks = SerialDisposable()
    let note: @Sendable () -> Void = { [unowned scheduler] in
      seen.add(Schedulers.current === scheduler && Schedulers.enclosing === scheduler)
    }
    scheduler.schedule {
      note()
      scheduler.schedule(note)
      ImmediateScheduler.instance.schedule { seen.add(Schedulers.enclosing === scheduler) }
      CurrentThreadScheduler.instance.schedule { seen.add(Schedulers.enclosing === scheduler) }
      note()
    }
    scheduler.schedule(0) { _ in
      note()
      return Disposables.create()
    }
    scheduler.schedule(after: .seconds(1), note)
    scheduler.schedule(0, after: .seconds(1)) { _ in
      note()
      return Disposables.create()
    }
    scheduler.scheduleRecursive(0) { n, again in
      note()
      if n < 2 { again(n + 1) }
    }
    ticks.disposable = scheduler.schedulePeriodic(0, startAfter: .seconds(1), period: .seconds(1)) { n in
      note()
      if n == 2 { ticks.dispose() }
      return n + 1
    }
    drive(scheduler)
    return seen.entries
  }

  @Test("current is the virtual scheduler in each kind of its actions, and is set back after them") func kinds() throws
  {
    let expected = Array(repeating: true, count: 14)
    #expect(look(TestScheduler()) { $0.advance(by: .seconds(5)) } == expected)
    #expect(look(HistoricalScheduler()) { $0.advance(by: .seconds(5)) } == expected)
    #expect(look(TestScheduler()) { $0.step(14) } == expected)
    #expect(Schedulers.current == nil)
    // Driven by another thread.
    #expect(look(TestScheduler()) { scheduler in onThreads(1) { _ in scheduler.advance(by: .seconds(5)) } } == expected)
    // Driven inside of an action of another scheduler, which is current again afterwards.
    let thread = try ThreadScheduler(), after = Log<Bool>()
    let inside = look(TestScheduler()) { scheduler in
      thread.schedule {
        scheduler.advance(by: .seconds(5))
        after.add(Schedulers.current === thread)
      }
      thread.drain()
    }
    #expect(inside == expected && after.entries == [true])
  }

  @Test("of two virtual schedulers the inner one is current in its actions") func nested() {
    let outer = TestScheduler(), inner = TestScheduler(), seen = Log<Bool>()
    inner.schedule { seen.add(Schedulers.current === inner) }
    outer.schedule { [unowned outer] in
      inner.run()
      seen.add(Schedulers.current === outer)
    }
    outer.run()
    #expect(seen.entries == [true, true])
  }

  @Test("a sleeping task is woken inside of the scheduler, and so do captures end") func wakingAndEnds() async throws {
    final class Ending: Sendable {
      let seen: Log<Bool>, scheduler: TestScheduler
      init(_ seen: Log<Bool>, _ scheduler: TestScheduler) { (self.seen, self.scheduler) = (seen, scheduler) }
      deinit { seen.add(Schedulers.current === scheduler) }
      func touch() {}
    }
    let scheduler = TestScheduler(), seen = Log<Bool>()
    do {
      let ending = Ending(seen, scheduler)
      scheduler.schedule { ending.touch() }
    }
    scheduler.run()
    #expect(seen.entries == [true])
    let task = Task { try await scheduler.sleep(for: .seconds(1)) }
    await scheduler.awaitSleepers()
    scheduler.advance(by: .seconds(1))
    try await task.value
  }

  @Test("the subscription scheduler inside of virtual time stays there") func subscription() {
    let scheduler = TestScheduler(), log = Log<String>(), here = pthread_self(), ticks = SerialDisposable()
    let note: @Sendable (String) -> Void = { [unowned scheduler] text in
      let isHere = Schedulers.current === scheduler && pthread_self() == here
      log.add("\(text) at \(scheduler.now.nanoseconds / 1_000_000_000) \(isHere)")
    }
    scheduler.schedule(after: .seconds(1)) {
      let subscription = SubscriptionScheduler.instance
      subscription.schedule { note("at once") }
      subscription.schedule(0) { _ in
        note("with state")
        return Disposables.create()
      }
      subscription.schedule(after: .seconds(3_600)) { note("delayed") }
      subscription.schedule(.at(subscription.now.advanced(by: .seconds(30)))) { note("at an instant") }
      subscription.schedule(0, after: .seconds(3_600)) { _ in
        note("delayed with state")
        return Disposables.create()
      }
      ticks.disposable = subscription.schedule(.every(.seconds(10), after: .seconds(10))) {
        note("tick")
        ticks.dispose()
      }
      CurrentThreadScheduler.instance.schedule { subscription.schedule(after: .seconds(20)) { note("through") } }
      log.add("after")
    }
    scheduler.run()
    #expect(
      log.entries == [
        "at once at 1 true", "with state at 1 true", "after", "tick at 11 true", "through at 21 true",
        "at an instant at 31 true",
        "delayed at 3601 true", "delayed with state at 3601 true",
      ])
  }

  @Test("in each wrapper of a virtual scheduler, that one is current") func wrapped() {
    let base = TestScheduler(), seen = Log<Bool>()
    let note: @Sendable () -> Void = { [unowned base] in seen.add(Schedulers.current === base) }
    let wrappers: [any SchedulerType] = [
      base.wrapping { run in run() }, RecordingScheduler(base), RecordingScheduler(base).wrapping { $0() },
    ]
    for wrapper in wrappers {
      let ticks = SerialDisposable()
      wrapper.schedule(note)
      wrapper.schedule(0) { _ in
        note()
        return Disposables.create()
      }
      wrapper.schedule(after: .seconds(1), note)
      ticks.disposable = wrapper.schedule(.every(.seconds(1), after: .seconds(1))) {
        note()
        ticks.dispose()
      }
    }
    base.advance(by: .seconds(3))
    #expect(seen.entries == Array(repeating: true, count: 12))
  }
}
