import Scheduler
import SchedulerRx
import Synchronization
import TestSupport
import Testing

@Suite("BooleanDisposable", .nothingIsLeft)
struct BooleanDisposableTests {
  @Test("a flag has its initial value, and becomes true for good")
  func turns() {
    #expect(BooleanDisposable(isDisposed: true).isDisposed)
    let flag = BooleanDisposable()
    #expect(!flag.isDisposed)
    flag.dispose()
    flag.dispose()
    #expect(flag.isDisposed)
  }

  @Test("writes before dispose are visible after isDisposed")  // A3
  func publishes() {
    for round in 0..<50 {
      let flag = BooleanDisposable()
      let value = Atomic(-1)
      raceDisposal(threads: 2) { index in
        if index == 0 {
          value.store(round, ordering: .relaxed)
          flag.dispose()
        } else {
          while !flag.isDisposed {}
          #expect(value.load(ordering: .relaxed) == round)
        }
      }
    }
  }
}
