import CScheduler
import CTests
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension CoreTests {
  @Suite struct ClockTests {
    @Test(
      "a timer of another clock runs, never early by its clock", arguments: [CSCHED_CLOCK_BOOT, CSCHED_CLOCK_WALL])
    func runs(clock: csched_clock) {
      let seed = freshSeed("a timer of another clock runs, never early by its clock")
      for place: Int32 in 0..<3 { #expect(failure(of: ctest_clock_order(clock, 200, place, seed)) == nil) }
    }

    @Test("timers of a clock keep their order") func order() {
      #expect(failure(of: ctest_clock_late_keep_their_place(Scale.count(500))) == nil)
    }

    @Test("a timer of another clock is cancelled at once") func cancel() {
      #expect(failure(of: ctest_clock_cancel()) == nil)
    }

    @Test("a timer of another clock is cancelled or run, once") func cancelRaces() {
      let seed = freshSeed("a timer of another clock is cancelled or run, once")
      #expect(failure(of: ctest_clock_cancel_races(Scale.count(1_000), seed)) == nil)
    }

    @Test("instants that have passed, and the ends of time") func edges() {
      #expect(failure(of: ctest_clock_edges()) == nil)
    }

    @Test("a timer that comes due for what has been stopped is dropped") func refused() {
      #expect(failure(of: ctest_clock_refused()) == nil)
    }

    @Test("a thread that ends with its last timer is freed after the delivery") func lastOwner() {
      #expect(failure(of: ctest_clock_last_owner(Scale.count(500))) == nil)
    }

    @Test("clocks do not wake up for nothing") func idle() async {
      let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        ctest_exit_clock_alone(300)
      }
      expectMessage(result)
    }

    @Test(
      "a clock that cannot be waited for is an error",
      .enabled(if: Scale.sanitizer != .thread, "it starts a thread in a child of fork, which the sanitizer forbids"))
    func withoutDescriptors() async {
      let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        ctest_exit_clock_without_descriptors()
      }
      expectMessage(result)
    }

    @Test(
      "a wall timer follows a clock that is set",
      .enabled(
        if: getenv("SCHEDULER_TEST_SETS_CLOCK") != nil,
        "it sets the system's clock by seconds, for a fifth of one: ask for it with SCHEDULER_TEST_SETS_CLOCK=1, as one who may set it"
      ))
    func isSet() async {
      let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        ctest_exit_clock_set()
      }
      expectMessage(result)
    }

    @Test("what is no clock stops the process") func noSuchClock() async {
      let reading = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_no_such_clock()
      }
      expectMessage(reading, "csched_clock_now: 7 is no clock", "Name one of csched_clock")
      let submitting = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_timer_of_no_such_clock()
      }
      expectMessage(submitting, "csched_target_submit_at_clock: -1 is no clock")
    }

    @Test("the wheel keeps to a clock that is set back") func setBack() {
      let seed = freshSeed("the wheel keeps to a clock that is set back")
      #expect(failure(of: ctest_wheel_set_back(Scale.count(2_000_000), seed)) == nil)
    }
  }
}
