import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct TaskTests {
    @Test("a task runs or is dropped, once", arguments: [Int32(1), 4])
    func exactlyOnce(cancellers: Int32) {
      let seed = freshSeed("a task runs or is dropped, once")
      #expect(failure(of: ctest_task_exactly_once(cancellers, 256, Scale.count(400), seed)) == nil)
    }

    @Test("a task is cancelled late, and nothing happens") func cancelledLate() {
      #expect(failure(of: ctest_task_cancelled_late(Scale.count(200))) == nil)
    }

    @Test("a task's own run and drop do not wait for it") func inside() {
      #expect(failure(of: ctest_task_inside()) == nil)
    }

    @Test("to cancel a task and wait returns after the drop of another thread") func waitsForDrop() {
      #expect(failure(of: ctest_task_waits_for_drop(20)) == nil)
    }

    @Test("a drop of a task says why") func dropReasons() {
      #expect(failure(of: ctest_task_drop_reasons()) == nil)
      #expect(failure(of: ctest_task_no_memory()) == nil)
    }

    // A sanitizer has memory of its own for each byte, and ThreadSanitizer no threads in a child.
    @Test("a burst of tasks is given back, and late cancels touch nothing", .enabled(if: Scale.sanitizer == .none))
    func burst() {
      #expect(failure(of: ctest_task_burst(1_000_000)) == nil)
    }

    @Test("what a thread leaves at its end is used by others", .enabled(if: Scale.sanitizer == .none))
    func threadEnds() {
      #expect(failure(of: ctest_task_thread_ends(Scale.count(2_000))) == nil)
    }

    @Test("after fork tasks can be made", .enabled(if: Scale.sanitizer != .thread)) func fork() {
      #expect(failure(of: ctest_task_fork(Scale.count(50))) == nil)
    }

    @Test("after fork a wait for a drop of the parent stops the process") func forkInDrop() {
      #expect(failure(of: ctest_task_fork_in_drop()) == nil)
    }

    @Test("a delayed task is cancelled at once, wherever it waits") func delayed() {
      #expect(failure(of: ctest_task_delayed(Scale.count(8))) == nil)
      #expect(failure(of: ctest_task_delayed_dropped()) == nil)
    }

    @Test("a delayed task runs or is dropped, once") func delayedOnce() {
      let seed = freshSeed("a delayed task runs or is dropped, once")
      #expect(failure(of: ctest_task_delayed_exactly_once(Scale.count(100), seed)) == nil)
    }

    @Test("a repeating task keeps its pace") func pace() {
      #expect(failure(of: ctest_timing_next()) == nil)
      #expect(failure(of: ctest_task_repeating_in_virtual_time()) == nil)
      #expect(failure(of: ctest_task_repeating_at_once()) == nil)
    }

    @Test("a jitter makes each call later by a share of its own, and leaves the grid") func jitter() {
      #expect(failure(of: ctest_task_jitter()) == nil)
    }

    @Test("a repeating task is not called after its cancel, and dropped once") func repeatingCancelled() {
      #expect(failure(of: ctest_task_repeating_cancelled(Scale.count(200))) == nil)
      #expect(failure(of: ctest_task_repeating_stopped()) == nil)
    }
  }
}
