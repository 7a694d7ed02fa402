import Foundation
import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct LoopHookTests {
  @Test("hooks run before a sleep and after a wake, with the scheduler as the current one, until they are disposed")
  func hooks() throws {
    let scheduler = try ThreadScheduler(name: "hooks"), sleeps = Counter(), wakes = Counter(), strays = Counter()
    let before = scheduler.onBeforeSleep {
      sleeps.increment()
      if Schedulers.current !== scheduler || !scheduler.isOnThread { strays.increment() }
    }
    let after = scheduler.onAfterWake { wakes.increment() }
    #expect(eventually { sleeps.value > 0 })
    for round in 1...10 {
      let seen = wakes.value
      let isWoken = eventually {  // what comes before the thread sleeps again ends no sleep
        scheduler.schedule {}
        return wakes.value > seen
      }
      #expect(isWoken, "round \(round)")
    }
    after.disposeAndWait()
    before.disposeAndWait()
    let (slept, woke) = (sleeps.value, wakes.value)
    let done = Counter()
    for round in 1...10 {
      scheduler.schedule { done.increment() }
      #expect(eventually { done.value == round })
    }
    #expect((sleeps.value, wakes.value) == (slept, woke))
    #expect(strays.value == 0)
    scheduler.stop()
    scheduler.join()
  }

  @Test("a hook may dispose itself, and schedule an action that keeps its thread awake")
  func disposesItself() throws {
    let scheduler = try ThreadScheduler(), token = SerialDisposable(), log = Log<Int>()
    scheduler.schedule {
      token.disposable = scheduler.onBeforeSleep {
        token.dispose()
        log.add(1)
        scheduler.schedule { log.add(2) }
      }
    }
    #expect(eventually { log.entries == [1, 2] })
    scheduler.stop()
    scheduler.join()
    #expect(log.entries == [1, 2])
  }

  @Test("a hook is notified that its scheduler was stopped") func stopped() throws {
    let scheduler = try ThreadScheduler(), log = Log<Bool>()
    let hook = scheduler.onAfterWake({}, onDrop: { log.add($0 == .stopped) })
    scheduler.stop()
    scheduler.join()
    #expect(log.entries == [true] && hook.isDisposed)
    let late = scheduler.onBeforeSleep({}, onDrop: { log.add($0 == .stopped) })
    #expect(eventually { log.entries == [true, true] } && late.isDisposed)
  }

  @Test("a scheduler counts its actions, its sleeps and its idle time") func statistics() throws {
    let scheduler = try ThreadScheduler(), count = Counter(), before = scheduler.statistics.loop?.actions ?? 0
    for _ in 0..<100 { scheduler.schedule { count.increment() } }
    #expect(eventually { count.value == 100 && scheduler.statistics.loop?.actions ?? 0 >= before + 100 })
    #expect(eventually { scheduler.statistics.loop?.sleeps ?? 0 > 0 })
    let idle = try #require(scheduler.statistics.loop?.idle)
    Thread.sleep(forTimeInterval: 0.02)
    #expect(scheduler.statistics.loop?.idle ?? .zero > idle)
    #expect(SerialScheduler(target: scheduler).statistics.loop == nil)
    scheduler.stop()
    scheduler.join()
  }
}
