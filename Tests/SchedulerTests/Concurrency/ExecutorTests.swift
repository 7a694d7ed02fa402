import CTestAllocations
import CTestSupport
import Foundation
import Scheduler
import Synchronization
import TestSupport
import Testing

/// One kind of scheduler as an executor.
struct ExecutorUnderTest: Sendable, CustomTestStringConvertible {
  typealias Executor = SchedulerTarget & SerialExecutor & TaskExecutor

  let name: String
  /// The scheduler, and the thread that it stops with, if there is one.
  let make: @Sendable () throws -> (scheduler: any Executor, thread: ThreadScheduler?)
  var testDescription: String { name }

  static let thread = ExecutorUnderTest(name: "ThreadScheduler") {
    let thread = try ThreadScheduler(name: "executor")
    return (thread, thread)
  }
  static let onThread = ExecutorUnderTest(name: "SerialScheduler on a thread") {
    let thread = try ThreadScheduler(name: "executor")
    return (SerialScheduler(name: "queue", target: thread), thread)
  }
  static let onQueueOnThread = ExecutorUnderTest(name: "SerialScheduler on a SerialScheduler on a thread") {
    let thread = try ThreadScheduler(name: "executor")
    return (SerialScheduler(name: "queue", target: SerialScheduler(target: thread)), thread)
  }
  static let onPool = ExecutorUnderTest(name: "SerialScheduler") { (SerialScheduler(name: "queue"), nil) }
  static let onQueue = ExecutorUnderTest(name: "SerialScheduler on a SerialScheduler") {
    (SerialScheduler(name: "queue", target: SerialScheduler()), nil)
  }
  static let onCustom = ExecutorUnderTest(name: "SerialScheduler on a CustomScheduler") {
    (SerialScheduler(target: CustomScheduler { work in DispatchQueue.global().async(execute: work) }), nil)
  }
  /// One whose jobs are all on one thread.
  static let onOneWorker = ExecutorUnderTest(name: "SerialScheduler on a pool of one thread") {
    (SerialScheduler(target: try WorkerPool(workers: 1, maxThreads: 1).scheduler()), nil)
  }
  static let main = [
    ExecutorUnderTest(name: "MainScheduler.instance") { (hosted(MainScheduler.instance), nil) },
    ExecutorUnderTest(name: "MainScheduler.asyncInstance") { (hosted(MainScheduler.asyncInstance), nil) },
  ]

  private static func hosted(_ scheduler: MainScheduler) -> MainScheduler {
    if !SchedulerUnderTest.isMainProcess { ctest_host_main_loop() }
    return scheduler
  }

  static let withThread = [thread, onThread, onQueueOnThread]
  static let all = withThread + [onPool, onQueue, onCustom] + main
}

/// An actor on a scheduler. Its state is not protected but by that.
actor Pinned {
  nonisolated let scheduler: any ExecutorUnderTest.Executor
  private let ends: Counter?
  private(set) var log: [Int] = []
  private var isInside = false

  init(_ scheduler: any ExecutorUnderTest.Executor, ends: Counter? = nil) {
    self.scheduler = scheduler
    self.ends = ends
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { scheduler.asUnownedSerialExecutor() }

  /// Whether `other` takes the caller to be isolated to it: if not, the process stops.
  func assumesIsolation(to other: Pinned) -> Bool { other.assumeIsolated { $0.log.isEmpty } }

  /// Whether the caller is inside: isolated, alone, and with the scheduler as the current one.
  func isRight() -> Bool {
    if isInside { return false }
    isInside = true
    defer { isInside = false }
    return scheduler.isIsolatingCurrentContext() == true && Schedulers.current === scheduler
      && synchronously { assumeIsolated { _ in true } }
  }

  @discardableResult func add(_ number: Int) -> Bool {
    log.append(number)
    return isRight()
  }

  /// Comes back here after each of `count` suspensions.
  func yield(_ count: Int) async -> Bool {
    for _ in 0..<count {
      await Task.yield()
      if !isRight() { return false }
    }
    return true
  }

  func touch() {}

  func call(_ body: @Sendable () -> Void) { body() }

  isolated deinit {
    preconditionIsolated()
    if isRightAtEnd() { ends?.increment() }
  }

  private func isRightAtEnd() -> Bool { scheduler.isIsolatingCurrentContext() == true }
}

@Suite(.serialized, .nothingIsLeft) struct ExecutorTests {
  @Test("an actor is isolated to its scheduler, which is current in each of its jobs", arguments: ExecutorUnderTest.all)
  func isolation(_ test: ExecutorUnderTest) async throws {
    let made = try test.make(), pinned = Pinned(made.scheduler)
    #expect(await pinned.isRight())
    #expect(await pinned.yield(100))
    if !SchedulerUnderTest.isMainProcess { #expect(made.scheduler.isIsolatingCurrentContext() == false) }
  }

  @Test("jobs of a task and actions share one order", arguments: ExecutorUnderTest.all)
  func order(_ test: ExecutorUnderTest) async throws {
    let made = try test.make(), scheduler = made.scheduler, log = Log<Int>(), hold = Gate()
    scheduler.schedule { hold.wait() }
    let tasks = (0..<200).map { n in
      scheduler.schedule { log.add(2 * n) }
      return Task(executorPreference: scheduler) { log.add(2 * n + 1) }
    }
    hold.open()
    for task in tasks { await task.value }
    #expect(log.entries == Array(0..<400))
  }

  @Test("calls of one task are taken in order, and each once", arguments: ExecutorUnderTest.all)
  func calls(_ test: ExecutorUnderTest) async throws {
    let pinned = Pinned(try test.make().scheduler)
    for n in 0..<500 { #expect(await pinned.add(n)) }
    #expect(await pinned.log == Array(0..<500))
    await withTaskGroup(of: Bool.self) { group in
      for n in 0..<500 { group.addTask { await pinned.add(n) } }
      for await isRight in group { #expect(isRight) }
    }
    #expect(await pinned.log.count == 1_000)
  }

  @Test("a task with the preference runs there, and its children do", arguments: ExecutorUnderTest.all)
  func preference(_ test: ExecutorUnderTest) async throws {
    let scheduler = try test.make().scheduler
    let isRight = await Task(executorPreference: scheduler) {
      async let child = Schedulers.current === scheduler
      let isCurrent = Schedulers.current === scheduler
      return await child && isCurrent
    }.value
    #expect(isRight)
  }

  @Test("an isolated deinit runs on the scheduler", arguments: ExecutorUnderTest.all)
  func isolatedDeinit(_ test: ExecutorUnderTest) async throws {
    let scheduler = try test.make().scheduler, ends = Counter()
    for _ in 0..<100 { _ = Pinned(scheduler, ends: ends) }
    #expect(eventually { ends.value == 100 })
  }

  @Test("a concurrent scheduler is a task executor, and current inside", arguments: SchedulerPriority.allCases)
  func concurrent(_ priority: SchedulerPriority) async throws {
    let scheduler = ConcurrentScheduler(name: "tasks", priority: priority), ran = Counter()
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<100 {
        group.addTask(executorPreference: scheduler) {
          await Task.yield()
          ran.increment()
          return Schedulers.current === scheduler
        }
      }
      for await isRight in group { #expect(isRight) }
    }
    #expect(ran.value == 100)
    // It is the last to keep the scheduler.
    #expect(await Task(executorPreference: ConcurrentScheduler()) { Schedulers.current is ConcurrentScheduler }.value)
  }

  @Test("queues on one thread, or one queue, are one exclusive context; others are not")
  func exclusiveContexts() throws {
    let thread = try ThreadScheduler(), a = SerialScheduler(target: thread), b = SerialScheduler(target: a)
    let other = SerialScheduler(), on = SerialScheduler(target: other), apart = SerialScheduler()
    #expect(a.isSameExclusiveExecutionContext(other: b) && b.isSameExclusiveExecutionContext(other: a))
    #expect(on.isSameExclusiveExecutionContext(other: other) && !on.isSameExclusiveExecutionContext(other: apart))
    #expect(!a.isSameExclusiveExecutionContext(other: other))
    let seen = Log<Bool?>()
    b.schedule { seen.add(a.isIsolatingCurrentContext()) }
    thread.schedule { seen.add(b.isIsolatingCurrentContext()) }
    b.drain()
    thread.drain()
    other.sync { seen.add(on.isIsolatingCurrentContext()) }
    on.sync { seen.add(other.isIsolatingCurrentContext()) }
    #expect(seen.entries == [true, true, true, true])
    other.sync { seen.add(apart.isIsolatingCurrentContext()) }
    #expect(seen.entries.last == false)
  }

  @Test("an actor is isolated to the others of its root, and a task of one finds it so")
  func actorsOfOneRoot() async throws {
    let thread = try ThreadScheduler(), on = Pinned(thread), queued = Pinned(SerialScheduler(target: thread))
    let queue = SerialScheduler(), below = Pinned(queue), above = Pinned(SerialScheduler(target: queue))
    for (one, other) in [(on, queued), (queued, on), (below, above), (above, below)] {
      #expect(await one.assumesIsolation(to: other))
    }
    await thread.stopAndJoin()
  }

  @Test("assumeIsolated works in an action, and stops the process elsewhere with the scheduler's name")
  func assumed() async throws {
    let thread = try ThreadScheduler(name: "owner"), pinned = Pinned(thread), numbers = Log<Int>()
    thread.schedule { pinned.assumeIsolated { numbers.add($0.log.count) } }
    await thread.stopAndJoin()
    #expect(numbers.entries == [0])
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      SerialScheduler(name: "cache").checkIsolated()
    }
    expectMessage(result, "Scheduler: SerialScheduler.checkIsolated: \"cache\": called outside of the scheduler")
    let other = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let thread = try ThreadScheduler(name: "owner")
      thread.checkIsolated()
    }
    expectMessage(other, "ThreadScheduler.checkIsolated: \"owner\"")
    let main = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      await Task.detached { MainScheduler.instance.checkIsolated() }.value
    }
    expectMessage(main, "MainScheduler.checkIsolated")
  }

  @Test("priorities: a table both ways")
  func priorities() {
    for priority in SchedulerPriority.allCases { #expect(SchedulerPriority(TaskPriority(priority)) == priority) }
    let expected: [(TaskPriority, SchedulerPriority)] = [
      (.userInitiated, .high), (.high, .high), (.medium, .default), (.low, .low), (.utility, .low),
      (.background, .background), (TaskPriority(rawValue: 255), .high), (TaskPriority(rawValue: 1), .background),
      (TaskPriority(rawValue: 23), .default),
    ]
    for (task, scheduler) in expected { #expect(SchedulerPriority(task) == scheduler) }
  }

  @Test(
    "the escalation of a queued task does not move it: it keeps its place, and runs", arguments: ExecutorUnderTest.all)
  func escalation(_ test: ExecutorUnderTest) async throws { await escalatesInPlace(try test.make().scheduler) }

  @Test("nor does that of one on a concurrent scheduler, whatever the scheduler's priority")
  func escalationOfConcurrent() async {
    for priority in SchedulerPriority.allCases {
      await escalatesInPlace(ConcurrentScheduler(priority: priority, limit: 1))
    }
  }

  private func escalatesInPlace(_ scheduler: some SchedulerTarget & TaskExecutor) async {
    let hold = Gate(), log = Log<Int>()
    scheduler.schedule { hold.wait() }
    let tasks = (0..<100).map { n in Task(executorPreference: scheduler, priority: .background) { log.add(n) } }
    // Waited for by one of high priority, the last is escalated where it waits.
    let waits = Task.detached(priority: .high) { await tasks[99].value }
    // By a thread: while other tests wait for a held main thread on all of Swift's own, this task would not continue.
    Thread.detachNewThread {
      usleep(1_000)
      hold.open()
    }
    await waits.value
    for task in tasks { await task.value }
    #expect(log.entries == Array(0..<100))
  }

  @Test("task locals are read in each job", arguments: ExecutorUnderTest.all)
  func taskLocals(_ test: ExecutorUnderTest) async throws {
    let pinned = Pinned(try test.make().scheduler)
    let seen = await Local.$value.withValue(7) {
      await pinned.call { precondition(Local.value == 7) }
      return await Task(executorPreference: pinned.scheduler) {
        await Task.yield()
        return Local.value
      }.value
    }
    #expect(seen == 7)
  }

  @Test(
    "a job allocates nothing", .enabled(if: ctest_counts_allocations()),
    arguments: ExecutorUnderTest.withThread + [.onOneWorker])
  func allocations(_ test: ExecutorUnderTest) async throws {
    #expect(await Self.allocationsOfCalls(on: try test.make().scheduler) == 0)
  }

  @Test("a job of the main scheduler allocates nothing", .enabled(if: ctest_counts_allocations()))
  func allocationsOnMain() async {
    // In a process of its own, where no other test has work for the main thread.
    await #expect(processExitsWith: .success) {
      ctest_host_main_loop()
      for scheduler in [MainScheduler.instance, .asyncInstance] {
        let least = await Self.allocationsOfCalls(on: scheduler)
        if least != 0 { fatalError("\(least) allocations in a hundred calls") }
      }
    }
  }

  /// The least number of a hundred calls of an actor, of twenty times.
  private static func allocationsOfCalls(on scheduler: any ExecutorUnderTest.Executor) async -> UInt64 {
    // On the thread alone, so that its count is of these jobs: two for each call, there and back. (A yield is a block
    // of the runtime's.)
    let pinned = Pinned(scheduler)
    return await Task(executorPreference: scheduler) {
      var least = UInt64.max
      for _ in 0..<20 {
        let before = ctest_allocations()
        for _ in 0..<100 { await pinned.touch() }
        least = min(least, ctest_allocations() - before)
      }
      return least
    }.value
  }

  @Test("a burst of a hundred thousand jobs")
  func burst() async throws {
    let pinned = Pinned(try ThreadScheduler(name: "burst")), count = Scale.count(100_000)
    await withTaskGroup(of: Bool.self) { group in
      for n in 0..<count { group.addTask { await pinned.add(n) } }
      #expect(await group.allSatisfy { $0 })
    }
    #expect(await pinned.log.count == count)
  }

  @Test("on one processor", arguments: ExecutorUnderTest.withThread + [.onPool, .onQueue])
  func oneProcessor(_ test: ExecutorUnderTest) async throws {
    let scheduler = try test.make().scheduler, done = Gate()
    runOnOneCPU {
      let pinned = Pinned(scheduler)
      Task(executorPreference: scheduler) {
        if await pinned.yield(1_000) { done.open() }
      }
      #expect(done.wait())
    }
  }

  @Test("jobs of many threads reach a scheduler that has had none")  // JW1
  func firstJobs() async throws {
    let ran = Counter(), rounds = Scale.count(200)
    for _ in 0..<rounds {
      let scheduler = SerialScheduler(name: "new")
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask { _ = await Task<Int, Never>(executorPreference: scheduler) { ran.increment() }.value }
        }
      }
    }
    #expect(ran.value == 4 * rounds)
  }

  @Test("the last reference to a scheduler goes in its own job, while others resume it")  // LJ4
  func lastReference() async throws {
    let ran = Counter()
    for _ in 0..<Scale.count(200) {
      let task = Task(executorPreference: try ThreadScheduler()) {
        for _ in 0..<3 { try? await Task.sleep(for: .microseconds(10)) }
        ran.increment()
      }
      await task.value
    }
    #expect(ran.value == Scale.count(200))
  }
}

private enum Local {
  @TaskLocal static var value = 0
}
