import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct MisuseTests {
    @Test("a loop is destroyed on its own thread, or when it has none") func destroyedElsewhere() {
      #expect(failure(of: ctest_loop_destroyed_elsewhere()) == nil)
    }

    @Test("a loop that is destroyed by what is its own stops the process") func destroyedByItsOwn() {
      #expect(failure(of: ctest_loop_destroyed_by_its_own()) == nil)
    }

    @Test("a loop that cannot be destroyed here stops the process") func loopDestroy() async {
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ctest_die_loop_destroy(0) },
        "csched_loop_destroy: called inside of a run", "destroy it when its runs have returned")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ctest_die_loop_destroy(1) },
        "csched_loop_destroy:", "is that of a thread. Stop and destroy the thread, not its loop")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ctest_die_loop_destroy(2) },
        "csched_loop_destroy:", "is the main loop, which lives as long as the process")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ctest_die_loop_destroy(3) },
        "csched_loop_destroy:", "belongs to another thread. Destroy it there")
    }

    @Test("what is no priority stops the process") func priority() async {
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ctest_die_priority(0, 4) },
        "csched_pool_target: 4 is no priority", "Name one of csched_priority")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ctest_die_priority(1, -1) },
        "csched_pool_submit_batch: -1 is no priority", "Name one of csched_priority")
    }

    @Test("what is no policy of a stop stops the process") func policy() async {
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ctest_die_policy(0, 2) },
        "csched_loop_close: 2 is no policy", "Name one of csched_stop_policy")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ctest_die_policy(1, -1) },
        "csched_thread_stop: -1 is no policy", "Name one of csched_stop_policy")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ctest_die_policy(2, 2) },
        "csched_pool_stop: 2 is no policy", "Name one of csched_stop_policy")
      expectMessage(
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ctest_die_policy(3, -1) },
        "csched_shutdown: -1 is no policy", "Name one of csched_stop_policy")
    }
  }
}
