import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite("SingleAssignmentDisposable", .nothingIsLeft)
struct SingleAssignmentDisposableTests {
  @Test("a disposal disposes the set disposable, once, and releases it")
  func setThenDispose() {
    let holder = SingleAssignmentDisposable()
    let child = DisposalCounter()
    #expect(holder.disposable == nil)
    holder.setDisposable(child)
    #expect(holder.disposable as? DisposalCounter === child)
    #expect(!holder.isDisposed)
    holder.dispose()
    holder.dispose()
    #expect(holder.isDisposed)
    #expect(holder.disposable == nil)
    #expect(child.value == 1)
  }

  @Test("a disposable set after the disposal is disposed at once, and not kept")
  func disposeThenSet() {
    let holder = SingleAssignmentDisposable()
    holder.dispose()
    weak var weakly: DisposalCounter?
    do {
      let child = DisposalCounter()
      weakly = child
      holder.setDisposable(child)
      #expect(child.value == 1)
      #expect(holder.disposable == nil)
    }
    #expect(weakly == nil)
  }

  @Test("a second set stops the process")  // SA1
  func secondSet() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let holder = SingleAssignmentDisposable()
      holder.setDisposable(Disposables.create())
      holder.setDisposable(Disposables.create())
    }
    expectMessage(
      result, "Scheduler: SingleAssignmentDisposable.setDisposable(_:) was called a second time",
      "use SerialDisposable or CompositeDisposable")
  }

  @Test("a second set stops the process after the disposal too")
  func secondSetDisposed() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let holder = SingleAssignmentDisposable()
      holder.setDisposable(Disposables.create())
      holder.dispose()
      holder.setDisposable(Disposables.create())
    }
    expectMessage(result, "SingleAssignmentDisposable.setDisposable(_:) was called a second time")
  }

  @Test("a set that races a disposal disposes the child exactly once")  // SA2, SA3
  func raceSet() {
    for _ in 0..<300 {
      let holder = SingleAssignmentDisposable()
      let child = DisposalCounter()
      raceDisposal(threads: 3) { index in
        if index == 0 { holder.setDisposable(child) } else { holder.dispose() }
      }
      #expect(child.value == 1)
      #expect(holder.disposable == nil)
    }
  }

  @Test("readers that race a disposal see the child or nothing")  // SA2, SA3
  func raceGet() {
    for _ in 0..<200 {
      let holder = SingleAssignmentDisposable()
      weak var weakly: DisposalCounter?
      do {
        let child = DisposalCounter()
        weakly = child
        holder.setDisposable(child)
        raceDisposal(threads: 4) { [unowned child] index in
          if index == 0 { return holder.dispose() }
          for _ in 0..<50 {
            guard let found = holder.disposable else {
              #expect(holder.isDisposed)
              break
            }
            #expect(found as? DisposalCounter === child)
          }
        }
        #expect(child.value == 1)
      }
      #expect(weakly == nil)
    }
  }
}
