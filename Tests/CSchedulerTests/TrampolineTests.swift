import CScheduler
import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct TrampolineTests {
    @Test("first runs at once, the rest in order") func order() {
      #expect(failure(of: ctest_trampoline_order()) == nil)
    }

    @Test("a job cancelled before its turn never runs") func cancelled() {
      #expect(failure(of: ctest_trampoline_cancelled()) == nil)
    }

    @Test("a chain of ten million hops") func chain() {
      let before = ctest_thread_processor_time(ctest_thread_id())
      #expect(failure(of: ctest_trampoline_chain(Scale.count(10_000_000, least: 1_000_000))) == nil)
      #expect(ctest_thread_processor_time(ctest_thread_id()) - before < 30_000_000_000)
    }

    // A sanitizer has memory of its own.
    @Test("a chain of ten million hops takes no memory", .enabled(if: Scale.sanitizer == .none)) func chainMemory() {
      #expect(failure(of: ctest_trampoline_chain_memory(Scale.count(10_000_000, least: 1_000_000))) == nil)
    }

    @Test("two threads have independent trampolines") func twoThreads() {
      #expect(failure(of: ctest_trampoline_two_threads(Scale.count(1_000))) == nil)
    }

    @Test("the key's destructor drops what is left", arguments: [true, false])
    func threadExit(insideAction: Bool) {
      #expect(failure(of: ctest_trampoline_thread_exit(insideAction)) == nil)
    }

    @Test("a nested frame leaves the outer jobs alone") func nested() {
      #expect(failure(of: ctest_trampoline_nested()) == nil)
    }

    @Test("work beside a trampoline set aside runs at once, and the outer jobs wait") func aside() {
      #expect(failure(of: ctest_trampoline_aside()) == nil)
    }

    @Test("frames nest three deep") func threeDeep() {
      #expect(failure(of: ctest_trampoline_three_deep()) == nil)
    }

    @Test("a frame pushed outside of any action opens the trampoline") func pushOutside() {
      #expect(failure(of: ctest_trampoline_push_outside()) == nil)
    }

    @Test("an unwound action leaves the trampoline usable", arguments: [Int32(8), 1, 0])
    func unwound(depth: Int32) {
      #expect(failure(of: ctest_trampoline_unwound(depth, 0)) == nil)
    }

    @Test("enter waits, and leave runs") func enterAndLeave() {
      #expect(failure(of: ctest_trampoline_enter_leave()) == nil)
    }

    @Test("a pop without a push stops the process") func popWithoutPush() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_pop_without_push()
      }
      expectMessage(result, "csched_trampoline_pop:", "no frame was pushed")
    }
  }
}
