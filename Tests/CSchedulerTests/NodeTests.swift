import CTests
import TestSupport
import Testing

extension CoreTests {
  @Suite struct NodeTests {
    @Test("a node runs or is dropped, once") func once() {
      #expect(failure(of: ctest_node_once(Scale.count(200))) == nil)
      #expect(failure(of: ctest_node_dropped(Scale.count(200))) == nil)
      #expect(failure(of: ctest_node_virtual(Scale.count(200))) == nil)
    }

    @Test("a node may submit itself again") func again() {
      #expect(failure(of: ctest_node_again(Scale.count(1_000))) == nil)
    }

    @Test("a loop goes on when a node is left by longjmp") func left() {
      #expect(failure(of: ctest_node_left()) == nil)
    }

    @Test("what is no node stops the process") func noNode() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        ctest_die_node_type()
      }
      expectMessage(result, "csched_target_submit_node:", "its `kind` must be CSCHED_NODE")
    }
  }
}
