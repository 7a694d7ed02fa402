import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct JobTests {
    @Test("a job is run or dropped exactly once", arguments: [Int32(1), 4, 16])
    func exactlyOnce(cancellers: Int32) {
      let seed = freshSeed("a job is run or dropped exactly once")
      #expect(failure(of: ctest_job_exactly_once(cancellers, 256, Scale.count(400), seed)) == nil)
    }

    @Test("cancel drops before it returns") func cancelDropsFirst() {
      #expect(failure(of: ctest_job_cancel_drops_first()) == nil)
    }

    @Test("release waits for the end of drop") func releaseFollowsDrop() {
      #expect(failure(of: ctest_job_release_follows_drop(20)) == nil)
    }

    @Test("cancel and wait returns after the run") func cancelAndWait() {
      #expect(failure(of: ctest_job_cancel_and_wait(Scale.count(1_000))) == nil)
    }

    @Test("cancel and wait returns when the job submits itself again") func cancelAndWaitOfResubmitted() {
      #expect(failure(of: ctest_job_cancel_and_wait_of_resubmitted(Scale.count(50), 200)) == nil)
    }

    @Test("a job may submit itself again") func resubmits() {
      #expect(failure(of: ctest_job_resubmits_itself(Scale.count(10_000))) == nil)
    }

    @Test("a cancel of an idle job does nothing") func cancelOfIdle() {
      #expect(failure(of: ctest_job_cancel_of_idle()) == nil)
    }

    @Test("a job is freed after cancel and wait") func freedAfterWait() {
      #expect(failure(of: ctest_job_freed_after_wait(Scale.count(20_000))) == nil)
      #expect(failure(of: ctest_job_freed_by_whoever_is_woken()) == nil)
      #expect(failure(of: ctest_job_freed_by_the_last_waiter(Scale.count(1_000))) == nil)
    }

    @Test("a job is freed when it is idle") func freedWhenIdle() {
      #expect(failure(of: ctest_job_freed_when_idle(Scale.count(2_000))) == nil)
      #expect(failure(of: ctest_job_used_again_when_idle(Scale.count(20_000))) == nil)
    }

    @Test("a waiter is not kept by a job that runs again and again") func waitAmongRuns() {
      #expect(failure(of: ctest_job_wait_among_runs(Scale.count(500))) == nil)
    }

    @Test("a job that is initialised while it is in use stops the process") func initialisedInUse() async {
      let inRun = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_job_initialised_in_run()
      }
      expectMessage(inRun, "csched_job_init:", "was initialised while it was in use")
      let inQueue = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_job_initialised_in_queue()
      }
      expectMessage(inQueue, "csched_job_init:", "was initialised while it was in use")
    }

    @Test("submitting a queued job stops the process") func submitTwice() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_submit_twice()
      }
      expectMessage(result, "csched_target_submit:", "is pending already")
    }
  }

  @Suite struct MPSCTests {
    @Test("every job once, each producer in order", arguments: [Int32(1), 4])
    func order(producers: Int32) {
      #expect(failure(of: ctest_mpsc_order(producers, Scale.count(200_000))) == nil)
    }

    @Test("exactly one wake for a park", arguments: [Int32(1), 4])
    func oneWakeForAPark(producers: Int32) {
      let seed = freshSeed("exactly one wake for a park")
      #expect(failure(of: ctest_mpsc_one_wake_for_a_park(producers, Scale.count(50_000), seed)) == nil)
    }

    @Test("a notify is seen after a park") func notify() {
      let seed = freshSeed("a notify is seen after a park")
      #expect(failure(of: ctest_mpsc_notify_is_seen(Scale.count(200_000), seed)) == nil)
    }

    @Test("a push after close is refused") func closeRacesPush() {
      let seed = freshSeed("a push after close is refused")
      #expect(failure(of: ctest_mpsc_close_races_push(3, Scale.count(400), seed)) == nil)
    }

    @Test("each state answers as it should, and parked is empty") func states() {
      #expect(failure(of: ctest_mpsc_states()) == nil)
    }
  }
}
