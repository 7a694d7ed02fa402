import Scheduler
import SchedulerRx
import TestSupport
import Testing

/// Exact counts, in a process of its own, in which nothing else runs.
@Suite(.nothingIsLeft) struct DiagnosticsTests {
  @Test("a debug build counts") func on() {
    #expect(Diagnostics.isOn)
  }

  @Test("each disposable is counted until its deinit") func disposables() async {
    await #expect(processExitsWith: .success) {
      let nothing = Disposables.create()
      let makers: [@Sendable () -> Any] = [
        { Disposables.create(with: {}) }, { AnyDisposable() }, { BooleanDisposable() }, { CompositeDisposable() },
        { DisposeBag() }, { SerialDisposable() }, { SingleAssignmentDisposable() },
        { Disposables.create([]) as any Disposable }, { Disposables.create(nothing, nothing) as any Disposable },
        { RefCountDisposable(disposable: nothing) }, { ScopedDisposable(Uncounted()) },
        { ScheduledDisposable(scheduler: ImmediateScheduler.instance, disposable: nothing) },
      ]
      for make in makers {
        let one = make()
        #expect(Diagnostics.live.disposables == 1, "\(one)")
        withExtendedLifetime(one) {}
      }
      #expect(Diagnostics.live.isEmpty)
      let token = Lifetime.Token()
      #expect(Diagnostics.live.disposables == 2)  // it has a composite
      let seen = Lifetime(token).observeEnded {}
      #expect(Diagnostics.live.disposables == 4)
      withExtendedLifetime((token, seen)) {}
    }
  }

  @Test("permanent objects are not counted") func forGood() async {
    await #expect(processExitsWith: .success) {
      #expect(Lifetime.empty.hasEnded)
      let shared = RefCountDisposable(disposable: Disposables.create())
      shared.dispose()
      #expect(shared.retain() is BooleanDisposable)
      #expect(Diagnostics.live.disposables == 1)
      withExtendedLifetime(shared) {}
    }
  }

  @Test("an action is counted until its queue has removed it, its closure until it has run or was disposed")
  func actions() async {
    await #expect(processExitsWith: .success) {
      let thread = try ThreadScheduler()
      let hold = block(thread)
      let plain = thread.schedule {}
      let returning = thread.schedule(1) { _ in Disposables.create() }
      let delayed = thread.schedule(after: .seconds(60)) {}
      let periodic = thread.schedule(.every(.seconds(60), after: .seconds(60))) {}
      // The token of a closure that returns nothing is a value, and no object of its own.
      var live = Diagnostics.live
      #expect((live.jobs, live.closures, live.disposables, live.threads) == (5, 5, 1, 1))
      plain.dispose()
      delayed.dispose()
      live = Diagnostics.live
      #expect((live.jobs, live.closures, live.disposables, live.threads) == (4, 3, 1, 1))
      hold.open()
      thread.drain()
      periodic.dispose()
      thread.stop()
      synchronously { thread.join() }
      withExtendedLifetime((plain, returning, delayed, periodic)) {
        live = Diagnostics.live
        #expect((live.jobs, live.closures, live.disposables, live.threads) == (0, 0, 1, 0))
      }
    }
  }

  @Test("actions that wait in virtual time, in a recursion, in a wait are counted") func elsewhere() async {
    await #expect(processExitsWith: .success) {
      do {
        let virtual = TestScheduler()
        let once = virtual.schedule(after: .seconds(1)) {}
        virtual.schedule(.every(.seconds(1), after: .seconds(1))) {}
        #expect((Diagnostics.live.jobs, Diagnostics.live.closures) == (2, 2))
        once.dispose()
        virtual.advance(by: .seconds(5))
        #expect((Diagnostics.live.jobs, Diagnostics.live.closures) == (1, 1))
      }
      #expect(Diagnostics.live.isEmpty)
      do {
        let virtual = TestScheduler()
        let recursion = virtual.scheduleRecursive { again in again() }
        #expect((Diagnostics.live.jobs, Diagnostics.live.disposables) == (1, 1))
        recursion.dispose()
        let lock = RunLoopLock()
        lock.dispatch {}
        #expect(Diagnostics.live.closures == 1)
      }
      #expect(Diagnostics.live.isEmpty)
    }
  }

  @Test("an action that is refused, and one that is dropped, leave nothing") func refused() async {
    await #expect(processExitsWith: .success) {
      let thread = try ThreadScheduler()
      thread.schedule(after: .seconds(60)) {}
      thread.stop(.dropOutstanding)
      thread.schedule {}
      thread.schedule(1) { _ in Disposables.create() }
      thread.schedule(after: .seconds(60)) {}
      thread.schedule(.every(.seconds(60), after: .seconds(60))) {}
      synchronously { thread.join() }
      #expect(Diagnostics.live.isEmpty)
    }
  }

  @Test("the threads of the shared pool are no leak") func threads() async {
    await #expect(processExitsWith: .success) {
      let done = Gate()
      ConcurrentScheduler().schedule(after: .milliseconds(1)) { done.open() }
      done.wait()
      let left = Diagnostics.waitUntilEmpty()
      #expect(left.isEmpty)
      #expect(left.sharedThreads >= 2)  // a worker and the one that keeps the time
      let own = try ThreadScheduler()
      #expect(Diagnostics.live.threads == left.threads + 1)
      withExtendedLifetime(own) {}
    }
  }

  @Test("a difference has increases and decreases; its description names both") func difference() {
    var before = Diagnostics(), after = Diagnostics()
    (before.jobs, before.closures, after.disposables) = (1, 1, 2)
    (after.threads, after.sharedThreads) = (3, 3)
    let difference = after.since(before)
    #expect(difference.jobs == -1 && difference.disposables == 2 && !difference.isEmpty)
    #expect(after.since(after).isEmpty)
    #expect(
      "\(difference)" == "-1 jobs, -1 closures, 2 disposables, 3 threads (3 of them shared)")
  }
}

/// A disposable of another module.
private struct Uncounted: Disposable {
  var isDisposed: Bool { true }
  func dispose() {}
}
