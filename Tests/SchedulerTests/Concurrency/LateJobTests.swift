import CScheduler
import Foundation
import Scheduler
import TestSupport
import Testing

/// Schedulers that are stopped while they have tasks: nothing hangs, and isolation holds.
@Suite(.serialized, .nothingIsLeft) struct LateJobTests {
  enum Time: CaseIterable { case before, during, after }

  // LJ1, LJ2
  @Test(
    "a task ends, isolated and in order, whenever its scheduler is stopped, by either policy",
    arguments: ExecutorUnderTest.withThread, [Schedulers.StopPolicy.runOutstanding, .dropOutstanding])
  func table(_ test: ExecutorUnderTest, _ policy: Schedulers.StopPolicy) async throws {
    for time in Time.allCases {
      let (scheduler, owner) = try test.make(), thread = try #require(owner), pinned = Pinned(scheduler), hold = Gate()
      if time != .after { thread.schedule { hold.wait() } }
      if time == .during { thread.stop(policy) }
      if time == .after { await thread.stopAndJoin(policy) }
      let tasks = (0..<200).map { n in
        Task(executorPreference: scheduler) {
          // Of one submitter, in order; and back again after each suspension.
          let isRight = await pinned.add(n)
          return await pinned.yield(3) && isRight
        }
      }
      if time == .before { thread.stop(policy) }
      hold.open()
      for task in tasks { #expect(await task.value, "\(time)") }
      #expect(await pinned.log.sorted() == Array(0..<200))
      #expect(await pinned.isRight())
      await thread.stopAndJoin()
    }
  }

  @Test(
    "a task ends, isolated and in order, whenever its pool is stopped, by either policy",
    arguments: Time.allCases, [Schedulers.StopPolicy.runOutstanding, .dropOutstanding])
  func poolTable(_ time: Time, _ policy: Schedulers.StopPolicy) async throws {
    let pool = try WorkerPool(name: "stopped", workers: 2), free = pool.scheduler(), hold = Gate()
    let queue = SerialScheduler(target: pool.scheduler(priority: .low)), above = SerialScheduler(target: queue)
    let actors = [Pinned(queue), Pinned(above), Pinned(SerialScheduler(target: free))]
    if time != .after { for _ in 0..<2 { free.schedule { hold.wait() } } }
    if time == .during { pool.stop(policy) }
    if time == .after { await pool.stopAndJoin(policy) }
    var tasks: [Task<Bool, Never>] = []
    for n in 0..<100 {
      for pinned in actors {
        tasks.append(
          Task(executorPreference: pinned.scheduler) {
            let isRight = await pinned.add(n)
            return await pinned.yield(3) && isRight
          })
      }
      tasks.append(
        Task(executorPreference: free) {
          await Task.yield()
          return await actors[n % 3].isRight()
        })
    }
    if time == .before { pool.stop(policy) }
    for _ in 0..<2 { hold.open() }
    for task in tasks { #expect(await task.value) }
    for pinned in actors { #expect(await pinned.log.sorted() == Array(0..<100)) }
    await pool.stopAndJoin()
    for pinned in actors { #expect(await pinned.isRight()) }
  }

  // SQ14
  @Test(
    "a suspended queue's actions are exclusive with late jobs of the queue below, when it is resumed after the stop",
    arguments: [false, true])
  func resumedAfterTheStop(isClosed: Bool) async throws {
    for actions in [1, 3, 200] {  // more than a batch, too
      let pool = try WorkerPool(name: "stopped", workers: 2), queue = SerialScheduler(target: pool.scheduler())
      let above = SerialScheduler(target: queue), pinned = Pinned(queue), ran = Counter(),
        (begun, hold) = (Gate(), Gate())
      above.suspend()
      for n in 0..<actions {
        above.schedule {
          #expect(ran.value == n && above.isCurrent && queue.isCurrent)
          ran.increment()
        }
      }
      await pool.stopAndJoin()
      if isClosed { queue.schedule {} }  // refused, which closes the queue
      let late = Task {
        await pinned.call {
          begun.open()
          hold.wait()
          #expect(ran.value == 0, "an action ran beside a late job of the queue below")
        }
        return await pinned.isRight()
      }
      begun.wait()
      above.resume()
      try await Task.sleep(for: .milliseconds(2))
      hold.open()
      #expect(await late.value)
      #expect(eventually(within: 30) { ran.value == actions }, "\(ran.value) of \(actions) ran")
    }
  }

  @Test(
    "the isolated deinit of an actor whose scheduler has been stopped is isolated",
    arguments: ExecutorUnderTest.withThread)
  func isolatedEnds(_ test: ExecutorUnderTest) async throws {
    let (scheduler, owner) = try test.make(), thread = try #require(owner), ends = Counter(), hold = Gate()
    thread.schedule { hold.wait() }
    for _ in 0..<50 { _ = Pinned(scheduler, ends: ends) }  // those that wait are dropped with the thread
    let last = Protected<Pinned?>(Pinned(scheduler, ends: ends))
    thread.stop(.dropOutstanding)
    hold.open()
    await thread.stopAndJoin()
    last.write(nil)
    #expect(eventually { ends.value == 51 })
  }

  // LJ1, LJ3
  @Test(
    "late jobs of one submitter keep their order, those that were taken before the stop, too",
    arguments: ExecutorUnderTest.withThread)
  func order(_ test: ExecutorUnderTest) async throws {
    for policy in [Schedulers.StopPolicy.runOutstanding, .dropOutstanding] {
      let (scheduler, owner) = try test.make(), thread = try #require(owner), hold = Gate(), log = Log<Int>()
      thread.schedule { hold.wait() }
      var tasks = (0..<100).map { n in Task(executorPreference: scheduler) { log.add(n) } }
      thread.stop(policy)
      tasks += (100..<200).map { n in Task(executorPreference: scheduler) { log.add(n) } }
      hold.open()
      tasks += (200..<300).map { n in Task(executorPreference: scheduler) { log.add(n) } }
      await thread.stopAndJoin()
      tasks += (300..<400).map { n in Task(executorPreference: scheduler) { log.add(n) } }
      for task in tasks { await task.value }
      #expect(log.entries == Array(0..<400))
    }
  }

  @Test(
    "a thread that is being stopped takes jobs until it ends",
    arguments: [Schedulers.StopPolicy.runOutstanding, .dropOutstanding])
  func untilTheEnd(_ policy: Schedulers.StopPolicy) async throws {
    let thread = try ThreadScheduler(), begun = Gate(), hold = Gate(), on = Log<Bool>()
    thread.schedule {
      begun.open()
      hold.wait()
    }
    synchronously { _ = begun.wait() }  // actions that have not begun are dropped, and the thread ends at once
    let before = Task(executorPreference: thread) { on.add(thread.isOnThread) }
    thread.stop(policy)
    let during = Task(executorPreference: thread) { on.add(thread.isOnThread) }
    hold.open()
    await before.value
    await during.value
    await thread.stopAndJoin()
    await Task(executorPreference: thread) { on.add(thread.isOnThread) }.value
    #expect(on.entries == [true, true, false])
  }

  @Test("a stop in the middle of an actor's call lets the call continue")
  func inTheMiddle() async throws {
    let thread = try ThreadScheduler(), pinned = Pinned(thread)
    await pinned.call { thread.stop(.dropOutstanding) }
    #expect(await pinned.yield(1_000))
    let other = try ThreadScheduler(), second = Pinned(other)
    async let yields = second.yield(2_000)
    other.stop(.dropOutstanding)
    #expect(await yields)
  }

  @Test(
    "a stop at any moment of calls of many tasks, from inside and outside: each call ends, and none is lost or doubled",
    arguments: ExecutorUnderTest.withThread)
  func inTheMiddleOfMany(_ test: ExecutorUnderTest) async throws {
    for round in 0..<Scale.count(30) {
      let (scheduler, owner) = try test.make(), thread = try #require(owner), pinned = Pinned(scheduler)
      let policy: Schedulers.StopPolicy = round % 2 == 0 ? .runOutstanding : .dropOutstanding
      await withTaskGroup(of: Bool.self) { group in
        for n in 0..<60 {
          group.addTask {
            if n == 20, round % 3 == 0 { await pinned.call { thread.stop(policy) } }
            if n == 40 { thread.stop(policy) }
            let isRight = await pinned.add(n)
            return await pinned.yield(2) && isRight
          }
        }
        #expect(await group.allSatisfy { $0 })
      }
      #expect(await pinned.log.sorted() == Array(0..<60))
      await thread.stopAndJoin()
    }
  }

  @Test("a task that yields for ever does not keep a stopped thread")
  func endless() async throws {
    let thread = try ThreadScheduler()
    let task = Task(executorPreference: thread) { while !Task.isCancelled { await Task.yield() } }
    await thread.stopAndJoin()
    task.cancel()
    await task.value
  }

  @Test("tasks that are suspended on a scheduler retain it, and continue there without another reference")
  func suspended() async throws {
    let ended = Counter()
    func start() throws -> [Task<Bool, any Error>] {
      let thread = try ThreadScheduler(), pinned = Pinned(SerialScheduler(target: thread), ends: ended)
      return (0..<100).map { n in
        Task(executorPreference: thread) {
          try await Task.sleep(for: .milliseconds(5))
          try await pinned.scheduler.sleep(for: .milliseconds(5))
          return await pinned.add(n)
        }
      }
    }
    for task in try start() { #expect(try await task.value) }
    #expect(eventually { ended.value == 1 })
  }

  @Test("a queue whose last reference goes while tasks are suspended on it resumes each of them, in it")
  func suspendedOnQueue() async throws {
    let ended = Counter(), gates = (0..<50).map { _ in AsyncStream.makeStream(of: Void.self) }
    weak var gone: SerialScheduler?
    func start() -> [Task<Bool, Never>] {
      let queue = SerialScheduler(name: "suspended"), pinned = Pinned(queue, ends: ended)
      gone = queue
      return gates.map { gate in
        Task(executorPreference: queue) {
          for await _ in gate.stream { return await pinned.isRight() }
          return false
        }
      }
    }
    let tasks = start()
    #expect(gone != nil, "the tasks keep it")
    for gate in gates { gate.continuation.yield() }
    for task in tasks { #expect(await task.value) }
    #expect(eventually { ended.value == 1 && gone == nil })
  }

  @Test("a task on the thread itself stops it, and waits for its end")
  func stopsItself() async throws {
    let thread = try ThreadScheduler(), pinned = Pinned(thread)
    await pinned.stopAndJoin(thread)
    #expect(await pinned.isRight() && !thread.isOnThread)
    await Task(executorPreference: thread) { await thread.stopAndJoin(.dropOutstanding) }.value
  }

  @Test("late jobs are reported, with the scheduler that has lost its thread")
  func reported() async throws {
    let thread = try ThreadScheduler(), other = try ThreadScheduler(), reports = Counter(),
      queue = SerialScheduler(target: thread)
    let token = Schedulers.onLateJob { if $0 === thread { reports.increment() } }
    await Task(executorPreference: thread) {}.value
    await thread.stopAndJoin()
    #expect(reports.value == 0)
    await Task(executorPreference: thread) {}.value
    #expect(reports.value == 1)
    await Task(executorPreference: queue) {}.value
    #expect(reports.value == 2)
    token.dispose()
    await Task(executorPreference: thread) {}.value
    #expect(reports.value == 2)
    await other.stopAndJoin()
  }

  @Test("a program that requests it stops with a message when a task has lost its thread")
  func trap() async {
    for onQueue in ["", "yes"] {
      let result: ExitTest.Result?
      if onQueue.isEmpty {
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          let thread = try ThreadScheduler(name: "gl", lateJobs: .trap)
          await Task(executorPreference: thread) {}.value
          await thread.stopAndJoin()
          await Task(executorPreference: thread) {}.value
        }
      } else {
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          let thread = try ThreadScheduler(name: "gl", lateJobs: .trap), queue = SerialScheduler(target: thread)
          await thread.stopAndJoin()
          await Task(executorPreference: queue) {}.value
        }
      }
      expectMessage(result, "Scheduler: ThreadScheduler.enqueue: \"gl\": a task goes on here, but the thread has ended")
    }
  }

  @Test("a thread that its job has ended leaves its tasks to the pool")
  func exits() async {
    await #expect(processExitsWith: .success) {
      let thread = try ThreadScheduler(), pinned = Pinned(thread)
      thread.schedule { pthread_exit(nil) }
      let isRight = await pinned.yield(100)
      precondition(isRight)
      await thread.stopAndJoin()
    }
  }

  // LJ1, LJ2
  @Test(
    "the pool and the main thread are shut down, before, under and after tasks of each kind", arguments: [true, false])
  func shutdown(drops: Bool) async {
    if drops {
      await #expect(processExitsWith: .success) { await shutDown(.dropOutstanding) }
    } else {
      await #expect(processExitsWith: .success) { await shutDown(.runOutstanding) }
    }
  }

  @Test("jobs that the main thread's loop took before another thread closed it are run by its host, or dropped")
  func closedInHost() async {
    await #expect(processExitsWith: .success) {
      let isDone = Counter()
      _ = MainScheduler.enter { work in DispatchQueue.main.async(execute: work) }
      // As by a thread that is held up between its submission and asking the host for a run.
      _ = csched_target_async(
        csched_loop_target(csched_main_loop()),
        { Unmanaged<Counter>.fromOpaque($0!).takeUnretainedValue().increment() },
        Unmanaged.passUnretained(isDone).toOpaque())
      Schedulers.shutdown()
      MainScheduler.asyncInstance.schedule {}
      while isDone.value == 0 { try? await Task.sleep(for: .milliseconds(1)) }
    }
  }

  @Test("tasks of a queue on a custom scheduler that releases its work continue")
  func customDrops() async throws {
    let held = Log<@Sendable () -> Void>()
    let custom = CustomScheduler { work in if held.entries.isEmpty { held.add {} } else { work() } }
    let queue = SerialScheduler(target: custom), pinned = Pinned(queue)
    #expect(await pinned.yield(10))
  }
}

/// Shuts down ten times while tasks run on everything that this ends.
private func shutDown(_ policy: Schedulers.StopPolicy) async {
  _ = MainScheduler.enter { work in DispatchQueue.main.async(execute: work) }
  let pool = SerialScheduler(name: "pool"), above = SerialScheduler(target: pool), concurrent = ConcurrentScheduler()
  let actors = [Pinned(pool), Pinned(above), Pinned(MainScheduler.instance)]
  let isOver = Counter()
  let tasks = actors.map { pinned in
    Task.detached {
      var count = 0
      while isOver.value == 0 {
        if await !pinned.yield(10) { return false }
        count += 1
      }
      return await pinned.add(count)
    }
  }
  let free = [concurrent, ConcurrentScheduler(limit: 1), ConcurrentScheduler(limit: 3)].map { scheduler in
    Task(executorPreference: scheduler) { while isOver.value == 0 { await Task.yield() } }
  }
  for _ in 0..<10 {
    try? await Task.sleep(for: .milliseconds(5))
    Schedulers.shutdown(policy)
  }
  isOver.increment()
  for task in tasks {
    let isRight = await task.value
    precondition(isRight, "a job was not isolated")
  }
  for task in free { await task.value }
}

extension Pinned {
  func stopAndJoin(_ thread: ThreadScheduler) async { await thread.stopAndJoin() }
}
