import Foundation
import Scheduler
import TestSupport
import Testing

/// What hands work on to another scheduler hands on the tolerance and the clock, too.
@Suite(.nothingIsLeft) struct ForwardingTests {
  /// Notes how it was called, and runs nothing.
  private final class Spy: SchedulerType {
    let calls = Log<String>()

    private func note(_ call: String) -> any Cancelable {
      calls.add(call)
      return Disposables.create()
    }

    func schedule<State: Sendable>(
      _ state: State, action: @escaping @Sendable (State) -> any Disposable
    ) -> any Cancelable { note("at once") }

    func schedule<State: Sendable>(
      _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
    ) -> any Cancelable { note("a delay without a tolerance") }

    func schedule(
      after delay: Duration, tolerance: Duration, _ action: @escaping @Sendable () -> Void
    ) -> any Cancelable { note("after \(delay) tolerance \(tolerance)") }

    func schedule(
      at instant: MonotonicTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
    ) -> any Cancelable { note("at \(instant) tolerance \(tolerance)") }

    func schedule(
      at instant: WallTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
    ) -> any Cancelable { note("at \(instant) tolerance \(tolerance)") }

    func schedule(
      at instant: BootTime, tolerance: Duration, _ action: @escaping @Sendable () -> Void
    ) -> any Cancelable { note("at \(instant) tolerance \(tolerance)") }
  }

  private static let wrappers: [(name: String, wrap: @Sendable (any SchedulerType) -> any SchedulerType)] = [
    ("nothing", { $0 }), ("AnyScheduler", { AnyScheduler($0) }), ("WrappingScheduler", { $0.wrapping { $0() } }),
    ("RecordingScheduler", { record($0) }), ("GroupScheduler", { ActionGroup().scheduler(on: $0) }),
    ("all of them", { AnyScheduler(record($0.wrapping { $0() })) }),
  ]

  @Sendable private static func record(_ base: any SchedulerType) -> any SchedulerType {
    func open(_ base: some SchedulerType) -> any SchedulerType { RecordingScheduler(base) }
    return open(base)
  }

  @Test("every wrapper hands on each clock's instants, and the tolerance", arguments: wrappers.indices)
  func forwards(index: Int) {
    let spy = Spy(), scheduler = Self.wrappers[index].wrap(spy), tolerance = Duration.milliseconds(7)
    let instant = MonotonicTime.now.advanced(by: .seconds(1)), wall = WallTime.now, boot = BootTime.now
    scheduler.schedule(after: .seconds(1), tolerance: tolerance) {}
    scheduler.schedule(after: .seconds(2)) {}
    scheduler.schedule(at: instant, tolerance: tolerance) {}
    scheduler.schedule(at: instant) {}
    scheduler.schedule(at: wall, tolerance: tolerance) {}
    scheduler.schedule(at: wall) {}
    scheduler.schedule(at: boot, tolerance: tolerance) {}
    scheduler.schedule(at: boot) {}
    scheduler.schedule(after: .seconds(3), repeating: .seconds(4), tolerance: tolerance) {}
    scheduler.schedule(after: .seconds(5), interval: .seconds(4), leeway: tolerance) {}
    let zero = Duration.zero
    #expect(
      spy.calls.entries == [
        "after \(Duration.seconds(1)) tolerance \(tolerance)", "after \(Duration.seconds(2)) tolerance \(zero)",
        "at \(instant) tolerance \(tolerance)", "at \(instant) tolerance \(zero)", "at \(wall) tolerance \(tolerance)",
        "at \(wall) tolerance \(zero)", "at \(boot) tolerance \(tolerance)", "at \(boot) tolerance \(zero)",
        "after \(Duration.seconds(3)) tolerance \(tolerance)", "after \(Duration.seconds(5)) tolerance \(tolerance)",
      ])
  }

  /// A scheduler of a user's own that hands on.
  private struct Own: SchedulerType {
    let base: any SchedulerType
    var now: MonotonicTime { base.now }

    func schedule<State: Sendable>(
      _ state: State, action: @escaping @Sendable (State) -> any Disposable
    ) -> any Cancelable { base.schedule(state, action: action) }

    func schedule<State: Sendable>(
      _ state: State, after delay: Duration, action: @escaping @Sendable (State) -> any Disposable
    ) -> any Cancelable { base.schedule(state, after: delay, action: action) }
  }

  private static let above: [(name: String, wrap: @Sendable (any SchedulerType) -> any SchedulerType)] = [
    ("a scheduler of one's own", { Own(base: $0) }),
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
    guard let grouped = scheduler as? GroupScheduler else { return }
    let dropped = Task { try await scheduler.sleep(for: .seconds(10)) }
    await awaitSleepers(1)
    grouped.cancelAll()
    await #expect(throws: SchedulerError.stopped) { try await dropped.value }
    #expect(count() == 0)
  }

  @Test("a task's sleeps and ticks hand on the tolerance, through every wrapper", arguments: wrappers.indices)
  func sleeps(index: Int) async {
    let spy = Spy(), scheduler = Self.wrappers[index].wrap(spy), tolerance = Duration.milliseconds(7)
    let instant = MonotonicTime.now.advanced(by: .seconds(3_600))
    // The spy lets go of each action unrun, which ends the wait.
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
    let tolerances = spy.calls.entries.map { call in call.components(separatedBy: " tolerance ").last }
    #expect(tolerances == [tolerance, tolerance, tolerance, .zero, tolerance].map { "\($0)" })
  }

  @Test("each tick of a periodic action has the tolerance, not the first alone") func ticks() throws {
    let thread = try ThreadScheduler(name: "tolerant"), times = Log<MonotonicTime>(), done = Gate()
    let timing = PeriodicTiming(startAfter: .zero, every: .milliseconds(200), tolerance: .seconds(60))
    let start = MonotonicTime.now
    thread.schedulePeriodic(timing) { times.add(.now) }
    thread.schedule(at: start.advanced(by: .milliseconds(400))) { done.open() }
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
        each.schedule(after: .milliseconds(200), tolerance: .seconds(60)) { times.add(.now) }
        each.schedule(at: start.read().advanced(by: .milliseconds(200)), tolerance: .seconds(60)) { times.add(.now) }
        each.schedulePeriodic(
          PeriodicTiming(startAfter: .milliseconds(200), every: .seconds(90), tolerance: .seconds(60))
        ) { times.add(.now) }
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
