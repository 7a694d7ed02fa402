import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite("Adapters of RxSwift and ReactiveSwift", .nothingIsLeft) struct AdapterTests {
  /// The schedulers in both directions: this package's as the other library's, and that as this package's again.
  static let thereAndBack: [@Sendable (any SchedulerType) -> any SchedulerType] = [
    { SchedulerOfRx(RxScheduler($0)) }, { SchedulerOfReactive(ReactiveScheduler($0)) },
  ]

  @Test("work keeps its order, its delay and its result through both adapters", arguments: [0, 1])
  func order(_ index: Int) {
    let clock = TestScheduler(), scheduler = Self.thereAndBack[index](clock), log = Log<String>()
    let start = scheduler.now
    scheduler.schedule(after: .seconds(2)) { log.add("late") }
    for name in ["a", "b"] { scheduler.schedule { log.add(name) } }
    let ended = Disposables.create { log.add("disposed") }
    let token = scheduler.schedule(7, after: .seconds(1)) { state in
      log.add("state \(state)")
      return ended
    }
    clock.advance(by: .milliseconds(1_500))
    #expect(log.entries == ["a", "b", "state 7"])
    token.dispose()
    clock.run()
    #expect(log.entries == ["a", "b", "state 7", "disposed", "late"])
    #expect(start.duration(to: scheduler.now) == .seconds(2))
  }

  @Test("an action that is disposed before its turn does not run, and its captures are released", arguments: [0, 1])
  func cancellation(_ index: Int) {
    let clock = TestScheduler(), scheduler = Self.thereAndBack[index](clock)
    for delay in [Duration.zero, .seconds(1)] {
      weak var weakly: Token?
      func begin() -> any Disposable {
        let token = Token()
        weakly = token
        return scheduler.schedule(after: delay) {
          withExtendedLifetime(token) {}
          Issue.record("it ran")
        }
      }
      let action = begin()
      #expect(weakly != nil)
      action.dispose()
      #expect(weakly == nil && clock.pendingCount == 0)
    }
    clock.run()
  }

  @Test(
    "a scheduler without delays goes through its adapters: the trampoline's order, and an action's disposable",
    arguments: [0, 1])
  func immediate(_ index: Int) {
    let scheduler: any ImmediateSchedulerType =
      index == 0
      ? ImmediateSchedulerOfRx(base: RxImmediateScheduler(base: CurrentThreadScheduler.instance))
      : ImmediateSchedulerOfReactive(base: ReactiveImmediateScheduler(CurrentThreadScheduler.instance))
    let log = Log<Int>(), returned = Disposables.create { log.add(6) }
    scheduler.schedule {
      log.add(1)
      scheduler.schedule { log.add(3) }
      scheduler.schedule { log.add(9) }.dispose()
      let state = scheduler.schedule(4) {
        log.add($0)
        return returned
      }
      scheduler.schedule {
        log.add(5)
        state.dispose()
      }
      log.add(2)
    }
    #expect(log.entries == [1, 2, 3, 4, 5, 6])
  }

  @Test("a periodic action ticks by the period, and carries its state") func periodic() {
    let clock = TestScheduler(), log = Log<Int>()
    let rx = RxScheduler(clock).schedulePeriodic(0, startAfter: .seconds(1), period: .milliseconds(500)) { state in
      log.add(state)
      return state + 1
    }
    let reactive = ReactiveScheduler(clock), ticks = Counter()
    let other = reactive.schedule(
      after: reactive.currentDate + 1, interval: .milliseconds(500), leeway: .nanoseconds(0)
    ) { ticks.increment() }
    for _ in 0..<22 { clock.advance(by: .milliseconds(100)) }
    #expect(log.entries == [0, 1, 2] && ticks.value == 3)
    rx.dispose()
    other?.dispose()
    #expect(other?.isDisposed == true && clock.pendingCount == 0)
  }

  @Test("an adapted scheduler counts from its own present, whenever that is") func present() {
    for resolution in [1, 0.1, 0.001] {
      let theirs = RxVirtualTime(clock: 200, resolution: resolution), log = Log<Int>()
      nonisolated(unsafe) let unsafe = theirs
      let there = SchedulerOfRx(theirs), start = there.now
      theirs.advance(to: 300)
      #expect(start.duration(to: there.now) == .seconds(100 * resolution))
      let unit = Duration.seconds(resolution)
      let ticking = there.schedule(.every(unit * 100, after: unit * 50)) { log.add(unsafe.time) }
      there.schedule(.at(start + unit * 220)) { log.add(-unsafe.time) }
      theirs.advance(to: 600)
      #expect(log.entries == [350, -420, 450, 550])
      ticking.dispose()
      theirs.advance(to: 2_000)
      #expect(log.entries.count == 4)
    }
    let theirs = ReactiveVirtualTime(), log = Log<Double>()
    nonisolated(unsafe) let unsafe = theirs
    let there = SchedulerOfReactive(theirs)
    let ticking = there.schedule(.every(.milliseconds(100))) {
      log.add(unsafe.currentDate.timeIntervalSinceReferenceDate)
    }
    for _ in 0..<35 { theirs.advance(by: 0.01) }
    #expect(log.entries.count == 3)
    for (tick, entry) in log.entries.enumerated() { #expect(abs(entry - 0.1 * Double(tick + 1)) < 1e-6) }
    ticking.dispose()
    theirs.advance(by: 1)  // forgets the tick that was waiting
    #expect(log.entries.count == 3)
  }

  @Test("a period of zero ticks at each step of an adapted clock, in both directions") func zeroPeriod() {
    let theirs = RxVirtualTime(clock: 200), log = Log<Int>(), again = Log<Int>()
    nonisolated(unsafe) let unsafe = theirs
    let there = SchedulerOfRx(theirs)
    let first = there.schedule(.every(.zero, after: .seconds(3))) { log.add(unsafe.time) }
    let second = RxScheduler(there).schedulePeriodic(0, startAfter: .seconds(0), period: .seconds(0)) { state in
      again.add(state)
      return state + 1
    }
    theirs.advance(to: 206)
    #expect(log.entries == [203, 204, 205, 206] && again.entries == [0, 1, 2, 3, 4, 5])
    first.dispose()
    second.dispose()
    theirs.advance(to: 300)
    #expect(log.entries.count == 4 && again.entries.count == 6)
  }

  @Test("an interval without an end never ends") func never() {
    let queue = SerialScheduler(name: "never")
    let waiting = RxScheduler(queue).scheduleRelative((), dueTime: .never) { _ in
      Issue.record("it came")
      return RxDisposable(base: Disposables.create())
    }
    waiting.dispose()
  }
}
