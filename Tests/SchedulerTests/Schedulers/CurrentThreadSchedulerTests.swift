import CTestSupport
import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct CurrentThreadSchedulerTests {
  let scheduler = CurrentThreadScheduler.instance

  @Test("the first runs at once, and those scheduled meanwhile when it is their turn: 1, 2, 3, 4, 5")
  func order() {
    let log = Log<Int>()
    scheduler.schedule { [scheduler] in
      log.add(1)
      scheduler.schedule {
        log.add(3)
        scheduler.schedule { log.add(5) }
        log.add(4)
      }
      log.add(2)
    }
    #expect(log.entries == [1, 2, 3, 4, 5])
  }

  @Test("schedule is required outside of an action, and not inside")
  func isScheduleRequired() {
    let log = Log<Bool>()
    log.add(CurrentThreadScheduler.isScheduleRequired)
    scheduler.schedule { log.add(CurrentThreadScheduler.isScheduleRequired) }
    log.add(CurrentThreadScheduler.isScheduleRequired)
    #expect(log.entries == [true, false, true])
  }

  @Test("an item disposed before its turn never runs, and its captures are released")
  func disposedBeforeItsTurn() {
    let log = Log<String>()
    scheduler.schedule { [scheduler] in
      weak var seen: Token?
      let item: any Disposable
      do {
        let token = Token()
        seen = token
        item = scheduler.schedule { [token] in log.add("ran with \(token)") }
      }
      #expect(seen != nil)
      item.dispose()
      #expect(seen == nil, "released before dispose returned")
      #expect(item.isDisposed)
      scheduler.schedule { log.add("the next one runs") }
    }
    #expect(log.entries == ["the next one runs"])
  }

  @Test("an item disposed from another thread never runs, and its captures are released")
  func disposedFromOutside() {
    let log = Log<String>()
    scheduler.schedule { [scheduler] in
      weak var seen: Token?
      let item: any Disposable
      do {
        let token = Token()
        seen = token
        item = scheduler.schedule { [token] in log.add("ran with \(token)") }
      }
      onThreads(1) { _ in item.dispose() }
      #expect(seen == nil)
    }
    #expect(log.entries.isEmpty)
  }

  @Test("disposing after the run disposes the action's returned disposable, once")
  func ownDisposable() {
    let count = Counter(), log = Log<any Disposable>()
    scheduler.schedule { [scheduler] in
      log.add(scheduler.schedule(1) { _ in Disposables.create { count.increment() } })
    }
    #expect(count.value == 0)
    for token in log.entries { token.dispose() }
    for token in log.entries { token.dispose() }
    #expect(count.value == 1)
    scheduler.schedule(2) { _ in Disposables.create { count.increment() } }.dispose()
    #expect(count.value == 2, "the outermost action's disposable is handed on")
  }

  @Test("disposing itself from inside disposes its returned disposable then")
  func disposesItselfInside() {
    let count = Counter(), token = SerialDisposable()
    scheduler.schedule { [scheduler] in
      token.disposable = scheduler.schedule(0) { _ in
        token.dispose()
        return Disposables.create { count.increment() }
      }
    }
    #expect(count.value == 1)
  }

  @Test("two threads have independent trampolines")
  func independentThreads() {
    let log = Log<String>()
    scheduler.schedule { [scheduler] in
      scheduler.schedule { log.add("queued here") }
      onThreads(1) { _ in
        #expect(CurrentThreadScheduler.isScheduleRequired)
        scheduler.schedule { log.add("at once there") }
      }
    }
    #expect(log.entries == ["at once there", "queued here"])
  }

  // In a process of its own, which ends without a look for leaks: objects of a thread's Swift frames are lost when it
  // ends inside them.
  @Test("a thread that ends inside an action drops the waiting ones, and its captures are released")
  func threadEndsInside() async {
    await #expect(processExitsWith: .success) {
      final class Observer: Sendable {
        let gone: Gate
        init(_ gone: Gate) { self.gone = gone }
        deinit { gone.open() }
      }
      let gone = Gate(), ran = Counter(), scheduler = CurrentThreadScheduler.instance
      Thread.detachNewThread {
        scheduler.schedule {
          let observer = Observer(gone)
          scheduler.schedule { [observer] in
            ran.increment()
            _ = observer
          }
          endThread(observer)
        }
      }
      precondition(gone.wait(), "the waiting action's captures are not gone")
      precondition(ran.value == 0, "the waiting action has run")
      _exit(0)
    }
  }

  // In processes of their own, where no other test takes memory meanwhile.

  @Test("a long chain of hops that return each other's disposables, in flat memory and constant stack")
  func longChain() async {
    await #expect(processExitsWith: .success) {
      let before = residentKilobytes()
      let token = CurrentThreadScheduler.instance.schedule(hops, action: hop)
      precondition(residentKilobytes() - before < flatKilobytes, "the memory is not flat")
      precondition(deepest.value == 0, "the stack is not constant")
      token.dispose()
    }
  }

  @Test("a long recursive action, in flat memory and constant stack")
  func longRecursion() async {
    await #expect(processExitsWith: .success) { recurse(on: CurrentThreadScheduler.instance) }
  }

  @Test("the same on the immediate scheduler")
  func longImmediateRecursion() async {
    await #expect(processExitsWith: .success) { recurse(on: ImmediateScheduler.instance) }
  }

  @Test("a recursive action that is disposed from inside takes no further step")
  func recursionDisposed() {
    let steps = Counter(), token = SerialDisposable()
    scheduler.schedule { [scheduler] in
      token.disposable = scheduler.scheduleRecursive { again in
        if steps.increment() == 10 { token.dispose() }
        again()
      }
    }
    #expect(steps.value == 10)
  }

  @Test("other work runs between the steps of a recursive action")
  func recursionInterleaves() {
    let log = Log<String>()
    scheduler.schedule { [scheduler] in
      scheduler.scheduleRecursive(1) { n, again in
        log.add("step \(n)")
        if n == 1 { scheduler.schedule { log.add("other") } }
        if n < 3 { again(n + 1) }
      }
    }
    #expect(log.entries.first == "step 1")
    #expect(log.entries.firstIndex(of: "other")! < log.entries.firstIndex(of: "step 3")!)
  }
}

// Ten million in an optimised build, 300 000 in a debug build, 100 000 under a sanitizer; or as many as
// SCHEDULER_TEST_DEPTH says.
private let hops = ProcessInfo.processInfo.environment["SCHEDULER_TEST_DEPTH"].flatMap(Int.init) ?? usualHops
#if DEBUG
  private let usualHops = Scale.sanitizer == .none ? 300_000 : 100_000
#else
  private let usualHops = 10_000_000
#endif

/// As much as nothing: less than a word for each hop. A sanitizer keeps memory of its own.
private let flatKilobytes = Scale.sanitizer == .none ? 15_000 : 60_000

private func recurse(on scheduler: some ImmediateSchedulerType) {
  let before = residentKilobytes(), steps = Counter()
  scheduler.scheduleRecursive(1) { n, again in
    if steps.increment() < hops { again(n + 1) }
  }
  precondition(steps.value == hops, "a step is missing")
  precondition(residentKilobytes() - before < flatKilobytes, "the memory is not flat")
}

private let deepest = Counter()

@Sendable private func hop(_ left: Int) -> any Disposable {
  guard left > 0 else { return Disposables.create() }
  var marker = 0
  let depth = withUnsafePointer(to: &marker) { Int(bitPattern: $0) }
  let base = stackBase.value(orSet: depth)
  if base - depth > 64_000 { deepest.increment() }
  return CurrentThreadScheduler.instance.schedule(left - 1, action: hop)
}

private final class FirstValue: Sendable {
  private let stored = Protected<Int?>(nil)
  func value(orSet value: Int) -> Int {
    stored.withLock {
      if $0 == nil { $0 = value }
      return $0!
    }
  }
}
private let stackBase = FirstValue()

/// Ends the calling thread from the middle of whatever it is doing. `pthread_exit` does not unwind Swift frames: what
/// they own is given up first.
private func endThread(_ owned: consuming some AnyObject) {
  _ = consume owned
  ctest_end_thread()
}
