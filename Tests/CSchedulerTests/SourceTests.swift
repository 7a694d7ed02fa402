import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct SourceTests {
    @Test("a signal is told to its loop, and its action put back") func signals() {
      #expect(failure(of: ctest_source_signal()) == nil)
    }

    @Test("a signal that has a handler already is refused") func refusedSignals() {
      #expect(failure(of: ctest_source_signal_refused()) == nil)
    }

    @Test("signals that come beside the loop's look are all told") func signalsBeside() {
      #expect(failure(of: ctest_source_signals_beside(Scale.count(10_000))) == nil)
    }

    @Test("a signal in a child of fork is the child's") func signalsAndForks() {
      #expect(failure(of: ctest_source_signal_forks()) == nil)
    }

    @Test("the end of a child is told, also when somebody else has reaped it") func children() {
      #expect(failure(of: ctest_source_child()) == nil)
    }

    @Test("changes of files are told one by one, and not after the removal") func files() {
      for forks in [false, true] { #expect(failure(of: ctest_source_file(forks)) == nil) }
    }

    @Test("without descriptors each source is an error") func withoutDescriptors() {
      #expect(failure(of: ctest_source_without_descriptors()) == nil)
    }

    // A sanitizer may open descriptors of its own.
    @Test(
      "a source that is refused a descriptor, whichever, leaves nothing and can be added later",
      .enabled(if: Scale.sanitizer == .none))
    func refusedAtEachStep() { #expect(failure(of: ctest_source_refused_at_each_step()) == nil) }

    @Test("in a child of fork sources of all kinds, and hooks, go on", .enabled(if: Scale.sanitizer != .thread))
    func forksWithHooks() { #expect(failure(of: ctest_source_forks_with_hooks()) == nil) }

    @Test("a descriptor that a stranger closes is told") func closedByStranger() {
      #expect(failure(of: ctest_source_closed_by_stranger()) == nil)
    }

    @Test("what is merged is told once, and in sum") func merges() {
      #expect(failure(of: ctest_event_merges(3, Scale.count(100_000))) == nil)
    }

    @Test("an event that is cancelled tells nothing more") func cancelledEvents() {
      #expect(failure(of: ctest_event_cancelled(Scale.count(1_000))) == nil)
    }
  }
}
