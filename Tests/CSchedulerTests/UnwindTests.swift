import CTestAllocations
import CTestSupport
import CTests
import TestSupport
import Testing

/// Jobs, runs and syncs that are left by longjmp. (Exceptions of C++: Tests/Probes/exceptions.cpp.)
extension CoreTests {
  @Suite struct UnwindTests {
    @Test("a loop goes on after a longjmp out of a run") func loop() {
      #expect(failure(of: ctest_unwind_loop()) == nil)
      #expect(failure(of: ctest_unwind_nested_run()) == nil)
    }

    @Test("a job that is left by longjmp has ended") func job() {
      #expect(failure(of: ctest_unwind_many_levels()) == nil)
      #expect(failure(of: ctest_unwind_waited_for()) == nil)
    }

    @Test("a queue goes on after a longjmp out of a sync") func sync() {
      #expect(failure(of: ctest_unwind_sync()) == nil)
      #expect(failure(of: ctest_unwind_queue_on_loop()) == nil)
    }

    @Test("a thread that ends after a longjmp closes its loop and lets its queue go") func end() {
      #expect(failure(of: ctest_unwind_and_end()) == nil)
    }

    @Test("what is current needs no memory", .enabled(if: ctest_counts_allocations())) func withoutMemory() {
      #expect(failure(of: ctest_unwind_without_memory(ctest_fail_allocation)) == nil)
    }

    // The sanitizers would have to be told of the stacks.
    @Test(
      "a trampoline keeps its order across stacks", .enabled(if: ctest_sanitizer() == CTEST_NO_SANITIZER),
      arguments: [false, true])
    func fiber(isHigher: Bool) {
      #expect(failure(of: ctest_fiber_trampoline(isHigher)) == nil)
    }

    @Test(
      "what is current is so on each stack", .enabled(if: ctest_sanitizer() == CTEST_NO_SANITIZER),
      arguments: [false, true])
    func current(isHigher: Bool) {
      #expect(failure(of: ctest_fiber_current(isHigher)) == nil)
    }
  }

  @Suite struct WaitTests {
    @Test("a circle of waits over threads is reported", arguments: [Int32(2), 3, 4]) func threads(count: Int32) {
      #expect(failure(of: ctest_waits_threads(count, Scale.count(200))) == nil)
    }

    @Test("a circle of waits over syncs that run inline is reported") func throughQueues() {
      #expect(failure(of: ctest_waits_through_queues(Scale.count(200))) == nil)
    }

    @Test("a loop that waits with its thread is part of the circle") func loop() {
      #expect(failure(of: ctest_waits_loop(false)) == nil)
    }

    @Test("sync on a queue whose base was stopped is refused, idle or not") func stopped() {
      #expect(failure(of: ctest_waits_stopped(CSCHED_STOP_RUN)) == nil)
      #expect(failure(of: ctest_waits_stopped(CSCHED_STOP_DROP)) == nil)
    }
  }
}
