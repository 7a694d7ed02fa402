import Foundation
import Scheduler
import SchedulerRx
import SchedulerTesting
import TestSupport
import Testing

@Suite(.serialized, .nothingIsLeft) struct PeriodicActionTests {
  // PA1, PA3
  @Test(
    "no tick begins while a periodic action is suspended, and it continues when it is resumed",
    arguments: SchedulerUnderTest.queued)
  func suspended(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ticks = Counter()
    let action = scheduler.schedulePeriodic(.milliseconds(1)) { _ in ticks.increment() }
    for round in 1...3 {
      let before = ticks.value
      #expect(eventually { ticks.value >= before + round })
      action.suspend()
      action.suspend()
      if test.isSerial { scheduler.drain() }
      // Where actions run side by side, one may have begun.
      let most = ticks.value + (test.isSerial ? 0 : 1)
      scheduler.schedule(after: .milliseconds(5)) {}.waitUntilOver()
      action.resume()
      scheduler.schedule(after: .milliseconds(5)) {}.waitUntilOver()
      #expect(ticks.value <= most && !action.isDisposed)
      action.resume()
    }
    let last = ticks.value
    #expect(eventually { ticks.value >= last + 2 })
    action.disposeAndWait()
    #expect(action.isDisposed)
  }

  @Test("a periodic action may suspend itself", arguments: SchedulerUnderTest.queued)  // PA1, PA3
  func inside(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ticks = Counter(), ends = Counter()
    func start() -> PeriodicAction {
      let witness = Witness(ends)
      return scheduler.schedulePeriodic(.every(test.shortestPeriod, after: .zero)) { action in
        witness.touch()
        action.suspend()
        action.resume()  // a pause that ends before the tick does is none
        action.suspend()
        ticks.increment()
      }
    }
    let action = start()
    for count in 1...5 {
      #expect(eventually { ticks.value == count })
      scheduler.schedule(after: .milliseconds(1)) {}.waitUntilOver()
      #expect(ticks.value == count && ends.value == 0)
      action.resume()
    }
    #expect(eventually { ticks.value == 6 })
    action.disposeAndWait()
    #expect(ends.value == 1)
  }

  @Test("disposing releases the closure of a suspended periodic action at once", arguments: SchedulerUnderTest.queued)
  func disposedWhileSuspended(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ends = Counter(), ticks = Counter()
    func start(_ delay: Duration) -> PeriodicAction {
      let witness = Witness(ends)
      return scheduler.schedulePeriodic(.every(.milliseconds(1), after: delay)) { _ in
        witness.touch()
        ticks.increment()
      }
    }
    let never = start(.seconds(3_600))
    never.suspend()
    #expect(ends.value == 0)
    never.dispose()
    #expect(ends.value == 1 && never.isDisposed)
    never.resume()  // of one that is over it does nothing
    never.resume()
    let ticking = start(.zero)
    #expect(eventually { ticks.value >= 2 })
    ticking.suspend()
    ticking.disposeAndWait()
    #expect(ends.value == 2)
    do {
      let released = start(.seconds(3_600))
      released.suspend()
    }
    #expect(ends.value == 3)  // nothing else had it
  }

  @Test(
    "an action in its tick is disposed there, and its closure goes at the end", arguments: SchedulerUnderTest.queued)
  func disposedInside(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ends = Counter(), ticks = Counter(), inside = Log<Int>()
    func start() -> PeriodicAction {
      let witness = Witness(ends)
      return scheduler.schedulePeriodic(.every(.milliseconds(1), after: .zero)) { action in
        witness.touch()
        guard ticks.increment() == 3 else { return }
        action.suspend()
        action.disposeAndWait()
        inside.add(ends.value)
      }
    }
    let action = start()
    #expect(eventually { ends.value == 1 })
    #expect(action.isDisposed && inside.entries == [0] && ticks.value == 3)
  }

  @Test("a suspended periodic action leaves nothing with the scheduler", arguments: [0, 1, 2, 3, 4])  // PA2, PA3
  func nothingWaits(kind: Int) {
    let clock = TestScheduler(), ticks = Counter(), group = ActionGroup()
    let scheduler: any SchedulerType =
      switch kind {
      case 0: clock
      case 1: SerialScheduler(target: clock)
      case 2: Foreign(base: clock)
      case 3: RecordingScheduler(clock)
      default: group.scheduler(on: clock)
      }
    let action = scheduler.schedulePeriodic(.seconds(1)) { action in if ticks.increment() == 3 { action.suspend() } }
    #expect(clock.pendingCount == 1)
    action.suspend()
    #expect(clock.pendingCount == 0)
    clock.advance(by: .seconds(10))
    #expect(ticks.value == 0)
    action.resume()
    clock.advance(by: .seconds(10))
    #expect(ticks.value == 3 && clock.pendingCount == 0)
    action.resume()
    #expect(clock.pendingCount == 1)
    action.dispose()
    #expect(clock.pendingCount == 0)
    #expect(group.isIdle)
  }

  /// Ticks of 10 ms: the pause is in the tick of 20, before that, or before the first one, and ends at 45.
  private static let paces: [(pace: ActionTiming.Pace, ticks: [[Int]])] = [
    (.coalescing, [[10, 20, 45, 50, 60], [10, 45, 50, 60], [45, 50, 60]]),
    (.catchingUp, [[10, 20, 45, 45, 50, 60], [10, 45, 45, 45, 50, 60], [45, 45, 45, 45, 50, 60]]),
    (.skipping, [[10, 20, 50, 60], [10, 50, 60], [50, 60]]),
    (.fixedDelay, [[10, 20, 45, 55], [10, 45, 55], [45, 55]]),
  ]

  @Test("ticks that a pause has passed are late ones, by their policy", arguments: 0..<4, [0, 1, 2, 3, 4])
  func policies(pace: Int, kind: Int) {
    for (from, expected) in Self.paces[pace].ticks.enumerated() {
      let clock = TestScheduler(initialClock: MonotonicTime(nanoseconds: 1_000_000_000)), start = clock.now
      let scheduler: any SchedulerType =
        switch kind {
        case 0: clock
        case 1: SerialScheduler(target: clock)
        case 2: Foreign(base: clock)
        case 3: RecordingScheduler(clock)
        default: ActionGroup().scheduler(on: clock.wrapping { $0() })
        }
      let seen = Log<Int>()
      let timing = ActionTiming.every(.milliseconds(10), pace: Self.paces[pace].pace)
      let action = scheduler.schedulePeriodic(timing) { [unowned clock] action in
        let now = Int(start.duration(to: clock.now) / .milliseconds(1))
        seen.add(now)
        if from == 0, now == 20 { action.suspend() }
      }
      let pause = [20, 15, 5][from]
      clock.advance(by: .milliseconds(pause))
      if from > 0 { action.suspend() }
      clock.advance(by: .milliseconds(45 - pause))
      action.resume()
      clock.advance(by: .milliseconds(19))
      action.dispose()
      #expect(seen.entries == expected, "from \(pause)")
    }
  }

  @Test("of ticks that are left out, the one that is due at the end of a pause is none") func onTime() {
    let clock = TestScheduler(), seen = Log<UInt64>()
    let timing = ActionTiming.every(.milliseconds(10), pace: .skipping)
    let action = clock.schedulePeriodic(timing) { [unowned clock] _ in seen.add(clock.now.nanoseconds / 1_000_000) }
    for pause in [30, 20] {
      action.suspend()
      clock.advance(by: .milliseconds(pause))
      action.resume()
      clock.advance(by: .milliseconds(pause == 30 ? 10 : 5))
    }
    action.dispose()
    #expect(seen.entries == [30, 40, 60])
  }

  @Test("a pause that misses no tick changes none", arguments: 0..<4)
  func short(pace: Int) {
    for isForeign in [false, true] {
      let clock = TestScheduler(), seen = Log<Int>()
      let scheduler: any SchedulerType = isForeign ? Foreign(base: clock) : clock
      let timing = ActionTiming.every(.milliseconds(10), after: .milliseconds(25), pace: Self.paces[pace].pace)
      let action = scheduler.schedulePeriodic(timing) { [unowned clock] _ in
        seen.add(Int(clock.now.nanoseconds / 1_000_000))
      }
      for _ in 0..<11 {
        action.suspend()
        clock.advance(by: .milliseconds(3))
        action.resume()
        clock.advance(by: .milliseconds(1))
        action.suspend()
        action.resume()
        clock.advance(by: .milliseconds(1))
      }
      action.dispose()
      #expect(seen.entries == [25, 35, 45, 55])
    }
  }

  /// A read of `now` moves its clock by 30 ns, once for each time that `advancesOnce` is set.
  private struct Moving: SchedulerType {
    let base: SchedulerTarget
    let clock: TestScheduler
    let advancesOnce = Protected(false)

    var now: MonotonicTime {
      let now = clock.now
      if advancesOnce.exchange(false) { clock.sleep(by: .nanoseconds(30)) }
      return now
    }

    func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { base.schedule(action) }

    func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
      base.schedule(timing, action)
    }
  }

  @Test("a pause does not move the grid, though time continues while it ends", arguments: [false, true])
  func grid(isInQueue: Bool) {
    let clock = TestScheduler(), seen = Log<UInt64>()
    let scheduler = Moving(base: isInQueue ? SerialScheduler(target: clock) : clock, clock: clock)
    let action = scheduler.schedulePeriodic(.nanoseconds(100)) { [unowned clock] _ in seen.add(clock.now.nanoseconds) }
    action.suspend()
    scheduler.advancesOnce.write(true)
    action.resume()
    #expect(clock.now.nanoseconds == 30)
    clock.advance(to: MonotonicTime(nanoseconds: 450))
    action.dispose()
    #expect(seen.entries == [100, 200, 300, 400])
  }

  @Test("run() continues for the first tick after a pause, and for no other")
  func runEnds() {
    let clock = TestScheduler(), ticks = Counter()
    let action = clock.schedulePeriodic(.seconds(1)) { _ in ticks.increment() }
    clock.run()
    #expect(ticks.value == 1)
    action.suspend()
    action.resume()
    clock.run()
    #expect(ticks.value == 2 && clock.now.nanoseconds == 2_000_000_000)
    action.dispose()
  }

  @Test("a periodic action that is dropped is over, and one that is suspended is not")  // PA3, PA4
  func dropped() throws {
    let thread = try ThreadScheduler(name: "dropping"), ends = Counter()
    func start() -> PeriodicAction {
      let witness = Witness(ends)
      return thread.schedulePeriodic(.seconds(3_600)) { _ in witness.touch() }
    }
    let waiting = start(), suspended = start()
    suspended.suspend()
    thread.stop(.dropOutstanding)
    thread.join()
    #expect(eventually { waiting.isDisposed && ends.value == 1 })
    #expect(!suspended.isDisposed)
    suspended.resume()  // which is refused
    #expect(suspended.isDisposed && ends.value == 2)
    let refused = start()
    #expect(refused.isDisposed && ends.value == 3)
  }

  @Test("a periodic action on a scheduler that runs it at once has its tick there")
  func collapsed() {
    let scheduler = CollapsedTimeScheduler(), ticks = Counter()
    let action = scheduler.schedulePeriodic(.seconds(1)) { action in
      ticks.increment()
      if ticks.value == 1 { action.suspend() }
    }
    #expect(ticks.value == 1 && !action.isDisposed)
    action.resume()
    #expect(ticks.value == 2 && action.isDisposed)
  }

  // PA2, PA3, RC1, RC2, RC3
  @Test(
    "a periodic action is suspended, resumed and disposed by several threads", arguments: SchedulerUnderTest.queued)
  func threads(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ends = Counter()
    for round in 0..<Int(Scale.count(40, least: 10)) {
      let ticks = Counter(), inside = Protected(0), overlaps = Counter(), late = Counter(), isOver = BooleanDisposable()
      func start() -> PeriodicAction {
        let witness = Witness(ends)
        let pace: ActionTiming.Pace = round % 2 == 0 ? .coalescing : .fixedDelay
        let timing = ActionTiming.every(test.shortestPeriod, after: .zero, pace: pace)
        return scheduler.schedulePeriodic(timing) { action in
          witness.touch()
          if inside.withLock({ count in
            count += 1; return count
          }) != 1 {
            overlaps.increment()
          }
          if isOver.isDisposed { late.increment() }
          if ticks.increment() % 3 == 0 {
            action.suspend()
            action.resume()
          }
          inside.write { $0 -= 1 }
        }
      }
      let action = start(), before = ends.value
      onThreads(3) { index in
        for _ in 0..<20 {
          action.suspend()
          if index == 2, round % 4 == 3 { usleep(10) }
          action.resume()
        }
        if index == 0, round % 3 == 2 { action.dispose() }
      }
      if round % 3 != 2 {
        let last = ticks.value
        #expect(eventually { ticks.value > last })  // all pauses have ended
      }
      action.disposeAndWait()
      isOver.dispose()
      #expect(ends.value == before + 1 && inside.read() == 0)
      let last = ticks.value
      usleep(UInt32(round % 3) * 20)
      #expect(ticks.value == last && overlaps.value == 0 && late.value == 0)
    }
  }

  @Test("to resume a periodic action that is not suspended stops the process") func misuse() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      TestScheduler().schedulePeriodic(.seconds(1)) { _ in }.resume()
    }
    expectMessage(result, "Scheduler: PeriodicAction.resume: ", "Resume once for each suspend.")
  }
}

extension Disposable {
  /// Waits until it has run.
  fileprivate func waitUntilOver() { #expect(eventually { isDisposed }) }
}
