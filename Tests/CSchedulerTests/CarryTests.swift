import CScheduler
import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct CarryTests {
    static let clocks = [CSCHED_CLOCK_MONOTONIC.rawValue, CSCHED_CLOCK_BOOT.rawValue, CSCHED_CLOCK_WALL.rawValue]

    @Test("no code of the user's runs on a thread that keeps the time") func noTimekeeper() {
      let seed = freshSeed("no code of the user's runs on a thread that keeps the time")
      #expect(failure(of: ctest_carry_on_no_timekeeper(Scale.count(2), seed)) == nil)
    }

    @Test("timers of a target of one's own keep their order", arguments: clocks) func order(clock: UInt32) {
      #expect(failure(of: ctest_carry_keeps_order(csched_clock(clock), Scale.count(500))) == nil)
    }

    @Test("a target that blocks holds up no other's timers", arguments: clocks, [Int32(1), 2])
    func notHeldUp(clock: UInt32, workers: Int32) {
      #expect(failure(of: ctest_carry_is_not_held_up(csched_clock(clock), workers)) == nil)
    }

    @Test("a timer that is carried is cancelled or run, once", arguments: clocks) func cancelRaces(clock: UInt32) {
      let seed = freshSeed("a timer that is carried is cancelled or run, once")
      #expect(failure(of: ctest_carry_cancel_races(csched_clock(clock), Scale.count(500), seed)) == nil)
    }
  }
}
