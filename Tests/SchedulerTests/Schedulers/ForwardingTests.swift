import Foundation
import Scheduler
import SchedulerRx
import SchedulerTesting
import TestSupport
import Testing

/// What hands work on to another scheduler hands on the tolerance and the clock, too.
@Suite(.nothingIsLeft) struct ForwardingTests {
  /// Notes how it was called, and runs nothing.
  private final class Spy: SchedulerType {
    let calls = Log<String>()

    var now: MonotonicTime { .now }

    func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { note("at once") }

    func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
      note("\(timing)")
    }

    private func note(_ call: String) -> any Disposable {
      calls.add(call)
      return Disposables.create()
    }
  }

  private static let wrappers: [(name: String, wrap: @Sendable (any SchedulerType) -> any SchedulerType)] = [
    ("nothing", { $0 }), ("a wrapper", { $0.wrapping { $0() } }), ("RecordingScheduler", { record($0) }),
    ("a group", { ActionGroup().scheduler(on: $0) }),
    ("all of them", { ActionGroup().scheduler(on: record($0.wrapping { $0() })) }),
  ]

  @Sendable private static func record(_ base: any SchedulerType) -> any SchedulerType {
    func open(_ base: some SchedulerType) -> any SchedulerType { RecordingScheduler(base) }
    return open(base)
  }

  @Test("every wrapper hands on each clock's instants, the tolerance and the period", arguments: wrappers.indices)
  func forwards(index: Int) {
    let spy = Spy(), scheduler = Self.wrappers[index].wrap(spy), tolerance = Duration.milliseconds(7)
    let timings: [ActionTiming] = [
      .after(.seconds(1), tolerance: tolerance), .at(.now.advanced(by: .seconds(1)), tolerance: tolerance),
      .at(wall: .now, tolerance: tolerance), .at(continuous: .now, tolerance: tolerance),
    ]
    for timing in timings { scheduler.schedule(timing) {} }
    scheduler.schedule(after: .seconds(2)) {}
    scheduler.schedule(1, after: .seconds(3)) { _ in Disposables.create() }
    scheduler.schedule {}
    #expect(
      spy.calls.entries == timings.map { "\($0)" } + ["after 2.0 seconds", "after 3.0 seconds", "at once"])
    scheduler.schedule(.every(.seconds(4), after: .seconds(3), tolerance: tolerance, pace: .skipping)) {}
    // A recorder's ticks are actions of their own.
    let tick = "after 3.0 seconds, tolerance 0.007 seconds"
    #expect(["every 4.0 seconds, first \(tick)", tick].contains(spy.calls.entries.last!))
  }

  private static let above: [(name: String, wrap: @Sendable (any SchedulerType) -> any SchedulerType)] = [
    ("a scheduler of one's own", { Foreign(base: $0) }),
    ("SerialScheduler", { SerialScheduler(target: ($0 as! SchedulerTarget)) }),
    ("a group on a queue", { ActionGroup().scheduler(on: SerialScheduler(target: ($0 as! SchedulerTarget))) }),
  ]

  @Test(
    "a task that sleeps on a wrapper is counted by virtual time, until it wakes, is cancelled, or is dropped",
    arguments: 0..<(wrappers.count + above.count), [false, true])
  func sleepers(index: Int, isHistorical: Bool) async throws {
    let clock: any SchedulerType = isHistorical ? HistoricalScheduler() : TestScheduler()
    func count() -> Int { (clock as? TestScheduler)?.sleeperCount ?? (clock as! HistoricalScheduler).sleeperCount }
    func awaitSleepers(_ count: Int) async {
      if let clock = clock as? TestScheduler { await clock.awaitSleepers(count: count) }
      if let clock = clock as? HistoricalScheduler { await clock.awaitSleepers(count: count) }
    }
    func advance() {
      (clock as? TestScheduler)?.advance(by: .seconds(10))
      (clock as? HistoricalScheduler)?.advance(by: .seconds(10))
    }
    let scheduler = (Self.wrappers + Self.above)[index].wrap(clock)
    let sleeping = Task { try await scheduler.sleep(for: .seconds(10)) }
    await awaitSleepers(1)
    let cancelled = Task { try await scheduler.clock.sleep(until: scheduler.now.advanced(by: .seconds(5))) }
    await awaitSleepers(2)
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    #expect(count() == 1)
    advance()
    try await sleeping.value
    #expect(count() == 0)
    let ticking = Task {
      var ticks = 0
      for try await _ in scheduler.ticks(every: .seconds(10)) {
        ticks += 1
        if ticks == 3 { break }
      }
    }
    for _ in 0..<3 {
      await awaitSleepers(1)
      advance()
    }
    try await ticking.value
    #expect(count() == 0)
  }

  @Test("a task that sleeps on a group's scheduler wakes, and is not counted, when the group is cancelled")
  func cancelledSleeper() async throws {
    let clock = TestScheduler(), group = ActionGroup(), scheduler = group.scheduler(on: SerialScheduler(target: clock))
    let dropped = Task { try await scheduler.sleep(for: .seconds(10)) }
    await clock.awaitSleepers(count: 1)
    group.cancelAll()
    await #expect(throws: CancellationError.self) { try await dropped.value }
    #expect(clock.sleeperCount == 0)
  }

  @Test("a task's sleeps and ticks hand on the tolerance, through every wrapper", arguments: wrappers.indices)
  func sleeps(index: Int) async {
    let spy = Spy(), scheduler = Self.wrappers[index].wrap(spy), tolerance = Duration.milliseconds(7)
    let instant = MonotonicTime.now.advanced(by: .seconds(3_600))
    // The spy releases each action unrun, which ends the wait.
    await #expect(throws: SchedulerError.stopped) { try await scheduler.sleep(until: instant, tolerance: tolerance) }
    await #expect(throws: SchedulerError.stopped) {
      try await scheduler.sleep(for: .seconds(3_600), tolerance: tolerance)
    }
    await #expect(throws: SchedulerError.stopped) {
      try await scheduler.clock.sleep(until: instant, tolerance: tolerance)
    }
    await #expect(throws: SchedulerError.stopped) { try await scheduler.clock.sleep(until: instant) }
    await #expect(throws: SchedulerError.stopped) {
      for try await _ in scheduler.ticks(every: .seconds(3_600), tolerance: tolerance) {}
    }
    let hasTolerance = spy.calls.entries.map { $0.hasSuffix(", tolerance \(tolerance)") }
    #expect(hasTolerance == [true, true, true, false, true])
  }

  @Test("each tick of a periodic action has the tolerance, not the first alone") func ticks() throws {
    let thread = try ThreadScheduler(name: "tolerant"), times = Log<MonotonicTime>(), done = Gate()
    let timing = ActionTiming.every(.milliseconds(200), after: .zero, tolerance: .seconds(60))
    let start = MonotonicTime.now
    thread.schedule(timing) { times.add(.now) }
    thread.schedule(.at(start.advanced(by: .milliseconds(400)))) { done.open() }
    #expect(done.wait())
    #expect(eventually { times.entries.count >= 2 })
    #expect(times.entries[1] >= start.advanced(by: .milliseconds(400)))
    thread.stop(.dropOutstanding)
    thread.join()
  }

  @Test("an action with a tolerance waits for the wake of another, through every wrapper", arguments: wrappers.indices)
  func waits(index: Int) throws {
    let thread = try ThreadScheduler(name: "tolerant"), times = Log<MonotonicTime>(), done = Gate()
    let scheduler = Self.wrappers[index].wrap(thread), subscribing = Self.wrappers[index].wrap(SubscriptionScheduler())
    let start = Protected(MonotonicTime.now)
    thread.schedule {
      start.write(.now)
      for each in [scheduler, subscribing] {
        each.schedule(.after(.milliseconds(200), tolerance: .seconds(60))) { times.add(.now) }
        each.schedule(.at(start.read().advanced(by: .milliseconds(200)), tolerance: .seconds(60))) { times.add(.now) }
        each.schedule(.every(.seconds(90), after: .milliseconds(200), tolerance: .seconds(60))) { times.add(.now) }
      }
      thread.schedule(after: .milliseconds(400)) { done.open() }
    }
    #expect(done.wait())
    #expect(eventually { times.entries.count == 6 })
    #expect(times.entries.allSatisfy { $0 >= start.read().advanced(by: .milliseconds(400)) })
    thread.stop(.dropOutstanding)
    thread.join()
  }
}
