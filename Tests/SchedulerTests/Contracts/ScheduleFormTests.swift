import Foundation
import Scheduler
import SchedulerRx
import SchedulerTesting
import TestSupport
import Testing

/// Each form of `schedule` means the same whatever the static type of the scheduler, and on every scheduler.
@Suite(.serialized, .nothingIsLeft) struct ScheduleFormTests {
  private struct Tick: Sendable {
    var begin: MonotonicTime
    var end: MonotonicTime
  }

  /// Those of the protocol, and of its class where that has overloads, with which it is.
  private func forms(of scheduler: any SchedulerType) -> [(name: String, forms: ScheduleForms)] {
    [("as any SchedulerType", .of(scheduler))] + (ScheduleForms.asItself(scheduler).map { [("as itself", $0)] } ?? [])
  }

  /// The first tick takes two periods and a half, so that others are late. The timing that each form requests
  /// can only be found in time, and never be too late.
  @Test(
    "each periodic form keeps its rate and merges late ticks, as itself and as any SchedulerType",
    arguments: SchedulerUnderTest.queued)
  func periodic(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), period = Duration.milliseconds(2)
    for (type, forms) in forms(of: scheduler) {
      for (name, form) in zip(ScheduleForms.periodicNames, forms.periodic) {
        let ticks = Log<Tick>(), before = scheduler.now
        let token = form(period) {
          let begin = scheduler.now
          if ticks.entries.isEmpty { test.pass(.milliseconds(5), on: scheduler) }
          ticks.add(Tick(begin: begin, end: scheduler.now))
        }
        let isFixedDelay = name == "scheduleRepeatedTask"
        var pauses: [Duration] {
          let all = ticks.entries
          return zip(all, all.dropFirst()).map { $0.end.duration(to: $1.begin) }
        }
        if isFixedDelay {
          #expect(eventually { pauses.count >= 3 })
          #expect(pauses.allSatisfy { $0 >= period }, "\(name) \(type): \(pauses)")
        } else {
          // Ticks of a fixed delay are never that close.
          #expect(eventually { pauses.count >= 4 && pauses.contains { $0 < period } }, "\(name) \(type): \(pauses)")
          // The second tick replaces those of two grid points at least: tick n is that of point n + 1, or a later one.
          for (index, tick) in ticks.entries.enumerated().dropFirst() {
            let elapsed = before.duration(to: tick.begin)
            #expect(elapsed >= period * (index + 2), "\(name) \(type): a late tick was made up for")
          }
        }
        token.disposeAndWait()
      }
    }
  }

  @Test(
    "each form with a delay runs once, and never early, as itself and as any SchedulerType",
    arguments: SchedulerUnderTest.queued)
  func once(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.make(), delay = Duration.milliseconds(2)
    for (type, forms) in forms(of: scheduler) {
      for (index, form) in forms.once.enumerated() {
        let start = scheduler.now, seen = Log<MonotonicTime>()
        let token = form(delay) { seen.add(scheduler.now) }
        #expect(eventually { token.isDisposed && !seen.entries.isEmpty }, "form \(index) \(type)")
        #expect(seen.entries.count == 1 && start.duration(to: seen.entries[0]) >= delay, "form \(index) \(type)")
      }
    }
  }

  /// A scheduler in virtual time, with what moves its clock and lets time pass it by.
  private typealias Virtual = (
    scheduler: any SchedulerType, advance: @Sendable (Duration) -> Void, sleep: @Sendable (Duration) -> Void
  )

  private static func onClock(_ make: (TestScheduler) -> any SchedulerType) -> Virtual {
    let clock = TestScheduler(initialClock: MonotonicTime(nanoseconds: 1_000_000_000_000))
    return (make(clock), { clock.advance(by: $0) }, { clock.sleep(by: $0) })
  }

  private static let virtual: [(name: String, make: @Sendable () -> Virtual)] = [
    ("TestScheduler", { onClock { $0 } }), ("SerialScheduler", { onClock { SerialScheduler(target: $0) } }),
    ("a wrapper", { onClock { $0.wrapping { $0() } } }),
    ("a group", { onClock { ActionGroup().scheduler(on: $0) } }),
    ("RecordingScheduler", { onClock { RecordingScheduler($0) } }), ("Foreign", { onClock { Foreign(base: $0) } }),
    (
      "HistoricalScheduler",
      {
        let clock = HistoricalScheduler(initialDate: .epoch)
        return (clock, { clock.advance(by: $0) }, { clock.sleep(by: $0) })
      }
    ),
  ]

  /// Ticks of a second: 2.5 s pass before the first one, and 1.2 s in the one that follows it.
  @Test(
    "in virtual time each periodic form ticks at the same instants, as itself and as any SchedulerType",
    arguments: virtual.indices)
  func exact(index: Int) {
    for isOwn in [false, true] {
      for (number, name) in ScheduleForms.periodicNames.enumerated() {
        let (scheduler, advance, sleep) = Self.virtual[index].make(), seen = Log<Duration>(), start = scheduler.now
        guard let forms = isOwn ? forms(of: scheduler).dropFirst().first?.forms : .of(scheduler) else { continue }
        let token = forms.periodic[number](.seconds(1)) {
          seen.add(start.duration(to: scheduler.now))
          if seen.entries.count == 2 { sleep(.milliseconds(1_200)) }
        }
        sleep(.milliseconds(2_500))
        advance(.zero)
        advance(.milliseconds(4_100))
        token.dispose()
        let expected = name == "scheduleRepeatedTask" ? [2_500, 3_500, 5_700] : [2_500, 3_000, 4_200, 5_000, 6_000]
        #expect(seen.entries == expected.map { .milliseconds($0) }, "\(name), as itself: \(isOwn)")
      }
    }
  }

  @Test(
    "a start that is not positive is now, on a scheduler without timers of its own, too", arguments: virtual.indices)
  func startsNow(index: Int) {
    for start in [Duration.zero, .milliseconds(-1_500), .seconds(Int64.min)] {
      let (scheduler, advance, _) = Self.virtual[index].make(), seen = Log<Duration>(), first = scheduler.now
      let token = scheduler.schedule(.every(.seconds(2), after: start)) {
        seen.add(first.duration(to: scheduler.now))
      }
      advance(.seconds(5))
      token.dispose()
      #expect(seen.entries == [.zero, .seconds(2), .seconds(4)])
    }
  }
}
