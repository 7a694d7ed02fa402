import CTestAllocations
import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

/// Guarantee 13 for a task's waits, and Guarantee 5 for how it continues.
@Suite(.serialized, .nothingIsLeft) struct AsyncWaitContractTests {
  enum Cancelled: CaseIterable { case never, before, during, after }

  /// A wait that has no way to say that it was cancelled.
  struct Join: Sendable, CustomTestStringConvertible {
    let name: String
    /// Has `work` run where the wait is to wait for it. Returns the wait.
    let make: @Sendable (@escaping @Sendable () -> Void) throws -> @Sendable () async -> Void
    var testDescription: String { name }

    static let all: [Join] = [
      Join(name: "ThreadScheduler.stopAndJoin") { work in
        let thread = try ThreadScheduler(name: "join")
        thread.schedule(work)
        return { await thread.stopAndJoin() }
      },
      Join(name: "WorkerPool.stopAndJoin") { work in
        let pool = try WorkerPool(name: "join", workers: 1)
        pool.scheduler().schedule(work)
        return { await pool.stopAndJoin() }
      },
      Join(name: "ThreadScheduler.Group.stopAndJoin") { work in
        let threads = try ThreadScheduler.Group(count: 2, name: "join")
        threads.next().schedule(work)
        return { await threads.stopAndJoin() }
      },
      Join(name: "Disposable.disposeAndWait") { work in
        let token = ConcurrentScheduler().schedule(work)
        return { await token.disposeAndWait() }
      },
      Join(name: "Disposable.disposeAndWait of a container") { work in
        let token = CompositeDisposable(Disposables.create(), SerialScheduler(name: "join").schedule(work))
        return { await token.disposeAndWait() }
      },
    ]
  }

  @Test(
    "a wait that cannot throw a cancellation returns after the awaited action", arguments: Join.all,
    Cancelled.allCases)
  func join(_ join: Join, _ cancelled: Cancelled) async throws {
    let begun = ActionGroup(entered: 1), door = ActionGroup(entered: 1), ended = Counter(), returned = Counter()
    let wait = try join.make {
      begun.leave()
      door.wait()
      ended.increment()
    }
    synchronously { begun.wait() }
    let task = Task {
      while cancelled == .before, !Task.isCancelled { await Task.yield() }
      await wait()
      returned.increment()
      return ended.value
    }
    if cancelled == .before { task.cancel() }
    try await Task.sleep(for: .milliseconds(20))
    if cancelled == .during { task.cancel() }
    try await Task.sleep(for: .milliseconds(20))
    #expect(returned.value == 0)
    door.leave()
    #expect(await task.value == 1)
    if cancelled == .after { task.cancel() }
  }

  /// A wait that says whether it was cancelled.
  struct Wait: Sendable, CustomTestStringConvertible {
    let name: String
    /// Returns what makes the condition hold, and the wait, which returns whether it does.
    let make: @Sendable () throws -> (hold: @Sendable () -> Void, wait: @Sendable () async -> Bool)
    var testDescription: String { name }

    static let all: [Wait] = [
      Wait(name: "perform") {
        let thread = try ThreadScheduler(name: "wait"), door = ActionGroup(entered: 1)
        thread.schedule { door.wait() }
        return ({ door.leave() }, { (try? await thread.perform {}) != nil })
      },
      Wait(name: "ActionGroup.waitForAll") {
        let group = ActionGroup()
        group.enter()
        return ({ group.leave() }, { (try? await group.waitForAll()) != nil })
      },
      Wait(name: "ResultGroup.next") {
        let group = ResultGroup<Int>(), door = ActionGroup(entered: 1), queue = SerialScheduler(name: "wait")
        group.schedule(on: queue) {
          door.wait()
          return 1
        }
        return ({ door.leave() }, { await group.next() != nil })
      },
      Wait(name: "sleep") {
        let clock = TestScheduler()
        return ({ clock.advance(by: .seconds(1)) }, { (try? await clock.sleep(for: .seconds(1))) != nil })
      },
      Wait(name: "awaitSleepers") {
        let clock = TestScheduler()
        return (
          {
            let sleeper = Task { try? await clock.sleep(for: .seconds(1)) }
            Task {
              try? await Task.sleep(for: .milliseconds(50))
              sleeper.cancel()
            }
          }, { await clock.awaitSleepers() }
        )
      },
      Wait(name: "ticks") {
        let clock = TestScheduler()
        return (
          { clock.advance(by: .seconds(1)) },
          {
            var ticks = clock.ticks(every: .seconds(1)).makeAsyncIterator()
            return (try? await ticks.next()) != nil
          }
        )
      },
      Wait(name: "MergedValues") {
        let (event, values) = MergingEvent.sequence(.sum)
        return (
          { event.merge(1) },
          {
            var iterator = values.makeAsyncIterator()
            return await iterator.next(isolation: #isolation) != nil
          }
        )
      },
      Wait(name: "DescriptorReadiness") {
        let ends = Ends(), thread = try ThreadScheduler(name: "wait")
        return (
          { ends.say() },
          {
            var iterator = thread.readable(ends.reading).makeAsyncIterator()
            return (try? await iterator.next()) != nil
          }
        )
      },
    ]
  }

  @Test("a cancelled wait throws, at once, and only then", arguments: Wait.all, Cancelled.allCases)
  func wait(_ wait: Wait, _ cancelled: Cancelled) async throws {
    let (hold, body) = try wait.make(), begun = Counter()
    let task = Task {
      while cancelled == .before, !Task.isCancelled { await Task.yield() }
      begun.increment()
      return await body()
    }
    if cancelled == .before { task.cancel() }
    #expect(eventually { begun.value == 1 })
    try await Task.sleep(for: .milliseconds(20))
    if cancelled == .during { task.cancel() }
    if cancelled == .before || cancelled == .during {
      #expect(await !task.value)
      hold()
    } else {
      hold()
      #expect(await task.value)
      task.cancel()
    }
  }

  // MARK: how a task continues

  /// Waits for an action of `scheduler`, which comes behind what runs there.
  private static func use(_ scheduler: any SchedulerType) {
    let done = ActionGroup(entered: 1)
    scheduler.schedule { done.leave() }
    done.wait()
  }

  @Test("a cancellation handler may use the scheduler whose action its task waits for", arguments: [0, 1, 2, 3])
  func handlers(_ kind: Int) async throws {
    let thread = try ThreadScheduler(name: "handlers")
    let scheduler: any SchedulerType =
      switch kind {
      case 0: SerialScheduler(name: "handlers")
      case 1: SerialScheduler(target: thread)
      case 2: thread
      default: ConcurrentScheduler(limit: 1)
      }
    for _ in 0..<Scale.count(200) {
      let begun = ActionGroup(entered: 1), door = ActionGroup(entered: 1)
      let task = Task {
        try? await withTaskCancellationHandler {
          try await scheduler.perform {
            begun.leave()
            door.wait()
          }
        } onCancel: {
          door.leave()  // so that the action ends while this handler runs
          Self.use(scheduler)
        }
      }
      synchronously { begun.wait() }
      task.cancel()
      await task.value
    }
    await thread.stopAndJoin()
  }

  /// Has `give` give an element while the task that waits for it is cancelled, and its handler waits for an action of
  /// `scheduler`.
  private func cancelIterations(
    _ scheduler: some SchedulerType, give: @Sendable () -> Void, _ next: @escaping @Sendable () async throws -> Void
  ) async {
    for round in 0..<Scale.count(1_000) {
      let task = Task {
        try? await withTaskCancellationHandler {
          try await next()
        } onCancel: {
          Self.use(scheduler)
        }
      }
      if round % 3 != 0 { await Task.yield() }
      give()
      task.cancel()
      await task.value
    }
  }

  @Test("a cancellation handler may wait for the loop whose signal its task waits for") func signals() async throws {
    let thread = try ThreadScheduler(name: "signals")
    await cancelIterations(thread) {
      kill(getpid(), OwnSignal.waits)
    } _: {
      for try await _ in thread.signals(OwnSignal.waits) { break }
    }
    await thread.stopAndJoin()
  }

  @Test("a cancellation handler may wait for the queue that merges its task's awaited event") func merging() async {
    let queue = SerialScheduler(name: "merging"), event = Protected<MergingEvent?>(nil)
    await cancelIterations(queue) {
      queue.schedule { event.read()?.merge(1) }
    } _: {
      let (present, values) = MergingEvent.sequence(.sum)
      event.write(present)
      for await _ in values { break }
    }
    event.write(nil)
  }

  @Test("a cancellation handler may wait for the queue in whose action the last one leaves a group") func leaving()
    async
  {
    let queue = SerialScheduler(name: "leaving")
    for _ in 0..<Scale.count(1_000) {
      let group = ActionGroup()
      group.enter()
      let task = Task {
        try? await withTaskCancellationHandler {
          try await group.waitForAll()
        } onCancel: {
          queue.sync {}
        }
      }
      await Task.yield()
      queue.schedule { group.leave() }
      task.cancel()
      await task.value
      synchronously { queue.sync {} }
    }
  }

  @Test("waits that are cancelled leave nothing") func leftovers() async {
    await #expect(processExitsWith: .success) {
      ctest_keep_no_thrown_errors()
      let group = ActionGroup(), results = ResultGroup<Int>(), door = ActionGroup(entered: 1), clock = TestScheduler()
      let thread = try! ThreadScheduler(name: "leftovers"), ends = Ends()
      results.schedule(on: ConcurrentScheduler()) {
        door.wait()
        return 1
      }
      group.enter()
      let waits: [(name: String, wait: @Sendable () async throws -> Void)] = [
        ("waitForAll", { try await group.waitForAll() }), ("ResultGroup.next", { _ = await results.next() }),
        ("sleep in virtual time", { try await clock.sleep(for: .seconds(1)) }),
        ("sleep", { try await thread.sleep(for: .seconds(3_600)) }),
        ("awaitSleepers", { await clock.awaitSleepers(count: 2) }),
        ("ticks", { for try await _ in clock.ticks(every: .seconds(1)) {} }),
        ("readable", { for try await _ in thread.readable(ends.reading) {} }),
        (
          "MergedValues",
          {
            let (_, values) = MergingEvent.sequence(.sum)
            for await _ in values {}
          }
        ),
        ("perform", { try await thread.perform {} }),
      ]
      for (name, wait) in waits {
        func cancelled(_ count: Int) async {
          for _ in 0..<count {
            let task = Task { try? await wait() }
            await Task.yield()
            task.cancel()
            await task.value
          }
        }
        await cancelled(1_000)
        // A leak grows each time; memory that the allocators keep does not.
        var growths: [Int] = []
        for _ in 0..<5 {
          let before = ctest_bytes_in_use()
          await cancelled(Scale.count(4_000))
          try! await thread.perform {}  // behind the cancelled entries
          growths.append(Int(ctest_bytes_in_use()) - Int(before))
        }
        // An entry of 16 bytes for each is more.
        if growths.min()! > 16 * Scale.count(4_000) { fatalError("\(name) has left \(growths) bytes") }
      }
      door.leave()
      group.leave()
      await thread.stopAndJoin()
    }
  }
}
