import CTestSupport
import Foundation
import Scheduler
import SchedulerRx
import SchedulerTesting
import TestSupport
import Testing

/// Guarantee 13: each dropped action is reported, exactly once; one that runs or is disposed is not.
@Suite(.serialized, .nothingIsLeft) struct DropContractTests {
  /// The reported drops on one scheduler.
  private final class Reports: Sendable {
    private let log: Log<SchedulerError>
    let token: any Disposable

    init(of scheduler: any AnyObject & Sendable) {
      let log = Log<SchedulerError>()
      self.log = log
      token = Schedulers.onDrop { found, reason in if found === scheduler { log.add(reason) } }
    }

    deinit { token.dispose() }

    var reasons: [SchedulerError] { log.entries }
  }

  /// Schedules one action of each kind, none of which ever runs.
  private func scheduleAll(_ scheduler: any SchedulerType, _ ran: Counter) -> Int {
    scheduler.schedule { ran.increment() }
    scheduler.schedule(0) { _ in
      ran.increment()
      return Disposables.create()
    }
    scheduler.schedule(after: .seconds(3_600)) { ran.increment() }
    scheduler.schedule(0, after: .seconds(3_600)) { _ in
      ran.increment()
      return Disposables.create()
    }
    scheduler.schedule(.every(.seconds(3_600))) { ran.increment() }
    scheduler.scheduleRecursive { _ in ran.increment() }
    return 6
  }

  @Test("each drop is reported once, with its scheduler and the reason", arguments: [false, true])  // DR1
  func each(isQueue: Bool) throws {
    let thread = try ThreadScheduler(name: "drops"), ran = Counter()
    let scheduler: any SchedulerType & AnyObject = isQueue ? SerialScheduler(target: thread) : thread
    let reports = Reports(of: scheduler), leave = block(thread)
    let count = scheduleAll(scheduler, ran)
    #expect(reports.reasons.isEmpty)
    thread.stop(.dropOutstanding)
    leave.open()
    thread.join()
    #expect(eventually { reports.reasons.count == count })
    #expect(reports.reasons.allSatisfy { $0 == .stopped })
    let refused = scheduleAll(scheduler, ran)
    #expect(reports.reasons.count == count + refused)
    #expect(reports.reasons.dropFirst(count).allSatisfy { $0 == .refused })
    #expect(ran.value == 0)
  }

  @Test("an action that runs or is disposed is not dropped", arguments: SchedulerUnderTest.all) func neither(
    _ test: SchedulerUnderTest
  ) throws {
    let (scheduler, current) = try test.makeBoth(), reports = Reports(of: current), ran = Counter()
    let handled = Counter(), alone = Counter()
    scheduler.schedule {
      ran.increment()
    } onDrop: { _ in
      handled.increment()
    }
    scheduler.schedule(after: .milliseconds(1), { ran.increment() }, onDrop: { _ in handled.increment() })
    #expect(eventually { ran.value == 2 })
    if !test.delaysItsCaller {
      let waiting = [
        scheduler.schedule(after: .seconds(3_600)) {},
        scheduler.schedule(after: .seconds(3_600), { alone.increment() }, onDrop: { _ in handled.increment() }),
        scheduler.schedule(.every(.seconds(1), after: .seconds(3_600))) {},
      ]
      for token in waiting {
        token.dispose()
        #expect(token.isDisposed)
      }
    }
    #expect(handled.value == 0 && alone.value == 0 && reports.reasons.isEmpty)
  }

  /// Each way in which a scheduler of a kind drops its waiting actions.
  private static let drops: [(name: String, drop: @Sendable (_ schedule: (any SchedulerType) -> Void) throws -> Void)] =
    [
      (
        "ThreadScheduler",
        { schedule in
          let thread = try ThreadScheduler(), leave = Gate()
          thread.schedule { leave.wait() }
          schedule(thread)
          thread.stop(.dropOutstanding)
          leave.open()
          thread.join()
        }
      ),
      (
        "SerialScheduler in wrappers",
        { schedule in
          let thread = try ThreadScheduler(), leave = Gate(), queue = SerialScheduler(target: thread)
          thread.schedule { leave.wait() }
          schedule(ActionGroup().scheduler(on: RecordingScheduler(queue)).wrapping { $0() })
          thread.stop(.dropOutstanding)
          leave.open()
          thread.join()
        }
      ),
      (
        "another module's",
        { schedule in
          let thread = try ThreadScheduler(), leave = Gate()
          thread.schedule { leave.wait() }
          schedule(Foreign(base: thread))
          thread.stop(.dropOutstanding)
          leave.open()
          thread.join()
        }
      ),
      ("VirtualTimeScheduler", { schedule in schedule(TestScheduler()) }),
      ("a queue in virtual time", { schedule in schedule(SerialScheduler(target: TestScheduler())) }),
      (
        "CustomScheduler",
        { schedule in
          let held = Protected<[@Sendable () -> Void]>([])
          schedule(CustomScheduler { work in held.append(work) })
          held.write([])
        }
      ),
    ]

  @Test(
    "a drop is reported exactly once to the action's own handler, which finds it disposed", arguments: drops.indices)
  func once(index: Int) throws {
    let handled = Log<SchedulerError>(), ran = Counter(), ends = Counter(), token = Protected<(any Disposable)?>(nil)
    do {
      let witness = Protected<Witness?>(Witness(ends))
      try Self.drops[index].drop { scheduler in
        token.write(
          scheduler.schedule { [witness = witness.exchange(nil)] in
            witness?.touch()
            ran.increment()
          } onDrop: { reason in
            handled.add(reason)
            #expect(token.read()?.isDisposed == true)
          })
      }
    }
    #expect(eventually { !handled.entries.isEmpty })
    #expect(handled.entries == [.stopped] && ran.value == 0 && ends.value == 1)
  }

  @Test("a refused action is reported to its handler before schedule returns; trySchedule's to no other") func refused()
    throws
  {
    let thread = try ThreadScheduler(), reports = Reports(of: thread), handled = Log<SchedulerError>()
    thread.stop()
    thread.join()
    #expect(throws: SchedulerError.stopped) { try thread.trySchedule {} }
    #expect(reports.reasons.isEmpty)
    let token = thread.schedule {
    } onDrop: {
      handled.add($0)
    }
    #expect(handled.entries == [.refused] && token.isDisposed)
    #expect(reports.reasons == [.refused])
  }

  // In a process of its own, which ends without a look for leaks: objects of a thread's Swift frames are lost when it
  // ends inside them.
  @Test("a thread that ends inside of a trampolined action drops the waiting ones, and reports them") func trampoline()
    async
  {
    await #expect(processExitsWith: .success) {
      let handled = Log<SchedulerError>(), seen = Log<Bool>(), done = Gate()
      let reports = Schedulers.onDrop { scheduler, _ in seen.add(scheduler === CurrentThreadScheduler.instance) }
      Thread.detachNewThread {
        CurrentThreadScheduler.instance.schedule {
          CurrentThreadScheduler.instance.schedule {
          } onDrop: { reason in
            handled.add(reason)
            done.open()
          }
          ctest_end_thread()
        }
      }
      precondition(done.wait(), "the drop is not reported")
      precondition(eventually { seen.entries == [true] }, "the drop is not reported for this scheduler, once")
      precondition(
        handled.entries == [.stopped] && !reports.isDisposed, "the drop is reported otherwise, or more than once")
      _exit(0)
    }
  }

  @Test("a shutdown reports each action that it drops, and each refused afterwards, once") func shutdown() async {
    await #expect(processExitsWith: .success) {
      onMainThread {
        let handled = Log<SchedulerError>(), reports = Log<SchedulerError>(), ran = Counter()
        let token = Schedulers.onDrop { _, reason in reports.add(reason) }
        let queue = SerialScheduler(), main = MainScheduler.asyncInstance
        let all: [any SchedulerType] = [
          queue, ConcurrentScheduler(), main, main.wrapping { $0() }, CustomScheduler { $0() },
        ]
        let leave = block(queue)
        for each in all { each.schedule(after: .seconds(60), {}, onDrop: { handled.add($0) }) }
        for each in [queue, main] { each.schedule({ ran.increment() }, onDrop: { handled.add($0) }) }
        Thread.detachNewThread {
          usleep(20_000)
          leave.open()
        }
        Schedulers.shutdown(.dropOutstanding)
        // The queue may run the actions of its batch.
        let count = handled.entries.count
        #expect(count + ran.value == 7 && ran.value <= 1)
        #expect(reports.entries.count == count && (handled.entries + reports.entries).allSatisfy { $0 == .stopped })
        for each in all.dropLast() { each.schedule({}, onDrop: { handled.add($0) }) }
        let refused = handled.entries.dropFirst(count) + reports.entries.dropFirst(count)
        #expect(refused.count == 8 && refused.allSatisfy { $0 == .refused })
        token.dispose()
      }
    }
  }

  @Test("an action that a drop's handler has refused is reported as refused, too") func refusedInside() throws {
    let thread = try ThreadScheduler(), handled = Log<SchedulerError>()
    thread.stop()
    thread.join()
    let reports = Reports(of: thread)
    thread.schedule({}, onDrop: { _ in thread.schedule({}, onDrop: { handled.add($0) }) })
    #expect(handled.entries == [.refused])
    #expect(reports.reasons == [.refused, .refused])
  }

  @Test("a handler that schedules does not recur, and the others get the drops that it causes") func recursion()
    throws
  {
    let thread = try ThreadScheduler(), calls = Counter()
    thread.stop()
    thread.join()
    let first = Schedulers.onDrop { scheduler, _ in
      guard scheduler === thread else { return }
      calls.increment()
      thread.schedule {}
    }
    thread.schedule {}
    #expect(calls.value == 1)
    let reports = Reports(of: thread)
    thread.schedule {}
    #expect(calls.value == 2 && reports.reasons.count == 2)
    first.dispose()
    thread.schedule {}
    #expect(calls.value == 2 && reports.reasons.count == 3 && first.isDisposed)
  }

  /// Stopped ones, each of which refuses all that comes.
  private static let stopped: [(name: String, make: @Sendable () throws -> any SchedulerType)] = [
    ("thread", { try thread() }), ("queue", { SerialScheduler(target: try thread()) }),
    ("queue on a queue", { SerialScheduler(target: SerialScheduler(target: try thread())) }),
    (
      "pool",
      {
        let pool = try WorkerPool(name: "drops", workers: 1), scheduler = pool.scheduler()
        pool.stop(.dropOutstanding)
        synchronously { pool.join() }
        return scheduler
      }
    ), ("a wrapper", { try thread().wrapping { $0() } }),
    ("a group", { ActionGroup().scheduler(on: try thread()) }),
    ("RecordingScheduler", { RecordingScheduler(try thread()) }),
  ]

  private static func thread() throws -> ThreadScheduler {
    let thread = try ThreadScheduler(name: "drops")
    thread.stop(.dropOutstanding)
    thread.join()
    return thread
  }

  /// The cause of a drop inside of a drop.
  enum Cause: CaseIterable { case handler, capture, delayed }

  @Test("drops inside of a drop take a constant stack", arguments: stopped.indices, Cause.allCases)
  func flat(_ index: Int, _ cause: Cause) throws {
    let scheduler = try Self.stopped[index].make(), count = Scale.count(250_000), drops = Counter()
    let again = Protected<(@Sendable () -> Void)?>(nil)
    let next: @Sendable () -> Void = { if drops.increment() < count { again.read()?() } }
    again.write {
      switch cause {
      case .handler: scheduler.schedule({}, onDrop: { _ in next() })
      case .capture: scheduler.schedule { [notice = DeathNotice { next() }] in withExtendedLifetime(notice) {} }
      case .delayed:
        scheduler.schedule(after: .seconds(1)) { [notice = DeathNotice { next() }] in withExtendedLifetime(notice) {} }
      }
    }
    withSmallStack { scheduler.schedule({}, onDrop: { _ in again.read()?() }) }
    #expect(drops.value == count)
    again.write(nil)
  }

  @Test("a handler is called outside of locks, may dispose itself and add others, and its captures go with it")
  func outside()
    throws
  {
    let thread = try ThreadScheduler(), ends = Counter(), calls = Counter(), own = SingleAssignmentDisposable()
    thread.stop()
    thread.join()
    let witness = Protected<Witness?>(Witness(ends))
    own.setDisposable(
      Schedulers.onDrop { [witness = witness.exchange(nil)] scheduler, _ in
        guard scheduler === thread else { return }
        witness?.touch()
        calls.increment()
        own.dispose()
        Schedulers.onDrop { _, _ in }.dispose()
      })
    onThreads(2) { _ in for _ in 0..<50 { thread.schedule {} } }
    // A thread that disposes second may continue before the first one's disposal has reached the handler.
    let count = calls.value
    thread.schedule {}
    #expect(count >= 1 && calls.value == count)
    #expect(eventually { ends.value == 1 })
  }

  // DR1
  @Test("a stop that races submissions reports each that does not run, once") func race() throws {
    for _ in 0..<Scale.count(30) {
      let thread = try ThreadScheduler(), reports = Reports(of: thread), ran = Counter(), own = Counter()
      let count = 100
      onThreads(3) { n in
        if n == 2 { return thread.stop(.dropOutstanding) }
        for _ in 0..<count {
          thread.schedule {
            ran.increment()
          } onDrop: { _ in
            own.increment()
          }
        }
      }
      thread.join()
      #expect(eventually { ran.value + own.value == 2 * count })
      #expect(eventually { reports.reasons.count == own.value })
    }
  }

  // In release builds nothing is printed.
  #if DEBUG
    private static let isDebug = true
  #else
    private static let isDebug = false
  #endif

  @Test("the first refusal of each scheduler is printed, once, in a debug build") func printed() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let thread = try ThreadScheduler(name: "printed"), queue = SerialScheduler(name: "above", target: thread)
      thread.stop()
      synchronously { thread.join() }
      for _ in 0..<3 {
        thread.schedule {}
        queue.schedule(after: .seconds(1)) {}
      }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    let lines = text.split(separator: "\n").filter { $0.hasPrefix("Scheduler: ") }
    guard Self.isDebug else { return #expect(lines.isEmpty) }
    #expect(lines.count == 2, "\(text)")
    #expect(lines.first?.hasPrefix("Scheduler: ThreadScheduler: \"printed\": an action was refused") == true)
    #expect(lines.last?.hasPrefix("Scheduler: SerialScheduler: \"above\": an action was refused") == true)
  }
}
