import CScheduler
import CTests
import TestSupport
import Testing

extension CoreTests {
  /// In processes of their own: what others have there would be in the dumps.
  @Suite struct DumpTests {
    @Test("a dump lists threads, loops, pools, queues and virtual times") func all() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_dump_lists_all()) == nil) }
    }

    @Test("a dump says who waits, and for what") func waits() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_dump_waits()) == nil) }
    }

    @Test("a dump says who owns a lock, and who sleeps for it") func locks() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_dump_locks()) == nil) }
    }

    @Test("a scheduler is described") func describes() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_dump_describes()) == nil) }
    }

    @Test("what is delayed is described, on its target and on what is below") func delayed() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_dump_delayed()) == nil) }
    }

    @Test("a dump of many queues") func many() async {
      await #expect(processExitsWith: .success) {
        #expect(failure(of: ctest_dump_many(Scale.sanitizer == .none ? Scale.count(100_000) : 10_000)) == nil)
      }
    }

    @Test("a dump is written while schedulers come and go") func changes() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_dump_beside_changes(100)) == nil) }
    }

    @Test("a dump that cannot be written says so") func refused() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_dump_refused()) == nil) }
    }

    @Test("a signal writes a table at once, and a whole dump soon") func signal() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_dump_signal(20)) == nil) }
    }

    // ThreadSanitizer puts signals off.
    @Test("after fork a signal writes the table", .enabled(if: Scale.sanitizer != .thread)) func fork() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_dump_fork()) == nil) }
    }
  }
}
