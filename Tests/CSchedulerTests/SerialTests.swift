import CScheduler
import CTests
import TestSupport
import Testing

extension CoreTests {
  /// Each over a loop, over two threads, and over another serial queue.
  @Suite struct SerialTests {
    @Test("a serial queue runs one at a time, in order") func order() {
      #expect(failure(of: ctest_serial_order(4, Scale.count(2_000))) == nil)
    }

    @Test("a serial queue on a serial queue keeps the order of equal deadlines") func timers() {
      #expect(failure(of: ctest_serial_timers(200)) == nil)
    }

    @Test("a long queue lets others in between") func fairness() {
      #expect(failure(of: ctest_serial_fair(1_000)) == nil)
    }

    @Test("a suspended queue begins nothing") func suspension() {
      #expect(failure(of: ctest_serial_suspend(Scale.count(50))) == nil)
      #expect(failure(of: ctest_serial_suspend_races(Scale.count(2_000))) == nil)
    }

    @Test("sync runs inline when the queue is idle") func syncInline() {
      #expect(failure(of: ctest_serial_sync_inline()) == nil)
      #expect(failure(of: ctest_serial_sync_excludes(4, Scale.count(2_000))) == nil)
    }

    @Test("a queue that is entered runs nothing else until it is left") func entered() {
      #expect(failure(of: ctest_serial_entered()) == nil)
    }

    @Test("sync that cannot end is reported") func syncDeadlock() {
      #expect(failure(of: ctest_serial_sync_deadlocks()) == nil)
    }

    @Test("a serial queue whose base is gone drops everything") func baseGone() {
      #expect(failure(of: ctest_serial_base_gone(100)) == nil)
    }

    @Test("a queue that was let go runs what it has") func letGo() {
      #expect(failure(of: ctest_serial_let_go(Scale.count(500))) == nil)
    }

    @Test("resume without suspend stops the process") func resume() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ctest_die_resume() }
      expectMessage(result, "csched_serial_resume:", "is not suspended", "Resume once for each suspend")
    }
  }
}
