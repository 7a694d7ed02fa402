import Foundation
import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct ResultGroupTests {
  private struct Failed: Error {}

  @Test("each action gives one result, on whichever scheduler", arguments: SchedulerUnderTest.all)
  func all(_ kind: SchedulerUnderTest) throws {
    let scheduler = try kind.make(), group = ResultGroup<Int>()
    for n in 0..<50 { group.schedule(on: scheduler) { n } }
    var sum = 0, count = 0
    while let result = try synchronously({ try group.next(for: .seconds(60)) }) {
      sum += try result.get()
      count += 1
    }
    #expect(count == 50 && sum == 1_225)
    #expect(group.isEmpty && group.pendingCount == 0)
  }

  @Test("results have the order in which the actions end") func order() throws {
    let group = ResultGroup<Int>(), workers = ConcurrentScheduler(), gates = (0..<3).map { _ in Gate() }
    for n in 0..<3 {
      group.schedule(on: workers) {
        gates[n].wait()
        return n
      }
    }
    for n in [2, 0, 1] {
      gates[n].open()
      #expect(try synchronously { try group.next(for: .seconds(60)) }?.get() == n)
    }
    #expect(synchronously { group.next() } == nil)
  }

  @Test("an action's error is its result") func errors() async {
    let group = ResultGroup<Int>(), queue = SerialScheduler()
    group.schedule(on: queue) { throw Failed() }
    group.schedule(on: queue) { 1 }
    #expect(throws: Failed.self) { try synchronously { group.next() }!.get() }
    var rest: [Int] = []
    for await result in group { if let value = try? result.get() { rest.append(value) } }
    #expect(rest == [1])
  }

  @Test("a cancelled action gives a cancellation, a dropped one its reason, and one that runs its result")
  func cancelled()
    throws
  {
    let group = ResultGroup<Int>(), queue = SerialScheduler(), ends = Counter(), begun = Gate(), open = Gate()
    group.schedule(on: queue) {
      begun.open()
      open.wait()
      return 7
    }
    #expect(synchronously { begun.wait() })
    let single = group.schedule(on: queue) { 1 }
    for _ in 0..<20 {
      let witness = Witness(ends)
      group.schedule(on: queue) {
        witness.touch()
        return 2
      }
    }
    single.dispose()
    #expect(throws: CancellationError.self) { try synchronously { group.next() }!.get() }
    group.cancelAll()
    #expect(ends.value == 20 && group.pendingCount == 1)
    for _ in 0..<20 { #expect(throws: CancellationError.self) { try synchronously { group.next() }!.get() } }
    open.open()
    #expect(try synchronously { try group.next(for: .seconds(60)) }?.get() == 7)

    let thread = try ThreadScheduler()
    thread.stop()
    synchronously { thread.join() }
    group.schedule(on: thread) { 3 }
    #expect(throws: SchedulerError.stopped) { try synchronously { group.next() }!.get() }
    #expect(group.isEmpty)
  }

  @Test("a wait for a result gives up, and the result stays") func timed() throws {
    let group = ResultGroup<Int>(), open = Gate(), workers = ConcurrentScheduler()
    #expect(try synchronously { try group.next(for: .zero) } == nil)
    group.schedule(on: workers) {
      open.wait()
      return 1
    }
    #expect(throws: SchedulerError.timeout) { try synchronously { try group.next(for: .milliseconds(2)) } }
    #expect(throws: SchedulerError.timeout) { try synchronously { try group.next(until: .now) } }
    #expect(throws: SchedulerError.timeout) { try synchronously { try group.next(for: .seconds(-1)) } }
    open.open()
    #expect(try synchronously { try group.next(for: .seconds(60)) }?.get() == 1)
  }

  @Test("a task stops waiting when it is cancelled, and loses no result") func tasks() async throws {
    let group = ResultGroup<Int>(), open = Gate(), workers = ConcurrentScheduler()
    group.schedule(on: workers) {
      open.wait()
      return 1
    }
    let first = Task { await group.next() }, second = Task { await group.next() }
    first.cancel()
    #expect(await first.value == nil)
    open.open()
    #expect(try await second.value?.get() == 1)
    #expect(await group.next() == nil)
    let late = Task {
      while !Task.isCancelled { await Task.yield() }
      return await group.next()
    }
    group.schedule(on: workers) { 2 }
    late.cancel()
    let taken = await [late.value, group.next()].compactMap { try? $0?.get() }
    #expect(taken == [2])
  }

  @Test("of several tasks that wait for the last result one gets it, and the others nothing") func waitingTasks()
    async throws
  {
    let group = ResultGroup<Int>(), open = Gate(), thread = try ThreadScheduler(name: "waiting tasks")
    group.schedule(on: ConcurrentScheduler()) {
      open.wait()
      return 7
    }
    let tasks = (0..<3).map { _ in Task(executorPreference: thread) { try await group.next()?.get() } }
    await Task(executorPreference: thread) {}.value  // each waits by then
    open.open()
    var found: [Int?] = []
    for task in tasks { found.append(try await task.value) }
    #expect(found.compactMap { $0 } == [7])
    await thread.stopAndJoin()
  }

  @Test("threads and tasks that take results get each of them once") func takers() async {
    let group = ResultGroup<Int>(), workers = ConcurrentScheduler(), count = Scale.count(500), found = Log<Int>()
    let taking = ActionGroup(entered: 2)
    for n in 0..<count { group.schedule(on: workers) { n } }
    for _ in 0..<2 {
      Thread.detachNewThread {
        while let result = group.next() { if let value = try? result.get() { found.add(value) } }
        taking.leave()
      }
    }
    await withTaskGroup(of: Void.self) { tasks in
      for n in 0..<4 {
        tasks.addTask {
          for await result in group { if let value = try? result.get() { found.add(value) } }
        }
        tasks.addTask {
          for more in 0..<count { group.schedule(on: workers) { count * (n + 1) + more } }
          for await result in group { if let value = try? result.get() { found.add(value) } }
        }
      }
    }
    #expect(synchronously { taking.wait(for: .seconds(60)) })
    while let result = await group.next() { if let value = try? result.get() { found.add(value) } }
    #expect(found.entries.sorted() == Array(0..<5 * count))
  }

  @Test("results that no caller has received are released with the group") func notReceived() {
    final class Value: Sendable {}
    nonisolated(unsafe) weak var value: Value?
    do {
      let group = ResultGroup<Value>()
      group.schedule(on: ImmediateScheduler.instance) {
        let made = Value()
        value = made
        return made
      }
      #expect(value != nil && !group.isEmpty)
    }
    #expect(value == nil)
  }

  @Test("a released group cancels nothing") func release() {
    let ran = Gate()
    ResultGroup<Void>().schedule(on: ConcurrentScheduler()) { ran.open() }
    #expect(synchronously { ran.wait() })
  }
}
