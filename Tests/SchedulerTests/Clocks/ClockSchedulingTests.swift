import Foundation
import Scheduler
import TestSupport
import Testing

@Suite(.serialized, .nothingIsLeft) struct ClockSchedulingTests {
  static var targets: [SchedulerUnderTest] { SchedulerUnderTest.queued.filter { !$0.isVirtual } }
  static var serial: [SchedulerUnderTest] { targets.filter(\.isSerial) }

  private func make(_ test: SchedulerUnderTest) throws -> SchedulerTarget {
    try #require(test.make() as? SchedulerTarget)
  }

  @Test("an action for a moment of the wall clock or the boot clock runs there, never early", arguments: targets)
  func runs(_ test: SchedulerUnderTest) throws {
    let scheduler = try make(test), log = Log<Bool>()
    let wall = WallTime.now.advanced(by: .milliseconds(5)), boot = BootTime.now.advanced(by: .milliseconds(5))
    scheduler.schedule(at: wall) { log.add(WallTime.now >= wall && Schedulers.current === scheduler) }
    scheduler.schedule(at: boot) { log.add(BootTime.now >= boot && Schedulers.current === scheduler) }
    scheduler.schedule(at: boot, leeway: .milliseconds(1)) { log.add(BootTime.now >= boot) }
    #expect(eventually { log.entries.count == 3 })
    #expect(log.entries == [true, true, true])
  }

  @Test("equal moments of a clock keep the order of submission", arguments: serial)
  func equal(_ test: SchedulerUnderTest) throws {
    let scheduler = try make(test), log = Log<Int>(), moment = WallTime.now.advanced(by: .milliseconds(10))
    for n in 0..<200 { scheduler.schedule(at: moment) { log.add(n) } }
    #expect(eventually { log.entries.count == 200 })
    #expect(log.entries == Array(0..<200))
  }

  @Test("what has passed runs at once, what never comes waits to be disposed", arguments: targets)
  func ends(_ test: SchedulerUnderTest) throws {
    let scheduler = try make(test), ran = Counter(), never = Counter()
    scheduler.schedule(at: WallTime(secondsSince1970: -1)) { ran.increment() }
    scheduler.schedule(at: WallTime(secondsSince1970: 0)) { ran.increment() }
    scheduler.schedule(at: BootTime(nanoseconds: 0), leeway: .seconds(-1)) { ran.increment() }
    let waiting = [
      scheduler.schedule(at: .never) { never.increment() },
      scheduler.schedule(at: WallTime(secondsSince1970: .nan)) { never.increment() },
      scheduler.schedule(at: BootTime(nanoseconds: .max), leeway: .seconds(Int64.max)) { never.increment() },
    ]
    #expect(eventually { ran.value == 3 })
    waiting.forEach { $0.dispose() }
    #expect(never.value == 0)
  }

  @Test(
    "once dispose has returned, an action of another clock never begins, and its captures are gone", arguments: targets)
  func disposed(_ test: SchedulerUnderTest) throws {
    let scheduler = try make(test), ends = Counter(), ran = Counter()
    func submit(_ schedule: (@escaping @Sendable () -> Void) -> any Disposable) -> any Disposable {
      let witness = Witness(ends)
      return schedule {
        witness.touch()
        ran.increment()
      }
    }
    let hour = Duration.seconds(3_600)
    let wall = submit { scheduler.schedule(at: WallTime.now.advanced(by: hour), $0) }
    let boot = submit { scheduler.schedule(at: BootTime.now.advanced(by: hour), $0) }
    wall.dispose()
    #expect(ends.value == 1)
    boot.dispose()
    #expect(ends.value == 2 && ran.value == 0)
  }

  @Test("a scheduler that is let go runs what it has for another clock, and then ends") func letGo() throws {
    let ran = Gate(), name = "let-go-clock"
    try {
      let thread = try ThreadScheduler(name: name)
      thread.schedule(at: WallTime.now.advanced(by: .milliseconds(20))) { ran.open() }
      SerialScheduler(target: thread).schedule(at: BootTime.now.advanced(by: .milliseconds(10))) {}
    }()
    #expect(ran.wait())
    #expect(eventually { System.threads(named: name) == 0 })
  }

  @Test("a thread that has been stopped drops what comes due for it") func stopped() throws {
    let thread = try ThreadScheduler(name: "stopped"), ends = Counter(), ran = Counter()
    do {
      let witness = Witness(ends)
      thread.schedule(at: WallTime.now.advanced(by: .milliseconds(20))) {
        witness.touch()
        ran.increment()
      }
    }
    thread.stop(.dropOutstanding)
    #expect(eventually { ends.value == 1 })
    #expect(ran.value == 0)
    #expect(thread.schedule(at: WallTime.now) {}.self is any Cancelable)
  }

  @Test("a moment without a type's name is one of the monotonic clock") func unnamed() {
    let ran = Gate()
    SerialScheduler().schedule(at: .now.advanced(by: .milliseconds(1))) { ran.open() }
    #expect(ran.wait())
  }
}
