import CScheduler
import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct TimerTests {
    @Test("delayed jobs run in the order of their deadlines, never early") func order() {
      let seed = freshSeed("delayed jobs run in the order of their deadlines")
      #expect(failure(of: ctest_timer_order(400, false, seed)) == nil)
      #expect(failure(of: ctest_timer_order(400, true, seed)) == nil)
    }

    @Test("equal deadlines keep the order of submission") func equalDeadlines() {
      #expect(failure(of: ctest_timer_equal_deadlines()) == nil)
      #expect(failure(of: ctest_timer_overdue_keeps_its_place()) == nil)
      #expect(failure(of: ctest_timer_late_inside()) == nil)
    }

    @Test("equal deadlines keep their order, those that come late, too", arguments: Int32(0)..<3)
    func late(place: Int32) {
      #expect(failure(of: ctest_timer_late_keep_their_place(place, Scale.count(500))) == nil)
    }

    @Test("a timer cancelled before it waits is released at once") func cancelOnItsWay() {
      #expect(failure(of: ctest_timer_cancel_on_its_way()) == nil)
    }

    @Test("a timer cancelled while it waits is released at once") func cancel() {
      #expect(failure(of: ctest_timer_cancel_outside()) == nil)
      #expect(failure(of: ctest_timer_cancel_inside()) == nil)
    }

    @Test("a timer cancelled while it comes due is run or dropped once") func cancelRaces() {
      let seed = freshSeed("a timer cancelled while it comes due")
      #expect(failure(of: ctest_timer_cancel_races(Scale.count(500), seed)) == nil)
    }

    @Test("a timer that submits itself again can be cancelled from outside") func rearmed() {
      #expect(failure(of: ctest_timer_rearmed_and_cancelled(Scale.count(1_000))) == nil)
    }

    @Test("an earlier timer wakes a loop that sleeps for a later one") func earlierWakes() {
      #expect(failure(of: ctest_timer_earlier_wakes()) == nil)
    }

    @Test("a timer can be moved, from any thread") func moved() {
      #expect(failure(of: ctest_timer_moved()) == nil)
    }

    @Test("a timer moved away from its deadline wakes nobody") func debounced() {
      #expect(failure(of: ctest_timer_debounced(Scale.count(10_000))) == nil)
    }

    @Test("a timer moved while it comes due runs once") func moveRaces() {
      let seed = freshSeed("a timer moved while it comes due")
      #expect(failure(of: ctest_timer_move_races(Scale.count(500), seed)) == nil)
    }

    @Test("a timer that changes its loop can be cancelled") func changesLoops() {
      #expect(failure(of: ctest_timer_changes_loops(Scale.count(1_000))) == nil)
    }

    @Test("timers with leeway wake a loop a hundred times a second at the most") func leeway() {
      let seed = freshSeed("timers with leeway wake a loop")
      #expect(failure(of: ctest_timer_leeway_wakes(10_000, 2, seed)) == nil)
    }

    @Test("a timer outlives its loop and is cancelled on another") func outlivesItsLoop() {
      #expect(failure(of: ctest_timer_outlives_its_loop()) == nil)
    }

    @Test("a timer is freed after cancel and wait") func freedAfterWait() {
      let seed = freshSeed("a timer is freed after cancel and wait")
      #expect(failure(of: ctest_timer_freed_after_wait(Scale.count(2_000), seed)) == nil)
    }

    @Test("a timer that may be late runs when another wakes the loop") func ridesAlong() {
      #expect(failure(of: ctest_timer_leeway_rides_along()) == nil)
    }
  }

  @Suite struct WheelTests {
    @Test("the wheel and a sorted list agree") func agrees() {
      let seed = freshSeed("the wheel and a sorted list agree")
      #expect(failure(of: ctest_wheel_agrees(Scale.count(2_000_000), seed)) == nil)
    }

    @Test("equal deadlines fire in the order of submission from any level") func equalDeadlines() {
      #expect(failure(of: ctest_wheel_equal_deadlines()) == nil)
    }

    @Test("time ends at both ends") func ends() {
      #expect(failure(of: ctest_wheel_ends_of_time()) == nil)
    }

    @Test("adding and leaving look at nothing else, whatever the number", arguments: [1_000, 1_000_000])
    func costs(count: Int32) {
      let seed = freshSeed("adding and leaving look at nothing else")
      #expect(failure(of: ctest_wheel_costs(Scale.count(count), seed)) == nil)
    }

    @Test("long gaps are not walked") func gaps() {
      #expect(failure(of: ctest_wheel_gaps()) == nil)
    }

    @Test("one wake serves all that is due", arguments: [false, true])
    func wakes(mixed: Bool) {
      let seed = freshSeed("one wake serves all that is due")
      #expect(failure(of: ctest_wheel_wakes(10_000, 10, mixed, seed)) == nil)
    }
  }
}
