import CScheduler
import CTests
import Foundation
import TestSupport
import Testing

extension CoreTests {
  /// In processes of their own: who observes sees all that a process does.
  @Suite struct ObserverTests {
    @Test("statistics count what was submitted, ran, was cancelled and dropped") func statistics() async {
      await #expect(processExitsWith: .success) {
        #expect(failure(of: ctest_statistics()) == nil)
        #expect(failure(of: ctest_statistics_drops()) == nil)
      }
    }

    @Test("statistics beside changes") func changes() async {
      await #expect(processExitsWith: .success) {
        #expect(failure(of: ctest_statistics_beside_changes(Int32(Scale.count(1_000)))) == nil)
      }
    }

    @Test("the watchdog tells of a long run, a long wait in a queue, and a wait that blocks") func watch() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_watch()) == nil) }
    }

    @Test("a watchdog can be ended by its report") func watchEnds() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_watch_ends_itself(10)) == nil) }
    }

    @Test("each run in a trace has one submission") func trace() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_trace(2_000)) == nil) }
    }

    @Test("a trace beside changes loses nothing that it does not count") func overload() async {
      await #expect(processExitsWith: .success) {
        #expect(failure(of: ctest_trace_overload(Scale.sanitizer == .none ? 20_000 : 2_000)) == nil)
      }
    }

    @Test("each run in a trace has one submission, on each kind of target, in each way of submitting") func kinds()
      async
    {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_trace_kinds(100)) == nil) }
    }

    @Test("a trace has instants of cancels, drops, wakes, steals and waits for locks") func instants() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_trace_instants()) == nil) }
    }

    @Test("names in a trace are escaped") func names() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_trace_names()) == nil) }
    }

    @Test("a trace's memory does not grow", .enabled(if: Scale.sanitizer == .none)) func memory() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_trace_memory(40_000)) == nil) }
    }

    @Test("statistics of each kind of target") func statisticsOfKinds() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_statistics_kinds()) == nil) }
    }

    @Test("a trace refuses links and others' files") func refused() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_trace_refused()) == nil) }
    }

    @Test("a trace goes on in the parent of a fork alone", .enabled(if: Scale.sanitizer == .none)) func fork() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_observe_fork(5)) == nil) }
    }

    @Test("the recorder has what a thread ran last, ten thousand runs of it") func recorder() async {
      await #expect(processExitsWith: .success) { #expect(failure(of: ctest_recorder()) == nil) }
      await #expect(processExitsWith: .success) {
        #expect(failure(of: ctest_recorder_keeps(500)) == nil)
        #expect(failure(of: ctest_recorder_keeps(20_000)) == nil)
      }
    }

    @Test("misuse is told with what was recorded, and the message stands first and last") func misuse() async throws {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_recorded()
      }
      let message = "Scheduler: csched_target_submit: job 0x"
      expectMessage(result, message, "pending already")
      let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
      #expect(text.components(separatedBy: message).count == 3)
      let first = try #require(text.range(of: message)),
        last = try #require(text.range(of: message, options: .backwards))
      let recorded = try #require(text.range(of: "context 0xabc"))
      #expect(first.lowerBound < recorded.lowerBound && recorded.lowerBound < last.lowerBound)
    }
  }
}
