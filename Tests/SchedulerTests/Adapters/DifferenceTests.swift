import Foundation
import Scheduler
import SchedulerFoundation
import SchedulerRx
import TestSupport
import Testing

/// What behaves differently here than in RxSwift, ReactiveSwift and ReactiveObjC: the lists in Documentation/Migration.
@Suite("Differences that a migrant meets", .nothingIsLeft) struct DifferenceTests {
  @Test("RxSwift: a token is disposed after the run, too; RxSwift's by dispose() alone") func isDisposed() {
    let clock = TestScheduler(), token = clock.schedule {}
    #expect(!token.isDisposed)
    clock.run()
    #expect(token.isDisposed)
  }

  @Test("RxSwift: a disposed action is released at once; RxSwift's waits in its queue for its turn") func gone() {
    let clock = TestScheduler()
    weak var weakly: Token?
    func begin() -> any Disposable {
      let token = Token()
      weakly = token
      return clock.schedule(after: .seconds(3_600)) { withExtendedLifetime(token) {} }
    }
    begin().dispose()
    #expect(weakly == nil && clock.pendingCount == 0)
  }

  @Test("RxSwift: time is monotonic, and a wall date has a type of its own") func time() {
    let queue = SerialScheduler(name: "time"), ran = Counter()
    let before = MonotonicTime.now
    #expect(queue.now >= before)
    queue.schedule(.at(wall: WallTime(Date() - 10))) { ran.increment() }
    #expect(eventually { ran.value == 1 })
  }

  @Test("RxTest: work for the present runs at the present; RxTest's is put off by one unit") func present() {
    let clock = TestScheduler(initialClock: MonotonicTime(nanoseconds: 100)), log = Log<UInt64>()
    clock.schedule { log.add(clock.now.nanoseconds) }
    clock.schedule(at: MonotonicTime(nanoseconds: 50)) { log.add(clock.now.nanoseconds) }
    clock.run()
    #expect(log.entries == [100, 100])
  }

  @Test("RxTest: run() inside of an action widens the run, and does not nest") func nestedRun() {
    let clock = TestScheduler(), log = Log<Int>()
    clock.schedule {
      log.add(1)
      clock.schedule(after: .seconds(1)) { log.add(3) }
      clock.run()
      log.add(2)
    }
    clock.run()
    #expect(log.entries == [1, 2, 3])
  }

  @Test("RxSwift: missed ticks become one; RxSwift's each run") func lateTicks() {
    let clock = TestScheduler(), ticks = Counter()
    let ticking = clock.schedule(.every(.seconds(1))) { ticks.increment() }
    clock.sleep(by: .seconds(10))
    clock.advance()
    #expect(ticks.value == 1)
    ticking.dispose()
  }

  @Test("RxSwift: a bag has no dispose(), as in RxSwift; a composite has, and takes closures") func bags() {
    let count = Counter()
    do {
      let bag = DisposeBag()
      Disposables.create { count.increment() }.disposed(by: bag)
      #expect(count.value == 0)
      withExtendedLifetime(bag) {}
    }
    #expect(count.value == 1)
    let composite = CompositeDisposable()
    composite += { count.increment() }
    composite.dispose()
    #expect(count.value == 2)
  }

  @Test("RxSwift: the concurrent main scheduler keeps the order; RxSwift's runs at once on the main thread")
  func concurrentMain() async {
    await #expect(processExitsWith: .success) {
      onMainThread {
        let log = Log<Int>()
        ConcurrentMainScheduler.instance.schedule {
          ConcurrentMainScheduler.instance.schedule { log.add(2) }
          log.add(1)
        }
        MainScheduler.runUntilIdle()
        #expect(log.entries == [1, 2])
      }
    }
  }

  @Test("RxSwift: advanceTo does not take the clock back; RxSwift's does") func back() {
    let clock = TestScheduler(initialClock: 100), ran = Counter()
    clock.schedule { ran.increment() }
    clock.advanceTo(50)
    #expect(clock.now.nanoseconds == 100_000_000_000 && ran.value == 1)
  }

  @Test("ReactiveSwift: an ended disposable may be added, which ReactiveSwift refuses: it may have a successor")
  func added() {
    let clock = TestScheduler(), composite = CompositeDisposable(), returned = DisposalCounter()
    let token = clock.schedule(()) { returned }
    clock.run()
    #expect(token.isDisposed && composite.add(token) != nil)
    composite.dispose()
    #expect(returned.value == 1)
  }

  @Test("ReactiveSwift: isDisposed of a scoped disposable is its own; ReactiveSwift's is the inner one's")
  func scoped() {
    let scoped = ScopedDisposable(BooleanDisposable())
    scoped.inner.dispose()
    #expect(!scoped.isDisposed)
    scoped.dispose()
    #expect(scoped.isDisposed)
  }

  @Test("ReactiveSwift: schedule always returns a disposable; ReactiveSwift's may return nil") func neverNil() {
    let immediate = ReactiveScheduler(ImmediateScheduler.instance)
    let disposable = immediate.schedule {}
    #expect(disposable?.isDisposed == true)
  }

  @Test("ReactiveSwift: a delay is a length of time, and one that is negative is a plain submission") func delays() {
    let clock = TestScheduler(), log = Log<String>()
    clock.schedule { log.add("plain") }
    clock.schedule(after: .seconds(-5)) { log.add("negative") }
    clock.advance()
    #expect(log.entries == ["plain", "negative"])
  }

  @Test("ReactiveSwift: releasing a token cancels nothing, a scoped one does, as in ReactiveSwift") func release() {
    let clock = TestScheduler(), ran = Counter()
    clock.schedule { ran.increment() }
    do { _ = clock.schedule { ran.increment() }.scoped() }
    clock.run()
    #expect(ran.value == 1)
  }

  @Test("ReactiveObjC: setting a serial disposable disposes the old one, where swap hands it back") func serial() {
    let serial = SerialDisposable(), old = Counter(), swapped = Counter()
    serial.disposable = Disposables.create { old.increment() }
    serial.disposable = Disposables.create { swapped.increment() }
    #expect(old.value == 1)
    #expect(serial.swap(nil) != nil && swapped.value == 0)
  }

  @Test("ReactiveObjC: the current scheduler is known in repeating actions, too") func current() {
    let clock = TestScheduler(), found = Log<Bool>()
    let ticking = clock.schedule(.every(.seconds(1))) { found.add(Schedulers.current === clock) }
    clock.advance(by: .seconds(2))
    ticking.dispose()
    #expect(found.entries == [true, true])
  }
}
