import Foundation
import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct GroupCancellationTests {
  static let delaying = SchedulerUnderTest.all.filter { !$0.delaysItsCaller && !$0.isVirtual }

  // GM5
  @Test("a cancel of a group is no drop", arguments: delaying) func noDrop(_ kind: SchedulerUnderTest) throws {
    let group = ActionGroup(), scheduler = group.scheduler(on: try kind.make()), drops = Log<SchedulerError>()
    let token = scheduler.schedule(after: .seconds(3_600)) {
    } onDrop: {
      drops.add($0)
    }
    scheduler.schedule(after: .seconds(3_600)) { _ in }
    group.cancelAll()
    #expect(group.isIdle && token.isDisposed)
    #expect(drops.entries == [])
  }

  // GM1, GM5
  @Test("a cancel of a group beside submissions is no drop") func besideSubmissions() {
    let group = ActionGroup(), other = ActionGroup(), queue = SerialScheduler(), drops = Counter(), runs = Counter()
    let isOver = Protected(false), scheduler = other.scheduler(on: group.scheduler(on: queue))
    queue.suspend()
    let single = group.scheduler(on: queue)
    onThreads(2) { thread in
      guard thread == 0 else {
        while !isOver.read() {
          group.cancelAll()
          other.cancelAll()
        }
        return
      }
      for n in 0..<Scale.count(20_000) {
        (n % 4 == 0 ? scheduler : single).schedule {
          runs.increment()
        } onDrop: { _ in
          drops.increment()
        }
      }
      isOver.write(true)
    }
    group.cancelAll()
    queue.resume()
    #expect(synchronously { group.wait(for: .seconds(60)) })
    #expect(runs.value == 0 && drops.value == 0)
  }

  @Test("a drop is a drop, also in a group that was cancelled before") func dropped() throws {
    let group = ActionGroup(), thread = try ThreadScheduler(), drops = Log<SchedulerError>()
    group.scheduler(on: thread).schedule(after: .seconds(3_600)) {
    } onDrop: {
      drops.add($0)
    }
    group.cancelAll()
    let notice = Protected<DeathNotice?>(nil)
    group.scheduler(on: thread).schedule(after: .seconds(3_600)) {
    } onDrop: {
      drops.add($0)
    }
    thread.stop(.dropOutstanding)
    synchronously { thread.join() }
    #expect(drops.entries == [.stopped])
    // A capture's submission when a cancel releases its action is refused, not cancelled.
    let queue = SerialScheduler(), refused = group.scheduler(on: thread)
    queue.suspend()
    notice.write(
      DeathNotice {
        refused.schedule {
        } onDrop: {
          drops.add($0)
        }
      })
    func submit() {
      let last = notice.exchange(nil)
      group.schedule(on: queue) { withExtendedLifetime(last) {} }
    }
    submit()
    group.cancelAll()
    queue.resume()
    #expect(drops.entries == [.stopped, .refused])
  }

  @Test("a task's wait for a cancelled group throws a CancellationError", arguments: Awaited.allCases)  // GM5
  func awaited(_ awaited: Awaited) async throws {
    let queue = SerialScheduler(), group = ActionGroup(), scheduler = group.scheduler(on: queue)
    queue.suspend()
    let task = Task {
      let far = MonotonicTime.now.advanced(by: .seconds(3_600))
      switch awaited {
      case .sleep: try await scheduler.sleep(until: far)
      case .clock: try await Task.sleep(until: far, clock: scheduler.clock)
      case .perform: try await scheduler.perform {}
      case .performBefore: try await scheduler.perform(deadline: .now + .seconds(3_600)) {}
      case .ticks: for try await _ in scheduler.ticks(every: .seconds(3_600)) {}
      }
    }
    // A member is counted before its submission has returned, and cancelled after that only. No wait of a thread: all
    // cases may run at a time.
    while group.pendingCount != 1 { try await Task.sleep(for: .milliseconds(1)) }
    while group.pendingCount != 0 {
      group.cancelAll()
      try await Task.sleep(for: .milliseconds(1))
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(!task.isCancelled)
    queue.resume()
    try await scheduler.perform {}  // the group continues
  }

  enum Awaited: CaseIterable { case sleep, clock, perform, performBefore, ticks }

  @Test("a cancel of a group reaches the contexts of running members", arguments: SchedulerUnderTest.queued)  // GM6
  func contexts(_ kind: SchedulerUnderTest) throws {
    let group = ActionGroup(), scheduler = group.scheduler(on: try kind.make()), queue = SerialScheduler()
    let begun = Gate(), cancelled = Gate(), log = Log<String>(), children = Counter()
    queue.suspend()
    scheduler.schedule { context in
      context.onDispose { log.add("handler") }
      context.schedule(on: queue) { _ in children.increment() }
      begun.open()
      cancelled.wait()
      log.add(context.isCancelled ? "cancelled" : "not cancelled")
    }
    begun.wait()
    group.cancelAll()
    #expect(log.entries == ["handler"])
    cancelled.open()
    #expect(synchronously { group.wait(for: .seconds(60)) })
    queue.resume()
    queue.drain()
    #expect(log.entries == ["handler", "cancelled"] && children.value == 0)
    // The group continues: the next member is not cancelled.
    scheduler.schedule { context in log.add(context.isCancelled ? "again" : "new") }
    #expect(synchronously { group.wait(for: .seconds(60)) })
    #expect(log.entries.last == "new")
  }

  // GM6
  @Test("a cancel of a group reaches the context of a tick, and ends the ticks", arguments: SchedulerUnderTest.queued)
  func tick(_ kind: SchedulerUnderTest) throws {
    let group = ActionGroup(), outer = ActionGroup(), queue = SerialScheduler()
    let scheduler = outer.scheduler(on: group.scheduler(on: try kind.make()))
    let begun = Gate(), cancelled = Gate(), log = Log<String>(), children = Counter(), ticks = Counter()
    queue.suspend()
    scheduler.schedule(.every(.microseconds(10), after: .zero)) { context in
      context.onDispose { log.add("handler") }
      context.schedule(on: queue) { _ in children.increment() }
      guard ticks.increment() == 2 else { return }
      begun.open()
      cancelled.wait()
      log.add(context.isCancelled ? "cancelled" : "not cancelled")
    }
    begun.wait()
    group.cancelAll()
    #expect(log.entries == ["handler"])
    cancelled.open()
    #expect(synchronously { group.wait(for: .seconds(60)) && outer.wait(for: .seconds(60)) })
    queue.resume()
    queue.drain()
    #expect(log.entries == ["handler", "cancelled"] && children.value == 0 && ticks.value == 2)
  }

  @Test("a cancel of a group between ticks cancels the actions that the ticks have scheduled") func betweenTicks() {
    let group = ActionGroup(), queue = SerialScheduler(), clock = TestScheduler(), children = Counter(),
      ticks = Counter()
    queue.suspend()
    let kept = Protected<ActionContext?>(nil)
    group.scheduler(on: clock).schedule(.every(.seconds(1))) { context in
      ticks.increment()
      context.schedule(on: queue) { _ in children.increment() }
      kept.write(context)
    }
    clock.advance(by: .milliseconds(2_500))
    #expect(ticks.value == 2)
    group.cancelAll()
    #expect(kept.read()!.isCancelled)
    kept.read()!.schedule(on: queue) { _ in children.increment() }
    clock.advance(by: .seconds(10))
    queue.resume()
    queue.drain()
    #expect(ticks.value == 2 && children.value == 0 && group.isIdle)
  }

  @Test("a cancel of each of two groups reaches the context of a member of both", arguments: [0, 1])
  func contextOfTwo(_ cancels: Int) {
    let groups = [ActionGroup(), ActionGroup()], begun = Gate(), result = Protected<Bool?>(nil), cancelled = Gate()
    let scheduler = groups[1].scheduler(on: groups[0].scheduler(on: ConcurrentScheduler()))
    scheduler.schedule { context in
      begun.open()
      cancelled.wait()
      result.write(context.isCancelled)
    }
    begun.wait()
    groups[cancels].cancelAll()
    cancelled.open()
    #expect(synchronously { groups[0].wait(for: .seconds(60)) && groups[1].wait(for: .seconds(60)) })
    #expect(result.read() == true)
  }

  @Test("a cancel of a group beside the start of members cancels their contexts, or they do not begin") func beside() {
    let pool = ConcurrentScheduler(), begins = Counter(), seen = Counter()
    for _ in 0..<Scale.count(2_000) {
      let group = ActionGroup(), isCancelled = Protected(false)
      group.scheduler(on: pool).schedule { context in
        begins.increment()
        while !isCancelled.read() {}
        if context.isCancelled { seen.increment() }
      }
      group.cancelAll()
      isCancelled.write(true)
      synchronously { group.wait() }
    }
    #expect(seen.value == begins.value)
  }

  @Test("an action with a context that runs inside of a member's wait is not cancelled with the group") func helped() {
    let group = ActionGroup(), queue = SerialScheduler(), result = Protected<Bool?>(nil)
    let begun = Gate(), cancelled = Gate(), isResumed = Gate()
    queue.suspend()
    queue.schedule { context in
      begun.open()
      cancelled.wait()
      result.write(context.isCancelled)
    }
    group.schedule(on: ConcurrentScheduler()) {
      isResumed.open()
      queue.sync {}  // may run the action above on this thread
    }
    isResumed.wait()
    usleep(2_000)
    queue.resume()
    begun.wait()
    group.cancelAll()
    cancelled.open()
    #expect(synchronously { group.wait(for: .seconds(60)) })
    #expect(result.read() == false)
  }
}
