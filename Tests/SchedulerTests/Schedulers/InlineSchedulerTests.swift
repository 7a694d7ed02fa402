import CTestSupport
import Scheduler
import TestSupport
import Testing

/// What users compose with a scheduler that runs its work at once.
@Suite(.nothingIsLeft) struct InlineSchedulerTests {
  /// The stack that actions of one thread have seen.
  private final class Depth: Sendable {
    private let seen = Protected((low: Int.max, high: Int.min, calls: 0))
    var span: Int { seen.read { $0.high - $0.low } }
    var calls: Int { seen.read { $0.calls } }

    @discardableResult func look() -> Int {
      let here = Int(ctest_stack_address())
      return seen.write {
        $0 = (min($0.low, here), max($0.high, here), $0.calls + 1)
        return $0.calls
      }
    }
  }

  private static let compositions: [(name: String, run: @Sendable (CustomScheduler, Int, Depth) -> Void)] = [
    (
      "a queue, submitted to from inside of it",
      { custom, count, depth in
        let queue = SerialScheduler(target: custom)
        queue.schedule { for _ in 0..<count { queue.schedule { depth.look() } } }
      }
    ),
    (
      "a queue on a queue",
      { custom, count, depth in
        let queue = SerialScheduler(target: SerialScheduler(target: custom))
        queue.schedule { for _ in 0..<count { queue.schedule { depth.look() } } }
      }
    ),
    (
      "an event whose handler merges again",
      { custom, count, depth in
        let event = Protected<MergingEvent?>(nil)
        event.write(MergingEvent(on: custom, .sum) { _ in if depth.look() < count { event.read()?.merge(1) } })
        event.read()?.merge(1)
        event.write(nil)
      }
    ),
    (
      "a recursive action",
      { custom, count, depth in custom.scheduleRecursive { again in if depth.look() < count { again() } } }
    ),
    (
      "a recursive action in a queue",
      { custom, count, depth in
        SerialScheduler(target: custom).scheduleRecursive { again in if depth.look() < count { again() } }
      }
    ),
  ]

  @Test(
    "on a scheduler that runs work at once, any number of actions needs the same stack", arguments: compositions.indices
  )
  func flat(index: Int) {
    let custom = CustomScheduler(name: "at once") { work in work() }, depth = Depth(), count = Scale.count(300_000)
    Self.compositions[index].run(custom, count, depth)
    #expect(depth.calls == count)
    #expect(depth.span < 40_000, "\(Self.compositions[index].name)")
  }
}
