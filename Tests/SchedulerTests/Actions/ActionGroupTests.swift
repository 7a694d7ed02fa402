import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct ActionGroupTests {
  // GM1, GM3
  @Test("a group is empty when all of its actions have run, on whichever scheduler", arguments: SchedulerUnderTest.all)
  func all(_ kind: SchedulerUnderTest) throws {
    let scheduler = try kind.make(), group = ActionGroup(), runs = Counter()
    for _ in 0..<50 { group.schedule(on: scheduler) { runs.increment() } }
    #expect(synchronously { group.wait(for: .seconds(60)) })
    #expect(runs.value == 50)
    #expect(group.isIdle)
  }

  @Test("the captures of a group's actions are released when it is empty", arguments: SchedulerUnderTest.all)  // GM3
  func captures(_ kind: SchedulerUnderTest) throws {
    let scheduler = try kind.make(), group = ActionGroup(), ends = Counter()
    let grouped = group.scheduler(on: scheduler)
    func submit() {
      let witness = Witness(ends), other = Witness(ends), state = Witness(ends)
      group.schedule(on: scheduler) { witness.touch() }
      grouped.schedule(state) { state in
        state.touch()
        other.touch()
        return Disposables.create()
      }
    }
    for round in 1...Scale.count(100) {
      submit()
      #expect(synchronously { group.wait(for: .seconds(60)) })
      #expect(ends.value == 3 * round)
    }
  }

  // GM2
  @Test("a cancel of a group beside another one returns after the group is cancelled") func cancelledByMany() {
    for _ in 0..<Scale.count(50) {
      let group = ActionGroup(), queue = SerialScheduler(), runs = Counter()
      queue.suspend()
      for _ in 0..<50 { group.schedule(on: queue) { runs.increment() } }
      let isResumed = Protected(false)
      onThreads(3) { _ in
        group.cancelAll()
        if !isResumed.exchange(true) { queue.resume() }  // the first to return
      }
      queue.drain()
      #expect(runs.value == 0 && group.isIdle)
    }
  }

  @Test("a wait for a group gives up, and the group continues") func timed() {
    let group = ActionGroup(), open = Gate(), scheduler = ConcurrentScheduler()
    group.schedule(on: scheduler) { open.wait() }
    #expect(synchronously { !group.wait(for: .milliseconds(5)) && !group.wait(for: .zero) })
    #expect(group.pendingCount == 1)
    open.open()
    #expect(synchronously { group.wait(for: .seconds(60)) })
  }

  @Test("observers are notified once, when all have left") func notified() {
    let group = ActionGroup(), log = Log<Int>(), queue = SerialScheduler(), isNotified = Gate()
    group.enter()
    for n in 0..<3 { group.notify(on: queue) { log.add(n) } }
    group.schedule(on: queue) { log.add(-1) }
    queue.drain()
    #expect(log.entries == [-1])
    group.leave()
    group.notify(on: queue) { isNotified.open() }
    #expect(synchronously { isNotified.wait() })
    #expect(log.entries == [-1, 0, 1, 2])
  }

  // GM1, GM2, GM3
  @Test("all that has not begun is cancelled, and leaves the group") func cancelled() {
    let group = ActionGroup(), queue = SerialScheduler(), runs = Counter(), ends = Counter()
    queue.suspend()
    for _ in 0..<20 {
      let witness = Witness(ends)
      group.schedule(on: queue) {
        witness.touch()
        runs.increment()
      }
    }
    group.cancelAll()
    #expect(group.isIdle && ends.value == 20)
    group.schedule(on: queue) { runs.increment() }
    queue.resume()
    #expect(synchronously { group.wait(for: .seconds(60)) })
    #expect(runs.value == 1)
  }

  @Test("actions that a cancelled action's captures schedule in the group are not cancelled with it")
  func cancelledAnew() {
    let group = ActionGroup(), queue = SerialScheduler(), runs = Counter()
    queue.suspend()
    func submit() {
      let notice = DeathNotice { group.schedule(on: queue) { runs.increment() } }
      group.schedule(on: queue) { withExtendedLifetime(notice) {} }
    }
    for _ in 0..<3 { submit() }
    group.cancelAll()
    #expect(group.pendingCount == 3)
    queue.resume()
    #expect(synchronously { group.wait(for: .seconds(60)) })
    #expect(runs.value == 3)
  }

  @Test("to cancel a group whose actions have all ended does nothing", arguments: SchedulerUnderTest.all)
  func cancelledLate(_ kind: SchedulerUnderTest) throws {
    let scheduler = try kind.make(), group = ActionGroup(), runs = Counter()
    for _ in 0..<20 { group.schedule(on: scheduler) { runs.increment() } }
    #expect(synchronously { group.wait(for: .seconds(60)) })
    group.cancelAll()
    #expect(runs.value == 20 && group.isIdle)
  }

  // GM3
  @Test(
    "an action's captures are released before its end is reported, also when it never begins",
    arguments: Ending.allCases)
  func capturesAtTheNotice(_ ending: Ending) throws {
    let group = ActionGroup(), thread = try ThreadScheduler(name: "never")
    let ends = Counter(), found = Log<Int>()
    let leave = block(thread)
    func submit() -> any Disposable {
      let witness = Witness(ends)
      return group.schedule(on: thread) { witness.touch() }
    }
    let token = submit()
    group.notify(on: ImmediateScheduler.instance) { found.add(ends.value) }
    switch ending {
    case .disposed: token.dispose()
    case .cancelled: group.cancelAll()
    case .dropped: thread.stop(.dropOutstanding)
    case .run: break
    }
    leave.open()
    #expect(synchronously { group.wait(for: .seconds(60)) })
    #expect(eventually { !found.entries.isEmpty })
    #expect(found.entries == [1])
    thread.stop()
    synchronously { thread.join() }
  }

  /// How an action of a group ends.
  enum Ending: CaseIterable { case disposed, cancelled, dropped, run }

  @Test("an action that a stopped scheduler drops leaves the group") func dropped() throws {
    let group = ActionGroup(), thread = try ThreadScheduler()
    thread.stop()
    synchronously { thread.join() }
    group.schedule(on: thread) {}
    #expect(group.isIdle)
  }

  @Test("a task waits for a group, and stops waiting when it is cancelled") func tasks() async throws {
    let group = ActionGroup(), scheduler = ConcurrentScheduler(), runs = Counter()
    try await group.waitForAll()
    for _ in 0..<100 { group.schedule(on: scheduler) { runs.increment() } }
    try await group.waitForAll()
    #expect(runs.value == 100)
    group.enter()
    let task = Task { try await group.waitForAll() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    group.leave()
  }

  @Test("actions of a group's scheduler are counted, waited for and cancelled") func scheduler() {
    let group = ActionGroup(), queue = SerialScheduler(), runs = Counter(), ends = Counter()
    let scheduler = group.scheduler(on: queue)
    queue.suspend()
    scheduler.schedule { runs.increment() }
    scheduler.schedule(2) { _ in Disposables.create() }
    let witness = Witness(ends)
    let periodic = scheduler.schedule(.every(.milliseconds(1), after: .milliseconds(1))) { witness.touch() }
    scheduler.schedule(after: .seconds(3_600)) { runs.increment() }
    scheduler.schedule(.at(wall: WallTime.now.advanced(by: .seconds(3_600)))) { runs.increment() }
    #expect(group.pendingCount == 5 && !group.isIdle)
    #expect(synchronously { !group.wait(for: .milliseconds(2)) })
    periodic.dispose()
    #expect(group.pendingCount == 4)
    group.cancelAll()
    #expect(group.isIdle)
    queue.resume()
    scheduler.schedule { runs.increment() }
    #expect(synchronously { group.wait(for: .seconds(60)) })
    #expect(runs.value == 1)
  }

  @Test("the group counts, waits for and cancels actions on its scheduler") func forwarded() {
    let queue = SerialScheduler(), group = ActionGroup(), scheduler = group.scheduler(on: queue), runs = Counter()
    #expect(group.isIdle && group.pendingCount == 0 && synchronously { group.wait(for: .zero) })
    queue.suspend()
    for _ in 0..<3 { scheduler.schedule { runs.increment() } }
    scheduler.schedule(after: .seconds(3_600)) { runs.increment() }
    queue.schedule { runs.increment() }  // not its own
    #expect(!group.isIdle && group.pendingCount == 4)
    #expect(synchronously { !group.wait(for: .milliseconds(2)) && !group.wait(for: .seconds(-1)) })
    group.cancelAll()
    #expect(group.isIdle && synchronously { group.wait(for: .zero) })
    scheduler.schedule {
      runs.increment()
      scheduler.schedule { runs.increment() }
    }
    queue.resume()
    #expect(synchronously { group.wait(for: .seconds(60)) })
    #expect(runs.value == 3 && group.isIdle)
  }

  @Test("a recursion is in its group until no step follows") func recursion() {
    let group = ActionGroup(), steps = Counter()
    group.scheduler(on: ConcurrentScheduler()).scheduleRecursive(0) { (n: Int, next: (Int) -> Void) in
      steps.increment()
      if n < 99 { next(n + 1) }
    }
    #expect(synchronously { group.wait(for: .seconds(60)) })
    #expect(steps.value == 100)
  }

  @Test("a leave without an enter stops the process, and so does a group that is released in use") func misuse() async {
    var result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      ActionGroup().leave()
    }
    expectMessage(result, "ActionGroup.leave, csched_group_leave", "Leave once for each enter")
    result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ActionGroup().enter() }
    expectMessage(result, "deinit of ActionGroup, csched_group_destroy", "has 1 inside")
  }
}
