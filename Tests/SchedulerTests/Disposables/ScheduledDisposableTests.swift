import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite("ScheduledDisposable", .nothingIsLeft)
struct ScheduledDisposableTests {
  @Test("the inner one is disposed on the scheduler, once", arguments: SchedulerUnderTest.all)
  func there(scheduler: SchedulerUnderTest) throws {
    let (scheduler, current) = try scheduler.makeBoth()
    let runs = DisposalCounter()
    let inner = Disposables.create {
      #expect(Schedulers.current === current)
      runs.dispose()
    }
    let token = ScheduledDisposable(scheduler: scheduler, disposable: inner)
    #expect(!token.isDisposed)
    token.dispose()
    token.dispose()
    #expect(token.isDisposed)
    #expect(eventually { runs.value == 1 })
    #expect(inner.isDisposed)
  }

  @Test("the disposal waits for the scheduler, and the inner one is released after it")  // A2
  func waits() {
    let scheduler = TestScheduler()
    weak var weakly: DisposalCounter?
    let token: ScheduledDisposable
    do {
      let inner = DisposalCounter()
      weakly = inner
      token = inner.disposed(on: scheduler)
    }
    token.dispose()
    #expect(token.isDisposed)
    #expect(weakly?.value == 0)
    scheduler.run()
    #expect(weakly == nil)
  }

  @Test("an action that is dropped releases the inner one undisposed")
  func dropped() {
    let works = Protected<(@Sendable () -> Void)?>(nil)
    let scheduler = CustomScheduler { work in works.withLock { $0 = work } }
    let runs = DisposalCounter()
    weak var weakly: Capture?
    let token: ScheduledDisposable
    do {
      let capture = Capture()
      weakly = capture
      token = Disposables.create {
        capture.touch()
        runs.dispose()
      }.disposed(on: scheduler)
    }
    token.dispose()
    #expect(weakly != nil)
    handOver(works.withLock { $0.take() })
    #expect(weakly == nil)
    #expect(token.isDisposed)
    #expect(runs.value == 0)
  }

  private func handOver(_: consuming (@Sendable () -> Void)?) {}

  @Test("a stopped scheduler disposes nothing, and the disposable is released")
  func stopped() throws {
    let scheduler = try ThreadScheduler(name: "stopped")
    scheduler.stop()
    scheduler.join()
    let runs = DisposalCounter()
    weak var weakly: Capture?
    let token: ScheduledDisposable
    do {
      let capture = Capture()
      weakly = capture
      token = AnyDisposable {
        capture.touch()
        runs.dispose()
      }.disposed(on: scheduler)
    }
    #expect(weakly != nil)
    token.dispose()
    #expect(weakly == nil)
    #expect(runs.value == 0)
  }

  @Test("a context disposable is a scheduled one")
  func context() {
    let child = DisposalCounter()
    let token = ContextDisposable(context: ImmediateScheduler.instance, disposable: child)
    #expect(token.context as AnyObject === ImmediateScheduler.instance)
    token.dispose()
    #expect(child.value == 1)
  }

  @Test("on the trampoline it waits for the action that is running")
  func trampoline() {
    let log = DisposalLog()
    CurrentThreadScheduler.instance.schedule {
      log.entry("later").disposed(on: CurrentThreadScheduler.instance).dispose()
      log.add("now")
    }
    #expect(log.all == ["now", "later"])
  }

  @Test("a scheduled disposable disposed by many threads schedules once, and disposes there")  // A1
  func race() throws {
    let seed = SeededGenerator.freshSeed(for: "ScheduledDisposableTests.race")
    let scheduler = try ThreadScheduler(name: "race")
    for round in 0..<Scale.count(200) {
      let child = DisposalCounter()
      let all = CompositeDisposable()
      let token = Disposables.create {
        #expect(Schedulers.current === scheduler)
        child.dispose()
      }.disposed(on: scheduler)
      raceDisposal(threads: 4) { index in
        var random = SeededGenerator(seed: seed &+ UInt64(round * 4 + index))
        switch Int.random(in: 0..<3, using: &random) {
        case 0: token.dispose()
        case 1:
          all.insert(token)
          all.dispose()
        default:
          all.dispose()
          all.insert(token)
        }
      }
      scheduler.drain()
      #expect(child.value == 1, "seed \(seed)")
    }
  }

  @Test("a deep chain on schedulers that run at once is disposed without recursion")
  func deep() {
    let schedulers: [any ImmediateSchedulerType] = [
      ImmediateScheduler.instance, SubscriptionScheduler.instance, CurrentThreadScheduler.instance,
    ]
    for count in [1, schedulers.count] {
      let leaf = DisposalCounter()
      var chain: any Disposable = leaf
      for level in 0..<min(deepChain, 200_000) { chain = chain.disposed(on: schedulers[level % count]) }
      chain = chain.disposed(on: ImmediateScheduler.instance)
      chain.dispose()
      #expect(eventually { leaf.value == 1 })
    }
  }
}
