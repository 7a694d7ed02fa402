import CTestSupport
import Scheduler
import SchedulerRx
import TestSupport
import Testing

/// Names that the users of other libraries look for.
@Suite("Spellings of other libraries", .nothingIsLeft) struct SpellingTests {
  @Test("RxSwift: virtual time by start, advanceTo, scheduleAbsoluteVirtual and scheduleRelativeVirtual") func virtual()
  {
    let clock = TestScheduler(initialClock: 2), log = Log<String>()
    #expect(clock.now.nanoseconds == 2_000_000_000 && TestScheduler(initialClock: -1).now.nanoseconds == 0)
    clock.scheduleAbsoluteVirtual("absolute", time: MonotonicTime(nanoseconds: 5_000_000_000)) {
      log.add($0)
      return Disposables.create()
    }
    clock.scheduleRelativeVirtual("relative", dueTime: .seconds(1)) {
      log.add($0)
      return Disposables.create()
    }
    clock.advanceTo(MonotonicTime(nanoseconds: 4_000_000_000))
    #expect(log.entries == ["relative"])
    clock.start()
    #expect(log.entries == ["relative", "absolute"])
  }

  @Test("RxTest: virtual time in whole numbers") func wholeSeconds() {
    let clock = TestScheduler(initialClock: 0), log = Log<String>()
    @Sendable func note(_ name: String) -> any Disposable {
      log.add("\(name) at \(clock.now.nanoseconds / 1_000_000_000)")
      return Disposables.create()
    }
    clock.scheduleAbsoluteVirtual("absolute", time: 210) { note($0) }
    clock.scheduleRelativeVirtual("relative", dueTime: 200) { note($0) }
    clock.scheduleAt(300) { _ = note("at") }
    clock.advanceTo(250)
    #expect(log.entries == ["relative at 200", "absolute at 210"] && clock.now.nanoseconds == 250_000_000_000)
    clock.start()
    #expect(log.entries.last == "at at 300")
  }

  @Test(
    "RxTest: a period of zero ticks once a second of virtual time, through a wrapper, too", arguments: [false, true])
  func zeroPeriod(isWrapped: Bool) {
    let clock = TestScheduler(initialClock: 0), log = Log<Int>()
    let scheduler: any SchedulerType = isWrapped ? clock.wrapping { $0() } : clock
    let token = scheduler.schedulePeriodic(0, startAfter: .seconds(2), period: .zero) { [unowned clock] count in
      log.add(Int(clock.now.nanoseconds / 1_000_000_000))
      return count + 1
    }
    clock.advanceTo(5)
    token.dispose()
    clock.advanceTo(9)
    #expect(log.entries == [2, 3, 4, 5])
  }

  @Test("RxSwift: each MainScheduler() runs at once when nothing of its own waits") func mainScheduler() async {
    await #expect(processExitsWith: .success) {
      onMainThread {
        let first = MainScheduler(), second = MainScheduler(), log = Log<String>()
        first.schedule {
          #expect(Schedulers.current === MainScheduler.instance)
          MainScheduler.ensureExecutingOnScheduler()
          first.schedule { log.add("its own") }
          second.schedule { log.add("nested") }
          second.schedule(1) { _ in
            log.add("returning")
            return Disposables.create()
          }
          log.add("at once")
        }
        #expect(log.entries == ["nested", "returning", "at once"])
        first.schedule { log.add("after its own") }
        // What is disposed, or queued by another thread, counts until its turn.
        let waiting = second.asQueued { log.add("disposed") }
        second.schedule { log.add("last") }
        waiting.dispose()
        MainScheduler.runUntilIdle()
        #expect(log.entries.dropFirst(3) == ["its own", "after its own", "last"])
        second.schedule { log.add("at once again") }
        #expect(log.entries.last == "at once again")
      }
    }
  }

  @Test("RxSwift: ensureExecutingOnScheduler stops the process on another thread", arguments: [nil, "not here"])
  func ensureExecuting(message: String?) async {
    let result: ExitTest.Result?
    if message == nil {
      result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        onThreads(1) { _ in MainScheduler.ensureExecutingOnScheduler() }
      }
    } else {
      result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        onThreads(1) { _ in MainScheduler.ensureExecutingOnScheduler(errorMessage: "not here") }
      }
    }
    expectMessage(
      result, "Scheduler: MainScheduler.ensureExecutingOnScheduler: ", message ?? "Schedule the call on MainScheduler.")
  }

  @Test("RxSwift: schedulers by a class of quality") func qos() {
    let serial = SerialDispatchQueueScheduler(qos: .background, internalSerialQueueName: "images")
    let schedulers: [any SchedulerType] = [
      serial, SerialScheduler(qos: .default), ConcurrentDispatchQueueScheduler(qos: .userInitiated),
      ConcurrentScheduler(qos: .utility),
    ]
    let ran = Counter()
    for scheduler in schedulers { scheduler.schedule { ran.increment() } }
    #expect(eventually { ran.value == 4 } && serial.name == "images")
    #expect(SchedulerPriority.userInteractive == .high && SchedulerPriority.userInitiated == .high)
    #expect(SchedulerPriority.utility == .low)
  }

  @Test("Combine: instants after which something runs, once or at intervals") func instants() {
    let clock = TestScheduler(), log = Log<UInt64>()
    clock.schedule(after: clock.now.advanced(by: .seconds(3))) { log.add(clock.now.nanoseconds / 1_000_000_000) }
    let ticking = clock.schedule(after: clock.now.advanced(by: .seconds(1)), interval: .seconds(5)) {
      log.add(clock.now.nanoseconds / 1_000_000_000)
    }
    clock.advance(by: .seconds(12))
    #expect(log.entries == [1, 3, 6, 11])
    ticking.dispose()
    let past = MonotonicTime(nanoseconds: 0)
    clock.schedule(after: past, interval: .seconds(1), tolerance: .milliseconds(1)) { log.add(0) }.dispose()
    let late = clock.schedule(after: past, interval: .seconds(1)) { log.add(9) }
    clock.advance()
    late.dispose()
    #expect(log.entries == [1, 3, 6, 11, 9] && clock.pendingCount == 0)
  }

  @Test("SwiftNIO: the closure of a repeated task gets the disposable that cancels it") func repeatedTask() {
    let clock = TestScheduler(), ran = Counter()
    weak var weakly: Token?
    func begin() -> RepeatedTask {
      let token = Token()
      weakly = token
      return clock.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(2)) { task in
        withExtendedLifetime(token) {}
        if ran.increment() == 3 { task.cancel() }
        #expect(task.isDisposed == (ran.value == 3))
      }
    }
    let task = begin()
    clock.advance(by: .milliseconds(3_500))
    #expect(ran.value == 2 && !task.isDisposed && weakly != nil)
    clock.advance(by: .seconds(60))
    #expect(ran.value == 3 && task.isDisposed && weakly == nil && clock.pendingCount == 0)
    let other = begin()
    other.dispose()
    #expect(weakly == nil && other.isDisposed && clock.pendingCount == 0)
  }

  @Test(
    "SwiftNIO: a repeated task cancels itself in its first run, on every scheduler",
    arguments: SchedulerUnderTest.queued)
  func repeatedTaskAtOnce(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ran = Counter()
    weak var weakly: Token?
    func begin() -> RepeatedTask {
      let token = Token()
      weakly = token
      return scheduler.scheduleRepeatedTask(initialDelay: .zero, delay: .zero) { task in
        withExtendedLifetime(token) {}
        task.cancel()
        ran.increment()
      }
    }
    let task = begin()
    #expect(eventually { ran.value == 1 && task.isDisposed && weakly == nil })
    let waited = scheduler.scheduleRepeatedTask(initialDelay: .seconds(3_600), delay: .zero) { _ in }
    waited.disposeAndWait()
    #expect(waited.isDisposed && ran.value == 1)
  }

  @Test("a single assignment may be assigned") func singleAssignment() {
    let single = SingleAssignmentDisposable(), child = DisposalCounter()
    single.disposable = nil
    single.disposable = child
    #expect(single.disposable as? DisposalCounter === child)
    single.dispose()
    #expect(child.value == 1 && single.disposable == nil)
  }

  @Test("RxSwift: a composite's key under its name there") func disposeKey() throws {
    let composite = CompositeDisposable(), child = DisposalCounter()
    let key: CompositeDisposable.DisposeKey = try #require(composite.insert(child))
    composite.remove(for: key)
    #expect(child.value == 1)
  }

  @Test("ReactiveSwift: add returns a disposable that removes the child, undisposed") func add() {
    let composite = CompositeDisposable(), out = DisposalCounter(), stays = DisposalCounter()
    let handle = composite.add(out)
    composite.add(stays)
    #expect(composite.add(nil) == nil)
    handle?.dispose()
    composite.dispose()
    #expect(out.value == 0 && stays.value == 1)
    #expect(composite.add(out) == nil && out.value == 1)
  }

  @Test("ReactiveSwift: += returns a disposable that removes the child, of a closure too") func plusEquals() {
    let composite = CompositeDisposable(), child = DisposalCounter(), none: (any Disposable)? = nil
    let handle = composite += child
    let other = composite += { child.dispose() }
    let third = composite.add { child.dispose() }
    #expect((composite += none) == nil && composite.count == 3)
    handle?.dispose()
    other?.dispose()
    third?.dispose()
    #expect(composite.count == 0)
    composite.dispose()
    #expect(child.value == 0)
    #expect((composite += child) == nil && (composite += { child.dispose() }) == nil && child.value == 2)
  }

  @Test("ReactiveSwift: the inner one of a serial disposable") func innerOfSerial() {
    let serial = SerialDisposable(), first = DisposalCounter(), second = DisposalCounter()
    serial.inner = first
    #expect(serial.inner as? DisposalCounter === first)
    serial.inner = second
    #expect(first.value == 1)
    serial.dispose()
    #expect(second.value == 1 && serial.inner == nil)
  }

  @Test("ReactiveSwift: a scoped disposable has an inner one of its type, and takes what is added to a composite")
  func innerOfScoped() {
    let count = DisposalCounter()
    do {
      let scoped = ScopedDisposable(CompositeDisposable())
      scoped += count
      let handle = scoped += { count.dispose() }
      handle?.dispose()
      #expect(scoped.inner.count == 1 && !scoped.inner.isDisposed)
      withExtendedLifetime(scoped) {}
    }
    #expect(count.value == 1)
    let erased: any Disposable = count
    var field: ScopedDisposable<AnyDisposable>? = ScopedDisposable(erased)
    #expect(field?.inner.isDisposed == false)
    field = nil
    #expect(count.value == 2)
  }

  @Test("RxSwift: the concurrent main scheduler is the main one") func main() {
    #expect(ConcurrentMainScheduler.instance === MainScheduler.instance)
  }
}

extension MainScheduler {
  /// Schedules from another thread.
  fileprivate func asQueued(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    let token = Protected<(any Disposable)?>(nil)
    onThreads(1) { _ in token.write(self.schedule(action)) }
    return token.read()!
  }
}
