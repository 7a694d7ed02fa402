import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct ApplyTests {
    @Test(
      "each number of a loop is in one part, on whichever thread",
      arguments: [(2, 3), (1, 2), (2, 1)] as [(Int32, Int32)])
    func parts(workers: Int32, threads: Int32) { #expect(failure(of: ctest_apply_parts(workers, threads)) == nil) }

    @Test("the iterations of a loop run side by side") func sideBySide() {
      #expect(failure(of: ctest_apply_side_by_side()) == nil)
    }

    @Test("a loop that nobody helps with is run by its caller") func alone() {
      #expect(failure(of: ctest_apply_alone()) == nil)
    }

    @Test("a loop inside of a loop, and inside of a queue, ends", arguments: [1, 3] as [Int32])
    func nested(workers: Int32) { #expect(failure(of: ctest_apply_nested(workers, Scale.count(50))) == nil) }

    @Test("helpers that come late find nothing") func lateHelpers() {
      #expect(failure(of: ctest_apply_late_helpers(Scale.count(100))) == nil)
    }

    @Test(
      "after fork a loop of the parent stops the process",
      .enabled(if: Scale.sanitizer != .thread, "it starts a thread in a child of fork, which the sanitizer forbids"))
    func fork() {
      #expect(failure(of: ctest_apply_fork()) == nil)
    }
  }
}
