import Foundation
import Scheduler
import SchedulerDispatch
import SchedulerFoundation
import SchedulerRx
import SchedulerRxFoundation
import TestSupport
import Testing

/// SchedulerFoundation, SchedulerDispatch and SchedulerRxFoundation: what a program has that is written in Foundation's and Dispatch's types.
@Suite("Foundation's and Dispatch's types", .nothingIsLeft) struct FoundationTests {
  @Test("intervals keep their length, and never is never") func intervals() {
    let all: [(DispatchTimeInterval, Duration)] = [
      (.seconds(2), .seconds(2)), (.milliseconds(-3), .milliseconds(-3)), (.microseconds(4), .microseconds(4)),
      (.nanoseconds(5), .nanoseconds(5)), (.seconds(1 << 30), .seconds(1 << 30)),
    ]
    for (theirs, ours) in all { #expect(Duration(theirs) == ours && Duration(DispatchTimeInterval(ours)) == ours) }
    let exact = Duration.seconds(200 * 365 * 86_400) + .nanoseconds(1)
    #expect(Duration(DispatchTimeInterval(exact)) == exact)
    #expect(
      DispatchTimeInterval(Duration(secondsComponent: 0, attosecondsComponent: 1)) == .nanoseconds(1), "never early")
    #expect(DispatchTimeInterval(.seconds(Int64.max)) == .never && Duration(.never) == .nanoseconds(Int64.max))
    #expect(Duration(.seconds(.max)) == .seconds(Int64.max))
  }

  @Test("dates become instants of the wall clock and back, none early, and those outside of its time are held")
  func wallTime() {
    #expect(WallTime(Date(timeIntervalSince1970: 1.5)).nanosecondsSince1970 == 1_500_000_000)
    #expect(Date(WallTime(nanosecondsSince1970: 2_500_000_000)) == Date(timeIntervalSince1970: 2.5))
    let before = Date(), now = Date(WallTime.now), after = Date()
    #expect(before <= now.addingTimeInterval(1e-6) && now <= after.addingTimeInterval(1e-6))
    for _ in 0..<100 {
      let date = Date(timeIntervalSinceReferenceDate: .random(in: -978_307_200..<1e10))
      let back = Date(WallTime(date))
      #expect(back >= date && back.timeIntervalSince(date) < 2e-6)
    }
    for seconds in [-1, -1e300, -Double.infinity] {
      #expect(WallTime(Date(timeIntervalSince1970: seconds)) == WallTime(nanosecondsSince1970: 0))
    }
    for seconds in [18_446_744_073, 1e300, Double.infinity, .nan] {
      #expect(WallTime(Date(timeIntervalSince1970: seconds)) == .never)
    }
    #expect(WallTime(Date(timeIntervalSince1970: 18_446_744_072)).secondsSince1970 == 18_446_744_072)
    #expect(WallTime(.distantPast).nanosecondsSince1970 == 0 && WallTime(.distantFuture) == .never)
    #expect(Date(.never) == .distantFuture)
  }

  @Test("an action for a date that has passed runs at once, and one for a later date waits") func scheduled() {
    let queue = SerialScheduler(name: "dates"), ran = Counter()
    queue.schedule(.at(wall: WallTime(Date()))) { ran.increment() }
    let late = queue.schedule(.at(wall: WallTime(Date() + 3_600))) { ran.increment() }
    #expect(eventually { ran.value == 1 })
    late.dispose()
  }

  @Test("RxSwift: a historical scheduler begins at a date, and goes to dates") func historical() {
    let start = Date(timeIntervalSince1970: 1_000_000_000), log = Log<Date>()
    let clock = HistoricalScheduler(initialClock: start)
    #expect(clock.date == start && HistoricalScheduler(initialClock: .distantPast).date == .distantPast)
    clock.scheduleAbsoluteVirtual((), time: start + 60) {
      log.add(clock.date)
      return Disposables.create()
    }
    clock.scheduleRelativeVirtual((), dueTime: 0.5) {
      log.add(clock.date)
      return Disposables.create()
    }
    let never = clock.scheduleRelativeVirtual((), dueTime: .infinity) {
      Issue.record("it came")
      return Disposables.create()
    }
    clock.advanceTo(start + 30)
    #expect(log.entries == [start + 0.5] && clock.date == start + 30)
    clock.start()
    #expect(log.entries == [start + 0.5, start + 60])
    never.dispose()
    for date in [start, .distantPast, .distantFuture] { #expect(Date(HistoricalDate(date)) == date) }
    #expect(HistoricalDate(Date(timeIntervalSinceReferenceDate: .nan)) == .distantFuture)
  }

  @Test("RxBlocking: a timeout in seconds") func blocking() throws {
    #expect(try Source.just(1, 2).toBlocking(timeout: 100.0).toArray() == [1, 2])
    #expect(try Source.later(1).toBlocking(timeout: .infinity).first() == 1)
    #expect(try Source.later(1).toBlocking(timeout: 1e300).first() == 1)
    #expect(try Source.just(1).toBlocking().first() == 1, "which one is meant without a timeout is clear")
    for timeout in [0.01, 0, -1, -1e300] {
      let source = Source<Int> { _ in }
      #expect(throws: SchedulerError.timeout) { try source.toBlocking(timeout: timeout).first() }
      #expect(source.disposals.value == 1)
    }
    let numbers = AsyncStream<Int> { stream in
      stream.yield(7)
      stream.finish()
    }
    #expect(try numbers.toBlocking(timeout: 100.0).single() == 7)
  }

  @Test("RxSwift: delays and periods that are a DispatchTimeInterval; literals stay a Duration") func schedules() {
    let clock = TestScheduler(), log = Log<String>()
    let dueTime = DispatchTimeInterval.milliseconds(250), period = DispatchTimeInterval.seconds(1)
    for name in ["theirs", "literal"] {
      let action: @Sendable (String) -> any Disposable = {
        log.add($0)
        return Disposables.create()
      }
      if name == "theirs" {
        clock.scheduleRelative(name, dueTime: dueTime, action: action)
      } else {
        clock.scheduleRelative(name, dueTime: .milliseconds(500), action: action)
      }
    }
    let ticking = clock.schedulePeriodic(1, startAfter: period, period: period) { tick in
      log.add("tick \(tick)")
      return tick + 1
    }
    clock.advance(by: .seconds(2))
    ticking.dispose()
    #expect(log.entries == ["theirs", "literal", "tick 1", "tick 2"])
  }

  @Test("Dispatch's classes of quality become priorities") func qos() {
    let all: [(DispatchQoS, SchedulerPriority)] = [
      (.userInteractive, .high), (.userInitiated, .high), (.default, .default), (.unspecified, .default),
      (.utility, .low), (.background, .background),
    ]
    let ran = Counter()
    for (qos, priority) in all {
      #expect(SchedulerPriority(qos) == priority)
      ConcurrentScheduler(qos: qos).schedule { ran.increment() }
      SerialScheduler(qos: qos, internalSerialQueueName: "one").schedule { ran.increment() }
    }
    #expect(eventually { ran.value == 2 * all.count })
  }
}
