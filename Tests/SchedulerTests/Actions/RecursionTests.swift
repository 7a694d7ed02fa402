import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct RecursionTests {
  private final class State: Sendable {
    let number: Int
    let gone: Protected<[Int]>
    init(_ number: Int, _ gone: Protected<[Int]>) { (self.number, self.gone) = (number, gone) }
    deinit { gone.append(number) }
  }

  @Test("a step that would run inside of another one waits, and keeps its captures until it is over")
  func inside() {
    let gone = Protected<[Int]>([]), steps = Protected<[Int]>([]), early = Protected<[Int]>([])
    let scheduler = CustomScheduler(name: "at once") { $0() }
    for _ in 0..<100 {
      scheduler.scheduleRecursive(State(0, gone)) { state, again in
        let number = state.number, children = number < 7 ? [2 * number + 1, 2 * number + 2] : []
        steps.append(number)
        for child in children { again(State(child, gone)) }
        early.append(contentsOf: gone.read().filter { [number, 2 * number + 1, 2 * number + 2].contains($0) })
      }
      #expect(early.read() == [])
      #expect(steps.exchange([]) == Array(0...14))
      #expect(gone.exchange([]).sorted() == Array(0...14))
    }
  }
}
