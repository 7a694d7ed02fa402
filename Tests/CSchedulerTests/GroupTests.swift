import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct GroupTests {
    @Test("a group is waited for until all have left") func wait() {
      #expect(failure(of: ctest_group_wait(4, 3, Scale.count(2_000))) == nil)
    }

    @Test("a timed wait for a group gives up") func timed() {
      #expect(failure(of: ctest_group_timed()) == nil)
    }

    @Test("a group tells all once, in order, when it is empty") func tells() {
      #expect(failure(of: ctest_group_tells(Scale.count(200))) == nil)
    }

    @Test("a group may be freed by who has waited for it") func freed() {
      #expect(failure(of: ctest_group_freed(Scale.count(500))) == nil)
    }

    @Test("a group that is left too often stops the process") func tooOften() async {
      var result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ctest_die_group(0) }
      expectMessage(result, "csched_group_leave:", "is empty", "Leave once for each enter")
      result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ctest_die_group(1) }
      expectMessage(result, "csched_group_enter:", "cannot take 1 more", "Leave once for each enter")
    }

    @Test("a group that is destroyed in use stops the process") func inUse() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { ctest_die_group(2) }
      expectMessage(result, "csched_group_destroy:", "has 1 inside", "Destroy it when all have left")
    }

    @Test("after fork a group has its count and its notices") func fork() {
      #expect(failure(of: ctest_group_fork()) == nil)
    }
  }
}
