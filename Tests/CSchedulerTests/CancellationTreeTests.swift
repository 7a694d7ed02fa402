import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct CancellationTreeTests {
    @Test("a cancelled tree calls its handlers in order, once") func order() {
      #expect(failure(of: ctest_cancellation_order()) == nil)
    }

    @Test("a handler that is taken back is not called, and its call is waited for") func takenBack() {
      #expect(failure(of: ctest_cancellation_taken_back(Scale.count(2_000))) == nil)
    }

    @Test("a cancellation has gone when it and all below it have ended") func grows() {
      #expect(failure(of: ctest_cancellation_grows(Scale.count(200))) == nil)
    }

    @Test("a tree of any depth is cancelled, and goes, without a stack of that depth") func deep() {
      #expect(failure(of: ctest_cancellation_deep(Scale.count(1_000_000))) == nil)
    }

    @Test("after fork a cancellation is cancelled, and no handler runs") func fork() {
      #expect(failure(of: ctest_cancellation_fork()) == nil)
    }
  }
}
