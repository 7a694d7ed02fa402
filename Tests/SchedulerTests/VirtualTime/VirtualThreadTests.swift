import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct VirtualThreadTests {
  @Test("threads schedule and dispose while one advances: each action runs once or was disposed, and none is lost")
  func scheduleAndDispose() {
    let scheduler = TestScheduler(), ran = Counter(), disposed = Counter(), released = Counter()
    let ends = Counter(), each = Scale.count(2_000, least: 200)
    onThreads(5) { index in
      guard index > 0 else {
        while ends.value < 4 {
          scheduler.advance(by: .nanoseconds(3))
          sched_yield()
        }
        return
      }
      for n in 0..<each {
        let notice = DeathNotice { released.increment() }
        let token = scheduler.schedule(after: .nanoseconds((n * index) % 50)) { [notice] in
          ran.increment()
          _ = notice
        }
        if n % 2 == 0 {
          token.dispose()
          disposed.increment()
        }
      }
      ends.increment()
    }
    scheduler.run()
    #expect(released.value == 4 * each)
    #expect(ran.value >= 4 * each - disposed.value && ran.value <= 4 * each)
    #expect(scheduler.pendingCount == 0)
  }

  @Test("one thread's actions for one instant keep their order, whichever thread drives meanwhile")
  func orderPerThread() {
    let scheduler = TestScheduler(), log = Log<(Int, Int)>()
    onThreads(3) { index in
      for n in 0..<500 {
        scheduler.schedule { log.add((index, n)) }
        if n % 10 == 0 { scheduler.run() }
      }
    }
    scheduler.run()
    for index in 0..<3 { #expect(log.entries.filter { $0.0 == index }.map(\.1) == Array(0..<500)) }
  }

  @Test("while one thread drives, another's advance returns at once, and the first one does it")
  func widensFromOutside() {
    let scheduler = TestScheduler(), log = Log<String>()
    scheduler.schedule(after: .seconds(1)) {
      onThreads(1) { _ in
        scheduler.advance(by: .seconds(4))
        log.add("returned at \(scheduler.now.nanoseconds / 1_000_000_000)")
      }
    }
    scheduler.schedule(after: .seconds(5)) { log.add("five") }
    scheduler.advance(by: .seconds(1))
    #expect(log.entries == ["returned at 1", "five"])
    #expect(scheduler.now.nanoseconds == 5_000_000_000)
  }

  @Test("several threads that drive never run two actions at a time, and when all have returned all is done")
  func exclusive() {
    let scheduler = TestScheduler(), ran = Protected(0)
    let isInside = Protected(false), overlaps = Counter()
    onThreads(4) { index in
      for n in 0..<300 {
        scheduler.schedule(after: .nanoseconds(n % 7)) {
          if isInside.exchange(true) { overlaps.increment() }
          ran.withLock { $0 += 1 }
          isInside.write(false)
        }
        switch (n + index) % 4 {
        case 0: scheduler.advance(by: .nanoseconds(2))
        case 1: scheduler.step()
        case 2: scheduler.sleep(by: .nanoseconds(1))
        default: scheduler.run()
        }
      }
      scheduler.run()
    }
    #expect(overlaps.value == 0)
    #expect(ran.read() == 1_200)
    #expect(scheduler.pendingCount == 0)
  }

  @Test("a disposal from another thread that has returned before the action begins keeps it from running")
  func disposedOutside() {
    let scheduler = TestScheduler(), log = Log<String>(), token = SerialDisposable()
    scheduler.schedule { onThreads(1) { _ in token.dispose() } }
    weak var seen: Token?
    do {
      let capture = Token()
      seen = capture
      token.disposable = scheduler.schedule { [capture] in log.add("\(capture) ran") }
    }
    scheduler.schedule { log.add("last") }
    scheduler.run()
    #expect(log.entries == ["last"])
    #expect(seen == nil)
  }

  @Test("periodic actions are disposed by other threads while they tick")
  func periodicDisposed() {
    let scheduler = TestScheduler(), after = Counter()
    for _ in 0..<Scale.count(200, least: 50) {
      let isDisposed = BooleanDisposable(), begun = Gate()
      let ticking = scheduler.schedule(.every(.nanoseconds(1))) {
        if isDisposed.isDisposed { after.increment() }
        begun.open()
      }
      onThreads(2) { index in
        if index == 0 { return scheduler.advance(by: .nanoseconds(50)) }
        begun.wait()
        ticking.dispose()
      }
      isDisposed.dispose()
      scheduler.advance(by: .nanoseconds(5))
    }
    #expect(after.value == 0)
    #expect(scheduler.pendingCount == 0)
  }
}
