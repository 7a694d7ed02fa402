import CScheduler
import CTests
import TestSupport
import Testing

extension CoreTests {
  /// In processes of their own: nothing else must go on there.
  @Suite struct ShutdownTests {
    @Test("each thread of ours is counted from its start to its end") func threads() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_threads_counted()) == nil) }
    }

    @Test("what many threads make and let go of adds up") func sum() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_counts_add_up(100, 1_000)) == nil) }
    }

    @Test("shutdown gives outstanding work of the main loop what the policy says, and refuses what comes later")
    func shutdown() async {
      await #expect(processExitsWith: .success) { @MainActor in
        #expect(failure(of: ctest_shutdown(CSCHED_STOP_RUN)) == nil)
      }
      await #expect(processExitsWith: .success) { @MainActor in
        #expect(failure(of: ctest_shutdown(CSCHED_STOP_DROP)) == nil)
      }
    }

    @Test("after a shutdown the clocks start anew") func clocks() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_shutdown_clocks()) == nil) }
    }

    @Test("shutdown on another thread closes the main loop") func elsewhere() async {
      await #expect(processExitsWith: .success) {
        await Task.detached { #expect(failure(of: ctest_shutdown(CSCHED_STOP_RUN)) == nil) }.value
      }
    }

    @Test("shutdown is refused when all tasks of the program run here") func kept() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        csched_main_loop_keep_()
        csched_shutdown(CSCHED_STOP_RUN)
      }
      expectMessage(result, "csched_shutdown: called in a program whose tasks all run here", "Leave the call out")
    }

    @Test("shutdown inside a job is reported") func inside() async {
      let message = "csched_shutdown: called inside a job, which it would have to wait for"
      let action = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_shutdown(0)
      }
      expectMessage(action, message)
      let thread = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_shutdown(1)
      }
      expectMessage(thread, message)
      let pool = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_shutdown(2)
      }
      expectMessage(pool, message)
    }
  }
}
