import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct LimitTests {
    @Test("a limited target runs so many at a time, and no more") func most() {
      #expect(failure(of: ctest_limit_most(1, 2, 4, Scale.count(1_000))) == nil)
      #expect(failure(of: ctest_limit_most(3, 2, 4, Scale.count(1_000))) == nil)
      #expect(failure(of: ctest_limit_most(2, 1, 2, Scale.count(1_000))) == nil)
    }

    @Test("a limited target keeps the order of its base", arguments: [1, 3] as [Int32]) func order(most: Int32) {
      #expect(failure(of: ctest_limit_order(most)) == nil)
    }

    @Test("a limited target whose base is gone drops everything") func baseGone() {
      #expect(failure(of: ctest_limit_base_gone(100)) == nil)
    }

    @Test("a limited target that was let go runs what it has") func letGo() {
      #expect(failure(of: ctest_limit_let_go(Scale.count(500))) == nil)
    }

    @Test("a limit below one is an error") func belowOne() {
      #expect(failure(of: ctest_limit_invalid()) == nil)
    }

    @Test("a limited target goes on when a job ends its thread") func endsThread() {
      #expect(failure(of: ctest_limit_ends_thread(false)) == nil)
      #expect(failure(of: ctest_limit_ends_thread(true)) == nil)
    }

    @Test("a wait inside of a limited target is refused at a limit of one only") func waits() {
      #expect(failure(of: ctest_limit_waits()) == nil)
    }

    @Test("a wait that a barrier keeps from its end is refused", arguments: [1, 3] as [Int32])
    func barrierWaits(most: Int32) { #expect(failure(of: ctest_limit_barrier_waits(most)) == nil) }

    @Test("barriers of many threads are each alone", arguments: [1, 4] as [Int32]) func barriers(most: Int32) {
      #expect(failure(of: ctest_limit_barriers(most, 3, Scale.count(1_000))) == nil)
    }

    @Test("a barrier runs alone, after what was before it", arguments: [1, 4] as [Int32])
    func barrierOrder(most: Int32) { #expect(failure(of: ctest_limit_barrier_order(most)) == nil) }

    @Test("a barrier that was cancelled holds nothing up") func barrierCancelled() {
      #expect(failure(of: ctest_limit_barrier_cancelled()) == nil)
    }

    @Test("a barrier is dropped with its target") func barrierDropped() {
      #expect(failure(of: ctest_limit_barrier_dropped()) == nil)
    }

    @Test("after fork a limited target goes on, or stops the process") func fork() {
      #expect(failure(of: ctest_limit_fork()) == nil)
    }
  }
}
