import CScheduler
import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct LoopTests {
    @Test("jobs of one thread run in order", arguments: [Int32(1), 4])
    func order(submitters: Int32) {
      #expect(failure(of: ctest_loop_order(submitters, Scale.count(10_000))) == nil)
    }

    @Test("a submission wakes a sleeping loop") func wakes() {
      let seed = freshSeed("a submission wakes a sleeping loop")
      #expect(failure(of: ctest_loop_wakes(Scale.count(10_000), seed)) == nil)
    }

    @Test("an idle loop does not wake up") func idle() {
      #expect(failure(of: ctest_loop_idle(300)) == nil)
    }

    @Test("a stop before the run ends it at once") func stopBeforeRun() {
      #expect(failure(of: ctest_loop_stop_before_run()) == nil)
    }

    @Test("stop ends the innermost run") func stopInnermost() {
      #expect(failure(of: ctest_loop_stop_innermost()) == nil)
    }

    @Test("an activation ends by its own stop only") func activations() {
      #expect(failure(of: ctest_loop_activations()) == nil)
    }

    @Test("an activation's stop is never missed") func activationStopRaces() {
      let seed = freshSeed("an activation's stop is never missed")
      #expect(failure(of: ctest_loop_activation_stop_races(Scale.count(10_000), seed)) == nil)
    }

    @Test("a run until a deadline ends then, not earlier") func runUntil() {
      #expect(failure(of: ctest_loop_run_until()) == nil)
    }

    @Test("run_once runs one job, and waits for it") func runOnce() {
      #expect(failure(of: ctest_loop_run_once()) == nil)
    }

    @Test("run_once does not burn the processor while a stop is pending") func runOnceWithStopPending() {
      #expect(failure(of: ctest_loop_run_once_with_stop_pending()) == nil)
    }

    @Test("run_ready runs so many, and does not wait") func runReady() {
      #expect(failure(of: ctest_loop_run_ready()) == nil)
    }

    @Test("the current loop is set in jobs, nested ones too") func current() {
      #expect(failure(of: ctest_loop_current_is_set()) == nil)
    }

    @Test("no kind of work starves another on a loop", arguments: [false, true]) func fair(inHost: Bool) {
      #expect(failure(of: ctest_loop_fair(inHost)) == nil)
    }

    @Test("a batch takes few of each kind") func batches() { #expect(failure(of: ctest_loop_batches()) == nil) }

    @Test("a loop run on another thread stops the process") func runOnOtherThread() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_run_on_other_thread()
      }
      expectMessage(result, "csched_loop_run:", "belongs to another thread")
    }
  }

  @Suite struct LoopCloseTests {
    @Test(
      "close gives the outstanding what its policy says",
      arguments: [CSCHED_STOP_RUN.rawValue, CSCHED_STOP_DROP.rawValue])
    func close(policy: UInt32) {
      #expect(failure(of: ctest_loop_close(csched_stop_policy(policy))) == nil)
    }

    @Test("run_ready and run_once keep to the policy of a close", arguments: [true, false])
    func closeThenRun(once: Bool) {
      #expect(failure(of: ctest_loop_close_then(CSCHED_STOP_RUN, once)) == nil)
      #expect(failure(of: ctest_loop_close_then(CSCHED_STOP_DROP, once)) == nil)
    }

    @Test("nothing submitted is lost across close") func closeRacesSubmit() {
      let seed = freshSeed("nothing submitted is lost across close")
      let rounds: Int32 = Scale.count(300)
      #expect(failure(of: ctest_loop_close_races_submit(3, rounds, CSCHED_STOP_RUN, false, seed)) == nil)
      #expect(failure(of: ctest_loop_close_races_submit(3, rounds, CSCHED_STOP_DROP, false, seed)) == nil)
      #expect(failure(of: ctest_loop_close_races_submit(3, rounds, CSCHED_STOP_RUN, true, seed)) == nil)
    }

    @Test("what is due at a close runs, however much it is") func closedWithManyDue() {
      #expect(failure(of: ctest_loop_closed_with_many_due()) == nil)
    }

    @Test("destroy drops what is outstanding") func destroyDrops() {
      #expect(failure(of: ctest_loop_destroy_drops()) == nil)
    }
  }
}
