import Foundation
import Scheduler
import SchedulerRx
import SchedulerTesting
import TestSupport
import Testing

/// A scheduler's disposable is disposed after the disposal, the drop, or the end of the run, for good.
@Suite(.serialized, .nothingIsLeft) struct EndContractTests {
  /// Each kind of action that ends by itself, calling `body` once.
  private static func schedule(on scheduler: any SchedulerType, _ body: @escaping @Sendable () -> Void)
    -> [any Disposable]
  {
    [
      scheduler.schedule(body),
      scheduler.schedule(1) { _ in
        body()
        return Disposables.create()
      },
      scheduler.schedule(after: .milliseconds(1), body),
      scheduler.schedule(1, after: .milliseconds(1)) { _ in
        body()
        return Disposables.create()
      },
      scheduler.schedule(.at(scheduler.now.advanced(by: .milliseconds(1))), body),
      scheduler.scheduleRecursive(0) { _, _ in body() },
    ]
  }

  /// Those, and what does not end by itself, an hour from now.
  private static func scheduleLater(
    on scheduler: any SchedulerType, _ body: @escaping @Sendable () -> Void
  ) -> [any Disposable] {
    [
      scheduler.schedule(after: .seconds(3_600), body),
      scheduler.schedule(1, after: .seconds(3_600)) { _ in
        body()
        return Disposables.create()
      },
      scheduler.schedule(.every(.seconds(1), after: .seconds(3_600)), body),
      scheduler.schedulePeriodic(1, startAfter: .seconds(3_600), period: .seconds(1)) {
        body()
        return $0
      },
    ]
  }

  private static func isOver(_ token: any Disposable) -> Bool { token.isDisposed }

  @Test("an ended action is disposed", arguments: SchedulerUnderTest.all) func over(
    _ test: SchedulerUnderTest
  ) throws {
    let scheduler = try test.make(), ran = Counter()
    let tokens = Self.schedule(on: scheduler) { ran.increment() }
    #expect(eventually { ran.value == tokens.count })
    for token in tokens { #expect(eventually { Self.isOver(token) }, "\(token)") }
    for token in tokens {
      token.dispose()
      #expect(Self.isOver(token))
    }
  }

  @Test("an action that waits or runs is not disposed", arguments: SchedulerUnderTest.queuedAndSerial)
  func notYet(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), entered = Gate(), leave = Gate()
    let running = scheduler.schedule {
      entered.open()
      leave.wait()
    }
    entered.wait()
    let waiting =
      Self.schedule(on: scheduler) {} + Self.scheduleLater(on: scheduler) {}
    #expect(([running] + waiting).allSatisfy { !Self.isOver($0) })
    for token in waiting {
      token.dispose()
      #expect(Self.isOver(token))
    }
    leave.open()
    #expect(eventually { Self.isOver(running) })
  }

  @Test(
    "an action is over at the end of its run, though its returned disposable is not: a later dispose disposes that",
    arguments: SchedulerUnderTest.all)
  func returned(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make()
    for delay in [nil, Duration.milliseconds(1)] {
      let child = BooleanDisposable(), ended = Gate()
      let action: @Sendable (Int) -> any Disposable = { _ in
        ended.open()
        return child
      }
      let token =
        delay.map { scheduler.schedule(0, after: $0, action: action) } ?? scheduler.schedule(0, action: action)
      ended.wait()
      #expect(eventually { Self.isOver(token) })
      #expect(!child.isDisposed)
      token.dispose()
      #expect(eventually { child.isDisposed })
    }
  }

  @Test("a periodic action is over when it is disposed, from inside too", arguments: SchedulerUnderTest.queued)
  func periodic(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), token = SingleAssignmentDisposable(), ticks = Counter()
    let ticking = scheduler.schedule(.every(.milliseconds(1), after: .zero)) {
      if ticks.increment() == 3 { token.dispose() }
    }
    #expect(!Self.isOver(ticking) || ticks.value >= 3)
    token.setDisposable(ticking)
    #expect(eventually { Self.isOver(ticking) })
  }

  @Test("a recursion is over when no reference can request another step", arguments: SchedulerUnderTest.all)
  func recursion(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), kept = Protected<(@Sendable (Int) -> Void)?>(nil), steps = Counter()
    let token = scheduler.scheduleRecursive(0) { n, again in
      if n < 3 { again(n + 1) } else { kept.write(again) }
      steps.increment()
    }
    #expect(eventually { steps.value == 4 })
    #expect(!token.isDisposed)
    kept.read()?(4)
    #expect(eventually { steps.value == 5 })
    #expect(!token.isDisposed)
    kept.write(nil)
    #expect(eventually { token.isDisposed })
  }

  // MARK: drops

  /// Dropped actions release their captures, and are disposed, when `drop` has returned.
  private func check(
    _ tokens: [any Disposable], _ ends: Counter, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(eventually { ends.value == 1 }, sourceLocation: sourceLocation)
    for token in tokens { #expect(eventually { Self.isOver(token) }, "\(token)", sourceLocation: sourceLocation) }
  }

  private func all(on scheduler: any SchedulerType, _ ends: Counter) -> [any Disposable] {
    let witness = Witness(ends)
    return Self.schedule(on: scheduler) { witness.touch() } + Self.scheduleLater(on: scheduler) { witness.touch() }
  }

  @Test("a dropped action is disposed", arguments: [false, true]) func stopped(isBelow: Bool) throws {
    let thread = try ThreadScheduler(), queue = SerialScheduler(target: thread)
    let scheduler: any SchedulerType = isBelow ? queue : thread
    let leave = block(thread)
    let ends = Counter(), tokens = all(on: scheduler, ends)
    #expect(tokens.allSatisfy { !Self.isOver($0) })
    thread.stop(.dropOutstanding)
    leave.open()
    thread.join()
    check(tokens, ends)
    let later = Counter()
    check(all(on: scheduler, later), later)  // refused
  }

  @Test("an action that a custom scheduler releases is disposed") func released() {
    let ends = Counter(), scheduler = CustomScheduler { _ in }
    let witness = Protected<Witness?>(Witness(ends))
    let tokens = Self.schedule(on: scheduler) { [witness = witness.exchange(nil)] in witness?.touch() }
    check(tokens, ends)
  }

  @Test("an action that ends with its virtual time scheduler is disposed") func virtualEnd() {
    let ends = Counter()
    var tokens: [any Disposable] = []
    do {
      let scheduler = TestScheduler()
      let witness = Witness(ends)
      // Without a recursion, which has a reference to the scheduler.
      tokens =
        [scheduler.schedule { witness.touch() }, scheduler.schedule(witness) { _ in Disposables.create() }]
        + Self.scheduleLater(on: scheduler) { witness.touch() }
      #expect(tokens.allSatisfy { !Self.isOver($0) })
    }
    check(tokens, ends)
  }

  @Test("an action that ran in virtual time is disposed") func virtual() {
    let scheduler = TestScheduler(), child = BooleanDisposable()
    let tokens = Self.schedule(on: scheduler) {} + [scheduler.schedule(0) { _ in child }]
    let once = scheduler.schedule(.every(.zero, after: .milliseconds(1))) {}
    let ticking = scheduler.schedule(.every(.milliseconds(1), after: .zero)) {}
    scheduler.advance(by: .milliseconds(2))
    #expect(tokens.allSatisfy(Self.isOver) && Self.isOver(once))
    #expect(!Self.isOver(ticking) && !child.isDisposed)
    for token in tokens { token.dispose() }
    #expect(child.isDisposed)
    ticking.dispose()
    #expect(Self.isOver(ticking))
  }

  @Test("an action that the current thread's scheduler ran, at once or later, is disposed") func trampoline() {
    let scheduler = CurrentThreadScheduler.instance, child = BooleanDisposable(), later = Log<any Disposable>()
    let outermost = [
      scheduler.schedule {
        later.add(scheduler.schedule { later.add(scheduler.schedule(0) { _ in child }) })
        #expect(later.entries.allSatisfy { !Self.isOver($0) })
      }, scheduler.schedule(0) { _ in child },
    ]
    #expect((outermost + later.entries).allSatisfy(Self.isOver))
    #expect(later.entries.count == 2 && !child.isDisposed)
    outermost[1].dispose()
    #expect(child.isDisposed)
  }

  @Test("a wrapper of a scheduler returns its ended disposables") func wrappers() throws {
    let thread = try ThreadScheduler()
    let wrappers: [any SchedulerType] = [
      ActionGroup().scheduler(on: thread), thread.wrapping { $0() }, RecordingScheduler(thread), Foreign(base: thread),
      RecordingScheduler(Foreign(base: thread)),
    ]
    for scheduler in wrappers {
      let ran = Counter(), tokens = Self.schedule(on: scheduler) { ran.increment() }
      #expect(eventually { ran.value == tokens.count })
      for token in tokens { #expect(eventually { Self.isOver(token) }, "\(scheduler)") }
    }
    let leave = block(thread)
    let ends = wrappers.map { _ in Counter() }, tokens = zip(wrappers, ends).map { all(on: $0, $1) }
    #expect(tokens.joined().allSatisfy { !Self.isOver($0) })
    thread.stop(.dropOutstanding)
    leave.open()
    thread.join()
    for (tokens, ends) in zip(tokens, ends) { check(tokens, ends) }
  }

  @Test("the disposable of an ended registration is disposed") func registration() {
    let (lifetime, token) = Lifetime.make()
    let registration = lifetime.observeEnded {}
    #expect(registration?.isDisposed == false)
    token.dispose()
    #expect(registration?.isDisposed == true)
  }

  @Test("actions that a shutdown drops are disposed") func shutdown() async {
    await #expect(processExitsWith: .success) {
      let queue = SerialScheduler(), pool = ConcurrentScheduler()
      let leave = block(queue)
      let tokens: [any Disposable] = [
        queue.schedule {}, queue.schedule(0) { _ in Disposables.create() }, queue.schedule(after: .seconds(60)) {},
        pool.schedule(after: .seconds(60)) {}, pool.schedule(.every(.seconds(1), after: .seconds(60))) {},
        CustomScheduler { $0() }.schedule(after: .seconds(60)) {},
      ]
      Thread.detachNewThread {
        usleep(20_000)
        leave.open()
      }
      Schedulers.shutdown(.dropOutstanding)
      #expect(tokens.allSatisfy { $0.isDisposed })
    }
  }
}

/// A scheduler of another module, with its own disposables, and only the required members.
struct Foreign: SchedulerType {
  struct Token: Disposable {
    let inner: any Disposable
    var isDisposed: Bool { inner.isDisposed }
    func dispose() { inner.dispose() }
  }

  let base: any SchedulerType
  var now: MonotonicTime { base.now }

  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { Token(inner: base.schedule(action)) }

  func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    timing.schedule(on: self, action) { delay, _, action in Token(inner: base.schedule(after: delay, action)) }
  }
}
