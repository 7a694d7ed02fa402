import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

private struct Failed: Error, Equatable { let number: Int }

/// What async functions call: they return, throw, or end with their task.
@Suite(.nothingIsLeft) struct AsyncSchedulingTests {
  @Test(
    "perform returns its body's value, and throws its error, on every scheduler",
    arguments: SchedulerUnderTest.all)
  func perform(_ test: SchedulerUnderTest) async throws {
    let (scheduler, current) = try test.makeBoth()
    for n in 0..<20 {
      let (value, isCurrent) = try await scheduler.perform { (n, Schedulers.current === current) }
      #expect(value == n && isCurrent)
      await #expect(throws: Failed(number: n)) { try await scheduler.perform { throw Failed(number: n) } }
    }
  }

  @Test(
    "the captures and the result of a perform need not be Sendable, and no other reference to them is left",
    arguments: SchedulerUnderTest.all)
  func sent(_ test: SchedulerUnderTest) async throws {
    final class Page { var words: [String] = [] }
    let scheduler = try test.make()
    for _ in 0..<Scale.count(100) {
      let draft = Page()
      var page = try await scheduler.perform {
        draft.words.append("sent")
        let page = Page()
        page.words = draft.words
        return page
      }
      #expect(isKnownUniquelyReferenced(&page))
      page.words.append("and back")
      #expect(page.words == ["sent", "and back"])
    }
    @Sendable func two() -> Int { 2 }
    let function: @Sendable () -> Int = two
    #expect(try await scheduler.perform(function) == 2)
  }

  @Test(
    "the captures of a perform are released on the thread that ran it, before the task continues",
    arguments: SchedulerUnderTest.all
  )
  func captures(_ test: SchedulerUnderTest) async throws {
    final class Probe {
      let ends: Protected<[UInt]>
      init(_ ends: Protected<[UInt]>) { self.ends = ends }
      deinit { ends.append(thisThread()) }
    }
    let scheduler = try test.make(), ends = Protected<[UInt]>([])
    for n in 1...Scale.count(100) {
      let ran = try await scheduler.perform { [probe = Probe(ends)] in
        withExtendedLifetime(probe) { thisThread() }
      }
      #expect(ends.read().count == n && ends.read().last == ran)
    }
  }

  @Test("a perform that is cancelled before its action begins ends at once, and the action never begins")
  func cancelledBefore() async throws {
    let thread = try ThreadScheduler(), hold = Gate(), ran = Counter(), witnessed = Counter()
    thread.schedule { hold.wait() }
    let task = Task { [witness = Witness(witnessed)] in
      try await thread.perform {
        witness.touch()
        ran.increment()
      }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    hold.open()
    await thread.stopAndJoin()
    #expect(ran.value == 0)
    #expect(eventually { witnessed.value == 1 })
  }

  @Test("one that is cancelled while its action runs waits for it, and gets its result")
  func cancelledDuring() async throws {
    let thread = try ThreadScheduler(), entered = Gate(), leave = Gate()
    let task = Task(executorPreference: ConcurrentScheduler()) {
      try await thread.perform {
        entered.open()
        leave.wait()
        return 7
      }
    }
    synchronously { #expect(entered.wait()) }
    task.cancel()
    leave.open()
    #expect(try await task.value == 7)
  }

  @Test(
    "a dropped perform throws its reason, before, under and after the stop",
    arguments: [Schedulers.StopPolicy.runOutstanding, .dropOutstanding])
  func dropped(_ policy: Schedulers.StopPolicy) async throws {
    let thread = try ThreadScheduler(), hold = Gate()
    let schedulers: [any SchedulerType] = [
      thread, SerialScheduler(target: thread), ActionGroup().scheduler(on: thread), thread.wrapping { $0() },
    ]
    thread.schedule { hold.wait() }
    // Started on the thread of a second scheduler, so that all have begun before the stop.
    let requested = Counter()
    let tasks = schedulers.map { scheduler in
      Task {
        requested.increment()
        return try await scheduler.perform { 1 }
      }
    }
    let early = try ThreadScheduler()
    let taken = Task(executorPreference: early) { try await thread.perform { 2 } }
    _ = await Task(executorPreference: early) {}.value
    thread.stop(policy)
    hold.open()
    if policy == .runOutstanding {
      #expect(try await taken.value == 2)
    } else {
      await #expect(throws: SchedulerError.stopped) { try await taken.value }
    }
    for task in tasks {
      do { #expect(try await task.value == 1) } catch { #expect(error as? SchedulerError == .stopped) }
    }
    for scheduler in schedulers {
      await #expect(throws: SchedulerError.stopped) { try await scheduler.perform {} }
      await #expect(throws: SchedulerError.stopped) { try await scheduler.sleep(for: .seconds(3_600)) }
    }
    await thread.stopAndJoin()
  }

  @Test("a cancel against a drop against a run: each perform ends once")
  func race() async throws {
    let ends = Counter(), count = Scale.count(300)
    for n in 0..<count {
      let thread = try ThreadScheduler()
      let task = Task { try await thread.perform { 1 } }
      let canceller = Task { task.cancel() }
      thread.stop(n % 2 == 0 ? .dropOutstanding : .runOutstanding)
      do { #expect(try await task.value == 1) } catch {
        #expect(error is CancellationError || error as? SchedulerError == .stopped)
      }
      ends.increment()
      await canceller.value
      await thread.stopAndJoin()
    }
    #expect(ends.value == count)
  }

  @Test("a sleep is never early, on every scheduler", arguments: SchedulerUnderTest.all)
  func sleep(_ test: SchedulerUnderTest) async throws {
    let scheduler = try test.make(), start = scheduler.now
    try await scheduler.sleep(for: .milliseconds(5))
    #expect(start.duration(to: scheduler.now) >= .milliseconds(5))
    let instant = scheduler.now.advanced(by: .milliseconds(5))
    try await scheduler.sleep(until: instant, tolerance: .milliseconds(1))
    #expect(scheduler.now >= instant)
    try await scheduler.sleep(for: .zero)
    try await scheduler.sleep(for: .seconds(Int64.min))
    try await scheduler.sleep(until: MonotonicTime(nanoseconds: 0))
  }

  @Test("a sleep ends with its task's cancellation, and with its scheduler")
  func endedSleeps() async throws {
    let thread = try ThreadScheduler(), begun = Counter()
    let task = Task(executorPreference: ConcurrentScheduler()) {
      begun.increment()
      try await thread.sleep(for: .seconds(3_600))
    }
    let other = Task(executorPreference: ConcurrentScheduler()) {
      begun.increment()
      try await thread.sleep(for: .seconds(3_600))
    }
    #expect(eventually { begun.value == 2 })
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    thread.stop()
    await #expect(throws: SchedulerError.stopped) { try await other.value }
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await thread.sleep(until: MonotonicTime(nanoseconds: 0))
    }
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    await thread.stopAndJoin()
  }

  @Test("a million sleeps are cancelled at once")
  func manySleeps() async {
    // In a process of its own, for its memory. In a debug build, and in short runs, there are fewer.
    await #expect(processExitsWith: .success) {
      #if DEBUG
        let count = Scale.count(50_000)
      #else
        let count = Scale.factor < 1 ? 50_000 : 1_000_000
      #endif
      let thread = try ThreadScheduler(), asleep = Counter()
      let task = Task {
        await withTaskGroup(of: Bool.self) { group in
          for _ in 0..<count {
            group.addTask {
              asleep.increment()
              do { try await thread.sleep(for: .seconds(3_600)) } catch { return error is CancellationError }
              return false
            }
          }
          return await group.allSatisfy { $0 }
        }
      }
      while asleep.value < count { try await Task.sleep(for: .milliseconds(1)) }
      try await thread.perform {}
      task.cancel()
      let wereAllCancelled = await task.value
      precondition(wereAllCancelled)
      await thread.stopAndJoin()
    }
  }

  @Test("the clock is the scheduler's, real or virtual", arguments: SchedulerUnderTest.all)
  func clock(_ test: SchedulerUnderTest) async throws {
    let scheduler = try test.make(), clock = scheduler.clock, start = clock.now
    #expect(clock.minimumResolution == .nanoseconds(1))
    try await Task.sleep(for: .milliseconds(2), tolerance: .milliseconds(1), clock: clock)
    #expect(start.duration(to: clock.now) >= .milliseconds(2))
    try await clock.sleep(until: start)
  }

  @Test("a virtual scheduler under a type that hides it counts its sleepers all the same")
  func hiddenVirtual() async throws {
    let scheduler = TestScheduler(), any: any SchedulerType = scheduler, hidden = scheduler.wrapping { $0() }
    let tasks = [
      Task { try await any.sleep(for: .seconds(10)) }, Task { try await hidden.sleep(for: .seconds(10)) },
      Task { try await Task.sleep(for: .seconds(10), clock: any.clock) },
      Task { try await scheduler.sleep(for: .seconds(10)) },
    ]
    await scheduler.awaitSleepers(count: 4)
    scheduler.advance(by: .seconds(10))
    for task in tasks { try await task.value }
  }

  @Test("ticks run at their instants, in virtual time and in real time")
  func ticks() async throws {
    let scheduler = TestScheduler(), seen = Log<MonotonicTime>()
    let task = Task {
      for try await tick in scheduler.ticks(every: .seconds(1)) {
        seen.add(tick)
        if seen.entries.count == 5 { break }
      }
    }
    for _ in 0..<5 {
      await scheduler.awaitSleepers(count: 1)
      scheduler.advance(by: .seconds(1))
    }
    try await task.value
    #expect(seen.entries == (1...5).map { MonotonicTime(nanoseconds: $0 * 1_000_000_000) })
    let thread = try ThreadScheduler(), start = MonotonicTime.now
    var count = 0
    for try await tick in thread.ticks(ActionTiming.every(.milliseconds(1), after: .zero)) {
      #expect(tick <= .now && tick >= start)
      count += 1
      if count == 10 { break }
    }
    #expect(start.duration(to: .now) >= .milliseconds(9))
  }

  /// Records each requested timing, and runs each action at once.
  private struct ImmediateRecorder: SchedulerType {
    let requested = Log<ActionTiming>()
    let now = MonotonicTime(nanoseconds: 1_000_000)

    func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
      action()
      return Disposables.create()
    }

    func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
      requested.add(timing)
      return schedule(action)
    }
  }

  @Test("a jitter makes each tick of a sequence later by a share of its own, and not in virtual time")
  func jitter() async throws {
    let immediate = ImmediateRecorder(), timing = ActionTiming.every(.milliseconds(10), jitter: .milliseconds(5))
    let due = immediate.now.advanced(by: .milliseconds(10))
    for _ in 0..<50 {
      for try await tick in immediate.ticks(timing) {
        #expect(tick == due)  // the grid stays where it is
        break
      }
    }
    let delays = immediate.requested.entries.map { $0.delay(from: due) }
    #expect(delays.count == 50 && delays.allSatisfy { $0 >= .zero && $0 <= .milliseconds(5) })
    #expect(Set(delays).count > 10)
    let clock = TestScheduler(), start = clock.now
    let task = Task {
      for try await _ in clock.ticks(timing) { return start.duration(to: clock.now) }
      return .zero
    }
    await clock.awaitSleepers()
    clock.advance(by: .milliseconds(10))
    #expect(try await task.value == .milliseconds(10))
  }

  @Test(
    "late ticks follow the timing's policy",
    arguments: [ActionTiming.Pace.coalescing, .catchingUp, .skipping, .fixedDelay])
  func lateTicks(_ pace: ActionTiming.Pace) async throws {
    let scheduler = TestScheduler(), seen = Log<Int>()
    let timing = ActionTiming.every(.milliseconds(10), pace: pace)
    let task = Task {
      for try await _ in scheduler.ticks(timing) {
        seen.add(Int(scheduler.now.nanoseconds / 1_000_000))
        if seen.entries.count == 2 { scheduler.sleep(by: .milliseconds(25)) }  // the second tick takes from 20 to 45
        if seen.entries.count == 5 { break }
      }
    }
    // The table of ActionTiming.Pace.
    let expected: [Int] =
      switch pace {
      case .coalescing: [10, 20, 45, 50, 60]
      case .catchingUp: [10, 20, 45, 45, 50]
      case .skipping: [10, 20, 50, 60, 70]
      case .fixedDelay: [10, 20, 55, 65, 75]
      }
    for instant in expected where instant != 45 {
      await scheduler.awaitSleepers(count: 1)
      scheduler.advance(to: MonotonicTime(nanoseconds: UInt64(instant) * 1_000_000))
    }
    try await task.value
    #expect(seen.entries == expected)
  }

  @Test("a late tick replaces those that were due by then") func deliveredLate() async throws {
    let scheduler = TestScheduler(), seen = Log<Int>()
    let task = Task {
      for try await _ in scheduler.ticks(ActionTiming.every(.milliseconds(10))) {
        seen.add(Int(scheduler.now.nanoseconds / 1_000_000))
        if seen.entries.count == 4 { break }
      }
    }
    for advance in [10, 0, 5, 10] {
      await scheduler.awaitSleepers(count: 1)
      if advance == 0 { scheduler.sleep(by: .milliseconds(35)) }  // from 10 to 45, and nothing runs
      scheduler.advance(by: .milliseconds(advance))
    }
    try await task.value
    #expect(seen.entries == [10, 45, 50, 60])  // the table of ActionTiming.LateTicks
  }

  @Test("ticks end with their task, and throw when their scheduler is stopped")
  func ticksEnd() async throws {
    let thread = try ThreadScheduler(), ticks = thread.ticks(every: .seconds(3_600))
    let task = Task {
      for try await _ in ticks { return false }
      return true
    }
    task.cancel()
    #expect(try await task.value)
    thread.stop()
    await #expect(throws: SchedulerError.stopped) { for try await _ in ticks {} }
    await thread.stopAndJoin()
  }

  @Test("stopAndJoin returns when the thread has ended, also again, and to many")
  func stopAndJoin() async throws {
    let thread = try ThreadScheduler(name: "ends-async"), ran = Counter()
    for _ in 0..<100 { thread.schedule { ran.increment() } }
    await withTaskGroup(of: Void.self) { group in for _ in 0..<10 { group.addTask { await thread.stopAndJoin() } } }
    #expect(ran.value == 100 && System.threads(named: "ends-async") == 0)
    await thread.stopAndJoin(.dropOutstanding)
  }

  @Test("an action for the main actor runs on it")
  func onMainActor() async {
    await #expect(processExitsWith: .success) {
      _ = MainScheduler.enter { work in DispatchQueue.main.async(execute: work) }
      let done = Gate()
      for scheduler in [MainScheduler.instance, .asyncInstance] {
        scheduler.schedule(onMainActor: {
          MainActor.preconditionIsolated()
          done.open()
        })
        synchronously { precondition(done.wait()) }
      }
    }
  }
}

private func thisThread() -> UInt { UInt(pthread_self()) }
