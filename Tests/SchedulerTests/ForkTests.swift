import CTestSupport
import Scheduler
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Calls `body` in a child of fork; the first of `checks` that does not hold is its failure.
private func inChild(says: String? = nil, _ body: @escaping () -> Void) -> String? {
  withoutActuallyEscaping(body) { body in
    var call = body
    return withUnsafeMutablePointer(to: &call) { call in
      let run: @convention(c) (UnsafeMutableRawPointer?) -> Void = {
        $0!.assumingMemoryBound(to: (() -> Void).self).pointee()
      }
      return failure(of: says.map { ctest_in_child(run, call, 0, $0) } ?? ctest_in_child(run, call, 0, nil))
    }
  }
}

private func require(_ condition: Bool, _ text: String) {
  if !condition { ctest_fail(text) }
}

/// Waits until the pool's threads have released their actions, and sleep. Swift's run-time library has locks that
/// `fork` does not reset: a lock that another thread holds at the fork stays locked in the child. `closures`: the
/// number of closures that still exist.
private func letOthersRest(closures: Int = 0) {
  precondition(
    eventually {
      Diagnostics.live.jobs == 0 && Diagnostics.live.closures == closures && Diagnostics.live.disposables == 0
    })
  usleep(20_000)
  precondition(eventually { ctest_other_threads_sleep() })
}

/// An actor on a queue and one on a thread, and tasks on both and on the pool: they do not need Swift's own executor,
/// which a child has not.
private func useExecutors() async {
  let thread = try! ThreadScheduler(), pool = ConcurrentScheduler()
  for scheduler: any ExecutorUnderTest.Executor in [SerialScheduler(), thread, SerialScheduler(target: thread)] {
    let pinned = Pinned(scheduler), isRight = await pinned.isRight()
    require(isRight, "an actor's isolation")
    let isCurrent = await withTaskExecutorPreference(scheduler) { Schedulers.current === scheduler }
    require(isCurrent, "a task's scheduler")
  }
  let isOnPool = await withTaskExecutorPreference(pool) { Schedulers.current === pool }
  require(isOnPool, "the pool")
  let value = try? await thread.perform { 7 }
  require(value == 7, "perform")
  thread.stop()
}

/// The schedulers in a child of fork, each in a process of its own.
@Suite(.enabled(if: Scale.sanitizer == .none), .nothingIsLeft) struct SchedulerForkTests {
  @Test("after fork calls that need no other thread work") func ownThread() async {
    await #expect(processExitsWith: .success) {
      let value = Protected(1)
      MainScheduler.instance.schedule {}
      let failed = inChild {
        value.write { $0 += 1 }
        require(value.read { $0 } == 2, "Protected")
        var order: [Int] = []
        withUnsafeMutablePointer(to: &order) { order in
          nonisolated(unsafe) let order = order
          ImmediateScheduler.instance.schedule { order.pointee.append(1) }
          CurrentThreadScheduler.instance.schedule {
            CurrentThreadScheduler.instance.schedule { order.pointee.append(3) }
            order.pointee.append(2)
          }
        }
        require(order == [1, 2, 3], "ImmediateScheduler, CurrentThreadScheduler")
        let lock = RunLoopLock(timeout: .seconds(5))
        lock.dispatch { lock.stop() }
        do { try lock.run() } catch { require(false, "RunLoopLock") }
      }
      precondition(failed == nil, failed!)
    }
  }

  @Test("after fork schedulers can be made anew, the shared pool with them") func madeAnew() async {
    await #expect(processExitsWith: .success) {
      let before = ConcurrentScheduler()
      let semaphore = Protected(0)
      before.schedule { semaphore.withLock { $0 += 1 } }
      precondition(eventually { semaphore.withLock { $0 } == 1 })
      letOthersRest()
      let failed = inChild {
        let runs = Protected(0)
        let pool = ConcurrentScheduler()
        let queue = SerialScheduler()
        let thread = try? ThreadScheduler(name: "anew")
        pool.schedule { runs.write { $0 += 1 } }
        pool.schedule(after: .milliseconds(1)) { runs.write { $0 += 1 } }
        queue.schedule { runs.write { $0 += 1 } }
        thread?.schedule { runs.write { $0 += 1 } }
        require(eventually { runs.read { $0 } == 4 }, "four actions")
        require(queue.sync { 7 } == 7, "sync")
        thread?.stop()
        thread?.join()
      }
      precondition(failed == nil, failed!)
    }
  }

  @Test("after fork a custom scheduler continues, also with delayed actions") func custom() async {
    await #expect(processExitsWith: .success) {
      let scheduler = CustomScheduler { work in work() }, ticks = Protected(0)
      func run() {
        let before = ticks.read()
        let token = scheduler.schedule(.every(.milliseconds(1))) { ticks.write { $0 += 1 } }
        require(eventually { ticks.read() > before + 1 }, "two ticks")
        token.disposeAndWait()
      }
      run()
      letOthersRest(closures: 1)  // that of `scheduler`
      let failed = inChild { run() }
      precondition(failed == nil, failed!)
      run()
    }
  }

  @Test("after a fork beside threads that make schedulers, the child makes its own") func besideMakers() async {
    await #expect(processExitsWith: .success) {
      @Sendable func make() {
        SerialScheduler().sync {}
        Schedulers.onDrop { _, _ in }.dispose()
      }
      let isOver = Protected(false), rounds = Protected([0, 0]), makers = (0..<2).map { _ in try! ThreadScheduler() }
      for (index, maker) in makers.enumerated() {
        maker.schedule {
          while !isOver.read() {
            make()
            rounds.write { $0[index] += 1 }
          }
        }
      }
      // Not before: Swift's run-time library locks its tables when a type is used first, and a fork does not handle
      // these locks.
      precondition(eventually { rounds.read { $0.allSatisfy { $0 > 1000 } } })
      for _ in 0..<Scale.count(300) {
        let failed = inChild { make() }
        precondition(failed == nil, failed!)
      }
      isOver.write(true)
      for maker in makers { await maker.stopAndJoin() }
    }
  }

  @Test("after fork in a job of the pool its current scheduler is there, also when there is another pool")
  func currentInJob() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        try? runAndWait { () async -> Void in
          let failed = inChild {
            require(Schedulers.current is ConcurrentScheduler, "before there is another pool")
            let runs = Protected(0)
            ConcurrentScheduler().schedule { runs.write { $0 += 1 } }
            require(eventually { runs.read { $0 } == 1 }, "another pool")
            for _ in 0..<100 { require(Schedulers.current is ConcurrentScheduler, "after that") }
          }
          precondition(failed == nil, failed!)
        }
      }
    }
  }

  @Test("after fork tasks and actors run on schedulers that are made in the child") func executors() async {
    await #expect(processExitsWith: .success) {
      // The parent has used what it will use in the child, so that the run-time library has made its own.
      await useExecutors()
      letOthersRest()
      let failed = inChild {
        let done = Protected(false)
        let thread = try! ThreadScheduler(name: "anew")
        Task.detached(executorPreference: thread) {
          await useExecutors()
          done.write(true)
        }
        require(eventually { done.read() }, "tasks and actors")
      }
      precondition(failed == nil, failed!)
    }
  }

  @Test("after fork a task that is given to a scheduler of the parent stops the process, with a message")
  func orphanedExecutor() async {
    await #expect(processExitsWith: .success) {
      let queue = SerialScheduler(), thread = try! ThreadScheduler(name: "left")
      let onThread = SerialScheduler(target: thread), pool = ConcurrentScheduler()
      for use in [
        { _ = Task.detached(executorPreference: thread) {} }, { _ = Task.detached(executorPreference: queue) {} },
        { _ = Task.detached(executorPreference: onThread) {} }, { _ = Task.detached(executorPreference: pool) {} },
      ] {
        let failed = inChild(says: "orphaned by fork", use)
        precondition(failed == nil, failed!)
      }
    }
  }

  @Test("after fork a value confined to a thread of the parent is released silently, and used with a message")
  func confined() async {
    await #expect(processExitsWith: .success) {
      let thread = try! ThreadScheduler(name: "left"), ends = Counter()
      let held = Protected((0..<2).map { _ in thread.confine { Witness(ends) } })
      for index in 0..<2 { try! await held.read()[index].perform { $0.touch() } }
      letOthersRest()
      var failed = inChild(says: "called on another thread than the value's") {
        try? held.read()[0].withValue { $0.touch() }
      }
      precondition(failed == nil, failed!)
      failed = inChild(says: "orphaned by fork") { _ = thread.confine { Witness(ends) } }
      precondition(failed == nil, failed!)
      failed = inChild {
        held.write([])
        require(ends.value == 0, "its thread is not here, and no other may release it")
      }
      precondition(failed == nil, failed!)
      held.write([])
    }
  }

  /// Objects that a part of a program holds and releases, in a child, too.
  private struct Holdings: Sendable {
    let thread = try! ThreadScheduler(name: "left"), queue = SerialScheduler(), pool = ConcurrentScheduler()
    let group = ActionGroup(), results = ResultGroup<Int>(), own = try! WorkerPool(workers: 1)
    let threads = try! ThreadScheduler.Group(count: 2)
    let disposables: [any Disposable]
    let event: MergingEvent

    init() {
      var all: [any Disposable] = []
      let (thread, queue, pool) = (self.thread, self.queue, self.pool)
      for scheduler in [thread, queue, pool, SerialScheduler(target: thread), own.scheduler()] as [any SchedulerType] {
        all.append(scheduler.schedule(after: .seconds(3_600)) {})
        all.append(scheduler.schedule(.every(.seconds(3_600))) {})
        all.append(
          scheduler.schedule { context in
            context.onDispose {}
            context.schedule(on: pool, after: .seconds(3_600)) { _ in }
          })
        all.append(group.schedule(on: scheduler) {})
        results.schedule(on: scheduler) { 7 }
      }
      var ends: [Int32] = [0, 0]
      precondition(pipe(&ends) == 0)
      all.append(thread.onReadable(ends[0]) {})
      all.append(thread.onSignal(SIGUSR2) { _ in })
      group.scheduler(on: queue).schedule(after: .seconds(3_600)) {}
      event = MergingEvent(on: thread, .sum) { _ in }
      disposables = all
    }
  }

  @Test("after fork the parent's pending actions are disposed, and released, silently") func release() async {
    await #expect(processExitsWith: .success) {
      let held = Protected<Holdings?>(Holdings())
      precondition(eventually { held.read()!.group.pendingCount == 1 && held.read()!.results.pendingCount == 0 })
      usleep(20_000)
      precondition(eventually { ctest_other_threads_sleep() })
      for disposes in [false, true] {
        let failed = inChild {
          if disposes {
            for each in held.read()!.disposables { each.disposeAndWait() }
            held.read()!.group.cancelAll()
          }
          held.write(nil)
        }
        precondition(failed == nil, failed!)
      }
      held.write(nil)
    }
  }

  @Test("after fork a scheduler of the parent stops the process, with a message") func orphaned() async {
    await #expect(processExitsWith: .success) {
      let pool = ConcurrentScheduler()
      let queue = SerialScheduler()
      let thread = try! ThreadScheduler(name: "left")
      for use in [
        { _ = pool.schedule {} }, { _ = pool.schedule(after: .milliseconds(1)) {} }, { _ = queue.schedule {} },
        { queue.sync {} }, { _ = thread.schedule {} }, { _ = thread.schedule(after: .milliseconds(1)) {} },
        { thread.join() },
      ] {
        let failed = inChild(says: "orphaned by fork", use)
        precondition(failed == nil, failed!)
      }
    }
  }
}

/// The schedulers without threads, each in a process of its own.
@Suite(.enabled(if: Scale.sanitizer == .none), .nothingIsLeft) struct NoThreadTests {
  @Test("prepare fails without a thread for the pool, and succeeds later") func prepare() async {
    await #expect(processExitsWith: .success) {
      guard ctest_forbid_threads(true) else { exit(0) }
      let threads = System.threadCount
      for _ in 0..<3 {
        do throws(SchedulerError) {
          try ConcurrentScheduler.prepare()
          preconditionFailure("there is no thread to be had")
        } catch { precondition(error == .system(EAGAIN)) }
        do throws(SchedulerError) {
          _ = try ThreadScheduler()
          preconditionFailure("there is no thread to be had")
        } catch { precondition(error == .system(EAGAIN)) }
      }
      precondition(System.threadCount <= threads)
      precondition(ctest_forbid_threads(false))
      try! ConcurrentScheduler.prepare()
      try! ConcurrentScheduler.prepare()
      let runs = Protected(0)
      ConcurrentScheduler().schedule { runs.withLock { $0 += 1 } }
      precondition(eventually { runs.withLock { $0 } == 1 })
    }
  }

  @Test("a program that did not prepare, and finds no thread for the pool, gets a message") func notPrepared() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      guard ctest_forbid_threads(true) else {
        fatalError("Scheduler: ConcurrentScheduler.init: the system has no thread … prepare()")
      }
      ConcurrentScheduler().schedule {}
    }
    expectMessage(result, "Scheduler: ConcurrentScheduler.init: the system has no thread", "prepare()")
  }
}
