import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

/// Ticks of `resolution`, as in RxTest.
private struct TickConverter: VirtualTimeConverter {
  let resolution: Duration

  func convertFromVirtualTime(_ virtualTime: Int) -> MonotonicTime {
    MonotonicTime(nanoseconds: 0).advanced(by: convertFromVirtualTimeInterval(virtualTime))
  }
  func convertToVirtualTime(_ time: MonotonicTime) -> Int {
    convertToVirtualTimeInterval(MonotonicTime(nanoseconds: 0).duration(to: time))
  }
  func convertFromVirtualTimeInterval(_ virtualTimeInterval: Int) -> Duration { resolution * virtualTimeInterval }
  func convertToVirtualTimeInterval(_ timeInterval: Duration) -> Int {
    let ticks = (timeInterval / resolution).rounded(.up)
    return ticks >= 0x1p62 ? .max : ticks <= -0x1p62 ? .min : Int(ticks)
  }
  func offsetVirtualTime(_ time: Int, offset: Int) -> Int {
    let (sum, overflow) = time.addingReportingOverflow(offset)
    return overflow ? (offset > 0 ? .max : .min) : sum
  }
  var endOfVirtualTime: Int? { .max }
}

/// A unit is half a nanosecond, in the types of real time.
private struct HalfConverter: VirtualTimeConverter {
  func convertFromVirtualTime(_ virtualTime: MonotonicTime) -> MonotonicTime {
    MonotonicTime(nanoseconds: (virtualTime.nanoseconds + 1) / 2)
  }
  func convertToVirtualTime(_ time: MonotonicTime) -> MonotonicTime { MonotonicTime(nanoseconds: time.nanoseconds * 2) }
  func convertFromVirtualTimeInterval(_ virtualTimeInterval: Duration) -> Duration { virtualTimeInterval / 2 }
  func convertToVirtualTimeInterval(_ timeInterval: Duration) -> Duration { timeInterval * 2 }
  func offsetVirtualTime(_ time: MonotonicTime, offset: Duration) -> MonotonicTime { time.advanced(by: offset) }
}

/// The example of a converter for Foundation's dates.
private struct DateConverter: VirtualTimeConverter {
  let origin: Date

  func convertFromVirtualTime(_ virtualTime: Date) -> MonotonicTime {
    MonotonicTime(nanoseconds: 0).advanced(by: .seconds(virtualTime.timeIntervalSince(origin)))
  }
  func convertToVirtualTime(_ time: MonotonicTime) -> Date { origin + Double(time.nanoseconds) / 1e9 }
  func convertFromVirtualTimeInterval(_ virtualTimeInterval: TimeInterval) -> Duration { .seconds(virtualTimeInterval) }
  func convertToVirtualTimeInterval(_ timeInterval: Duration) -> TimeInterval { timeInterval / .seconds(1) }
  func offsetVirtualTime(_ time: Date, offset: TimeInterval) -> Date { time + offset }
}

/// Compares, and ends, in ways that would stop the process if that happened under a lock of the scheduler.
private struct NosyConverter: VirtualTimeConverter {
  final class Instant: Sendable {
    let value: Int
    let isAlive: Counter
    let scheduler: Protected<VirtualTimeScheduler<ConvertedTime<NosyConverter>>?>
    init(_ value: Int, _ isAlive: Counter, _ scheduler: Protected<VirtualTimeScheduler<ConvertedTime<NosyConverter>>?>)
    {
      (self.value, self.isAlive, self.scheduler) = (value, isAlive, scheduler)
    }
    deinit {
      isAlive.increment()
      _ = scheduler.read()?.pendingCount
    }
  }
  let ended = Counter(), scheduler = Protected<VirtualTimeScheduler<ConvertedTime<NosyConverter>>?>(nil)

  func instant(_ value: Int) -> Instant { Instant(value, ended, scheduler) }
  private func look() { _ = scheduler.read()?.pendingCount }

  func convertFromVirtualTime(_ virtualTime: Instant) -> MonotonicTime {
    look()
    return MonotonicTime(nanoseconds: UInt64(virtualTime.value))
  }
  func convertToVirtualTime(_ time: MonotonicTime) -> Instant { instant(Int(time.nanoseconds)) }
  func convertFromVirtualTimeInterval(_ virtualTimeInterval: Int) -> Duration { .nanoseconds(virtualTimeInterval) }
  func convertToVirtualTimeInterval(_ timeInterval: Duration) -> Int { Int(timeInterval / .nanoseconds(1)) }
  func offsetVirtualTime(_ time: Instant, offset: Int) -> Instant {
    look()
    return instant(time.value + offset)
  }
  func compareVirtualTime(_ left: Instant, _ right: Instant) -> VirtualTimeComparison {
    look()
    return left.value < right.value ? .lessThan : left.value == right.value ? .equal : .greaterThan
  }
}

/// Calls a hook at each comparison, until that says that it is done.
private struct HookConverter: VirtualTimeConverter {
  let hook = Protected<(@Sendable (Int, Int) -> Bool)?>(nil)

  func convertFromVirtualTime(_ virtualTime: Int) -> MonotonicTime { MonotonicTime(nanoseconds: UInt64(virtualTime)) }
  func convertToVirtualTime(_ time: MonotonicTime) -> Int { Int(time.nanoseconds) }
  func convertFromVirtualTimeInterval(_ virtualTimeInterval: Int) -> Duration { .nanoseconds(virtualTimeInterval) }
  func convertToVirtualTimeInterval(_ timeInterval: Duration) -> Int { Int(timeInterval / .nanoseconds(1)) }
  func offsetVirtualTime(_ time: Int, offset: Int) -> Int { time + offset }
  func compareVirtualTime(_ left: Int, _ right: Int) -> VirtualTimeComparison {
    let present = hook.exchange(nil)
    if let present, !present(left, right) { hook.write(present) }
    return left < right ? .lessThan : left == right ? .equal : .greaterThan
  }
}

@Suite(.nothingIsLeft) struct VirtualConverterTests {
  @Test("virtual time in ticks: a delay between two ticks is rounded up, and now is real")
  func ticks() {
    let scheduler = VirtualTimeScheduler(initialClock: 100, converter: TickConverter(resolution: .seconds(1)))
    let log = Log<String>()
    scheduler.schedule(after: .milliseconds(1_001)) { [unowned scheduler] in log.add("a \(scheduler.virtualTime.time)")
    }
    scheduler.schedule(afterVirtual: 2) { [unowned scheduler] in log.add("b \(scheduler.virtualTime.time)") }
    scheduler.schedule("state", afterVirtual: 0) {
      log.add($0)
      return Disposables.create()
    }
    scheduler.schedule(at: 101) { [unowned scheduler] in log.add("c \(scheduler.virtualTime.time)") }
    scheduler.schedule(.every(.milliseconds(1_500), after: .milliseconds(500))) { [unowned scheduler] in
      log.add("tick \(scheduler.virtualTime.time)")
    }
    scheduler.schedule(after: .seconds(Int64.max)) { log.add("never") }
    scheduler.advance(by: 5)
    #expect(log.entries == ["state", "c 101", "tick 101", "a 102", "b 102", "tick 103", "tick 105"])
    #expect(scheduler.virtualTime.time == 105)
    #expect(scheduler.now == MonotonicTime(nanoseconds: 105_000_000_000))
    scheduler.run()
    #expect(scheduler.virtualTime.time == 105)
    scheduler.advance(by: -7)
    scheduler.sleep(by: 3)
    #expect(scheduler.virtualTime.time == 108)
  }

  @Test("Foundation's dates, by a converter of three lines")
  func foundationDates() {
    let start = Date(timeIntervalSince1970: 1_000_000_000)
    let scheduler = VirtualTimeScheduler(initialClock: start, converter: DateConverter(origin: start))
    let log = Log<Date>()
    scheduler.schedule(at: start + 86_400) { [unowned scheduler] in log.add(scheduler.virtualTime.time) }
    scheduler.schedule(after: .seconds(3_600)) { [unowned scheduler] in log.add(scheduler.virtualTime.time) }
    scheduler.run()
    #expect(log.entries == [start + 3_600, start + 86_400])
    #expect(scheduler.now == MonotonicTime(nanoseconds: 86_400_000_000_000))
  }

  @Test("the historical scheduler replays dates, before 1970 too, and is held at their ends")
  func historical() {
    let birth = HistoricalDate(sinceEpoch: .seconds(-2_000_000_000)), log = Log<HistoricalDate>()
    let scheduler = HistoricalScheduler(initialDate: birth)
    let dates = [
      HistoricalDate.epoch, birth.advanced(by: .seconds(1)), HistoricalDate(sinceEpoch: .seconds(1_700_000_000)),
    ]
    for date in dates { scheduler.schedule(at: date) { [unowned scheduler] in log.add(scheduler.virtualTime) } }
    scheduler.schedule(after: .seconds(Int64.max)) { log.add(.distantFuture) }
    scheduler.schedule(at: .distantPast) { log.add(birth) }
    scheduler.run()
    #expect(log.entries == [birth, dates[1], dates[0], dates[2]])
    #expect(scheduler.now == MonotonicTime(nanoseconds: 3_700_000_000 * 1_000_000_000))
    scheduler.advance(by: .seconds(Int64.max))
    scheduler.advance(by: .seconds(Int64.max) * 4)
    scheduler.sleep(by: .seconds(Int64.min) * 4)
    #expect(scheduler.virtualTime == .distantFuture)
    #expect(log.entries.count == 5)
    #expect(HistoricalDate.distantPast.advanced(by: .seconds(Int64.min)) == .distantPast)
    #expect(HistoricalDate.distantPast.duration(to: .distantFuture) > .zero)
  }

  @Test("a converter whose units are MonotonicTime and Duration is called for them, and not taken for real time")
  func halves() {
    let scheduler = VirtualTimeScheduler(initialClock: MonotonicTime(nanoseconds: 0), converter: HalfConverter())
    let log = Log<String>()
    scheduler.schedule(at: MonotonicTime(nanoseconds: 10)) { [unowned scheduler] in
      log.add("at \(scheduler.virtualTime.time.nanoseconds)")
    }
    scheduler.scheduleRelativeVirtual((), dueTime: .nanoseconds(20)) { [unowned scheduler] in
      log.add("relative at \(scheduler.virtualTime.time.nanoseconds)")
      return Disposables.create()
    }
    scheduler.schedule(after: .nanoseconds(20)) { [unowned scheduler] in
      log.add("after at \(scheduler.virtualTime.time.nanoseconds)")
    }
    scheduler.run()
    #expect(log.entries == ["at 10", "relative at 20", "after at 40"])
  }

  @Test("a task sleeps in a converter's units")
  func sleeps() async throws {
    let scheduler = VirtualTimeScheduler(initialClock: 100, converter: TickConverter(resolution: .seconds(1)))
    let task = Task {
      try await scheduler.sleep(until: 103)
      try await scheduler.sleep(for: 2)
      return scheduler.virtualTime.time
    }
    for time in [103, 105] {
      await scheduler.awaitSleepers(count: 1)
      scheduler.advance(to: time)
    }
    #expect(try await task.value == 105)
  }

  @Test("any clock's instants are virtual time")
  func instants() {
    let start = ContinuousClock.now
    let scheduler = VirtualTimeScheduler(initialClock: start), ran = Counter()
    scheduler.schedule(after: .seconds(1)) { ran.increment() }
    scheduler.advance(to: start.advanced(by: .seconds(1)))
    #expect(ran.value == 1)
    #expect(scheduler.now == MonotonicTime(nanoseconds: 1_000_000_000))
    scheduler.schedule(.at(scheduler.now + .seconds(2))) { ran.increment() }
    scheduler.advance(by: .seconds(2))
    #expect(ran.value == 2)
    #expect(scheduler.virtualTime == start.advanced(by: .seconds(3)))
  }

  /// A clock of whole numbers, which traps where its arithmetic would overflow.
  private struct Frame: InstantProtocol {
    let number: Int

    func advanced(by duration: Duration) -> Frame { Frame(number: number + Int(duration.components.seconds)) }
    func duration(to other: Frame) -> Duration { .seconds(other.number - number) }
    static func < (left: Frame, right: Frame) -> Bool { left.number < right.number }
  }

  @Test("instants have an origin, where now is 0, and an end, which only an advance that names it reaches")
  func originAndEnd() {
    let scheduler = VirtualTimeScheduler(
      initialClock: Frame(number: 5), origin: Frame(number: 3), end: Frame(number: 1_000))
    let log = Log<Int>()
    for number in [1_000, 7, 2_000, 999] {
      scheduler.schedule(at: Frame(number: number)) { [unowned scheduler] in log.add(scheduler.virtualTime.number) }
    }
    scheduler.schedule(after: .seconds(Int64.max)) { log.add(-1) }
    #expect(scheduler.now == MonotonicTime(nanoseconds: 2_000_000_000))
    scheduler.run()
    #expect(log.entries == [7, 999])
    #expect(scheduler.pendingCount == 3)
    scheduler.advance(to: Frame(number: 1_000))
    #expect(log.entries == [7, 999, 1_000, 2_000, -1])
    let endless = VirtualTimeScheduler(initialClock: Frame(number: 0))
    let never = endless.schedule(after: .seconds(Int64.max)) { log.add(-2) }
    endless.run()
    endless.advance(to: Frame(number: 1 << 60))
    #expect(log.entries.last == -1 && endless.pendingCount == 1)
    never.dispose()
    #expect(scheduler.pendingCount == 0)
  }

  @Test("a converter's methods, and the deinit of its times, run under no lock")
  func userCodeIsOutside() {
    let converter = NosyConverter(), log = Log<Int>()
    let scheduler = VirtualTimeScheduler(initialClock: converter.instant(0), converter: converter)
    converter.scheduler.write(scheduler)
    var tokens: [any Disposable] = []
    for n in 0..<300 {
      tokens.append(scheduler.schedule(at: converter.instant(300 - n)) { log.add(300 - n) })
    }
    for (n, token) in tokens.enumerated() where n % 3 != 0 { token.dispose() }
    tokens = []
    scheduler.schedule(.every(.nanoseconds(100), after: .nanoseconds(10))) { log.add(-1) }
    scheduler.step(5)
    scheduler.sleep(by: 1)
    scheduler.advance(by: 1_000)
    #expect(log.entries.filter { $0 > 0 } == Array(1...100).map { $0 * 3 })
    #expect(converter.ended.value > 300)
    converter.scheduler.write(nil)
  }
  @Test("cancelled entries are removed without a driver, with their times, under no lock", arguments: [false, true])
  func cancelledGo(areInTheHeap: Bool) {
    let converter = NosyConverter()
    let scheduler = VirtualTimeScheduler(initialClock: converter.instant(0), converter: converter)
    converter.scheduler.write(scheduler)
    var tokens = (1...1_000).map { scheduler.schedule(at: converter.instant($0)) {} }
    if areInTheHeap { scheduler.advance() }
    let before = converter.ended.value
    while let token = tokens.popLast() { token.dispose() }
    #expect(converter.ended.value - before > 900)
    #expect(scheduler.pendingCount == 0)
    converter.scheduler.write(nil)
  }

  @Test("a request while a drive is about to end is done by it")
  func requestedAtTheEnd() {
    let converter = HookConverter()
    let scheduler = VirtualTimeScheduler(initialClock: 0, converter: converter), ran = Counter()
    scheduler.schedule(at: 4) { ran.increment() }
    scheduler.advance(to: 1)
    // The comparison that moves the clock is the last one of a drive that finds nothing to do.
    converter.hook.write { [unowned scheduler] (left, right) in
      guard (left, right) == (1, 2) else { return false }
      scheduler.advance(to: 5)
      return true
    }
    scheduler.advance(to: 2)
    #expect(scheduler.virtualTime.time == 5)
    #expect(ran.value == 1)
  }
}
