import Foundation
import Scheduler
import SchedulerRx
import SchedulerTesting
import TestSupport
import Testing

/// A way to name an instant by a clock, and to schedule an action for it.
private struct ClockInstant: Sendable {
  typealias Action = @Sendable () -> Void
  let schedule: @Sendable (_ delay: Duration, _ action: @escaping Action) -> any Disposable
  let isReached: @Sendable (_ delay: Duration) -> Bool

  /// For an instant that has passed long since, and for one that never comes.
  let schedulePassed, scheduleNever: @Sendable (_ action: @escaping Action) -> any Disposable

  /// The ways that `scheduler` has, each counting from now.
  static func all(of scheduler: any SchedulerType) -> [ClockInstant] {
    let start = scheduler.now
    let wall = WallTime.now, boot = ContinuousClock.now
    return [
      ClockInstant(
        schedule: { scheduler.schedule(.at(start.advanced(by: $0)), $1) },
        isReached: { scheduler.now >= start.advanced(by: $0) },
        schedulePassed: { scheduler.schedule(.at(MonotonicTime(nanoseconds: 0)), $0) },
        scheduleNever: { scheduler.schedule(.at(MonotonicTime(nanoseconds: .max)), $0) }),
      ClockInstant(
        schedule: { scheduler.schedule(.at(start.advanced(by: $0), tolerance: .milliseconds(1)), $1) },
        isReached: { scheduler.now >= start.advanced(by: $0) },
        schedulePassed: { scheduler.schedule(.at(MonotonicTime(nanoseconds: 0), tolerance: .seconds(-1)), $0) },
        scheduleNever: { scheduler.schedule(.at(MonotonicTime(nanoseconds: .max), tolerance: .seconds(Int64.max)), $0) }
      ),
      ClockInstant(
        schedule: { scheduler.schedule(.at(wall: wall.advanced(by: $0)), $1) },
        isReached: { WallTime.now >= wall.advanced(by: $0) },
        schedulePassed: { scheduler.schedule(.at(wall: WallTime(secondsSince1970: -1)), $0) },
        scheduleNever: { scheduler.schedule(.at(wall: WallTime.never), $0) }),
      ClockInstant(
        schedule: { scheduler.schedule(.at(wall: wall.advanced(by: $0), tolerance: .milliseconds(1)), $1) },
        isReached: { WallTime.now >= wall.advanced(by: $0) },
        schedulePassed: { scheduler.schedule(.at(wall: WallTime(secondsSince1970: 0)), $0) },
        scheduleNever: { scheduler.schedule(.at(wall: WallTime(secondsSince1970: .nan)), $0) }),
      ClockInstant(
        schedule: { scheduler.schedule(.at(continuous: boot.advanced(by: $0)), $1) },
        isReached: { ContinuousClock.now >= boot.advanced(by: $0) },
        schedulePassed: {
          scheduler.schedule(.at(continuous: boot.advanced(by: .seconds(-1_000_000_000)), tolerance: .seconds(-1)), $0)
        },
        scheduleNever: {
          scheduler.schedule(
            .at(continuous: boot.advanced(by: .seconds(Int64.max / 2)), tolerance: .seconds(Int64.max)), $0)
        }),
      ClockInstant(
        schedule: { scheduler.schedule(.at(continuous: boot.advanced(by: $0), tolerance: .milliseconds(1)), $1) },
        isReached: { ContinuousClock.now >= boot.advanced(by: $0) },
        schedulePassed: { scheduler.schedule(.at(continuous: boot.advanced(by: .seconds(-1_000_000_000))), $0) },
        scheduleNever: { scheduler.schedule(.at(continuous: boot.advanced(by: .seconds(Int64.max / 2))), $0) }),
    ]
  }
}

/// Instants of the scheduler's own clock, of the wall clock and of the boot clock.
@Suite(.serialized, .nothingIsLeft) struct ClockSchedulingTests {
  @Test(
    "an action for an instant of the wall clock or the boot clock runs there, never early",
    arguments: SchedulerUnderTest.queued)
  func runs(_ test: SchedulerUnderTest) throws {
    let (scheduler, current) = try test.makeBoth(), log = Log<Bool>(), instants = ClockInstant.all(of: scheduler)
    for instant in instants {
      _ = instant.schedule(.milliseconds(5)) {
        log.add(instant.isReached(.milliseconds(5)) && Schedulers.current === current)
      }
    }
    #expect(eventually { log.entries.count == instants.count })
    #expect(log.entries.allSatisfy { $0 })
  }

  @Test("no action for an instant of any clock is early where it runs inside of schedule, or others keep time")
  func elsewhere() throws {
    let thread = try ThreadScheduler(name: "foreign")
    for scheduler: any SchedulerType in [ImmediateScheduler.instance, CollapsedTimeScheduler(), Foreign(base: thread)] {
      let log = Log<Bool>(), instants = ClockInstant.all(of: scheduler)
      let isCollapsed = scheduler is CollapsedTimeScheduler, isForeign = scheduler is Foreign
      for instant in instants {
        _ = instant.schedule(.milliseconds(5)) {
          log.add((isCollapsed || instant.isReached(.milliseconds(5))) && (!isForeign || thread.isOnThread))
        }
      }
      #expect(isForeign || log.entries.count == instants.count, "before schedule returns")
      #expect(eventually { log.entries.count == instants.count })
      #expect(log.entries.allSatisfy { $0 }, "\(scheduler)")
    }
  }

  // CL6, CL8
  @Test("equal instants of a clock keep the order of submission", arguments: SchedulerUnderTest.queuedAndSerial)
  func equal(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make()
    for instant in ClockInstant.all(of: scheduler) {
      let log = Log<Int>()
      for n in 0..<200 { _ = instant.schedule(.milliseconds(10)) { log.add(n) } }
      #expect(eventually { log.entries.count == 200 })
      #expect(log.entries == Array(0..<200))
    }
  }

  @Test("a past deadline runs at once, an endless one waits to be disposed", arguments: SchedulerUnderTest.queued)
  func ends(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ran = Counter(), never = Counter(), instants = ClockInstant.all(of: scheduler)
    for instant in instants { _ = instant.schedulePassed { ran.increment() } }
    let waiting = instants.map { $0.scheduleNever { never.increment() } }
    #expect(eventually { ran.value == instants.count })
    waiting.forEach { $0.dispose() }
    #expect(never.value == 0)
  }

  @Test(
    "once dispose has returned, an action of another clock never begins, and its captures are released",
    arguments: SchedulerUnderTest.queued)
  func disposed(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), ends = Counter(), ran = Counter(), instants = ClockInstant.all(of: scheduler)
    let tokens = instants.map { instant in
      let witness = Witness(ends)
      return instant.schedule(.seconds(3_600)) {
        witness.touch()
        ran.increment()
      }
    }
    for (n, token) in tokens.enumerated() {
      token.dispose()
      #expect(ends.value == n + 1)
    }
    #expect(ran.value == 0)
  }

  @Test("a released scheduler runs its actions for another clock, and then ends") func released() throws {
    let ran = Gate(), name = "let-go-clock"
    try {
      let thread = try ThreadScheduler(name: name)
      thread.schedule(.at(wall: WallTime.now.advanced(by: .milliseconds(20)))) { ran.open() }
      SerialScheduler(target: thread).schedule(.at(continuous: ContinuousClock.now.advanced(by: .milliseconds(10)))) {}
    }()
    #expect(ran.wait())
    #expect(eventually { System.threads(named: name) == 0 })
  }

  @Test("a stopped thread drops the actions that become due") func stopped() throws {
    let thread = try ThreadScheduler(name: "stopped"), ends = Counter(), ran = Counter()
    do {
      let witness = Witness(ends)
      thread.schedule(.at(wall: WallTime.now.advanced(by: .milliseconds(200)))) {
        witness.touch()
        ran.increment()
      }
    }
    thread.stop(.dropOutstanding)
    #expect(eventually { ends.value == 1 })
    #expect(ran.value == 0)
    #expect(thread.schedule(.at(wall: WallTime.now)) {}.isDisposed)
  }

  @Test("an instant without a type's name is one of the monotonic clock") func unnamed() {
    let ran = Gate()
    SerialScheduler().schedule(.at(.now.advanced(by: .milliseconds(1)))) { ran.open() }
    #expect(ran.wait())
  }
}
